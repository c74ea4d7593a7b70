"""Progress on a terminal: packets, simulated time, time to go. Elsewhere a line on stderr, if it takes long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeRemainingColumn

from midpath.units import digits, duration, quantity

# Where no terminal is, a line comes after so long, and each further one when four times as much has passed.
FIRST_S = 5.0


class Bar:
    """The progress of one run, or of the runs of a comparison."""

    def __init__(
        self, progress: Progress | None, task: TaskID | None, runs: int, print_line: Callable[[str], None] = print
    ) -> None:
        self.progress, self.task, self.runs, self.print_line = progress, task, runs, print_line
        self.began, self.next_s = monotonic(), FIRST_S
        self.parts: dict[tuple[str, int], float] = {}
        self.hops: dict[tuple[str, int], int] = {}

    def step(self, scheme: str, seed: int, reached: dict[str, Any]) -> None:
        """What one run has reached."""
        self.parts[scheme, seed] = share(reached)
        self.hops[scheme, seed] = reached["packet_hops"]
        self._show(f"{quantity('seconds', reached['simulated_s'])} simulated")

    def ended(self, scheme: str, seed: int, done: int, runs: int) -> None:
        """One run of a comparison has ended."""
        self.parts[scheme, seed] = 1.0
        self._show(f"{done} of {runs} runs")

    def _show(self, note: str) -> None:
        done = sum(self.parts.values()) / self.runs
        if self.progress is None or self.task is None:
            self._estimate(done, note)
        else:
            text = f"{hops(sum(self.hops.values()))}, {note}"
            # Where nothing says when runs will stop, the bar only shows that there is work.
            self.progress.update(self.task, total=1.0 if done else None, completed=done, note=text)

    def _estimate(self, done: float, note: str) -> None:
        """How long it will take, in a line, once it has taken long; and now and then again."""
        took = monotonic() - self.began
        if took < self.next_s:
            return
        self.next_s = 4 * took
        left = f"about {duration(took / done - took)} to go" if done else "remaining time unknown"
        self.print_line(f"{note} after {duration(took)}; {left}")


def hops(count: float) -> str:
    """`940 packet-hops`, `12.3 k packet-hops`, `1.20 M packet-hops`."""
    size, prefix = next(((size, name) for size, name in ((1e6, "M "), (1e3, "k ")) if count >= size), (1.0, ""))
    return f"{digits(count / size)} {prefix}packet-hops"


def share(reached: dict[str, Any]) -> float:
    """How much of a run is done, if it is known when it will stop."""
    stop = reached["stop_s"]
    return min(float(reached["simulated_s"]) / stop, 1.0) if stop else 0.0


@contextmanager
def steps(label: str) -> Iterator[Callable[[str], None]]:
    """Says on stderr which step a command is at: on a terminal each, elsewhere those that begin once it took long."""
    console, began = Console(stderr=True), monotonic()
    if console.is_terminal:
        with console.status(label) as status:
            yield lambda step: status.update(f"{label}: {step}")
        return

    def say(step: str) -> None:
        took = monotonic() - began
        if took >= FIRST_S:
            console.print(f"{label}: {step}, after {duration(took)}", soft_wrap=True, highlight=False)

    yield say


@contextmanager
def bar(label: str, runs: int = 1) -> Iterator[Bar]:
    """A bar on stderr while the block runs, if stderr is a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Bar(None, None, runs, lambda text: console.print(f"{label}: {text}", soft_wrap=True, highlight=False))
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield Bar(progress, progress.add_task(label, total=1.0, note=""), runs)
