"""EXPLAINED.md of a paper: results of searches for readings, from the stored results of each figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from midpath import markdown
from midpath.extension import _midpath
from midpath.papers import record
from midpath.papers.explain import Search, Trial, failing_claims, standing_claims
from midpath.papers.openings import Opening, openings
from midpath.papers.registry import Claim, Figure
from midpath.papers.runner import shown
from midpath.papers.tolerance import Judgement
from midpath.storage import read_json, to_json, write_text

KEPT = "explained.json"
PAGE = "EXPLAINED.md"
HEAD = """# {paper}: what does not hold, and which readings were tried

Written by `midpath paper explain {paper} --write-results`. What a figure's paper leaves open stands in its `open.toml`,
written down before the first run. A claim *holds under a reading* if it does so with seeds that the search has not
seen, together with all other claims of the figure that hold as it stands. These verdicts stand beside those of
[RESULTS.md](RESULTS.md) and replace none. `docs/papers.md` says how to repeat them.
"""


def keep(search: Search) -> Path:
    """Writes what a search has come to beside the figure's claims."""
    path = search.figure.directory / KEPT
    write_text(path, record.on_one_line(to_json(to_values(search))) + "\n")
    return path


def to_values(search: Search) -> dict[str, Any]:
    """A search as it is kept: each reading with what the claims came to, and what follows."""
    return {
        "midpath": _midpath.version(),
        "seeds": search.seeds,
        "of": search.of,
        "trials": [_trial(one) for one in search.trials],
        "confirmed": [_trial(one) for one in search.confirmed],
        "claims": {one.claim.id: {"verdict": one.verdict, "text": one.text(search)} for one in search.explanations},
    }


def _trial(trial: Trial) -> dict[str, Any]:
    claims = {one.claim.id: [one.ours and one.ours.mean, one.judgement] for one in trial.verdicts if one.claim.counts}
    return {"reading": trial.reading.labels(), "claims": claims}


def stored(figure: Figure) -> dict[str, Any]:
    """What `keep` wrote; nothing if no search has been run."""
    path = figure.directory / KEPT
    return read_json(path) if path.is_file() else {}


def write_page(figures: Sequence[Figure]) -> Path:
    """Writes EXPLAINED.md of the paper that all of these figures are of."""
    path = figures[0].directory.parent / PAGE
    write_text(path, page(figures))
    return path


def page(figures: Sequence[Figure]) -> str:
    """EXPLAINED.md: the counts, then by figure what is open and what each reading does."""
    failing = [(figure, verdict) for figure in figures for verdict in failing_claims(figure)]
    counts: dict[str, int] = {}
    for figure, verdict in failing:
        found = stored(figure).get("claims", {}).get(verdict.claim.id, {}).get("verdict", "not searched yet")
        counts[found] = counts.get(found, 0) + 1
    lines = [HEAD.format(paper=figures[0].paper), markdown.table(("verdict", "claims"), _counted(counts))]
    for figure in dict.fromkeys(figure for figure, _ in failing):
        lines += ["", *_section(figure)]
    return "\n".join(lines) + "\n"


def _counted(counts: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    return ((verdict, str(count)) for verdict, count in sorted(counts.items()))


def _section(figure: Figure) -> Iterator[str]:
    kept, failing = stored(figure), failing_claims(figure)
    yield f"## {figure.id}: {figure.title}"
    yield ""
    yield from (_open(one) for one in openings(figure).openings)
    if kept:
        yield ""
        tried = f"{len(kept['trials'])} of {kept['of']} readings tried"
        yield f"Midpath {kept['midpath']}, {kept['seeds']} seeds each; {tried}."
    yield ""
    explained = kept.get("claims", {})
    for verdict in failing:
        said = explained.get(verdict.claim.id, {}).get("text", "not searched yet.")
        yield f"- `{verdict.claim.id}`, {verdict.claim.claim}: {said}"
    if kept.get("trials"):
        yield ""
        yield from _trials(figure, kept, [verdict.claim for verdict in failing])


def _open(one: Opening) -> str:
    first, *others = (choice.label for choice in one.choices)
    return f"- **{one.name}**: {one.says} Stands: {first}. Tried: {', '.join(others)}."


def _trials(figure: Figure, kept: dict[str, Any], claims: Sequence[Claim]) -> Iterator[str]:
    """A row for each reading: the values of what fails as it stands, bold where it holds, and what breaks."""
    listed = openings(figure).openings
    standing = standing_claims(figure)
    heads = (*(one.name for one in listed), *(f"`{claim.id}`" for claim in claims), "breaks")
    yield markdown.table(
        heads,
        (
            (
                *(str(trial["reading"].get(one.name, "–")) for one in listed),
                *(_value(claim, trial["claims"].get(claim.id)) for claim in claims),
                _broken(trial["claims"], standing),
            )
            for trial in kept["trials"]
        ),
    )


def _value(claim: Claim, kept: Sequence[Any] | None) -> str:
    if kept is None or kept[0] is None:
        return "–"
    text = shown(claim, kept[0])
    return f"**{text}**" if kept[1] == Judgement.HOLDS else text


def _broken(claims: Mapping[str, Sequence[Any]], standing: Sequence[str]) -> str:
    broken = [f"`{one}`" for one in standing if one in claims and claims[one][1] == Judgement.FAILS]
    few = ", ".join(broken[:3])
    return f"{few} and {len(broken) - 3} more" if len(broken) > 3 else few or "nothing"
