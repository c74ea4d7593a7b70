"""Writes the counts of each paper's claims, and of the newer schemes', into docs/papers.md, from the committed results.

python scripts/papers_page.py
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from midpath import markdown
from midpath.papers import explained, record, registry, table
from midpath.papers.explain import Explained, failing_claims
from midpath.papers.headline import COLUMNS, JUDGED, counts, headline

PAGE = Path(__file__).parents[1] / "docs/papers.md"
SCHEMES = "schemes"
RESULTS = "../python/midpath/papers/schemes"


def counted(paper: str) -> str:
    """A paper's table, its headline above and the reasons of what does not hold below."""
    figures = registry.choose(paper)
    found = table.kept(figures)
    lines = [f"{headline(found)}.", "", markdown.table(COLUMNS, counts(found)), ""]
    why: Counter[str] = Counter()
    for figure in figures:
        kept = explained.stored(figure).get("claims", {})
        for verdict in failing_claims(figure):
            why[kept.get(verdict.claim.id, {}).get("verdict", "not searched")] += 1
    said = [f"{why[one]} {one}" for one in (*map(str, Explained), "not searched") if why[one]]
    said += [
        f"{count} {one}" for one, count in sorted(why.items()) if one not in (*map(str, Explained), "not searched")
    ]
    return "\n".join([*lines, f"Why the paper's own do not: {', '.join(said) or 'all hold'}.", ""])


def newer() -> str:
    """A row for each figure of the newer schemes, with its verdicts."""
    figures = registry.choose(SCHEMES)
    heads = ("claims", *JUDGED[:-1])
    return markdown.table(heads, (_row(figure) for figure in figures)) + "\n"


def _row(figure: registry.Figure) -> tuple[str, ...]:
    found = Counter(verdict.judgement for verdict in record.verdicts(figure))
    return (
        f"[{figure.id}]({RESULTS}/{figure.paper}/{record.PAGE})",
        *(str(found[one]) for one in JUDGED[:-1]),
    )


def page(text: str) -> str:
    """The page with all counts in their places."""
    return markdown.filled(text, "counts", lambda name: newer() if name == SCHEMES else counted(name))


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
