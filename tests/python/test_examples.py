"""Everything in examples/ runs; test_added.py and test_stacks.py have its crates."""

import runpy

import pytest

import midpath
from conftest import ROOT

EXAMPLES = ROOT / "examples"
SCENARIOS = sorted(file for place in ("", "controllers", "links") for file in (EXAMPLES / place).glob("*.toml"))
# These take seconds of many runs each.
LONG = {name: pytest.mark.nightly("examples/", "python/midpath/analysis/") for name in ("rpm_gain.py", "rpm_sweep.py")}


def programs():
    files = sorted(EXAMPLES.glob("*.py"))
    return [pytest.param(file, id=file.name, marks=LONG.get(file.name, ())) for file in files]


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: file.name)
def test_scenario_runs(file):
    result = midpath.run(file)
    assert result.run["invariants"]["conserved"] is True
    assert result.summary["flows"] > 0
    assert result.title != "Untitled scenario"


@pytest.mark.parametrize("file", programs())
def test_program_runs(file, tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(EXAMPLES)
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(file), run_name="__main__")
