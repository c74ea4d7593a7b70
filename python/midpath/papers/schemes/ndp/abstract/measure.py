"""NDP's incasts beside what the link takes, a permutation's use of all links, and short flows beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from midpath.papers.lab import Lab, Measured
from midpath.papers.schemes.common import gain
from midpath.result import Result

RATE, MTU, PAYLOAD = 10e9, 9000, 8936
SHORT, LONG = 10 * PAYLOAD, 100 * PAYLOAD
SENDERS = 15
# Of a switch: PFC, and DCTCP's marks.
LOSSLESS = {
    "queue": {"kind": "step", "limit": "2 MB", "threshold": "98 kB"},
    "pfc": {"buffer": "2 MB"},
}


def measure(lab: Lab) -> Iterator[Measured]:
    """A share, two times and a comparison."""
    until: dict[str, Any] = {"stop": "6 ms", "workload[1].until": "5 ms"} if lab.quick else {}
    runs = {
        "ndp": lab.runs("permutation", scheme="ndp", changes=until),
        "dctcp": lab.runs("permutation", scheme="dctcp", changes=until | LOSSLESS),
    }
    yield Measured("permutation", runs["ndp"].values(_share))
    for name, size in (("short", SHORT), ("long", LONG)):
        changes = {"workload[0].sizes.size": f"{size} B"}
        least = SENDERS * size / PAYLOAD * MTU * 8 / RATE
        over = [_last(result) / least for result in lab.runs("incast", changes=changes, label=name)]
        yield Measured(f"incast.{name}", over)
    means = {scheme: of.values(_mean) for scheme, of in runs.items()}
    yield Measured("short", gain(means["ndp"], means["dctcp"]))


def _last(result: Result) -> float:
    """When the last flow ended; one that has not counts with the whole run."""
    return float(result.flows.to_pandas().fct_s.fillna(float(result.run["simulated_s"])).max())


def _share(result: Result) -> float:
    """Of all hosts' links, headers included: what all flows delivered."""
    flows = result.flows.to_pandas()
    bits = float(flows.delivered_bytes.sum()) * 8 * MTU / PAYLOAD
    return bits / (RATE * 16 * float(result.run["simulated_s"]))


def _mean(result: Result) -> float:
    """Of short flows. One that has not ended counts with the time that it had."""
    flows = result.flows.to_pandas()
    flows = flows[flows.group == "short"]
    return float(flows.fct_s.fillna(float(result.run["simulated_s"]) - flows.start_s).mean())
