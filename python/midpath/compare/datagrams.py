"""Delays of datagrams per group of flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from midpath.result import Result
from midpath.stats import Estimate, estimate
from midpath.units import quantity

TABLE = "datagrams"
HEADS = ("Datagrams", "Scheme", "Received", "Lost", "Late", "Delay p50", "p95", "p99", "p99.9", "Jitter")
COUNTS = ("received_packets", "lost_packets", "late_packets")
DELAYS = ("delay_p50_s", "delay_p95_s", "delay_p99_s", "delay_p999_s", "jitter_s")


@dataclass(frozen=True)
class DatagramRow:
    """A group's datagrams under one scheme: counts over flows and seeds; of each delay that of the worst flow."""

    group: str
    scheme: str
    counts: dict[str, int]
    delays: dict[str, Estimate | None]

    def to_json(self) -> dict[str, Any]:
        """As it stands in compare.json."""
        delays = {key: value and value.to_json() for key, value in self.delays.items()}
        return {"group": self.group, "scheme": self.scheme} | self.counts | delays

    def cells(self, is_random: bool) -> list[str]:
        """What stands in a table behind group and scheme."""
        delays = self.delays.values()
        shown = (quantity("seconds", d.mean, d.ci95 if is_random else None) if d else "–" for d in delays)
        return [*(f"{count:,}" for count in self.counts.values()), *shown]


def datagram_rows(runs: Mapping[str, Sequence[Result]]) -> list[DatagramRow]:
    """Group by group, a row for each scheme. None where no flow is of datagrams."""
    tables = {
        scheme: [found for run in results if (found := run.tables.get(TABLE)) is not None]
        for scheme, results in runs.items()
    }
    names = dict.fromkeys(name for found in tables.values() for table in found for name in table["group"].to_pylist())
    return [_row(group, scheme, found) for group in names for scheme, found in tables.items() if found]


def _row(group: str, scheme: str, tables: Sequence[pa.Table]) -> DatagramRow:
    mine = [table.filter(pc.equal(table["group"].cast(pa.string()), group)) for table in tables]
    counts = {key: sum(pc.sum(table[key]).as_py() or 0 for table in mine) for key in COUNTS}
    delays = {key: estimate([pc.max(table[key]).as_py() for table in mine]) for key in DELAYS}
    return DatagramRow(group, scheme, counts, delays)
