"""Table IV: nothing runs; the calculation of `midpath cost inrpp-cache`."""

from __future__ import annotations

from collections.abc import Iterator

from midpath.cost import in_gigabits, inrpp_cache
from midpath.papers.lab import Lab, Measured


def measure(lab: Lab) -> Iterator[Measured]:
    """The claims of table IV."""
    del lab
    found = inrpp_cache()
    yield Measured("access", [found.needed_access_s])
    yield Measured("drams", [found.drams])
    yield Measured("storage", [found.storage_bytes])
    yield Measured("seconds", [found.storage_s])
    yield Measured("dram", [found.dram_dollars])
    yield Measured("dram.bits", [inrpp_cache(dram=in_gigabits()).dram_dollars])
    yield Measured("saved", [found.saved])
