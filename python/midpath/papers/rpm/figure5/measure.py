"""Figure 5: mean completion times of short flows by their size, forward marking over RPM."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from midpath.papers.lab import Lab, Measured, Runs
from midpath.papers.rpm.common import MODES, differences, mode, port
from midpath.result import Result
from midpath.result.series import ratio

TRANSPORTS = ("dctcp", "cubic")
SIZES = (2, 10, 50, 100, 500)
# CUBIC's runs are so much alike that fewer seeds tell as much; the variant with slow hosts is not the paper's.
FEW = {"cubic": 30, "slow": 8}
# What a receiver's system may take before its ACK leaves. Nothing is said of it; the plain scenario has none.
SLOW: dict[str, Any] = {"topology.access.delay": "25 us"}


def measure(lab: Lab) -> Iterator[Measured]:
    """Both transports with both signals; what no open claim needs is not run."""
    for transport in TRANSPORTS:
        if lab.wants(f"{transport}.*", f"afct.{transport}.*", f"queue.{transport}"):
            yield from _plain(lab, transport)
        if lab.wants(f"slow.{transport}"):
            slow = _runs(lab, transport, FEW["slow"], "-slow", SLOW)
            yield Measured(f"slow.{transport}", _gain(slow, SIZES[1]))


def _plain(lab: Lab, transport: str) -> Iterator[Measured]:
    runs = _runs(lab, transport, FEW.get(transport))
    gains = {size: _gain(runs, size) for size in SIZES}
    for size in SIZES:
        yield Measured(f"{transport}.{size}", gains[size])
        yield Measured(f"afct.{transport}.{size}", runs["rpm"].values(_afct(size)))
    yield Measured(f"{transport}.shorter", differences(gains[SIZES[0]], gains[SIZES[-1]]))
    yield Measured(f"queue.{transport}", list(map(ratio, runs["fwd"].values(_delay), runs["rpm"].values(_delay))))


def _runs(
    lab: Lab, transport: str, few: int | None, label: str = "", more: dict[str, Any] | None = None
) -> dict[str, Runs]:
    """One transport with both signals, with the first seeds of the figure's."""
    changes: dict[str, Any] = {"stop": "500 ms"} if lab.quick else {}
    changes |= more or {}
    return {
        name: lab.runs(
            "short", scheme=transport, changes=mode(name) | changes, label=name + label, seeds=lab.seeds[:few]
        )
        for name in MODES
    }


def _gain(runs: dict[str, Runs], size: int) -> list[float | None]:
    return list(map(ratio, *(runs[name].values(_afct(size)) for name in MODES)))


def _afct(size: int) -> Any:
    def mean(result: Result) -> float | None:
        flows = result.flows.to_pandas()
        times = flows.loc[flows.group.astype(str) == f"{size} MSS", "fct_s"].to_numpy(dtype=float)
        return float(np.nanmean(times)) if np.isfinite(times).any() else None

    return mean


def _delay(result: Result) -> float | None:
    return float(port(result, "r0", "r1")["delay_mean_s"])
