"""Each item of `midpath evaluate` finds a scheme that was made to fail it, and none in one that keeps to the rules;
other seeds say the same.
"""

from pathlib import Path

import pytest

import midpath.evaluate
from midpath.controller import load
from midpath.evaluate.rfc9743 import ITEMS

pytestmark = pytest.mark.nightly("python/midpath/evaluate/", "tests/python/unfit.py")
OWN = load(Path(__file__).parent / "unfit.py")
# By item: a scheme that fails it, and what is changed in its parameters.
UNFIT = {
    "5.1.1": ("udp", {"rate": "8 Mbps"}),
    "5.1.2": ("stubborn", {}),
    "5.1.3": ("stubborn", {}),
    "5.1.4": ("uneven", {}),
    "5.1.5": ("slow", {}),
    "5.2.1": ("stubborn", {}),
    "5.2.2": ("udp", {"rate": "8 Mbps"}),
    "5.2.3": ("stubborn", {}),
    "5.3.2": ("shy", {}),
    "6.1": ("fixed-window", {}),
    "6.2": ("xcp", {}),
    "6.3": ("fixed-window", {"window": 4}),
    "6.4": ("fragile", {}),
    "7.1": ("deaf", {}),
    "7.2": ("stubborn", {}),
    "7.3": ("shy", {}),
    "7.4": ("fixed-window", {}),
    "7.5": ("fixed-window", {}),
    "7.6": ("stubborn", {}),
    "7.7": ("newreno", {"loss_detection": "rfc6675"}),
    "7.8": ("grudge", {}),
    "7.9": ("shy", {}),
    "7.10": ("mptcp", {"coupling": "uncoupled"}),
    "7.11": ("stubborn", {}),
}
# The same of other suites: the suite and item, who fails it, and who does not.
OTHERS = {
    ("bbr", "12"): ("timely", {}, "bbr"),
    ("bbr", "13"): ("timely", {}, "bbr"),
    ("bbr", "15"): ("newreno", {}, "bbr"),
    ("bbr", "16"): ("udp", {"rate": "50 Mbps"}, "bbr"),
    ("bbr", "17"): ("stubborn", {}, "newreno"),
    ("bbr", "18"): ("newreno", {"loss_detection": "rfc6675"}, "bbr"),
    ("bbr", "19"): ("grudge", {}, "bbr"),
    ("rfc8867", "5.1"): ("cubic", {}, "scream"),
    ("rfc8867", "5.2"): ("cubic", {}, "scream"),
    ("rfc8867", "5.4"): ("cubic", {}, "scream"),
    ("rfc8867", "5.5"): ("cubic", {}, "scream"),
    ("rfc8867", "5.6"): ("shy", {}, "scream"),
    ("rfc8867", "5.7"): ("udp", {}, "scream"),
    ("rfc8867", "5.8"): ("udp", {}, "scream"),
    ("rfc9331", "4.2"): ("deaf", {}, "prague"),
    ("rfc9331", "4.3-loss"): ("stubborn", {}, "prague"),
    ("rfc9331", "4.3-small"): ("stubborn", {}, "prague"),
    ("rfc7928", "5"): ("cubic@drr", {}, "cubic@fq_codel"),
    ("rfc7928", "7"): ("newreno@fq_codel", {}, "cubic@fq_codel"),
    ("rfc7928", "8"): ("cubic@drr", {}, "cubic@pie"),
    ("rfc7928", "9"): ("stubborn@codel", {}, "cubic@codel"),
    ("rfc7928", "10"): ("cubic@drr", {}, "cubic@codel"),
}
# Measures that need somebody of their own, in items that others fail: the measure, who fails it, and who does not.
ALSO = {
    "6.2": ("mean wait over TCP's", "stubborn@codel", {}, "dctcp"),
    "7.6": ("loss above its own with a receiver that complies", "newreno", {"growth": "per-ack"}, "newreno"),
}
# One that passes it, where NewReno has nothing to do with it.
FIT = {"6.2": "dctcp", "7.10": "mptcp"}
# A few items in `make test`: seconds.
SAMPLE = ("5.1.1", "7.7")


def verdict(item, scheme, changes, **more):
    """What is said of one item."""
    changes = {f"schemes.{scheme}.{key}": value for key, value in changes.items()}
    found = midpath.evaluate.evaluate([scheme], items=[item], changes=changes, controllers=OWN, **more)
    (row,) = found.told["rows"]
    return row["verdict"], row


def test_every_item_with_measures_has_an_unfit_scheme():
    assert set(UNFIT) == {item.name for item in ITEMS if item.measures}


@pytest.mark.parametrize("first_seed", [1, 1001])
@pytest.mark.parametrize("item", UNFIT)
def test_an_item_fails_the_unfit_and_passes_the_fit(item, first_seed, tmp_path):
    more = {"quick": True, "first_seed": first_seed, "out": tmp_path}
    said, row = verdict(item, *UNFIT[item], **more)
    assert said == "does not hold", row
    said, row = verdict(item, FIT.get(item, "newreno"), {}, **more)
    assert said == "holds", row


@pytest.mark.parametrize("item", ALSO)
def test_a_measure_tells_schemes_apart_that_others_do_not(item, tmp_path):
    label, unfit, changes, fit = ALSO[item]
    for scheme, change, expected in ((unfit, changes, "does not hold"), (fit, {}, "holds")):
        _, row = verdict(item, scheme, change, quick=True, out=tmp_path)
        assert next(one["verdict"] for one in row["measures"] if one["measure"] == label) == expected, row


@pytest.mark.parametrize(("suite", "item"), OTHERS)
def test_other_suites_tell_schemes_apart(suite, item, tmp_path):
    unfit, changes, fit = OTHERS[suite, item]
    more = {"suite": suite, "quick": True, "out": tmp_path}
    said, row = verdict(item, unfit, changes, **more)
    assert said == "does not hold", row
    said, row = verdict(item, fit, {}, **more)
    assert said == "holds", row
