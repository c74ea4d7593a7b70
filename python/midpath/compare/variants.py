"""Variants of one scenario, compared side by side on the same flows.

A scenario has them as `[variants.NAME]`, each a table of changed keys. Each variant is a separate comparison; this
module has their common parts, and the ratios of each to the first.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from midpath.compare import same
from midpath.compare.comparison import Comparison, Row
from midpath.compare.runs import compared, load_comparison, planned, require_folders
from midpath.compare.verdict import fastest
from midpath.controller import Controllers
from midpath.equipment import Equipment
from midpath.errors import OutputError, UsageError
from midpath.html import Reported, to_html
from midpath.matched import column
from midpath.metrics import IDEAL, METRICS
from midpath.palette import name
from midpath.provenance import require_alike, together
from midpath.result import Result
from midpath.run import One, as_names, as_scenario
from midpath.run.whole import RunCallback, StepCallback, whole_results
from midpath.scenario import Scenario
from midpath.stats import Estimate, paired_ratio
from midpath.storage import read_json, require_replaceable, to_json, write_text
from midpath.units import listed, quantity

MARKER = "variants.json"
# Where the comparisons of the variants are.
FOLDER = "variants"
# Two runs with the same of these have the same flows.
FLOW_TEXTS = ("group", "src", "dst")
FLOW_NUMBERS = ("size_bytes", "start_s")


@dataclass(frozen=True)
class VariantRow:
    """One variant under one scheme: its row, and the ratio of its figures to those of the first variant."""

    variant: str
    row: Row
    to_first: dict[str, Estimate | None]

    def to_json(self) -> dict[str, Any]:
        """As it stands in variants.json."""
        ratios = {key: value and value.to_json() for key, value in self.to_first.items()}
        return {"variant": self.variant, **self.row.to_json(), "ratio_to_first": ratios}


@dataclass(frozen=True)
class Variants(Reported):
    """The comparisons of a scenario's variants, by name."""

    scenario: str
    source: str | None
    comparisons: dict[str, Comparison]

    def __post_init__(self) -> None:
        """Variants that ran under unlike versions or defaults are not compared."""
        require_alike(self.kept())

    def kept(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """What each run says of itself, by its name."""
        for variant, found in self.comparisons.items():
            yield from ((f"{variant}/{name}", run) for name, run in found.kept())

    def __repr__(self) -> str:
        """One line."""
        return f"<Variants {self.title!r}: {', '.join(self.comparisons)}; {', '.join(self.schemes)}>"

    def _repr_html_(self) -> str:
        """The table, for notebooks."""
        rows = self.rows()
        columns = {"Variant": [row.variant for row in rows], "Scheme": [name(row.row.scheme) for row in rows]}
        for metric in METRICS:
            if metric.headline:
                shown = [(self.comparisons[row.variant], row.row.figures[metric.key]) for row in rows]
                columns[metric.label] = [one.shown(metric.kind, value) for one, value in shown]
        return f"<p>{escape(repr(self))}</p>{to_html(columns)}"

    @property
    def names(self) -> list[str]:
        """The variants, in the order asked for."""
        return list(self.comparisons)

    @property
    def first(self) -> Comparison:
        """What the others are compared with."""
        return self.comparisons[self.names[0]]

    @property
    def title(self) -> str:
        """The scenario's title."""
        return self.first.title

    @property
    def schemes(self) -> list[str]:
        """In the order asked for."""
        return self.first.schemes

    @property
    def seeds(self) -> list[int]:
        """Of all variants."""
        return self.first.seeds

    @functools.cached_property
    def same_flows(self) -> dict[str, bool]:
        """Whether a variant has the flows of the first: changed traffic is another matter than a changed network."""
        return {variant: _same_flows(self.first, found) for variant, found in self.comparisons.items()}

    @functools.cached_property
    def matched(self) -> dict[str, Comparison]:
        """The comparisons, with times over the flows that ended in all variants with the same flows."""
        alike = [found for variant, found in self.comparisons.items() if self.same_flows[variant]]
        runs = {seed: [found.results[s, seed] for found in alike for s in found.schemes] for seed in self.seeds}
        if len(alike) < 2:
            return self.comparisons
        return {
            variant: replace(found, beside=runs) if self.same_flows[variant] else found
            for variant, found in self.comparisons.items()
        }

    def rows(self) -> list[VariantRow]:
        """A row for each variant and scheme."""
        return [
            VariantRow(variant, row, self._to_first(variant, row.scheme))
            for variant, found in self.matched.items()
            for row in found.rows()
        ]

    def against_first(self, variant: str, scheme: str, key: str) -> Estimate | None:
        """The mean ratio of a figure to the first variant's, seed by seed. None where flows are not the same."""
        if not self.same_flows[variant]:
            return None
        first, found = self.matched[self.names[0]], self.matched[variant]
        return paired_ratio(found.values(scheme, key), first.values(scheme, key))

    def times(self, variant: str, ratio: Estimate) -> str:
        """A ratio to the first variant in words; random where either of the two is."""
        is_random = self.first.is_random or self.comparisons[variant].is_random
        return quantity("times", ratio.mean, (ratio.ci95 or None) if is_random else None).removesuffix("×")

    def _to_first(self, variant: str, scheme: str) -> dict[str, Estimate | None]:
        keys = [metric.key for metric in METRICS if metric.better]
        return {key: self.against_first(variant, scheme, key) for key in keys}

    @functools.cached_property
    def equipment(self) -> list[tuple[str, Equipment]]:
        """What each scheme had, by variant; the variants that had the same stand together."""
        found: dict[Equipment, list[str]] = {}
        for variant, comparison in self.comparisons.items():
            for row in comparison.equipment:
                found.setdefault(row, []).append(variant)
        everywhere = len(self.comparisons)
        return [("all" if len(of) == everywhere else ", ".join(of), row) for row, of in found.items()]

    @property
    def is_random(self) -> bool:
        """Whether seeds matter in any variant: the first may be the one without luck."""
        return any(found.is_random for found in self.comparisons.values())

    @property
    def notes(self) -> list[str]:
        """How figures are to be read."""
        found = []
        others = [variant for variant, same in self.same_flows.items() if not same]
        if others:
            found.append(
                f"{listed(others)} {'has' if len(others) == 1 else 'have'} other flows than {self.names[0]}: "
                "no ratios, and times cover its own flows"
            )
        if matching := self.matched[self.names[0]].matching:
            found.append(f"{matching}; loss, memory and queueing delay cover all flows")
        certain = [variant for variant, comparison in self.comparisons.items() if not comparison.is_random]
        if not self.is_random:
            found.append("nothing in this scenario is random: no intervals")
        elif len(self.seeds) > 1:
            found.append(f"means over {len(self.seeds)} seeds, ± 95 % confidence; ratios are seed by seed")
        else:
            found.append("one seed: differences may be chance")
        if certain and self.is_random:
            found.append(f"nothing is random in {listed(certain)}: no intervals there")
        return found

    @property
    def warnings(self) -> list[str]:
        """What is to be known beside the figures; what only some variants warn of names them."""
        of = {variant: found.warnings for variant, found in self.comparisons.items()}
        texts = dict.fromkeys(text for found in of.values() for text in found)
        named = [self._warning(text, [variant for variant, found in of.items() if text in found]) for text in texts]
        return [*self._same(), *named]

    def _same(self) -> list[str]:
        """Variants that changed nothing, under any scheme."""
        schemes = [scheme for scheme in self.schemes if scheme != IDEAL]
        runs = {variant: [run for s in schemes for run in found.of(s)] for variant, found in self.comparisons.items()}
        return [
            f"{listed(group)} are identical flow by flow, under every scheme: their changes had no effect"
            for group in same.groups(runs)
        ]

    def _warning(self, text: str, variants: list[str]) -> str:
        return text if len(variants) == len(self.comparisons) else f"{', '.join(variants)}: {text}"

    def verdict(self) -> list[str]:
        """For each scheme, how much longer or shorter its flows take in each variant than in the first; in each
        variant, which scheme is fastest.
        """
        found = [self._verdict(scheme) for scheme in self.schemes if scheme != IDEAL]
        found += [f"In {variant}, {ranking}" for variant, one in self.matched.items() if (ranking := fastest(one))]
        return [sentence for sentence in found if sentence]

    def _verdict(self, scheme: str) -> str:
        parts = []
        for variant in self.names[1:]:
            ratio = self.against_first(variant, scheme, "afct_s")
            if ratio is None:
                continue
            apart = ratio.differs(1, alone=True)
            parts.append(f"{variant} {self.times(variant, ratio)}{'' if apart else ' (not significant)'}")
        if not parts:
            return ""
        return f"Under {name(scheme)}, completion times relative to {self.names[0]}: {'; '.join(parts)}."

    def to_json(self) -> dict[str, Any]:
        """What variants.json holds."""
        return {
            **together(run for _, run in self.kept()),
            "format": 1,
            "kind": "variants",
            "title": self.title,
            "source": self.source,
            "scenario": self.scenario,
            "variants": self.names,
            "schemes": self.schemes,
            "seeds": self.seeds,
            "same_flows": self.same_flows,
            "rows": [row.to_json() for row in self.rows()],
            "equipment": [{"variant": variant, **row.to_json()} for variant, row in self.equipment],
            "notes": self.notes,
            "warnings": self.warnings,
            "verdict": self.verdict(),
        }


def compare_variants(
    scenario: One,
    schemes: Sequence[str] | str,
    variants: Sequence[str] | str | None = None,
    *,
    seeds: int | Sequence[int] = 1,
    ideal: bool = True,
    replace: bool = False,
    jobs: int | None = None,
    executor: Executor | None = None,
    out: str | Path | None = None,
    on_run: RunCallback | None = None,
    on_step: StepCallback | None = None,
    controllers: Controllers | None = None,
) -> Variants:
    """Runs every scheme with every seed in variants of a scenario; in all that it has, or in those named.

    The first variant is what the others are compared with. The other arguments are those of `compare`. With `out`, each
    variant is a comparison in a folder of its own, `variants/NAME`.
    """
    asked = as_scenario(scenario).with_(controllers=controllers)
    names = chosen(asked, variants)
    path = Path(out) if out is not None else None
    if path is not None:
        require_variants(path, None if replace else names)
    folders = [path / FOLDER / variant for variant in names] if path is not None else []
    plan = planned([asked.with_variant(variant) for variant in names], schemes, seeds, ideal, jobs)
    require_folders(plan, folders, replace)
    results = whole_results(
        plan,
        jobs=jobs,
        executor=executor,
        folders=folders,
        replace=replace,
        on_run=on_run,
        on_step=on_step,
        names=names,
    )
    found = compared(plan, results, folders)
    result = Variants(asked.effective_text(), asked.file_name, dict(zip(names, found, strict=True)))
    if path is not None:
        write_text(path / MARKER, to_json(result.to_json()))
    return result


def chosen(scenario: Scenario, variants: Sequence[str] | str | None) -> list[str]:
    """The variants asked for, all of them unless said."""
    names = list(scenario.variants) if variants is None else list(dict.fromkeys(as_names(variants)))
    if not names:
        raise UsageError("the scenario has no variants: write [variants.NAME] with the keys that change")
    return names


def load_variants(directory: str | Path) -> Variants:
    """Reads what `compare_variants(out=…)` wrote."""
    path = Path(directory)
    head = read_json(path / MARKER)
    found = {variant: load_comparison(path / FOLDER / variant) for variant in head["variants"]}
    return Variants(head["scenario"], head.get("source"), found)


def require_variants(path: Path, names: Sequence[str] | None = None) -> None:
    """Raises `OutputError` if `path` holds something else, or variants that are not among `names`."""
    if path.is_dir() and [entry.name for entry in path.iterdir()] == [FOLDER]:
        return  # interrupted
    require_replaceable(path, MARKER)
    if names is None or not (path / MARKER).is_file():
        return
    lost = [variant for variant in read_json(path / MARKER)["variants"] if variant not in names]
    if lost:
        raise OutputError(
            f"{path} also holds {listed(lost)}, which this comparison lacks: choose another directory, or replace it "
            "(--replace)"
        )


def _same_flows(first: Comparison, other: Comparison) -> bool:
    scheme = first.schemes[0]
    return all(same_flows(first.results[scheme, seed], other.results[scheme, seed]) for seed in first.seeds)


def same_flows(run: Result, other: Result) -> bool:
    """Whether two runs have the same flows: who sends how much to whom, and when."""
    if run.flows.num_rows != other.flows.num_rows:
        return False
    texts = all(run.flows[key].to_pylist() == other.flows[key].to_pylist() for key in FLOW_TEXTS)
    # The size of a flow without end is no number.
    return texts and all(np.array_equal(column(run, key), column(other, key), equal_nan=True) for key in FLOW_NUMBERS)
