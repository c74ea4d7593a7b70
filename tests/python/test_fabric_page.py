"""evidence/bench/fabric: schemes and placements on 32 GPUs, its bounds by hand, and the page from what was recorded."""

import json
from collections import Counter

import pytest

import script
from conftest import ROOT

FOLDER = ROOT / "evidence/bench/fabric"


@pytest.fixture(scope="module")
def run():
    return script.load(FOLDER / "run.py")


@pytest.fixture(scope="module")
def cases(run):
    return run.fabric_cases


@pytest.fixture(scope="module")
def page(run):
    return run.fabric_page


@pytest.fixture(scope="module")
def found(cases):
    """A tenth of the runs, of the small fabric."""
    columns = {"uec", "uec, one path", "dctcp, LetFlow", "dctcp, DRILL"}
    some = (case for case in cases.cases(cases.QUICK) if case.column in columns and case.placement != "random")
    return {case.name: case.run() for case in some if case.workload in ("all-reduce", "all-to-all")}


def test_all_end_and_none_before_its_bound(found):
    assert len(found) == 32
    for name, row in found.items():
        assert row["jct_us"] is not None and row["jct_us"] >= row["bound_us"] > 0, (name, row)


def test_the_slow_link_costs_and_is_where_stragglers_are(cases, page, found):
    for column in ("uec", "dctcp, DRILL"):
        slow, whole = (page.pick(found, "all-to-all", "rail", link, column) for link in ("slow", "whole"))
        assert slow["jct_us"] > 1.05 * whole["jct_us"], column
    hashed = page.pick(found, "all-to-all", "rail", "slow", "uec, one path")
    assert page.below_slow(hashed["straggler"], cases.QUICK), hashed
    sprayed = page.pick(found, "all-to-all", "rail", "slow", "uec")
    assert sprayed["jct_us"] < hashed["jct_us"]


def test_bounds_by_hand(cases):
    fabric = cases.QUICK
    all_reduce = cases.Case(fabric, "all-reduce", "packed", "whole", "uec")
    # Ranks 16 apart are two servers apart, in another block, ranks 8 apart in the next server of their rail, others in
    # one server: halves, quarters, … of 1 MB, there and back.
    steps = [(10, 4 * 0.5), (5, 2 * 0.5), *((1 / 3.6 / 2**i, 2 * 0.2) for i in range(3))]
    assert all_reduce.bound_us(Counter()) == pytest.approx(2 * sum(send + way for send, way in steps))
    all_to_all = cases.Case(fabric, "all-to-all", "packed", "whole", "uec")
    # A NIC takes 20 us for 1 MB; the two uplinks of a leaf 30 for 3 MB.
    assert all_to_all.bound_us(Counter({(0, 8): 1_000_000})) == pytest.approx(20)
    assert all_to_all.bound_us(Counter({(0, 9): 1_500_000, (16, 9): 1_500_000})) == pytest.approx(60)
    assert all_to_all.bound_us(Counter({(0, 9): 1_500_000, (8, 2): 1_700_000})) == pytest.approx(34)
    assert all_to_all.bound_us(Counter({(0, 1): 900_000})) == pytest.approx(2)


def test_placements_are_of_all_gpus(cases):
    orders = [cases.Case(cases.QUICK, "moe", placement, "whole", "uec").order for placement in cases.PLACEMENTS]
    assert all(sorted(order) == list(range(32)) for order in orders)
    assert orders[0][:3] == [0, 1, 2] and orders[1][:3] == [0, 8, 16]


def test_the_page_is_what_was_recorded(run, cases, page):
    found = json.loads(run.RESULTS.read_text(encoding="utf-8"))
    assert list(found) == [case.name for case in cases.cases(cases.WHOLE)]
    assert run.PAGE.read_text(encoding="utf-8") == "\n".join(page.tables(found, cases.WHOLE)) + "\n"
    docs = run.DOCS.read_text(encoding="utf-8")
    assert page.docs(docs, found) == docs
    assert run.PICTURE.read_text(encoding="utf-8") == page.svg(found, cases.WHOLE)


def test_what_buys_more_is_a_geometric_mean(cases, page):
    names = [case.name for case in cases.cases(cases.QUICK) if case.workload == "moe"]
    ends = {"packed": 10.0, "rail": 20.0, "random": 40.0}
    found = {name: {"jct_us": ends[name.split(" / ")[1]]} for name in names}
    assert page.bought(found, "moe", "whole", "placement") == pytest.approx(4)
    assert page.bought(found, "moe", "whole", "scheme") == pytest.approx(1)
    found[names[0]]["jct_us"] = None
    assert page.bought(found, "moe", "whole", "scheme") is None
