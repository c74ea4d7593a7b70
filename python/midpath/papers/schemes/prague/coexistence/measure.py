"""Prague's rate over CUBIC's, the link in use, and how long each waits, over rates and round trips."""

from __future__ import annotations

from collections.abc import Iterator

from midpath.papers.lab import Lab, Measured
from midpath.result import Result
from midpath.result.series import mean

RATES = (4, 12, 40, 120, 200)
ROUND_TRIPS = (5, 10, 20, 50, 100)
# Both are looked at in the second half of a run; waits are of all of it. Quick runs are a look at the first seconds.
STOP, QUICK = 200, 2
# A mean wait of Prague's that is allowed, in seconds or in packets, whichever is more.
WAIT, PACKETS = 0.003, 3
PACKET = 12e3


def measure(lab: Lab) -> Iterator[Measured]:
    """Each link, then the extremes of all."""
    stop = QUICK if lab.quick else STOP
    links = [(rate, rtt) for rate in RATES for rtt in ROUND_TRIPS]
    runs = {link: lab.runs("dualpi2", changes=_changes(*link, stop), label=f"{link[0]}-{link[1]}") for link in links}
    for (rate, rtt), found in runs.items():
        yield Measured(f"ratio.{rate}.{rtt}", found.values(lambda result: _ratio(result, stop)))
    every = {f"{rate} Mbps, {rtt} ms": ((rate, rtt), found) for (rate, rtt), found in runs.items()}
    used = {name: found.values(lambda result: _used(result, stop)) for name, (_, found) in every.items()}
    yield Measured("used.least", used)
    waits = {name: [_waits(result, *link) for result in found] for name, (link, found) in every.items()}
    yield Measured("wait.prague", {name: [one[0] for one in of] for name, of in waits.items()}, most=True)
    yield Measured("wait.cubic", {name: [one[1] for one in of] for name, of in waits.items()}, most=True)


def _changes(rate: int, rtt: int, stop: int) -> dict[str, str]:
    # 1 ms of the round trip is on the access links.
    delay = f"{rtt / 2 - 0.5} ms"
    return {
        "topology.bottleneck.rate": f"{rate} Mbps",
        "topology.bottleneck.delay": delay,
        "stop": f"{stop} s",
    }


def _ratio(result: Result, stop: int) -> float | None:
    prague, cubic = (mean(result, f"flow:{flow}", "goodput_bps", stop / 2, stop) for flow in _flows(result))
    return prague / cubic if prague is not None and cubic else None


def _used(result: Result, stop: int) -> float | None:
    return mean(result, "port:r0>r1", "utilisation", stop / 2, stop)


def _waits(result: Result, rate: int, rtt: int) -> tuple[float, float]:
    """What packets have waited beyond the empty path's round trip in the mean: Prague's over its limit, CUBIC's."""
    flows = result.flows.to_pandas().set_index(result.flows["scheme"].cast("string").to_pandas())
    packet = PACKET / (rate * 1e6)
    prague, cubic = (float(flows.rtt_mean_s[scheme]) - rtt / 1e3 - packet for scheme in ("prague", "cubic"))
    return prague / max(WAIT, PACKETS * packet), cubic


def _flows(result: Result) -> tuple[int, int]:
    """The numbers of Prague's flow and of CUBIC's: flows are in the order of their start."""
    names = [str(name) for name in result.flows["scheme"].to_pylist()]
    numbers = result.flows["flow"].to_pylist()
    return numbers[names.index("prague")], numbers[names.index("cubic")]
