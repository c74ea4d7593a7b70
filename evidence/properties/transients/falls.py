"""BBR after a link's rate has fallen, in deep buffers: how long its bandwidth stays above what the link has.

Two families. *One*: a flow over a link whose rate falls to a third to a thirtieth, 1 to 20 Mbps, round trips of 5 to
200 ms. *Several*: two to four flows with round trips up to five times unlike, some of which join late; the rate falls
at once or in two steps. Buffers of 5 to 60 times the product of the new rate and the (longest) round trip.

Bound with `expire_max_bw`, fixed before the first run: from 3 s after the fall per 10 of these products on, at least
3 s, `bw` (of all flows together) is at most 1.25 times (twice) the new rate for good, in 95 of 100 of each family.

*Beside CUBIC* has no bound: what share of a link BBR gets with it and without, in buffers of 1 to 20 products.
"""

from __future__ import annotations

import math
import random
import statistics
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass

import scenes
from harness import Bound, Row, Suite, ended, groups

from midpath import Result, markdown
from midpath.stats import estimate

FAMILIES = {"one": 1.25, "several": 2.0}
BESIDE, DRAWS_BESIDE = "beside CUBIC", 40
# `expire_max_bw`.
WITHOUT, WITH = "false", "true"
SECONDS_PER_TEN, LEAST_SECONDS = 3.0, 3.0
FALL_S, AFTER_S = 6.0, 5.0
# Payload in a full packet.
PAYLOAD = 1448 / 1500


@dataclass(frozen=True)
class Fall:
    """A scenario, its flows, what `bw` may be after the fall, bits/s, and when it has to be down."""

    text: str
    flows: int
    most: float
    due_s: float = math.inf


@dataclass(frozen=True)
class Found:
    """Seconds from the fall until `bw` is down for good; at the end, the largest `min_rtt` over the shortest; the first
    flow's share of what is delivered."""

    taken_s: float
    min_rtt: float
    share: float


def fall(mbps: float, factor: float, depth: float, rtts: list[float], rng: random.Random) -> Fall:
    """Flows with these round trips in ms, over a link that falls to `mbps` and has a buffer of `depth` products."""
    products = max(depth, 20 * 12 / (mbps * max(rtts)))
    due = max(LEAST_SECONDS, SECONDS_PER_TEN * products / 10)
    stop = FALL_S + due + AFTER_S
    steps = [scenes.rate_step("r0", "r1", f"{FALL_S} s", f"{mbps:.4f} Mbps")]
    if len(rtts) > 1 and rng.random() < 0.5:
        halfway = mbps * factor**0.5
        steps.insert(0, scenes.rate_step("r0", "r1", f"{FALL_S - 0.5} s", f"{halfway:.4f} Mbps"))
    starts = [0.0, *(rng.choice((0.0, FALL_S / 3)) for _ in rtts[1:])]
    lines = (
        f'scheme = "bbr"\nstop = "{stop:.3f} s"\nmeasure = {{ series = true, interval = "50 ms" }}',
        f'[queue]\nlimit = "{products * mbps * max(rtts) * 125:.0f} B"',
        scenes.dumbbell(f"{mbps * factor:.4f} Mbps", 1.0, "1 Gbps", [rtt / 2 - 1.1 for rtt in rtts]),
        *steps,
        *(scenes.flow(f"s{i}", f"d{i}", f"{start:.3f} s") for i, start in enumerate(starts)),
    )
    over = FAMILIES["several" if len(rtts) > 1 else "one"]
    return Fall("\n".join(lines), len(rtts), over * mbps * 1e6 * PAYLOAD, due)


def draw(family: str, number: int) -> Fall:
    """The scenario with this number."""
    rng = random.Random(f"falls {'beside' if family == BESIDE else family} {number}")
    if family == BESIDE:
        return beside(rng)
    mbps, factor, depth = scenes.log_uniform(rng, 1, 20), scenes.log_uniform(rng, 3, 30), scenes.log_uniform(rng, 5, 60)
    if family == "one":
        return fall(mbps, factor, depth, [scenes.log_uniform(rng, 5, 200)], rng)
    least = scenes.log_uniform(rng, 5, 40)
    others = [least * scenes.log_uniform(rng, 1, 5) for _ in range(rng.randint(1, 3))]
    return fall(mbps, factor, depth, [least, *others], rng)


def beside(rng: random.Random) -> Fall:
    """A flow of BBR beside one of CUBIC."""
    mbps, rtt = scenes.log_uniform(rng, 5, 50), scenes.log_uniform(rng, 10, 80)
    buffer = max(20 * 1500, mbps * rtt * 125 * scenes.log_uniform(rng, 1, 20))
    lines = (
        f'stop = "60 s"\nmeasure.series = true\n[queue]\nlimit = "{buffer:.0f} B"',
        scenes.dumbbell(f"{mbps:.3f} Mbps", 1.0, "1 Gbps", [rtt / 2 - 1.1] * 2),
        scenes.flow("s0", "d0", "0 s", scheme="bbr"),
        scenes.flow("s1", "d1", "0 s", scheme="cubic"),
    )
    return Fall("\n".join(lines), 1, math.inf)


def judge(scene: Fall, result: Result, _: str, __: str) -> Found:
    """What BBR's model does in this scenario."""
    names = [f"flow:{i}" for i in range(scene.flows)]
    series = result.series.to_pandas().set_axis(["time", "place", "quantity", "value"], axis=1)
    of_flows = series[series.place.isin(names)]
    bw = of_flows[of_flows.quantity == "bw_bps"].groupby("time").value.sum()
    above = bw[(bw.index > FALL_S) & (bw > scene.most)]
    min_rtt = of_flows[(of_flows.quantity == "min_rtt_s") & (of_flows.value > 0)].groupby("place").value
    taken = max(above.index, default=FALL_S) - FALL_S
    delivered = result.flows["delivered_bytes"].to_pandas()
    return Found(float(taken), float((min_rtt.last() / min_rtt.min()).max()), float(delivered[0] / delivered.sum()))


def page(rows: list[Row], _: Namespace) -> Iterator[str]:
    """The results."""
    falls = groups((row for row in rows if row.family in FAMILIES), lambda row: (row.family, row.scheme))
    yield markdown.head(("family", "`expire_max_bw`", "`bw` is down in time", "median", "last", "`min_rtt` at the end"))
    for (family, expires), own in falls.items():
        taken, rtts = zip(*((one.taken_s, one.min_rtt) for one in ended(own)), strict=True)
        told = (f"{len(own) - sum(bool(row.missed) for row in own)} of {len(own)}", f"{statistics.median(taken):.2f} s")
        told += (f"{max(taken):.1f} s", f"{statistics.median(rtts):.2f}, at most {max(rtts):.1f} times the least")
        yield markdown.line((family, expires, *told))
    yield ""
    for (family, expires), own in falls.items():
        late = [f"{row.number} ({row.found.taken_s:.1f} of {row.scene.due_s:.1f} s)" for row in own if row.missed]
        yield from [f"- {family}: {', '.join(late)}\n"] if late and expires == WITH else []
    shares = groups((row for row in rows if row.family == BESIDE), lambda row: row.scheme)
    yield from together(*([one.share for one in ended(shares.get(which, []))] for which in (WITHOUT, WITH)))


def together(without: list[float], with_it: list[float]) -> Iterator[str]:
    """Shares of a link beside CUBIC."""
    acted = sum(a != b for a, b in zip(without, with_it, strict=True))
    had, has = (estimate(shares) for shares in (without, with_it))
    if had and has and had.ci95 is not None and has.ci95 is not None:
        on, off = (f"{100 * one.mean:.0f} ± {100 * one.ci95:.0f} %" for one in (has, had))
        yield f"Beside CUBIC, BBR has {on} of the link with `expire_max_bw` and {off} without it; in {acted} of"
        yield f"{len(without)} draws that makes a difference."


SUITE = Suite(
    "BBR after a link's rate has fallen",
    draw,
    lambda scene, expires, _: f"schemes.bbr.expire_max_bw = {expires}\n{scene.text}",
    judge,
    Found,
    page,
    (Bound("taken_s", lambda scene, _: scene.due_s),),
    families=(*FAMILIES, BESIDE),
    schemes=(WITHOUT, WITH),
    most={BESIDE: DRAWS_BESIDE},
)
