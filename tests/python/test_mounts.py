"""`--out` on a real mount point: a directory that nobody can rename or remove."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.nightly("python/midpath/")

ROOT = Path(__file__).parents[2]
MIDPATH = [sys.executable, "-m", "midpath"]


def on_a_mount(folder, *commands):
    """Runs commands in a namespace in which a file system lies at `folder`, and lists what is in it then."""
    place = shlex.quote(str(folder))
    lines = [f"mount -t tmpfs none {place}", *(f"{shlex.join(command)} >&2" for command in commands), f"ls -A {place}"]
    script = "\n".join(lines)
    return subprocess.run(["unshare", "--mount", "sh", "-ec", script], capture_output=True, text=True, check=False)


def may_mount(folder):
    return shutil.which("unshare") is not None and on_a_mount(folder).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "again", "kept"),
    [
        (["run"], ["--seed", "2"], "run.json"),
        (["compare", "--schemes", "newreno,cubic", "--seeds", "1"], ["--seeds", "2"], "compare.json"),
        (["sweep", "--schemes", "newreno", "--seeds", "1"], ["--seeds", "2"], "plan.parquet"),
    ],
    ids=["run", "compare", "sweep"],
)
def test_a_second_result_goes_where_the_first_is(tmp_path, arguments, again, kept):
    out = tmp_path / "out"
    out.mkdir()
    if not may_mount(out):
        pytest.skip("mounting needs root and unshare")
    verb, *rest = arguments
    command = [*MIDPATH, verb, str(ROOT / "examples/dumbbell.toml"), *rest, "--out", str(out)]
    report = [*MIDPATH, "report", str(out)]
    done = on_a_mount(out, command, [*command, *again], report)
    assert done.returncode == 0, done.stderr
    found = done.stdout.split()
    assert kept in found
    assert "report.html" in found
    # Nothing half-written is left (a sweep keeps its lock), and the namespace has gone with all of it.
    assert not [name for name in found if name.startswith(".") and name != ".lock"]
    assert list(out.iterdir()) == []
