"""SCReAM beside its authors' implementation on the same links.

    python evidence/peers/scream/compare.py > evidence/peers/scream/RESULTS.md

`reference.json` has what EricssonResearch/scream did at commit c8f84c3 (`ScreamV2Tx`, `ScreamRx`), second by second:
its sender and receiver in a loop that moves their RTP packets and RTCP reports over one link in steps of 1/65,536 s.
Neither is here. Both have the draft's constants where theirs can be set, frames of equal sizes, and
what the authors' cannot switch off is on in ours: `reduce_jitter`, `loss_threshold`.

Set before the first comparison: in the last 10 s of each phase mean goodput is within 20 % of theirs, and the mean wait
in the queue within 20 ms.
"""

from __future__ import annotations

import json
import statistics
from itertools import pairwise
from pathlib import Path
from typing import Any

import midpath

REFERENCE = Path(__file__).parent / "reference.json"
GOODPUT, QUEUE_MS = 0.2, 20.0
LAST_S = 10
HEAD = f"""# SCReAM beside its authors' implementation

Written by `python evidence/peers/scream/compare.py`, whose head says what is compared. Means over the last
{LAST_S} s of each phase; bold: not within {GOODPUT:.0%} of their goodput, or {QUEUE_MS:.0f} ms of their queue.
"""
WHY = """100 ms: after the step to 1 Mbps their log has a queue delay of .5 to .7 s for 40 s, an s_rtt of .8 s, and a
window that falls by 1 % per second. `virtualL4sAlpha` is divided by s_rtt / 30 ms where it is computed, and the
backoff again in `updateCwnd`: by 700. The draft (§4.2.2.1) and ours divide once. Within the second from 107 s on, at
a queue delay of 43 ms, their window falls from 111 kB to its least, and stays there; we do not know why."""
# One-way delay in ms, queue, marking threshold in ms (none: no ECN), rates of the call in Mbps, and until when the link
# has which rate.
CASES: dict[str, dict[str, Any]] = {
    "50 ms, slow": {
        "delay": 50, "limit": 37_500, "step": 0, "rates": (0.15, 1.5, 0.15),
        "phases": [(40, 1.0), (60, 2.5), (80, 0.6), (100, 1.0)],
    },
    "20 ms": {
        "delay": 20, "limit": 313_000, "step": 0, "rates": (0.15, 20.0, 0.3),
        "phases": [(30, 5.0), (60, 2.0), (90, 8.0)],
    },
    "100 ms": {
        "delay": 100, "limit": 112_000, "step": 0, "rates": (0.15, 10.0, 0.3),
        "phases": [(40, 3.0), (80, 1.0), (120, 4.0)],
    },
    "12.5 ms, L4S": {
        "delay": 12.5, "limit": 300_000, "step": 5, "rates": (0.15, 20.0, 0.3),
        "phases": [(30, 10.0), (60, 5.0), (90, 10.0)],
    },
    "25 ms, L4S": {
        "delay": 25, "limit": 2_000_000, "step": 2, "rates": (0.15, 60.0, 1.0),
        "phases": [(30, 20.0), (60, 50.0), (90, 10.0)],
    },
}  # fmt: skip


def text(case: dict[str, Any]) -> str:
    """Its scenario."""
    least, most, start = case["rates"]
    steps = [f'{{ at = "{end} s", rate = "{rate} Mbps" }}' for (end, _), (_, rate) in pairwise(case["phases"])]
    l4s = case["step"] > 0
    queue = f'kind = "delay-step"\ntarget = "{case["step"]} ms"' if l4s else 'kind = "drop-tail"'
    return f"""
scheme = "scream"
stop = "{case["phases"][-1][0]} s"
[topology]
links = [
    {{ a = "s0", b = "r0", rate = "1 Gbps", delay = "{case["delay"] - 1.1} ms" }},
    {{ a = "r0", b = "r1", rate = "{case["phases"][0][1]} Mbps", rate_back = "1 Gbps", delay = "1 ms" }},
    {{ a = "r1", b = "d0", rate = "1 Gbps", delay = "0.1 ms" }},
]
[queue]
{queue}
limit = "{case["limit"]} B"
[measure]
series = true
interval = "200 ms"
points = 2000
[schemes.scream]
min_rate = "{least} Mbps"
max_rate = "{most} Mbps"
start_rate = "{start} Mbps"
frame_spread = 0
reduce_jitter = true
loss_threshold = "1 %"
ecn = "{"l4s" if l4s else "off"}"
[[flow]]
from = "s0"
to = "d0"
[[vary]]
link = ["r0", "r1"]
one_way = true
steps = [{", ".join(steps)}]
"""


def ours(case: dict[str, Any]) -> list[tuple[float, float]]:
    """Goodput in Mbps and the queue's wait in ms, phase by phase."""
    series = midpath.run(text(case)).series.to_pandas()

    def mean(entity: str, metric: str, end: int) -> float:
        rows = series[(series.entity == entity) & (series.metric == metric)]
        return float(rows[(rows.time_s > end - LAST_S) & (rows.time_s <= end)].value.mean())

    return [
        (mean("flow:0", "goodput_bps", end) / 1e6, mean("port:r0>r1", "queue_bytes", end) * 8e-3 / rate)
        for end, rate in case["phases"]
    ]


def theirs(case: dict[str, Any], seconds: list[list[float]]) -> list[tuple[float, float]]:
    """The same of their record: bits delivered and the queue's wait in s, for each second."""
    last = [[one for one in seconds if end - LAST_S < one[0] <= end] for end, _ in case["phases"]]
    return [
        (statistics.fmean(one[1] for one in own) / 1e6, 1e3 * statistics.fmean(one[2] for one in own)) for own in last
    ]


def main() -> None:
    """Compares, and prints the page."""
    recorded = json.loads(REFERENCE.read_text(encoding="utf-8"))
    print(HEAD)
    print("| link | capacity, Mbps | goodput, Mbps | theirs | queue, ms | theirs |\n|---|---|---|---|---|---|")
    kept = checked = 0
    for name, case in CASES.items():
        for (_, rate), mine, other in zip(case["phases"], ours(case), theirs(case, recorded[name]), strict=True):
            near = abs(mine[0] / other[0] - 1) <= GOODPUT, abs(mine[1] - other[1]) <= QUEUE_MS
            said = [f"{value:.3g}" if good else f"**{value:.3g}**" for value, good in zip(mine, near, strict=True)]
            print(f"| {name} | {rate} | {said[0]} | {other[0]:.3g} | {said[1]} | {other[1]:.3g} |")
            kept, checked = kept + sum(near), checked + 2
    print(f"\n{kept} of {checked} are within the tolerance.\n\n{WHY}")


if __name__ == "__main__":
    main()
