"""Endpoint policies for FCP written in Python."""

import pytest

import midpath
from midpath.policy import Group

SCENARIO = """
scheme = "fcp"
stop = "4 s"

[topology]
generate = "dumbbell"
pairs = 2
bottleneck = { rate = "100 Mbps", delay = "5 ms" }
access = { rate = "1 Gbps", delay = "1 ms" }

[schemes.fcp]
policy = "POLICY"

[[flow]]
from = "s0"
to = "d0"

[[flow]]
from = "s0"
to = "d1"
"""


def scenario(policy: str) -> str:
    return SCENARIO.replace("POLICY", policy)


def test_a_function_decides_who_gets_how_much() -> None:
    def one_to_three(group: Group) -> list[float]:
        return [group.budget * share for share in (0.25, 0.75)][: len(group.flows)]

    result = midpath.run(scenario("mine"), policies={"mine": one_to_three})
    rates = result.flows.to_pandas().goodput_bps
    assert rates[1] / rates[0] == pytest.approx(3, rel=0.03)
    assert midpath.run(scenario("mine"), policies={"mine": one_to_three}, threads=2).flows == result.flows


def test_a_class_is_made_for_each_group_and_keeps_state() -> None:
    made = []

    class Turns:
        def __init__(self) -> None:
            self.seen: list[Group] = []
            made.append(self)

        def __call__(self, group: Group) -> list[float]:
            self.seen.append(group)
            return [group.budget / len(group.flows)] * len(group.flows)

    midpath.run(scenario("turns"), policies={"turns": Turns})
    (policy,) = made
    # Both flows have opened, then it has looked about every two round trips.
    assert [len(g.flows) for g in policy.seen[:2]] == [1, 2]
    looks = [g for g in policy.seen if not g.changed]
    assert 50 < len(looks) < 150
    last = looks[-1].flows[0]
    assert last.rate == pytest.approx(100e6 / 8 / 2, rel=0.05)
    assert last.price == pytest.approx(1 / 12.5e6, rel=0.05)


def test_what_a_policy_raises_stops_the_run() -> None:
    def broken(group: Group) -> list[float]:
        raise RuntimeError(f"no idea what to do with {len(group.flows)} flows")

    with pytest.raises(RuntimeError, match="no idea"):
        midpath.run(scenario("broken"), policies={"broken": broken})
    with pytest.raises(ValueError, match="`short` returned 0 budgets for 1 flows"):
        midpath.run(scenario("short"), policies={"short": lambda _: []})


def test_an_unknown_policy_is_named() -> None:
    with pytest.raises(midpath.ScenarioError, match="no policy `mine`") as error:
        midpath.run(scenario("mine"))
    assert error.value.key == "schemes.fcp.policy"
