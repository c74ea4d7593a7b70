"""Table II: Jain's index of ten CUBIC flows, forward marking against RPM, at the paper's rates and at a tenth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from midpath.papers.lab import Lab, Measured, Runs
from midpath.papers.rpm.common import MODES, differences, jain, mode, port
from midpath.result import Result
from midpath.result.series import last, ratio

# What a part of the runs comes to, once they have ended.
Part = Callable[[], Iterator[Measured]]

FLOWS = 10
# Table I, in ms: the delays of S_2 – H_j, each for two receivers.
EXPERIMENTS = {"1": (10, 10, 10, 10, 10), "2": (10, 20, 30, 40, 50), "3": (20, 40, 60, 80, 100)}
# Seconds over which J is taken: usually, and for its dependence on the run's length.
MAIN, LENGTHS = 30.0, (10.0, 60.0, 120.0)
# How many of the seeds run for 120 s, run at the paper's rates, or tell what a choice moves.
FEW = {"long": 4, "full": 3, "choice": 6, "first link": 10, "aggregate": 6}

DEEP: dict[str, Any] = {"queues.tofino.limit": "50 ms"}
# What the text leaves open, and what of it is another reading than ours.
CHOICES: dict[str, dict[str, Any]] = {
    "together": {f"flow[{i}].jitter": "10 ms" for i in range(FLOWS)},
    "apart": {f"flow[{i}].jitter": "20 s" for i in range(FLOWS)},
    "each-packet": {"schemes.cubic.delayed_ack": False},
    "slow-start": {"schemes.cubic.hystart": False},
    "rfc8289": {"queues.tofino.variant": "rfc8289"},
    "deep": DEEP,
}


def receivers(experiment: str) -> dict[str, Any]:
    """Table I's delays of the receivers' links."""
    delays = EXPERIMENTS[experiment]
    return {f"topology.links[{FLOWS + i}].delay": f"{delays[i // 2]} ms" for i in range(FLOWS)}


def senders(experiment: str) -> dict[str, Any]:
    """The same delays on the senders' links, and the receivers' all alike."""
    delays = EXPERIMENTS[experiment]
    return {f"topology.links[{i}].delay": f"{delays[i // 2]} ms" for i in range(FLOWS)} | receivers("1")


def paper_rates() -> dict[str, Any]:
    """Links of 10 Gbps, and 100 Gbps between S_1 and R_1."""
    rates = ["10 Gbps"] * (2 * FLOWS) + ["100 Gbps", "10 Gbps"]
    return {f"topology.links[{i}].rate": rate for i, rate in enumerate(rates)}


class Bench:
    """The scenario in the variants that the claims need."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    def one(self, label: str, name: str, changes: dict[str, Any], length: float, few: str | None = None) -> Runs:
        """One mode with the first seeds of the figure's; a quick look is two seconds long."""
        stop = {"stop": f"{2.0 if self.lab.quick else length:g} s"}
        seeds = self.lab.seeds[: FEW[few]] if few else self.lab.seeds
        return self.lab.runs("fairness", changes=changes | mode(name) | stop, label=f"{label}-{name}", seeds=seeds)

    def runs(self, label: str, changes: dict[str, Any], length: float, few: str | None = None) -> dict[str, Runs]:
        """Both modes."""
        return {name: self.one(label, name, changes, length, few) for name in MODES}


def index(runs: Runs, end: float) -> list[float | None]:
    """Jain's index by seed."""
    return runs.values(lambda result: jain(result, end, FLOWS))


def gain(runs: dict[str, Runs], end: float) -> list[float | None]:
    """What RPM adds to Jain's index, by seed."""
    return differences(index(runs["rpm"], end), index(runs["fwd"], end))


def measure(lab: Lab) -> Iterator[Measured]:
    """All runs are asked for first, the longest at the beginning; what no open claim needs is not run."""
    bench = Bench(lab)
    parts = [
        _full(bench) if lab.wants("fwd.*", "rpm.*", "gain.*") else None,
        _long(bench) if lab.wants("length.*") else None,
        _tenth(bench) if lab.wants("tenth.*", "choice.*", "deep.gain.2", "losses", "aggregate", "added") else None,
        _deep(bench) if lab.wants("deep.gain.3") else None,
        _first_link(bench) if lab.wants("first-link") else None,
    ]
    for part in parts:
        if part is not None:
            yield from part()


def _full(bench: Bench) -> Part:
    """At the paper's rates."""
    full = {e: bench.runs(f"full{e}", paper_rates() | receivers(e), MAIN, "full") for e in EXPERIMENTS}

    def part() -> Iterator[Measured]:
        for e, found in full.items():
            for name in MODES:
                yield Measured(f"{name}.{e}", index(found[name], MAIN))
            yield Measured(f"gain.{e}", gain(found, MAIN))

    return part


def _long(bench: Bench) -> Part:
    """How the index depends on the run's length."""
    long = {e: bench.runs(f"long{e}", receivers(e), max(LENGTHS), "long") for e in EXPERIMENTS}

    def part() -> Iterator[Measured]:
        for e, found in long.items():
            for name in MODES:
                for length in LENGTHS:
                    yield Measured(f"length.{name}.{e}.{length:g}", index(found[name], length))

    return part


def _tenth(bench: Bench) -> Part:
    """At a tenth of the rates, and what each choice of ours moves there."""
    main = {e: bench.runs(f"main{e}", receivers(e), MAIN) for e in EXPERIMENTS}
    choices = {name: bench.runs(name, receivers("2") | c, MAIN, "choice") for name, c in CHOICES.items()}
    aggregate = receivers("2") | {"deploy[0].params.aggregate": True}
    one = bench.one("aggregate", "rpm", aggregate, MAIN, "aggregate")

    def part() -> Iterator[Measured]:
        for e, found in main.items():
            for name in MODES:
                yield Measured(f"tenth.{name}.{e}", index(found[name], MAIN))
            yield Measured(f"tenth.gain.{e}", gain(found, MAIN))
        for choice, found in choices.items():
            for name in MODES:
                base = index(main["2"][name], MAIN)[: len(found[name])]
                yield Measured(f"choice.{choice}.{name}", differences(index(found[name], MAIN), base))
        yield Measured("deep.gain.2", gain(choices["deep"], MAIN))
        yield from _of_the_switch(main["2"]["rpm"], one)

    return part


def _deep(bench: Bench) -> Part:
    """With the deeper buffer, in the third experiment."""
    deep3 = bench.runs("deep3", receivers("3") | DEEP, MAIN, "choice")
    return lambda: iter([Measured("deep.gain.3", gain(deep3, MAIN))])


def _first_link(bench: Bench) -> Part:
    """With the delays before the switch."""
    first = bench.runs("first-link", senders("2"), MAIN, "first link")
    return lambda: iter([Measured("first-link", gain(first, MAIN))])


def _of_the_switch(per_flow: Runs, aggregate: Runs) -> Iterator[Measured]:
    yield Measured("losses", per_flow.values(_losses))
    pairs = zip(aggregate.values(_utilisation), per_flow.values(_utilisation)[: len(aggregate)], strict=True)
    yield Measured("aggregate", [ratio(a, b) for a, b in pairs])
    yield Measured("added", per_flow.values(_added))


def _losses(result: Result) -> float | None:
    """Packets that the buffer refused, for each signal of CoDel's."""
    signals = last(result, "port:r1>s2", "rpm_signals")
    return float(port(result, "r1", "s2")["drops_queue"]) / signals if signals else None


def _utilisation(result: Result) -> float | None:
    return float(port(result, "r1", "s2")["utilisation"])


def _added(result: Result) -> float | None:
    """Packets that leave the switch for the senders beyond those that come in for them."""
    return max(0.0, float(port(result, "r1", "s1")["packets"]) - float(port(result, "s2", "r1")["packets"]))
