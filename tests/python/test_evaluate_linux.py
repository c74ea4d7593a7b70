"""Linux's TCPs as subjects of `midpath evaluate`, and whether the simulator's agree with them."""

import copy

import pytest

import midpath.evaluate
import script
from conftest import ROOT
from midpath.errors import UsageError
from midpath.evaluate.found import Evaluation, load_evaluation
from midpath.evaluate.rfc9743 import ITEMS
from midpath.lab.evaluated import MARGINS, agreements, linux
from test_lab_uml import WHY

built = pytest.mark.skipif(WHY is not None, reason=WHY or "")
pages = script.load(ROOT / "scripts" / "evaluate_page.py")
BOTH = ("linux:newreno", "linux:cubic", "newreno", "cubic")


def evaluate(schemes, items, **more):
    return midpath.evaluate.evaluate(schemes, items=items, platforms={"linux": linux}, **more)


@pytest.fixture(scope="module")
def kept():
    return load_evaluation(pages.LINUX)


def test_every_margin_is_of_a_measure_that_has_a_figure():
    figures = {(item.name, one.label) for item in ITEMS for one in item.measures if one.figure}
    assert MARGINS.keys() <= figures


def test_what_agrees_and_what_does_not_is_told(kept):
    lines = list(agreements(kept))
    assert {line.scheme for line in lines} == {"NewReno", "CUBIC"}
    # Linux's least timeout is 200 ms, ours RFC 6298's second: it sends more where 30 % is lost.
    misses = {(line.item, line.measure) for line in lines if not line.is_within}
    assert misses <= {("5.1.1", "packets sent over TCP's")}
    told = copy.deepcopy(dict(kept.told))
    row = next(row for row in told["rows"] if row["scheme"] == "CUBIC" and row["item"] == "5.1.2")
    row["measures"][0]["figures"]["a deep queue"] = [1.0, 1.0]
    assert sum(not line.is_within for line in agreements(Evaluation(told))) == len(misses) * 2 + 1


def test_no_verdict_contradicts_another(kept):
    for scheme in ("NewReno", "CUBIC"):
        here, there = kept.verdicts(scheme), kept.verdicts(f"{scheme} on Linux 6.1")
        assert not [item for item in here if {here[item], there[item]} == {"holds", "does not hold"}]


def test_a_platform_or_scheme_that_is_none_is_answered():
    with pytest.raises(UsageError, match="hurd"):
        evaluate(["hurd:cubic"], ["7.4"])


@built
def test_what_the_laboratory_cannot_do_is_not_applicable():
    with pytest.raises(UsageError, match="fcp"):
        evaluate(["linux:fcp"], ["7.4"])
    row = evaluate(["linux:cubic"], ["5.2.2"], seeds=2).row("5.2.2", "CUBIC on Linux 6.1")
    assert row["verdict"] == "not applicable" and "scream is not in the kernel" in row["why"], row


@built
@pytest.mark.nightly("python/midpath/evaluate/", "python/midpath/lab/", "net/lab/")
def test_the_kernel_runs_an_item_again_alike_and_the_simulator_agrees(tmp_path):
    one, two = (evaluate(BOTH, ["7.4"], seeds=2, jobs=2, out=tmp_path / name) for name in "ab")
    assert one.told == two.told
    assert all(line.is_within for line in agreements(one)), list(agreements(one))
    assert one.row("7.4", "CUBIC on Linux 6.1")["measures"]
