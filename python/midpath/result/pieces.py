"""Writes the table of flows in pieces, so that only one piece is in memory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from midpath.storage import naming, workplace
from midpath.tables import to_arrow

FLOWS = "flows"


class FlowsFile:
    """A Parquet file beside where the result is to be, which grows with each piece; gone at the end unless taken."""

    def __init__(self, result: Path) -> None:
        self.result = result
        self.work: Path | None = None
        self.writer: pq.ParquetWriter | None = None

    def __enter__(self) -> FlowsFile:
        """Nothing is made before the first piece."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Removes what is left."""
        if self.writer:
            self.writer.close()
        if self.work:
            shutil.rmtree(self.work, ignore_errors=True)

    def add(self, buffers: dict[str, tuple[Any, ...]]) -> None:
        """Writes the next piece, as the simulator gives it."""
        table = to_arrow(buffers)
        with naming(self.result):
            if self.writer is None:
                self.work = workplace(self.result)
                self.writer = pq.ParquetWriter(self.work / f"{FLOWS}.parquet", table.schema, compression="zstd")
            self.writer.write_table(table)

    def move_to(self, directory: Path) -> None:
        """Ends the file and moves it where it belongs."""
        if self.work is None or self.writer is None:
            raise ValueError("no such piece")
        self.writer.close()
        os.replace(self.work / f"{FLOWS}.parquet", directory / f"{FLOWS}.parquet")  # noqa: PTH105


class WithStoredFlows(Mapping[str, pa.Table]):
    """Tables of which that of flows is read when somebody asks for it."""

    def __init__(self, tables: Mapping[str, pa.Table], directory: Path) -> None:
        self.tables, self.directory = tables, directory

    def __getitem__(self, name: str) -> pa.Table:
        """The table of that name."""
        return pq.read_table(self.directory / f"{FLOWS}.parquet") if name == FLOWS else self.tables[name]

    def __iter__(self) -> Iterator[str]:
        """Their names."""
        return iter([FLOWS, *self.tables])

    def __len__(self) -> int:
        """How many there are."""
        return 1 + len(self.tables)
