"""What `midpath lab run` and `midpath lab exec` are both asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from midpath.errors import UsageError
from midpath.lab import kernel, qdiscs

Virtual = Annotated[
    bool, typer.Option("--virtual", help="In user-mode Linux's virtual time (needs `midpath lab kernel`).")
]
Qdisc = Annotated[
    str | None,
    typer.Option(help="With --virtual: tc qdisc of all routers (cake, …).", show_default=False),
]


def chosen(virtual: bool, qdisc: str | None) -> tuple[Path | None, str | None]:
    """User-mode Linux, where time is virtual, and the discipline of routers' queues there."""
    if qdisc is not None and not virtual:
        raise UsageError("--qdisc needs --virtual; in real time the queues are Midpath's")
    return kernel.find() if virtual else None, None if qdisc is None else qdiscs.check(qdisc)
