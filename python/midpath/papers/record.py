"""RESULTS.md of a paper: results of claims, from the stored results of its figures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from midpath import markdown
from midpath.extension import _midpath
from midpath.papers.headline import COLUMNS, counts
from midpath.papers.judging import judge
from midpath.papers.registry import MEASURE, Claim, Figure, Says
from midpath.papers.runner import Verdict, row
from midpath.papers.tolerance import Judgement
from midpath.provenance import ran_under, require_now
from midpath.stats import Estimate
from midpath.storage import read_json, to_json, write_text
from midpath.units import UNITS

KEPT = "results.json"
PAGE = "RESULTS.md"
ADDED = "added_core_s"
WORD = re.compile(r"[\w-]+")
NUMBERS = re.compile(r"\[[^\[\]{}\"]*\]")


def keep(figure: Figure, found: Iterable[Verdict], added_core_s: float | None = None) -> Path:
    """Writes a figure's verdicts beside its claims. What was skipped stays as it was, if it has ever been run.

    `added_core_s`: core time of all seeds that were added until claims are decided.
    """
    path = figure.directory / KEPT
    before = stored(figure).get("claims", {})
    claims = {verdict.claim.id: kept(verdict, before.get(verdict.claim.id)) for verdict in found}
    added = {} if added_core_s is None else {ADDED: round(added_core_s, 1)}
    write_text(path, on_one_line(to_json({**under(figure), **added, "claims": claims})) + "\n")
    return path


def under(figure: Figure) -> dict[str, Any]:
    """What a figure's runs run under: the defaults of all schemes that its files speak of."""
    files = [*figure.scenarios(), figure.directory / MEASURE]
    return ran_under(WORD.findall("\n".join(file.read_text(encoding="utf-8") for file in files)))


def require_as_now(figure: Figure) -> None:
    """Raises `OutputError` if a figure's kept results are of another version or other defaults: seeds don't add up."""
    require_now(figure.directory / KEPT, stored(figure), "run the figure anew (--write-results)")


def on_one_line(text: str) -> str:
    """The same JSON with each list of numbers on one line."""
    return NUMBERS.sub(lambda found: re.sub(r"\s+", " ", found[0]).replace("[ ", "[").replace(" ]", "]"), text)


def write_page(figures: Iterable[Figure]) -> Path:
    """Writes RESULTS.md of the paper that all of these figures are of, from what is kept."""
    listed = list(figures)
    path = listed[0].directory.parent / PAGE
    write_text(path, page(listed))
    return path


def page(figures: list[Figure]) -> str:
    """RESULTS.md: how many claims hold, a table per figure that has been run, then the reasons."""
    found = {figure.id: verdicts(figure) for figure in figures}
    measured = [verdict for figure in figures if stored(figure) for verdict in found[figure.id]]
    lines = [
        f"# {figures[0].paper}: what the paper says, and what came out",
        "",
        f"Written by `midpath paper run {figures[0].paper} --write-results`. Values are means over seeds ± half the",
        "width of their 95 % confidence interval. A claim holds if every seed gave a value and all of the interval is",
        "within the bound. It is undecided if a part of it is, and not decidable here if it is wider than what the",
        "claim is about. A bound with a star is not known to have been fixed before the first run. `docs/papers.md`",
        "says how to read and repeat all this.",
        "",
        markdown.table(COLUMNS, counts(measured)),
    ]
    for figure in figures:
        lines += ["", *_section(figure, found[figure.id])]
    return "\n".join(lines) + "\n"


def _section(figure: Figure, found: list[Verdict]) -> Iterator[str]:
    yield f"## {figure.id}: {figure.title}"
    yield ""
    runs = max((verdict.ours.of for verdict in found if verdict.ours), default=0)
    version = stored(figure).get("midpath", _midpath.version())
    yield f"Midpath {version}, {_seeds(figure, runs)}" if runs else "Not run yet."
    yield ""
    rows = ((v.claim.claim, v.claim.says, *row(v), _bound(v.claim), _runs(v), v.claim.source) for v in found)
    yield markdown.table(("claim", "kind", "paper", "ours", "ideal", "holds", "bound", "seeds", "source"), rows)
    yield ""
    for verdict in found:
        yield f"- *{verdict.claim.claim}*: {verdict.why}"
    if figure.notes:
        yield ""
        yield figure.notes


def _seeds(figure: Figure, runs: int) -> str:
    if not figure.scenarios():
        return "nothing is run."
    added = stored(figure).get(ADDED)
    spent = None if added is None else f"{added / 60:.1f} core minutes"
    effort = "" if spent is None else f", {spent} for those that were added until claims are decided"
    said = f"{runs} {'seed' if runs == 1 else 'seeds'}{effort}."
    if figure.perturb is None:
        return said
    late = f"each flow starts late by up to {figure.perturb}, with every seed but the first"
    return f"{said} Where nothing is random, {late}."


def _runs(verdict: Verdict) -> str:
    if verdict.ours is None or verdict.claim.says is Says.THEORY:
        return "–"
    return str(verdict.ours.n) if verdict.ours.is_whole else f"{verdict.ours.n} of {verdict.ours.of}"


def _bound(claim: Claim) -> str:
    if claim.says is Says.INFORMATION:
        return "–"
    return claim.tolerance.text(claim.kind) + ("" if claim.fixed else "*")


def stored(figure: Figure) -> dict[str, Any]:
    """What `keep` wrote; nothing if the figure has never been run."""
    path = figure.directory / KEPT
    return read_json(path) if path.is_file() else {}


def verdicts(figure: Figure) -> list[Verdict]:
    """What is kept of a figure, held against its claims as they are now."""
    found = stored(figure).get("claims", {})
    return [verdict(figure.id, claim, found.get(claim.id)) for claim in figure.claims]


def kept(verdict: Verdict, before: dict[str, Any] | None = None) -> dict[str, Any]:
    """What is kept of a verdict; `before` stays where it was skipped."""
    if verdict.skipped and before:
        return before
    return {
        "unit": UNITS[verdict.claim.kind],
        "ours": verdict.ours and verdict.ours.to_json(),
        "values": rounded(verdict.values),
        "bound": verdict.bound,
        "verdict": verdict.judgement,
        "why": verdict.why,
    }


def rounded(values: Any) -> Any:
    """Six digits tell who has changed what; the mean is kept whole."""
    if isinstance(values, Mapping):
        return {name: rounded(of) for name, of in values.items()}
    return values and [value if value is None else float(f"{value:.6g}") for value in values]


def verdict(figure: str, claim: Claim, found: dict[str, Any] | None) -> Verdict:
    """What `kept` wrote, held against the claim as it is now."""
    if found is None:
        return Verdict(figure, claim, None, None, Judgement.SKIPPED, "not run yet")
    if found["ours"] is None:
        return Verdict(figure, claim, None, found["bound"], Judgement(found["verdict"]), found["why"])
    ours, bound = Estimate(**found["ours"]), found["bound"]
    return Verdict(figure, claim, ours, bound, *judge(claim, ours, bound), found.get("values"))
