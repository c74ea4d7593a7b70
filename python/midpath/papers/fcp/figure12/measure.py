"""Figure 12: one flow over two links, from cold and beside others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from midpath.papers.fair import Flow, proportional
from midpath.papers.fcp.common import rate
from midpath.papers.lab import Lab, Measured
from midpath.result import Result
from midpath.result.series import mean, ratio, settled, window, wire

LINKS = {"1": 50e6, "2": 100e6}
START, END = 1.1, 5.0
COLD = {"flow 0": Flow(1.0, ["1", "2"])}
OURS = {"schemes.fcp.header_rtt": "price-age"}
WARM = COLD | {"flow 1": Flow(1.0, ["1"]), "flow 2": Flow(1.0, ["2"])}


def measure(lab: Lab) -> Iterator[Measured]:
    """Rates and prices in the last second; how far they went before that."""
    cold, warm = lab.runs("cold"), lab.runs("warm")
    ideal = lab.runs("warm", scheme="ideal", changes={"schemes.ideal.fairness": "proportional"})
    alone, shared = proportional(LINKS, COLD), proportional(LINKS, WARM)
    yield Measured("cold.rate", cold.values(lambda r: rate(r, "flow 0", 4.0, END)), bound=alone["flow 0"])
    # At the optimum, the price of the only full link is budget over rate: 1 $/s over 50 Mbps in bytes.
    yield Measured("cold.price1", cold.values(lambda r: mean(r, "port:r0>r1", "price", 4.0, END)), bound=8 / LINKS["1"])
    yield Measured("cold.price2", cold.values(lambda r: mean(r, "port:r1>r2", "price", 14.0, 15.0)), bound=1e-18)
    yield Measured("cold.over", cold.values(over))
    yield Measured("cold.under", cold.values(under))
    yield Measured("cold.under.ours", lab.runs("cold", changes=OURS, label="cold-ours").values(under))
    for name in WARM:
        yield Measured(f"warm.{name}", [rate(r, name, 4.0, END) for r in warm], bound=shared[name])
    below = [ratio(rate(r, "flow 0", 4.0, END), rate(r, "flow 1", 4.0, END)) for r in warm]
    yield Measured("warm.below", below, bound=shared["flow 0"] / shared["flow 1"])
    times = zip(warm, cold, strict=True)
    yield Measured("warm.faster", [ratio(convergence(w, shared), convergence(c, alone)) for w, c in times])
    peaks = zip(warm, cold, strict=True)
    yield Measured("warm.smaller", [ratio(over(w) - 1.0, over(c) - 1.0) for w, c in peaks])
    yield Measured("ideal", ideal.values(rate_of_ideal), bound=shared["flow 0"])


def path_price(result: Result, begin: float, end: float) -> np.ndarray:
    """What flow 0 pays: the sum of the two links' prices."""
    prices = [window(result, f"port:{port}", "price", begin, end) for port in ("r0>r1", "r1>r2")]
    return np.asarray(prices[0] + prices[1])


def over(result: Result) -> float:
    """The largest path price after flow 0's start over the one at the end."""
    return float(path_price(result, START, END).max() / path_price(result, 4.0, END).mean())


def under(result: Result) -> float:
    """The smallest path price after the largest one, over the one at the end."""
    found = path_price(result, START, END)
    return float(found[int(found.argmax()) :].min() / path_price(result, 4.0, END).mean())


def convergence(result: Result, fair: dict[str, float]) -> float:
    """Seconds from flow 0's start until its rate stays within 5 % of the fair one, or to the end."""
    flows = result.flows.to_pandas()
    number = int(flows[flows.group == "flow 0"].flow.iloc[0])
    found = settled(result, f"flow:{number}", "rate_bps", fair["flow 0"], 0.05, START, END)
    return END - START if found is None else found


def rate_of_ideal(result: Result) -> float | None:
    """Flow 0's rate on the wire in the fluid ideal, where it is the same all the time."""
    flows = result.flows.to_pandas()
    return float(flows[flows.group == "flow 0"].goodput_bps.iloc[0]) * wire(result)
