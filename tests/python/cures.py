"""Messages that name a cure: what causes each, and the same with the cure applied.

A message is known by its literal text in the source, with what is filled in between braces. `test_advice.py` finds the
messages; one without a row here fails there.
"""

import contextlib
import io
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import midpath
import midpath.cli
import script
from conftest import ROOT
from midpath import controller
from midpath.benchmark.suite import pick
from midpath.check import check
from midpath.commands import sweep as cli_sweep
from midpath.errors import UsageError, no_such
from midpath.estimate import pilots
from midpath.papers import lab as papers_lab
from midpath.run import as_scenario
from midpath.sweep import facets, plan
from midpath.sweep.failures import _require_before_the_end

sys.path.insert(0, str(ROOT / "evidence/properties" / "malformed"))
import cases


@dataclass(frozen=True)
class Scenario:
    """A scenario with the cause and with the cure, as parts of `cases.py` of checks; files that both name."""

    cause: Mapping[str, Any]
    cure: Mapping[str, Any]
    files: Mapping[str, str] = field(default_factory=dict)

    def follow(self, said: re.Pattern[str], folder: Path) -> None:
        """The message comes with the cause; with the cure nothing is wrong."""
        for name, text in self.files.items():
            (folder / name).write_text(text)
        assert said.search(self.found(self.cause, folder))
        left = self.found(self.cure, folder)
        assert not said.search(left) and "error: " not in left, left

    def found(self, parts: Mapping[str, Any], folder: Path) -> str:
        """What `midpath check` finds."""
        file = folder / "s.toml"
        file.write_text(cases.scenario(**parts))
        return "\n".join(map(str, check(file).findings))


@dataclass(frozen=True)
class Run(Scenario):
    """The same of a warning that only a run gives."""

    def found(self, parts: Mapping[str, Any], folder: Path) -> str:
        """What a run warns of."""
        return "\n".join(midpath.run(cases.scenario(**parts)).warnings)


@dataclass(frozen=True)
class Call:
    """A call that raises with the cause, and returns with the cure."""

    cause: Callable[[], Any]
    cure: Callable[[], Any]

    def follow(self, said: re.Pattern[str], folder: Path) -> None:
        """The message comes with the cause; with the cure nothing is wrong."""
        with pytest.raises(Exception, match=said):
            self.cause()
        self.cure()


@dataclass(frozen=True)
class Daemon:
    """A configuration of midpathd: kind, text with the cause, what of it the cure replaces, files beside it."""

    kind: str
    text: str
    old: str
    new: str
    files: Mapping[str, str] = field(default_factory=dict)

    def follow(self, said: re.Pattern[str], folder: Path) -> None:
        """`check` gives the message; with the cure it is content."""
        program = daemon()
        for name, text in self.files.items():
            (folder / name).write_text(text)
        key = subprocess.run([program, "node", "key", folder / "a.key"], capture_output=True, text=True, check=True)
        file = folder / "d.toml"
        assert self.old in self.text
        for text, good in ((self.text, False), (self.text.replace(self.old, self.new), True)):
            file.write_text(text.replace("KEY", key.stdout.strip()))
            done = subprocess.run([program, self.kind, "check", file], capture_output=True, text=True, check=False)
            assert (done.returncode == 0, bool(said.search(done.stderr))) == (good, not good), done.stderr


# Holds the lock of `midpathd rpm` in this network namespace while it asks for it, then asks again.
LOCK = """
import socket, subprocess, sys
held = socket.socket(socket.AF_UNIX)
held.bind("\\0midpathd-rpm")
held.listen()
first = subprocess.run([sys.argv[1], "rpm", "down"], capture_output=True, text=True)
held.close()
again = subprocess.run([sys.argv[1], "rpm", "down"], capture_output=True, text=True)
print(first.stderr)
sys.exit(again.returncode)
"""


@dataclass(frozen=True)
class Lock:
    """Two `midpathd rpm` at a time, and the second tried again."""

    def follow(self, said: re.Pattern[str], folder: Path) -> None:
        """The message comes while the first holds the lock, and no more."""
        alone = ["unshare", "--net", sys.executable, "-c", LOCK, daemon()]
        done = subprocess.run(alone, capture_output=True, text=True, check=False)
        if "unshare" in done.stderr:
            pytest.skip(done.stderr.strip())
        assert said.search(done.stdout) and done.returncode == 0, done.stderr


def daemon() -> Path:
    """The program, if it was built."""
    walk = script.load(ROOT / "scripts" / "walk.py")
    try:
        found: Path = walk.midpathd()
    except walk.WalkError as why:
        pytest.skip(str(why))
    return found


@dataclass(frozen=True)
class Elsewhere:
    """Another test follows it: its file, and its name."""

    file: str
    test: str

    def follow(self, said: re.Pattern[str], folder: Path) -> None:
        """That test is there."""
        assert re.search(rf"\b(def|fn) {self.test}\b", (ROOT / self.file).read_text(encoding="utf-8"))


@dataclass(frozen=True)
class No:
    """No cure: why the word is there."""

    why: str

    def follow(self, said: re.Pattern[str], folder: Path) -> None:
        """Nothing is to be followed."""
        assert self.why


def load(**parts: str | None) -> dict[str, Any]:
    """A scenario of one workload."""
    return {"flow": None, "more": cases.workload(**parts)}


def more(text: str, **parts: Any) -> dict[str, Any]:
    """A scenario with more tables."""
    return {"more": text, **parts}


def two(first: str, second: str) -> Any:
    """Two controllers under these names."""
    names = [type("A", (midpath.Controller,), {"name": n}) for n in (first, second)]
    return controller.named(names)


class Grows(midpath.Controller):
    """A controller that a test changes."""


class Begins(midpath.Controller):
    """One that sets its window itself."""

    def on_open(self, opening: Any) -> None:
        """Sets what it would not define."""
        self.window = 10.0


DEFINES = type("Defines", (midpath.Controller,), {"window": 10.0})
SETS = [SimpleNamespace(id=f"set-up-{k}") for k in (64, 128)]
THEN = '[[flow]]\nfrom = "a"\nto = "b"\nsize = "1 kB"\nafter = ["flows"]\ngroup = "then"'
WRITING = f'{cases.FLOW}\nwrite = "1 kB"\ninterval = "1 ms"\n'
RANKS = '[[job]]\ncollective = "all-gather"\nhosts = ["a", "b"]\nsize = "10 kB"'
ASKS = """[[client]]
from = ["a"]
to = ["b"]
requests = 3
request_sizes = { kind = "fixed", size = "1 kB" }
reply_sizes = { kind = "fixed", size = "2 kB" }"""
WATCHES = """[[client]]
from = ["a"]
to = ["b"]
requests = 1
connections = "reuse"
video = { ladder = ["1 Mbps", "2 Mbps"], segment = "2 s", segments = 3, buffer = "9 s" }"""
REFUSED_TRACE = Elsewhere("crates/sim/tests/scenarios/traces.rs", "traces_that_cannot_be_are_refused_with_their_line")
FLOW_OF_OBJECT = '[[flow]]\nfrom = "a"\nto = "b"\nsize = "{}"\nobject = "x"\n'
LOADS = cases.scenario(flow=None, more=cases.workload(group='"g"') + "\n" + cases.workload(group='"g"'))
OFTEN = '{ kind = "poisson", rate_per_s = 100.0 }'
ABILENE = 'rate = "10 Mbps"\nhosts = { per_node = 1, rate = "1 Gbps", delay = "1 ms" }'
BETWEEN = 'from = "h0"\nto = "h1"\nsize = "10 kB"'
THREE = {"c.txt": "1 1 0\n1000 1 0.5\n2000 1 1\n"}
GML = 'graph [ node [ id 0 label "a" ] node [ id 1 label "b" ] edge [ source 0 target 1 {} ] ]'
SNDLIB = """?SNDlib native format; type: network; version: 1.0
NODES (
  a ( 1.0 50.0 )
  b ( 2.0 51.0 )
)
LINKS (
  l ( a b ) 40.0 0.0 0.0 0.0 ( )
)
DEMANDS (
)
"""


def map_of(name: str, rest: str) -> dict[str, Any]:
    """A scenario on a map from a file."""
    hosts = 'delay = "1 ms"\nhosts = { per_node = 1, rate = "1 Gbps", delay = "1 ms" }'
    return {"topology": f'file = "{name}"\n{rest}\n{hosts}', "flow": BETWEEN}


def _raise(text: str) -> None:
    raise UsageError(text)


def command(*words: Any) -> None:
    """The command, whose message is raised."""
    out = io.StringIO()
    with contextlib.redirect_stderr(out), contextlib.redirect_stdout(io.StringIO()):
        code = midpath.cli.main([str(word) for word in words])
    if code:
        raise UsageError(out.getvalue())


def map_file(maps: Path | None, name: str) -> Path:
    """A map that a paper's figure needs, in the user's folder."""
    lab: Any = SimpleNamespace(maps=maps)
    return papers_lab.Lab.rocketfuel(lab, name)


EXAMPLE = ROOT / "examples" / "dumbbell.toml"
ENDLESS = midpath.Scenario(cases.scenario(head="seed = 1", ends=False))
SWEEP: Any = SimpleNamespace(parameters=["a", "b"])
ROWS = [{"a": 1, "b": 1}, {"a": 1, "b": 2}]

NODE = """node = "a"
key = "a.key"
network = "net.toml"
listen = "127.0.0.1:0"
[[neighbour]]
node = "b"
key = "KEY"
{}"""
NETWORK = """scheme = "{}"
{}[topology]
nodes = [{{ name = "a", kind = "host" }}, {{ name = "b", kind = "host" }}]
links = [{{ a = "a", b = "b", rate = "50 Mbps", delay = "1 ms" }}]
[[flow]]
from = "a"
to = "b"
size = "1 MB"
"""

# By literal text.
CURES: dict[str, Scenario | Call | Daemon | Lock | Elsewhere | No] = {
    "hosts' names are not in /etc/hosts, where this machine lets nobody mount; use MIDPATH_ADDRESS_…": Elsewhere(
        "tests/python/test_lab_exec.py", "test_without_mounts_programs_still_have_addresses"
    ),
    # Scenarios.
    "there is no {what} `{shown}`; did you mean `{near}`?": Scenario(
        {"topology": f'builtin = "abilen"\n{ABILENE}', "flow": BETWEEN},
        {"topology": f'builtin = "abilene"\n{ABILENE}', "flow": BETWEEN},
    ),
    "there is no addition `{shown}`; did you mean `{near}`?": Scenario(
        {"head": 'scheme = "fcp"', "more": '[schemes.fcp]\nwithout = ["restrat"]'},
        {"head": 'scheme = "fcp"', "more": '[schemes.fcp]\nwithout = ["restart"]'},
    ),
    'applies to ecmp = "{name}"; set that, or leave it out': Scenario(
        more('[routing]\nflowlet_gap = "1 ms"'), more('[routing]\necmp = "letflow"\nflowlet_gap = "1 ms"')
    ),
    "applies to dynamic XOFF; set `alpha`, or leave out `reserve`": Scenario(
        more('[pfc]\nbuffer = "10 MB"\nreserve = "9 kB"'),
        more('[pfc]\nbuffer = "10 MB"\nreserve = "9 kB"\nalpha = 1.0'),
    ),
    "`, did you mean `{near}`? ": Scenario({"queue": 'limt = "20 ms"'}, {"queue": 'limit = "20 ms"'}),
    "did you mean `{near}`? ": Scenario({"head": 'scheme = "cubik"'}, {"head": 'scheme = "cubic"'}),
    'must be above zero; to stop a link use `kind = "link-down"`': Scenario(
        more('[[fault]]\nat = "1 ms"\nlink = ["a", "r"]\nkind = "rate"\nrate = "0 bps"'),
        more('[[fault]]\nat = "1 ms"\nlink = ["a", "r"]\nkind = "link-down"'),
    ),
    "the instance `{name}` takes `params` from its first row; give this row a `name`": Scenario(
        more(
            '[[deploy]]\nscheme = "rpm"\nnodes = ["r"]\nparams = { size = 64 }\n'
            '[[deploy]]\nscheme = "rpm"\nnodes = ["a"]\nparams = { size = 128 }'
        ),
        more(
            '[[deploy]]\nscheme = "rpm"\nnodes = ["r"]\nparams = { size = 64 }\n'
            '[[deploy]]\nscheme = "rpm"\nname = "other"\nnodes = ["a"]\nparams = { size = 128 }'
        ),
    ),
    "is a time of the run, and `after` leaves the start open; leave it out and give a `size`": Scenario(
        more('[[flow]]\nfrom = "a"\nto = "b"\nstop = "1 s"\nafter = ["flows"]\ngroup = "then"'),
        more('[[flow]]\nfrom = "a"\nto = "b"\nsize = "1 kB"\nafter = ["flows"]\ngroup = "then"'),
    ),
    "a flow of `{group}` has no end to wait for; give it a `size`": Scenario(
        {"flow": 'from = "a"\nto = "b"\nstop = "1 s"', **more(THEN)}, more(THEN)
    ),
    "would wait for itself: {}; give the flows that wait a `group` of their own, and end the circle": Scenario(
        more('[[flow]]\nfrom = "a"\nto = "b"\nsize = "1 kB"\nafter = ["flows"]'), more(THEN)
    ),
    "{why}; give it a `start` in its place": Scenario(
        {"head": 'scheme = "ideal"', **more(THEN)},
        {"head": 'scheme = "ideal"', **more(THEN.replace('after = ["flows"]', 'start = "1 s"'))},
    ),
    "applies to an application that writes; give `write` and `interval`, too": Scenario(
        {"flow": cases.FLOW + '\non = "1 ms"\noff = "1 ms"'}, {"flow": WRITING + 'on = "1 ms"\noff = "1 ms"'}
    ),
    "flows of `{name}` have all their data at the start; leave it out, or give the flow another `scheme`": Scenario(
        {"head": 'scheme = "ndn"', "flow": WRITING}, {"head": 'scheme = "ndn"', "flow": WRITING + 'scheme = "udp"'}
    ),
    "`ideal` is a fluid model whose flows have all their data at the start; leave it out and give a `size`": Scenario(
        {"head": 'scheme = "ideal"', "flow": WRITING}, {"head": 'scheme = "ideal"', "flow": cases.FLOW}
    ),
    "is a time of the run, and `after` leaves the start open; give a `duration` in its place": Scenario(
        more(cases.workload(after='["flows"]', until='"1 s"')),
        more(cases.workload(after='["flows"]', duration='"1 s"', until="")),
    ),
    "receivers open this scheme's flows, and only the sender knows when to; give it another `scheme`": Scenario(
        more(f'{RANKS}\nscheme = "ndn"'), more(f'{RANKS}\nscheme = "cubic"')
    ),
    "applies to servers with `workers`; give these, or leave it out": Scenario(
        more(f'{ASKS}\nscheduling = "ps"'), more(f'{ASKS}\nscheduling = "ps"\nworkers = 2')
    ),
    "applies to requests with a `timeout`; give one, or leave it out": Scenario(
        more(f"{ASKS}\nretries = 2"), more(f'{ASKS}\nretries = 2\ntimeout = "1 s"')
    ),
    "applies to `retries`; give these, or leave it out": Scenario(
        more(f'{ASKS}\ntimeout = "1 s"\nbackoff = "1 ms"'),
        more(f'{ASKS}\ntimeout = "1 s"\nbackoff = "1 ms"\nretries = 1'),
    ),
    "needs `{key}`; give it, or leave this out": Scenario(more(f"{ASKS}\ntied = true"), more(ASKS)),
    "a server that shares begins with each request at once; leave this out, or use `fifo`": Scenario(
        more(f'{ASKS}\nworkers = 1\nscheduling = "ps"\nhedge_after = "1 ms"\ntied = true'),
        more(f'{ASKS}\nworkers = 1\nscheduling = "ps"'),
    ),
    "names no host; give at least one": Scenario(more(ASKS.replace('["a"]', "[]")), more(ASKS)),
    "`{name}` runs in the network and carries no flows; give each flow another `scheme`": Scenario(
        {"head": 'scheme = "rpm"'}, {"head": 'scheme = "rpm"', "flow": f'{cases.FLOW}\nscheme = "cubic"'}
    ),
    "flows of the object `{word}` have {} and {}; give them one": Scenario(
        more(FLOW_OF_OBJECT.format("10 kB") + FLOW_OF_OBJECT.format("20 kB"), head='scheme = "mircc"', flow=None),
        more(FLOW_OF_OBJECT.format("10 kB") * 2, head='scheme = "mircc"', flow=None),
    ),
    "is zero: say `for` how long the trace lasts": Scenario(
        more('[trace]\naround = "first drop"\nbefore = "0 s"'),
        more('[trace]\naround = "first drop"\nbefore = "0 s"\nfor = "10 ms"'),
    ),
    "trace: {} events after {last} did not fit; give it more `events`, or less to record": Run(
        more("[trace]\nevents = 1"), more("[trace]\nevents = 100000")
    ),
    'flows were slowed down of which no ACK returned here: on asymmetric paths use `notify = "data"`': Elsewhere(
        "crates/schemes/src/inrpp/tests/report.rs", "a_port_warns_of_what_is_too_small"
    ),
    'the matrix has no rates; give a rate such as "10 Gbps", the total that `load` refers to': Scenario(
        load(arrivals='{ kind = "poisson", load = "50 %", load_of = "matrix" }'), load()
    ),
    "give exactly one of `rate_per_s` and `load`": Scenario(
        load(arrivals='{ kind = "poisson", rate_per_s = 5.0, load = "50 %", load_of = "10 Mbps" }'), load()
    ),
    "give exactly one of `arrivals` and `list`": Scenario(load(list='{ file = "f.csv" }'), load()),
    "give only one of `until` and `duration`": Scenario(load(duration='"200 ms"'), load()),
    "PPBP arrivals have their own sizes; leave `sizes` out, or use `poisson`": Scenario(
        load(
            arrivals='{ kind = "ppbp", load = "10 %", load_of = "10 Mbps", hurst = 0.8, mean_burst = "100 ms", '
            'burst_rate = "1 Mbps" }'
        ),
        load(),
    ),
    "these arrivals have no end; give `flows`, `duration` or `until`": Scenario(
        {"head": "seed = 1", "ends": False, **load(until=None)},
        {"head": "seed = 1", "ends": False, **load(until=None, flows="9")},
    ),
    "a gravity matrix draws pairs; these arrivals need a matrix with a fixed set of pairs": Scenario(
        load(arrivals='{ kind = "once" }', matrix='{ kind = "gravity" }', until=None),
        load(arrivals='{ kind = "once" }', matrix='{ kind = "all-to-all" }', until=None),
    ),
    "`{place}` has no population in the map; add it there, or give it a weight in `weights`": Scenario(
        load(matrix='{ kind = "gravity", by = "population" }'),
        load(matrix='{ kind = "gravity", by = "population", weights = { a = 1, b = 2 } }'),
    ),
    "give exactly one of `mean` and `median`": Scenario(
        load(sizes='{ kind = "log-normal", mean = "10 kB", median = "5 kB", sigma = 1.0 }'),
        load(sizes='{ kind = "log-normal", mean = "10 kB", sigma = 1.0 }'),
    ),
    "give exactly one of `name` and `file`": Scenario(
        load(arrivals=OFTEN, sizes='{ kind = "cdf", name = "web-search", file = "c.txt" }'),
        load(arrivals=OFTEN, sizes='{ kind = "cdf", name = "web-search" }'),
    ),
    "3 columns, as in ns-2 and pFabric: size, an unused number, share. Sizes may be in packets: set "
    'unit = "1460 B" or unit = "1 B"': Scenario(
        load(arrivals=OFTEN, sizes='{ kind = "cdf", file = "c.txt" }'),
        load(arrivals=OFTEN, sizes='{ kind = "cdf", file = "c.txt", unit = "1460 B" }'),
        THREE,
    ),
    "`{called}`: {e}; [queues.{name}] can set its keys": Scenario(
        {"head": 'scheme = "cubic@step"'},
        more('[queues.step]\nkind = "step"\nthreshold = "10 kB"', head='scheme = "cubic@step"'),
    ),
    "a connection starts when another ends (`trigger`): name the file as `trace` of a [[job]], or give each a "
    "`start`": Elsewhere("crates/sim/tests/scenarios/traces.rs", "a_trace_of_a_ring_is_the_collective"),
    "size 0 is a connection without end, which nothing can wait for; give its size": REFUSED_TRACE,
    "a connection without `start` or `trigger`; give one": REFUSED_TRACE,
    "any tag (`-1`) is decided while a program runs; give the tag": REFUSED_TRACE,
    "is missing; give it, or a `trace`": Scenario(more(RANKS.replace('collective = "all-gather"\n', "")), more(RANKS)),
    "requests that are asked again would share a connection with what they wait for; use `new`": Scenario(
        more(f'{ASKS}\ntimeout = "1 s"\nconnections = "reuse"'), more(f'{ASKS}\ntimeout = "1 s"\nconnections = "new"')
    ),
    "use `new`, or give it another `scheme`": Scenario(
        more(f'{ASKS}\nrate = "1 Mbps"\nconnections = "reuse"'), more(f'{ASKS}\nconnections = "reuse"')
    ),
    "give it a `scheme` of TCP, without `rate`": Scenario(more(f'{WATCHES}\nrate = "1 Mbps"'), more(WATCHES)),
    "has no room for a segment beside the one that is played; give it two `segment`s or more": Scenario(
        more(WATCHES.replace('"9 s"', '"3 s"')), more(WATCHES)
    ),
    "`multiplex` carries the requests of a `page`; use `reuse`": Scenario(
        more(f'{ASKS}\nconnections = "multiplex"'), more(f'{ASKS}\nconnections = "reuse"')
    ),
    'is missing; give it, such as { kind = "fixed", size = "1 kB" }, a `page` or a `video`': Scenario(
        more(ASKS.replace("request_sizes", "# ")), more(ASKS)
    ),
    "says how many bytes of `after`; give that, too": Scenario(
        more(THEN.replace('after = ["flows"]', 'after_bytes = "1 kB"')), more(f'{THEN}\nafter_bytes = "1 kB"')
    ),
    # Maps.
    '{count} links have a `{name}` without a unit, which is ignored: write it like "10 Gbps" or "5 ms", or set '
    "`capacity_unit` for rates": Scenario(
        map_of("bare.gml", 'default_rate = "1 Mbps"'),
        map_of("unit.gml", ""),
        {"bare.gml": GML.format('rate "10"'), "unit.gml": GML.format('rate "10 Mbps"')},
    ),
    "{links} links have a capacity without a unit, which is ignored: set it, such as capacity_unit = "
    '"1 Mbps"': Scenario(
        map_of("x.txt", 'default_rate = "1 Mbps"'), map_of("x.txt", 'capacity_unit = "1 Mbps"'), {"x.txt": SNDLIB}
    ),
    "unknown file format; if it is one of these, set `format`: {names}": Scenario(
        map_of("x.dat", 'rate = "1 Mbps"'),
        map_of("x.dat", 'rate = "1 Mbps"\nformat = "gml"'),
        # What says it begins behind a long comment.
        {"x.dat": "# " + "x" * 70_000 + "\n" + GML.format("")},
    ),
    # Configurations of midpathd.
    "no listener: set unix, tcp or udp": Daemon("ndn", "[listen]\n", "[listen]\n", '[listen]\nunix = "f"\n'),
    "anyone who reaches {listen} could use this node; confirm with `open = true`": Daemon(
        "node",
        NODE.format('[[socks]]\nlisten = "0.0.0.0:9"\nexit = "b"\n'),
        "exit =",
        "open = true\nexit =",
        {"net.toml": NETWORK.format("cubic", "")},
    ),
    'INRPP routers sign their messages; set your own `[schemes.inrpp] secret = "…"`': Daemon(
        "node",
        NODE.format(""),
        "net.toml",
        "other.toml",
        {
            "net.toml": NETWORK.format("inrpp", ""),
            "other.toml": NETWORK.format("inrpp", '[schemes.inrpp]\nsecret = "of our own"\n'),
        },
    ),
    "{object}: give the name of an object to fetch": Elsewhere(
        "tests/python/test_ndn_transfers.py", "test_stock_programs_work_through_ours"
    ),
    "give the name of an object to fetch": Elsewhere(
        "tests/python/test_ndn_consumer.py", "test_what_cannot_be_fetched_is_said"
    ),
    "{}: half set up or half removed; run up again, or down": Elsewhere(
        "net/midpathd/tests/linux/up_down.rs", "a_device_that_goes_away_and_comes_back"
    ),
    "cargo::warning=midpath-ebpf is built without its eBPF programs: {why}; install clang to include them": Elsewhere(
        "net/ebpf/tests/linux/advice.rs", "what_is_installed_afterwards_is_found_by_the_next_build"
    ),
    "is a tunnel without a fixed remote address: a packet's destination is in its route, which RPM's queue loses; "
    "use the underlying device": Elsewhere("tests/python/test_rpm_devices.py", "test_rpm_works_or_says_why_not"),
    "is a VRF, through which packets do not arrive; use its ports": Elsewhere(
        "tests/python/test_rpm_devices.py", "test_rpm_works_or_says_why_not"
    ),
    "another `midpathd rpm up` or `down` is running in this network namespace; try again": Lock(),
    # Catalogues of schemes.
    "two schemes are named `{name}`: give one another name": Elsewhere(
        "crates/schemes/src/catalogue.rs", "catalogues_are_joined_unless_names_or_tags_are_the_same"
    ),
    "{taken} and {header} have the same tag {tag}: give one another, 64 to 127": Elsewhere(
        "crates/schemes/src/catalogue.rs", "catalogues_are_joined_unless_names_or_tags_are_the_same"
    ),
    # Python.
    "did you mean {near[0]}?": Call(
        lambda: _raise(no_such("variant", "upgrad", ["upgrade"])), lambda: no_such("variant", "upgrade", ["upgrade"])
    ),
    "did you mean {' or '.join(near)}?": Call(
        lambda: pick(SETS, "seT-up-64", "row"), lambda: pick(SETS, "set-up-64", "row")
    ),
    "{', '.join((row.id for row in begin))}: large rows; give whole names, or add --all": Call(
        lambda: pick(SETS, "set", "row", lambda _: False),
        lambda: [pick(SETS, "set-up-64", "row", lambda _: False), pick(SETS, "set", "row")],
    ),
    "two controllers are named {name}: give one another name": Call(
        lambda: two("mine", "mine"), lambda: two("mine", "yours")
    ),
    "there is a scheme {name} already: give the controller another name": Call(
        lambda: two("cubic", "mine"), lambda: two("yours", "mine")
    ),
    "{cls.__name__}.{key} is set, not defined: self.{key} = …": Call(
        lambda: controller.named([DEFINES]),
        lambda: midpath.run(cases.scenario(head='scheme = "begins"'), controllers=[Begins]),
    ),
    "{name}: two workloads have the same group: give each its own": Call(
        lambda: pilots.require_drawn(midpath.Scenario(LOADS)),
        lambda: pilots.require_drawn(midpath.Scenario(LOADS.replace('"g"', '"h"', 1))),
    ),
    "--at: give the scenario a `stop` (--set stop=60s): flows without a route may never end": Call(
        lambda: _require_before_the_end(ENDLESS, "1 s"),
        lambda: _require_before_the_end(ENDLESS.with_(changes={"stop": "60s"}), "1 s"),
    ),
    "{scenario} is not a scenario: give a Scenario, a file, a TOML text, or nested dictionaries": Call(
        lambda: as_scenario(3),
        lambda: [as_scenario(given) for given in (ENDLESS, ENDLESS.text, ENDLESS.to_dict(), EXAMPLE)],
    ),
    "{key}: give a list of values, not {values}": Call(
        lambda: plan._rows({"queue.limit": "20 ms"}, None), lambda: plan._rows({"queue.limit": ["20 ms"]}, None)
    ),
    "{both[0]} is both in the listed plan and varied: give it once": Call(
        lambda: plan._rows({"a": [1]}, [{"a": 1}]), lambda: plan._rows({"a": [1]}, [{"b": 1}])
    ),
    "{key} is not varied as a key: use {RESERVED[key]} ({key}s in Python)": Call(
        lambda: plan._require_keys({"seed"}, set()), lambda: plan._seeds(ENDLESS, 2)
    ),
    "{name} has {len(values)} values, and a mean over them would mislead: use it as facet, or fix it (--where "
    "{name}={next(iter(values))})": Call(
        lambda: facets._require_shown(SWEEP, ROWS, "a", None),
        lambda: [facets._require_shown(SWEEP, ROWS, "a", "b"), facets._require_shown(SWEEP, ROWS[:1], "a", None)],
    ),
    "{name} changed while the sweep ran: give the same command again": Elsewhere(
        "tests/python/test_sweep_processes.py", "test_a_run_does_not_stand_for_files_that_changed_under_it"
    ),
    "--try runs one reading of one figure: not with --minutes or --write-results": Elsewhere(
        "tests/python/test_papers_explain.py", "test_it_is_kept_and_shown"
    ),
    "say what to draw: one of --y, --cdf and --figure": Elsewhere(
        "tests/python/test_plot.py", "test_what_cannot_be_drawn_is_refused_in_one_line"
    ),
    "needs Rocketfuel's {names[0]}: give its folder as --rocketfuel DIR or {ROCKETFUEL}": Call(
        lambda: map_file(None, "dumbbell.toml"),
        lambda: map_file(ROOT / "examples", "dumbbell.toml"),
    ),
    "give --flow and --at to explain a flow, or --of a client or job": Elsewhere(
        "tests/python/test_critical.py", "test_the_command_asks_for_one_of_both"
    ),
    "give a scenario with --schemes, or comparisons with --of DIR": Call(
        lambda: command("cost", "bill"), lambda: command("cost", "bill", EXAMPLE, "--schemes", "cubic")
    ),
    "--slurm-set is for --slurm JOBS": Call(
        lambda: cli_sweep._slurm(0, ["account=x"]), lambda: cli_sweep._slurm(3, ["account=x"])
    ),
    # Where the word is no advice.
    "CE, but flows use none": No("a table's cell: that flows have no ECN"),
    "{about.store}, if it is set": No("a parameter without a default"),
    "fat-tree of {k ** 3 // 4} hosts, set-up": No("a benchmark's name"),
    "{figure.id}: its measure.py runs seeds of its own ({stray[0]}): more seeds say nothing new": No("a reason"),
    "the packet is shorter than its headers say": No("a damaged packet"),
    "cannot set up the links: {e}": No("what failed"),
    "cannot set up the gateway": No("what failed"),
    "cannot set up the event loop": No("what failed"),
    "cannot set up connections to neighbours": No("what failed"),
    "cannot set up the internal pair": No("what failed"),
    "CE marks set in data packets.": No("a counter"),
    "Flows that use AccECN.": No("a counter"),
    "Signals without effect: SYN, RST, CE already set, or not IP.": No("a counter"),
    "ECE set": No("an event of a trace"),
    "nothing was signalled: all selected packets were of flows without ECN, and dropped; set `ecn = true` among the "
    "parameters of the flows' scheme": Elsewhere(
        "tests/python/test_no_effect.py", "test_a_scheme_that_adds_nothing_is_said"
    ),
    "{} with ECE set of {} returned packets{wait}": No("a counter"),
    "{} of {} in use ({}), {} signals wait, {} flows fell back, {} signals aged": No("counters"),
    "Ports write their load into packets (INT); senders set their windows by the most loaded port.": No("what HPCC is"),
}
