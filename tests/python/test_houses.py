"""scripts/houses.py: which dependencies lead out of the first house."""

import re
import subprocess

import pytest

import script
from conftest import ROOT


@pytest.fixture(scope="module")
def houses():
    return script.load(ROOT / "scripts" / "houses.py")


def package(folder, *needs):
    name = folder.rpartition("/")[2]
    return {"name": name, "manifest_path": f"/m/{folder}/Cargo.toml", "dependencies": [{"name": one} for one in needs]}


def test_a_dependency_into_another_house_is_found(houses):
    whole = [package("crates/core"), package("net/p4", "core"), package("examples/outside-x", "core", "serde")]
    assert list(houses.wrong(whole)) == []
    assert list(houses.wrong([*whole, package("crates/schemes", "core", "p4")])) == [
        "schemes depends on p4, which is of another house"
    ]
    assert len(list(houses.wrong([*whole, package("elsewhere/new")]))) == 1


def test_make_runs_every_program_of_rust_tests(houses):
    done = subprocess.run(["make", "--dry-run", "test-rust"], cwd=ROOT, capture_output=True, text=True, check=True)
    run = re.findall(r"--test[ =](\S+?);?(?=\s|$)", done.stdout)
    targets = [target for package in houses.members() for target in package["targets"] if target["kind"] == ["test"]]
    assert sorted(run) == sorted({target["name"] for target in targets})
