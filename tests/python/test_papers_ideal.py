"""The simulator's own ideal against SciPy."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import midpath
from midpath.papers.fair import Flow, proportional


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.floats(1.0, 1000.0), min_size=2, max_size=4),
    st.lists(st.tuples(st.floats(0.1, 10.0), st.integers(0, 3), st.integers(1, 4)), min_size=1, max_size=6),
)
def test_the_ideal_gives_the_same(caps, drawn):
    """A chain of routers, flows over stretches of it: the simulator's own fluid solver agrees with SciPy."""
    count = len(caps)
    spans = [(weight, first % count, min(first % count + length, count)) for weight, first, length in drawn]
    links = [
        {"a": f"r{i}", "b": f"r{i + 1}", "rate": f"{int(c * 1e6)} bps", "delay": "1 ms"} for i, c in enumerate(caps)
    ]
    for i, (_, first, last) in enumerate(spans):
        links.append({"a": f"s{i}", "b": f"r{first}", "rate": "100 Gbps", "delay": "1 ms"})
        links.append({"a": f"d{i}", "b": f"r{last}", "rate": "100 Gbps", "delay": "1 ms"})
    flows = [{"from": f"s{i}", "to": f"d{i}", "weight": weight} for i, (weight, _, _) in enumerate(spans)]
    scenario = midpath.Scenario.from_dict(
        {
            "scheme": "ideal",
            "stop": "2 s",
            "topology": {"links": links},
            "flow": flows,
            "schemes": {"ideal": {"fairness": "proportional"}},
        }
    )
    found = midpath.run(scenario).flows.to_pandas().set_index("src").goodput_bps
    expected = proportional(
        {str(i): int(c * 1e6) for i, c in enumerate(caps)},
        {f"s{i}": Flow(w, [str(k) for k in range(a, b)]) for i, (w, a, b) in enumerate(spans)},
    )
    payload = 1448 / 1500  # as the ideal counts it
    assert {name: found[name] for name in expected} == pytest.approx(
        {name: rate * payload for name, rate in expected.items()}, rel=1e-3
    )
