"""Every key of flows beside every other, for every scheme: each acts, or is refused, or the run says that it doesn't.

The schema says which keys there are; a key without values here fails. A key acts beside another where, for some of
the values, the flows' results with both differ from those with the other alone. `EVERY_VALUE=1` tries all pairs (four
minutes); else a fixed part is tried.
"""

import itertools
import json

import pytest

import midpath
from midpath import _midpath
from midpath.errors import ScenarioError
from test_every_key import tried

pytestmark = pytest.mark.nightly("crates/traffic/", "crates/schemes/src/", "crates/sim/src/")

NET = """
seed = 3
stop = "400 ms"
[topology]
nodes = [
    { name = "r", kind = "router", population = 3 },
    { name = "t", kind = "router" },
    { name = "s", kind = "router", population = 9 },
]
links = [
    { a = "a", b = "r", rate = "20 Mbps", delay = "1 ms" },
    { a = "e", b = "r", rate = "15 Mbps", delay = "1 ms" },
    { a = "r", b = "s", rate = "5 Mbps", delay = "1 ms" },
    { a = "r", b = "t", rate = "5 Mbps", delay = "2 ms" },
    { a = "t", b = "s", rate = "5 Mbps", delay = "2 ms" },
    { a = "s", b = "b", rate = "20 Mbps", delay = "1 ms" },
    { a = "s", b = "c", rate = "20 Mbps", delay = "1 ms" },
]
[queue]
limit = "30 ms"
[schemes.fcp.groups.calls]
weight = 3.0
"""
# Others of the same host: whom a weight or a budget takes something from.
BESIDE = """
[[flow]]
from = "a"
to = "b"
size = "60 kB"
[[flow]]
from = "a"
to = "b"
size = "60 kB"
start = "32 ms" # when a flow may start that waits for the short one
[[flow]]
from = "a"
to = "b"
size = "60 kB"
[[flow]]
from = "e"
to = "b"
size = "5 kB"
group = "others"
"""
SHARES = {"fcp": 'budget = "calls"\n', "ndn": 'object = "film"\n', "mircc": 'object = "film"\n'}
FLOW = {"from": "a", "to": "b", "size": "60 kB"}
FLOW_VALUES = {
    "from": ["e"],
    "to": ["c"],
    "size": ["10 kB", "90 kB"],
    "start": ["40 ms", "1 us"],
    "stop": ["2 ms", "20 ms", "45 ms", "300 ms"],
    "group": ["x"],
    "budget": ["calls"],
    "count": [2],
    "rate": ["2 Mbps", "400 kbps"],
    "weight": [4.0],
    "jitter": ["30 ms"],
    "object": ["film"],
    "replicas": [["c"]],
    "path": [["r", "t", "s"]],
    "after": [["others"]],
    "after_bytes": ["9 kB"],
    "write": ["3 kB"],
    "interval": ["7 ms"],
    "on": ["20 ms"],
    "off": [{"kind": "exponential", "mean": "30 ms"}],
    "late_after": ["4 ms", "60 ms"],
}
WORKLOAD_VALUES = {
    "group": ["x"],
    "budget": ["calls"],
    "weight": [4.0],
    "hosts": [["a", "b", "c"], ["a", "b"]],
    "start": ["20 ms"],
    "until": ["11 ms", "25 ms", "50 ms", "90 ms"],
    "duration": ["8 ms", "25 ms", "80 ms"],
    "flows": [1, 4, 15],
    "after": [["others"]],
    "after_bytes": ["9 kB"],
    "objects": [{"count": 1}, {"count": 9, "popularity": 2.0}],
    "sizes": [{"kind": "fixed", "size": "30 kB"}, {"kind": "cdf", "name": "web-search"}],
    "matrix": [
        {"kind": "incast", "to": "b"},
        {"kind": "pairs", "pairs": [["a", "b"]]},
        {"kind": "gravity", "by": "population"},
        {"kind": "random"},
    ],
}
SIZES = {"kind": "exponential", "mean": "12 kB"}
RATE = {"load": ["90 %"], "load_of": ["link:r>s", "9 Mbps"], "rate_per_s": [90.0]}
PPBP = {"rate_per_s": 200.0, "hurst": 0.8, "mean_burst": "10 ms", "burst_rate": "1 Mbps"}
# Of each kind of arrivals what it is tried with, and values of its keys.
ARRIVALS = {
    "poisson": ({"rate_per_s": 200.0}, {**RATE, "rounds": [True]}),
    "ppbp": (PPBP, {**RATE, "hurst": [0.6], "mean_burst": ["5 ms"], "burst_rate": ["3 Mbps"]}),
    "periodic": ({"interval": "100 ms", "jitter": "30 ms"}, {"interval": ["60 ms"], "jitter": ["9 ms"]}),
    "once": ({"jitter": "30 ms"}, {"jitter": ["60 ms"]}),
}
LIST = "src,dst,size,start\na,b,20 kB,0\na,c,20 kB,0.01\na,b,20 kB,0.012\ne,b,20 kB,0.03\ne,b,20 kB,0.06\n"
LISTS = [{"file": "few.csv"}, {"file": "flows.txt", "format": "hpcc"}]
COLUMNS = {
    "size": ["90 kB"],
    "scheme": ["newreno", "fcp"],
    "group": ["x"],
    "stop": ["0.02", "0.3"],
    "rate": ["2 Mbps", "400 kbps"],
    "after": ["others"],
}
SCHEMA = json.loads(_midpath.schema())["$defs"]
CARRIERS = sorted(name for name in json.loads(_midpath.schemes()) if name != "rpm")
# What a workload says of its flows reaches these in each of the ways that there are.
LOADED = ["fcp", "mircc", "newreno", "udp"]
# Of so many pairs one is tried.
PAIRS_OF = 8


def written(values):
    """A table of a scenario on one line."""
    if isinstance(values, dict):
        return "{ " + ", ".join(f"{key} = {written(value)}" for key, value in values.items()) + " }"
    return json.dumps(values)


def table(name, keys):
    return f"[[{name}]]\n" + "".join(f"{key} = {written(value)}\n" for key, value in keys.items())


class Runs:
    """Runs of one scheme, as the run's or as that of the flows themselves, each once."""

    def __init__(self, folder, scheme, named, made):
        self.file, self.scheme, self.made, self.known = folder / "s.toml", scheme, made, {}
        self.named = {"scheme": scheme} if named else {}
        self.beside = BESIDE.replace('size = "60 kB"\n', 'size = "60 kB"\n' + SHARES.get(scheme, ""), 2)

    def outcome(self, **keys):
        """What flows came to and what the run warned of; or why it was refused."""
        known = json.dumps(keys, sort_keys=True)
        if known not in self.known:
            self.file.write_text(f'scheme = "{self.scheme}"\n{NET}{self.made(keys, self.named)}{self.beside}')
            try:
                found = midpath.run(midpath.Scenario.from_toml(self.file))
                tables = [found.tables[name].to_pydict() for name in ("flows", "datagrams") if name in found.tables]
                self.known[known] = (str(tables), " ".join(found.warnings))
            except ScenarioError as error:
                self.known[known] = (None, str(error))
        return self.known[known]

    def acts(self, key, value, other, beside):
        flows, said = self.outcome(**{key: value, other: beside})
        alone, _ = self.outcome(**{other: beside})
        return flows is None or flows != alone or f"`{key}` of" in said


def silent(runs, values, label):
    """Of the pairs that are tried, those in which a key is taken and nothing comes of it."""
    pairs = itertools.permutations(values, 2)
    pairs = [pair for pair in pairs if tried((runs.scheme, *runs.named, label), pair, PAIRS_OF)]
    both = {pair: itertools.product(values[pair[0]], values[pair[1]]) for pair in pairs}
    return [pair for pair in pairs if not any(runs.acts(pair[0], a, pair[1], b) for a, b in both[pair])]


def flow(keys, named):
    return table("flow", FLOW | named | keys)


def workload(kind):
    """Writes a workload of this kind of arrivals."""

    def made(keys, named):
        arrivals = {"kind": kind} | ARRIVALS[kind][0]
        own = {key.removeprefix("arrivals."): value for key, value in keys.items() if key.startswith("arrivals.")}
        if "load" in own or "load_of" in own:
            arrivals.pop("rate_per_s")
            own = {"load": "400 %"} | own
        sizes = {} if kind == "ppbp" else {"sizes": SIZES}
        rest = {key: value for key, value in keys.items() if not key.startswith("arrivals.")}
        return table("workload", sizes | named | rest | {"arrivals": arrivals | own})

    return made


def listed(keys, named):
    return table("workload", {"list": {"file": "flows.csv"}} | named | keys)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "flows.csv").write_text(LIST)
    (tmp_path / "few.csv").write_text(LIST.rsplit("\n", 3)[0] + "\n")
    (tmp_path / "flows.txt").write_text("3\na b 3 100 20000 0\na c 3 100 20000 0.02\ne b 3 100 20000 0.03\n")
    return tmp_path


def test_every_key_of_the_schema_has_values():
    for name, values, own in (
        ("ExplicitFlow", FLOW_VALUES, {"scheme"}),
        ("WorkloadSpec", WORKLOAD_VALUES, {"scheme", "arrivals", "list"}),
    ):
        differing = set(SCHEMA[name]["properties"]) ^ (set(values) | own)
        assert not differing, f"FLOW_VALUES or WORKLOAD_VALUES: values to try of {differing}"
    for kind in SCHEMA["ArrivalSpec"]["oneOf"]:
        keys = kind["properties"]
        assert set(ARRIVALS[keys["kind"]["const"]][1]) == set(keys) - {"kind"}


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("scheme", CARRIERS)
def test_a_key_of_a_flow_acts_beside_every_other_or_is_refused(scheme, named, folder):
    assert not silent(Runs(folder, scheme, named, flow), FLOW_VALUES, "flow")


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("scheme", LOADED)
def test_a_key_of_a_workload_acts_beside_every_other_or_is_refused(scheme, named, folder):
    faults = []
    for kind, (_, own) in ARRIVALS.items():
        values = WORKLOAD_VALUES | {f"arrivals.{key}": some for key, some in own.items()}
        faults += [(kind, *pair) for pair in silent(Runs(folder, scheme, named, workload(kind)), values, kind)]
    lists = Runs(folder, scheme, named, listed)
    faults += [("list", *pair) for pair in silent(lists, WORKLOAD_VALUES | {"list": LISTS}, "list")]
    assert not faults


@pytest.mark.parametrize("scheme", CARRIERS)
def test_a_column_of_a_list_acts_beside_every_other_or_is_refused(scheme, folder):
    def made(keys, _):
        row = {"src": "a", "dst": "b", "size": "60 kB", "start": "0"} | keys
        (folder / "one.csv").write_text(f"{','.join(row)}\n{','.join(row.values())}\n")
        return table("workload", {"list": {"file": "one.csv"}})

    assert not silent(Runs(folder, scheme, False, made), COLUMNS, "columns")


def refused(more, scheme="newreno"):
    with pytest.raises(ScenarioError) as caught:
        midpath.run(f'scheme = "{scheme}"\n{NET}{table("flow", FLOW | more)}')
    return str(caught.value)


def test_a_rate_beside_a_scheme_that_has_none_is_refused_with_those_that_have():
    text = refused({"scheme": "newreno", "rate": "5 Mbps"})
    assert "flow[0].rate: has no effect on `newreno`: leave it out. gcc, mircc, rcp, scream, udp, xcp read it" in text
    # A flow with a rate and no scheme is datagrams, which have no weights.
    assert "flow[0].weight: has no effect on `udp`" in refused({"rate": "5 Mbps", "weight": 2.0}, "fcp")


def test_what_the_runs_scheme_does_not_read_is_said():
    text = f'scheme = "newreno"\n{NET}{table("flow", FLOW | {"weight": 2.0, "group": "calls"})}'
    said = "`weight` of flow[0] has no effect: `newreno` does not read it"
    assert said in midpath.run(text).warnings
    assert not any("has no effect" in warning for warning in midpath.run(text, scheme="fcp").warnings)
    assert not any("has no effect" in warning for warning in midpath.run(text, scheme="ideal").warnings)
