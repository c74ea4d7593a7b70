"""The result of one run, in memory and as a directory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from midpath.errors import OutputError
from midpath.html import Reported, to_html
from midpath.metrics import METRICS
from midpath.result.pieces import FlowsFile, WithStoredFlows
from midpath.schemes import remember
from midpath.storage import read_json, to_json, write_directory
from midpath.units import quantity

MARKER = "run.json"

# Of tables with many rows: columns that grow are stored as differences.
_GROWING = ["time_ps", "packet", "cause"]
_TRACE_TEXTS = ["event", "node", "peer", "port", "flow", "kind", "why", "size_bytes"]
ENCODED: dict[str, dict[str, Any]] = {
    "trace": {
        "use_dictionary": _TRACE_TEXTS,
        "column_encoding": dict.fromkeys(_GROWING, "DELTA_BINARY_PACKED"),
    }
}


@dataclass(frozen=True)
class Result(Reported):
    """What a run gave: `run` is run.json, `tables` are Arrow tables, `files` are further files such as captures."""

    run: dict[str, Any]
    tables: Mapping[str, pa.Table]
    files: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Whoever names its schemes from now on, does so as they say."""
        remember(self.run)

    def __repr__(self) -> str:
        """One line."""
        ended = f"{self.summary['completed']:,} of {self.summary['flows']:,} flows ended"
        mean = self.summary.get("afct_s")
        about = f", AFCT {quantity('seconds', mean)}" if mean is not None else ""
        return f"<Result {self.title!r}: {self.scheme}, seed {self.seed}, {ended}{about}>"

    def _repr_html_(self) -> str:
        """The figures of the whole run, for notebooks."""
        figures = {metric.label: [quantity(metric.kind, self.summary.get(metric.key))] for metric in METRICS}
        warnings = "".join(f"<p>{escape(warning)}</p>" for warning in self.warnings)
        return f"<p>{escape(repr(self))}</p>{to_html(figures)}{warnings}"

    @property
    def flows(self) -> pa.Table:
        """One row per flow."""
        return self.tables["flows"]

    @property
    def ports(self) -> pa.Table:
        """One row per port: one direction of a link."""
        return self.tables["ports"]

    @property
    def series(self) -> pa.Table:
        """Time series in long form; empty unless the scenario asks for them."""
        return self.tables["series"]

    @property
    def summary(self) -> dict[str, Any]:
        """The figures of the whole run."""
        summary: dict[str, Any] = self.run["summary"]
        return summary

    @property
    def warnings(self) -> list[str]:
        """What is to be known beside the figures, a sentence each with the scheme and ports that it is about."""
        return [_sentence(entry) for entry in self.run.get("warnings") or []]

    @property
    def title(self) -> str:
        """The scenario's title."""
        return str(self.run.get("title") or "Untitled scenario")

    @property
    def scheme(self) -> str:
        """The scheme of all flows that name none."""
        return str(self.run["scheme"])

    @property
    def seed(self) -> int:
        """The seed that every random stream came from."""
        return int(self.run["seed"])

    def save(self, directory: str | Path) -> Path:
        """Writes the result as a directory, whole or not at all."""
        path = Path(directory)
        write_directory(path, MARKER, self._fill)
        return path

    def save_with(self, directory: str | Path, flows: FlowsFile) -> Result:
        """The same with the flows from their file; the result that has them there."""
        path = Path(directory)

        def fill(new: Path) -> None:
            flows.move_to(new)
            self._fill(new)

        write_directory(path, MARKER, fill, flows.work)
        return replace(self, tables=WithStoredFlows(self.tables, path))

    def _fill(self, directory: Path) -> None:
        for name, table in self.tables.items():
            pq.write_table(table, directory / f"{name}.parquet", compression="zstd", **ENCODED.get(name, {}))
        for name, data in self.files.items():
            (directory / name).write_bytes(data)
        # The marker comes last: a directory that has it is complete.
        (directory / MARKER).write_text(to_json(self.run), encoding="utf-8")


def load(directory: str | Path) -> Result:
    """Reads what `Result.save` wrote."""
    path = Path(directory)
    run = read_json(path / MARKER)
    if run.get("format") != 1:
        raise OutputError(f"{path} has format {run.get('format')!r}; this version of midpath reads format 1")
    try:
        tables = {file.stem: pq.read_table(file) for file in sorted(path.glob("*.parquet"))}
    except (OSError, pa.ArrowInvalid) as error:
        raise OutputError(f"cannot read {path}: {error}") from None
    missing = {"flows", "ports", "series"} - tables.keys()
    if missing:
        raise OutputError(f"{path} is not a complete result: {', '.join(sorted(missing))} missing")
    skip = {".parquet", ".json", ".html"}
    files = {
        file.name: file.read_bytes() for file in sorted(path.iterdir()) if file.suffix not in skip and file.is_file()
    }
    return Result(run, tables, files)


def distinct_warnings(results: Iterable[Result]) -> list[str]:
    """What these runs warn of, each once."""
    return list(dict.fromkeys(warning for result in results for warning in result.warnings))


def _sentence(warning: Mapping[str, Any]) -> str:
    named, count = warning["ports"], warning["count"]
    more = f" and {count - len(named):,} more" if count > len(named) else ""
    place = " at ".join(part for part in (warning["scheme"], f"{', '.join(named)}{more}") if part)
    return f"{place}: {warning['message']}" if place else str(warning["message"])
