"""Table I: how many links of nine ISPs have a way around them through one other router."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from midpath.papers.lab import Lab, Measured, MissingDataError

# Numbers of the autonomous systems.
ISPS = {
    "telstra": 1221,
    "sprintlink": 1239,
    "ebone": 1755,
    "verio": 2914,
    "tiscali": 3257,
    "level3": 3356,
    "exodus": 3967,
    "vsnl": 4755,
    "att": 7018,
}
COLUMNS = ("1", "2", "3", "4", "5")


class Row(NamedTuple):
    """Share of links with a detour, how these split by the number of theirs, and the largest number."""

    share: float
    split: tuple[float, ...]
    most: int


def measure(lab: Lab) -> Iterator[Measured]:
    """The rows of those ISPs whose maps are there."""
    for isp, number in ISPS.items():
        ids = [f"{isp}.links", *(f"{isp}.{column}" for column in COLUMNS), f"{isp}.most"]
        try:
            found = row(lab.rocketfuel(f"{number}.r0.cch", f"{number}.pop.cch"))
        except MissingDataError as error:
            yield from (Measured(name, [], skipped=str(error)) for name in ids)
            continue
        values = (found.share, *found.split, float(found.most))
        yield from (Measured(name, [value]) for name, value in zip(ids, values, strict=True))


def row(file: Path) -> Row:
    """Of a router-level map: the ISP's own routers (r0), links as unordered pairs."""
    beside = neighbours(file.read_text(encoding="latin-1"))
    pairs = {(min(a, b), max(a, b)) for a, near in beside.items() for b in near}
    counts = [len(beside[a] & beside[b]) for a, b in pairs]
    around = [count for count in counts if count]
    exactly = [sum(count == wanted for count in around) for wanted in (1, 2, 3, 4)]
    split = [*exactly, sum(count >= len(COLUMNS) for count in around)]
    return Row(len(around) / len(counts), tuple(part / len(around) for part in split), max(counts))


def neighbours(text: str) -> dict[int, set[int]]:
    """Who is next to whom among routers marked r0. Who lists itself is its own neighbour: see the claim's notes."""
    lines = [line for line in text.splitlines() if re.search(r" r0\s*$", line) and line[:1].isdigit()]
    listed = {int(line.split()[0]): {int(n) for n in re.findall(r"<(\d+)>", line)} for line in lines}
    beside: dict[int, set[int]] = {router: set() for router in listed}
    for router, near in listed.items():
        for other in near & listed.keys():
            beside[router].add(other)
            beside[other].add(router)
    return beside
