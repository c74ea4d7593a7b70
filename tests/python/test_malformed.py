"""Malformed scenarios of every section end in exit code 2 and one clear error.

`evidence/properties/malformed/run.py` runs each in a process of its own under limits; here they are run in this
process, but for those that once took all memory or never ended.
"""

import os
import subprocess
import sys

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "evidence/properties" / "malformed"))
import cases
import run

pytestmark = pytest.mark.nightly(
    "crates/sim/src/scenario",
    "crates/sim/src/setup",
    "crates/topo/",
    "crates/traffic/",
    "evidence/properties/malformed/",
)

EVERY = cases.every()
# A pipe in the place of a file, and more flows than memory: what hung, and what aborted.
PROCESSES = ["a pipe", "49 million of it"]


@pytest.mark.parametrize("section", dict.fromkeys(case.section for case in EVERY))
def test_one_clear_error(section, cli, tmp_path, monkeypatch):
    wrong = {}
    for i, case in enumerate(case for case in EVERY if case.section == section and case.name not in cases.HEAVY):
        folder = tmp_path / str(i)
        folder.mkdir()
        cases.write(case, folder)
        monkeypatch.chdir(folder)
        answer = cli("run", "s.toml")
        if why := run.fault(case, answer.code, answer.err):
            wrong[case.name] = (why, answer.err)
    assert not wrong


@pytest.mark.parametrize("name", PROCESSES)
def test_what_took_a_process_down(name):
    for case in EVERY:
        if case.name == name:
            assert run.fault(case, *run.run(case)) is None


def test_there_are_enough_and_the_good_one_is_good(cli, tmp_path):
    assert len(EVERY) >= 200
    assert len({case.section for case in EVERY}) >= 10
    file = tmp_path / "s.toml"
    for text in (cases.scenario(), cases.scenario(flow=None, more=cases.workload())):
        file.write_text(text)
        assert cli("run", file).code == 0


@pytest.mark.parametrize("rate", ["100 Tbps", "1 Mbps"])
def test_ctrl_c_is_heard(rate, tmp_path):
    """However much one step of the simulator holds, and however close samples are."""
    more = '[measure]\nseries = true\ninterval = "1 us"' if rate == "1 Mbps" else ""
    flow = f'from = "a"\nto = "b"\nscheme = "udp"\nrate = "{rate}"'
    head = 'title = "long"\nstop = "10000 s"'
    (tmp_path / "s.toml").write_text(cases.scenario(head=head, flow=flow, more=more))
    # A shell's background jobs ignore Ctrl-C, and tests may be one: a session of its own does not.
    command = [sys.executable, "-c", f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {MAIN}"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    child = subprocess.Popen(command, cwd=tmp_path, env=os.environ, start_new_session=True, **pipes)
    try:
        assert child.stdout.readline() == b"imported\n"
        with pytest.raises(subprocess.TimeoutExpired):
            child.communicate(timeout=3)
        child.send_signal(2)
        _, said = child.communicate(timeout=20)
    finally:
        child.kill()
    assert (child.returncode, said) == (130, b"midpath: stopped\n")


MAIN = "import sys; from midpath.cli import main; print('imported', flush=True); sys.exit(main(['run', 's.toml']))"
