"""What INRPP's claims are measured with."""

import numpy as np
import pytest

import midpath
from midpath.papers.inrpp.common import by_quarter, capture, custody_lost, processor_sharing, refused
from midpath.papers.registry import choose
from midpath.papers.runner import load_measure


def test_processor_sharing_in_closed_form():
    """Three flows of 10 MB one second apart: 10 s on average with the detour, 22 s without."""
    starts, sizes = (1.0, 2.0, 3.0), [80e6] * 3
    assert processor_sharing(20e6, starts, sizes) == pytest.approx([9.5, 10.5, 10.0])
    assert np.mean(processor_sharing(10e6, starts, sizes)) == pytest.approx(22.0)
    # One after another, with a pause between.
    assert processor_sharing(10.0, (0.0, 5.0), [20.0, 10.0]) == pytest.approx([2.0, 1.0])
    # A short one that comes while a long one is sent.
    assert processor_sharing(10.0, (0.0, 1.0), [30.0, 5.0]) == pytest.approx([3.5, 1.0])


@pytest.fixture(scope="module")
def run():
    """Transfers over one link that is captured; its queue is small, so that packets are dropped."""
    access = {"delay": "1 ms", "rate": "100 Mbps"}
    return midpath.run(
        midpath.Scenario.from_dict(
            {
                "scheme": "newreno",
                "topology": {
                    "links": [
                        {"a": "a", "b": "r"} | access,
                        {"a": "b", "b": "r"} | access,
                        {"a": "r", "b": "c", "rate": "10 Mbps", "delay": "1 ms"},
                    ]
                },
                "queue": {"limit": "10 packets"},
                "flow": [
                    {"from": "a", "to": "c", "size": "300 kB"},
                    {"from": "b", "to": "c", "size": "200 kB"},
                    {"from": "a", "to": "c", "size": "10 kB", "start": "2 s", "count": 2},
                ],
                "measure": {"pcap": [{"from": "r", "to": "c"}]},
            }
        )
    )


def test_captures_hold_what_was_sent(run):
    seen = capture(run, "r-c")
    ports = run.ports.to_pandas()
    carried = ports[(ports.node == "r") & (ports.peer == "c")]
    small = carried.packets.sum() - len(seen.times)
    # All but the handshakes and ACKs of the SYN-ACK, of 60 bytes at most each.
    assert 0 < small < 40
    assert 0 < carried.bytes.sum() - seen.size.sum() <= 80 * small
    assert (np.diff(seen.times) > 0).all()
    for flow, size in ((0, 300_000), (1, 200_000)):
        mine = seen.of(flow)
        assert (mine.first.min(), mine.first.max() < size) == (0, True)
        assert set(mine.flows) == {flow}
    assert list(seen.before(np.array([0.0, 1e9]))) == [0.0, seen.size.sum()]


def test_losses_are_refusals(run):
    assert refused(run) > 0
    assert custody_lost(run) == 0
    # Four flows of three sizes: each quarter has one.
    assert list(by_quarter([run, run], [run, run]).values()) == [[1.0, 1.0]] * 4


MAP = """0 @A + bb\t(3) -> <1> <2> <3>  =a r0
1 @B + \t(2) &1 -> <0> <2> {-5}  =b r0
2 @C + \t(2) -> <0> <1>  =c r0
3 @D + \t(2) -> <0> <3> <4>  =d r0
4 @E + \t(1) -> <3>  =e r1
-5 =10.0.0.1 r1
# remark
"""


def test_rows_of_table_1(tmp_path):
    """A triangle, and a router beside it that lists itself: it is a way around its own link."""
    (figure,) = choose("inrpp/table1")
    file = tmp_path / "1.cch"
    file.write_text(MAP)
    found = load_measure(figure).__globals__["row"](file)
    # Links 0-1, 0-2, 1-2 have one detour each; 0-3 has 3 itself; 3-3 has 3 and 0.
    assert (found.share, found.most) == (1.0, 2)
    assert found.split == pytest.approx((0.8, 0.2, 0.0, 0.0, 0.0))
