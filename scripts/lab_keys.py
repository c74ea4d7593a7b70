"""Writes the table of docs/lab.md: which keys of a scenario the laboratory honours, approximates, refuses.

python scripts/lab_keys.py            writes it
python scripts/lab_keys.py --check    fails if that would change it
"""

import sys
from pathlib import Path

from midpath import markdown
from midpath.lab.keys import table

PAGE = Path(__file__).parents[1] / "docs" / "lab.md"
HEADS = ("key", "verdict", "how")


def page() -> str:
    """The page with the table in it."""
    return markdown.filled(PAGE.read_text(encoding="utf-8"), "lab", lambda _: f"\n{markdown.table(HEADS, table())}\n\n")


def main() -> int:
    """Writes or checks it."""
    text = page()
    if "--check" in sys.argv[1:]:
        return int(text != PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
