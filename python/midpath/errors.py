"""What can go wrong with what a user gave us."""


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

    def __str__(self) -> str:
        """`file:line: key: message`, as compilers write it, so that editors can jump there."""
        place = self.source or "scenario"
        if self.line is not None:
            place = f"{place}:{self.line}"
        return ": ".join(part for part in (place, self.key, self.message) if part)


class UsageError(ValueError):
    """A command that does not say what to do."""


class OutputError(OSError):
    """A result that cannot be written or read where the user said."""


class WorkerError(OSError):
    """Workers or jobs that were lost before their runs were done."""
