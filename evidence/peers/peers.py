"""The programs that are run: where they are looked for, how ours are compiled against them, their commands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scenarios import MATRIX, Scenario

HERE = Path(__file__).parent
NS3 = HERE / "ns3/run.sh"
MIDPATH = [sys.executable, str(HERE / "midpath_run.py")]
# What packets cost an optimised ns-3: scenarios with more packets take it longer than a minute.
SMALL = ("permutation-4", "permutation-8")


class MissingError(RuntimeError):
    """What is not found or does not compile, in a line."""


@dataclass(frozen=True)
class Peer:
    """A row of the table.

    `command` has {folder}, {flows}, {k}, {mark}, {limit} and {out}; `only` names the scenarios it runs, all if empty.
    `times`: what of a flow OUT has: `fct` seconds, `delay` and ideal in ns, or a `summary`.
    """

    name: str
    about: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    times: str = "fct"

    def runs(self, scenario: Scenario) -> bool:
        """Whether it runs this scenario."""
        return not self.only or scenario.name in self.only

    def words(self, scenario: Scenario, folder: Path, out: Path) -> list[str]:
        """The command for a scenario."""
        flows = folder / (MATRIX if scenario.phases else "flows.txt")
        told = {
            "flows": flows,
            "folder": folder,
            "k": scenario.k,
            "mark": scenario.mark,
            "limit": scenario.limit,
            "out": out,
        }
        return [word.format(**told) for word in self.command]


def ours(version: str) -> list[Peer]:
    """Midpath's rows."""
    rows = []
    for threads in (1, 2):
        command = (*MIDPATH, "cost", "{folder}/listed.json", str(threads), "{out}")
        name = "Midpath" + (", 2 threads" if threads == 2 else "")
        rows.append(Peer(name, version, command, times="listed"))
    drawn = ("web-search-8",)
    own = (*MIDPATH, "cost", "{folder}/workload.json", "1", "{out}")
    rows.append(Peer("Midpath, its own paths", version, own, only=drawn, times="workload"))
    estimate = (*MIDPATH, "estimate", "{folder}/workload.json", "1", "{out}")
    rows.append(Peer("midpath estimate", version, estimate, only=drawn, times="summary"))
    return rows


def others(build: Path, where: Mapping[str, str]) -> tuple[list[Peer], list[str]]:
    """The peers that are here, and a line for each that is not."""
    found: list[Peer] = []
    skipped: list[str] = []
    for name, look in {"htsim": htsim, "ns-3": ns3, "UNISON": unison, "Parsimon": parsimon}.items():
        try:
            found += look(build, where)
        except MissingError as error:
            skipped.append(f"{name}: {error}")
    return found, skipped


def folder_of(where: Mapping[str, str], variable: str) -> Path:
    """The folder that an environment variable names."""
    named = where.get(variable)
    if not named:
        raise MissingError(f"{variable} names no folder")
    if not Path(named).is_dir():
        raise MissingError(f"{variable}: no folder {named}")
    return Path(named).resolve()


def htsim(build: Path, where: Mapping[str, str]) -> list[Peer]:
    """Our program against htsim's library, compiled as its own Makefile compiles."""
    root = folder_of(where, "HTSIM")
    library = root / "sim/libhtsim.a"
    if not library.is_file():
        raise MissingError("no sim/libhtsim.a: make -C sim libhtsim.a")
    program, source = build / "htsim", HERE / "htsim.cc"
    if not program.exists() or program.stat().st_mtime < max(one.stat().st_mtime for one in (source, library)):
        options = ["-std=c++17", "-O3", "-w", f"-I{root / 'sim'}", f"-I{root / 'sim/datacenter'}"]
        matrix = root / "sim/datacenter/connection_matrix.cpp"
        compiled("g++", *options, str(source), str(matrix), str(library), "-o", str(program))
    command = (str(program), "{k}", "{mark}", "{limit}", "{flows}", "{out}")
    return [Peer("htsim", f"csg-htsim {commit(root)}", command)]


def ns3(build: Path, where: Mapping[str, str]) -> list[Peer]:
    """ns-3 as it is installed or as a wheel."""
    return [_ns3(build, where, "ns-3", "NS3_PREFIX", 0)]


def unison(build: Path, where: Mapping[str, str]) -> list[Peer]:
    """UNISON's tree: with ns-3's own simulator, and with threads."""
    folder_of(where, "UNISON")
    named = {0: "UNISON's tree, ns-3's simulator", 1: "UNISON, 1 thread", 2: "UNISON, 2 threads"}
    return [_ns3(build, where, name, "UNISON", threads) for threads, name in named.items()]


def _ns3(build: Path, where: Mapping[str, str], name: str, variable: str, threads: int) -> Peer:
    environment = {"BUILD": str(build / f"ns3-{variable.lower()}"), "PYTHON": sys.executable}
    about = ""
    if prefix := where.get(variable):
        root = folder_of(where, variable)
        environment["NS3_PREFIX"] = str(root / "build" if (root / "build").is_dir() else prefix)
        about = f" {commit(root)}" if (root / ".git").is_dir() else ""
    version = said(["sh", str(NS3), "version"], environment)
    if not version:
        raise MissingError("not installed: evidence/peers/ns3/run.sh says how")
    said(["sh", str(NS3), "fattree_d", "--help"], environment)
    program = Path(environment["BUILD"]) / version.removeprefix("ns-") / "fattree_d"
    if not program.is_file():
        raise MissingError("evidence/peers/ns3/fattree_d.cc does not compile")
    command = [str(program), "--list={folder}/flows.txt", "--k={k}", "--mark={mark}", "--bytes={limit}"]
    command += ["--out={out}", *([f"--threads={threads}"] if threads else [])]
    return Peer(name, version + about, tuple(command), environment, SMALL)


def parsimon(build: Path, where: Mapping[str, str]) -> list[Peer]:
    """Our program against Parsimon's crates, with minim from beside it."""
    root, minim = folder_of(where, "PARSIMON"), folder_of(where, "MINIM")
    folder = build / "parsimon"
    folder.mkdir(parents=True, exist_ok=True)
    manifest = f"""[package]
name = "parsimon-peer"
version = "0.0.0"
edition = "2021"

[[bin]]
name = "parsimon"
path = "{HERE.resolve() / "parsimon.rs"}"

[dependencies]
anyhow = "1"
rand = "0.8.5"
parsimon-core = {{ path = "{root}/crates/parsimon-core" }}
linksim-impls = {{ path = "{root}/crates/linksim-impls" }}

[patch."https://github.com/netiken/minim.git"]
minim = {{ path = "{minim}" }}

[workspace]
"""
    (folder / "Cargo.toml").write_text(manifest, encoding="utf-8")
    if not (folder / "Cargo.lock").exists():
        shutil.copy(root / "Cargo.lock", folder / "Cargo.lock")
    compiled("cargo", "build", "--release", "--quiet", "--manifest-path", str(folder / "Cargo.toml"))
    program = folder / "target/release/parsimon"
    command = (str(program), "{folder}/links.txt", "{folder}/flows.txt", "{out}")
    about = f"{commit(root)}, minim {commit(minim)}"
    one = {"RAYON_NUM_THREADS": "1"}
    return [Peer("Parsimon", about, command, one, ("web-search-8",), "delay")]


def compiled(*command: str) -> None:
    """Compiles, or says what the compiler said last."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise MissingError(f"no {command[0]}") from None
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        raise MissingError(f"does not compile: {(errors or ['?'])[0][:200]}")


def commit(root: Path) -> str:
    """The checkout's commit, in seven digits."""
    return said(["git", "-C", str(root), "rev-parse", "--short=7", "HEAD"], {}) or "of unknown commit"


def said(command: list[str], environment: Mapping[str, str]) -> str:
    """What a command prints, or nothing."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | dict(environment))
    return done.stdout.strip() if done.returncode == 0 else ""


def last_json(output: str) -> dict[str, float]:
    """The last line of JSON that a program printed."""
    lines = [line for line in output.splitlines() if line.startswith("{")]
    if not lines:
        raise ValueError("no line of JSON")
    found: dict[str, float] = json.loads(lines[-1])
    return found
