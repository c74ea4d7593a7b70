"""Results of a sweep: table, failures, figures."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from midpath.html import Reported
from midpath.run.store import TABLE, Store, about
from midpath.run.task import FAILED, MISSING
from midpath.sweep.table import full_table

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow.dataset as ds


class Sweep(Reported):
    """The runs that a store was asked for last."""

    def __init__(self, store: str | Path, plan: pa.Table | None = None) -> None:
        self.store = Store(store)
        # Another process may have given the store another plan in the meantime.
        self._plan = self.store.plan() if plan is None else plan

    @property
    def about(self) -> dict[str, Any]:
        """`title`, `scenario` (its text), `parameters` (the columns of the table that vary), `schemes`, `command`."""
        return about(self._plan)

    @property
    def parameters(self) -> list[str]:
        """The keys that vary, which are the first columns of the table."""
        return list(self.about["parameters"])

    @property
    def schemes(self) -> list[str]:
        """In the order asked for."""
        return list(self.about["schemes"])

    def __len__(self) -> int:
        """How many runs it has."""
        return int(self._plan.num_rows)

    def __repr__(self) -> str:
        """One line."""
        return f"<Sweep {self.store.path}: {len(self):,} runs over {', '.join(self.parameters) or 'nothing'}>"

    def _repr_html_(self) -> str:
        """The table's ends, for notebooks."""
        return f"<p>{escape(repr(self))}</p>{self.to_pandas().drop(columns='key').to_html(max_rows=10)}"

    def records(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Each run, as a row of the plan, with its record."""
        return self.store.records(self._plan)

    def dataset(self) -> ds.Dataset:
        """The table as a dataset of pyarrow: columns and rows are read when they are asked for."""
        import pyarrow.dataset as ds  # noqa: PLC0415 - slow to load, and most commands don't need it

        return ds.dataset(self.write_table())

    def table(self) -> pa.Table:
        """One row per run: parameters, scheme, seed, figures, ratios to the ideal."""
        return self.dataset().to_table()

    def to_pandas(self) -> pd.DataFrame:
        """The same as a data frame."""
        frame: pd.DataFrame = self.table().to_pandas()
        return frame

    def failures(self) -> list[dict[str, Any]]:
        """The runs that failed: parameters, scheme, seed and error of each."""
        import pyarrow.dataset as ds  # noqa: PLC0415

        columns = [*self.parameters, "scheme", "seed", "error"]
        found: list[dict[str, Any]] = self.dataset().to_table(columns, filter=ds.field("status") == FAILED).to_pylist()
        return found

    def write_table(self) -> Path:
        """Writes `table.parquet` in the store, unless it is there and whole, and says where it is."""
        path = self.store.path / TABLE
        if not self._is_current(path):
            self.store.write_parquet(TABLE, full_table(self.store, self._plan))
        return path

    def _is_current(self, path: Path) -> bool:
        """Whether a table has every run of this plan, done: then nothing can change it any more."""
        import pyarrow.dataset as ds  # noqa: PLC0415

        if not path.is_file():
            return False
        try:
            found = ds.dataset(path)
            if found.schema.metadata != self._plan.schema.metadata or "status" not in found.schema.names:
                return False
            table = found.to_table([*self._plan.column_names, "status"])
        except (OSError, pa.ArrowInvalid):
            return False
        ended = not {MISSING, FAILED} & set(table["status"].unique().to_pylist())
        return ended and table.drop_columns(["status"]).equals(self._plan)


def load_sweep(store: str | Path) -> Sweep:
    """What a store was asked for last, with what has come of it so far."""
    return Sweep(store)
