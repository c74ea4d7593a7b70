"""The `midpath` command: the table of what each house adds to it. No house imports it.

A command is imported when it is called, so that none waits for another's modules.

Exit codes: 0 done, 1 failed or a claim does not hold, 2 bad input: one message on stderr, nothing written.
"""

from __future__ import annotations

import errno
import importlib
import os
import pkgutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from midpath.commands.encoding import speak_any_encoding
from midpath.errors import ControllerError, OutputError, ScenarioError, UsageError
from midpath.extension import _midpath

COMMANDS = {
    "run": "commands.runs:run",
    "compare": "commands.runs:compare",
    "check": "commands.check:check",
    "estimate": "commands.estimate:estimate",
    "matrix": "commands.matrix:matrix",
    "evaluate": "commands.evaluate:evaluate",
    "report": "commands.runs:report",
    "packet": "commands.trace:packet",
    "why": "commands.trace:why",
    "replay": "commands.trace:replay",
    "perfetto": "commands.trace:perfetto",
    "qlog": "commands.trace:qlog",
    "plot": "commands.plot:plot",
    "cite": "commands.cite:cite",
    "failures": "commands.failures:failures",
    "topo": "commands.inspect:topo",
    "leo": "commands.leo:leo",
    "schemes": "commands.catalogue:schemes",
    "example": "commands.catalogue:example",
    "add": "commands.added:add",
    "remove": "commands.added:remove",
    "bench": "commands.bench:bench",
    "stack-test": "lab.stacktest:stack_test",
    "schema": "commands.inspect:schema",
    "version": "commands.inspect:version",
    "sweep": "commands.sweep:app",
    "paper": "papers.commands:app",
    "new": "commands.new:app",
    "cost": "commands.cost:app",
    "lab": "lab.commands:app",
}
# What is wrong with a command's words: Typer's own since it no longer needs Click.
BAD_WORDS: type[Exception] = getattr(typer, "TyperException", None) or importlib.import_module("click").ClickException
# What the extra `analysis` brings.
ANALYSIS = {"scipy", "pandas", "networkx"}
# 128 + SIGINT, as shells count.
STOPPED = 130


class Commands(Mapping[str, Any]):
    """The commands by name."""

    def __getitem__(self, name: str) -> Any:
        """What a name calls."""
        return _command(name)

    def __iter__(self) -> Iterator[str]:
        """The names, in the order of `midpath --help`."""
        return iter(COMMANDS)

    def __len__(self) -> int:
        """How many there are."""
        return len(COMMANDS)


@cache
def _command(name: str) -> Any:
    found = pkgutil.resolve_name(f"midpath.{COMMANDS[name]}")
    alone = typer.Typer(rich_markup_mode=None)
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name)
    else:
        alone.command(name)(found)
    return typer.main.get_group(alone).commands[name]


class Group(typer.core.TyperGroup):
    """What the command's first word chooses from."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes | {"commands": Commands()})


app = typer.Typer(
    name="midpath",
    cls=Group,
    invoke_without_command=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def root(
    context: typer.Context,
    show_version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    """Run congestion control on any topology: simulate, compare, report."""
    if show_version:
        typer.echo(f"midpath {_midpath.version()}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    speak_any_encoding()
    try:
        code = app(args=list(arguments) if arguments is not None else None, standalone_mode=False)
        sys.stdout.flush()
    except BAD_WORDS as error:
        return _say(getattr(error, "format_message", error.__str__)(), 2)
    except (ScenarioError, ControllerError, OutputError, UsageError) as error:
        return _say(str(error), 2)
    except ModuleNotFoundError as error:
        if error.name is None or (name := error.name.partition(".")[0]) not in ANALYSIS:
            raise
        return _say(f"this needs {name}: pip install 'midpath[analysis]'", 2)
    except (KeyboardInterrupt, typer.Abort):
        return _say("stopped", STOPPED)
    except BrokenPipeError:
        return _read_enough()
    except SystemExit as stop:
        # Typer and Rich end the process with 1 where the pipe is closed.
        if isinstance(stop.__context__, OSError) and stop.__context__.errno == errno.EPIPE:
            return _read_enough()
        raise
    except OSError as error:
        return _say(error.strerror or str(error), 1)
    if code == STOPPED:
        # Typer turns Ctrl-C into this code without a word.
        return _say("stopped", STOPPED)
    return code if isinstance(code, int) else 0


def _read_enough() -> int:
    """Whoever read our output (`| head -1`) has seen enough: nothing failed."""
    # Python writes what is left once more when it ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _say(message: str, code: int) -> int:
    # One message is one line, whatever a library put into it.
    print(f"midpath: {' '.join(message.split())}", file=sys.stderr)
    return code


def run_main() -> None:
    """The console script."""
    sys.exit(main())
