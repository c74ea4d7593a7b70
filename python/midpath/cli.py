"""The `midpath` command: the table of what each house adds to it. No house imports it.

Exit codes: 0 done, 1 failed or a claim does not hold, 2 bad input: one message on stderr, nothing written.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from midpath.commands import (
    added,
    bench,
    catalogue,
    check,
    cite,
    cost,
    estimate,
    evaluate,
    failures,
    inspect,
    matrix,
    new,
    plot,
    runs,
    sweep,
    trace,
)
from midpath.commands.encoding import speak_any_encoding
from midpath.errors import ControllerError, OutputError, ScenarioError, UsageError
from midpath.extension import _midpath
from midpath.lab import commands as lab
from midpath.lab import evaluated, stacktest
from midpath.papers import commands as papers

# What is wrong with a command's words: Typer's own since it no longer needs Click.
BAD_WORDS: type[Exception] = getattr(typer, "TyperException", None) or importlib.import_module("click").ClickException
# What the extra `analysis` brings.
ANALYSIS = {"scipy", "pandas", "networkx"}
# 128 + SIGINT, as shells count.
STOPPED = 130

app = typer.Typer(
    name="midpath",
    invoke_without_command=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(runs.run)
app.command()(runs.compare)
app.command()(check.check)
app.command()(estimate.estimate)
app.command()(matrix.matrix)
evaluate.PLATFORMS["linux"] = evaluated.linux
app.command()(evaluate.evaluate)
app.command()(runs.report)
app.command()(trace.packet)
app.command()(trace.why)
app.command()(trace.replay)
app.command()(trace.perfetto)
app.command()(trace.qlog)
app.command()(plot.plot)
app.command()(cite.cite)
app.command()(failures.failures)
app.command()(inspect.topo)
app.command()(catalogue.schemes)
app.command()(catalogue.example)
app.command()(added.add)
app.command()(added.remove)
app.command()(bench.bench)
app.command()(stacktest.stack_test)
app.command()(inspect.schema)
app.command()(inspect.version)
app.add_typer(sweep.app, name="sweep")
app.add_typer(papers.app, name="paper")
app.add_typer(new.app, name="new")
app.add_typer(cost.app, name="cost")
app.add_typer(lab.app, name="lab")


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
