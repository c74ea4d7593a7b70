"""RPM where a link's rate falls and rises: are signals of a queue told after the queue has gone?

Two families. *Steps*: a core alternates between two rates, one to five times up to ten times apart; one to twelve flows
of one round trip. *Chain*: of three links in a row one or two fall and rise at drawn times, and flows' round trips
differ up to twenty times. Transports: DCTCP, CUBIC and NewReno with ECN. AQM: CoDel, its data-plane variant, a step.

Bounds, written before the first run, for `registers = "guarded"`:

- TOLD: while a port has nothing queued at each sample, it tells no more signals than it counts then, and one more for
  each flow;
- USED: the busiest link's use is at least that of plain registers, less 1 % of the link.

Windows against a rate that changes are chaotic, so what misses USED runs eight times more, each start up to 2 ms later.
"""

from __future__ import annotations

import math
import random
import re
import statistics
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass

import scenes
from harness import Bound, Crash, Row, Suite, ended, groups, rows

from midpath import Result, markdown

VARIANTS = {
    "guarded": 'mode = "rpm"',
    "plain": 'mode = "rpm", registers = "plain"',
    "one signal": 'mode = "rpm", register_max = 1',
    "CE": 'mode = "fwd"',
}
FAMILIES = ("steps", "chain")
LESS_USED = 0.01
AQMS = (
    'kind = "codel"\ntarget = "1 ms"\ninterval = "20 ms"',
    'kind = "codel"\nvariant = "data-plane"\ntarget = "1 ms"\ninterval = "20 ms"',
    'kind = "step"\nthreshold = "20 packets"',
)
TRANSPORTS = ("dctcp", "cubic", "newreno")
SAMPLE_MS = 5
REPEATS, LATER_S = 8, 0.002


@dataclass(frozen=True)
class Found:
    """Signals told beyond what may be, at the port with most; the busiest link's use; the longest mean wait, s."""

    over: int
    used: float
    wait: float


def head(rng: random.Random, seconds: float, nodes: str, queue: str) -> str:
    """What both families begin with."""
    transport = rng.choice(TRANSPORTS)
    ecn = "" if transport == "dctcp" else f"[schemes.{transport}]\necn = true\n"
    aqm = rng.choice(AQMS)
    return (
        f'scheme = "{transport}"\nstop = "{seconds:.3f} s"\n{ecn}[queues.aqm]\n{aqm}\nlimit = "{queue}"\n'
        f'[measure]\nseries = true\ninterval = "{SAMPLE_MS} ms"\npoints = {math.ceil(seconds * 1e3 / SAMPLE_MS)}\n'
        f'[[deploy]]\nscheme = "rpm"\nnodes = [{nodes}]\nqueue = "aqm"\nparams = {{ RPM }}'
    )


def steps(rng: random.Random) -> str:
    """A core that alternates."""
    rate, delay = scenes.log_uniform(rng, 20, 200), scenes.log_uniform(rng, 1, 40)
    low = rate / scenes.log_uniform(rng, 1.5, 10)
    period = scenes.log_uniform(rng, 0.5, 6)
    vary = (
        f'[[vary]]\nlink = ["r0", "r1"]\nrepeat = "{period:.3f} s"\n'
        f'steps = [{{ at = "0 s", rate = "{rate:.3f} Mbps" }}, '
        f'{{ at = "{period / 2:.3f} s", rate = "{low:.3f} Mbps" }}]'
    )
    flows = rng.randint(1, 12)
    queue = f"{round(rng.uniform(100, 800))} packets"
    begin = head(rng, 3 * period + 4, '"r0"', queue)
    sent = (scenes.flow(f"s{i}", f"d{i}", f"{rng.uniform(0, 0.5):.3f} s") for i in range(flows))
    return "\n".join((begin, scenes.dumbbell(f"{rate:.3f} Mbps", delay, "1 Gbps", [0.5] * flows), vary, *sent))


def chain(rng: random.Random) -> str:
    """Three links in a row."""
    rate, delay = scenes.log_uniform(rng, 20, 200), scenes.log_uniform(rng, 0.5, 10)
    flows = rng.randint(2, 8)
    core = [
        scenes.link(f"r{i}", f"r{i + 1}", f"{rate * rng.uniform(1, 1.5):.3f} Mbps", f"{delay:.3f} ms")
        for i in (0, 1, 2)
    ]
    ends = []
    for i in range(flows):
        access = scenes.log_uniform(rng, 0.2, 20)
        ends += [scenes.link(f"s{i}", f"r{rng.choice((0, 1))}", "1 Gbps", f"{access:.3f} ms")]
        ends += [scenes.link(f"d{i}", f"r{rng.choice((2, 3))}", "1 Gbps", "0.1 ms")]
    changes = []
    for i in rng.sample((0, 1, 2), rng.randint(1, 2)):
        at = rng.uniform(1.5, 3)
        low = rate / scenes.log_uniform(rng, 1.5, 10)
        changes.append(scenes.rate_step(f"r{i}", f"r{i + 1}", f"{at:.3f} s", f"{low:.3f} Mbps"))
        at += rng.uniform(0.2, 3)
        changes.append(scenes.rate_step(f"r{i}", f"r{i + 1}", f"{at:.3f} s", f"{rate:.3f} Mbps"))
    begin = head(rng, 9, '"r0", "r1", "r2"', f"{round(rng.uniform(100, 800))} packets")
    hosts = [f"{end}{i}" for i in range(flows) for end in "sd"]
    sent = (scenes.flow(f"s{i}", f"d{i}", f"{rng.uniform(0, 0.5):.3f} s") for i in range(flows))
    return "\n".join((begin, scenes.topology(core + ends, hosts), *changes, *sent))


def draw(family: str, number: int) -> str:
    """The scenario with this number; RPM stands for the variant's parameters. A family may be a repeat of one."""
    family, _, repeat = family.partition(", repeat ")
    drawn = {"steps": steps, "chain": chain}[family](random.Random(f"falls {family} {number}"))
    return later(drawn, int(repeat)) if repeat else drawn


def over(series, flows: int) -> int:
    """How many signals a port tells beyond what may be, in the time without a queue in which that is most."""
    worst = 0
    for _, port in series[series.entity.str.startswith("port:")].groupby("entity"):
        table = port.pivot_table(index="time_s", columns="metric", values="value")
        if "rpm_told" not in table:
            continue
        queued, counted, told = (table[name].to_list() for name in ("queue_bytes", "rpm_signals", "rpm_told"))
        since = None
        for i, waiting in enumerate(queued):
            if waiting > 0:
                since = None
            elif since is None:
                since = i
            else:
                worst = max(worst, int(told[i] - told[since] - (counted[i] - counted[since]) - flows))
    return worst


def later(scenario: str, repeat: int) -> str:
    """The scenario with each start a little later."""
    rng = random.Random(repeat)
    start = r'start = "([\d.]+) s"'
    return re.sub(start, lambda found: f'start = "{float(found[1]) + rng.uniform(0, LATER_S):.6f} s"', scenario)


def judge(scenario: str, result: Result, _: str, __: str) -> Found:
    """What a variant does in this scenario."""
    ports = result.ports.to_pandas()
    core = ports[ports.node.str.startswith("r") & ports.peer.str.startswith("r")]
    return Found(
        over(result.series.to_pandas(), scenario.count("[[flow]]")),
        float(core.utilisation.max()),
        float(core.delay_mean_s.max()),
    )


def page(found: list[Row], asked: Namespace) -> Iterator[str]:
    """The results, by family and variant."""
    gone = "signals of a queue that has gone: most, draws with any"
    yield markdown.head(("family", "registers", gone, "use over plain: mean, least", "mean wait, ms"))
    for (family, variant), own in groups(found, lambda row: (row.family, row.scheme)).items():
        both = [row for row in own if not {type(row.found), type(row.base)} & {Crash}]
        ratios = [row.found.used / row.base.used for row in both]
        most = [row.found.over for row in both]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        wait = 1e3 * sum(row.found.wait for row in both) / len(both)
        told = "" if variant == "CE" else f"{max(most)}, {sum(g > 0 for g in most)} of {len(most)}"
        yield markdown.line((family, variant, told, f"{mean:.3f}, {min(ratios):.3f}", f"{wait:.1f}"))
    guarded = [row for row in found if row.scheme == "guarded"]
    missed = [row for row in guarded if row.missed]
    yield f"\n{len(missed)} of {len(guarded)} scenarios miss a bound.\n"
    for row in missed:
        yield f"- {row.family} {row.number}: {', '.join(row.missed)} ({row.found}; plain: {row.base})"
    if missed:
        yield from again(missed, asked)


def again(missed: list[Row], asked: Namespace) -> Iterator[str]:
    """The use in what missed a bound, over repeats that start later."""
    yield f"\nUse in these, {REPEATS} times with starts up to {1e3 * LATER_S:g} ms later (mean ± standard deviation):\n"
    yield markdown.head(("scenario", "guarded less plain", *VARIANTS))
    for row in missed:
        repeats = [f"{row.family}, repeat {repeat}" for repeat in range(1, REPEATS + 1)]
        more = Namespace(**vars(asked) | {"of": repeats, "numbers": [row.number], "schemes": list(VARIANTS)})
        by = groups(rows(asked.module, more), lambda one: one.scheme)
        used = {variant: [one.used for one in ended(by[variant])] for variant in VARIANTS}
        means = {variant: statistics.fmean(values) for variant, values in used.items()}
        each = (f"{means[variant]:.3f} ± {statistics.stdev(values):.3f}" for variant, values in used.items())
        yield markdown.line((f"{row.family} {row.number}", f"{means['guarded'] - means['plain']:+.3f}", *each))
    yield ""
    yield "Where these means differ by less than 1 % of the link, the miss is chance. Where they differ by more, it"
    yield "is not. The windows of steps 2065 were looked at: signals of a queue that has gone cut CUBIC's window"
    yield "once more while the link is slow, so it stays below the step until the link is fast again. Each variant"
    yield "without such signals, CE as well, has a rightful cut just before. To keep USED there RPM would have to"
    yield "break TOLD."


SUITE = Suite(
    "RPM where a link's rate falls",
    draw,
    lambda scenario, variant, _: scenario.replace("{ RPM }", f"{{ {VARIANTS[variant]} }}"),
    judge,
    Found,
    page,
    (
        Bound("TOLD", 0, of="over"),
        Bound("USED", lambda _, plain: plain.used - LESS_USED, of="used", at_least=True),
    ),
    families=FAMILIES,
    schemes=tuple(VARIANTS),
    base="plain",
    scenarios=60,
)
