"""BBR after a link's rate has fallen, in deep buffers: how long its bandwidth stays above what the link has.

Two families. *One*: a flow over a link whose rate falls to a third to a thirtieth, 1 to 20 Mbps, round trips of 5 to
200 ms. *Several*: two to four flows with round trips up to five times unlike, some of which join late; the rate falls
at once or in two steps. Buffers of 5 to 60 times the product of the new rate and the (longest) round trip.

Bound with `expire_max_bw`, fixed before the first run: from 3 s after the fall per 10 of these products on, at least
3 s, `bw` (of all flows together) is at most 1.25 times (twice) the new rate for good, in 95 of 100 of each family.

*Beside CUBIC* has no bound: what share of a link BBR gets with it and without, in buffers of 1 to 20 products.

    python evidence/properties/transients/falls.py --first 1 --scenarios 100 > evidence/properties/transients/FALLS.md
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import scenes

import midpath
from midpath.stats import estimate

FAMILIES = {"one": 1.25, "several": 2.0}
SECONDS_PER_TEN, LEAST_SECONDS = 3.0, 3.0
FALL_S, AFTER_S = 6.0, 5.0
# Payload in a full packet.
PAYLOAD = 1448 / 1500


@dataclass(frozen=True)
class Fall:
    """A scenario, its flows, the rate after the fall, and when `bw` has to be down."""

    text: str
    flows: int
    mbps: float
    due_s: float


@dataclass(frozen=True)
class Found:
    """Seconds from the fall until `bw` is down for good, and seconds that it may take; at the end, the largest
    `min_rtt` over the shortest."""

    taken_s: float
    due_s: float
    min_rtt: float


def scenario(mbps: float, factor: float, depth: float, rtts: list[float], rng: random.Random) -> Fall:
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
    return Fall("\n".join(lines), len(rtts), mbps, due)


def drawn(family: str, number: int) -> Fall:
    """The scenario with this number."""
    rng = random.Random(f"falls {family} {number}")
    mbps, factor, depth = scenes.log_uniform(rng, 1, 20), scenes.log_uniform(rng, 3, 30), scenes.log_uniform(rng, 5, 60)
    if family == "one":
        return scenario(mbps, factor, depth, [scenes.log_uniform(rng, 5, 200)], rng)
    least = scenes.log_uniform(rng, 5, 40)
    others = [least * scenes.log_uniform(rng, 1, 5) for _ in range(rng.randint(1, 3))]
    return scenario(mbps, factor, depth, [least, *others], rng)


def measure(family: str, number: int, expires: bool) -> Found:
    """What BBR's model does in this scenario."""
    fall = drawn(family, number)
    run = midpath.run(f"schemes.bbr.expire_max_bw = {str(expires).lower()}\n{fall.text}")
    names = [f"flow:{i}" for i in range(fall.flows)]
    series = run.series.to_pandas().set_axis(["time", "place", "quantity", "value"], axis=1)
    of_flows = series[series.place.isin(names)]
    bw = of_flows[of_flows.quantity == "bw_bps"].groupby("time").value.sum()
    above = bw[(bw.index > FALL_S) & (bw > FAMILIES[family] * fall.mbps * 1e6 * PAYLOAD)]
    min_rtt = of_flows[(of_flows.quantity == "min_rtt_s") & (of_flows.value > 0)].groupby("place").value
    taken = max(above.index, default=FALL_S) - FALL_S
    return Found(float(taken), fall.due_s, float((min_rtt.last() / min_rtt.min()).max()))


def shared(number: int, expires: bool) -> float:
    """The share of a link that a flow of BBR gets beside one of CUBIC."""
    rng = random.Random(f"falls beside {number}")
    mbps, rtt = scenes.log_uniform(rng, 5, 50), scenes.log_uniform(rng, 10, 80)
    buffer = max(20 * 1500, mbps * rtt * 125 * scenes.log_uniform(rng, 1, 20))
    lines = (
        f'stop = "60 s"\n[queue]\nlimit = "{buffer:.0f} B"\n[schemes.bbr]\nexpire_max_bw = {str(expires).lower()}',
        scenes.dumbbell(f"{mbps:.3f} Mbps", 1.0, "1 Gbps", [rtt / 2 - 1.1] * 2),
        scenes.flow("s0", "d0", "0 s", scheme="bbr"),
        scenes.flow("s1", "d1", "0 s", scheme="cubic"),
    )
    delivered = midpath.run("\n".join(lines)).flows["delivered_bytes"].to_pandas()
    return float(delivered[0] / delivered.sum())


def keeps(one: Found) -> bool:
    """Whether the bound is kept."""
    return one.taken_s <= one.due_s


def page(asked: argparse.Namespace) -> Iterator[str]:
    """The results."""
    numbers = scenes.numbers_of(asked)
    yield "# BBR after a link's rate has fallen\n"
    yield scenes.written(numbers, "transients/falls.py") + "\n"
    yield scenes.head(("family", "`expire_max_bw`", "`bw` is down in time", "median", "last", "`min_rtt` at the end"))
    missed: list[str] = []
    for family in FAMILIES:
        for expires in (False, True):
            keys = [(family, number, expires) for number in numbers]
            found = list(scenes.runs(keys, measure, Found, asked.jobs, 1, asked.keep))
            taken, rtts = [one.taken_s for one in found], [one.min_rtt for one in found]
            late = [
                f"{n} ({one.taken_s:.1f} of {one.due_s:.1f} s)"
                for n, one in zip(numbers, found, strict=True)
                if not keeps(one)
            ]
            missed += [f"- {family}: {', '.join(late)}"] if late and expires else []
            told = (f"{len(found) - len(late)} of {len(found)}", f"{statistics.median(taken):.2f} s")
            told += (f"{max(taken):.1f} s", f"{statistics.median(rtts):.2f}, at most {max(rtts):.1f} times the least")
            yield scenes.row((family, "true" if expires else "false", *told))
    yield from ["", *missed, ""] if missed else [""]
    shares = {expires: [shared(number, expires) for number in numbers[: asked.beside]] for expires in (False, True)}
    acted = sum(a != b for a, b in zip(shares[False], shares[True], strict=True))
    found_shares = [estimate(shares[expires]) for expires in (True, False)]
    with_it, without = (f"{100 * one.mean:.0f} ± {100 * one.ci95:.0f} %" for one in found_shares)
    yield (
        f"Beside CUBIC, BBR has {with_it} of the link with `expire_max_bw` and {without} without it; in {acted} of "
        f"{len(shares[True])} draws that makes a difference."
    )


def main() -> None:
    """Prints the page, or scenarios."""
    parser = scenes.options(__doc__, 100)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--beside", type=int, default=40, help="draws beside CUBIC")
    asked = parser.parse_args()
    if asked.show:
        for number in scenes.numbers_of(asked):
            for family in FAMILIES:
                print(f"# {family} {number}\n{drawn(family, number).text}")
        return
    for line in page(asked):
        print(line, flush=True)


if __name__ == "__main__":
    main()
