"""The list of accepted mutants names code that is there: a function that gets another name is changed in both."""

import script
from conftest import ROOT

mutants = script.load(ROOT / "scripts/mutants.py")


def test_accepted_mutants_are_there_and_have_a_reason():
    for entry in mutants.accepted():
        path = ROOT / entry.file
        assert path.is_file() and len(entry.why) > 20, entry
        known = mutants.trees.mutants_of(entry.file, path.read_text(encoding="utf-8"), "on").mutants
        assert any(entry.covers(mutant) for mutant in known), entry
