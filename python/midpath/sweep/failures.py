"""Every single-link failure of a scenario's network, under every scheme: which ones hurt, and how much.

Each failure is a point of a sweep: the scenario without one link, from the start or from a time on. The runs are in a
sweep's store, so only what is missing runs. Runs of one seed have the same flows, with and without a link.
"""

from __future__ import annotations

import functools
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from midpath import matched
from midpath.controller import Controllers
from midpath.errors import UsageError
from midpath.html import Reported
from midpath.metrics import BY_KEY, IDEAL
from midpath.palette import name
from midpath.result import Result
from midpath.run import One, as_names, as_scenario
from midpath.run.execute import Where, described
from midpath.run.plan import Plan, Point, Wanted, own_scheme
from midpath.run.slurm import Slurm
from midpath.run.task import DONE, FLOW_COLUMNS, MISSING
from midpath.run.work import ProgressCallback
from midpath.scenario import Scenario
from midpath.stats import Estimate, estimate, seeds_for
from midpath.sweep.quantity import number
from midpath.sweep.result import Sweep
from midpath.sweep.run import settings, swept, with_files
from midpath.topology import Link, Network, network_of, pairs_of, stranded
from midpath.units import quantity

HEADS = ("Link", "Scheme", "Hurts", "Without a route", "Don't end", "AFCT", "FCT p99", "Loss", "Busiest link")
# Figures with all links in place, which rows are to be compared with.
BEFORE = ("afct_s", "fct_p99_s", "loss_ratio", "utilisation_max")
# The column that says which link is out, and what it says where none is.
COLUMN, NONE = "link_out", "none"
KIND = "failures"
# Above this share it is said how many more seeds would tell, if they are few: nobody runs a thousand for less. Ours.
WORTH_FINDING, FEW_SEEDS = 0.05, 100
# More seeds than these are not counted.
MOST_SEEDS = 10_000


@dataclass(frozen=True)
class Harm:
    """What the loss of one link does under one scheme: ratios to the network with all links, over the same flows.

    `cut` flows of `flows` have no way left (of all seeds together); a seed that has such flows is not run.
    """

    link: Link
    scheme: str
    flows: int
    cut: int
    runs: int
    # Flows that ended with all links and do not without this one, and of how many.
    unended: int
    compared: int
    afct: Estimate | None
    fct_p99: Estimate | None
    loss: Estimate | None
    loss_before: Estimate | None
    busiest: Estimate | None
    # Whether every flow of every run takes exactly as long as with all links: none used it.
    unused: bool = False

    @property
    def hurts(self) -> bool | None:
        """Whether flows are cut off, don't end, or take longer by more than luck; unknown where nothing was run."""
        if self.cut or self.unended:
            return True
        if self.afct is None:
            return None
        return self.afct.interval[0] > 1

    @property
    def is_harmless(self) -> bool:
        """Whether flows are known to take no longer. Where no difference was found, that is not known."""
        return self.hurts is False and self.afct is not None and self.afct.interval[1] <= 1

    @property
    def seeds_wanted(self) -> int | None:
        """About how many seeds would tell whether it hurts, if the mean stays; none above `MOST_SEEDS`."""
        return seeds_for(self.afct, abs(self.afct.mean - 1), MOST_SEEDS) if self.afct is not None else None

    @property
    def most(self) -> float | None:
        """By what share flows take longer at most, by the upper end of the interval."""
        return self.afct.interval[1] - 1 if self.afct is not None and self.afct.ci95 is not None else None

    @property
    def cells(self) -> list[str]:
        """Its figures as they stand under `HEADS`, after link and scheme."""
        return [
            self._hurts(),
            f"{self.cut:,} of {self.flows:,}" if self.cut else "–",
            f"{self.unended:,} of {self.compared:,}" if self.unended else "–",
            *(_shown("times", ratio) for ratio in (self.afct, self.fct_p99)),
            *(_shown("ratio", share) for share in (self.loss, self.busiest)),
        ]

    def _hurts(self) -> str:
        if self.hurts is None:
            return "not run"
        if self.unused:
            return "no traffic"
        if self.hurts:
            return "yes"
        return "no" if self.is_harmless else "not significant"

    @property
    def rank(self) -> tuple[float, float, float]:
        """How bad it is: flows cut off, flows that don't end, times longer."""
        ratio = self.afct.mean if self.afct else 0.0
        return self.cut / max(self.flows, 1), self.unended / max(self.compared, 1), ratio

    def to_json(self) -> dict[str, Any]:
        """As `midpath failures --json` prints it."""
        figures = {
            "afct_ratio": self.afct,
            "fct_p99_ratio": self.fct_p99,
            "loss_ratio": self.loss,
            "loss_ratio_all_links": self.loss_before,
            "utilisation_max": self.busiest,
        }
        return {
            "link": list(self.link),
            "scheme": self.scheme,
            "hurts": self.hurts,
            "harmless": self.is_harmless,
            "unused": self.unused,
            "longer_at_most": self.most,
            "seeds_wanted": self.seeds_wanted,
            "flows": self.flows,
            "flows_without_way": self.cut,
            "runs": self.runs,
            "flows_unended": self.unended,
            **{key: value and value.to_json() for key, value in figures.items()},
        }


class Failures(Reported):
    """What came of each failure, read from a sweep's store."""

    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep

    def __repr__(self) -> str:
        """One line."""
        return f"<Failures {self.sweep.store.path}: {len(self.links)} links, {', '.join(self.schemes)}>"

    @functools.cached_property
    def about(self) -> dict[str, Any]:
        """What the store was asked for."""
        return self.sweep.about

    @property
    def title(self) -> str:
        """The scenario's title."""
        return str(self.about["title"])

    @property
    def schemes(self) -> list[str]:
        """In the order asked for."""
        return self.sweep.schemes

    @property
    def links(self) -> list[Link]:
        """Those that fail, each by its two ends."""
        return [(a, b) for a, b in self.about["links"]]

    @property
    def network(self) -> Network:
        """The network with all its links."""
        return Network(self.about["network"])

    @property
    def at(self) -> str | None:
        """When links fail; from the start if this is nothing."""
        found: str | None = self.about["at"]
        return found

    @functools.cached_property
    def harms(self) -> list[Harm]:
        """A row for each link and scheme, worst links first; the rows of a link follow each other."""
        found = {link: [self._harm(link, scheme) for scheme in self.schemes] for link in self.links}
        worst = sorted(found, key=lambda link: max(harm.rank for harm in found[link]), reverse=True)
        return [harm for link in worst for harm in found[link]]

    @functools.cached_property
    def whole(self) -> dict[str, dict[str, Estimate | None]]:
        """Of each scheme, its figures with all links in place."""
        return {scheme: self._whole(scheme) for scheme in self.schemes}

    def _whole(self, scheme: str) -> dict[str, Estimate | None]:
        runs = [run for seed in self.about["seeds"] if (run := self._run(NONE, scheme, seed)) is not None]
        return {key: estimate(run.summary.get(key) for run in runs) for key in BEFORE}

    @property
    def notes(self) -> list[str]:
        """How the rows are to be read, and what they are measured by."""
        seeds = len(self.about["seeds"])
        when = f"Links go down at {self.at}" if self.at is not None else "Links are out from the start"
        return [
            f"{when}, one at a time. AFCT and FCT p99 relative to all links up, over flows that ended in both.",
            f"Means over {seeds} seeds, ± 95 % confidence." if seeds > 1 else "One seed: differences may be chance.",
            *(f"All links up: {name(scheme)}, {_figures(found)}." for scheme, found in self.whole.items()),
        ]

    def failed_runs(self) -> list[dict[str, Any]]:
        """Runs that ended with an error."""
        return self.sweep.failures()

    @property
    def missing(self) -> int:
        """Runs that are still to be done."""
        return sum(record["status"] == MISSING for record in self._records.values())

    @functools.cached_property
    def _records(self) -> dict[tuple[str, str, int], dict[str, Any]]:
        return {(row[COLUMN], row["scheme"], row["seed"]): record for row, record in self.sweep.records()}

    def _run(self, out: str, scheme: str, seed: int) -> Result | None:
        """As much of a run as figures over common flows need."""
        record = self._records.get((out, scheme, seed))
        return self.sweep.store.of(record) if record is not None and record["status"] == DONE else None

    def _harm(self, link: Link, scheme: str) -> Harm:
        cut: dict[str, list[int]] = self.about["cuts"].get(label(link), {})
        seeds = self.about["seeds"]
        both = [(self._run(NONE, scheme, seed), self._run(label(link), scheme, seed)) for seed in seeds]
        pairs = [(before, after) for before, after in both if before is not None and after is not None]
        unended = compared = 0
        ratios: dict[str, list[float | None]] = {"afct_s": [], "fct_p99_s": []}
        for before, after in pairs:
            ended, still = (matched.ended(run) for run in (before, after))
            unended, compared = unended + int((ended & ~still).sum()), compared + int(ended.sum())
            common = matched.ended_in_all([before, after])
            for key, found in ratios.items():
                found.append(_ratio(matched.figure(after, key, common), matched.figure(before, key, common)))
        return Harm(
            link=link,
            scheme=scheme,
            flows=sum(self.about["flows"].values()),
            cut=sum(counts[0] for counts in cut.values()),
            runs=len(pairs),
            unended=unended,
            compared=compared,
            afct=estimate(ratios["afct_s"]),
            fct_p99=estimate(ratios["fct_p99_s"]),
            loss=estimate(after.summary.get("loss_ratio") for _, after in pairs),
            loss_before=estimate(before.summary.get("loss_ratio") for before, _ in pairs),
            busiest=estimate(after.summary.get("utilisation_max") for _, after in pairs),
            unused=bool(pairs) and not cut and all(_same_times(*pair) for pair in pairs),
        )

    def verdict(self) -> list[str]:
        """For each scheme, how many failures hurt, and which most."""
        return [self._verdict(scheme) for scheme in self.schemes if scheme != IDEAL]

    def _verdict(self, scheme: str) -> str:
        harms = [harm for harm in self.harms if harm.scheme == scheme]
        hurting = [harm for harm in harms if harm.hurts]
        idle = sum(harm.unused for harm in harms)
        count = len(harms) - idle
        which = f"{count} {'link' if count == 1 else 'links'}{' with traffic' if idle else ''}"
        head = f"Under {name(scheme)}, {len(hurting)} of {which} hurt when they fail"
        worst = max(hurting, key=lambda harm: harm.rank, default=None)
        parts = [head, *([f"worst is {label(worst.link)}: {said(worst)}"] if worst else [])]
        without = f" {idle} more {'carries' if idle == 1 else 'carry'} no traffic." if idle else ""
        return f"{'; '.join(parts)}.{_unknown(harms)}{without}"

    def to_json(self) -> dict[str, Any]:
        """What `midpath failures --json` prints."""
        return {
            "midpath": self.about["midpath"],
            "kind": KIND,
            "title": self.title,
            "at": self.at,
            "schemes": self.schemes,
            "seeds": self.about["seeds"],
            "links": len(self.links),
            "all_links": {
                scheme: {key: value and value.to_json() for key, value in found.items()}
                for scheme, found in self.whole.items()
            },
            "harms": [harm.to_json() for harm in self.harms],
            "verdict": self.verdict(),
            "missing": self.missing,
            "failures": self.failed_runs(),
        }


def failures(
    scenario: One,
    schemes: Sequence[str] | str | None = None,
    *,
    out: str | Path,
    seeds: int = 1,
    ideal: bool = False,
    at: str | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    slurm: Slurm | None = None,
    retry_failed: bool = False,
    on_progress: ProgressCallback | None = None,
    controllers: Controllers | None = None,
) -> Failures:
    """Takes out each link between two routers by itself, and compares with all links in place, on the same flows.

    Links are out from the start, or go down at the time `at` (`"2 s"`) for the rest of the run. Parallel links between
    two routers fail together. `out` is a sweep's store; the other arguments are those of `sweep`.
    """
    asked = as_scenario(scenario).with_(controllers=controllers)
    network = network_of(asked)
    links = network.links()
    if not links:
        raise UsageError("this network has no link between routers, so none can fail")
    if at is not None:
        _require_before_the_end(asked, at)
    names = as_names(schemes or [])
    first = asked.base_seed()
    numbers = list(range(first, first + seeds))
    pairs = {seed: pairs_of(asked, seed) for seed in numbers}
    cuts = {label(link): _cut(network, link, pairs) for link in network.bridges()} if at is None else {}
    points = [_point(asked, None, at), *(_point(asked, link, at) for link in links)]
    runnable = [numbers, *([seed for seed in numbers if seed not in cuts.get(label(link), {})] for link in links)]
    kept = [(point, own) for point, own in zip(points, runnable, strict=True) if own]
    wanted = list(dict.fromkeys([*(names or [own_scheme(asked)]), *([IDEAL] if ideal else [])]))
    plan = Plan([point for point, _ in kept], wanted, [own for _, own in kept], wanted=Wanted(FLOW_COLUMNS))
    more = {
        "kind": KIND,
        "at": at,
        "seeds": numbers,
        "links": [list(link) for link in links],
        "network": network.found,
        "flows": {str(seed): sum(pair["flows"] for pair in found) for seed, found in pairs.items()},
        "cuts": {key: {str(seed): counts for seed, counts in cut.items()} for key, cut in cuts.items() if cut},
    }
    about = described(plan, [asked], _command(asked, wanted, seeds, at, Path(out)), more)
    where = Where(jobs, cluster, slurm)
    return Failures(swept(plan, about, out, where, retry_failed=retry_failed, on_progress=on_progress))


def label(link: Link) -> str:
    """A link as people write it."""
    return f"{link[0]} – {link[1]}"


def said(harm: Harm) -> str:
    """What a failure does, in a few words."""
    parts = []
    if harm.cut:
        parts.append(f"{harm.cut:,} of {harm.flows:,} flows have no route")
    if harm.unended:
        parts.append(f"{harm.unended:,} of {harm.compared:,} flows no longer end")
    if harm.afct is not None:
        parts.append(f"flows take {_shown('times', harm.afct).removesuffix('×')} times as long")
    return ", ".join(parts) or "not known"


def _unknown(harms: Sequence[Harm]) -> str:
    """What seeds do not decide: that no difference was found says only how large one could be."""
    unknown = [harm for harm in harms if harm.hurts is False and not harm.is_harmless]
    harmless = sum(harm.is_harmless and not harm.unused for harm in harms)
    if not unknown:
        return ""
    rest = f"{harmless} {'does' if harmless == 1 else 'do'} not, and " if harmless else ""
    most = max(harm.most or 0.0 for harm in unknown)
    wanted = [harm.seeds_wanted for harm in unknown if (harm.most or 0.0) > WORTH_FINDING]
    seeds = max((seeds for seeds in wanted if seeds is not None), default=0)
    more = f" About {seeds:,} seeds would decide." if 0 < seeds <= FEW_SEEDS else ""
    return f" {rest}{len(unknown)} {'has' if len(unknown) == 1 else 'have'} no effect worth finding above " + (
        f"{quantity('ratio', most)}.{more}"
    )


def _same_times(before: Result, after: Result) -> bool:
    return np.array_equal(matched.column(before, "fct_s"), matched.column(after, "fct_s"), equal_nan=True)


def _shown(kind: str, value: Estimate | None) -> str:
    return quantity(kind, value.mean, value.ci95 or None) if value else "–"


def _figures(found: dict[str, Estimate | None]) -> str:
    return ", ".join(f"{BY_KEY[key].label} {_shown(BY_KEY[key].kind, value)}" for key, value in found.items())


def _ratio(value: float | None, of: float | None) -> float | None:
    return value / of if value is not None and of else None


def _cut(network: Network, link: Link, pairs: dict[int, list[dict[str, Any]]]) -> dict[int, list[int]]:
    """By seed: flows that have no way without a link, and all flows. Seeds without such flows are left out."""
    homes = network.homes_without(link)
    found = {seed: [stranded(homes, own), sum(pair["flows"] for pair in own)] for seed, own in pairs.items()}
    return {seed: counts for seed, counts in found.items() if counts[0]}


def _point(scenario: Scenario, link: Link | None, at: str | None) -> Point:
    if link is None:
        return Point(scenario, {COLUMN: NONE})
    values = scenario.to_dict()
    if at is None:
        out = [*values.get("topology", {}).get("without", []), list(link)]
        changed = scenario.with_(changes={"topology.without": out})
    else:
        fault = {"at": at, "kind": "link-down", "link": list(link)}
        changed = scenario.with_(changes={"fault": [*values.get("fault", []), fault]})
    return Point(changed, {COLUMN: label(link)})


def _require_before_the_end(scenario: Scenario, at: str) -> None:
    """Flows whose link is gone may never end, and a link that goes down after the end changes nothing."""
    stop = scenario.to_dict().get("stop")
    if stop is None:
        raise UsageError("--at: give the scenario a `stop` (--set stop=60s): flows without a route may never end")
    when, end = number(at), number(stop)
    # What is no time is refused where the fault is read.
    if when is not None and end is not None and when[0] == end[0] == "seconds" and when[1] >= end[1]:
        raise UsageError(f"--at {at}: the run ends at {stop}, before any link fails")


def _command(scenario: Scenario, schemes: Sequence[str], seeds: int, at: str | None, out: Path) -> str:
    words = ["midpath", "failures", scenario.shown_file]
    words += ["--variant", scenario.variant] if scenario.variant is not None else []
    words += [*settings(scenario), "--schemes", ",".join(scheme for scheme in schemes if scheme != IDEAL)]
    words += ["--ideal"] if IDEAL in schemes else []
    words += ["--seed", str(scenario.seed)] if scenario.seed is not None else []
    words += ["--seeds", str(seeds), *(["--at", at] if at is not None else [])]
    words += [*with_files([scenario]), "--out", out.name]
    return shlex.join(words)


def load_failures(sweep: Sweep) -> Failures | None:
    """The failures in a store, if it was asked for failures last."""
    return Failures(sweep) if sweep.about.get("kind") == KIND else None
