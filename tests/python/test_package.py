"""The daemon as it is given to others: small, and a package that is installed, run, upgraded and removed."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from conftest import ROOT
from script import load

deb = load(ROOT / "scripts" / "deb.py")
symbols = load(ROOT / "scripts" / "symbols.py")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="midpathd works on Linux only")
# Issue 58: what was 93 MB.
MOST = 12_000_000


def program():
    """The daemon, where somebody has built it last."""
    places = [Path(sysconfig.get_path("scripts")), *(ROOT / "target" / kind for kind in ("dist", "release", "debug"))]
    found = [place / "midpathd" for place in places if (place / "midpathd").is_file()]
    if not found:
        pytest.skip("midpathd is not built: make setup, or cargo build -p midpathd")
    return max(found, key=lambda file: file.stat().st_mtime)


def given():
    """What `make setup` and `make dist` have left here."""
    installed = Path(sysconfig.get_path("scripts")) / "midpathd"
    return [path for path in (installed, *(ROOT / "dist").glob("midpathd[-_]*")) if path.is_file()]


@pytest.mark.parametrize("file", given(), ids=lambda path: path.name)
def test_what_is_given_to_others_is_small(file):
    if file.suffix == ".debug":
        pytest.skip("symbols are beside it")
    size = file.stat().st_size
    assert size < MOST, f"{size} bytes"
    assert file.suffix == ".deb" or file.with_name(f"{file.name}.debug").is_file()


def test_symbols_are_beside_the_program(tmp_path):
    if shutil.which("objcopy") is None or shutil.which("cc") is None:
        pytest.skip("needs objcopy and cc")
    source, built, copy = (tmp_path / name for name in ("a.c", "a", "copy"))
    source.write_text(
        '#include <stdio.h>\nint named(void) { return puts("runs"); }\nint main(void) { return named() < 0; }\n'
    )
    subprocess.run(["cc", "-g", "-o", built, source], check=True)
    beside = symbols.split(built, copy)
    assert beside == tmp_path / "copy.debug"
    assert b"named" in beside.read_bytes() and b"named" not in copy.read_bytes()
    assert copy.stat().st_mode & 0o111 and copy.stat().st_size < built.stat().st_size
    assert subprocess.run([copy], capture_output=True, check=True).stdout == b"runs\n"
    # Again, while it runs.
    symbols.split(built, copy)


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """Two versions, of one program."""
    if shutil.which("dpkg-deb") is None or shutil.which("objcopy") is None:
        pytest.skip("needs dpkg-deb and objcopy")
    binary, folder = program(), tmp_path_factory.mktemp("packages")
    return [deb.deb(binary, folder, number)[0] for number in ("0.1.0", "0.1.1")]


@pytest.mark.nightly("scripts/deb.py", "scripts/symbols.py", "net/midpathd/dist/")
def test_a_package_is_the_same_wherever_it_is_built(packages, tmp_path):
    again, debug = deb.deb(program(), tmp_path, "0.1.0")
    assert again.read_bytes() == packages[0].read_bytes()
    assert debug.name == "midpathd_0.1.0_amd64.debug"
    about = subprocess.run(["dpkg-deb", "--info", again], capture_output=True, text=True, check=True).stdout
    assert "Depends: libc6 (>= 2." in about
    listed = subprocess.run(["dpkg-deb", "--contents", again], capture_output=True, text=True, check=True).stdout
    assert "./usr/sbin/midpathd\n" in listed and "root/root" in listed
    assert all("/usr/local" not in path.decode() for _, _, path in deb.files(b"") if b"ExecStart" in path)


@pytest.mark.nightly("scripts/deb.py", "scripts/symbols.py", "net/midpathd/dist/")
def test_it_is_installed_run_upgraded_and_removed(packages):
    """On an overlay of this machine in a namespace; without systemd as the first process its units' commands run."""
    needed = ("dpkg", "unshare", "setpriv", "ip", "chroot")
    if os.geteuid() != 0 or any(shutil.which(tool) is None for tool in needed):
        pytest.skip(f"needs root and {', '.join(needed)}")
    live = ROOT / "evidence/lab" / "package" / "live.py"
    alone = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    command = [*alone, sys.executable, live, *packages]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if "mount" in done.stderr.split(":")[0]:
        pytest.skip(f"no overlay can be mounted here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout.splitlines()
    if skipped := [line for line in said if "skipped" in line]:
        print(*skipped, sep="\n")
    wanted = [
        "installed 0.1.0",
        "differs from the package: nothing",
        "nodes: up without root: True",
        "nodes: checked while they run: the running process has this configuration",
        "nodes: reloaded",
        "upgraded to 0.1.1: nodes run on: True",
        "node a: stopped with 0, left []",
        "node b: stopped with 0, left []",
        "ndn: up without root: True",
        "ndn: stopped with 0, left []",
        "removed, left: nothing",
        "kept of the operator's: a.key, a.toml, b.key, b.toml, ndn.toml, net.toml",
    ]
    assert [line for line in wanted if line not in said] == [], done.stdout
    rpm = ["rpm: RPM is on: dev0 at 95 Mbps", "rpm-metrics: serves without root: True", "rpm: RPM is off: dev0"]
    assert skipped or [line for line in rpm if line not in said] == [], done.stdout
