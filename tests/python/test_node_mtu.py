"""Links of nodes over paths that carry less than Ethernet: real packets. All MTUs: net/node/tests/it/path_mtu.rs."""

import re
import subprocess
import sys

import pytest

import script
from conftest import ROOT

pytestmark = pytest.mark.nightly("net/", "crates/core/")

nodes = script.load(ROOT / "evidence/lab" / "overlay" / "nodes.py")


@pytest.mark.skipif(not nodes.may_have_namespaces(), reason="needs network namespaces and ip")
def test_bulk_comes_through_paths_of_less_than_1500_bytes_and_what_they_carry_is_found_to_the_byte():
    try:
        nodes.daemon()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    check = ROOT / "evidence/lab" / "overlay" / "mtu.py"
    command = ["unshare", "-Urn", sys.executable, str(check), "--quick", "cubic"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3, done.stdout
    for line in lines:
        want, found = re.search(r"-> (\d+):", line)[1], re.findall(r"path_mtu (\d+), too_large (\d+)", line)
        assert found == [(want, "0")] * 2 and "inf" not in line, line
