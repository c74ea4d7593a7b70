"""RPM on each kind of device: in this kernel, or, what that lacks, in user-mode Linux (`midpath lab kernel`)."""

import os
import subprocess
import sys

import pytest

import script
from conftest import ROOT
from midpath.lab import kernel

CHECK = ROOT / "evidence/lab" / "rpm" / "devices.py"
devices = script.load(CHECK)
nodes = script.load(ROOT / "evidence/lab" / "overlay" / "nodes.py")


def run(*arguments):
    """What the check says of each kind."""
    command = [sys.executable, CHECK, "--midpathd", nodes.daemon(), *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=3000)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert rows, done.stderr
    return {row[0]: row[1:] for row in rows if len(row) == 3}


@pytest.fixture(scope="module")
def found():
    """Verdict and words by kind."""
    if sys.platform != "linux":
        pytest.skip("RPM works on Linux only")
    try:
        nodes.daemon()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    said = {kind.name: ("missing", "needs root") for kind in devices.KINDS}
    if os.geteuid() == 0:
        said |= run()
    lacking = [name for name, (verdict, _) in said.items() if verdict == "missing"]
    if lacking and (why := kernel.missing()) is None:
        said |= run("--guest", *lacking)
    elif lacking:
        said |= {name: ("missing", f"{said[name][1]} ({why})") for name in lacking}
    return said


@pytest.mark.nightly("net/ebpf/", "net/midpathd/src/net/", "net/midpathd/src/rpm/", "evidence/lab/rpm/")
@pytest.mark.parametrize("kind", devices.KINDS, ids=lambda kind: kind.name)
def test_rpm_works_or_says_why_not(found, kind):
    verdict, said = found[kind.name]
    if verdict == "missing":
        pytest.skip(said)
    assert verdict == ("refused" if kind.refused else "works"), said
