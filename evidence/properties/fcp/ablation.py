"""What each of our additions to FCP is worth: draws in which it acts, with it and without.

    python evidence/properties/fcp/ablation.py --first 1 --scenarios 120 --keep FILE > ABLATION.md
    python evidence/properties/fcp/ablation.py --optimum > evidence/properties/fcp/RESULTS.md  # test_fcp_optimum.py's
    python evidence/properties/fcp/ablation.py --first 1 --scenarios 1 --show         # draws, with their texts

A draw follows from its family and number alone. Flows have sizes, 30 s are the end. Families:

- **crowds**: 20 to 200 flows of 10 to 200 kB begin within a round trip.
- **scarcity**: 20 to 150 flows of 5 to 40 kB share what is less than a packet a round trip for each.
- **changes**: flows arrive at a load of .3 to .8, and the core is down for .2 to 3 s, or its router restarts, or its
  rate falls to a tenth to a half for a while.
- **corruption**: flows arrive at a load of .2 to .6, and the core loses .1 to 3 % of packets, in one direction.
- **steady**: flows arrive at a load of .4 to .9, with sizes over three decades.

Half of the draws have two bottlenecks, one behind the other, with flows over both; round trips differ by up to 20
times. A third has `enforcement`, a third a UDP flow beside, which pays nothing.

An addition *acts* where the flows' table differs by a byte without it. Over these draws: the logarithm of the ratio of
the mean, and of the 99th percentile, of completion times, without it over with it; its mean and 95 % interval (normal).
A flow that has not ended counts as if it ended at the run's end. Bounds: every flow ends (*ends*), queues drop at most
1 % of what was sent (*drops*), edges refuse nothing (*refused*).

It goes where both intervals lie within ±2 % and no bound is missed more often without it.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import itertools
import math
import random
import statistics
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import midpath
from midpath import __version__

sys.path.insert(0, str(Path(__file__).parents[1]))
import scenes
from scenes import log_uniform

# What is written into [schemes.fcp], by what the table calls it.
WITHOUT = {
    **{
        name: f"network.additions.{name} = {off}"
        for name, off in {
            "least_income": "0.0",
            "summed_span": "false",
            "trust_balance": "false",
            "least_packets": "0",
            "half_packet": "false",
            "packet_of_queue": "false",
            "restart": "false",
            "opening_budget": "false",
            "spread": "false",
            "keep_pace": "false",
            "noise": "0.0",
            "leave_unpaid": "false",
            "patience": "1.0",
            "announcements": "0.0",
            "unanswered_rounds": "0.0",
        }.items()
    },
    "catch_up": "network.catch_up = false",
    "header_rtt": 'header_rtt = "round-trip"',
    "preload_for": 'preload_for = "flow-size"',
}
FAMILIES = ("crowds", "scarcity", "changes", "corruption", "steady")
STOP = 30.0
PACKET = 1500 * 8
WITHIN = 0.02
MOST_DROPS = 0.01
MOST_PACKETS = 12_000


@dataclass(frozen=True)
class Found:
    """What one run came to."""

    mean: float
    """Of completion times, s."""
    p99: float
    unfinished: int
    drops: float
    """Of what was sent."""
    refused: int
    digest: str
    """Of the flows' table."""

    @property
    def missed(self) -> set[str]:
        """The bounds that are not kept."""
        bounds = {"ends": self.unfinished > 0, "drops": self.drops > MOST_DROPS, "refused": self.refused > 0}
        return {name for name, missed in bounds.items() if missed}


def sizes(rng: random.Random, family: str, count: int) -> list[int]:
    """Of flows, bytes."""
    low, high = {"crowds": (1e4, 2e5), "scarcity": (5e3, 4e4)}.get(family, (3e3, 3e6))
    return [round(log_uniform(rng, low, high)) for _ in range(count)]


def times(rng: random.Random, family: str, of: list[int], rate: float, longest: float) -> list[float]:
    """When flows begin: at once, or at a load of the core."""
    if family in ("crowds", "scarcity"):
        over = longest * (1 if family == "crowds" else 10)
        return [rng.random() * over for _ in of]
    load = rng.uniform(*{"changes": (0.3, 0.8), "corruption": (0.2, 0.6), "steady": (0.4, 0.9)}[family])
    now, begins = 0.0, list[float]()
    for _ in of:
        now += rng.expovariate(1) * statistics.fmean(of) * 8 / (rate * 1e6 * load)
        begins.append(now)
    return begins


def faults(rng: random.Random, family: str, rate: float, begin: float, end: float) -> list[str]:
    """What happens to the core."""
    if family == "corruption":
        return [scenes.loses("r0", "r1", log_uniform(rng, 1e-3, 3e-2))]
    if family != "changes":
        return []
    at = rng.uniform(begin, end)
    until = at + log_uniform(rng, 0.2, 3)
    match rng.randrange(3):
        case 0:
            return [scenes.down("r0", "r1", f"{at:.4f} s", f"{until:.4f} s")]
        case 1:
            return [scenes.restart(f"{at:.4f} s")]
        case _:
            less = rate * rng.uniform(0.1, 0.5)
            return [
                scenes.rate_step("r0", "r1", f"{at:.4f} s", f"{less:.3f} Mbps"),
                scenes.rate_step("r0", "r1", f"{until:.4f} s", f"{rate} Mbps"),
            ]


def draw(family: str, number: int) -> str:
    """The scenario's text, but for what stands in [schemes.fcp]: `%` is its place."""
    rng = random.Random(f"fcp ablation {family} {number}")
    rate, delay = round(log_uniform(rng, 5, 200), 2), round(log_uniform(rng, 0.5, 30), 2)
    ratio = log_uniform(rng, 1, 20)
    delays = [round(delay * (ratio ** rng.random() - 1) + 0.1, 3) for _ in range(rng.randint(2, 12))]
    longest = 2 * (delay + max(delays) + 0.3) / 1e3
    count = round(log_uniform(rng, 20, 200))
    if family == "scarcity":
        count = round(log_uniform(rng, 20, 150))
        # Less than a packet a round trip, more than one in three seconds for each.
        rate = round(log_uniform(rng, max(0.4 * count, 1) * PACKET / 1e6, count / longest * PACKET / 1e6), 3)
    of = sizes(rng, family, count)
    while sum(of) > MOST_PACKETS * 1400:
        of = [max(3000, size // 2) for size in of]
    begins = times(rng, family, of, rate, longest)
    two, unpaid = rng.random() < 0.5, rng.random() < 1 / 3
    ends = [(f"s{i}", f"d{i}") for i in range(len(delays))]
    links = [scenes.link("r0", "r1", f"{rate} Mbps", f"{delay} ms")]
    links += [scenes.link(s, "r0", "1 Gbps", f"{ms} ms") for (s, _), ms in zip(ends, delays, strict=True)]
    if two:
        second = round(rate * rng.uniform(0.5, 1.5), 3)
        links += [scenes.link("r1", "r2", f"{second} Mbps", f"{delay} ms"), scenes.link("x", "r1", "1 Gbps", "1 ms")]
    links += [scenes.link("r2" if two and i % 2 else "r1", d, "1 Gbps", "0.1 ms") for i, (_, d) in enumerate(ends)]
    hosts = [name for pair in ends for name in pair] + (["x"] if two else [])
    flows = list[str]()
    for size, begin in zip(of, begins, strict=True):
        source, target = rng.choice(ends)
        if two and rng.random() < 0.2:
            source, target = "x", ends[1][1]
        flows.append(scenes.flow(source, target, f"{begin:.6f} s", size=f"{size} B"))
    if unpaid:
        share = round(rate * rng.uniform(0.05, 0.3), 3)
        more = {"scheme": "udp", "rate": f"{share} Mbps", "stop": f"{max(begins) + 1:.3f} s"}
        flows.append(scenes.flow("s0", "d0", "0 s", group="unpaid", **more))
    enforced = rng.random() < 1 / 3
    return "\n".join([
        f'title = "{family} {number}"\nscheme = "fcp"\nseed = {number}\nstop = "{STOP} s"',
        f'[queue]\nlimit = "{round(rng.uniform(20, 200))} ms"',
        scenes.topology(links, hosts),
        f"[schemes.fcp]\nnetwork.enforcement = {str(enforced).lower()}\n%",
        *faults(rng, family, rate, min(begins), max(begins) + longest),
        *flows,
    ])  # fmt: skip


def run(family: str, number: int, without: str) -> Found:
    """A draw without these additions, by name and with commas between."""
    lines = [WITHOUT[name] for name in without.split(",") if name]
    result = midpath.run(draw(family, number).replace("%", "\n".join(lines), 1))
    flows, ports = result.flows.to_pandas(), result.ports.to_pandas()
    flows = flows[flows.group != "unpaid"]
    fct = flows.fct_s.fillna(STOP - flows.start_s).clip(lower=1e-9)
    sent = float(result.summary["sent_packets"])
    digest = hashlib.sha256(flows.to_csv().encode()).hexdigest()[:12]
    return Found(
        mean=float(fct.mean()),
        p99=float(fct.quantile(0.99)),
        unfinished=int(flows.fct_s.isna().sum()),
        drops=float((ports.drops_queue + ports.drops_aqm).sum()) / max(1.0, sent),
        refused=int(ports.drops_policy.sum()),
        digest=digest,
    )


def ratio(found: list[float]) -> str:
    """An interval of logarithms as percentages."""
    low, high = (100 * (math.exp(x) - 1) for x in found)
    return f"{low:+.1f} to {high:+.1f} %"


def verdict(acted: list[tuple[Found, Found]]) -> list[str]:
    """The cells of an addition's row."""
    if len(acted) < 2:
        return [str(len(acted)), "–", "–", "–", "hardly acts"]
    _, *means = scenes.interval([math.log(off.mean / on.mean) for on, off in acted])
    _, *tails = scenes.interval([math.log(off.p99 / on.p99) for on, off in acted])
    counts = {
        bound: tuple(sum(bound in found[i].missed for found in acted) for i in (0, 1))
        for bound in ("ends", "drops", "refused")
    }
    worse = [bound for bound, (on, off) in counts.items() if off > on]
    small = all(-WITHIN <= math.exp(x) - 1 <= WITHIN for x in (*means, *tails))
    bounds = ", ".join(f"{bound} {on} → {off}" for bound, (on, off) in counts.items() if on or off) or "–"
    says = "goes" if small and not worse else "stays" if worse or means[0] > 0 or tails[0] > 0 else "undecided"
    return [str(len(acted)), ratio(means), ratio(tails), bounds, says]


def page(asked: argparse.Namespace) -> Iterator[str]:
    """ABLATION.md."""
    numbers = scenes.numbers_of(asked)
    names = asked.only.split(",") if asked.only else list(WITHOUT)
    variants = ["", *names, *([asked.together] if asked.together else [])]
    keys = list(itertools.product(FAMILIES, numbers, variants))
    found = dict(zip(keys, scenes.runs(keys, run, Found, asked.jobs, 4, asked.keep), strict=True))
    yield "# FCP: what each addition is worth\n"
    yield f"{scenes.written(numbers, 'fcp/ablation.py', ' of each family')} Families, measures and bounds"
    yield "stand at the head of `ablation.py`. Completion times without the addition over those with it: above 0 it"
    yield "helps.\n"
    yield scenes.head(["addition", "draws in which it acts", "mean", "99th percentile", "bounds missed", ""])
    for variant in variants[1:]:
        pairs = [(found[family, n, ""], found[family, n, variant]) for family in FAMILIES for n in numbers]
        acted = [(on, off) for on, off in pairs if on.digest != off.digest]
        name = ", ".join(f"`{one}`" for one in variant.split(","))
        yield scenes.row([name, *verdict(acted)])
    base = [found[family, n, ""] for family in FAMILIES for n in numbers]
    missed = {bound: sum(bound in one.missed for one in base) for bound in ("ends", "drops", "refused")}
    yield f"\nBounds missed with all of them: {', '.join(f'{b} {n}' for b, n in missed.items())} of {len(base)}."


def optimum(count: int | None) -> Iterator[str]:
    """RESULTS.md: the random networks of test_fcp_optimum.py. About a minute for each row on two cores."""
    sys.path.insert(0, str(Path(__file__).parents[3] / "tests" / "python"))
    networks = importlib.import_module("test_fcp_optimum")
    count = count or networks.NETWORKS
    seeds = [seed for seed in range(3 * count) if networks.unambiguous(seed)][:count]
    variants = {
        "all of ours": "",
        **{f"without `{name}`": line for name, line in WITHOUT.items() if "network" in line},
        **{f"`{line}`": line for line in WITHOUT.values() if "network" not in line},
        '`text = "paper"`': 'text = "paper"',
        '`text = "paper"`, but `header_rtt = "price-age"`': 'text = "paper"\nheader_rtt = "price-age"',
    }
    yield "# FCP on random networks, with and without what we add\n"
    yield f"Midpath {__version__}, written by `python evidence/properties/fcp/ablation.py --optimum`: {len(seeds)}"
    yield "networks, a minute each, goodput of the second half against SciPy's weighted proportional-fair"
    yield "optimum. *Close*: no"
    yield "flow further than 3 % from it. *Deep*: a queue of more than five packets on average.\n"
    yield scenes.head(["FCP", "close", "furthest", "deep"])
    with ProcessPoolExecutor(max_workers=2) as pool:
        for name, parameters in variants.items():
            found = list(pool.map(networks.run, seeds, itertools.repeat(parameters)))
            close = sum(one.plain <= networks.CLOSE for one in found)
            deep = sum(one.queue_packets > 5 for one in found)
            yield scenes.row([name, str(close), f"{100 * max(one.plain for one in found):.0f} %", str(deep)])


def main() -> None:
    """Prints a page, or draws."""
    parser = scenes.options(__doc__, 120)
    parser.add_argument("--optimum", action="store_true", help="RESULTS.md")
    parser.add_argument("--networks", type=int, help="with --optimum: how many")
    parser.add_argument("--only", help="these additions, with commas between")
    parser.add_argument("--together", default="", help="a row without all of these, with commas between")
    parser.add_argument("--keep", type=Path, help="a file that keeps runs")
    asked = parser.parse_args()
    if asked.show:
        for family, number in itertools.product(FAMILIES, scenes.numbers_of(asked)):
            print(draw(family, number), f"\n# {run(family, number, '')}")
        return
    for line in optimum(asked.networks) if asked.optimum else page(asked):
        print(line, flush=True)


if __name__ == "__main__":
    main()
