"""Data of a report, of one run or of a comparison."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from midpath.compare.comparison import Comparison
from midpath.report.tracks import Tracks, series_by_entity
from midpath.result import Result, distinct_warnings


@dataclass(frozen=True)
class Model:
    """The runs behind a report: of each scheme, one per seed."""

    title: str
    source: str | None
    scenario: str
    seeds: list[int]
    runs: dict[str, list[Result]]
    comparison: Comparison | None

    @property
    def schemes(self) -> list[str]:
        """In the order asked for."""
        return list(self.runs)

    @property
    def first(self) -> Result:
        """Any run: for what all have in common."""
        return self.runs[self.schemes[0]][0]

    @property
    def topology(self) -> dict[str, Any]:
        """Nodes and links."""
        topology: dict[str, Any] = self.first.run["topology"]
        return topology

    @functools.cached_property
    def flows(self) -> dict[str, pd.DataFrame]:
        """The flows of each scheme, all seeds together."""
        return {scheme: _concat([run.flows.to_pandas() for run in runs]) for scheme, runs in self.runs.items()}

    @functools.cached_property
    def ports(self) -> dict[str, pd.DataFrame]:
        """The ports of each scheme, means over seeds; `label` names each of them."""
        means = {scheme: _mean_ports([run.ports.to_pandas() for run in runs]) for scheme, runs in self.runs.items()}
        return {scheme: ports.assign(label=_labels(ports)) for scheme, ports in means.items()}

    @functools.cached_property
    def series(self) -> dict[str, pd.DataFrame]:
        """The time series of each scheme's first run: a mean over seeds would smooth away what they are there for."""
        return {scheme: runs[0].series.to_pandas() for scheme, runs in self.runs.items()}

    @property
    def warnings(self) -> list[str]:
        """What is to be known beside the figures, whatever the seed."""
        if self.comparison is not None:
            return self.comparison.warnings
        return distinct_warnings(run for runs in self.runs.values() for run in runs)

    @functools.cached_property
    def tracks(self) -> dict[str, Tracks]:
        """The same, series by series."""
        return {scheme: series_by_entity(series) for scheme, series in self.series.items()}


def model_of(source: Result | Comparison) -> Model:
    """The model of a run or of a comparison."""
    if isinstance(source, Comparison):
        runs = {scheme: source.of(scheme) for scheme in source.schemes}
        return Model(source.title, source.source, source.scenario, source.seeds, runs, source)
    scheme = source.scheme
    scenario = str(source.run.get("scenario", ""))
    return Model(source.title, source.run.get("source"), scenario, [source.seed], {scheme: [source]}, None)


def _concat(frames: list[pd.DataFrame]) -> pd.DataFrame:
    return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)


def _mean_ports(frames: list[pd.DataFrame]) -> pd.DataFrame:
    if len(frames) == 1:
        return frames[0]
    # Ports come in the same order in every run of a topology, so their rows can be averaged as arrays.
    mean = frames[0].copy()
    for column in mean.select_dtypes("number").columns.difference(["port", "rate_bps", "delay_s"]):
        mean[column] = np.mean([frame[column].to_numpy(dtype=float) for frame in frames], axis=0)
    return mean


def _labels(ports: pd.DataFrame) -> pd.Series[str]:
    """`a → b`; with the port's number where several links join the two."""
    label = ports["node"].astype(str) + " → " + ports["peer"].astype(str)
    return label.where(~label.duplicated(keep=False), label + " (port " + ports["port"].astype(str) + ")")
