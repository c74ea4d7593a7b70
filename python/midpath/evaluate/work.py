"""An evaluation as a plan: which runs it needs, and what the store tells of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from midpath.controller import Named
from midpath.entries import QUEUES
from midpath.evaluate import facts as module
from midpath.evaluate.facts import Facts, facts
from midpath.evaluate.items import ME, REFERENCES, Case, Item, Runs, Subject
from midpath.evaluate.platform import Platform
from midpath.evaluate.scenes import plain_bottleneck
from midpath.run.execute import Where, described, execute
from midpath.run.key import file_digest
from midpath.run.plan import Plan, Point, Wanted, refusals
from midpath.run.task import DONE
from midpath.run.work import ProgressCallback
from midpath.scenario import Scenario

# A run takes a second or so; one that takes this long does not end.
LIMIT_S = 300.0
# Item, case, and who: a subject's label, or a reference's name.
Name = tuple[str, str, str]


class Done:
    """What came of the runs: facts by name and seed, and errors by name."""

    def __init__(self) -> None:
        self.facts: dict[tuple[Name, int], Facts] = {}
        # Of scenarios that cannot be run, and of runs that failed.
        self.refused: dict[Name, str] = {}
        self.failed: dict[Name, str] = {}

    def runs(self, item: Item, subject: Subject, seed: int) -> Runs:
        """All runs of an item."""
        found = {}
        for case in item.cases:
            for who in _who(case):
                own = _label(who, subject)
                if one := self.facts.get(((item.name, case.name, own), seed)):
                    found[case.name, who] = one
        return Runs(found)

    def refused_cases(self, item: Item, subject: Subject) -> dict[str, str]:
        """The cases that a scheme cannot run, with the reason."""
        keys = {case.name: (item.name, case.name, subject.title) for case in item.cases if not case.by}
        return {case: self.refused[key] for case, key in keys.items() if key in self.refused}

    def error(self, item: Item, subject: Subject) -> str:
        """The first error of an item's runs."""
        for case in item.cases:
            for who in _who(case):
                if text := self.failed.get((item.name, case.name, _label(who, subject))):
                    return text if len(item.cases) == 1 else f"{case.name}: {text}"
        return ""


def _label(who: str, subject: Subject) -> str:
    """How a plan calls who runs a case in a subject's item."""
    return subject.title if who == ME else subject.other(who).name


def _who(case: Case) -> Sequence[str]:
    return (case.by,) if case.by else (ME,) if case.mine else (ME, *REFERENCES)


def scenario(case: Case, subject: Subject, own: Named = ()) -> Scenario:
    """What is run of a case."""
    entry, transport = subject.entry, subject.entry.column.transport
    # Named queues of drop-tail become a scheme's own: what drops at its tail is none of its ports.
    scene = plain_bottleneck(case.scene) if case.tail and entry.kind == QUEUES else case.scene
    base = Scenario.from_dict({"title": f"{case.name}: {subject.title}"} | scene)
    name, changes = entry.scheme, dict(entry.changes)
    if case.queue:
        name, changes = f"{entry.name.partition('@')[0]}@{case.queue}", {}
    elif "deploy" in scene:
        # Rows of [[deploy]] say where its network is.
        first, *others = scene["deploy"]
        network = entry.column.network
        changes["deploy"] = [first | ({"scheme": network} if network else {}), *others]
        name = f"{transport}@{entry.column.queue}" if entry.column.queue else transport
    if transport in dict(own):
        changes |= {f"schemes.{transport}.{key}": value for key, value in case.tcp.items()}
    changes |= {f"schemes.{transport}.{key}": value for key, value in case.own.items()} | dict(subject.changes)
    return base.with_(scheme=name, changes=changes, controllers=dict(own))


def perform(
    items: Sequence[Item],
    subjects: Sequence[Subject],
    seeds: Sequence[int],
    out: Path,
    *,
    own: Named,
    jobs: int | None,
    cluster: str | None,
    command: str,
    on_progress: ProgressCallback | None,
) -> Done:
    """Runs what the store at `out` lacks. What cannot be run, crashes or does not end is told, and the rest goes on."""
    done = Done()
    limit_s = max([LIMIT_S, *(one.platform.limit_s for one in subjects if one.platform)])
    where = Where(jobs, cluster, limit_s=limit_s)
    _perform(done, list(_points(items, subjects, seeds, own)), out, where, command, on_progress)
    _perform(done, list(_later(items, subjects, seeds, own, done)), out, where, command, on_progress)
    return done


# A point, its seeds, and where it is run.
Placed = tuple[Point, Sequence[int], Platform | None]


def _perform(
    done: Done, placed: Sequence[Placed], out: Path, where: Where, command: str, on_progress: ProgressCallback | None
) -> None:
    points = [point for point, _, _ in placed]
    simulated = [point for point, _, platform in placed if platform is None]
    errors = dict(zip(map(id, simulated), refusals(simulated, where.width), strict=True))
    for point, _, platform in placed:
        if error := platform.cannot(point.scenario) if platform else errors[id(point)]:
            done.refused[_name(point.values)] = error
    kept = [(point, seeds) for point, seeds, _ in placed if _name(point.values) not in done.refused]
    asked = [point for point, _ in kept]
    if not asked:
        return
    schemes = list(dict.fromkeys(one for point in asked for one in point.schemes or ()))
    plan = Plan(asked, schemes, [list(seeds) for _, seeds in kept])
    about = described(plan, [points[0].scenario], command)
    wanted = {_name(point.values): point.wanted for point in asked if point.wanted}
    for row, record in execute(plan, about, out, where, on_progress=on_progress).records():
        name = _name(row)
        if record["status"] != DONE:
            done.failed.setdefault(name, f"seed {row['seed']}: {record['error']}")
        else:
            done.facts[name, row["seed"]] = Facts(record["measured"][wanted[name].name])


def _points(items: Sequence[Item], subjects: Sequence[Subject], seeds: Sequence[int], own: Named) -> Iterator[Placed]:
    for item in items:
        # What applies to nobody is not run.
        mine = [one for one in subjects if not item.applies(one)]
        for case in (case for case in item.cases if mine and not case.then):
            others = {other.name: other for one in _who(case) if one != ME for other in (m.other(one) for m in mine)}
            for who, one in [*others.items(), *((one.title, one) for one in ([] if case.by else mine))]:
                yield _point(item, case, one, who, own), seeds, one.platform


def _later(
    items: Sequence[Item], subjects: Sequence[Subject], seeds: Sequence[int], own: Named, done: Done
) -> Iterator[Placed]:
    """The cases that depend on what came of another one, a point for each seed."""
    asked = [(i, case, one) for i in items for case in i.cases if case.then for one in subjects if not i.applies(one)]
    for (item, case, one), seed in itertools.product(asked, seeds):
        before = done.facts.get(((item.name, case.after, one.title), seed))
        made = before and case.made(before)
        if made:
            yield _point(item, made, one, one.title, own), [seed], one.platform
        elif before:
            name = item.name, case.name, one.title
            done.failed.setdefault(name, f"seed {seed}: in {case.after} it never comes to what the case waits for")


def _point(item: Item, case: Case, one: Subject, who: str, own: Named) -> Point:
    text, place = scenario(case, one, own), one.platform
    values = {"item": item.name, "case": case.name, "who": who}
    told = (code() if place is None else f"{code()} {place.version}", *case.watched)
    wanted = Wanted(measure=facts, told=told, runner=place.runner if place else None)
    return Point(text, values, [str(text.scheme)], wanted)


@cache
def code() -> str:
    """The digest of what makes facts of a run."""
    return file_digest(Path(str(module.__file__)))[:16]


def _name(values: dict[str, Any]) -> Name:
    return values["item"], values["case"], values["who"]
