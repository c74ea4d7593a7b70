"""Results of claims as committed text: RESULTS.md of a paper, from what is kept beside each of its figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from midpath import _midpath
from midpath.papers.registry import Claim, Figure
from midpath.papers.runner import Verdict, row
from midpath.stats import Estimate
from midpath.storage import read_json, to_json, write_text

KEPT = "results.json"
PAGE = "RESULTS.md"


def keep(figure: Figure, verdicts: Iterable[Verdict]) -> Path:
    """Writes a figure's verdicts beside its claims. What was skipped stays as it was, if it has ever been run."""
    path = figure.directory / KEPT
    before = stored(figure).get("claims", {})
    claims = {verdict.claim.id: _kept(verdict, before.get(verdict.claim.id)) for verdict in verdicts}
    write_text(path, to_json({"midpath": _midpath.version(), "claims": claims}) + "\n")
    return path


def write_page(figures: Iterable[Figure]) -> Path:
    """Writes RESULTS.md of the paper that all of these figures are of, from what is kept."""
    listed = list(figures)
    path = listed[0].directory.parent / PAGE
    write_text(path, page(listed))
    return path


def page(figures: list[Figure]) -> str:
    """RESULTS.md: a table per figure that has been run, then the reasons."""
    lines = [
        f"# {figures[0].paper}: what the paper says, and what came out",
        "",
        f"Written by `midpath paper run {figures[0].paper} --write-results`. Values are means over seeds ± half the",
        "width of their 95 % confidence interval; where nothing is random there is one run. `docs/papers.md` says how",
        "to read and repeat them.",
    ]
    for figure in figures:
        lines += ["", *_section(figure)]
    return "\n".join(lines) + "\n"


def _section(figure: Figure) -> Iterator[str]:
    yield f"## {figure.id}: {figure.title}"
    yield ""
    kept = stored(figure)
    verdicts = [_verdict(figure.id, claim, kept) for claim in figure.claims]
    runs = max((verdict.ours.n for verdict in verdicts if verdict.ours), default=0)
    version = kept.get("midpath", _midpath.version())
    yield f"Midpath {version}, {runs} {'seed' if runs == 1 else 'seeds'}." if runs else "Not run yet."
    yield ""
    yield "| claim | paper | ours | bound | holds | source |"
    yield "|---|---|---|---|---|---|"
    for verdict in verdicts:
        cells = (verdict.claim.claim, *row(verdict), verdict.claim.source)
        yield f"| {' | '.join(map(_cell, cells))} |"
    yield ""
    for verdict in verdicts:
        yield f"- *{verdict.claim.claim}*: {verdict.why}"
    if figure.notes:
        yield ""
        yield figure.notes


def stored(figure: Figure) -> dict[str, Any]:
    """What `keep` wrote; nothing if the figure has never been run."""
    path = figure.directory / KEPT
    return read_json(path) if path.is_file() else {}


def _kept(verdict: Verdict, before: dict[str, Any] | None) -> dict[str, Any]:
    if verdict.skipped:
        return before or {"ours": None, "bound": None, "holds": None, "why": verdict.why}
    ours = verdict.ours and verdict.ours.to_json()
    return {"ours": ours, "bound": verdict.bound, "holds": verdict.holds, "why": verdict.why}


def _verdict(figure: str, claim: Claim, kept: dict[str, Any]) -> Verdict:
    found = kept.get("claims", {}).get(claim.id)
    if found is None:
        return Verdict(figure, claim, None, None, False, "not run yet")
    ours = Estimate(**found["ours"]) if found["ours"] else None
    skipped = found["holds"] is None
    return Verdict(figure, claim, ours, found["bound"], bool(found["holds"]), found["why"], skipped)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
