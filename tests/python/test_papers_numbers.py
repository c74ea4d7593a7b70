"""What claims are measured with: figures from series, and the independent solver of proportional fairness."""

import pyarrow as pa
import pytest

from midpath.papers.fair import Flow, proportional
from midpath.result import Result
from midpath.result.series import MissingSeriesError, lowest, mean, peak, settled, window
from midpath.tables import SERIES


@pytest.fixture
def ramp():
    """A value that is 10, 20, … 100 and stays there, once each 0.1 s."""
    values = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0, 100.0, 100.0]
    rows = [
        {"time_s": 0.1 * (i + 1), "entity": "flow:0", "metric": "rate_bps", "value": v} for i, v in enumerate(values)
    ]
    return Result({}, {"series": pa.Table.from_pylist(rows, schema=SERIES)})


def test_windows(ramp):
    assert list(window(ramp, "flow:0", "rate_bps", 0.2, 0.4)) == [30.0, 40.0]
    assert mean(ramp, "flow:0", "rate_bps", 0.0, 0.4) == 25.0
    assert peak(ramp, "flow:0", "rate_bps", 0.0, 0.4) == 40.0
    assert lowest(ramp, "flow:0", "rate_bps", 0.9, 1.2) == 100.0
    assert mean(ramp, "flow:0", "rate_bps", 5.0, 6.0) is None
    with pytest.raises(MissingSeriesError, match="cwnd_bytes of flow:0"):
        mean(ramp, "flow:0", "cwnd_bytes", 0.0, 1.0)


def test_settling(ramp):
    assert settled(ramp, "flow:0", "rate_bps", 100.0, 0.15, 0.0, 1.2) == pytest.approx(0.9)
    assert settled(ramp, "flow:0", "rate_bps", 100.0, 0.15, 0.5, 1.2) == pytest.approx(0.4)
    assert settled(ramp, "flow:0", "rate_bps", 100.0, 0.15, 1.0, 1.2) == pytest.approx(0.1)
    assert settled(ramp, "flow:0", "rate_bps", 50.0, 0.05, 0.0, 1.2) is None


def test_one_link_is_shared_by_weight():
    rates = proportional({"a": 100.0}, {"x": Flow(1.0, ["a"]), "y": Flow(3.0, ["a"])})
    assert rates == pytest.approx({"x": 25.0, "y": 75.0}, rel=1e-6)


def test_a_flow_over_two_bottlenecks_pays_for_both():
    # Prices p and q, both full: x = 1/(p+q), y = 1/p, z = 1/q, so that x + y = 1 and x + z = 1 give p = q = 1.5.
    rates = proportional({"1": 1.0, "2": 1.0}, {"x": Flow(1, ["1", "2"]), "y": Flow(1, ["1"]), "z": Flow(1, ["2"])})
    assert rates == pytest.approx({"x": 1 / 3, "y": 2 / 3, "z": 2 / 3}, rel=1e-6)


def test_a_link_that_is_not_full_costs_nothing():
    rates = proportional({"1": 10.0, "2": 100.0}, {"x": Flow(1, ["1", "2"]), "y": Flow(1e-4, ["2"])})
    assert rates == pytest.approx({"x": 10.0, "y": 90.0}, rel=1e-5)
