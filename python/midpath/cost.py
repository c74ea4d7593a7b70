"""Cost of a scheme's hardware, calculated from prices and access times, without simulation.

INRPP's cache (§III-D, Fig. 7): DRAMs in parallel hold the packets; an SRAM at the tail accepts them at line rate,
one at the head delivers them. So the cache is as fast as SRAM, and a byte costs about as much as in DRAM.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from midpath.errors import UsageError

MB = 1e6
# A packet is written into a cache once and read out once (§III-D: 64 bytes at 100 Gbps, 5.12 ns, "requires 2.56 ns").
ACCESSES = 2
# One SRAM at the tail and one at the head (Fig. 7).
SRAMS = 2
# A ratio of two decimal numbers misses a whole number by less than this: 25 DRAMs, not 26.
ROUNDING = 1e-9
# Beyond this, or below its inverse, no number here means anything: an exabyte, an attosecond.
LARGEST = 1e18


@dataclass(frozen=True)
class Memory:
    """A memory chip: seconds per access, bytes, dollars per megabyte (of 10⁶ bytes)."""

    access_s: float
    capacity_bytes: float
    dollars_per_mb: float

    @property
    def dollars(self) -> float:
        """What one chip costs."""
        return self.capacity_bytes / MB * self.dollars_per_mb


# Table IV of the paper.
SRAM = Memory(access_s=0.45e-9, capacity_bytes=260e6, dollars_per_mb=27.0)
DRAM = Memory(access_s=11.25e-9, capacity_bytes=8e9, dollars_per_mb=0.054)
# §III-D's example.
RATE_BPS = 100e9
PACKET_BYTES = 64.0


@dataclass(frozen=True)
class CacheCost:
    """A port's hybrid cache: how fast, how large, how dear."""

    packet_s: float
    needed_access_s: float
    sram_is_fast_enough: bool
    drams: int
    drams_for_rate: int
    storage_bytes: float
    storage_s: float
    dram_dollars: float
    sram_bytes: float
    sram_dollars: float
    total_dollars: float
    all_sram_dollars: float

    @property
    def saved(self) -> float:
        """The share of the price that the hybrid saves against SRAM alone of the same size."""
        return 1 - self.total_dollars / self.all_sram_dollars

    @property
    def saved_without_sram(self) -> float:
        """The same with SRAMs at head and tail that cost nothing: the most that can be saved."""
        return 1 - self.dram_dollars / self.all_sram_dollars

    def to_json(self) -> dict[str, Any]:
        """As `midpath cost inrpp-cache --json` prints it."""
        return asdict(self) | {"saved": self.saved, "saved_without_sram": self.saved_without_sram}


def inrpp_cache(
    rate_bps: float = RATE_BPS,
    packet_bytes: float = PACKET_BYTES,
    sram: Memory = SRAM,
    dram: Memory = DRAM,
    sram_bytes: float | None = None,
) -> CacheCost:
    """The cache of one port (§III-D).

    `sram_bytes` is the size of the SRAM at the head, and of the one at the tail. Unset, each is one chip of table IV.
    Ours: §III-D gives no size, only "single tail and head SRAMs", and sends readers to its reference [18].
    """
    each = sram.capacity_bytes if sram_bytes is None else sram_bytes
    _require_sane(rate_bps, packet_bytes, *asdict(sram).values(), *asdict(dram).values())
    if not 0 <= each <= LARGEST:
        raise UsageError("the SRAM at head and tail needs a size of 0 bytes or more")
    packet_s = packet_bytes * 8 / rate_bps
    needed_s = packet_s / ACCESSES
    # §III-D: "based on the access speed ratios": as many as let the DRAMs together keep up with the SRAM.
    drams = _at_least(dram.access_s / sram.access_s)
    storage = drams * dram.capacity_bytes
    dram_dollars = drams * dram.dollars
    sram_dollars = SRAMS * each / MB * sram.dollars_per_mb
    return CacheCost(
        packet_s=packet_s,
        needed_access_s=needed_s,
        sram_is_fast_enough=sram.access_s <= needed_s,
        drams=drams,
        # The line alone asks for fewer. Ours: the paper does not say this number.
        drams_for_rate=_at_least(dram.access_s / needed_s),
        storage_bytes=storage,
        storage_s=storage * 8 / rate_bps,
        dram_dollars=dram_dollars,
        sram_bytes=SRAMS * each,
        sram_dollars=sram_dollars,
        total_dollars=dram_dollars + sram_dollars,
        all_sram_dollars=storage / MB * sram.dollars_per_mb,
    )


def in_gigabits(dram: Memory = DRAM) -> Memory:
    """The same DRAM, with its capacity read in bits: "8 GB" as 8 Gbit.

    Table IV's prices make 25 DRAMs of 8 GB cost $10,800. §III-D says "around $1350", which is what 25 of 8 Gbit, 1 GB
    each, cost to the dollar; but then they hold 25 GB, 2 s of traffic, and not §III-D's 200 GB and 16 s.
    """
    return Memory(dram.access_s, dram.capacity_bytes / 8, dram.dollars_per_mb)


def _at_least(ratio: float) -> int:
    """Whole chips."""
    return max(1, math.ceil(ratio * (1 - ROUNDING)))


def _require_sane(*values: float) -> None:
    if not all(1 / LARGEST <= value <= LARGEST for value in values):
        raise UsageError("rate, packet size, access times, capacities and prices are finite numbers above 0")
