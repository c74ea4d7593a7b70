"""Schemes from outside: two crates in one simulator, in every command; what `midpath add` writes and refuses.

Compiling a new crate takes minutes: `evidence/lab/empty-folder` does it. Here `examples/outside-both` is what
`midpath add` writes for the two examples, and is built with the workspace.
"""

import json
import os
import shutil
import subprocess
import sys
import tomllib

import pytest

from conftest import ROOT, built
from midpath import _midpath
from midpath.added import choose
from midpath.added.crates import Crate, together, workspace
from midpath.errors import UsageError
from midpath.new import scheme as template

pytestmark = pytest.mark.nightly("python/midpath/added/", "python/wheel/", "examples/outside-")

EXAMPLES = ROOT / "examples"
SCENARIO = template.crate("aimd")["scenario.toml"]
# Aimd's ports at one router, BLUE's at the next, flows of aimd and of NewReno.
BOTH = """
stop = "5 s"
[topology]
links = [
  { a = "s", b = "r0", rate = "100 Mbps", delay = "1 ms" },
  { a = "r0", b = "r1", rate = "10 Mbps", delay = "5 ms" },
  { a = "r1", b = "d", rate = "5 Mbps", delay = "1 ms" },
]
[[deploy]]
scheme = "aimd"
nodes = ["s", "r0"]
[[deploy]]
scheme = "blue"
nodes = ["r1"]
[[flow]]
from = "s"
to = "d"
scheme = "aimd"
[[flow]]
from = "s"
to = "d"
scheme = "newreno"
size = "200 kB"
"""


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    """A command with the two examples' schemes in its simulator, and a folder to run it in."""
    folder = tmp_path_factory.mktemp("outside")
    added = folder / "added"
    added.mkdir()
    shutil.copyfile(built("libmidpath_added.so"), added / "midpath_added.abi3.so")
    crates = {name: str(EXAMPLES / name) for name in ("outside-aqm", "outside-scheme")}
    (added / "added.json").write_text(json.dumps({"crates": crates, "midpath": choose.build()}))
    (folder / "scenario.toml").write_text(SCENARIO)
    (folder / "both.toml").write_text(BOTH)

    def run(*arguments):
        command = [sys.executable, "-m", *arguments]
        environment = os.environ | {choose.VARIABLE: str(added)}
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    return run, folder


def test_the_scheme_is_in_run_compare_and_report(outside):
    python, folder = outside
    done = python("midpath", "run", "scenario.toml", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["summary"]["completed"] == 5
    # Its runs are in processes of their own, as with any scheme.
    done = python("midpath", "compare", "scenario.toml", "--schemes", "newreno,aimd", "--seeds", "2", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "aimd" in done.stdout
    done = python("midpath", "report", "out")
    assert done.returncode == 0, done.stderr
    assert "aimd" in (folder / "out" / "report.html").read_text(encoding="utf-8")


def test_crates_can_be_added_again_where_some_are_running(outside):
    python, _ = outside
    # What `midpath add` asks first, while the simulator that runs is no module of the package.
    done = python("timeit", "-n1", "-r1", "import midpath; from midpath.added import choose; assert choose.build()")
    assert done.returncode == 0, done.stderr


def test_schemes_of_two_crates_are_in_one_scenario(outside):
    python, _ = outside
    done = python("midpath", "run", "both.toml", "--json")
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)
    assert run["invariants"]["conserved"]
    assert {"aimd", "blue", "newreno"} <= run["schemes"].keys()
    assert run["summary"]["completed"] == 1


def test_the_crates_own_tests_pass(outside):
    python, folder = outside
    (folder / "tests").mkdir(exist_ok=True)
    (folder / "tests" / "test_scheme.py").write_text(template.crate("aimd")["tests/test_scheme.py"])
    done = python("pytest", "-q", "tests/test_scheme.py", "-c", os.devnull, "--rootdir", ".")
    assert done.returncode == 0, done.stdout


def test_an_aqms_own_tests_pass(outside):
    python, folder = outside
    for path in ("scenario.toml", "tests/test_scheme.py"):
        (folder / "aqm" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "aqm" / path).write_text(template.crate("blue", kind="aqm")[path])
    done = python("pytest", "-q", "aqm/tests/test_scheme.py", "-c", os.devnull, "--rootdir", ".")
    assert done.returncode == 0, done.stdout


def test_the_scheme_is_in_sweeps_and_in_the_schema(outside):
    python, folder = outside
    vary = "schemes.aimd.target=2ms,20ms"
    done = python("midpath", "sweep", "scenario.toml", "--vary", vary, "--schemes", "aimd", "--out", "sweep", "--json")
    assert done.returncode == 0, done.stderr
    assert (folder / "sweep").is_dir()
    schema = json.loads(python("midpath", "schema").stdout)
    assert "decrease" in schema["properties"]["schemes"]["properties"]["aimd"]["properties"]
    done = python("midpath", "run", "scenario.toml", "--set", "schemes.aimd.decrease=2")
    assert done.returncode == 2
    assert "between 0 and 1" in done.stderr


# What `added.json` holds, and what is said of it. No extension is there.
BROKEN = {
    "of an earlier build": (
        json.dumps({"crates": {"mine": "/mine"}, "midpath": [1, 2]}),
        "the simulator with mine is from another build of Midpath: `midpath add` rebuilds it",
    ),
    "without its extension": (
        json.dumps({"crates": {"mine": "/mine"}, "midpath": choose.build()}),
        "cannot load the simulator with mine (",
    ),
    "no JSON": ("{", ": add your crates again, with"),
    "of a later version": (json.dumps({"boxes": {}}), ": add your crates again, with"),
}


@pytest.mark.parametrize("record", BROKEN)
def test_midpaths_own_simulator_runs_where_the_other_cannot_and_says_so(tmp_path, record):
    added = tmp_path / "added"
    added.mkdir()
    text, says = BROKEN[record]
    (added / "added.json").write_text(text)
    command = [sys.executable, "-m", "midpath", "version"]
    environment = os.environ | {choose.VARIABLE: str(added)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"midpath {_midpath.version()}\n")
    assert says in done.stderr and done.stderr.count("\n") == 1


def test_what_is_written_for_two_crates_is_the_example():
    written = together(["outside-scheme", "outside-aqm"])
    assert written == (EXAMPLES / "outside-both" / "src" / "lib.rs").read_text(encoding="utf-8")


def test_cargo_finds_all_that_two_crates_need(cli, tmp_path):
    for name in ("mine", "yours"):
        assert cli("new", "scheme", tmp_path / name).code == 0
    sources = tmp_path / "sources"
    crates = [Crate.read(tmp_path / name) for name in ("mine", "yours")]
    for path, text in workspace(crates, sources).items():
        (sources / path).parent.mkdir(parents=True, exist_ok=True)
        (sources / path).write_text(text, encoding="utf-8")
    command = ["cargo", "metadata", "--format-version=1", "--offline"]
    done = subprocess.run(command, cwd=sources, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["packages"]
    # One copy of each of Midpath's crates, or the two schemes would not fit together.
    names = [package["name"] for package in found]
    assert [names.count(name) for name in ("mine", "yours", "midpath-core", "midpath-schemes")] == [1, 1, 1, 1]
    paths = {package["name"]: package["targets"][0]["src_path"] for package in found}
    assert paths["mine"] == str(tmp_path / "mine" / "src" / "lib.rs")


@pytest.mark.parametrize(
    ("manifest", "says"),
    [
        (None, "has no Cargo.toml"),
        ("package", "Cargo.toml: "),
        ("[package]\nversion = '1.0.0'\n", "has no package name"),
        ("[package]\nname = 'old'\n", "old keeps to no contract of Midpath's, and this Midpath to contract"),
        (
            "[package]\nname = 'new'\n[package.metadata.midpath]\ncontract = 99\n",
            "new keeps to contract 99, and this Midpath to contract 1: see docs/add-a-scheme.md",
        ),
    ],
)
def test_a_crate_that_does_not_fit_gets_one_sentence(cli, tmp_path, monkeypatch, manifest, says):
    monkeypatch.setenv(choose.VARIABLE, str(tmp_path / "added"))
    if manifest is not None:
        (tmp_path / "Cargo.toml").write_text(manifest)
    answer = cli("add", tmp_path)
    assert answer.code == 2
    assert says in answer.err and answer.err.count("\n") == 1
    assert not (tmp_path / "added").exists()


def test_nothing_is_added_or_removed_where_nothing_was(cli, tmp_path, monkeypatch):
    monkeypatch.setenv(choose.VARIABLE, str(tmp_path / "added"))
    assert "nothing added yet" in cli("add").err
    assert "mine was not added; nothing was" in cli("remove", "mine").err


def test_the_page_states_the_contract():
    page = (ROOT / "docs" / "add-a-scheme.md").read_text(encoding="utf-8")
    assert f"contract = {_midpath.contract()}\n" in page


def test_dependencies_keep_their_meaning_beside_midpath(tmp_path):
    manifest = tomllib.loads(
        template.crate("mine")["Cargo.toml"]
        + "\n[dependencies.near]\npath = '../near'\n[dependencies.rand]\nversion='1'\n"
    )
    beside = Crate("mine", tmp_path / "mine", manifest).beside_midpath(tmp_path / "sources")
    needs = beside["dependencies"]
    assert needs["midpath-core"] == {"path": str(tmp_path / "sources/crates/core")}
    assert needs["midpath-schemes"]["features"] == ["schema"]
    assert needs["near"] == {"path": str(tmp_path / "near")}
    assert needs["rand"] == {"version": "1"}


def test_a_crate_of_the_same_name_elsewhere_is_refused(tmp_path, monkeypatch):
    from midpath.added.build import add  # noqa: PLC0415 - with the folder of this test

    monkeypatch.setenv(choose.VARIABLE, str(tmp_path / "added"))
    (tmp_path / "added").mkdir()
    choose.InstalledCrates({"mine": "/elsewhere/mine"}, [0, 0]).write()
    (tmp_path / "Cargo.toml").write_text("[package]\nname = 'mine'\n[package.metadata.midpath]\ncontract = 1\n")
    with pytest.raises(UsageError, match="mine is already added from /elsewhere/mine"):
        add([tmp_path], print)
