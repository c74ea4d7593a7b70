"""Writes docs/command.md: what each command does, its arguments and its options.

python scripts/command_reference.py            writes docs/command.md
python scripts/command_reference.py --check    fails if that would change it

`--help` prints the same and more: options that several commands share stand here once.
"""

import re
import sys
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

import typer
from shell_files import inner, walk

from midpath.cli import app

PAGE = Path(__file__).parents[1] / "docs" / "command.md"
WIDTH = 84
# How many commands have an option with the same words, for it to stand at the top.
SHARED = 2
JSON = ["--json"]
HEAD = """# The command

`midpath COMMAND --help` prints the same, with the bounds of numbers. For all commands:

- Progress is shown on a terminal only. Ctrl-C stops at any time; what was stored is whole.
- Exit codes: 0 done, 1 failed or a claim does not hold, 2 bad input (one message on stderr, nothing written),
  130 stopped by Ctrl-C.
- All take `--json`, which prints JSON in place of text, but {without}.
- `midpath sweep FILE` is short for `midpath sweep run FILE`.
- `midpath --version` and `midpath --install-completion` need no command.

Options that several commands have:

| option | does |
|---|---|
"""


def name_of(param: Any) -> str:
    """An option with its value, or an argument."""
    if param.param_type_name == "argument":
        return param.metavar or param.name.upper()
    names = "/".join((*param.opts, *param.secondary_opts))
    return names if param.is_flag else f"{names}={param.metavar or '…'}"


def meaning_of(param: Any) -> str:
    """Its help, with the default where that says something."""
    helped = param.help or ""
    if param.required and param.param_type_name == "option":
        return f"{helped} Needed."
    on = bool(param.secondary_opts)
    if param.show_default and param.default not in (None, False, "") and (on or not getattr(param, "is_flag", False)):
        return f"{helped} Default: {'on' if param.default is True else param.default}."
    return helped


def one_paragraph(text: str) -> str:
    """A docstring, each paragraph on one line."""
    return "\n\n".join(re.sub(r"\s+", " ", part) for part in (text or "").strip().split("\n\n"))


def block(params: list[Any]) -> str:
    """Parameters side by side with what they mean."""
    names = [name_of(param) for param in params]
    left = min(max(map(len, names)), 28) + 2
    lines = []
    for name, param in zip(names, params, strict=True):
        said = textwrap.wrap(meaning_of(param), WIDTH - left) or [""]
        lines += [f"{name:<{left}}{said[0]}".rstrip(), *(" " * left + line for line in said[1:])]
    return "```text\n" + "\n".join(lines) + "\n```\n"


def page() -> str:
    """The whole of docs/command.md."""
    found = [(path, one) for path, one in walk(typer.main.get_command(app)) if not inner(one)]
    without = [" ".join(path) for path, one in found if all(param.opts != JSON for param in one.params)]
    said = Counter((name_of(p), meaning_of(p)) for _, one in found for p in one.params if p.param_type_name == "option")
    shared = [key for key, count in said.items() if count >= SHARED and key[0] != JSON[0]]
    head = HEAD.format(without=", ".join(f"`{name}`" for name in without))
    parts = [head + "".join(f"| `{name}` | {meaning} |\n" for name, meaning in shared)]
    for path, one in found:
        params = [param for param in one.params if param.opts != JSON]
        own = [param for param in params if (name_of(param), meaning_of(param)) not in shared]
        also = [param.opts[0] for param in params if param not in own]
        part = f"## `{' '.join(('midpath', *path))}`\n\n{one_paragraph(one.help)}\n"
        part += "\n" + block(own) if own else ""
        part += f"\nAlso {', '.join(f'`{name}`' for name in also)}.\n" if also else ""
        parts.append(part)
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
