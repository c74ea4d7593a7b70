"""How many parameters the papers' schemes have: one more needs a paper, an ablation or a user's question."""

import pytest

import script
from conftest import ROOT

# Before additions went behind `without`: 51, 35 and 50.
MOST = {"fcp": 36, "inrpp": 25, "mircc": 36, "rpm": 8}


@pytest.fixture(scope="module")
def count():
    return script.load(ROOT / "scripts/parameters.py")


def test_a_scheme_has_no_more_parameters_than_it_needs(count):
    assert {scheme: count.counted(scheme) for scheme in count.OF_PAPERS} == MOST


def test_leaves_of_tables_within_are_counted_and_tcps_are_one(count):
    own = count.parameters("fcp")
    assert {"groups.NAME.ramp.every", "domains.NAME.weights.NAME", "network.pricing"} <= set(own)
    assert "min_rto" not in own and "min_rto" in count.of_tcp("fcp")
    assert not [path for scheme in count.OF_PAPERS for path in count.parameters(scheme) if path.startswith("queue")]


@pytest.mark.parametrize(("scheme", "name"), [("fcp", "noise"), ("inrpp", "steer"), ("mircc", "floors")])
def test_additions_are_counted_beside(count, scheme, name):
    assert name in count.switches(scheme)
