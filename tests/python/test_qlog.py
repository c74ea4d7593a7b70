"""A trace as qlog: valid by the IETF's drafts (main schema, QUIC events), and the same as the record."""

import itertools
import json

import jsonschema
import numpy as np
import pytest

import midpath
from midpath.trace import Trace
from midpath.trace.qlog import qlog
from test_trace import scenario

TRACE = '\n[trace]\nfrom = "250 ms"\nfor = "150 ms"\n'

TEXT, NUMBER, WHOLE = {"type": "string"}, {"type": "number"}, {"type": "integer", "minimum": 0}


def group(required, optional, more=False):
    """A map of CDDL: these keys, those that may be left out, and no others unless `more`."""
    return {
        "type": "object",
        "required": list(required),
        "properties": required | optional,
        "additionalProperties": more,
    }


REFERENCE = group({"clock_type": TEXT, "epoch": TEXT}, {"wall_clock_time": TEXT})
FORMAT = {"enum": ["relative_to_epoch", "relative_to_previous_event"]}
COMMON = group({}, {"time_format": FORMAT, "reference_time": REFERENCE, "group_id": TEXT, "tuple": TEXT}, more=True)
ENDS = {"enum": ["client", "server", "unknown"]}
VANTAGE = group({"type": {"enum": ["client", "server", "network", "unknown"]}}, {"name": TEXT, "flow": ENDS})
EVENT = group(
    {"time": NUMBER, "name": {"type": "string", "pattern": "^[a-z]+:[A-Za-z0-9_]+$"}, "data": {"type": "object"}},
    {"tuple": TEXT, "time_format": FORMAT, "group_id": TEXT, "system_info": {"type": "object"}},
    more=True,
)
ABOUT = {"title": TEXT, "description": TEXT}
LOG = group(
    {"event_schemas": {"type": "array", "items": TEXT, "minItems": 1}, "events": {"type": "array", "items": EVENT}},
    ABOUT | {"common_fields": COMMON, "vantage_point": VANTAGE},
)
FILE = group(
    {"file_schema": TEXT, "serialization_format": TEXT},
    ABOUT | {"traces": {"type": "array", "items": LOG, "minItems": 1}},
)
METRICS = group(
    {},
    dict.fromkeys(("min_rtt", "smoothed_rtt", "latest_rtt", "rtt_variance"), NUMBER)
    | dict.fromkeys(("congestion_window", "bytes_in_flight", "ssthresh", "packets_in_flight", "pacing_rate"), WHOLE),
)
DATA = {
    "quic:recovery_metrics_updated": METRICS | {"minProperties": 1},
    "quic:congestion_state_updated": group({"new": TEXT}, {"old": TEXT, "trigger": TEXT}),
}


@pytest.mark.parametrize("scheme", ["cubic", "bbr", "inrpp", "mircc", "fcp"])
def test_it_is_valid_and_has_every_event_once(scheme):
    trace = Trace(midpath.run(scenario(scheme, more=TRACE)))
    file = json.loads(json.dumps(qlog(trace), allow_nan=False))
    jsonschema.validate(file, FILE)
    for log in file["traces"]:
        times = [event["time"] for event in log["events"]]
        assert times == sorted(times)
        for event in log["events"]:
            space = event["name"].split(":")[0]
            assert any(
                uri.endswith(space) or ("midpath" in uri) == (space == "midpath") for uri in log["event_schemas"]
            )
            if space == "quic":
                jsonschema.validate(event["data"], DATA[event["name"]])
    rows = [event["row"] for log in file["traces"] for event in log["events"]]
    assert sorted(rows) == list(range(len(trace)))
    if scheme == "cubic":
        windows = np.flatnonzero(trace.is_of("event", "window") & (trace.columns["flow"] == 1))
        mine = next(log for log in file["traces"] if log["title"] == "flow 1")["events"]
        said = [e["data"]["congestion_window"] for e in mine if "congestion_window" in e["data"]]
        assert said == [round(value) for value in trace.value[windows].tolist()]
        states = [e["data"] for e in mine if e["name"] == "quic:congestion_state_updated"]
        assert all(later["old"] == earlier["new"] for earlier, later in itertools.pairwise(states))


def test_the_command_writes_it(tmp_path, cli):
    midpath.run(scenario(more=TRACE)).save(tmp_path / "out")
    assert cli("qlog", tmp_path / "out").code == 0
    text = (tmp_path / "out" / "trace.qlog").read_text(encoding="utf-8")
    # Tools look for these two in the first 256 bytes.
    assert (
        '"file_schema": "urn:ietf:params:qlog:file:contained", "serialization_format": "application/qlog+json"'
        in text[:256]
    )
