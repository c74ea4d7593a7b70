"""A trace in Perfetto's format, decoded: by a reader of protobuf here, and by Perfetto's own definitions where they are
installed (`pip install perfetto`).
"""

import struct
from collections import Counter, defaultdict

import pytest

import midpath
from midpath.trace import Trace
from midpath.trace.perfetto import write_perfetto
from test_trace import TRACE, scenario


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    trace = Trace(midpath.run(scenario(more=TRACE)))
    return trace, write_perfetto(trace, tmp_path_factory.mktemp("perfetto") / "t.perfetto-trace").read_bytes()


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """A message's fields by number, as protobuf's encoding says."""
    found, at = defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value, at = data[at : at + 8], at + 8
        else:
            assert key & 7 == 2
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        found[key >> 3].append(value)
    return found


def test_it_tells_the_story_of_each_packet(written):
    trace, data = written
    packets = [fields(packet) for packet in fields(data)[1]]
    tracks = {fields(p[60][0])[1][0]: fields(p[60][0]) for p in packets if 60 in p}
    events = [(p[8][0], fields(p[11][0])) for p in packets if 11 in p]
    assert [time for time, _ in events] == sorted(time for time, _ in events)
    assert all(event[11][0] in tracks for _, event in events)
    nodes = {fields(track[3][0])[6][0].decode() for track in tracks.values() if 3 in track}
    assert nodes == {"s", "t", "d", "r0", "r1", "r2"}
    kinds = Counter(event[9][0] for _, event in events)
    left = int(trace.is_of("event", "left").sum())
    assert kinds[1] == kinds[2] == left
    # A port sends one packet at a time: slices on a track do not lie inside each other.
    depth = Counter()
    for _, event in sorted(events, key=lambda e: (e[0], e[1][9][0] != 2)):
        depth[event[11][0]] += {1: 1, 2: -1}.get(event[9][0], 0)
        assert 0 <= depth[event[11][0]] <= 1
    # What was dropped ends its flow there.
    drops = [event for _, event in events if event[9][0] == 3 and event[23][0].startswith(b"dropped")]
    assert len(drops) == int(trace.is_of("event", "dropped").sum())
    number = struct.unpack("<Q", drops[0][48][0])[0] - 1
    assert [event.what for event in trace.packet(number)][-1] == "dropped"
    mine = [time for time, event in events for f in event[47] + event[48] if struct.unpack("<Q", f)[0] == number + 1]
    assert len(mine) == sum(event.what in ("sent", "left", "dropped") for event in trace.packet(number))
    # Counters: the window is what the record says, and queues are never below nothing.
    names = {uuid: track[2][0].decode() for uuid, track in tracks.items() if 2 in track}
    values = [(names[e[11][0]], struct.unpack("<d", e[44][0])[0]) for _, e in events if e[9][0] == 4]
    assert [v for name, v in values if name == "window of flow 0"] == [
        float(v)
        for v, flow in zip(
            trace.value[trace.is_of("event", "window")],
            trace.columns["flow"][trace.is_of("event", "window")],
            strict=True,
        )
        if flow == 0
    ]
    assert all(value >= 0 for _, value in values)


def test_the_published_definitions_read_it(written):
    pytest.importorskip("perfetto", reason="pip install perfetto brings the definitions")
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace as Published  # noqa: PLC0415

    trace, data = written
    read = Published.FromString(data)
    assert read.SerializeToString() == data
    slices = [p.track_event for p in read.packet if p.track_event.type == 1]
    assert len(slices) == int(trace.is_of("event", "left").sum())
    assert all(len(s.flow_ids) == 1 and s.name for s in slices)


def test_the_command_writes_it(tmp_path, cli):
    midpath.run(scenario(more='[trace]\nfor = "50 ms"\n')).save(tmp_path / "out")
    answer = cli("perfetto", tmp_path / "out")
    assert answer.code == 0
    assert (tmp_path / "out" / "trace.perfetto-trace").stat().st_size > 1000
