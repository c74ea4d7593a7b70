"""Checks files without a run: scenarios, what scenarios name (topologies, matrices, flow lists, …), controllers."""

from __future__ import annotations

import inspect
import json
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from midpath.controller import Controller, Named, load, named, told
from midpath.errors import ScenarioError, UsageError
from midpath.extension import _midpath
from midpath.scenario import Scenario

ERROR, WARNING = "error", "warning"


@dataclass(frozen=True)
class Finding:
    """What is wrong with a file (`error`), or what its user should know (`warning`)."""

    severity: str
    file: str
    line: int | None
    key: str
    message: str

    def __str__(self) -> str:
        """`file:line: error: key: message`, as compilers write it, so that editors can jump there."""
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return ": ".join(part for part in (place, self.severity, self.key, self.message) if part)


@dataclass(frozen=True)
class Checked:
    """A file: what it is, how much is in it, what was found."""

    file: str
    kind: str
    findings: tuple[Finding, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether it has no error."""
        return all(found.severity != ERROR for found in self.findings)

    def to_json(self) -> dict[str, Any]:
        """As `midpath check --json` prints it."""
        return {"file": self.file, "kind": self.kind, "ok": self.ok, **self.counts} | {
            "findings": [asdict(found) for found in self.findings]
        }


def check(path: str | Path, controllers: Named = ()) -> Checked:
    """Checks a file: TOML is a scenario, Python has controllers, all else is known by what is in it.

    A scenario may name `controllers`. A file of Python is loaded, which runs it.
    """
    file = Path(path)
    if file.suffix == ".toml":
        return _scenario(file, controllers)
    return _controllers(file) if file.suffix == ".py" else _named_by_scenarios(file)


def load_for(files: Sequence[Path]) -> Named:
    """The controllers of files that have them; files with errors are left out: `check` says what is wrong there."""
    good = [path for path in files if check(path).ok]
    return named([cls for path in good for cls in load(path)])


def _scenario(file: Path, controllers: Named) -> Checked:
    findings: list[Finding] = []
    try:
        given = Scenario.from_toml(file)
        scenario = given.with_(controllers=dict(controllers))
        findings += _of_one(scenario, str(file))
        # The variants of a scenario that has errors have the same.
        if not any(found.severity == ERROR for found in findings):
            for name in scenario.variants:
                findings += _of_one(scenario.with_variant(name), str(file))
    except ScenarioError as error:
        findings.append(Finding(ERROR, str(file), error.line, error.key, error.message))
    in_order = sorted(dict.fromkeys(findings), key=lambda found: found.line or 0)
    return Checked(str(file), "scenario", tuple(in_order))


def _of_one(scenario: Scenario, file: str) -> Iterator[Finding]:
    """Of a scenario, or of one of its variants."""
    found = json.loads(
        _midpath.check_scenario(scenario.effective_text(), scenario.base_dir, controllers=told(scenario.controllers))
    )
    for one in found["errors"]:
        error = scenario.locate(ScenarioError(one["key"], one["line"], one["message"], file))
        yield Finding(ERROR, file, error.line, error.key, error.message)
    for warning in found["warnings"]:
        yield Finding(WARNING, file, None, "", _with_ports(warning))


def _with_ports(warning: dict[str, Any]) -> str:
    ports, count = warning["ports"], warning["count"]
    more = f" and {count - len(ports)} more" if count > len(ports) else ""
    message: str = warning["message"]
    return f"{message} ({', '.join(ports)}{more})" if ports else message


def _named_by_scenarios(file: Path) -> Checked:
    answer = json.loads(_midpath.check_file(file))
    found = answer.get("found", {})
    notes = found.pop("warnings", ())
    findings = [Finding(ERROR, str(file), one["line"], one["key"], one["message"]) for one in answer["errors"]]
    findings += [Finding(WARNING, str(file), None, "", note) for note in notes]
    kind: str = found.pop("kind", "unknown")
    return Checked(str(file), kind, tuple(findings), found)


def _controllers(file: Path) -> Checked:
    def wrong(line: int | None, message: str, key: str = "") -> Checked:
        return Checked(str(file), "controllers", (Finding(ERROR, str(file), line, key, message),))

    try:
        found = load(file)
    except UsageError as error:
        return wrong(_line_of(error.__cause__, file), str(error).removeprefix(f"{file} "))
    findings = [one for cls in found for one in _of_class(cls, str(file))]
    if not findings:
        try:
            named(found)
        except UsageError as error:
            return wrong(None, str(error))
    return Checked(str(file), "controllers", tuple(findings), {"controllers": len(found)})


def _of_class(cls: type[Controller], file: str) -> Iterable[Finding]:
    try:
        # With a name of its own: whether two have one name is asked of all.
        told(named([cls]))
    except UsageError as error:
        yield Finding(ERROR, file, inspect.getsourcelines(cls)[1], "", str(error))


def _line_of(cause: BaseException | None, file: Path) -> int | None:
    """The last line of the file that an exception went through; of a syntax error, its own."""
    if isinstance(cause, SyntaxError):
        return cause.lineno
    steps = traceback.extract_tb(cause.__traceback__) if cause else []
    return next((step.lineno for step in reversed(steps) if Path(step.filename) == file.absolute()), None)
