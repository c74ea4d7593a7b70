"""Writes docs/command.md: what `--help` prints, for each command.

python scripts/command_reference.py            writes docs/command.md
python scripts/command_reference.py --check    fails if that would change it
"""

import io
import os
import sys
from contextlib import redirect_stdout
from pathlib import Path

import typer
from shell_files import commands

from midpath.cli import app

PAGE = Path(__file__).parents[1] / "docs" / "command.md"
WIDTH = "100"
HEAD = """# The command

Every command prints this with `--help`, that option itself left out here. Rules that hold for all of them:

- With `--json`, where there is one, JSON is printed in place of text. Progress is shown on a terminal only.
- Ctrl-C stops at any time. What was stored is whole.
- Exit codes: 0 done, 1 failed or a claim does not hold, 2 bad input (one message on stderr, nothing written),
  130 stopped by Ctrl-C.

`scripts/command_reference.py` writes this page.
"""


def help_of(words: tuple[str, ...]) -> str:
    """What the command prints with `--help`."""
    printed = io.StringIO()
    os.environ["COLUMNS"] = WIDTH
    with redirect_stdout(printed):
        typer.main.get_command(app).main([*words, "--help"], prog_name="midpath", standalone_mode=False)
    lines = [line.rstrip() for line in printed.getvalue().strip().splitlines()]
    lines = [line for line in lines if not line.startswith("  -h, --help ")]
    return "\n".join(lines).removesuffix("Options:").rstrip().replace("\n\nOptions:\n\n", "\n\n")


def page() -> str:
    """The whole of docs/command.md."""
    parts = [HEAD]
    for one in commands(typer.main.get_command(app)):
        parts.append(f"## `{' '.join(('midpath', *one.path))}`\n\n```text\n{help_of(one.path)}\n```\n")
    return "\n".join(parts)


def main() -> int:
    """Writes the page, or checks it."""
    text = page()
    if "--check" in sys.argv[1:]:
        return 0 if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
