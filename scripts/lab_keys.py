"""Writes the table of docs/lab.md: which keys of a scenario the laboratory honours, approximates, refuses.

python scripts/lab_keys.py            writes it
python scripts/lab_keys.py --check    fails if that would change it
"""

import sys
from pathlib import Path

from midpath.lab.keys import table
from midpath.lab.table import markdown

PAGE = Path(__file__).parents[1] / "docs" / "lab.md"
BEGIN, END = "<!-- keys -->\n", "<!-- /keys -->"


def page() -> str:
    """The page with the table in it."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    rows = markdown(("key", "verdict", "how"), table()).replace("---:", "---")
    return f"{before}{BEGIN}{rows}{END}{after}"


def main() -> int:
    """Writes or checks it."""
    text = page()
    if "--check" in sys.argv[1:]:
        return int(text != PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
