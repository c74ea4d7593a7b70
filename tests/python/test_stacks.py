"""Stacks of others in the simulator, which nobody compiles by default: their tests, and the page about them."""

import subprocess
import sys

import pytest

from conftest import ROOT
from midpath.lab import stacktest
from test_follow import follow

# What a controller is and needs stands in our crates: a change there is a change of what these stacks compile.
CONTROLLERS = ("crates/schemes/src/lib.rs", "crates/schemes/src/transport/cc", "crates/schemes/src/swift/params.rs")
GUARDED = ("stacks/", "crates/stack/", "crates/core/src/packet/", "docs/stacks.md", *CONTROLLERS)
PAGE = ROOT / "docs" / "stacks.md"
# It compiles the simulator for speed.
LIMIT_S = 1200


@pytest.mark.nightly(*GUARDED)
def test_the_stacks_pass_their_tests():
    # Programs that test_lab_exec.py runs are no default members.
    programs = ["-p", "stack-runner", "-p", "stack-download"]
    for command in (["cargo", "test", "--quiet"], ["cargo", "build", "--quiet", *programs]):
        done = subprocess.run(command, cwd=ROOT / "stacks", capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.nightly(*GUARDED, "python/midpath/lab/stacktest.py")
def test_the_suite_judges_what_it_has_run_and_what_was_measured_elsewhere():
    command = [sys.executable, "-m", "midpath", "stack-test", "cubic"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = done.stdout.splitlines()
    assert said[:2] == ["TAP version 13", "1..18"]
    # Our TCPs do not look for a path's MTU (RFC 4821).
    assert [line.split()[5] for line in said if line.startswith("not ok")] == ["mtu-down:"]
    assert done.returncode == 1

    def judge(lines, *options):
        command = [stacktest.runner(), "judge", *options]
        return subprocess.run(command, input=lines, capture_output=True, text=True, check=False)

    good, bad = "Linux-cubic fills 1.9 1400 9 0 9\n", "Linux-cubic fills inf 300 9 0 9\n"
    assert judge(good).returncode == 0
    found = judge(good + bad)
    assert found.returncode == 1
    assert [line.partition(" -")[0] for line in found.stdout.splitlines() if "Linux" in line] == ["ok 1", "not ok 2"]
    assert 'tests="2" failures="1"' in judge(good + bad, "--junit").stdout
    assert judge("Linux-cubic fills\n").returncode == 2


@pytest.mark.nightly(*GUARDED)
def test_the_page_leads_from_an_empty_folder_to_a_result(tmp_path, monkeypatch):
    monkeypatch.setenv("MIDPATH", str(ROOT))
    monkeypatch.setenv("CARGO_TARGET_DIR", str(ROOT / "target" / "stacks-page"))
    _, wrong = follow.follow(PAGE, tmp_path, LIMIT_S)
    assert wrong == [], "\n".join(wrong)
