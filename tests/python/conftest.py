"""What the tests share: the command in this process and as a process, and made-up results."""

import subprocess
import sysconfig
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from hypothesis import settings

import fixture
import script
from midpath import _midpath
from midpath.cli import main

ROOT = Path(__file__).parents[2]
# What `make test` has built of the workspace, in one profile.
BUILT = ROOT / "target" / "debug"
# Files of tests that mostly wait for programs and timers.
WAITING = ("test_node_", "test_ndn_", "test_advice", "test_sweep_processes")

# The same random cases each time; `make test-random` tries new ones.
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")


def pytest_addoption(parser):
    parser.addoption(
        "--nightly",
        choices=("all", "changed", "only"),
        default="all",
        help="of tests marked nightly: run all; those that guard what differs from main; all, and no others",
    )


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "nightly(*paths): guards pages, scripts or claims; `make test` runs it if one of these paths changed"
    )


def pytest_collection_modifyitems(config, items):
    """Leaves out what `--nightly` says."""
    # What waits for programs and timers needs no core: begun last it would end alone.
    items.sort(key=lambda item: not item.path.name.startswith(WAITING))
    if (which := config.getoption("nightly")) == "all":
        return
    changed = script.load(ROOT / "scripts/check.py").differing_from_main() if which == "changed" else None
    left_out = [item for item in items if not runs(item, which, changed)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]


def runs(item, which, changed):
    """Whether a test runs, given the paths that differ from main: None where git cannot tell."""
    guarded = [path for mark in item.iter_markers("nightly") for path in mark.args]
    if which == "only":
        return bool(guarded)
    own = str(item.path.relative_to(ROOT))
    return not guarded or changed is None or any(path.startswith((own, *guarded)) for path in changed)


def built(name):
    """A program, an example or a library of the workspace; what needs it is skipped where it is not there."""
    if not (BUILT / name).is_file():
        pytest.skip(f"{name} is not built: cargo build --workspace --lib --bins --examples")
    return BUILT / name


@dataclass
class Answer:
    code: int
    out: str
    err: str


@pytest.fixture
def cli(capsys):
    """Runs the command inside this process."""

    def call(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return call


@pytest.fixture
def process():
    """Runs the installed command as a user does."""
    command = Path(sysconfig.get_path("scripts")) / "midpath"

    def call(*arguments, cwd=None):
        done = subprocess.run(
            [command, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, check=False, timeout=300
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def made_up(monkeypatch):
    """Puts made-up results in the place of the simulator's, and counts the runs."""
    runs = []

    def run(text, base_dir, *, scheme=None, seed=None, rows=None, **more):
        runs.append((scheme, seed))
        return fixture.binding_run(text, base_dir, scheme=scheme, seed=seed, rows=rows)

    monkeypatch.setattr(_midpath, "run", run)
    monkeypatch.setattr(_midpath, "check", lambda *_, **__: None)
    return runs


@pytest.fixture
def without_series(monkeypatch, made_up):
    """The same, from a scenario that records no time series."""
    monkeypatch.setattr(_midpath, "run", partial(fixture.binding_run, series=False))
