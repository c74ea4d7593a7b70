"""`midpath new scheme`: what it writes and refuses, and the example's scheme beside Midpath's own in every command.

Compiling a new crate takes minutes: `checks/empty-folder` does it. Here its Rust sources are those of the example,
which `make test` compiles and tests; the example's extension is built from objects that the simulator's build has left.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib

import pytest

from conftest import ROOT
from midpath import _midpath
from midpath.new import scheme as template
from midpath.new.origin import write_sources

EXAMPLE = ROOT / "examples" / "outside-scheme"
SCENARIO = template.crate("aimd")["scenario.toml"]


def test_the_crate_is_the_example_under_another_name(cli, tmp_path):
    answer = cli("new", "scheme", tmp_path / "slow-down", "--json")
    assert (answer.code, answer.err) == (0, "")
    assert json.loads(answer.out) == {"scheme": "slow-down", "directory": str(tmp_path / "slow-down")}
    back = {"slow-down": "aimd", "slow_down": "outside_scheme", "SlowDown": "Aimd"}
    for path in [*EXAMPLE.glob("src/*.rs"), *EXAMPLE.glob("tests/*.rs")]:
        written = (tmp_path / "slow-down" / path.relative_to(EXAMPLE)).read_text()
        assert "aimd" not in written.lower() and "outside" not in written, path
        named = re.sub("|".join(back), lambda found: back[found[0]], written)
        assert named == path.read_text().replace("outside-scheme", "aimd"), path


@pytest.mark.parametrize("kind", ["dependencies", "dev-dependencies", "features"])
def test_the_crate_depends_on_all_that_the_example_does(kind):
    theirs = tomllib.loads((EXAMPLE / "Cargo.toml").read_text(encoding="utf-8"))
    ours = tomllib.loads(template.crate("mine")["Cargo.toml"])
    assert theirs[kind].keys() <= ours[kind].keys()


def test_every_file_of_the_crate_is_whole(tmp_path, cli):
    cli("new", "scheme", tmp_path / "mine")
    texts = {path: path.read_text() for path in (tmp_path / "mine").rglob("*") if path.is_file()}
    assert {"Makefile", "README.md", ".gitignore", "pyproject.toml", "scenario.toml"} <= {path.name for path in texts}
    for path, text in texts.items():
        assert path.name == "Cargo.lock" or not template.TOKENS.search(text), path
        if path.suffix == ".toml":
            tomllib.loads(text)
    assert f"midpath=={_midpath.version()}" in texts[tmp_path / "mine" / "pyproject.toml"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Mine", "'Mine' is no name for a scheme"),
        ("2fast", "'2fast' is no name for a scheme"),
        ("a--b", "'a--b' is no name for a scheme"),
        ("../x", "'../x' is no name for a scheme"),
        ("x" * 41, "is no name for a scheme"),
        ("cubic", "there is a scheme `cubic` already"),
        ("ideal", "there is a scheme `ideal` already"),
        ("match", "`match` is a word of Rust's, Cargo's or Python's own"),
        ("lambda", "`lambda` is a word of Rust's, Cargo's or Python's own"),
        ("json", "there is a Python module `json` already"),
        ("numpy", "there is a Python module `numpy` already"),
        ("sender", "`sender` is taken by something else"),
        ("serde", "`serde` is taken by something else"),
    ],
)
def test_bad_names_are_refused_and_nothing_is_written(cli, tmp_path, name, says):
    answer = cli("new", "scheme", tmp_path / "crate", "--name", name)
    assert answer.code == 2
    assert says in answer.err and "--name" in answer.err
    assert not (tmp_path / "crate").exists()


def test_a_folder_in_use_is_left_alone(cli, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("mine")
    answer = cli("new", "scheme", tmp_path / "mine")
    assert answer.code == 2
    assert "is not empty" in answer.err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes"]
    answer = cli("new", "scheme", tmp_path / "mine" / "notes")
    assert answer.code == 2
    assert "is a file" in answer.err


def test_cargo_finds_all_that_the_crate_needs(cli, tmp_path):
    crate = tmp_path / "mine"
    cli("new", "scheme", crate)
    assert write_sources(crate / ".midpath") is True
    assert write_sources(crate / ".midpath") is False
    command = ["cargo", "metadata", "--format-version=1", "--offline", "--features", "python"]
    done = subprocess.run(command, cwd=crate, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = {package["name"]: package for package in json.loads(done.stdout)["packages"]}
    assert found["mine"]["dependencies"]
    assert found["midpath-sim"]["manifest_path"] == str((crate / ".midpath/crates/sim/Cargo.toml").resolve())


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    """A command in which the example's package is installed, and a folder to run it in."""
    folder = tmp_path_factory.mktemp("outside")
    subprocess.run(
        ["cargo", "build", "--quiet", "--release", "-p", "outside-scheme", "--features", "python"],
        cwd=ROOT,
        check=True,
        env=os.environ | {"PYO3_BUILD_EXTENSION_MODULE": "1"},
    )
    packages = folder / "packages"
    info = packages / "outside_scheme-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outside-scheme\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[midpath.simulator]\noutside-scheme = outside_scheme:_midpath\n")
    shutil.copyfile(ROOT / "target/release/liboutside_scheme.so", packages / "outside_scheme.abi3.so")
    (folder / "scenario.toml").write_text(SCENARIO)
    path = os.pathsep.join([str(packages), str(ROOT / "python")])

    def run(*arguments):
        command = [sys.executable, "-m", "midpath", *arguments]
        return subprocess.run(
            command, cwd=folder, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False
        )

    return run, folder


def test_the_scheme_is_in_run_compare_and_report(outside):
    midpath, folder = outside
    done = midpath("run", "scenario.toml", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["summary"]["completed"] == 5
    # Its runs are in processes of their own, as with any scheme.
    done = midpath("compare", "scenario.toml", "--schemes", "newreno,aimd", "--seeds", "2", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "aimd" in done.stdout
    done = midpath("report", "out")
    assert done.returncode == 0, done.stderr
    assert "aimd" in (folder / "out" / "report.html").read_text(encoding="utf-8")


def test_the_crates_own_tests_pass(outside):
    _, folder = outside
    (folder / "tests").mkdir(exist_ok=True)
    (folder / "tests" / "test_scheme.py").write_text(template.crate("aimd")["tests/test_scheme.py"])
    path = os.pathsep.join([str(folder / "packages"), str(ROOT / "python")])
    command = [sys.executable, "-m", "pytest", "-q", "tests/test_scheme.py", "-c", os.devnull, "--rootdir", "."]
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_scheme_is_in_sweeps_and_in_the_schema(outside):
    midpath, folder = outside
    vary = "schemes.aimd.target=2ms,20ms"
    done = midpath("sweep", "scenario.toml", "--vary", vary, "--schemes", "aimd", "--out", "sweep", "--json")
    assert done.returncode == 0, done.stderr
    assert (folder / "sweep").is_dir()
    schema = json.loads(midpath("schema").stdout)
    assert "decrease" in schema["properties"]["schemes"]["properties"]["aimd"]["properties"]
    done = midpath("run", "scenario.toml", "--set", "schemes.aimd.decrease=2")
    assert done.returncode == 2
    assert "between 0 and 1" in done.stderr


def test_two_packages_with_simulators_are_refused(outside, tmp_path):
    _, folder = outside
    info = tmp_path / "other-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[midpath.simulator]\nother = other:_midpath\n")
    path = os.pathsep.join([str(folder / "packages"), str(tmp_path), str(ROOT / "python")])
    command = [sys.executable, "-c", "import midpath"]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert "other and outside-scheme each bring a simulator of their own" in done.stderr
