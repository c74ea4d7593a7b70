"""Figures over time against what links can carry."""

import numpy as np
import pytest

import midpath
from midpath.report.model import model_of
from midpath.report.time import goodput
from midpath.units import SCALES

RATE_BPS = 10e6
TEXT = """
stop = "2 s"
[topology]
generate = "dumbbell"
pairs = 4
bottleneck = { rate = "10 Mbps", delay = "5 ms" }
access = { rate = "100 Mbps", delay = "1 ms" }
[queue]
limit = "50 kB"
"""
FACTORS = {suffix: factor for kind in ("bytes", "bps") for factor, suffix in SCALES[kind]}


def scenario(seed):
    """A hundred flows of drawn sizes and starts, each over the bottleneck, in one direction."""
    draw = np.random.default_rng(seed)
    flows = zip(draw.uniform(0, 1.5, 100), draw.exponential(15, 100), strict=True)
    return TEXT + "".join(
        f'[[flow]]\nfrom = "s{i % 4}"\nto = "d{i % 4}"\nstart = "{start * 1e6:.0f} us"\nsize = "{size + 1:.0f} kB"\n'
        for i, (start, size) in enumerate(flows)
    )


def curve(figure, scheme):
    """Times and values in base units."""
    state = figure.variants[""]
    unit = state["layout"]["yaxis"]["title"]["text"].split("(")[1].rstrip(")")
    (trace,) = [trace for trace in state["data"] if trace["meta"]["scheme"] == scheme]
    return np.array(trace["x"]), np.array(trace["y"]) * FACTORS[unit]


@pytest.mark.parametrize("seed", range(1, 6))
def test_what_is_delivered_never_exceeds_the_link(seed):
    found = midpath.compare(scenario(seed), "cubic,bbr", ideal=False)
    figure = goodput(model_of(found))
    assert figure.title == "Bytes delivered over time"
    for scheme in found.schemes:
        times, total = curve(figure, scheme)
        # Five digits are kept.
        assert (total <= RATE_BPS / 8 * times * (1 + 1e-4)).all()
        assert (np.diff(total) >= 0).all()
        (run,) = found.of(scheme)
        assert total[-1] == pytest.approx(sum(run.flows["delivered_bytes"].to_pylist()), rel=1e-4)
        flows = run.flows.to_pandas()
        for at in (20, 60, 100):
            ended = flows[flows.start_s + flows.fct_s <= times[at] * (1 + 1e-4)].delivered_bytes.sum()
            assert total[at] == pytest.approx(ended, rel=0.05)


def test_a_recorded_goodput_is_the_links_at_most():
    run = midpath.run(midpath.Scenario.from_toml(scenario(1)).with_(scheme="cubic", changes={"measure.series": True}))
    figure = goodput(model_of(run))
    assert figure.title == "Goodput over time"
    assert curve(figure, "cubic")[1].max() <= RATE_BPS * (1 + 1e-4)
