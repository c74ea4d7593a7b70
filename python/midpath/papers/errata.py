"""Generates the errata page from each paper's `errata.toml`.

python -m midpath.papers.errata > python/midpath/papers/ERRATA.md

`<paper>/errata.toml` has the sentence, what is wrong with it, what Midpath does instead, the evidence (a figure's
claim, or a file with a test) and the command that shows it. MIRCC's are measured in a model:
`evidence/papers/mircc/ERRATA.md`, whose first table they are, without the measurements.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from midpath import markdown
from midpath.errors import ScenarioError
from midpath.papers.registry import one_line, require_keys

PAPERS = Path(__file__).parent
FILE = "errata.toml"
TITLES = {"fcp": "FCP", "inrpp": "INRPP", "rpm": "RPM"}
# What a model shows of MIRCC, in a checkout.
MODEL = PAPERS.parents[2] / "evidence/papers/mircc/ERRATA.md"
KEYS = {"where", "sentence", "finding", "instead", "evidence", "test", "command"}

HEAD = """\
# Errata of the papers

Written by `python -m midpath.papers.errata > python/midpath/papers/ERRATA.md` from each paper's `errata.toml`: what a
sentence or a formula of a paper gets wrong, or leaves at odds with another, and the command that shows
it. MIRCC's are those of [the model's page](../../../evidence/papers/mircc/ERRATA.md), which has the measurements, too.
"""


@dataclass(frozen=True)
class Erratum:
    """One sentence, and what is wrong with it."""

    where: str
    sentence: str
    finding: str
    instead: str
    evidence: str
    command: str
    test: str = ""

    def cells(self, *, command: bool) -> list[str]:
        """Its line of the table."""
        return [self.where, self.sentence, self.finding, self.instead, *[f"`{self.command}`"] * command]


def errata(paper: str, root: Path = PAPERS) -> list[Erratum]:
    """What is written down for a paper."""
    file = root / paper / FILE
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    try:
        require_keys(table, {"erratum"}, {"erratum"}, "")
        found = table["erratum"]
        for i, one in enumerate(found):
            require_keys(one, KEYS, KEYS - {"test"}, f"erratum[{i}]")
    except ScenarioError as error:
        raise ScenarioError(error.key, None, error.message, str(file)) from None
    return [Erratum(**{key: one_line(value) for key, value in one.items()}) for one in found]


def page(root: Path = PAPERS) -> str:
    """The whole page."""
    sections = {title: _section(title, errata(paper, root)) for paper, title in TITLES.items()}
    sections["MIRCC"] = _of_model(MODEL.read_text(encoding="utf-8"))
    return "\n".join([HEAD, *(sections[title] for title in sorted(sections))])


def _of_model(text: str) -> str:
    """MIRCC's: the first table of the model's page, without what was measured and what the paper has right."""
    table = text[text.index("| where |") :].partition("\n\n")[0]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in table.splitlines() if "| as the paper says |" not in line]
    kept = [index for index, head in enumerate(rows[0]) if head.strip() in ("where", "the paper", "finding", "Midpath")]
    lines = (f"|{'|'.join(row[index] for index in kept)}|\n" for row in rows)
    return f"## MIRCC\n\n`python -m midpath.analysis.mircc.errata` shows all of them.\n\n{''.join(lines)}"


def _section(title: str, found: list[Erratum]) -> str:
    """A paper's table; a command that shows all of it stands above."""
    commands = {one.command for one in found}
    said = f"`{commands.pop()}` shows all of them.\n\n" if len(commands) == 1 else ""
    heads = ["where", "the paper", "finding", "Midpath", *["command"] * (not said)]
    return f"## {title}\n\n{said}{markdown.table(heads, (one.cells(command=not said) for one in found))}\n"


if __name__ == "__main__":
    print(page(), end="")
