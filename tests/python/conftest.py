"""What the tests share: the command in this process and as a process, and made-up results."""

import subprocess
import sysconfig
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from hypothesis import settings

import fixture
from midpath import _midpath
from midpath.cli import main

ROOT = Path(__file__).parents[2]

# The same random cases each time; `make test-random` tries new ones.
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")


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
