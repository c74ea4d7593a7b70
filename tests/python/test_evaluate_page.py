"""What pages say of `midpath evaluate` is what the committed results say."""

import pytest

import script
from conftest import ROOT
from midpath.entries import Entry
from midpath.evaluate.found import load_evaluation
from midpath.evaluate.picture import overview
from midpath.evaluate.rfc9743 import ITEMS
from midpath.evaluate.suites import SUITES
from midpath.evaluate.verdict import FAILED
from midpath.schemes import shipped

pages = script.load(ROOT / "scripts" / "evaluate_page.py")
# A network, an attack.
# An attack, and what is for fabrics.
LEFT_OUT = {"bfc", "eqds", "falcon", "inrpp-attack", "ndp", "uec"}


@pytest.fixture(scope="module")
def found():
    return load_evaluation(pages.FOLDER)


def test_pages_and_picture_are_those_of_the_results(found):
    old = pages.PAGE.read_text(encoding="utf-8")
    assert pages.page(old, found) == old
    assert all(f"<!-- evaluate: {name} -->" in old for name in pages.PARTS)
    for folder in pages.folders():
        own = load_evaluation(folder)
        assert (folder / pages.RESULTS).read_text(encoding="utf-8") == "\n".join(pages.results(own)) + "\n"
    assert {load_evaluation(folder).told["suite"] for folder in pages.folders()} == set(SUITES)
    assert pages.PICTURE.read_text(encoding="utf-8") == overview(found)


def test_the_results_are_of_every_scheme_that_carries_flows_and_every_item(found):
    carrying = {Entry(name).title for name, about in shipped().items() if about.hosts and name not in LEFT_OUT}
    assert carrying <= set(found.told["subjects"])
    assert found.told["items"] == [item.name for item in ITEMS]
    assert {
        scheme for scheme in found.told["subjects"] for item, said in found.verdicts(scheme).items() if said == FAILED
    } <= {"SCReAM"}


def test_bounds_of_the_results_are_those_of_the_items(found):
    bounds = {(item.name, one.label): one.bound for item in ITEMS for one in item.measures}
    told = {(row["item"], one["measure"]): one["bound"] for row in found.told["rows"] for one in row["measures"]}
    assert told.items() <= bounds.items()


def test_newreno_and_cubic_keep_every_bound_that_counts(found):
    for scheme in ("NewReno", "CUBIC"):
        assert not [item for item, verdict in found.verdicts(scheme).items() if verdict == "does not hold"]
