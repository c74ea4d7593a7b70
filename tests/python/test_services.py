"""The units for systemd, read by systemd."""

import shutil
import subprocess

import pytest

from conftest import ROOT

UNITS = sorted((ROOT / "net" / "midpathd" / "dist").glob("*.service"))
INSTALLED = "/usr/local/sbin/midpathd"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_finds_nothing_wrong(unit, tmp_path):
    text = unit.read_text()
    assert INSTALLED in text
    # What it starts need not be installed here, only be there.
    copy = tmp_path / unit.name.replace("@", "@a")
    copy.write_text(text.replace(INSTALLED, "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if unit.name.split("@")[0] in line]
    assert (done.returncode, said) == (0, [])
    broken = text.replace(INSTALLED, "/bin/true").replace("[Service]", "[Service]\nProtectSystem=strictly")
    copy.write_text(broken)
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True, check=False)
    assert "strictly" in done.stderr
