"""Equipment of a scheme: memory at each port, AQM, and requirements on hosts and routers.

Comparisons of schemes with different equipment are marked as such.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from midpath.palette import name
from midpath.result import Result
from midpath.schemes import column, described
from midpath.units import quantity

# Memories that differ by less than this are the same: limits are rounded to bytes.
SAME = 0.01

# What runs in routers where no scheme does.
PLAIN = "plain queues"

DROP_TAIL = "drop-tail"
SCHEDULERS = {"drr": ", fair queueing", "fq": ", flow queueing", "dual": ", two queues"}
# Of queues that would mark packets, and found none that can be marked.
NOT_USED = "CE, but flows use none"

HEADS = ("Scheme", "Queue per port", "Scheme's store", "AQM", "ECN", "Hosts run", "Routers run")


@dataclass(frozen=True)
class Equipment:
    """Of one scheme: bytes are least and most over the routers' ports."""

    scheme: str
    queue_bytes: tuple[int, int]
    store_bytes: tuple[int, int] | None
    aqm: str
    ecn: str
    hosts: str
    routers: str

    @property
    def memory(self) -> int:
        """The memory of the port that has most."""
        return self.queue_bytes[1] + (self.store_bytes[1] if self.store_bytes else 0)

    def to_json(self) -> dict[str, Any]:
        """As it stands in compare.json."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}

    def cells(self) -> tuple[str, ...]:
        """A row under `HEADS`."""
        stored = _range(self.store_bytes) if self.store_bytes else "–"
        return name(self.scheme), _range(self.queue_bytes), stored, self.aqm, self.ecn, self.hosts, self.routers


def equipment_of(result: Result) -> Equipment | None:
    """What the routers' ports had in a run (the hosts', where there are no routers); none of the ideal."""
    rows: Sequence[dict[str, Any]] = result.run.get("equipment") or []
    rows = [row for row in rows if row["at"] == "routers"] or rows
    if not rows:
        return None
    transport = column(result.scheme).transport
    networks = _distinct(row["scheme"] for row in rows)
    stores = [row["store_bytes"] for row in rows if row["store_bytes"]]
    return Equipment(
        scheme=result.scheme,
        queue_bytes=_span(row["queue_bytes"] for row in rows),
        store_bytes=_span(stores) if stores else None,
        aqm=", ".join(_distinct(_aqm(row) for row in rows)),
        ecn=", ".join(_distinct(described(row["scheme"]).ecn or _marks(row, result) for row in rows)),
        hosts=described(transport).hosts or name(transport),
        routers=", ".join(
            PLAIN if network == "none" else described(network).routers or name(network) for network in networks
        ),
    )


def unequal(found: Sequence[Equipment]) -> str | None:
    """A warning, if ports of these schemes do not have the same memory."""
    least, most = (pick(found, key=lambda e: e.memory, default=None) for pick in (min, max))
    if least is None or most is None or most.memory <= least.memory * (1 + SAME):
        return None
    having: dict[str, list[str]] = {}
    for row in sorted(found, key=lambda e: e.memory):
        having.setdefault(quantity("bytes", row.memory), []).append(name(row.scheme))
    has = "; ".join(f"{amount} with {', '.join(schemes)}" for amount, schemes in having.items())
    return f"schemes have different memory. Queue and store of the largest port: {has}"


def _aqm(row: dict[str, Any]) -> str:
    return str(row["aqm"]) + SCHEDULERS.get(row["scheduler"], "")


def _marks(row: dict[str, Any], result: Result) -> str:
    """What queues do to packets that the AQM chooses. Flows without ECN lose them, whatever queues would do."""
    if row["signal"] != "CE":
        return "no"
    if row["aqm"] == DROP_TAIL or result.summary["marks"]:
        return "CE"
    return NOT_USED if any(result.ports["drops_aqm"].to_pylist()) else "CE"


def _span(ranges: Iterable[Sequence[int]]) -> tuple[int, int]:
    lows, highs = zip(*ranges, strict=True)
    return min(lows), max(highs)


def _range(span: tuple[int, int]) -> str:
    low, high = (quantity("bytes", end) for end in span)
    return low if low == high else f"{low} to {high}"


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))
