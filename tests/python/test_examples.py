"""Everything in examples/ runs."""

import runpy

import pytest

import midpath
from conftest import ROOT

EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.toml")), ids=lambda file: file.name)
def test_scenario_runs(file):
    result = midpath.run(file)
    assert result.run["invariants"]["conserved"] is True
    assert result.summary["flows"] > 0
    assert result.title != "Untitled scenario"


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.py")), ids=lambda file: file.name)
def test_program_runs(file, tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(EXAMPLES)
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(file), run_name="__main__")
