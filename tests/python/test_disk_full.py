"""Every file that midpathd writes, on a disk that is full: one line, and nothing half written."""

import asyncio
import shutil
import subprocess
import sys

import pytest

import script
from conftest import ROOT
from test_ndn_consumer import Producer, standing

nodes = script.load(ROOT / "evidence/lab" / "overlay" / "nodes.py")
SPACES = ("unshare", "--user", "--map-root-user", "--mount")
# A file system of a few pages with the test's files, and no room.
DISK = """
set -eu
mkdir disk; mount -t tmpfs -o size=32k tmpfs disk
cp -p files/* disk/ 2> /dev/null || true
head -c 65536 /dev/zero > disk/filler 2> /dev/null || true
before=$(cd disk && ls -l)
code=0; "$@" > out 2> err || code=$?
[ "$before" = "$(cd disk && ls -l)" ] || { echo "before: $before"; echo "after:"; ls -l disk; }
echo "code $code"
"""


def may_mount():
    """Whether this user has namespaces with mounts of his own."""
    try:
        done = subprocess.run([*SPACES, "mount", "-t", "tmpfs", "x", "/mnt"], check=False, capture_output=True)
    except FileNotFoundError:
        return False
    return done.returncode == 0


pytestmark = pytest.mark.skipif(sys.platform != "linux" or not may_mount(), reason="needs mounts (unshare -Urm)")


@pytest.fixture
def full(tmp_path):
    """Runs a command on a full disk, on which it must fail in one line and change nothing."""
    try:
        program = nodes.daemon()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    (tmp_path / "files").mkdir()

    def run(*arguments):
        command = [*SPACES, "sh", "-c", DISK, "sh", program, *arguments]
        said = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True, timeout=120)
        error = (tmp_path / "err").read_text()
        assert said.stdout == "code 1\n", said.stdout + said.stderr + error
        assert len(error.splitlines()) == 1, error
        assert "No space left on device" in error, error

    return run


def test_a_key(full):
    full("node", "key", "disk/a.key")


@pytest.mark.parametrize("there", [False, True])
def test_an_object(full, tmp_path, there):
    if there:
        (tmp_path / "files" / "file").write_text("what was there before\n")

    async def run():
        async with standing(Producer(bytes(range(256)) * 300), tmp_path) as at:
            await asyncio.to_thread(full, "ndn", "fetch", "/a/file", "--forwarder", at, "--output", "disk/file")

    asyncio.run(run())


def test_the_bound_on_numbers(full, tmp_path):
    # Its nodes are not started.
    overlay = nodes.Overlay("inrpp")
    for name in ("net.toml", "a.toml", "a.key"):
        shutil.copy2(overlay.folder / name, tmp_path / "files" / name)
    overlay.close()
    full("node", "up", "disk/a.toml")
