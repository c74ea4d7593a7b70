"""Stacks of others in the simulator, which nobody compiles by default: their tests, and the page about them."""

import subprocess

import pytest

from conftest import ROOT
from test_follow import follow

GUARDED = ("stacks/", "crates/stack/", "crates/core/src/packet/", "docs/stacks.md")
PAGE = ROOT / "docs" / "stacks.md"
# It compiles the simulator for speed.
LIMIT_S = 1200


@pytest.mark.nightly(*GUARDED)
def test_the_stacks_pass_their_tests():
    # Programs that test_lab_exec.py runs are no default members.
    for command in (["cargo", "test", "--quiet"], ["cargo", "build", "--quiet", "-p", "stack-download"]):
        done = subprocess.run(command, cwd=ROOT / "stacks", capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.nightly(*GUARDED)
def test_the_page_leads_from_an_empty_folder_to_a_result(tmp_path, monkeypatch):
    monkeypatch.setenv("MIDPATH", str(ROOT))
    monkeypatch.setenv("CARGO_TARGET_DIR", str(ROOT / "target" / "stacks-page"))
    _, wrong = follow.follow(PAGE, tmp_path, LIMIT_S)
    assert wrong == [], "\n".join(wrong)
