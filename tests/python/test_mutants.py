"""scripts/mutants.py: what is a mutant, which ones build, and which tests notice them."""

import subprocess

import pytest

import script
from conftest import ROOT

pytestmark = pytest.mark.nightly("scripts/mutants.py", "scripts/mutation/", "scripts/mutants_accepted.toml")

SOURCE = """
/// Adds what is above three.
pub fn above(total: u64, x: u64) -> u64 {
    if x > 3 {
        return total + x;
    }
    total
}

pub const fn fixed() -> u64 { 1 + 1 }

#[cfg(test)]
mod tests {
    #[test]
    fn four_counts_and_two_does_not() {
        assert_eq!((super::above(1, 4), super::above(1, 2)), (5, 1));
    }
}
"""


@pytest.fixture(scope="module")
def mutants():
    return script.load(ROOT / "scripts/mutants.py")


@pytest.fixture(scope="module")
def find(mutants):
    return mutants.trees.mutants_of


def changes(find, code):
    return [mutant.change for mutant in find("x.rs", code, "on").mutants]


def test_a_function_without_a_body_operators_conditions_and_numbers(find):
    assert changes(find, SOURCE) == [
        "{ if x > 3 { return total + x; } total … } → { 0 }",
        "{ if x > 3 { return total + x; } total … } → { 1 }",
        "x > 3 → true",
        "x > 3 → false",
        "x > 3 → x >= 3",
        "3 → 4",
        "total + x → total - x",
    ]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("fn f(&mut self) { self.go(1) }", ["{ self.go(1) … } → { }", "1 → 2"]),
        ("fn f() -> bool { false }\nfn g() -> Option<u8> { None }", ["{ false … } → { true }"]),
        ("fn f() -> &str { go(); x }", ["go(); → (nothing)"]),
        ("fn f() -> &str { a -= b; x }", ["a -= b; → (nothing)", "a -= b → a += b"]),
        ("fn f() -> &str { match a { A => b, B => c } }", ["b → c", "c → b"]),
        ("fn f() -> &str { match a { A if !b => c } }", ["!b → true", "!b → false", "!b → b"]),
        ("fn f() -> &str { a.min(b.0) }", ["a.min(b.0) → a.max(b.0)"]),
        (
            "fn f() -> &str { g(0.5, 0.0, 0x10, 1_000u64) }",
            ["0.5 → 1.0", "0.0 → 1.0", "0x10 → 17", "1_000u64 → 1001u64"],
        ),
        ("fn f() -> &str { while let Some(x) = y { debug_assert!(a < b); } x }", []),
        ("fn f() -> &str { if let Some(x) = y && x < z { x } else { y } }", ["x < z → x <= z"]),
        ("impl Debug for X { fn fmt(&self) { a() } fn default() -> X { b() } }", []),
        ("const A: u64 = 3; static B: [u8; 4] = [1; 4];", []),
    ],
)
def test_what_is_a_mutant(find, code, expected):
    assert changes(find, code) == expected


def test_equal_changes_of_a_function_are_told_apart(find):
    found = find("x.rs", "fn f() -> &str { a(1); b(1); x }", "on").mutants
    assert [m.occurrence for m in found if m.before == "1"] == [0, 1]
    assert len({mutant.key for mutant in found}) == len(found)


def test_without_mutants_a_file_is_as_it_was(mutants, find):
    file = find("x.rs", SOURCE, "on")
    assert mutants.trees.render(file, set(range(len(file.mutants))), 1) == SOURCE


def test_mutants_stand_beside_the_code_as_it_was(mutants, find):
    file = find("x.rs", "fn f() -> &str { a + 1 }", "on")
    assert mutants.trees.render(file, set(), 7) == (
        "fn f() -> &str { (/*+7*/if on(7) { (a) - (1) } else { a + (/*+8*/if on(8) { 2 } else { 1 }/*-8*/) }/*-7*/) }"
    )


@pytest.fixture
def project(tmp_path):
    """A crate called core with one function, its test, and one mutant that the compiler refuses."""
    root = tmp_path / "project"
    crate = root / "crates/core"
    (crate / "src").mkdir(parents=True)
    (root / "Cargo.toml").write_text('[workspace]\nresolver = "3"\nmembers = ["crates/*"]\n')
    (crate / "Cargo.toml").write_text('[package]\nname = "midpath-core"\nversion = "0.1.0"\nedition = "2024"\n')
    no_minus = 'pub fn joined(a: String) -> String { a + "b" }\n'
    (crate / "src/lib.rs").write_text(f"mod sums;\npub use sums::*;\n{no_minus}")
    (crate / "src/sums.rs").write_text(SOURCE)
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    return root


def test_a_project_from_end_to_end(mutants, project, monkeypatch, capsys):
    trees = mutants.trees
    monkeypatch.setattr(trees, "CRATES", ("core",))
    monkeypatch.setattr(trees, "TESTED", ("core",))
    monkeypatch.setattr(mutants, "ROOT", project)
    monkeypatch.setattr(mutants, "PLACE", project / "target/mutants")
    tree, runner = mutants.prepare(trees.in_rooms(["core/src"]))
    found = tree.mutants()
    assert [found[number].change for number in tree.unviable] == ['a + "b" → a - "b"']
    assert [test.name for test in runner.tests] == ["sums::tests::four_counts_and_two_does_not"]

    fates = {number: runner.judge(number, 60.0) for number in found if number not in tree.unviable}
    survived = {found[number].change: fate.reached_by for number, fate in fates.items() if fate.killed_by is None}
    assert survived == {'{ a + "b" … } → { Default::default() }': 0, "x > 3 → x >= 3": 1}
    assert (project / "crates/core/src/sums.rs").read_text() == SOURCE, "only the copy is changed"

    text = "\n".join(mutants.survivors(tree, fates))
    assert "crates/core/src/sums.rs:4 above: 1 of 1 tests that reach it pass\n- x > 3\n+ x >= 3" in text
    assert "no test reaches it" in text
    assert mutants.table(tree, fates, set())[1].split() == ["all", "6", "2", "0", "1", "0"]

    # What was learned of the tests is kept as long as nothing changes.
    capsys.readouterr()
    _, again = mutants.prepare(trees.in_rooms(["core/src"]))
    assert again.tests == runner.tests
    assert "tests looked at" not in capsys.readouterr().err


def test_a_seed_says_which_come_first(mutants, find):
    found = dict(enumerate(find("x.rs", SOURCE, "on").mutants))
    assert mutants.in_order(found, 1) == mutants.in_order(found, 1) != mutants.in_order(found, 2)
    moved = dict(enumerate(find("x.rs", "\n\n" + SOURCE, "on").mutants))
    assert mutants.in_order(moved, 1) == mutants.in_order(found, 1), "lines above change nothing"


def test_short_tests_of_one_program_run_together(mutants):
    make = mutants.notice.Test
    quick = [make(program, name, 0.4, frozenset()) for program, name in ("aw", "bx", "ay", "az", "au", "av")]
    found = [
        [test.name for test in batch] for batch in mutants.notice.batches([*quick, make("a", "long", 9.0, frozenset())])
    ]
    assert found == [["w", "y"], ["x"], ["z", "u"], ["v"], ["long"]]


@pytest.fixture(scope="module")
def ours(mutants):
    return mutants.additions


def test_every_addition_to_a_paper_is_listed(ours):
    schemes = ROOT / "crates/schemes/src"
    files = [path for path in schemes.glob("*/params.rs") if "fn paper()" in path.read_text(encoding="utf-8")]
    assert len(files) == 4
    for path in files:
        listed = [entry.key for entry in ours.additions() if entry.scheme == path.parent.name]
        assert len(listed) == len(set(listed))
        beside = path.with_name("params") / "additions.rs"
        additions = beside.read_text(encoding="utf-8") if beside.exists() else ""
        assert set(listed) == ours.papers_keys(path.read_text(encoding="utf-8"), additions), path.parent.name


def test_additions_are_found_where_the_list_says(mutants, ours):
    listed = ours.additions()
    find = ours.finder(listed, mutants.trees.guard)
    for name in {entry.file for entry in listed}:
        file = find(name, (ROOT / name).read_text(encoding="utf-8"))
        assert len(file.mutants) == sum(entry.file == name for entry in listed)
        assert all(mutant.before != mutant.after for mutant in file.mutants)


def test_tests_that_the_list_names_are_there(ours):
    """So that a test that goes away is missed: `scripts/mutants.py --additions` finds another, or none."""
    for entry in ours.additions():
        if entry.test:
            program, name = entry.test.split(" ")
            function = name.rsplit("::", 1)[-1]
            place = ROOT / "crates" / program.split("/")[0]
            assert any(f"fn {function}(" in path.read_text(encoding="utf-8") for path in place.rglob("*.rs")), entry


def test_a_papers_keys_are_read_with_those_of_tables_within(ours):
    source = """
    fn paper() -> Value {
        json!({
            "cache": "20 s", // §1: "size"
            "without": without::names::<Additions>(),
            "network": { "catch_up": false },
            "floor": 0.0,
        })
    }
"""
    additions = """
    fn default() -> Additions {
        Additions {
            spread: true,
            // As in XCP.
            least: true,
        }
    }
"""
    every = {"cache", "without.spread", "without.least", "network.catch_up", "floor"}
    assert ours.papers_keys(source, additions) == ours.papers_keys(source + additions) == every


def test_found_tests_are_written_into_the_list(ours):
    text = '[[x]]\nfile = "f"\n[x.keys]\na = { off = "0", test = "old" }\n"b.c" = { off = "false" }\n'
    assert ours.record({("x", "b.c"): "core/units t"}, text) == (
        '[[x]]\nfile = "f"\n[x.keys]\na = { off = "0" }\n"b.c" = { off = "false", test = "core/units t" }\n'
    )


def test_the_command_prints_and_writes_its_table(mutants, project, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(mutants.trees, "CRATES", ("core",))
    monkeypatch.setattr(mutants.trees, "TESTED", ("core",))
    monkeypatch.setattr(mutants, "ROOT", project)
    monkeypatch.setattr(mutants, "PLACE", project / "target/mutants")
    monkeypatch.setattr(mutants.os, "nice", lambda by: by)
    out = tmp_path / "mutants.txt"
    monkeypatch.setattr("sys.argv", ["mutants.py", "core/src", "--most", "3", "--seed", "2", "--out", str(out)])
    assert mutants.main() == 0
    printed = capsys.readouterr().out
    assert out.read_text() == printed
    found = dict(
        zip(
            printed.splitlines()[0].replace("not tried", "not_tried").split(),
            printed.splitlines()[1].split(),
            strict=True,
        )
    )
    assert int(found["killed"]) + int(found["survived"]) == 3
    assert (found["unviable"], found["not_tried"]) == ("1", "5")


def test_a_sample_is_kept_and_what_survives_is_tried_again(mutants, project, monkeypatch):
    monkeypatch.setattr(mutants.trees, "CRATES", ("core",))
    monkeypatch.setattr(mutants.trees, "TESTED", ("core",))
    monkeypatch.setattr(mutants, "ROOT", project)
    monkeypatch.setattr(mutants, "PLACE", project / "target/mutants")
    monkeypatch.setattr(mutants, "ROOMS", ["core/src/"])
    monkeypatch.setattr(mutants, "RECORDS", project / "evidence/results.json")
    monkeypatch.setattr(mutants.os, "nice", lambda by: by)
    monkeypatch.setattr(mutants.sample, "ROOMS", [mutants.sample.Room("sums", 99, ("core/src/sums.rs",))])
    monkeypatch.setattr(mutants.sample, "commit", lambda root: "abc")
    monkeypatch.setattr("sys.argv", ["mutants.py", "--sample"])
    assert mutants.main() == 0
    record = mutants.sample.load(mutants.RECORDS)["sums"]
    assert [(s.change, s.tests) for s in record.survivors] == [("x > 3 → x >= 3", "1 of 1 tests")]
    assert record.tried == record.mutants > 1
    page = (project / "evidence/RESULTS.md").read_text()
    assert "## Survive\n\n- `core/src/sums.rs above`: `x > 3 → x >= 3` (1 of 1 tests)" in page

    more = SOURCE.replace("        assert_eq", "        assert_eq!(super::above(1, 3), 1);\n        assert_eq")
    (project / "crates/core/src/sums.rs").write_text(more)
    monkeypatch.setattr("sys.argv", ["mutants.py", "--survivors"])
    assert mutants.main() == 0
    [now] = mutants.sample.load(mutants.RECORDS)["sums"].survivors
    assert now.killed_by == "core/midpath_core sums::tests::four_counts_and_two_does_not"
    assert "## Survive" not in (project / "evidence/RESULTS.md").read_text()


def test_a_file_is_of_one_room_and_all_rooms_have_files(mutants):
    files = [str(path.relative_to(ROOT)) for path in (ROOT / "crates").glob("*/src/**/*.rs")]
    rooms = {mutants.sample.room_of(file) for file in files}
    assert rooms == {None, *(room.name for room in mutants.sample.ROOMS)}
    assert mutants.sample.room_of("crates/schemes/src/tcp/equations.rs") == "equations"
    assert mutants.sample.room_of("crates/schemes/src/tcp/newreno.rs") == "recovery"
