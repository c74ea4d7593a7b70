"""The record of events: bounds, causes, what stays the same, and what `packet` and `why` say of it."""

import json
import re
from collections import Counter

import numpy as np
import pytest

import midpath
from midpath.errors import OutputError, ScenarioError, UsageError
from midpath.trace import Trace, as_changes, packet_life, why
from midpath.trace.record import NOTHING

# Two senders overfill one queue, so that packets are lost and repeated.
TEXT = """
stop = "3 s"
[topology]
nodes = [{ name = "s", kind = "host" }, { name = "t", kind = "host" }, { name = "d", kind = "host" }]
links = [
  { a = "s", b = "r0", rate = "100 Mbps", delay = "1 ms" },
  { a = "t", b = "r0", rate = "100 Mbps", delay = "2 ms" },
  { a = "r0", b = "r1", rate = "5 Mbps", delay = "5 ms" },
  { a = "r0", b = "r2", rate = "5 Mbps", delay = "5 ms" },
  { a = "r2", b = "r1", rate = "5 Mbps", delay = "5 ms" },
  { a = "r1", b = "d", rate = "100 Mbps", delay = "1 ms" },
]
[queue]
limit = "20 packets"
[[flow]]
from = "s"
to = "d"
size = "600 kB"
[[flow]]
from = "t"
to = "d"
start = "200 ms"
size = "300 kB"
[[flow]]
from = "d"
to = "s"
start = "300 ms"
size = "50 kB"
"""
TRACE = "\n[trace]\n"
# Each way of a port and of an end that there is: timetables, held ports, schemes' ports and forwarders, several paths.
SCHEMES = ("cubic", "bbr", "cubic+rpm", "dctcp", "inrpp", "mircc", "fcp", "mptcp", "rcp", "xcp", "udp", "ndn")
RATES = {"udp": 'rate = "3 Mbps"\n'}


def scenario(scheme="cubic", more=""):
    text = TEXT.replace("[[flow]]\n", f"[[flow]]\n{RATES.get(scheme, '')}")
    return f'scheme = "{scheme}"\n{text}{more}'


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trace") / "out"
    result = midpath.run(scenario(more=TRACE))
    result.save(folder)
    return folder, Trace.of(folder)


def same(result):
    """What a run has besides its trace, without what depends on the machine."""
    left_out = {"wall_s", "hops_per_s", "threads", "memory_bytes", "scenario", "trace", "warnings", "source"}
    run = {key: value for key, value in result.run.items() if key not in left_out}
    tables = {name: table for name, table in result.tables.items() if name != "trace"}
    return json.dumps(run, sort_keys=True), tables


@pytest.mark.parametrize("scheme", SCHEMES)
def test_results_are_the_same_with_a_trace_and_the_trace_with_two_threads(scheme):
    plain = midpath.run(scenario(scheme))
    one = midpath.run(scenario(scheme, TRACE))
    two = midpath.run(scenario(scheme, TRACE), threads=2)
    assert same(one) == same(plain)
    assert same(two) == same(plain)
    assert one.tables["trace"].num_rows > 500
    assert two.tables["trace"].equals(one.tables["trace"])
    assert one.run["trace"]["left_out"] == 0


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_record_agrees_with_what_is_counted(scheme):
    result = midpath.run(scenario(scheme, TRACE))
    counted = Counter(result.tables["trace"]["event"].to_pylist())
    known = result.run["invariants"]
    assert counted["delivered"] == known["delivered"]
    assert counted["dropped"] == known["dropped"] + known["corrupted"]
    assert counted["consumed"] == known["consumed"]
    ports = result.ports.to_pandas()
    trace = result.tables["trace"].to_pandas()
    left = trace[(trace.event == "left") & (trace.time_ps <= 3e12)]
    by_port = left.groupby(["node", "port"], observed=True).size()
    for row in ports.itertuples():
        assert by_port.get((row.node, row.port), 0) == row.packets, (row.node, row.peer)
    flows = result.flows.to_pandas()
    # A call may find several timeouts; the event says how many there have been.
    sums = trace[trace.event == "timeout"].groupby("flow").value.max()
    for row in flows.itertuples():
        assert sums.get(row.flow, 0) == row.timeouts
    if scheme in ("cubic", "bbr", "dctcp"):
        repeated = trace[trace.event == "repeated"].groupby("flow").size()
        for row in flows.itertuples():
            assert repeated.get(row.flow, 0) == row.retransmitted_packets


def test_causes_come_before_and_are_of_the_same_life(traced):
    _, trace = traced
    cause, packet, flow = (trace.columns[name] for name in ("cause", "packet", "flow"))
    rows = np.flatnonzero(cause != NOTHING)
    assert (cause[rows] < rows).all()
    assert (trace.time[cause[rows]] <= trace.time[rows]).all()
    assert (flow[cause[rows]] == flow[rows]).all()
    begun = trace.is_of("event", "sent", "repeated")
    later = rows[(packet[rows] != NOTHING) & ~begun[rows]]
    assert (packet[cause[later]] == packet[later]).all()
    # Only what a sender does without being asked has no cause: it opens its flow.
    without = np.flatnonzero((cause == NOTHING) & begun)
    assert {trace.text("kind", int(row)) for row in without} <= {"SYN", "SYN-ACK"}


def test_a_packet_that_is_lost_repeated_and_delivered_is_one_story(traced, cli):
    folder, trace = traced
    drop = trace.event(int(np.flatnonzero(trace.is_of("event", "dropped") & trace.is_of("kind", "data"))[0]))
    assert (drop.place, drop.why) == ("r0>r1", "no room")
    life = packet_life(trace, drop.packet)
    assert [event.what for event in life.events] == ["sent", "queued", "left", "arrived", "dropped"]
    again = [sentence for sentence in life.about if sentence.startswith("it was retransmitted")]
    assert len(again) == 1
    assert "delivered at d" in again[0]
    number = int(again[0].partition("as packet ")[2].split()[0])
    repeat = packet_life(trace, number)
    assert repeat.events[0].what == "repeated"
    assert repeat.events[0].number == drop.number
    assert any(f"retransmits packet {drop.packet}" in sentence for sentence in repeat.about)
    printed = cli("packet", folder, number)
    assert printed.code == 0
    assert "repeated" in printed.out
    assert "in the queue" in printed.out
    assert json.loads(cli("packet", folder, number, "--json").out)["events"][-1]["what"] == "delivered"


def test_waits_are_what_a_closed_form_says():
    text = """
stop = "1 s"
scheme = "udp"
[topology]
links = [
  { a = "a", b = "r", rate = "100 Mbps", delay = "1 ms" },
  { a = "r", b = "b", rate = "10 Mbps", delay = "1 ms" },
]
[[flow]]
from = "a"
to = "b"
rate = "100 Mbps"
size = "14720 B"
[trace]
"""
    trace = midpath.run(text).tables["trace"].to_pandas()
    left = trace[(trace.event == "left") & (trace.node == "r")]
    # Ten packets of 1500 B come 120 us apart and leave 1.2 ms apart.
    assert np.allclose(left.value, np.arange(10) * (1.2e-3 - 0.12e-3), atol=1e-12)
    queued = trace[trace.event == "queued"]
    assert len(queued) == 9
    assert queued.value.max() == 1500 * 8 or queued.value.max() == 1500 * 9


def test_why_tells_of_the_loss_behind_a_window(traced, cli):
    folder, trace = traced
    falls = np.flatnonzero(trace.is_of("event", "phase") & trace.is_of("why", "fast recovery"))
    fall = trace.event(int(falls[0]))
    sentences = why(trace, fall.flow, fall.time + 0.02)
    text = "\n".join(sentences)
    assert len(sentences) <= 10
    assert f"flow {fall.flow}'s window at" in sentences[0]
    assert f"{fall.time:.6f} s: fast recovery began, at a window of" in text
    assert "from byte" in text
    assert "was dropped at r0>r1: no room; there waited" in text
    assert "it was retransmitted as packet" in text
    printed = cli("why", folder, "--flow", fall.flow, "--at", f"{fall.time + 0.02:.6f}s")
    assert printed.code == 0
    assert printed.out.splitlines() == sentences


DROPPED = re.compile(r"there(?:, [\d.]+\s.?s before,)? waited ([\d.]+)\skB: (.*)")


def test_why_tells_the_whole_queue_where_one_flow_was_recorded(traced):
    """The packets of flow 1 that the record has are a part of what waits."""
    table = traced[1].table.to_pandas()
    lengths = table[(table.node == "r0") & (table.peer == "r1") & (table.event == "queued")].value
    part = Trace(midpath.run(scenario(more=f"{TRACE}flows = [1]\n")))
    phases = [part.event(int(row)) for row in np.flatnonzero(part.is_of("event", "phase"))]
    said = {match for event in phases for match in DROPPED.findall("\n".join(why(part, 1, event.time)))}
    assert len(said) > 1
    for total, shares in said:
        # A length that the queue had, as the record of all flows has it, to the digits that are printed.
        assert (abs(lengths - float(total) * 1000) <= 50).any()
        assert sum(map(float, re.findall(r"([\d.]+)\skB of flow", shares))) == pytest.approx(float(total), abs=0.2)
        assert "of flow 1" in shares
        assert "of flows not recorded" in shares


def test_why_says_that_a_flow_has_not_started(traced, cli):
    folder, trace = traced
    assert why(trace, 1, 0.1) == ["0.100000 s: flow 1 had not started: it starts at 0.200000 s"]
    later = Trace(midpath.run(scenario(more=f"{TRACE}flows = [1]\n")))
    assert later.time[0] >= 0.2
    assert why(later, 1, 0.1) == why(trace, 1, 0.1), "also where the record begins later"
    assert cli("why", folder, "--flow", 1, "--at", "0.1s").code == 0


def test_bounds_keep_the_first_events_of_what_is_chosen():
    whole = midpath.run(scenario(more=TRACE)).tables["trace"].to_pandas()
    bounds = '[trace]\nfrom = "300 ms"\nfor = "100 ms"\nnodes = ["r*"]\nflows = [0]\nevents = 150\n'
    result = midpath.run(scenario(more=bounds))
    part = result.tables["trace"].to_pandas()
    chosen = whole[
        (whole.time_ps >= 300e9) & (whole.time_ps < 400e9) & whole.node.isin(["r0", "r1", "r2"]) & (whole.flow == 0)
    ]
    assert len(chosen) > 150
    columns = ["time_ps", "event", "node", "peer", "number", "size_bytes"]
    assert part[columns].astype(str).to_numpy().tolist() == chosen[columns].head(150).astype(str).to_numpy().tolist()
    assert result.run["trace"]["left_out"] == len(chosen) - 150
    assert f"{len(chosen) - 150} events after" in "\n".join(result.warnings)
    two = midpath.run(scenario(more=bounds), threads=2)
    assert two.tables["trace"].equals(result.tables["trace"])


@pytest.mark.parametrize("scheme", ["cubic", "inrpp", "mircc", "fcp"])
def test_a_record_that_is_full_has_the_first_events_and_counts_the_others(scheme):
    """Who packets are is not followed any more then: what is kept must be the same to the last column."""
    whole = midpath.run(scenario(scheme, TRACE)).tables["trace"]
    few = [midpath.run(scenario(scheme, "\n[trace]\nevents = 700\n"), threads=threads) for threads in (1, 2)]
    assert whole.num_rows > 3 * 700
    for result in few:
        assert result.tables["trace"].to_pydict() == whole.slice(0, 700).to_pydict() | {
            "value": result.tables["trace"]["value"].to_pylist()
        }
        assert np.array_equal(result.tables["trace"]["value"], whole.slice(0, 700)["value"], equal_nan=True)
        assert result.run["trace"]["left_out"] == whole.num_rows - 700


def test_an_event_takes_few_bytes(traced):
    folder, trace = traced
    assert (folder / "trace.parquet").stat().st_size / len(trace) < 24


def test_link_faults_and_scheme_numbers_are_events():
    fault = '[[fault]]\nkind = "link-down"\nat = "500 ms"\nuntil = "700 ms"\nlink = ["r0", "r1"]\n'
    events = Counter(midpath.run(scenario("fcp", fault + TRACE)).tables["trace"]["event"].to_pylist())
    assert (events["link down"], events["link up"]) == (2, 2)
    assert events["price"] > 10


def refused(text, key, says):
    """A trace of this text has one clear error, with its key and line."""
    with pytest.raises(ScenarioError) as caught:
        midpath.run(scenario(more=f"[trace]\n{text}\n"))
    assert caught.value.key == key
    assert says in caught.value.message
    assert caught.value.line is not None
    assert len(str(caught.value)) <= 200


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        ('from = "4 s"', "trace.from", "outside the run"),
        ('nodes = ["r9"]', "trace.nodes[0]", "there is no node `r9`"),
        ("flows = [0, 12]", "trace.flows[1]", "there is no flow 12; the run has 3, from 0 to 2"),
        ('for = "100 ms"\nflows = [1]', "trace.flows", "nothing would be recorded"),
        ("events = 0", "trace.events", "out of range"),
    ],
)
def test_what_could_only_be_empty_is_refused(text, key, says):
    refused(text, key, says)


def test_an_empty_record_and_the_ideal_are_warned_of():
    quiet = midpath.run(scenario(more='[trace]\nfrom = "2.9 s"\nnodes = ["r2"]\nflows = [0]\n'))
    assert quiet.tables["trace"].num_rows == 0
    assert any("nothing was recorded" in warning for warning in quiet.warnings)
    ideal = midpath.run(scenario("ideal", TRACE))
    assert "trace" not in ideal.tables
    assert any("no packets" in warning for warning in ideal.warnings)
    with pytest.raises(UsageError, match="empty"):
        why(Trace(quiet), 0, 1.0)


def test_the_option_is_the_table():
    wanted = {"trace.from": "4.2s", "trace.for": "200ms", "trace.nodes": ["r1", "r2"], "trace.flows": [3, 7]}
    assert as_changes("from=4.2s,for=200ms,nodes=r1;r2,flows=3;7") == wanted
    found = as_changes("around=timeouts of flow 7,before=20ms,slowest=1 %")
    assert found == {"trace.around": "timeouts of flow 7", "trace.before": "20ms", "trace.slowest": "1 %"}
    for bad in ("", "from", "from=", "where=r1", "flows=x", "events=1.5", "from=1s,from=2s"):
        with pytest.raises(UsageError) as caught:
            as_changes(bad)
        assert len(str(caught.value)) <= 200


def test_the_command_records_and_says_what_is_wrong(tmp_path, cli):
    file, out = tmp_path / "s.toml", tmp_path / "out"
    file.write_text(scenario(), encoding="utf-8")
    assert cli("run", file, "--out", out, "--trace", "from=100ms,for=300ms,flows=0").code == 0
    trace = Trace.of(out)
    assert 0.1 <= trace.time[0] <= trace.time[-1] < 0.4
    # A directory is named once, whatever it is called.
    with pytest.raises(OutputError) as caught:
        Trace.of(tmp_path / "trace")
    assert str(caught.value).count(str(tmp_path)) == 1
    for words, says in (
        (("run", file, "--trace", "from=9s"), "outside the run"),
        (("packet", out, 10**6), "not in the trace"),
        (("why", out, "--flow", 2, "--at", "0.2s"), "no event of this flow"),
        (("why", out, "--flow", 0, "--at", "2 s"), "the trace is from"),
    ):
        answer = cli(*words)
        assert answer.code == 2
        assert says in answer.err
        assert len(answer.err.splitlines()) == 1
        assert len(answer.err.strip()) - len(str(file)) <= 200
    assert cli("run", file, "--out", tmp_path / "plain").code == 0
    with pytest.raises(OutputError, match="no trace"):
        Trace.of(tmp_path / "plain")


def test_schemes_say_what_they_do():
    def events(scheme, more=""):
        table = midpath.run(scenario(scheme, more + TRACE)).tables["trace"].to_pandas()
        return table, Counter(table.event)

    table, inrpp = events("inrpp")
    assert inrpp["Store-and-Detour"] > 0
    assert min(inrpp["fetched"], inrpp["detoured"]) > 0
    # Detours begin in custody.
    assert inrpp["stored"] == inrpp["fetched"] + inrpp["detoured"]
    gone = set(table[table.event.isin(["fetched", "detoured"])].packet)
    assert gone == set(table[table.event == "stored"].packet)
    assert events("mircc")[1]["stamped"] > 100
    codel = '[schemes.rpm]\nqueue = { kind = "codel", limit = "100 packets" }\n[schemes.cubic]\necn = true\n'
    table, rpm = events("cubic+rpm", codel)
    assert 0 < rpm["ECE set"] <= rpm["congestion counted"]
    assert set(table[table.event == "ECE set"].kind) <= {"ACK", "data"}
    assert set(table[table.event == "congestion counted"].kind) <= {"data"}


def test_a_trace_around_the_first_drop_is_that_of_the_same_run():
    whole = midpath.run(scenario(more=TRACE)).tables["trace"].to_pandas()
    first = whole[whole.event == "dropped"].time_ps.iloc[0] / 1e12
    bounds = '[trace]\naround = "first drop"\nbefore = "20 ms"\nfor = "30 ms"\n'
    result = midpath.run(scenario(more=bounds))
    part = result.tables["trace"].to_pandas()
    assert result.run["trace"]["at_s"] == [pytest.approx(first, abs=1e-12)]
    near = whole[(whole.time_ps >= first * 1e12 - 20e9) & (whole.time_ps < first * 1e12 + 10e9)]
    packets = near[near.packet.notna()]
    columns = ["time_ps", "event", "node", "peer", "number", "size_bytes", "why"]
    mine = part[part.packet.notna()]
    assert mine[columns].astype(str).to_numpy().tolist() == packets[columns].astype(str).to_numpy().tolist()
    assert same(result) == same(midpath.run(scenario()))
    two = midpath.run(scenario(more=bounds), threads=2)
    assert two.tables["trace"].equals(result.tables["trace"])
    # Of what is chosen, the first.
    late = midpath.run(scenario(more='[trace]\naround = "first drop"\nflows = [1]\n')).run["trace"]["at_s"]
    of_one = whole[(whole.event == "dropped") & (whole.flow == 1)]
    assert late == [pytest.approx(of_one.time_ps.iloc[0] / 1e12, abs=1e-12)]


def test_each_timeout_of_a_flow_has_its_window_and_shows_what_was_lost():
    fault = '[[fault]]\nkind = "link-down"\nat = "400 ms"\nuntil = "1900 ms"\nlink = ["r0", "r1"]\n'
    off = '[schemes.cubic]\nmin_rto = "200 ms"\n'
    whole = midpath.run(scenario(more=fault + off + TRACE))
    timeouts = whole.tables["trace"].to_pandas().query("event == 'timeout' and flow == 0")
    assert len(timeouts) >= 2
    bounds = '[trace]\naround = "timeouts of flow 0"\nbefore = "20 ms"\n'
    result = midpath.run(scenario(more=fault + off + bounds))
    part = result.tables["trace"].to_pandas()
    times = result.run["trace"]["at_s"]
    assert times == pytest.approx(timeouts.time_ps.to_numpy() / 1e12, abs=1e-12)
    seen = part.time_ps.to_numpy() / 1e12
    assert all(any(at - 0.02 - 1e-9 <= t < at + 0.02 + 1e-9 for at in times) for t in seen)
    mine = part[part.flow == 0]
    # A window begins with what was known before it: the timeout is one, and what it sends is a repeat.
    assert mine[mine.event == "timeout"].value.tolist() == timeouts.value.tolist()
    for at in times:
        again = mine[(mine.event == "repeated") & ((mine.time_ps / 1e12 - at).abs() < 1e-6)]
        assert len(again) == 1


def test_the_slowest_flows_are_those_of_the_same_run():
    more = '[trace]\nslowest = "50 %"\n'
    result = midpath.run(scenario(more=more))
    flows = result.flows.to_pandas().sort_values("fct_s", ascending=False, na_position="first")
    slowest = sorted(int(flow) for flow in flows.flow.head(2))
    assert result.run["trace"]["flows"] == slowest
    table = result.tables["trace"].to_pandas()
    assert sorted(set(table.flow.dropna().astype(int))) == slowest
    assert same(result) == same(midpath.run(scenario()))


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        ('around = "first loss"', "trace.around", 'write "first drop" or "timeouts of flow 7"'),
        ('around = "timeouts of flow 9"', "trace.around", "there is no flow 9; the run has 3"),
        ('around = "timeouts of flow 2"', "trace.around", "flow 2 had no timeout"),
        ('around = "first drop"\nnodes = ["d"]', "trace.around", "no packet was dropped there"),
        ('around = "first drop"\nfrom = "1 s"', "trace.from", "excludes `around`"),
        ('around = "first drop"\nslowest = "1 %"', "trace.slowest", "not with `around`"),
        ('before = "1 s"', "trace.before", "which is not given"),
        ('around = "first drop"\nbefore = "0 s"', "trace.before", "how long"),
        ('slowest = "0 %"', "trace.slowest", "out of range"),
        ('slowest = "1 %"\nflows = [1]', "trace.slowest", "excludes `flows`"),
    ],
)
def test_what_a_trace_cannot_be_around_is_refused(text, key, says):
    refused(text, key, says)


def test_flows_are_numbered_by_start_and_a_group_finds_them_again(cli):
    text = TEXT.partition("[[flow]]")[0]
    starts = {"late": 300, "early": 0, "middle": 100}
    flows = [
        f'[[flow]]\nfrom = "s"\nto = "d"\nsize = "20 kB"\nstart = "{start} ms"\ngroup = "{group}"\n'
        for group, start in starts.items()
    ]
    found = midpath.run(f'scheme = "cubic"\n{text}{"".join(flows)}').flows.to_pandas()
    assert [*found.flow] == [0, 1, 2]
    assert [*found.group] == sorted(starts, key=starts.get) == ["early", "middle", "late"]
    helped = " ".join(cli("why", "--help").out.split())
    assert "in order of start (not its line)" in helped
