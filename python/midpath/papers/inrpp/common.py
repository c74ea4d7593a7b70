"""Measurements shared by figures of the INRPP paper."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from midpath.result import Result
from midpath.result.series import Numbers, ratio, wire

__all__ = ["Capture", "capture", "custody_lost", "processor_sharing", "ratio", "refused", "wire"]

# Payload in a packet of 1500 bytes: IPv4 and TCP with timestamps take 52, INRPP's shim 24, RCP's 20, MPTCP's option 20.
PAYLOAD = {"inrpp": 1424, "rcp": 1428, "newreno": 1448, "mptcp": 1428}
MTU = 1500


def processor_sharing(rate: float, starts: Sequence[float], sizes: Sequence[float]) -> list[float]:
    """Completion times of flows of `sizes` (bits) that share `rate` (bit/s) equally at any time, in closed steps."""
    left, ends, now = dict(enumerate(sizes)), [0.0] * len(sizes), min(starts)
    while left:
        present = [flow for flow in left if starts[flow] <= now]
        later = [starts[flow] for flow in left if starts[flow] > now]
        share = rate / len(present) if present else 0.0
        first = min((left[flow] for flow in present), default=0.0)
        until = min([*later, *([now + first / share] if present else [])])
        for flow in present:
            left[flow] -= share * (until - now)
            # Half a bit is nothing but rounding.
            if left[flow] < 0.5:
                ends[flow] = until
                del left[flow]
        now = until
    return [end - start for end, start in zip(ends, starts, strict=True)]


def refused(result: Result) -> float:
    """Packets that found no room: in INRPP at a full cache, else at a full queue."""
    return float(np.sum(result.ports["drops_queue"].to_numpy()))


def custody_lost(result: Result) -> float:
    """Packets that a router had taken and lost.

    Faults and policies apart (there are none here), what was lost was refused; and in a run whose flows have all ended,
    nothing may be in a router any more.
    """
    lost = float(result.summary["lost_packets"]) - refused(result)
    ended = result.summary["completed"] == result.summary["flows"]
    return lost + (float(result.run["invariants"]["stored"]) if ended else 0.0)


@dataclass(frozen=True)
class Capture:
    """Segments with payload that a port sent: when each started onto the wire, whose, its first byte, its size."""

    times: Numbers
    flows: NDArray[np.int64]
    first: NDArray[np.int64]
    size: NDArray[np.int64]

    def of(self, flow: int) -> Capture:
        """Only one flow's."""
        mine = self.flows == flow
        return Capture(self.times[mine], self.flows[mine], self.first[mine], self.size[mine])

    def before(self, at: NDArray[np.float64]) -> Numbers:
        """Bytes on the wire that started before each of these times."""
        total = np.concatenate(([0.0], np.cumsum(self.size)))
        return total[np.searchsorted(self.times, at)]


# Packets in a capture begin after 28 bytes of block (pcapng §4.3): type, length, interface, time, sizes.
BODY = 28
ENHANCED = 6
# The IP protocol of scheme headers.
SHIM = 253
# Smaller packets carry no payload here.
WITH_PAYLOAD = 200


def capture(result: Result, *names: str) -> Capture:
    """The segments with payload in these captures (`r0-r1`), by time. Together they have all of each flow."""
    found = [one for name in names for one in _segments(result.files[f"{name}.pcapng"])]
    found.sort()
    times, flows, numbers, size = (np.array(column) for column in zip(*found, strict=True))
    first = np.zeros_like(numbers)
    for flow in np.unique(flows):
        mine = flows == flow
        first[mine] = _offsets(numbers[mine])
    return Capture(times, flows.astype(np.int64), first, size.astype(np.int64))


def _offsets(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where sequence numbers lie in the flow, which has less than 2 GiB: they begin anywhere and wrap."""
    relative: NDArray[np.int64] = (numbers - numbers[0] + (1 << 31)) % (1 << 32)
    first: np.int64 = relative.min()
    return relative - first


def _segments(data: bytes) -> list[tuple[float, int, int, int]]:
    at, found = 0, []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == ENHANCED:
            high, low, _, size = struct.unpack_from("<IIII", data, at + 12)
            if size > WITH_PAYLOAD:
                ip = at + BODY
                # docs/wire.md: a shim may stand before TCP; the port with the highest bit is the flow's number.
                tcp = ip + 20 + (4 * data[ip + 21] if data[ip + 9] == SHIM else 0)
                *ports, number = struct.unpack_from(">HHI", data, tcp)
                found.append(((high << 32 | low) / 1e9, max(ports) & 0x7FFF, number, size))
        at += length
    return found


# Beside the claims, as information: by the letter of algorithm 1, and without detours.
WITHOUT: dict[str, dict[str, Any]] = {
    "literal": {"schemes.inrpp.without": ["steer"]},
    "single": {"schemes.inrpp.detours": 0},
}


def entered(times: Numbers, values: Numbers, least: float) -> float | None:
    """When a series first reaches `least`."""
    found = np.flatnonzero(values >= least)
    return float(times[found[0]]) if found.size else None


# Quarters of flows by size.
QUARTERS = ("the smallest quarter", "the second quarter", "the third quarter", "the largest quarter")


def by_quarter(ours: Iterable[Result], other: Iterable[Result]) -> dict[str, list[float | None]]:
    """Our mean completion time over another scheme's in each quarter of flows by size, seed by seed."""
    seeds = [_quarters(*pair) for pair in zip(ours, other, strict=True)]
    return {name: [seed[i] for seed in seeds] for i, name in enumerate(QUARTERS)}


def _quarters(ours: Result, other: Result) -> list[float | None]:
    mine, theirs = (result.flows.to_pandas().sort_values(["size_bytes", "start_s"]) for result in (ours, other))
    parts = (np.array_split(flows.fct_s.to_numpy(dtype=float), len(QUARTERS)) for flows in (mine, theirs))
    return [ratio(_mean(a), _mean(b)) for a, b in zip(*parts, strict=True)]


def _mean(times: Numbers) -> float | None:
    """The mean of those that have ended; None if none has."""
    known = times[np.isfinite(times)]
    return float(known.mean()) if known.size else None
