"""`midpath why --of` of datagrams: parts sum to the table's delays, and the bytes before one explain its wait."""

import random

import pytest

import midpath
import midpath.cli
from midpath.commands.trace import explained
from midpath.errors import UsageError
from midpath.trace import Trace
from midpath.trace.datagrams import DatagramWay, delays, groups
from midpath.trace.replay import data

LINKS = """
scheme = "udp"
stop = "3 s"
[trace]
events = 2000000
[topology]
links = [
    {{ a = "h", b = "r", rate = "100 Mbps", delay = "2 ms" }},
    {{ a = "r", b = "s", rate = "{rate} Mbps", delay = "8 ms" }},
    {{ a = "s", b = "d", rate = "100 Mbps", delay = "1 ms" }},
]
[queue]
{queue}
[[flow]]
group = "backup"
scheme = "cubic"
from = "h"
to = "d"
"""
VOICE = """
[[flow]]
group = "voice"
from = "h"
to = "d"
write = "172 B"
interval = "20 ms"
late_after = "150 ms"
"""
CALL = """
[[flow]]
group = "call"
scheme = "{scheme}"
from = "h"
to = "d"
"""
DROP_TAIL = 'limit = "120 kB"'
QUEUES = [DROP_TAIL, 'kind = "codel"\nscheduler = "fq"', 'kind = "pie"']


def drawn(seed: int) -> str:
    """Voice or a call beside a backup, over a queue of some kind."""
    rng = random.Random(seed)
    carried = VOICE if seed % 3 == 0 else CALL.format(scheme=["scream", "gcc"][seed % 3 - 1])
    return LINKS.format(rate=rng.choice([3, 7, 12]), queue=rng.choice(QUEUES)) + carried


@pytest.fixture(scope="module")
def runs():
    return [midpath.run(drawn(seed)) for seed in range(6)]


def test_parts_are_the_delays_of_the_table(runs):
    for result in runs:
        trace = Trace(result)
        (group,) = groups(result)
        own = delays(trace, group)
        table = result.tables["datagrams"].to_pandas()
        assert len(own) == table.received_packets[0] > 50
        assert max(own.values()) == pytest.approx(table.delay_max_s[0], abs=1e-9)
        assert sum(own.values()) / len(own) == pytest.approx(table.delay_mean_s[0], abs=1e-9)
        for number in [None, *list(own)[:: max(1, len(own) // 20)]]:
            way = DatagramWay(trace, group, number)
            assert sum(way.spent.values()) == pytest.approx(own[way.number], abs=1e-9)
            ends = [piece["until_s"] for piece in way.pieces[:-1]]
            assert ends == [piece["from_s"] for piece in way.pieces[1:]]


@pytest.mark.parametrize("rate", [3, 7, 12])
def test_what_went_first_takes_as_long_as_the_wait(rate):
    """Over drop-tail: the bytes before it at the link's rate, within the packet that was being sent."""
    result = midpath.run(LINKS.format(rate=rate, queue=DROP_TAIL) + VOICE)
    trace = Trace(result)
    ways = [DatagramWay(trace, "voice", number) for number in list(delays(trace, "voice"))[20::10]]
    waits = [(way, p) for way in ways for p in way.pieces if p["part"] == "queue" and way.name_of(p) == "r>s"]
    assert len(waits) > 5
    for way, piece in waits:
        first = sum(way.went_first(piece).values()) * 8 / (rate * 1e6)
        assert -1e-9 <= piece["until_s"] - piece["from_s"] - first <= 1500 * 8 / (rate * 1e6) + 1e-9
    # The longest waited for the backup's bytes, and the queue is named.
    said = DatagramWay(trace, "voice").sentences()
    assert "in the queue at r>s while" in said[1]
    assert "of flow 0 (backup)" in said[1]


def test_the_sender_s_wait_counts_from_the_frame():
    result = midpath.run(LINKS.format(rate=3, queue=DROP_TAIL) + CALL.format(scheme="scream"))
    way = DatagramWay(Trace(result), "call")
    assert way.pieces[0]["part"] == "blocked"
    assert way.spent["blocked"] > 0
    assert any("at its sender, for its window or pace" in said for said in way.sentences())


def test_the_command_and_the_replay_know_them(runs, tmp_path, capsys):
    runs[0].save(tmp_path / "run")
    assert midpath.cli.main(["why", str(tmp_path / "run"), "--of", "voice"]) == 0
    out = capsys.readouterr().out
    assert "datagram" in out
    assert "ms network" in out
    number = max(delays(Trace(runs[0]), "voice").items(), key=lambda one: one[1])[0]
    assert explained(tmp_path / "run", "voice", None).number == number
    with pytest.raises(UsageError, match="is no datagram of `voice`"):
        explained(tmp_path / "run", "voice", 0)
    trace = Trace(runs[0])
    bars = [one for one in data(trace, len(trace))["applications"] if one["name"].startswith("datagram")]
    assert len(bars) == 20
    assert {piece["for"] for one in bars for piece in one["pieces"]} <= {"its sender", "h>r", "r>s", "s>d"}


def test_where_only_some_flows_were_recorded_it_says_so(runs):
    assert not any("not known" in said for said in DatagramWay(Trace(runs[0]), "voice").sentences())
    voice = int(runs[0].tables["datagrams"]["flow"][0].as_py())
    text = drawn(0).replace("[trace]", f"[trace]\nflows = [{voice}]")
    assert "flows" in text
    said = DatagramWay(Trace(midpath.run(text)), "voice").sentences()
    assert any("others are not known" in one for one in said)
