"""Comparison of the laboratory with the simulator, figure by figure: `midpath lab SCENARIO --vs-sim`.

Fixed before the first run: the figures, their margins, which runs are invalid, and which figures cannot fail and
are not counted.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from midpath.compare.comparison import Comparison
from midpath.lab import real
from midpath.lab.plan import Plan
from midpath.lab.table import cell, spread
from midpath.result import Result
from midpath.run import run as simulate
from midpath.scenario import Scenario
from midpath.units import digits

# What Linux has and the simulator leaves to who asks: RFC 6298 has 1 s, and no margin above SRTT; RFC 5681 up to
# 500 ms.
TIMERS = {"min_rto": "200 ms", "rto_margin": "200 ms", "delack_timeout": "40 ms"}
# RFC 8985, and the end of CUBIC's slow start (docs/decisions.md). The other TCPs of Linux have no HyStart.
LOSSES = {"loss_detection": "rack-tlp"}
SLOW_START = {"cubic": {"hystart": "linux"}}
# What has one name and is not the same: a verdict would be about versions.
UNLIKE = {"bbr": "version 1 in the kernel, 3 here"}
# More invalid runs than this share, and there is no verdict.
MOST_INVALID = 0.2
# A p99 within this share of the queue's room is the room's, whatever TCP does.
PINNED = 0.95


@dataclass(frozen=True)
class Figure:
    """A figure, and how near its two medians have to be: a share of what was measured, or this much if it is more."""

    key: str
    head: str
    unit: float
    share: float
    least: float
    of: Callable[[Result], float | None]


def bottleneck(made: Result) -> dict[str, Any]:
    """The port that its queue kept packets waiting for longest: the one that loss, delay and marks come from."""
    ports = made.ports.to_pylist()
    return max(ports, key=lambda port: (port["queue_mean_bytes"] or 0.0, port["packets"]))


def _port(key: str) -> Callable[[Result], float | None]:
    return lambda made: made.run["watched"].get(key)


def _summary(key: str) -> Callable[[Result], float | None]:
    return lambda made: made.summary.get(key)


def _requests(key: str) -> Callable[[Result], float | None]:
    return lambda made: next((client[key] for client in made.run.get("clients", [])), None)


def _repeats(made: Result) -> float | None:
    sent = made.summary["sent_packets"]
    return made.summary["retransmitted_packets"] / sent if sent else None


# Ours: a tenth for what a link gives, three tenths for what a queue does.
FIGURES = (
    Figure("goodput", "Goodput Mbps", 1e6, 0.10, 0.0, _summary("goodput_total_bps")),
    Figure("fct", "FCT p50 ms", 1e-3, 0.10, 0.0, _summary("fct_p50_s")),
    Figure("delay_p50", "Queue p50 ms", 1e-3, 0.30, 1e-3, _port("delay_p50_s")),
    Figure("delay_p99", "Queue p99 ms", 1e-3, 0.30, 1e-3, _port("delay_p99_s")),
    Figure("repeats", "Repeats %", 1e-2, 0.50, 2e-3, _repeats),
    Figure("jain", "Jain", 1.0, 0.0, 0.10, _summary("jain_goodput")),
    # Of the first client's requests.
    Figure("request_mean", "Request mean ms", 1e-3, 0.10, 0.0, _requests("mean_s")),
    Figure("request_p50", "Request p50 ms", 1e-3, 0.10, 0.0, _requests("p50_s")),
    Figure("request_p99", "Request p99 ms", 1e-3, 0.20, 0.0, _requests("p99_s")),
)
# Those of flows.
OF_FLOWS = ("goodput", "fct", "repeats", "jain")
# Where timeouts decide, completion times are compared as distributions: the largest distance between the two
# (Kolmogorov and Smirnov's), of all flows of all runs. Ours.
MOST_DISTANCE = 0.20


@dataclass(frozen=True)
class Line:
    """A row of the table."""

    scheme: str
    figure: str
    measured: dict[str, float] | None
    simulated: dict[str, float] | None
    unit: float
    margin: str
    # `yes`, `no`, or why there is none.
    verdict: str

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "scheme": self.scheme,
            "figure": self.figure,
            "measured": self.measured,
            "simulated": self.simulated,
            "margin": self.margin,
            "verdict": self.verdict,
        }


def as_linux(scenario: Scenario, plan: Plan, asked: Mapping[str, str] | None = None) -> Scenario:
    """The scenario with what Linux's TCPs have where it does not name that; with `asked`, only that of it."""
    changes = {}
    for scheme in plan.schemes:
        linux = TIMERS | LOSSES | SLOW_START.get(scheme, {})
        for key, value in (linux if asked is None else asked).items():
            if key not in plan.parameters(scheme):
                changes[f"schemes.{scheme}.{key}"] = value
    return scenario.with_(changes=changes)


def beside(cases: Sequence[real.Case], found: Comparison, laboratory: real.Laboratory) -> list[Line]:
    """Each run that was measured is simulated with the same flows; then figure by figure."""
    lines: list[Line] = []
    for case in cases:
        pairs = []
        for seed in found.seeds:
            asked = case.scenario(seed)
            plan = laboratory.prepare(asked)
            # Nodes run the simulator's code.
            same = asked if plan.by_nodes else as_linux(asked, plan)
            pairs.append((found.results[case.name, seed], simulate(same)))
        lines += verdicts(case.name, pairs)
    return lines


def verdicts(scheme: str, pairs: Sequence[tuple[Result, Result]]) -> list[Line]:
    """The rows of one scheme."""
    valid = [(lab, sim) for lab, sim in pairs if real.invalid(lab) is None]
    failed = len(pairs) - len(valid)
    too_many = failed > MOST_INVALID * len(pairs)
    watch(valid or pairs)
    unlike = None if any("nodes" in lab.run for lab, _ in pairs) else UNLIKE.get(scheme.partition("-")[0])
    lines = []
    for figure in FIGURES:
        ours = [(figure.of(lab), figure.of(sim)) for lab, sim in valid]
        known = [(lab, sim) for lab, sim in ours if lab is not None and sim is not None]
        if not known and not too_many:
            continue
        measured, simulated = spread([lab for lab, _ in known]), spread([sim for _, sim in known])
        if too_many:
            verdict = f"{failed} of {len(pairs)} runs invalid"
        elif (why := unlike or cannot_fail(figure.key, valid)) is not None:
            verdict = f"not counted: {why}"
        elif figure.key == "fct" and timeouts(valid):
            lines.append(distribution(scheme, valid, measured, simulated))
            continue
        else:
            assert measured is not None
            assert simulated is not None
            verdict = "yes" if is_within(measured["median"], simulated["median"], figure.share, figure.least) else "no"
        margin = " or ".join(
            [
                *([f"{figure.share:.0%}"] if figure.share else []),
                *([digits(figure.least / figure.unit)] if figure.least else []),
            ]
        )
        lines.append(Line(scheme, figure.head, measured, simulated, figure.unit, margin, verdict))
    return lines


def watch(pairs: Sequence[tuple[Result, Result]]) -> None:
    """Both look at the same port: the one that was the bottleneck in most runs of the simulator."""
    places = [(port["node"], port["peer"]) for port in (bottleneck(sim) for _, sim in pairs)]
    place = statistics.mode(places)
    for result in (one for pair in pairs for one in pair):
        result.run["watched"] = next(port for port in result.ports.to_pylist() if (port["node"], port["peer"]) == place)


def is_within(measured: float, simulated: float, share: float, least: float) -> bool:
    """Whether the simulator is near enough: by a share of what was measured, or this much if it is more."""
    return bool(abs(measured - simulated) <= max(share * abs(measured), least))


def cannot_fail(key: str, pairs: Sequence[tuple[Result, Result]]) -> str | None:
    """Why a figure says nothing here, if so."""
    both = [one for pair in pairs for one in pair]
    if not both:
        return None
    if key in OF_FLOWS and any("clients" in one.run for one in both):
        return "clients' flows are messages in one, connections in the other"
    if key == "jain" and len({one.summary["flows"] for one in both}) == 1 and both[0].summary["flows"] == 1:
        return "one flow"
    if key == "goodput" and all(one.summary["completed"] == one.summary["flows"] for one in both) and _given_time(both):
        return "all flows end in time"
    if key == "fct" and all(one.summary["completed"] == 0 for one in both):
        return "no flow ends"
    if key == "delay_p99" and all(_pinned(one.run["watched"]) for one in both):
        return "the buffer's"
    if key == "delay_p50" and all((one.run["watched"]["delay_p50_s"] or 0.0) < 1e-4 for one in both):
        return "nothing waits"
    if key == "repeats" and all(one.summary["retransmitted_packets"] == 0 for one in both):
        return "no loss"
    return None


def _given_time(results: Sequence[Result]) -> bool:
    """Whether runs end at a time, and not with their last flow."""
    return len({round(one.run["simulated_s"], 3) for one in results}) == 1


def _pinned(port: dict[str, Any]) -> bool:
    """Whether the queue was full whenever it was long."""
    room = (port["queue_max_bytes"] or 0) * 8 / port["rate_bps"]
    return bool(port["drops_queue"] > 0 and (port["delay_p99_s"] or 0.0) >= PINNED * room)


def timeouts(pairs: Sequence[tuple[Result, Result]]) -> bool:
    """Whether more than one flow in a hundred waited for a timer: then a median is one flow's luck."""
    counts = [(one.summary["timeouts"], one.summary["flows"]) for pair in pairs for one in pair]
    return any(waited > flows / 100 for waited, flows in counts)


def distribution(
    scheme: str,
    pairs: Sequence[tuple[Result, Result]],
    measured: dict[str, float] | None,
    simulated: dict[str, float] | None,
) -> Line:
    """All completion times, beside all of the other."""
    lab, sim = ([time for pair in pairs for time in times(pair[side])] for side in (0, 1))
    distance = kolmogorov_smirnov(lab, sim)
    verdict = f"{'yes' if distance <= MOST_DISTANCE else 'no'} (distance {distance:.2f})"
    return Line(scheme, "FCT, all", measured, simulated, 1e-3, f"distance {MOST_DISTANCE}", verdict)


def times(made: Result) -> list[float]:
    """Completion times; of a flow that did not end, longer than any."""
    return [float("inf") if fct is None else fct for fct in made.flows["fct_s"].to_pylist()]


def kolmogorov_smirnov(one: Sequence[float], other: Sequence[float]) -> float:
    """The largest distance between two empirical distributions."""
    points = np.sort(np.concatenate([one, other]))
    shares = [np.searchsorted(np.sort(values), points, side="right") / len(values) for values in (one, other)]
    return float(np.abs(shares[0] - shares[1]).max())


HEADS = ("", "Figure", "Measured", "Simulated", "Margin", "Within")


def cells(lines: Sequence[Line]) -> list[list[str]]:
    """The same as text."""
    return [
        [
            line.scheme,
            line.figure,
            cell(line.measured, line.unit),
            cell(line.simulated, line.unit),
            line.margin,
            line.verdict,
        ]
        for line in lines
    ]
