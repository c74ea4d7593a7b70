"""Equipment that a scheme needs on a network, its cost, and the gain."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from midpath.compare.comparison import Comparison
from midpath.compare.variants import Variants
from midpath.cost import MB, SRAM, SRAMS, inrpp_cache
from midpath.errors import ScenarioError
from midpath.extension import _midpath
from midpath.metrics import IDEAL
from midpath.prices import ITEMS, MEASURES, Prices
from midpath.scenario import Scenario
from midpath.stats import Estimate, paired_ratio
from midpath.topology import Network, network_of

GBPS = 1e9
# What runs at a port without a scheme.
PLAIN = "none"
# The figure whose gain is priced.
FIGURE = "afct_s"


@dataclass(frozen=True)
class Option:
    """A scheme on a network, perhaps of a variant: how much of each item its routers and links have."""

    name: str
    amounts: Mapping[str, float]
    # Its completion times by seed, and those of the first option that they go with; nothing without a comparison.
    times: Sequence[float | None] = ()
    first: Sequence[float | None] = ()


@dataclass(frozen=True)
class Bill:
    """What an option has beyond the first, what that costs, and the completion time as a share of the first's."""

    name: str
    buys: Mapping[str, float]
    dollars: float | None
    watts: float | None
    open: Mapping[str, list[str]]
    time: Estimate | None

    def per(self, measure: str) -> float | None:
        """Percent of completion time that a dollar or a watt takes off; `None` without a cost or a told difference."""
        cost: float | None = getattr(self, measure)
        if not cost or self.time is None or not self.time.differs(1, alone=True):
            return None
        return 100 * (1 - self.time.mean) / cost

    def to_json(self) -> dict[str, Any]:
        """As `midpath cost bill --json` prints it."""
        return {
            "option": self.name,
            "buys": dict(self.buys),
            **{measure: getattr(self, measure) for measure in MEASURES},
            "open": dict(self.open),
            "afct_to_first": self.time and self.time.to_json(),
            **{f"percent_per_{measure[:-1]}": self.per(measure) for measure in MEASURES},
        }


def bills(options: Sequence[Option], prices: Prices) -> list[Bill]:
    """Bills beside the first option: what that has is there already."""
    return [_bill(option, options[0], prices) for option in options]


def _bill(option: Option, first: Option, prices: Prices) -> Bill:
    buys = {item: more for item, amount in option.amounts.items() if (more := amount - first.amounts.get(item, 0)) > 0}
    return Bill(
        option.name,
        buys,
        prices.cost(buys, "dollars"),
        prices.cost(buys, "watts"),
        {measure: lacking for measure in MEASURES if (lacking := prices.open(buys, measure))},
        paired_ratio(option.times, option.first) if option.times else None,
    )


def of_scenario(scenario: Scenario, schemes: Iterable[str]) -> list[Option]:
    """Options without a run: schemes on the network of a scenario, and of its variants."""
    cases = [(name, scenario.with_variant(name)) for name in scenario.variants] or [("", scenario)]
    return [_unrun(name, case.with_(scheme=scheme)) for name, case in cases for scheme in schemes if scheme != IDEAL]


def _unrun(variant: str, scenario: Scenario) -> Option:
    found = json.loads(
        _midpath.check_scenario(
            scenario.effective_text(), scenario.base_dir, scheme=scenario.scheme, seed=scenario.seed
        )
    )
    for error in found["errors"]:
        raise scenario.locate(ScenarioError(error["key"], error["line"], error["message"]))
    network = network_of(scenario)
    return Option(_name(variant, scenario.scheme or ""), amounts(found["equipment"], network))


def of_comparison(found: Comparison | Variants) -> list[Option]:
    """Options that ran, each with its completion times beside those of the first."""
    if isinstance(found, Comparison):
        return list(_of_one("", found, found))
    first = found.matched[found.names[0]]
    # Times under other flows are no gain.
    cases = ((name, one, first if found.same_flows[name] else None) for name, one in found.matched.items())
    return [option for case in cases for option in _of_one(*case)]


def _of_one(variant: str, found: Comparison, first: Comparison | None) -> Iterator[Option]:
    schemes = [scheme for scheme in found.schemes if scheme != IDEAL]
    for scheme in schemes:
        run = found.of(scheme)[0].run
        had = amounts(run.get("equipment") or [], Network(run["topology"]))
        times = (found.values(scheme, FIGURE), first.values(schemes[0], FIGURE)) if first else ((), ())
        yield Option(_name(variant, scheme), had, *times)


def _name(variant: str, scheme: str) -> str:
    return f"{variant}: {scheme}" if variant else scheme


def amounts(equipment: Sequence[Mapping[str, Any]], network: Network) -> dict[str, float]:
    """How much of each item a network has: of its links (one rate for both ways) and of its routers' ports."""
    found = dict.fromkeys(ITEMS, 0.0)
    fastest = 0.0
    for link in network.found["links"]:
        routers = sum(not network.is_host(link[end]) for end in ("a", "b"))
        found["link"] += link["rate_bps"] / GBPS
        found["port"] += routers * link["rate_bps"] / GBPS
        fastest = max(fastest, link["rate_bps"] if routers else 0.0)
    for row in (row for row in equipment if row["at"] == "routers"):
        sums = row["sums"]
        found["dram"] += (sums["queue_bytes"] + sums["store_bytes"]) / MB
        found["card"] += sums["rate_bps"] / GBPS if row["scheme"] != PLAIN else 0.0
        # A store at a port that one DRAM cannot keep up with has SRAM at its head and tail (cost.py).
        if sums["store_bytes"] and inrpp_cache(rate_bps=float(fastest)).drams_for_rate > 1:
            found["sram"] += row["ports"] * SRAMS * SRAM.capacity_bytes / MB
    return found
