"""Runs figures and judges their claims."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from midpath.errors import ScenarioError, UsageError
from midpath.papers.judging import judge
from midpath.papers.lab import Lab, Measured, MissingDataError, NameCallback, StepCallback, Values
from midpath.papers.openings import Reading
from midpath.papers.registry import MEASURE, Claim, Figure
from midpath.papers.tolerance import Judgement
from midpath.result import Result
from midpath.run.drive import Threads
from midpath.stats import Estimate
from midpath.units import UNITS, quantity

# Seeds of a quick run, unless the figure has fewer.
QUICK_SEEDS = 2

# What programs read: true, false, or null where nothing is decided.
HOLDS = {Judgement.HOLDS: True, Judgement.FAILS: False}

Measure = Callable[[Lab], Iterable[Measured]]


@dataclass(frozen=True)
class Verdict:
    """One claim: what the paper says, what we got, whether that is the same.

    `values` are what `ours` was made from: one per seed, or so many for each group.
    """

    figure: str
    claim: Claim
    ours: Estimate | None
    bound: float | None
    judgement: Judgement
    why: str
    values: Values | None = None

    @property
    def within(self) -> bool | None:
        """Whether the mean is within the bound, whatever its interval; None without a value."""
        if self.ours is None:
            return None
        return self.claim.tolerance.allows(self.ours.mean, self.claim.number, self.bound)

    @property
    def fails(self) -> bool:
        """Whether it is a claim that does not hold."""
        return self.judgement is Judgement.FAILS

    @property
    def skipped(self) -> bool:
        """Whether the data that it needs are not there."""
        return self.judgement is Judgement.SKIPPED

    def to_json(self) -> dict[str, Any]:
        """As `midpath paper run --json` prints it."""
        return {
            "id": f"{self.figure}/{self.claim.id}",
            "source": self.claim.source,
            "claim": self.claim.claim,
            "says": self.claim.says,
            "kind": self.claim.kind,
            "unit": UNITS[self.claim.kind],
            "paper": self.claim.paper,
            "ours": self.ours.mean if self.ours else None,
            "ci95": self.ours.ci95 if self.ours else None,
            "runs": self.ours.n if self.ours else 0,
            "seeds": self.ours.of if self.ours else 0,
            "group": self.ours.group if self.ours else None,
            "values": self.values,
            "bound": self.bound,
            "tolerance": self.claim.tolerance.to_json(),
            "fixed": self.claim.fixed,
            "verdict": self.judgement,
            "holds": HOLDS.get(self.judgement),
            "why": self.why,
        }


def run_figure(
    figure: Figure,
    *,
    seeds: int | None = None,
    first_seed: int = 1,
    quick: bool = False,
    jobs: int | None = None,
    out: Path | None = None,
    rocketfuel: Path | None = None,
    reading: Reading | None = None,
    on_asked: NameCallback | None = None,
    on_step: StepCallback | None = None,
    on_end: NameCallback | None = None,
) -> list[Verdict]:
    """Runs what a figure needs, `jobs` runs at a time, and judges each of its claims, in their order.

    A figure in which nothing is run has one seed, whatever `seeds` says. `rocketfuel` is the folder with
    Rocketfuel's maps; without it, the environment's `MIDPATH_ROCKETFUEL`. With a `reading`, none of the seeds is the
    run as it stands.
    """
    wanted = min(figure.seeds, QUICK_SEEDS) if quick and seeds is None else seeds or figure.seeds
    numbers = range(first_seed, first_seed + (wanted if figure.seeds > 1 else 1))
    measure = load_measure(figure)

    def ended(name: str, result: Result) -> None:
        if out is not None:
            result.save(out / name)
        if on_end is not None:
            on_end(name)

    with Threads(jobs, on_step, ended) as threads:
        lab = Lab(
            figure.directory,
            numbers,
            threads,
            quick=quick,
            perturb=figure.perturb,
            more=reading is not None,
            reading=reading,
            rocketfuel=rocketfuel,
            on_asked=on_asked,
        )
        return _judged(figure, measure(lab))


def load_measure(figure: Figure) -> Measure:
    """The function `measure` of the figure's measure.py."""
    file = figure.directory / MEASURE
    spec = importlib.util.spec_from_file_location(f"midpath_papers_{figure.id.replace('/', '_')}", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise UsageError(f"{figure.id} has no {MEASURE}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Measure = module.measure
    return found


def _judged(figure: Figure, measured: Iterable[Measured]) -> list[Verdict]:
    found: dict[str, Measured] = {}
    failure, skipped = "no measurement", False
    try:
        found.update((one.id, one) for one in measured)
    except ScenarioError as error:
        failure = f"cannot run: {error}"
    except MissingDataError as error:
        failure, skipped = str(error), True
    unknown = sorted(found.keys() - {claim.id for claim in figure.claims})
    if unknown:
        raise UsageError(f"{figure.id}: {MEASURE} measures {', '.join(unknown)}, which {figure.id} does not claim")
    missing = [Measured(claim.id, [], skipped=failure) for claim in figure.claims if claim.id not in found]
    found |= {one.id: one for one in missing if skipped}
    return [_held(figure.id, claim, found.get(claim.id), failure) for claim in figure.claims]


def _held(figure: str, claim: Claim, measured: Measured | None, failure: str) -> Verdict:
    if measured is None:
        return Verdict(figure, claim, None, None, Judgement.FAILS, failure)
    if measured.skipped is not None:
        return Verdict(figure, claim, None, None, Judgement.SKIPPED, measured.skipped)
    ours, values = measured.estimate(), _known(measured.values)
    if ours is None:
        return Verdict(figure, claim, None, measured.bound, Judgement.FAILS, "the runs gave no value", values)
    return Verdict(figure, claim, ours, measured.bound, *judge(claim, ours, measured.bound), values)


def _known(values: Values) -> Values:
    """None where there is no number."""
    if isinstance(values, Mapping):
        return {name: [_finite(value) for value in of] for name, of in values.items()}
    return [_finite(value) for value in values]


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def shown(claim: Claim, value: float | str | None, ci95: float | None = None) -> str:
    """A value of a claim, for people."""
    return value if isinstance(value, str) else quantity(claim.kind, value, ci95)


def row(found: Verdict) -> tuple[str, str, str, str]:
    """Paper, ours, ideal, holds: what the table on a terminal and RESULTS.md show."""
    return (
        shown(found.claim, found.claim.paper),
        _ours(found),
        shown(found.claim, found.bound),
        WORDS.get(found.judgement, str(found.judgement)),
    )


def _ours(found: Verdict) -> str:
    ours = found.ours
    if ours is None:
        return "–"
    missing = "" if ours.is_whole else f" ({ours.n} of {ours.of} seeds)"
    return shown(found.claim, ours.mean, ours.ci95) + missing


# In a column called "holds".
WORDS = {Judgement.HOLDS: "yes", Judgement.FAILS: "no"}
