"""Two sentences of RPM's §V-B that its claims are built on: the switch's buffer, and how soon senders react."""

import pytest

from midpath import Scenario, run
from midpath.papers.registry import choose
from midpath.papers.rpm.common import mode, port
from midpath.papers.runner import load_measure


def scenario(figure: str, name: str) -> Scenario:
    return Scenario.from_toml(choose(f"rpm/{figure}")[0].directory / f"{name}.toml")


@pytest.mark.parametrize("told", ["fwd", "rpm"])
def test_no_packet_waits_for_more_than_2_ms(told):
    result = run(scenario("table2", "fairness").with_(changes=mode(told) | {"stop": "3 s"}))
    bottleneck = port(result, "r1", "s2")
    assert 1e-3 < bottleneck["delay_max_s"] <= 2e-3
    assert bottleneck["drops_queue"] > 0


@pytest.mark.nightly("python/midpath/papers/", "crates/schemes/src/rpm/")
def test_paced_flows_react_in_20_ms_whatever_lies_behind_the_switch():
    """§V-B has 20 ms for all; §II-A has a CE mark take the whole round trip."""
    reaction = load_measure(choose("rpm/reaction")[0]).__globals__["reaction"]
    for behind in (10, 100):
        changes = {"topology.links[3].delay": f"{behind} ms", "schemes.cubic.pacing": True}
        line = scenario("reaction", "line")
        took = {told: reaction(run(line.with_(changes=mode(told) | changes)), told) for told in ("rpm", "fwd")}
        assert took["rpm"] == pytest.approx(0.020, abs=0.002), behind
        assert took["fwd"] >= 2 * (0.010 + behind / 1e3) - 0.0005, behind
