"""Reruns all figures and compares with the record: a resumable artifact with cost estimates.

DIR/reproduce.json         the request and, when complete, the results
DIR/figures/FCP-FIGURE.json   a figure's results; a figure that has one is not rerun
DIR/reproduced.html        the four papers' tables on one page
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from midpath.errors import OutputError
from midpath.extension import _midpath
from midpath.papers import record, table
from midpath.papers.headline import headline
from midpath.papers.registry import Figure, Says
from midpath.papers.runner import Verdict, row
from midpath.papers.tolerance import Judgement
from midpath.run import cores
from midpath.run.key import build
from midpath.storage import read_json, require_replaceable, to_json, write_text

MARKER, FIGURES, PAGE = "reproduce.json", "figures", "reproduced.html"
# What each figure took where it was measured: core seconds, whole and quick. `scripts/paper_costs.py` writes it.
COSTS = "costs.json"
OPEN = (Judgement.UNDECIDED, Judgement.UNDECIDABLE)


class Agreement(StrEnum):
    """What a claim came to now, beside what is recorded."""

    IDENTICAL = "identical"
    SAME = "same verdict"
    OPEN = "undecided in one of both"
    OTHER = "another verdict"
    SKIPPED = "skipped"
    NEW = "not recorded"


@dataclass(frozen=True)
class Reproduced:
    """One claim now and as recorded."""

    now: Verdict
    recorded: Verdict | None

    @property
    def agreement(self) -> Agreement:
        """Identical: each seed's value to six digits, as far as seeds were run here."""
        now, before = self.now, self.recorded
        if now.skipped:
            return Agreement.SKIPPED
        if before is None or before.skipped:
            return Agreement.NEW
        if now.judgement is before.judgement:
            same = _begins(record.rounded(before.values), record.rounded(now.values))
            return Agreement.IDENTICAL if same else Agreement.SAME
        return Agreement.OPEN if {now.judgement, before.judgement} & set(OPEN) else Agreement.OTHER

    def to_json(self) -> dict[str, Any]:
        """The claim, and beside it what is recorded."""
        before = self.recorded
        return self.now.to_json() | {
            "agreement": self.agreement,
            "recorded": before
            and {
                "ours": before.ours.mean if before.ours else None,
                "ci95": before.ours.ci95 if before.ours else None,
                "verdict": before.judgement,
            },
        }


def _begins(before: Any, now: Any) -> bool:
    """Whether values begin as the recorded ones do, group by group."""
    if isinstance(now, Mapping):
        return (
            isinstance(before, Mapping) and before.keys() == now.keys() and all(_begins(before[k], now[k]) for k in now)
        )
    return bool(now) and isinstance(before, list) and before[: len(now)] == now


@dataclass(frozen=True)
class Needs:
    """What a reproduction will take."""

    figures: int
    left: int
    core_s: float
    unknown: int
    memory_bytes: int | None
    cores: int

    def __str__(self) -> str:
        """For people, before anything is run."""
        if not self.left:
            return f"all {self.figures} figures are complete"
        said = [f"{self.left} of {self.figures} figures to run"]
        if self.unknown < self.left:
            minutes, known = self.core_s / 60, f" for {self.left - self.unknown} of them" if self.unknown else ""
            on = f"{minutes / self.cores:.0f} minutes on {self.cores} cores"
            said.append(f"about {minutes:.0f} core minutes, {on}{known}")
        if self.memory_bytes:
            said.append(f"up to {self.memory_bytes / 1e9:.1f} GB of memory")
        if self.unknown:
            said.append(f"the cost of {self.unknown} of them was never measured")
        return "; ".join(said)


def costs() -> dict[str, Any]:
    """What each figure took where it was measured."""
    text = files("midpath.papers").joinpath(COSTS).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def needs(chosen: list[Figure], out: Path, *, quick: bool, jobs: int) -> Needs:
    """What is left to run, and what that takes by the costs that are known."""
    known, kind = costs(), "quick_core_s" if quick else "core_s"
    left = [figure.id for figure in chosen if _kept(out, figure, quick) is None]
    seconds = [known["figures"].get(name, {}).get(kind) for name in left]
    return Needs(
        len(chosen),
        len(left),
        sum(value for value in seconds if value is not None),
        sum(value is None for value in seconds),
        known["quick_memory_bytes" if quick else "memory_bytes"],
        min(jobs or cores(), cores()),
    )


def reproduce(
    chosen: list[Figure], out: Path, *, quick: bool, run: Callable[[Figure], list[Verdict]]
) -> Iterator[tuple[Figure, list[Reproduced]]]:
    """Runs what is not there yet, figure by figure, and writes the page and the summary in the end."""
    _begin(out, quick)
    done: list[tuple[Figure, list[Reproduced]]] = []
    taken: list[dict[str, Any]] = []
    for figure in chosen:
        kept = _kept(out, figure, quick) or _run(out, figure, quick, run)
        taken.append(kept)
        done.append((figure, _reproduced(figure, kept)))
        yield done[-1]
    told = summary(done, taken, quick)
    write_text(out / MARKER, to_json(told) + "\n")
    write_text(out / PAGE, page(done, told))


def _begin(out: Path, quick: bool) -> None:
    require_replaceable(out, MARKER)
    path = out / MARKER
    if path.is_file() and read_json(path).get("quick") is not quick:
        asked = "without" if quick else "with"
        raise OutputError(f"{out} was begun {asked} --quick: choose another directory")
    if not path.is_file():
        write_text(path, to_json({"format": 1, "quick": quick}))


def _place(out: Path, figure: Figure) -> Path:
    return out / FIGURES / f"{figure.id.replace('/', '-')}.json"


def _kept(out: Path, figure: Figure, quick: bool) -> dict[str, Any] | None:
    """What a figure came to by this very simulator; a new claim, or one that lacked its data, makes it run again."""
    path = _place(out, figure)
    if not path.is_file():
        return None
    found = read_json(path)
    same = found["build"] == build() and found["quick"] is quick
    whole = found["claims"].keys() >= {claim.id for claim in figure.claims}
    lacked = any(one["verdict"] == Judgement.SKIPPED for one in found["claims"].values())
    return found if same and whole and not lacked else None


def _run(out: Path, figure: Figure, quick: bool, run: Callable[[Figure], list[Verdict]]) -> dict[str, Any]:
    """Runs a figure; what is kept of it, as it is read again."""
    core, wall = time.process_time(), time.monotonic()
    found = run(figure)
    kept = {
        "figure": figure.id,
        "midpath": _midpath.version(),
        "build": build(),
        "quick": quick,
        "core_s": round(time.process_time() - core, 3),
        "wall_s": round(time.monotonic() - wall, 3),
        "memory_bytes": _peak_bytes(),
        "claims": {verdict.claim.id: record.kept(verdict) for verdict in found},
    }
    write_text(_place(out, figure), record.on_one_line(to_json(kept)) + "\n")
    return read_json(_place(out, figure))


def _peak_bytes() -> int:
    """The most that this process has held so far; 0 where the system does not say."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _reproduced(figure: Figure, kept: dict[str, Any]) -> list[Reproduced]:
    now = [record.verdict(figure.id, claim, kept["claims"].get(claim.id)) for claim in figure.claims]
    before = {one.claim.id: one for one in record.verdicts(figure)} if record.stored(figure) else {}
    return [Reproduced(one, before.get(one.claim.id)) for one in now]


def count(found: Iterable[Reproduced]) -> dict[str, int]:
    """How many claims agree, by how."""
    listed = Counter(one.agreement for one in found)
    return {str(agreement): listed[agreement] for agreement in Agreement if listed[agreement]}


def counted(found: Iterable[Reproduced]) -> str:
    """The same in words."""
    return ", ".join(f"{number} {name}" for name, number in count(found).items())


def sentence(found: list[Reproduced]) -> str:
    """The same of all claims."""
    return f"{len(found)} claims beside the recorded ones: {counted(found)}"


def summary(done: list[tuple[Figure, list[Reproduced]]], taken: list[dict[str, Any]], quick: bool) -> dict[str, Any]:
    """What programs read. `taken` is what is kept of each figure."""
    every = [one for _, found in done for one in found]
    return {
        "format": 1,
        "quick": quick,
        "midpath": _midpath.version(),
        "build": build(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "core_s": round(sum(one.get("core_s", 0.0) for one in taken), 1),
        "memory_bytes": max((one.get("memory_bytes", 0) for one in taken), default=0),
        "headline": headline(one.now for one in every),
        "agreement": count(every),
        "papers": {
            paper: count(one for figure, found in done if figure.paper == paper for one in found)
            for paper in dict.fromkeys(figure.paper for figure, _ in done)
        },
        "figures": {
            figure.id: {key: one.get(key) for key in ("core_s", "wall_s")} | {"agreement": count(found)}
            for (figure, found), one in zip(done, taken, strict=True)
        },
        "claims": [one.to_json() for one in every],
    }


def load(out: Path) -> dict[str, Any]:
    """The summary that `reproduce` wrote."""
    return read_json(out / MARKER)


def page(done: list[tuple[Figure, list[Reproduced]]], told: dict[str, Any]) -> str:
    """All tables as one page: what is recorded and how it agrees stand beside each claim."""
    every = [one for _, found in done for one in found]
    look = "Quick: fewer seeds and shorter runs, a look and not a result. " if told["quick"] else ""
    above = (
        f"<p>{look}{escape(sentence(every))}. {told['core_s'] / 60:.0f} core minutes, at most "
        f"{told['memory_bytes'] / 1e9:.1f} GB; {escape(told['machine'])}, Python {told['python']}, "
        f"build {escape(told['build'])}.</p>"
    )
    beside = {(one.now.figure, one.now.claim.id): (_recorded(one), str(one.agreement)) for one in every}
    return table.html([one.now for one in every], above=above, beside=(("recorded", "agreement"), beside))


def _recorded(one: Reproduced) -> str:
    if one.recorded is None or one.recorded.skipped:
        return "–"
    ours = row(one.recorded)[1]
    return ours if one.recorded.claim.says is Says.INFORMATION else f"{ours}: {one.recorded.judgement}"
