"""Writes docs/gallery.md and its figures: each scenario in examples/, with what comes out of it.

    python scripts/gallery.py            runs all scenarios (half a minute), draws the figures, writes the page
    python scripts/gallery.py --check    fails if the page would change; draws nothing

The text of an entry is the comment that its scenario begins with.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

import midpath
from midpath.palette import looks, name
from midpath.plot.draw import strokes

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "gallery.md"
FIGURES = ROOT / "docs" / "images" / "gallery"
# Points of a line: more than a figure of this width can show only makes the file larger.
POINTS = 250

# What runs a scenario, unless an entry has a command of its own.
RUN = "midpath run {file}"

Draw = Callable[[Axes, Path], None]


@dataclass(frozen=True)
class Entry:
    """A scenario of the gallery: how its figure is drawn, and what the figure says."""

    file: str
    draw: Draw
    caption: str
    command: str = RUN

    @property
    def figure(self) -> str:
        """The figure's file."""
        return f"{Path(self.file).stem}.svg"


def completion(schemes: Sequence[str]) -> Draw:
    """Draws the share of flows that have ended after so much time, a line per scheme."""

    def draw(axes: Axes, file: Path) -> None:
        found = looks(schemes)
        for scheme in schemes:
            flows = midpath.run(file, scheme=scheme).flows.to_pandas()
            times = np.sort(flows.fct_s.dropna())
            shown = np.unique(np.linspace(0, len(times) - 1, POINTS).astype(int))
            style = {"color": found[scheme]["light"], "ls": strokes(found[scheme]["dash"])}
            axes.plot(times[shown] * 1000, 100 * (shown + 1) / len(flows), label=name(scheme), **style)
        axes.set(xlabel="flow completion time (ms)", ylabel="flows that have ended (%)", xscale="log", ylim=(0, 102))

    return draw


def requests(schemes: Sequence[str]) -> Draw:
    """Draws the share of requests that are complete after so much time, a line per scheme."""

    def draw(axes: Axes, file: Path) -> None:
        found = looks(schemes)
        for scheme in schemes:
            asked = midpath.run(file, scheme=scheme).tables["requests"].to_pandas()
            times = np.sort(asked.completion_s.dropna())
            shown = np.unique(np.linspace(0, len(times) - 1, POINTS).astype(int))
            style = {"color": found[scheme]["light"], "ls": strokes(found[scheme]["dash"])}
            axes.plot(times[shown] * 1000, 100 * (1 - (shown + 1) / (len(asked) + 1)), label=name(scheme), **style)
        axes.set(xlabel="request completion time (ms)", ylabel="not yet complete (%)", xscale="log", yscale="log")

    return draw


def pages(axes: Axes, file: Path) -> None:
    """Draws the page load time of each load over the time at which it begins, and its parts on the critical path."""
    found = midpath.run(file).tables["pages"].to_pandas().dropna(subset="onload_s")
    below = np.zeros(len(found))
    for part, label in (
        ("service", "servers"),
        ("compute", "computation"),
        ("blocked", "waiting"),
        ("network", "network"),
    ):
        axes.bar(found.start_s, found[f"{part}_s"], width=0.25, bottom=below, label=label)
        below += found[f"{part}_s"].to_numpy()
    axes.set(xlabel="time (s)", ylabel="page load time (s)")


def video(axes: Axes, file: Path) -> None:
    """Draws the bitrate of each segment, and what is in the buffer when it is asked for."""
    found = midpath.run(file).tables["segments"].to_pandas()
    axes.step(found.start_s, found.bitrate_bps / 1e6, where="post", label="bitrate (Mbps)")
    axes.plot(found.start_s, found.buffer_s / 10, ls="--", label="buffer (10 s)")
    axes.set(xlabel="time (s)", ylim=(0, None))


def iterations(axes: Axes, file: Path) -> None:
    """Draws a job's timeline: how long each iteration takes, and its straggler."""
    found = midpath.run(file).tables["iterations"].to_pandas()
    bars = axes.barh(found.iteration, found.completion_s * 1e3, left=found.start_s * 1e3)
    links = found.link_from.astype(str) + ">" + found.link_to.astype(str)
    axes.bar_label(bars, labels=links.where(found.completion_s > 1.5 * found.completion_s.min(), ""), padding=3)
    axes.set(xlabel="time (ms)", ylabel="iteration")
    axes.margins(x=0.12)
    axes.invert_yaxis()


@dataclass(frozen=True)
class Line:
    """One line of a figure over time: what of whom, under which scheme and changes."""

    entity: str
    label: str
    scheme: str | None = None
    changes: dict[str, Any] = field(default_factory=dict)


def over_time(
    metric: str, lines: Sequence[Line], *, unit: float, ylabel: str, smooth: int = 1, until: float = np.inf
) -> Draw:
    """Draws a recorded metric over time `until` then, in `unit`; `smooth` samples are joined to their mean."""

    def draw(axes: Axes, file: Path) -> None:
        for line in lines:
            changes = {"measure.series": True} | line.changes
            asked = midpath.Scenario.from_toml(file).with_(scheme=line.scheme, changes=changes)
            series = midpath.run(asked).series.to_pandas()
            one = series[(series.entity == line.entity) & (series.metric == metric) & (series.time_s <= until)]
            step = max(smooth, -(-len(one) // POINTS))
            joined = one.assign(part=np.arange(len(one)) // step).groupby("part")[["time_s", "value"]].mean()
            axes.plot(joined.time_s, joined.value / unit, label=line.label)
        axes.set(xlabel="time (s)", ylabel=ylabel, ylim=(0, None))

    return draw


HEAD = """# Gallery

The scenarios in `examples/` with a figure each. They run in seconds, by `midpath run` unless another command is given.
Their first lines say more. (Written by `scripts/gallery.py`.)
"""
TAIL = """## In Python

- [`buffer_size.py`](../examples/buffer_size.py): one scenario under several queue limits.
- [`fcp_calls_and_backups.py`](../examples/fcp_calls_and_backups.py): other weights, and a policy written in Python.
- [`rpm_gain.py`](../examples/rpm_gain.py): how steep marking may be before the queue swings.
- [`rpm_sweep.py`](../examples/rpm_sweep.py): where RPM helps and where it hurts."""

# Round trips of microseconds want samples as close.
FINE = {"measure.interval": "20 us", "measure.points": 20000}

ENTRIES = [
    Entry(
        "dumbbell.toml",
        over_time(
            "goodput_bps",
            [Line(f"flow:{i}", f"flow {i}") for i in range(3)],
            unit=1e6,
            ylabel="goodput (Mbps)",
            smooth=10,
        ),
        "NewReno's saw-teeth: the first flow has most for a while.",
    ),
    Entry(
        "bufferbloat.toml",
        over_time(
            "queue_bytes",
            [
                Line("port:r0>r1", "drop-tail"),
                Line("port:r0>r1", "CoDel", changes={"queue.kind": "codel"}),
            ],
            unit=1e3,
            ylabel="queue (kB)",
        ),
        "CUBIC fills whatever buffer there is; CoDel keeps the queue short.",
        "midpath compare {file} --schemes cubic",
    ),
    Entry(
        "call_and_backup.toml",
        over_time(
            "delay_s",
            [
                Line("flow:0", "drop-tail"),
                Line("flow:0", "FQ-CoDel", changes={"queue.kind": "codel", "queue.scheduler": "fq"}),
            ],
            unit=1e-3,
            ylabel="one-way delay of voice (ms)",
        ),
        "Behind a plain queue, voice waits for the backup (5 to 20 s).",
        "midpath compare {file} --schemes cubic",
    ),
    Entry(
        "buffers.toml",
        completion(["cubic", "dctcp", "ideal"]),
        "One seed of one point. Further left is better.",
        "midpath sweep {file} --vary queue.limit=10ms,100ms --schemes cubic,dctcp --out out/buffers",
    ),
    Entry(
        "abilene.toml",
        completion(["newreno", "cubic", "dctcp", "cubic+rpm", "fcp", "mircc", "inrpp", "ideal"]),
        "One seed of `make run`. Further left is better.",
        "midpath compare {file} --schemes newreno,cubic,dctcp,cubic+rpm,fcp,mircc,inrpp",
    ),
    Entry(
        "incast.toml",
        over_time(
            "queue_bytes",
            [Line("port:c0>a0.0", name(scheme), scheme, FINE) for scheme in ("newreno", "dctcp")],
            unit=1e3,
            ylabel="queue (kB)",
            until=0.012,
        ),
        "The queue from core switch c0 to a0.0 during the long transfers. NewReno fills its 300 kB, DCTCP does not.",
        "midpath compare {file} --schemes newreno,dctcp",
    ),
    Entry(
        "pfc_window.toml",
        over_time(
            "queue_bytes",
            [
                Line("port:r0>h0", "no window"),
                Line("port:r0>h0", "a window", changes={"schemes.dcqcn.window_rtts": 1}),
            ],
            unit=1e3,
            ylabel="queue (kB)",
            until=0.002,
        ),
        "Without a window the queue grows until every sender is paused. With one it holds sixteen windows at most.",
        "midpath compare {file} --schemes dcqcn",
    ),
    Entry(
        "rpc_fan_out.toml",
        requests(["newreno", "dctcp"]),
        "A request ends with the last of eight replies. NewReno's wait behind the bulk transfer's queue.",
        "midpath compare {file} --schemes newreno,dctcp",
    ),
    Entry(
        "page_load.toml",
        pages,
        "Each bar is a load of a page, with the parts of its critical path. The first opens connections; from 10 s on "
        "the backup's queue is in each round trip.",
    ),
    Entry(
        "video_streaming.toml",
        video,
        "The backup takes the buffer down until BOLA asks for less. No segment comes too late.",
    ),
    Entry(
        "all_reduce.toml",
        iterations,
        "A ring is as slow as its slowest link. Iterations that take half as long again name their straggler's.",
    ),
    Entry(
        "links/leo.toml",
        over_time(
            "delay_s",
            [Line("flow:0", "drop-tail"), Line("flow:0", "CAKE", changes={"queue.kind": "cake"})],
            unit=1e-3,
            ylabel="one-way delay of pings (ms)",
        ),
        "Handovers at 15, 30 and 45 s empty the queue. What CAKE leaves is the way to the satellite and back.",
    ),
    Entry(
        "link_failure.toml",
        over_time(
            "throughput_bps",
            [Line("port:NL>DE", "from the Netherlands to Germany", None, {"measure.ports": 64})],
            unit=1e6,
            ylabel="throughput (Mbps)",
        ),
        "The link is down from 2 s to 4 s. Routes are not computed again, so its flows wait.",
    ),
    Entry(
        "mptcp_two_paths.toml",
        over_time(
            "goodput_bps",
            [Line("flow:0", "MPTCP, both paths"), Line("flow:0", "NewReno, one path", "newreno")],
            unit=1e6,
            ylabel="goodput (Mbps)",
            smooth=3,
        ),
        "MPTCP goes on over the mobile path while Wi-Fi is gone. NewReno's data go over the mobile path, "
        "but its ACKs come back over Wi-Fi: it stops.",
    ),
    Entry(
        "fcp_calls_and_backups.toml",
        over_time(
            "goodput_bps",
            [
                Line("group:call", "my two calls"),
                Line("group:backup", "my three backups"),
                Line("group:colleagues", "three colleagues"),
            ],
            unit=1e6,
            ylabel="goodput (Mbps)",
        ),
        "Inside my quarter of the link the calls get two thirds, and colleagues keep theirs.",
    ),
    Entry(
        "fcp_attack.toml",
        over_time(
            "goodput_bps",
            [
                Line("group:honest", "honest flow, with enforcement"),
                Line("group:honest", "honest flow, without", None, {"schemes.fcp.network.enforcement": False}),
            ],
            unit=1e6,
            ylabel="goodput (Mbps)",
        ),
        "The attack begins at 2 s. With enforcement the honest flow has its rate back at 3.8 s, and loses it again "
        "for about a second at the next attempt. Without, it gets next to nothing.",
    ),
    Entry(
        "inrpp_backpressure.toml",
        over_time(
            "cache_bytes",
            [Line(f"port:{a}>{b}", f"{a} to {b}") for a, b in pairwise(("source", "r0", "r1", "r2", "r3"))],
            unit=1e6,
            ylabel="data in the cache (MB)",
        ),
        "The cache beside the slow link fills first, then the one before it, up to the sender.",
    ),
    Entry(
        "inrpp_detour.toml",
        over_time(
            "cache_bytes",
            [Line("port:r0>r2", "r0, before the slow link"), Line("port:r4>r0", "r4, one hop before")],
            unit=1e6,
            ylabel="data in the cache (MB)",
        ),
        "What neither the link nor the detour can carry waits in r0, then in r4.",
    ),
    Entry(
        "inrpp_attack.toml",
        over_time(
            "goodput_bps",
            [
                Line("group:victim", "victim, requests signed"),
                Line("group:victim", "victim, requests believed", None, {"schemes.inrpp.auth": False}),
            ],
            unit=1e6,
            ylabel="goodput (Mbps)",
        ),
        "The attack begins at 5 s.",
    ),
    Entry(
        "inrpp_isp.toml",
        completion(["newreno", "inrpp", "ideal"]),
        "600 flows on GÉANT's map.",
        "midpath compare {file} --schemes newreno,inrpp",
    ),
    Entry(
        "rpm_forward_marking.toml",
        over_time("queue_bytes", [Line("port:r0>r1", "bottleneck")], unit=1e3, ylabel="queue (kB)"),
        "At 30 s the link goes from 100 to 80 Mbps. The mean queue is 153 kB before that (from 5 s on), "
        "and 174 kB after it (from 31 s on).",
    ),
]


def title_and_words(file: Path) -> tuple[str, str]:
    """The scenario's title, and the first sentence of the comment that it begins with."""
    text = file.read_text(encoding="utf-8")
    comment = re.match(r"(?:#.*\n)*", text).group()  # type: ignore[union-attr]
    lines = [line.removeprefix("#").strip() for line in comment.splitlines()]
    words = re.split(r"(?<=[.:]) ", " ".join(lines), maxsplit=1)[0].strip().rstrip(":.") + "."
    title = re.search(r'^title = "(.*)"', text, re.MULTILINE)
    assert title, f"{file} has no title"
    return title[1], words


def page() -> str:
    """The page."""
    return "\n".join(_parts()) + "\n"


def _parts() -> Iterator[str]:
    yield HEAD
    for entry in ENTRIES:
        title, words = title_and_words(ROOT / "examples" / entry.file)
        yield f"## [`{entry.file}`](../examples/{entry.file})\n"
        yield f"{words}\n"
        yield f"![{title}](images/gallery/{entry.figure})\n"
        yield f"{entry.caption}\n"
        if entry.command != RUN:
            yield f"```sh\n{entry.command.format(file=f'examples/{entry.file}')}\n```\n"
    yield TAIL


def draw_all() -> None:
    """Runs the scenarios and draws their figures."""
    # Text stays text, and the same figure is the same file.
    mpl.rcParams.update(
        {"svg.fonttype": "none", "svg.hashsalt": "midpath", "font.family": "sans-serif", "font.size": 9}
    )
    FIGURES.mkdir(parents=True, exist_ok=True)
    for entry in ENTRIES:
        figure, axes = plt.subplots(figsize=(6, 2.8), layout="constrained")
        entry.draw(axes, ROOT / "examples" / entry.file)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        if len(axes.get_legend_handles_labels()[0]) > 1:
            axes.legend(frameon=False)
        figure.savefig(FIGURES / entry.figure, metadata={"Date": None})
        plt.close(figure)


def main() -> int:
    """Writes the page and its figures, or checks the page."""
    if "--check" in sys.argv[1:]:
        return 0 if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == page() else 1
    draw_all()
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
