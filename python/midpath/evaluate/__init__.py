"""The IETF's questions to a new congestion control (RFC 9743), answered by scenarios with bounds.

import midpath.evaluate
found = midpath.evaluate.evaluate(["cubic"], quick=True)
print(found.verdicts("CUBIC"))

facts     what is kept of a run
scenes    what scenarios are made of
items     what an item is, and all bounds
rfc9743, bbr, rfc8867, rfc9331, rfc7928   the items of suites
work      which runs they need; a store that can be resumed
platform  where schemes run that the simulator has not
verdict   from runs to verdicts
found     an evaluation as a whole, and beside another
text, page, picture   what people read
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from midpath import stats
from midpath.controller import Controllers, files_of, named
from midpath.errors import UsageError, no_such
from midpath.evaluate.found import MARKER, Evaluation, told
from midpath.evaluate.items import ME, Subject
from midpath.evaluate.page import html
from midpath.evaluate.platform import Platform
from midpath.evaluate.rfc9743 import ITEMS
from midpath.evaluate.suites import DEFAULT, chosen
from midpath.evaluate.text import report, scenario_file
from midpath.evaluate.verdict import row
from midpath.evaluate.work import perform, scenario
from midpath.provenance import ran_under
from midpath.run.work import ProgressCallback
from midpath.scenario import MOST_SEEDS, Scenario
from midpath.storage import require_replaceable, to_json, write_text

__all__ = ["QUICK_SEEDS", "SEEDS", "Evaluation", "evaluate", "save"]

SEEDS, QUICK_SEEDS = 40, 10
STORE = "runs"
# What makes each, by what stands before the colon of a scheme's name.
Platforms = Mapping[str, Callable[[], Platform]]


def evaluate(
    schemes: Sequence[str],
    *,
    items: Sequence[str] | None = None,
    suite: str = DEFAULT,
    quick: bool = False,
    seeds: int | None = None,
    first_seed: int = 1,
    changes: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    out: str | Path | None = None,
    on_progress: ProgressCallback | None = None,
    controllers: Controllers | None = None,
    platforms: Platforms | None = None,
) -> Evaluation:
    """Evaluates schemes in all items of a suite, or those that are named (`"5.2"` is all of that section).

    Seeds are from `first_seed` on; `quick` has fewer of them. `changes` are values of schemes' parameters by dotted
    key, for the schemes that are evaluated and not for NewReno and CUBIC beside them: `{"schemes.bbr.…": …}`.
    `controllers`, `jobs`, `cluster` and `on_progress` are as in `sweep`. With `out`, runs are kept there, and what it
    has is not run again. `platforms` have schemes called `PLATFORM:SCHEME`, which run there.
    """
    count = seeds or (QUICK_SEEDS if quick else SEEDS)
    if not 1 <= count <= MOST_SEEDS:
        raise UsageError(f"{count:,} seeds: 1 to {MOST_SEEDS:,}")
    stats.require()
    numbers, asked = list(range(first_seed, first_seed + count)), chosen(suite, items)
    own, subjects = named(controllers or {}), _subjects(schemes, changes or {}, platforms or {})
    for one in (one for one in subjects if one.platform is None):
        # A scheme that is none is an error here, and not in each row.
        _simplest().with_(
            scheme=one.entry.scheme, changes=one.entry.changes | dict(one.changes), controllers=dict(own)
        ).check()
    if out is not None:
        _begin(Path(out))
    with nullcontext(out) if out is not None else TemporaryDirectory(prefix="midpath-evaluate-") as folder:
        done = perform(
            asked,
            subjects,
            numbers,
            Path(folder) / STORE,
            own=own,
            jobs=jobs,
            cluster=cluster,
            command="midpath evaluate",
            on_progress=on_progress,
        )
    rows = [row(item, subject, done, numbers) for subject in subjects for item in asked]
    about = {"suite": suite, "quick": quick, "seeds": numbers, "with": files_of(own)}
    return Evaluation(told(rows, about | {"defaults": ran_under().get("defaults", {})}), rows)


def save(found: Evaluation, out: Path, controllers: Controllers | None = None) -> None:
    """Writes the reports, the scenario of each case under each scheme, and evaluation.json."""
    own = named(controllers or {})
    write_text(out / "REPORT.md", "\n".join(report(found)) + "\n")
    write_text(out / "report.html", html(found))
    for one in found.rows:
        for asked in one.item.cases if one.runs is not None else ():
            before = one.runs and one.runs.facts.get((asked.after, ME))
            case = asked.made(before) if before else asked
            if case and not case.by:
                path = out / scenario_file(one.subject.title, one.item.name, case.name)
                write_text(path, scenario(case, one.subject, own).to_toml())
    write_text(out / MARKER, to_json(found.told) + "\n")


def _subjects(names: Sequence[str], changes: Mapping[str, Any], platforms: Platforms) -> list[Subject]:
    """The schemes, each with the changes of its own parameters, and where it runs."""
    found = []
    for name in dict.fromkeys(names):
        place, colon, scheme = name.partition(":")
        if colon and place not in platforms:
            raise UsageError(no_such("platform", place, list(platforms)))
        platform = platforms[place]() if colon else None
        if platform and scheme not in platform.schemes:
            raise UsageError(no_such(f"scheme of {place}", scheme, platform.schemes))
        own = tuple(f"schemes.{one}." for one in Subject(name, platform=platform).entry.column.schemes)
        found.append(Subject(name, {key: value for key, value in changes.items() if key.startswith(own)}, platform))
    for key in changes:
        if not any(key in one.changes for one in found):
            raise UsageError(f"{key} is no parameter of a scheme that is evaluated: schemes.NAME.KEY=VALUE")
    return found


def _simplest() -> Scenario:
    return Scenario.from_dict(dict(next(item for item in ITEMS if item.cases).cases[0].scene))


def _begin(path: Path) -> None:
    """A folder that is free, or an evaluation's."""
    require_replaceable(path, MARKER)
    if not (path / MARKER).is_file():
        # An interrupted one is known by it.
        write_text(path / MARKER, to_json({"kind": "evaluation", "format": 0}) + "\n")
