"""What `pip install midpath` brings is enough to run; what needs more says which extra brings it."""

import subprocess
import sys
import tomllib

import pytest

from conftest import ROOT

pytestmark = pytest.mark.nightly("pyproject.toml", "python/midpath/")

RUN = ROOT / "examples" / "dumbbell.toml"
# As where these are not installed.
WITHOUT = """
import sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("scipy", "pandas", "networkx", "matplotlib"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Without())
from midpath.cli import main
sys.exit(main(sys.argv[1:]))
"""


def without_extras(*arguments):
    command = [sys.executable, "-c", WITHOUT, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", RUN, "--set", "stop='0.1 s'"),
        ("topo", RUN),
        ("compare", RUN, "--schemes", "cubic", "--no-ideal", "--set", "stop='0.1 s'"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_enough_without_extras(arguments):
    done = without_extras(*arguments)
    assert done.returncode == 0, done.stderr


def test_what_needs_more_says_so_before_it_runs(tmp_path):
    options = ("--schemes", "cubic", "--seeds", "2", "--set", "stop='0.1 s'", "--out", tmp_path / "out")
    done = without_extras("compare", RUN, *options)
    assert done.returncode == 2
    assert done.stderr.strip() == "midpath: this needs scipy: pip install 'midpath[analysis]'"
    assert not (tmp_path / "out").exists()


def test_a_sweep_needs_no_extras_until_it_is_drawn(tmp_path):
    store = tmp_path / "store"
    done = without_extras(
        "sweep", RUN, "--vary", "queue.limit=20kB,40kB", "--schemes", "cubic", "--set", "stop='0.1 s'", "--out", store
    )
    assert done.returncode == 0, done.stderr
    assert without_extras("sweep", "table", store).returncode == 0


def test_extras_bring_what_the_message_names():
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = {need.partition(">")[0] for need in about["optional-dependencies"]["analysis"]}
    from midpath.cli import ANALYSIS  # noqa: PLC0415

    assert extra == ANALYSIS
