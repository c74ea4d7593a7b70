"""Errors in user input."""

import difflib
import traceback
from collections.abc import Iterable
from pathlib import Path


class ScenarioError(ValueError):
    """A scenario that cannot be run.

    `key` is the path of the offending key (`topology.links[3].a`), `line` its line in the scenario (`None` where there
    is none), `message` says what is wrong and what would have been accepted, `source` names the file.
    """

    def __init__(self, key: str, line: int | None, message: str, source: str | None = None) -> None:
        super().__init__(key, line, message, source)
        self.key = key
        self.line = line
        self.message = message
        self.source = source

    @property
    def told(self) -> str:
        """`key: message`, where the scenario is known."""
        return ": ".join(part for part in (self.key, self.message) if part)

    def __str__(self) -> str:
        """`file:line: key: message`, as compilers write it, so that editors can jump there."""
        place = self.source or "scenario"
        if self.line is not None:
            place = f"{place}:{self.line}"
        return ": ".join(part for part in (place, self.key, self.message) if part)


class ControllerError(RuntimeError):
    """A controller in Python that failed, and so ended its run.

    `scheme` and `method` say which, `flow` is the flow's number, `now_s` when it was. `__cause__` is the exception.
    """

    def __init__(self, scheme: str, method: str, flow: int, now_s: float, cause: BaseException) -> None:
        super().__init__(scheme, method, flow, now_s, cause)
        self.scheme = scheme
        self.method = method
        self.flow = flow
        self.now_s = now_s
        self.cause = cause

    def __str__(self) -> str:
        """One line: where and when, and the last of what Python's traceback says."""
        where = f"{self.scheme}: {self.method} of flow {self.flow} at {self.now_s:.9g} s"
        steps = traceback.extract_tb(self.cause.__traceback__)
        # The innermost step that is the user's, not the package's.
        inside = str(Path(__file__).parent)
        own = [step for step in steps if not step.filename.startswith(inside)] or list(steps)
        line = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
        return f"{where}: {traceback.format_exception_only(self.cause)[-1].strip()}{line}"


class UsageError(ValueError):
    """A command that does not say what to do."""


class OutputError(OSError):
    """A result that cannot be written or read where the user said."""


class WorkerError(OSError):
    """Workers or jobs that were lost before their runs were done."""


def no_such(what: str, name: str, known: Iterable[str]) -> str:
    """That there is nothing of this name, and which was meant, perhaps; or which there are."""
    names = list(known)
    near = difflib.get_close_matches(name, names, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
    return f"there is no {what} {name!r}; {hint}"
