"""Several schemes on the same scenario and seeds."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from midpath import _midpath, matched
from midpath.errors import UsageError
from midpath.metrics import METRICS
from midpath.result import Result, load
from midpath.run import as_scenario
from midpath.scenario import Scenario
from midpath.stats import Estimate, estimate, paired_ratio, told_apart
from midpath.storage import read_json, require_replaceable, to_json, write_text
from midpath.work import RUNS, RunCallback, StepCallback, Work, run_directory

if TYPE_CHECKING:
    import pandas as pd

MARKER = "compare.json"
IDEAL = "ideal"


@dataclass(frozen=True)
class Row:
    """One scheme: its figures over the seeds, and their ratio to the ideal's on the same flows."""

    scheme: str
    flows: int
    completed: int
    figures: dict[str, Estimate | None]
    to_ideal: dict[str, Estimate | None]

    def to_json(self) -> dict[str, Any]:
        """As it stands in compare.json."""
        return {
            "scheme": self.scheme,
            "flows": self.flows,
            "completed": self.completed,
            "figures": {key: value and value.to_json() for key, value in self.figures.items()},
            "ratio_to_ideal": {key: value and value.to_json() for key, value in self.to_ideal.items()},
        }


@dataclass(frozen=True)
class Comparison:
    """The runs of a comparison, by scheme and seed."""

    scenario: str
    source: str | None
    schemes: list[str]
    seeds: list[int]
    results: dict[tuple[str, int], Result]

    @property
    def title(self) -> str:
        """The scenario's title."""
        return self.of(self.schemes[0])[0].title

    def of(self, scheme: str) -> list[Result]:
        """The runs of one scheme, by seed."""
        return [self.results[scheme, seed] for seed in self.seeds]

    def rows(self) -> list[Row]:
        """One row per scheme, in the order asked for."""
        return [self._row(scheme) for scheme in self.schemes]

    def values(self, scheme: str, key: str) -> list[float | None]:
        """A figure of one scheme, by seed."""
        return [result.summary.get(key) for result in self.of(scheme)]

    def comparable(self, key: str) -> bool:
        """Whether a figure is over the same flows for all schemes, so that they can be ranked by it."""
        ended = {scheme: self.values(scheme, "completed") for scheme in self.schemes if scheme != IDEAL}
        return key not in matched.FIGURES or all(counts == next(iter(ended.values())) for counts in ended.values())

    def told_apart(self, scheme: str, other: str, key: str) -> bool:
        """Whether two schemes differ in a figure by more than luck, seed by seed."""
        return told_apart(self.values(scheme, key), self.values(other, key))

    def _row(self, scheme: str) -> Row:
        summaries = [result.summary for result in self.of(scheme)]
        figures = {metric.key: estimate(self.values(scheme, metric.key)) for metric in METRICS}
        to_ideal: dict[str, Estimate | None] = {}
        if IDEAL in self.schemes:
            for key in (metric.key for metric in METRICS if metric.better):
                pairs = [matched.figures(*runs, key) for runs in zip(self.of(scheme), self.of(IDEAL), strict=True)]
                to_ideal[key] = paired_ratio(*zip(*pairs, strict=True))
        flows, completed = (sum(s[key] for s in summaries) for key in ("flows", "completed"))
        return Row(scheme, flows, completed, figures, to_ideal)

    def to_pandas(self) -> pd.DataFrame:
        """Scheme by figure: mean, ci95 and ratio to the ideal."""
        records = [
            {
                "scheme": row.scheme,
                "figure": key,
                "mean": value.mean if value else None,
                "ci95": value.ci95 if value else None,
                "ratio_to_ideal": ratio.mean if (ratio := row.to_ideal.get(key)) else None,
            }
            for row in self.rows()
            for key, value in row.figures.items()
        ]
        import pandas as pd  # noqa: PLC0415 - most commands need no data frame, and it is slow to load

        return pd.DataFrame(records).set_index(["scheme", "figure"])

    def to_json(self) -> dict[str, Any]:
        """What compare.json holds."""
        return {
            "midpath": _midpath.version(),
            "format": 1,
            "kind": "comparison",
            "title": self.title,
            "source": self.source,
            "scenario": self.scenario,
            "schemes": self.schemes,
            "seeds": self.seeds,
            "rows": [row.to_json() for row in self.rows()],
        }

    def save(self, directory: str | Path) -> Path:
        """Writes all runs, each whole, and then compare.json."""
        path = Path(directory)
        require_comparison(path)
        for (scheme, seed), result in self.results.items():
            result.save(run_directory(path, scheme, seed))
        write_text(path / MARKER, to_json(self.to_json()))
        return path

    def report(self, path: str | Path) -> Path:
        """Writes the HTML report of this comparison."""
        from midpath.report import write_report  # noqa: PLC0415 - plotting libraries load only when asked for

        return write_report(self, path)


def compare(
    scenario: Scenario | str | Path,
    schemes: Sequence[str],
    *,
    seeds: int | Sequence[int] = 1,
    ideal: bool = True,
    jobs: int | None = None,
    executor: Executor | None = None,
    out: str | Path | None = None,
    on_run: RunCallback | None = None,
    on_step: StepCallback | None = None,
) -> Comparison:
    """Runs every scheme with every seed, `jobs` at a time, on threads: the simulator works outside Python's lock.

    `seeds` is how many, from the scenario's own upwards, or which. With `out`, each run is stored as it ends, and runs
    that are already there (same version, scenario text, scheme and seed) are not run again. An `executor` (of
    processes, or of a Dask cluster) takes the place of the threads; it reports no steps.
    """
    asked = as_scenario(scenario)
    wanted = list(dict.fromkeys([*schemes, *([IDEAL] if ideal else [])]))
    for scheme in wanted:
        asked.with_(scheme=scheme).check()
    numbers = list(seeds) if not isinstance(seeds, int) else [asked.base_seed() + i for i in range(seeds)]
    if not wanted or not numbers:
        raise UsageError("a comparison needs a scheme and a seed")
    path = Path(out) if out is not None else None
    if path is not None:
        require_comparison(path)
    work = Work(asked, path, on_run, on_step)
    results = work.all([(scheme, seed) for scheme in wanted for seed in numbers], jobs, executor)
    found = Comparison(asked.effective_text(), asked.file_name, wanted, numbers, results)
    if path is not None:
        write_text(path / MARKER, to_json(found.to_json()))
    return found


def load_comparison(directory: str | Path) -> Comparison:
    """Reads what `compare(out=…)` or `Comparison.save` wrote."""
    path = Path(directory)
    head = read_json(path / MARKER)
    pairs = [(scheme, seed) for scheme in head["schemes"] for seed in head["seeds"]]
    results = {pair: load(run_directory(path, *pair)) for pair in pairs}
    return Comparison(head["scenario"], head.get("source"), head["schemes"], head["seeds"], results)


def require_comparison(path: Path) -> None:
    """Raises `OutputError` if `path` is in use for something else than a comparison, finished or interrupted."""
    interrupted = path.is_dir() and [entry.name for entry in path.iterdir()] == [RUNS]
    if not interrupted:
        require_replaceable(path, MARKER)
