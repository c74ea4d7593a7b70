"""Programs of the user at hosts of the laboratory: what the command line says of them, and what they are given."""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from midpath.errors import UsageError, no_such
from midpath.lab import machine
from midpath.lab.network import address, address6, carries_ipv6
from midpath.lab.plan import Plan
from midpath.units import listed

# How a command is given a host: one that the run waits for, and one that serves the others.
AT, SERVE = "--at", "--serve"
# How often programs' output is looked at, in seconds.
LOOK_S = 0.1
# In a mount namespace of its own; without the right to mount there, names are not known.
NAMES = 'mount --bind "$0" /etc/hosts 2>/dev/null || :; exec "$@"'


@dataclass(frozen=True)
class Program:
    """A command at a host."""

    host: str
    command: tuple[str, ...]
    # It runs until the others have ended.
    serves: bool = False

    @property
    def name(self) -> str:
        """For people."""
        return Path(self.command[0]).name


def split(words: Sequence[str]) -> tuple[list[str], list[Program]]:
    """Parts a command line: what is an option, and programs, each from `--at HOST --` up to the next of these."""
    options: list[str] = []
    found: list[tuple[str, str, list[str]]] = []
    at = 0
    while at < len(words):
        option, equals, host = words[at].partition("=")
        if option in (AT, SERVE):
            host, used = (host, 1) if equals else (words[at + 1] if at + 1 < len(words) else "", 2)
            if words[at + used : at + used + 1] == ["--"]:
                found.append((option, host, []))
                at += used + 1
                continue
        (found[-1][2] if found else options).append(words[at])
        at += 1
    for option, host, command in found:
        if not command:
            raise UsageError(f"{option} {host}: the command is missing; write it behind --")
    return options, [Program(host, tuple(command), option == SERVE) for option, host, command in found]


def check(plan: Plan) -> None:
    """Raises `UsageError` at a program that cannot be: its host, or its command."""
    hosts = [node["name"] for node in plan.nodes if node["kind"] == "host"]
    for program in plan.programs:
        option = SERVE if program.serves else AT
        if program.host not in hosts:
            if program.host in (node["name"] for node in plan.nodes):
                raise UsageError(f"{option} {program.host}: is a router; programs run at {listed(hosts)}")
            raise UsageError(f"{option} {program.host}: {no_such('host', program.host, hosts)}")
        if shutil.which(program.command[0]) is None:
            shell = f"; a shell's line is: sh -c '{program.command[0]}'" if " " in program.command[0] else ""
            raise UsageError(f"{option} {program.host}: there is no program {program.command[0]!r} on the PATH{shell}")
    if plan.programs and all(program.serves for program in plan.programs) and plan.values["stop_s"] is None:
        raise UsageError(f"{SERVE} alone needs a `stop` in the scenario: a server runs until all {AT} have ended")


def names(plan: Plan) -> str:
    """What /etc/hosts says."""
    lines = ["127.0.0.1 localhost", "::1 localhost"]
    for node in plan.hosts:
        name = re.sub(r"[^A-Za-z0-9.-]", "-", plan.name(node))
        lines += [f"{address(node)} {name}"]
        lines += [f"{address6(node)} {name}.ip6"] if carries_ipv6(plan) else []
    return "\n".join(lines) + "\n"


def environment(plan: Plan, program: Program) -> dict[str, str]:
    """A program's environment: ours, and where hosts are."""
    found = {key: value for key, value in os.environ.items() if key != machine.OWN}
    found["MIDPATH_HOST"] = program.host
    for node in plan.hosts:
        name = re.sub(r"\W", "_", plan.name(node), flags=re.ASCII)
        found[f"MIDPATH_ADDRESS_{name}"] = address(node)
        if carries_ipv6(plan):
            found[f"MIDPATH_ADDRESS6_{name}"] = address6(node)
    return found


def outputs(plan: Plan) -> dict[str, Program]:
    """The files of programs' output: `h0.log`, `h0-2.log`."""
    found: dict[str, Program] = {}
    for program in plan.programs:
        name = re.sub(r"[^\w.-]", "-", program.host)
        number = sum(other.host == program.host for other in found.values()) + 1
        found[f"{name}.log" if number == 1 else f"{name}-{number}.log"] = program
    return found


def order(plan: Plan, folder: Path) -> dict[str, Any]:
    """What `midpath-lab run` is told; output goes to this folder."""
    if not plan.programs:
        return {}
    rows = [
        {
            "host": plan.number(program.host),
            "command": list(program.command),
            "environment": environment(plan, program),
            "directory": str(Path.cwd()),
            "output": str(folder / file),
            "serves": program.serves,
        }
        for file, program in outputs(plan).items()
    ]
    return {"programs": rows}


def alone(hosts: Path, *command: str) -> list[str]:
    """A command in namespaces of its own for processes and mounts: what it has started ends with it."""
    words = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child=KILL"]
    return [*words, "--mount-proc", "sh", "-c", NAMES, str(hosts), *command]


@contextmanager
def shown(plan: Plan, folder: Path) -> Iterator[None]:
    """Prints what programs say on standard error while the block runs, each line behind its host."""
    files = [_Tail(folder / file, f"{Path(file).stem}: ") for file in outputs(plan)]
    over = threading.Event()

    def look() -> None:
        while not over.wait(LOOK_S):
            for file in files:
                file.look()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        for file in files:
            file.look(rest=True)


class _Tail:
    """A file that grows."""

    def __init__(self, path: Path, prefix: str) -> None:
        self.path, self.prefix, self.seen, self.left = path, prefix, 0, b""

    def look(self, *, rest: bool = False) -> None:
        """Prints the lines that are new, and with `rest` what has no end of line."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.seen)
                new = file.read()
        except OSError:
            return
        self.seen += len(new)
        *lines, self.left = (self.left + new).split(b"\n")
        if rest and self.left:
            lines, self.left = [*lines, self.left], b""
        for line in lines:
            print(self.prefix + line.decode(errors="replace").rstrip("\r"), file=sys.stderr, flush=True)


def rows(plan: Plan, ran: dict[str, Any]) -> list[dict[str, Any]]:
    """What became of each: as in the order, for `run.json`."""
    return [
        {"host": program.host, "command": list(program.command), "serves": program.serves}
        | {key: row[key] for key in ("started_s", "ended_s", "exit", "signal", "stopped", "error", "tcp")}
        | {"ending": ending(row | {"serves": program.serves})}
        for program, row in zip(plan.programs, ran["programs"], strict=True)
    ]


def ending(row: dict[str, Any]) -> str:
    """How a program has ended, for people."""
    if row["error"] is not None:
        return str(row["error"])
    if row["stopped"]:
        return "until the end" if row["serves"] else "still running at `stop`"
    return f"exit {row['exit']}" if row["exit"] is not None else f"signal {row['signal']}"


def failed(row: dict[str, Any]) -> bool:
    """Whether it did not do what it was to do: end well, or serve until the end."""
    return row["error"] is not None or (not row["serves"] if row["stopped"] else row["exit"] != 0)
