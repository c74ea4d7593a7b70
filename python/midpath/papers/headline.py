"""Counts of claims that hold, by source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from midpath.papers.registry import Says
from midpath.papers.runner import Verdict
from midpath.papers.tolerance import Judgement

JUDGED = (Judgement.HOLDS, Judgement.FAILS, Judgement.UNDECIDED, Judgement.UNDECIDABLE, Judgement.SKIPPED)
# Beside what holds, the sentence names what was not decided; the rest does not hold.
OPEN = JUDGED[2:]
COLUMNS = ("source", "claims", *JUDGED)
WHO = {
    Says.NUMBER: "paper: number",
    Says.SHAPE: "paper: shape",
    Says.OURS: "ours",
    Says.THEORY: "theory",
    Says.INFORMATION: "information",
}


def headline(verdicts: Iterable[Verdict]) -> str:
    """In one sentence, of the paper's own claims that packets could have contradicted."""
    found = Counter(verdict.judgement for verdict in verdicts if verdict.claim.counts)
    if not found:
        return "none of these is a claim of the paper's own"
    said = f"{found[Judgement.HOLDS]} of {found.total()} claims of the paper hold"
    others = [f"{found[one]} {one}" for one in OPEN if found[one]]
    return ", ".join([said, *others])


def counts(verdicts: Iterable[Verdict]) -> Iterator[tuple[str, ...]]:
    """A row for each kind of claim that is there."""
    listed = list(verdicts)
    for says, who in WHO.items():
        found = Counter(verdict.judgement for verdict in listed if verdict.claim.says is says)
        if found:
            judged = ("–" if says is Says.INFORMATION else str(found[one]) for one in JUDGED)
            yield who, str(found.total()), *judged
