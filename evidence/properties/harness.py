"""One harness for random scenes that are held to bounds fixed before the first run.

A *scene* follows from its family and number alone, and is written as a scenario (`Suite.draw`, `Suite.text`). A *judge*
says what came of its run. A *bound* has a name, a limit, and the side that is better. A suite is these and a page.

Runs go through `midpath.run`: worker processes, and a store that `--keep` names, from which a suite that was killed
goes on. A run is known by its scenario and build, and by the code of the suite's folder and of this file. A scene that
cannot be run or judged is a row that says why, and the others go on.
"""

from __future__ import annotations

import hashlib
import importlib
import itertools
import json
import math
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import scenes

import midpath
from midpath import Result, Scenario, markdown
from midpath.errors import ScenarioError
from midpath.run.drive import drive
from midpath.run.key import file_digest
from midpath.run.plan import Plan, Point, Wanted, own_scheme
from midpath.run.store import Store
from midpath.run.task import FAILED
from midpath.run.work import Work
from midpath.run.workers import Workers

# Scenes for each job whose texts are in memory at a time.
AHEAD = 32
CRASHED = "error"


@dataclass(frozen=True)
class Bound:
    """What a scene is held to. `limit` may follow from the scene and from what came of the base; None: none there."""

    name: str
    limit: float | Callable[[Any, Any], float | None]
    of: str = ""
    """The measure, where it is not called like the bound."""
    at_least: bool = False

    def missed(self, scene: Any, found: Any, base: Any) -> dict[str, float]:
        """What was found, by the bound's name, where it is not kept. NaN keeps no bound."""
        limit = self.limit(scene, base) if callable(self.limit) else self.limit
        value = getattr(found, self.of or self.name)
        kept = limit is None or (value >= limit if self.at_least else value <= limit)
        return {} if kept else {self.name: value}


@dataclass(frozen=True)
class Crash:
    """What came of a run that ended in an error."""

    error: str

    def __str__(self) -> str:
        """The error."""
        return self.error


@dataclass(frozen=True)
class Row:
    """What came of a scene under a scheme and under the base, and which bounds are not kept, with what was found."""

    family: str
    number: int
    scheme: str
    scene: Any
    found: Any
    base: Any
    missed: Mapping[str, float]


Page = Callable[[list[Row], Namespace], Iterator[str]]


@dataclass(frozen=True)
class Suite:
    """What is drawn, run and judged, and the page of it. Texts and judges are told a scheme and what `--set` says."""

    title: str
    draw: Callable[[str, int], Any]
    """Of a family and a number."""
    text: Callable[[Any, str, str], str | None]
    """Of a scene; None: that scheme does not run there."""
    judge: Callable[[Any, Result, str, str], Any]
    """Gives a dataclass of numbers, texts and lists."""
    found: type | Mapping[str, type]
    """This class, or that of each family."""
    page: Page
    bounds: Sequence[Bound] = ()
    missed: Callable[[Any, Any, Any], dict[str, float]] | None = None
    """Of a scene, what came of it and of the base: the bounds that are not kept, where they are no such list."""
    families: Sequence[str] = ("",)
    schemes: Sequence[str] = ("",)
    base: str | None = None
    """A scheme that is always run: limits may follow from it."""
    scenarios: int = 100
    most: Mapping[str, int] = field(default_factory=dict)
    """Of families of which fewer are drawn."""
    params: bool = False
    """Whether `--set` has lines for the scheme's section."""
    before: bool = False
    """Whether `--before` names the runs of another build, beside which these are judged."""
    uses: Sequence[ModuleType] = ()
    """Modules of Midpath that the judge is of: when they change, what is kept is run again."""

    def failures(self, scene: Any, found: Any, base: Any = None) -> dict[str, float]:
        """The bounds that are not kept, with what was found."""
        if isinstance(found, Crash) or isinstance(base, Crash):
            return {CRASHED: 1.0}
        if self.missed is not None:
            return self.missed(scene, found, base)
        return {name: value for bound in self.bounds for name, value in bound.missed(scene, found, base).items()}

    def played(self, family: str, number: int, scheme: str = "", params: str = "") -> Any:
        """What comes of a scene, run in this process."""
        scene = self.draw(family, number)
        text = self.text(scene, scheme, params)
        assert text is not None
        return self.judge(scene, midpath.run(text), scheme, params)


def suite_of(name: str) -> Suite:
    """The suite of a module, such as `mircc.spread`."""
    found: Suite = importlib.import_module(name).SUITE
    return found


def judged(result: Result, name: str, family: str, number: int, scheme: str, params: str, _: str) -> dict[str, Any]:
    """What a suite's judge says of a run, as JSON. Workers call it."""
    suite = suite_of(name)
    try:
        told: dict[str, Any] = _told(asdict(suite.judge(suite.draw(family, number), result, scheme, params)))
        return told
    except Exception as error:
        return asdict(Crash(f"{type(error).__name__}: {error}"))


def _told(value: Any) -> Any:
    """As JSON: numbers that are not finite as texts."""
    if isinstance(value, dict):
        return {key: _told(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_told(one) for one in value]
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value


def _heard(value: Any) -> Any:
    """The same, back from JSON."""
    if isinstance(value, dict):
        return {key: _heard(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_heard(one) for one in value]
    return float(value) if value in ("nan", "inf", "-inf") else value


def _read(suite: Suite, family: str, told: Mapping[str, Any]) -> Any:
    """What a judge said."""
    if told.keys() == {CRASHED}:
        return Crash(told[CRASHED])
    kind = suite.found if isinstance(suite.found, type) else suite.found[family]
    return kind(**_heard(told))


@dataclass(frozen=True)
class _Asked:
    """One run of a scene."""

    family: str
    number: int
    scheme: str
    text: str


class _Runs:
    """Runs of a suite, by worker processes into a store."""

    def __init__(self, name: str, params: str, keep: Path, jobs: int) -> None:
        self.name, self.params, self.store, self.workers = name, params, Store(keep), Workers(jobs)
        own = Path(str(importlib.import_module(name).__file__)).parent
        used = (Path(str(module.__file__)) for module in suite_of(name).uses)
        scripts = [Path(__file__), Path(scenes.__file__), *sorted(own.glob("*.py")), *used]
        self.code = hashlib.sha256("".join(map(file_digest, scripts)).encode()).hexdigest()[:16]

    def of(self, asked: Sequence[_Asked]) -> dict[_Asked, Any]:
        """What came of each."""
        suite, found, points = suite_of(self.name), {}, []
        for one in asked:
            try:
                points.append((one, self._point(one)))
            except ScenarioError as error:
                found[one] = Crash(f"{type(error).__name__}: {error}")
        plan = Plan([point for _, point in points], [], [[point.scenario.base_seed()] for _, point in points])
        work = Work(plan, self.store, kept=False, retry_failed=False, on_progress=None)
        work.open({})
        drive(work.tasks(), self.workers, work.take)
        for (one, point), (_, record) in zip(points, work.records(), strict=True):
            failed = record["status"] == FAILED
            found[one] = Crash(record["error"]) if failed else _read(suite, one.family, record["measured"][point.alone])
        return found

    def _point(self, one: _Asked) -> Point:
        scenario = Scenario(one.text)
        told = (self.name, one.family, one.number, one.scheme, self.params, self.code)
        return Point(scenario, {}, [own_scheme(scenario)], Wanted(measure=judged, told=told))


def kept_before(asked: Namespace) -> dict[tuple[str, int, str], Any]:
    """What `--before` has of the suite, of whichever build and code: by family, number and scheme."""
    suite, found = suite_of(asked.module), {}
    for path in sorted(asked.before.glob("runs/*/*.json")) if asked.before else ():
        for name, told in json.loads(path.read_bytes()).get("measured", {}).items():
            _, family, number, scheme, *_ = json.loads(name[name.index("[") :])
            found[family, number, scheme] = _read(suite, family, told)
    return {key: one for key, one in found.items() if not isinstance(one, Crash)}


def rows(name: str, asked: Namespace) -> Iterator[Row]:
    """What came of every scene: family by family, number by number, scheme by scheme."""
    suite = suite_of(name)
    drawn = (
        (family, number, suite.draw(family, number))
        for family in asked.of
        for number in asked.numbers[: suite.most.get(family)]
    )
    with tempfile.TemporaryDirectory() as folder:
        runs = _Runs(name, asked.set, asked.keep or Path(folder), asked.jobs)
        try:
            while some := list(itertools.islice(drawn, AHEAD * asked.jobs)):
                yield from _rows(suite, some, runs, asked)
        finally:
            runs.workers.close()


def _rows(suite: Suite, drawn: Sequence[tuple[str, int, Any]], runs: _Runs, asked: Namespace) -> Iterator[Row]:
    texts = {
        (family, number, scheme): suite.text(scene, scheme, asked.set)
        for family, number, scene in drawn
        for scheme in asked.schemes
    }
    ran = {key: _Asked(*key, text) for key, text in texts.items() if text is not None}
    found = runs.of(list(ran.values()))
    for family, number, scene in drawn:
        own = {scheme: found[ran[key]] for scheme in asked.schemes if (key := (family, number, scheme)) in ran}
        base = own.get(suite.base)
        for scheme, one in own.items():
            yield row_of(suite, family, number, scheme, one, base, scene)


def row_of(suite: Suite, family: str, number: int, scheme: str, found: Any, base: Any = None, scene: Any = None) -> Row:
    """What came of a scene, judged by the suite's bounds."""
    scene = suite.draw(family, number) if scene is None else scene
    return Row(family, number, scheme, scene, found, base, suite.failures(scene, found, base))


def groups(rows_: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    """Rows by what `key` says of them, in the order in which that comes."""
    found: dict[Any, list[Row]] = {}
    for row in rows_:
        found.setdefault(key(row), []).append(row)
    return found


def ended(rows_: Iterable[Row]) -> list[Any]:
    """What came of the runs that did not crash."""
    return [row.found for row in rows_ if not isinstance(row.found, Crash)]


def kept(rows_: Sequence[Row]) -> str:
    """In how many scenes all bounds are."""
    return f"{sum(not row.missed for row in rows_)} of {len(rows_)}"


def count(rows_: Iterable[Row], bound: str) -> int:
    """In how many scenes it is not kept."""
    return sum(bound in row.missed for row in rows_)


def table(
    rows_: Sequence[Row],
    by: Mapping[str, Callable[[Row], str]],
    counts: Mapping[str, str],
    columns: Mapping[str, Callable[[list[Any]], str]],
) -> Iterator[str]:
    """A line for each group: its names, how many keep all bounds, how many miss each (`counts` has their heads by
    bound), and figures of what came out."""
    yield markdown.head([*by, "all bounds kept", *counts.values(), *columns])
    for names, own in groups(rows_, lambda row: tuple(name(row) for name in by.values())).items():
        cells = [figure(found) if (found := ended(own)) else "–" for figure in columns.values()]
        yield markdown.line([*names, kept(own), *(str(count(own, bound)) for bound in counts), *cells])


def misses(rows_: Iterable[Row], why: Callable[[Row], str] | None = None) -> Iterator[str]:
    """A line for each scene that misses a bound: which ones, what it came to, and what more can be said of it."""
    for row in rows_:
        if row.missed:
            crashed = isinstance(row.found, Crash)
            more = f": {why(row)}" if why and not crashed else ""
            yield f"- {row.number}: {', '.join(row.missed)} ({row.found})" + more


def tallied(
    by: Mapping[str, Callable[[Row], str]],
    columns: Mapping[str, Callable[[list[Any]], str]],
    why: Callable[[Row, str], str] | None = None,
) -> Page:
    """The page of most suites: a table by `by`, and the scenes that miss a bound, apart for each group."""

    def page(rows_: list[Row], asked: Namespace) -> Iterator[str]:
        suite = suite_of(asked.module)
        if suite.params:
            yield f"Parameters: `{asked.set or 'the defaults'}`.\n"
        yield from table(rows_, by, {bound.name: f"{bound.name} missed" for bound in suite.bounds}, columns)
        said = (lambda row: why(row, asked.set)) if why else None
        # By family, then by scheme, as in the table.
        for names, own in groups(rows_, lambda row: ", ".join(name(row) for name in by.values())).items():
            lines = list(misses(own, said))
            yield from ([f"\n{names}:\n", *lines] if names and lines else ["", *lines] if not names else [])

    return page


def worst(rows_: Iterable[Row], bound: str, most: int, least: bool = False) -> str:
    """The scenes that miss a bound by most, with what was found."""
    hits = sorted(((row.missed[bound], row.number) for row in rows_ if bound in row.missed), reverse=not least)
    return ", ".join(f"{number} ({value:.3g})" for value, number in hits[:most])


def crashes(rows_: Iterable[Row]) -> Iterator[str]:
    """A line for each error."""
    yield from sorted({f"- {row.scheme}: `{row.found}`" for row in rows_ if isinstance(row.found, Crash)})
