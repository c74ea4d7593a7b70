"""What a run is expected to show: `goodput.h0 > 15 Mbps`."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from midpath.errors import UsageError, no_such
from midpath.lab.plan import Plan
from midpath.metrics import METRICS
from midpath.result import Result
from midpath.units import parse, quantity

OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
FORM = re.compile(r"\s*([a-z0-9_]+)(?:\.(.+?))?\s+(<=|>=|==|!=|<|>)\s+(\S.*?)\s*")
# Of traffic: to a host, from one to another (`h1>h0`), or of a group of the scenario's flows.
DELAYS = ("min", "mean", "p50", "p95", "p99", "max")
TRAFFIC = {"goodput": "bps", "delivered": "bytes", "loss": "ratio", "retransmitted": "ratio", "completion": "seconds"}
TRAFFIC |= {f"delay_{key}": "seconds" for key in DELAYS}
# Of a link's direction (`r0>r1`).
PORTS = {"utilisation": "ratio", "queue_delay_mean": "seconds", "queue_delay_p99": "seconds", "marks": "count"}
# Of a host's programs.
PROGRAMS = {"exit": "count", "time": "seconds"}
# Of the whole run, as in its summary.
WHOLE = {metric.key: metric.kind for metric in METRICS}


@dataclass(frozen=True)
class Expectation:
    """A figure, of what, and its bound."""

    text: str
    figure: str
    of: str | None
    sign: str
    bound: float

    @property
    def kind(self) -> str:
        """The kind of its quantity."""
        return kind(self.figure, self.of)


@dataclass(frozen=True)
class Verdict:
    """What came out; no value is no success."""

    expectation: Expectation
    value: float | None

    @property
    def holds(self) -> bool:
        """Whether the value keeps the bound."""
        sign = OPERATORS[self.expectation.sign]
        return self.value is not None and bool(sign(self.value, self.expectation.bound))

    def line(self) -> str:
        """For people."""
        return f"{'holds' if self.holds else 'FAILS'}: {self.said()}"

    def said(self) -> str:
        """The expectation with its value."""
        value = "no value" if self.value is None else quantity(self.expectation.kind, self.value)
        return f"{self.expectation.text} ({value})"

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {"expect": self.expectation.text, "value": self.value, "holds": self.holds, "said": self.said()}


def kind(figure: str, of: str | None) -> str:
    """The kind of a figure's quantity, or an error that names those there are."""
    known, other = (WHOLE, TRAFFIC | PORTS | PROGRAMS) if of is None else (TRAFFIC | PORTS | PROGRAMS, WHOLE)
    if figure in known:
        return known[figure]
    if figure in other:
        cure = f"is of a host or a link: write {figure}.h0" if of is None else f"is of the whole run: write {figure}"
        raise UsageError(f"--expect {figure}: {cure}")
    raise UsageError(f"--expect: {no_such('figure', figure, known)}")


def read(texts: Sequence[str]) -> list[Expectation]:
    """The expectations of a command line."""
    return [_read(text) for text in texts]


def _read(text: str) -> Expectation:
    found = FORM.fullmatch(text)
    if found is None:
        raise UsageError(
            f"--expect {text!r}: write FIGURE.HOST > VALUE with blanks around the sign: goodput.h0 > 15 Mbps"
        )
    figure, of, sign, bound = found.groups()
    what = kind(figure, of)
    try:
        value = (
            float(bound) if what in ("count", "index", "times", "ratio") and "%" not in bound else parse(what, bound)
        )
    except ValueError as error:
        raise UsageError(f"--expect {text!r}: {error}") from None
    return Expectation(text.strip(), figure, of, sign, value)


def check(expectations: Sequence[Expectation], plan: Plan) -> None:
    """Raises `UsageError` if one is about nothing that there is."""
    hosts = [plan.name(node) for node in plan.hosts]
    running = list(dict.fromkeys(program.host for program in plan.programs))
    ends = [(plan.name(link["a"]), plan.name(link["b"])) for link in plan.links]
    ports = [f"{one}>{other}" for a, b in ends for one, other in ((a, b), (b, a))]
    traffic = [*hosts, *dict.fromkeys(flow["group"] for flow in plan.flows)]
    for one in expectations:
        if one.of is None:
            continue
        what, known = ("link", ports) if one.figure in PORTS else ("program at", running)
        if one.figure in TRAFFIC:
            what, known = "host or group", traffic
            if one.figure.startswith("delay_"):
                # Of the scenario's flows nobody watches single packets.
                what, known = "host", hosts
        pair = one.figure in TRAFFIC and all(end in hosts for end in _pair(one.of))
        if one.of not in known and not pair:
            raise UsageError(f"--expect {one.text!r}: {no_such(what, one.of, known)}")


def judge(expectations: Sequence[Expectation], made: Result) -> list[Verdict]:
    """What came out of a run."""
    return [Verdict(one, value(one, made)) for one in expectations]


def value(one: Expectation, made: Result) -> float | None:
    """A figure of a run; `None` where there is none."""
    if one.of is None:
        found = made.summary.get(one.figure)
        return None if found is None else float(found)
    if one.figure in PROGRAMS:
        return _of_programs(one.figure, [row for row in made.run["programs"] if row["host"] == one.of])
    if one.figure in PORTS:
        ports = {f"{row['node']}>{row['peer']}": row for row in made.ports.to_pylist()}
        key = one.figure.removeprefix("queue_")
        return float(ports[one.of][f"{key}_s" if key != one.figure else key] or 0)
    flows = [row for row in made.flows.to_pylist() if _is_about(row, one.of)]
    return _of_traffic(one.figure, flows, made)


def _pair(of: str) -> tuple[str, str]:
    source, _, target = of.partition(">")
    return source, target


def _is_about(row: dict[str, Any], of: str) -> bool:
    """Of programs what reaches a host, or goes from one to another; of the scenario's flows those of a group."""
    if row["protocol"] is None:
        return bool(row["group"] == of)
    return bool(row["dst"] == of) or _pair(of) == (row["src"], row["dst"])


def _of_programs(figure: str, rows: list[dict[str, Any]]) -> float | None:
    if figure == "exit":
        # The worst: a signal counts as shells count it.
        codes = [
            row["exit"] if row["exit"] is not None else 128 + (row["signal"] or 0) for row in rows if not row["serves"]
        ]
        return float(max(codes)) if codes else None
    times = [row["ended_s"] - row["started_s"] for row in rows if row["ended_s"] is not None and not row["stopped"]]
    return max(times) if len(times) == len([row for row in rows if not row["serves"]]) and times else None


def _of_traffic(figure: str, flows: list[dict[str, Any]], made: Result) -> float | None:
    if figure == "delivered":
        return float(sum(row["delivered_bytes"] for row in flows))
    if not flows:
        return None
    if figure == "completion":
        times = [row["fct_s"] for row in flows]
        return None if None in times else float(max(times))
    if figure == "goodput":
        # From the first of them to the last byte of all.
        ends = [row["start_s"] + row["delivered_bytes"] * 8 / row["goodput_bps"] for row in flows if row["goodput_bps"]]
        took = max(ends) - min(row["start_s"] for row in flows) if ends else 0.0
        return sum(row["delivered_bytes"] for row in flows) * 8 / took if took else 0.0
    numbers = {row["flow"] for row in flows}
    rows = [row for row in made.tables["datagrams"].to_pylist() if row["flow"] in numbers]
    if figure in ("loss", "retransmitted"):
        # Of programs all packets are known, ACKs too; of the scenario's flows those with payload.
        of, key = (rows or flows, "lost_packets") if figure == "loss" else (flows, "retransmitted_packets")
        sent = sum(row["sent_packets"] or 0 for row in of)
        return sum(row[key] or 0 for row in of) / sent if sent else None
    found = [row[f"{figure}_s"] for row in rows if row[f"{figure}_s"] is not None]
    # The worst conversation's, but of the least delay.
    return (min(found) if figure == "delay_min" else max(found)) if found else None
