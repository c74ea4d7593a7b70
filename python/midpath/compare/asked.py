"""Requirements of a scheme on hosts, routers and packets, and its gain in a comparison."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from midpath.compare.comparison import Comparison
from midpath.errors import UsageError
from midpath.schemes import Description, column, described, shipped


@dataclass(frozen=True)
class Asked:
    """Of a scheme, of a transport over a network, over queues."""

    scheme: str
    hosts: str
    routers: str
    costs: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As `midpath cost schemes --json` prints it."""
        return asdict(self)


def asked_by(scheme: str) -> Asked:
    """What a scheme says that it costs; of a transport over a network, both; over queues, that routers have these."""
    found = column(scheme)
    parts = [_known(part) for part in found.schemes]
    return Asked(
        scheme,
        next((part.hosts for part in parts if part.hosts), ""),
        next((part.routers for part in reversed(parts) if part.routers), found.queue and f"queues: {found.queue}"),
        tuple(cost for part in parts for cost in part.costs),
    )


def _known(name: str) -> Description:
    found = described(name)
    if name not in shipped() and not found.summary:
        raise UsageError(f"there is no scheme {name!r}; there are {', '.join(shipped())}")
    return found


def gained(comparison: Comparison) -> dict[str, dict[str, Any]]:
    """Completion time and memory of each scheme: means over the seeds."""
    keys = ("afct_s", "queue_max_bytes")
    return {
        row.scheme: {key: value.mean if (value := row.figures[key]) else None for key in keys}
        for row in comparison.rows()
    }
