"""scripts/check.py: what is checked of a change."""

import subprocess
import sys
from pathlib import Path

import pytest

import script
from conftest import ROOT


@pytest.fixture(scope="module")
def check():
    return script.load(ROOT / "scripts/check.py")


def commands(check, *paths):
    changed = check.sort_out([Path(path) for path in paths])
    return [" ".join(step.command) for step in check.rust_steps(changed) + check.python_steps(changed)]


def test_a_room_of_a_scheme_gets_its_unit_tests_and_its_scenarios(check):
    found = commands(check, "crates/schemes/src/rcp/equations.rs", "crates/schemes/src/rcp/port.rs")
    assert found == [
        "cargo fmt --check -p midpath-schemes",
        ".venv/bin/python scripts/circles.py",
        "cargo clippy --quiet -p midpath-schemes --all-targets -- -D warnings",
        "cargo test --quiet -p midpath-schemes --lib -- rcp::",
        "cargo test --quiet -p midpath-sim --test=scenarios -- rcp::",
    ]


def test_rooms_have_scenarios_of_other_names(check):
    (found,) = [line for line in commands(check, "crates/core/src/queue.rs") if "scenarios" in line]
    assert found.endswith("-- closed_forms:: queue_kinds::")


def test_listed_scenarios_and_tests_are_there(check):
    modules = {path.stem for path in (ROOT / "crates/sim/tests/scenarios").glob("*.rs")}
    assert {name for names in check.SCENARIOS.values() for name in names} <= modules
    for room in check.SCENARIOS:
        assert check.rooms_named([room]).rooms, room
    for name in [*check.TESTS.values(), *check.PAGE_TESTS]:
        assert list((ROOT / "tests/python").glob(f"test_{name}*.py")), name


def test_a_crates_face_is_checked_by_all_of_its_unit_tests(check):
    found = commands(check, "crates/core/src/lib.rs", "crates/core/src/units.rs")
    assert "cargo test --quiet -p midpath-core --lib --" in found


def test_changed_tests_run(check):
    found = commands(
        check, "crates/sim/tests/scenarios/rpm.rs", "crates/core/tests/it/timers.rs", "tests/python/test_units.py"
    )
    assert "cargo test --quiet -p midpath-sim --test=scenarios -- rpm::" in found
    assert "cargo test --quiet -p midpath-core --test=it -- timers::" in found
    assert found[-1] == ".venv/bin/pytest --quiet --exitfirst -m not nightly tests/python/test_units.py"


def test_the_binding_and_programs_have_no_unit_tests_of_a_library(check):
    assert not any("--lib" in line for line in commands(check, "crates/python/src/lib.rs"))


def test_python_gets_the_tests_named_after_it(check):
    found = commands(check, "python/midpath/report/figure.py", "python/midpath/units.py")
    assert found[:3] == [
        ".venv/bin/ruff check python/midpath/report/figure.py python/midpath/units.py",
        ".venv/bin/ruff format --check python/midpath/report/figure.py python/midpath/units.py",
        ".venv/bin/mypy",
    ]
    assert {"tests/python/test_report.py", "tests/python/test_report_tracks.py", "tests/python/test_units.py"} <= set(
        found[3].split()
    )


@pytest.mark.parametrize(
    ("path", "test"),
    [
        ("scripts/circles.py", "tests/python/test_circles.py"),
        ("evidence/properties/fcp/edges.py", "tests/python/test_fcp_edges.py"),
        ("scripts/gallery.py", "tests/python/test_pages.py"),
    ],
)
def test_a_script_gets_the_tests_that_load_it(check, path, test):
    assert test in commands(check, path)[-1].split()


def test_pages_get_the_tests_of_pages(check):
    (found,) = commands(check, "docs/decisions.md")
    assert found.split()[6:] == [f"tests/python/test_{name}.py" for name in ("docs", "excerpts", "paper_maps")]


def test_nothing_is_checked_of_data(check):
    assert commands(check, "tests/vectors/rpm/codel-drops.json") == []


def test_a_room_that_is_not_there_is_refused(check):
    with pytest.raises(SystemExit, match="no room is called nowhere"):
        check.rooms_named(["nowhere"])


def test_every_room_has_its_crate(check):
    assert check.rooms_named(["fcp"]).rooms == {"schemes": {"fcp"}}
    # The baseline, the forwarder of a real network, and its consumer in Python.
    assert check.rooms_named(["ndn"]).rooms == {"schemes": {"ndn"}, "midpathd": {"ndn"}, "wheel": {"ndn"}}


def test_the_first_failure_ends_it(check, capsys):
    step = check.Step
    fails = (sys.executable, "-c", "import sys; print('why'); sys.exit(3)")
    steps = [step("one", (sys.executable, "-c", "")), step("two", fails), step("three", (sys.executable, "-c", ""))]
    assert check.run(steps) == 1
    out = capsys.readouterr().out
    assert "one" in out and "two: failed" in out and "why" in out and "three" not in out
    assert check.run(steps[:1]) == 0


def test_changes_and_new_files_are_found(check, tmp_path, monkeypatch):
    def git(*arguments):
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-b", "main")
    for name in ("kept", "changed", "gone"):
        (tmp_path / name).write_text(name)
    git("add", ".")
    git("commit", "-m", "first")
    git("checkout", "-b", "mine")
    (tmp_path / "committed").write_text("new")
    git("add", ".")
    git("commit", "-m", "second")
    (tmp_path / "changed").write_text("otherwise")
    (tmp_path / "gone").unlink()
    (tmp_path / "new").write_text("new")
    monkeypatch.setattr(check, "ROOT", tmp_path)
    assert sorted(map(str, check.differing(check.base_of("main")))) == ["changed", "committed", "new"]
    assert sorted(map(str, check.differing("HEAD"))) == ["changed", "new"]
    assert check.base_of("a-branch-that-is-not-there") is None
    assert sorted(check.differing_from_main()) == ["changed", "committed", "new"]
    git("branch", "-D", "main")
    assert check.differing_from_main() is None
