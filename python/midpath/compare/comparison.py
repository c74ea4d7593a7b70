"""What came of several schemes on the same scenario and seeds."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from midpath import matched
from midpath.compare import same
from midpath.compare.datagrams import DatagramRow, datagram_rows
from midpath.compare.groups import GroupRow, group_rows
from midpath.equipment import Equipment, equipment_of, unequal
from midpath.errors import OutputError
from midpath.html import Reported, to_html
from midpath.metrics import IDEAL, METRICS
from midpath.palette import name
from midpath.provenance import require_alike, together
from midpath.result import Result, distinct_warnings
from midpath.run.whole import RUNS, run_directory
from midpath.scenario import parse
from midpath.stats import Estimate, estimate, paired_excess, paired_ratio, told_apart
from midpath.storage import read_json, require_replaceable, to_json, write_text
from midpath.units import listed, quantity

if TYPE_CHECKING:
    import pandas as pd

Pair = tuple[str, int]

MARKER = "compare.json"
# Warnings that differ in these alone say the same.
# Said in place of the ideal, by the key that it lacks.
NO_IDEAL = {
    "after": "no ideal: some flows start `after` others, and the fluid model starts flows at their times",
    "write": "no ideal: some applications `write` now and then, and the fluid model has all data at the start",
}
NUMBER = re.compile(r"\d[\d.,]*")


@dataclass(frozen=True)
class Row:
    """One scheme: its figures over the seeds, those of completed flows over the flows that ended under all schemes; and
    their ratio to the ideal's.
    """

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
class Comparison(Reported):
    """The runs of a comparison, by scheme and seed."""

    scenario: str
    source: str | None
    schemes: list[str]
    seeds: list[int]
    results: dict[tuple[str, int], Result]
    # By seed, runs of other variants: times are over the flows that ended in these, too.
    beside: Mapping[int, Sequence[Result]] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Runs of unlike versions or defaults are not compared."""
        require_alike(self.kept())

    def kept(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """What each run says of itself, by its name."""
        return ((f"{scheme}-{seed}", result.run) for (scheme, seed), result in self.results.items())

    def __repr__(self) -> str:
        """One line."""
        seeds = f"{len(self.seeds)} seed{'' if len(self.seeds) == 1 else 's'}"
        return f"<Comparison {self.title!r}: {', '.join(self.schemes)}; {seeds}>"

    def _repr_html_(self) -> str:
        """The table of the comparison, for notebooks."""
        rows = self.rows()
        figures: dict[str, list[str]] = {"Scheme": [name(row.scheme) for row in rows]}
        for metric in METRICS:
            if metric.headline:
                figures[metric.label] = [self.shown(metric.kind, row.figures[metric.key]) for row in rows]
        return f"<p>{escape(repr(self))}</p>{to_html(figures)}"

    def shown(self, kind: str, value: Estimate | None) -> str:
        """A figure in words, with its interval if anything is random."""
        return quantity(kind, value.mean, value.ci95 if self.is_random else None) if value else "–"

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
        """A figure of one scheme, by seed; one over completed flows is over those that ended under all schemes."""
        return [matched.figure(self.results[scheme, seed], key, self.common[seed]) for seed in self.seeds]

    @functools.cached_property
    def common(self) -> dict[int, matched.Mask | None]:
        """By seed: the flows that ended under all schemes (and in all variants), where not all ended under all."""
        return {
            seed: matched.ended_in_all(
                [*(self.results[scheme, seed] for scheme in self.schemes), *self.beside.get(seed, ())]
            )
            for seed in self.seeds
        }

    @property
    def matching(self) -> str | None:
        """Which flows times are over, if not all of them ended under all schemes."""
        masks = [mask for mask in self.common.values() if mask is not None]
        if not masks:
            return None
        ended, all_flows = sum(int(mask.sum()) for mask in masks), sum(mask.size for mask in masks)
        everywhere = " and in all variants" if self.beside else ""
        return f"Times cover the {ended:,} of {all_flows:,} flows that ended under all schemes{everywhere}"

    @functools.cached_property
    def is_random(self) -> bool:
        """Whether seeds matter: with several, whether they changed anything; with one, whether a run drew from its."""
        if self.of(self.schemes[0])[0].run.get("kind") == "lab":
            return True  # real time never repeats itself
        if len(self.seeds) == 1:
            return any(self.of(scheme)[0].run.get("stochastic", True) for scheme in self.schemes)
        return any(_differ(self.of(scheme)) for scheme in self.schemes)

    @functools.cached_property
    def equipment(self) -> list[Equipment]:
        """What each scheme had; of the ideal nothing is known."""
        found = [equipment_of(self.of(scheme)[0]) for scheme in self.schemes]
        return [row for row in found if row is not None]

    @functools.cached_property
    def groups(self) -> list[GroupRow]:
        """A row per scheme and group of flows; none where all flows are of one group."""
        return group_rows({scheme: self.of(scheme) for scheme in self.schemes}, list(self.common.values()))

    @functools.cached_property
    def datagrams(self) -> list[DatagramRow]:
        """A row per scheme and group of flows of datagrams."""
        return datagram_rows({scheme: self.of(scheme) for scheme in self.schemes})

    @property
    def warnings(self) -> list[str]:
        """What is to be known beside the figures: unlike equipment, and what runs warn of, scheme by scheme."""
        of_runs = {scheme: distinct_warnings(self.of(scheme)) for scheme in self.schemes}
        # The ideal has no packets, so that much cannot be said of it.
        packets = [found for scheme, found in of_runs.items() if scheme != IDEAL] or list(of_runs.values())
        everywhere = set.intersection(*map(set, packets))
        shared = [text for text in packets[0] if text in everywhere]
        own = _likewise({s: [text for text in found if text not in everywhere] for s, found in of_runs.items()})
        memory = unequal(self.equipment)
        # A long list of flows takes as long to parse as to run: first the words.
        words = any(word in self.scenario for word in (*NO_IDEAL, "client", "job"))
        lacking = no_ideal(parse(self.scenario, self.source)) if words else None
        return [*([lacking] if lacking else []), *([memory] if memory else []), *self._same(), *shared, *own]

    def _same(self) -> list[str]:
        """Schemes that made no difference to each other."""
        runs = {scheme: self.of(scheme) for scheme in self.schemes if scheme != IDEAL}
        return [
            f"{listed([name(scheme) for scheme in group])} are identical flow by flow: "
            "the option that distinguishes them had no effect"
            for group in same.groups(runs)
        ]

    def told_apart(self, scheme: str, other: str, key: str) -> bool:
        """Whether two schemes differ in a figure by more than luck, seed by seed."""
        return told_apart(self.values(scheme, key), self.values(other, key))

    def excess(self, scheme: str, other: str, key: str) -> Estimate | None:
        """By what share a figure of one scheme exceeds another's, seed by seed."""
        return paired_excess(self.values(scheme, key), self.values(other, key))

    def _row(self, scheme: str) -> Row:
        summaries = [result.summary for result in self.of(scheme)]
        figures = {metric.key: estimate(self.values(scheme, metric.key)) for metric in METRICS}
        to_ideal: dict[str, Estimate | None] = {}
        if IDEAL in self.schemes:
            for key in (metric.key for metric in METRICS if metric.better):
                to_ideal[key] = paired_ratio(self.values(scheme, key), self.values(IDEAL, key))
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
            **together(run for _, run in self.kept()),
            "format": 1,
            "kind": "comparison",
            "title": self.title,
            "source": self.source,
            "scenario": self.scenario,
            "schemes": self.schemes,
            "seeds": self.seeds,
            "rows": [row.to_json() for row in self.rows()],
            "groups": [row.to_json() for row in self.groups],
            "datagrams": [row.to_json() for row in self.datagrams],
            "equipment": [row.to_json() for row in self.equipment],
            "times_over": self.matching or "All flows",
            "warnings": self.warnings,
        }

    def save(self, directory: str | Path, *, replace: bool = False) -> Path:
        """Writes all runs, each whole, then compare.json. What has more runs is replaced only with `replace`."""
        path = Path(directory)
        require_comparison(path, None if replace else set(self.results))
        for (scheme, seed), result in self.results.items():
            result.save(run_directory(path, scheme, seed))
        write_text(path / MARKER, to_json(self.to_json()))
        return path


def no_ideal(scenario: Mapping[str, Any]) -> str | None:
    """Why a scenario, read from TOML, has no ideal, if it has none. Lines of lists are not read."""
    waits = any(scenario.get(key) for key in ("client", "job"))
    listed = [*scenario.get("flow", []), *scenario.get("workload", [])]
    if waits or any(one.get("after") for one in listed):
        return NO_IDEAL["after"]
    return next((NO_IDEAL["write"] for flow in scenario.get("flow", []) if flow.get("write")), None)


def _likewise(found: Mapping[str, Sequence[str]]) -> list[str]:
    """What schemes warn of, a sentence once: of those that say the same with other numbers, the first says it."""
    alike: dict[str, list[tuple[str, str]]] = {}
    for scheme, texts in found.items():
        for text in texts:
            alike.setdefault(NUMBER.sub("0", text), []).append((scheme, text))
    return [_warning(said) for said in alike.values()]


def _warning(said: Sequence[tuple[str, str]]) -> str:
    (first, text), *others = said
    head = text if text.startswith(first) else f"{name(first)}: {text}"
    rest = list(dict.fromkeys(name(scheme) for scheme, _ in others if scheme != first))
    return f"{head} (likewise, with other numbers: {listed(rest)})" if rest else head


def require_comparison(path: Path, pairs: set[Pair] | None = None) -> None:
    """Raises `OutputError` if `path` is in use for something else than a comparison, finished or interrupted.

    Also if it is in use for one that has runs which are not among `pairs`.
    """
    interrupted = path.is_dir() and [entry.name for entry in path.iterdir()] == [RUNS]
    if interrupted:
        return
    require_replaceable(path, MARKER)
    if pairs is None or not (path / MARKER).is_file():
        return
    head = read_json(path / MARKER)
    lost = {(scheme, seed) for scheme in head["schemes"] for seed in head["seeds"]} - pairs
    if lost:
        schemes = ", ".join(sorted({scheme for scheme, _ in lost}))
        raise OutputError(
            f"{path} holds a comparison with {len(lost)} runs that this one lacks (of {schemes}): "
            "choose another directory, or replace it (--replace)"
        )


def _differ(runs: Sequence[Result]) -> bool:
    """Whether seeds changed anything under one scheme."""
    first, *others = map(same.figures, runs)
    return any(figures != first for figures in others)
