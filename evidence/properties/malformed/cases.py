"""Scenarios that cannot be run: of every section, what is wrong with them, and what their message must say.

A case replaces parts of one small scenario that is good. Most are written out below; the others come from the
scenario's JSON Schema: each key of each table, with values of a wrong type.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

SMALL = """nodes = [{name = "a"}, {name = "r"}, {name = "b"}]
links = [
    {a = "a", b = "r", rate = "10 Mbps", delay = "1 ms"},
    {a = "r", b = "b", rate = "10 Mbps", delay = "1 ms"},
]"""
# In the place of a file's text: a pipe that nobody writes into.
PIPE = "\0"
MATRIX = "from,to,rate\na,b,1 Mbps\n"
FLOW = 'from = "a"\nto = "b"\nsize = "10 kB"'


@dataclass(frozen=True)
class Case:
    """One scenario: its section, what is wrong, the key that its message must name, and a word that helps."""

    section: str
    name: str
    text: str
    key: str
    says: str
    files: dict[str, str] = field(default_factory=dict)


def every() -> list[Case]:
    """All cases: those written out, and those of the schema."""
    schema = files("midpath.schema").joinpath("scenario.schema.json").read_text(encoding="utf-8")
    return [*written(), *of_schema(json.loads(schema))]


def write(case: Case, folder: Path) -> None:
    """Writes the scenario, and the files that it names, into `folder`."""
    (folder / "s.toml").write_text(case.text, encoding="utf-8")
    for file, text in case.files.items():
        if text == PIPE:
            os.mkfifo(folder / file)
        else:
            (folder / file).write_text(text, encoding="utf-8", errors="surrogateescape")


def scenario(
    head: str = "",
    topology: str = SMALL,
    queue: str = 'limit = "20 ms"',
    flow: str | None = FLOW,
    more: str = "",
    ends: bool = True,
) -> str:
    """The good scenario, with these parts in place of its own."""
    top = f'title = "malformed"\nstop = "1 s"\n{head}' if ends and "stop =" not in head else head
    parts = [top, f"[topology]\n{topology}", f"[queue]\n{queue}"]
    parts += [f"[[flow]]\n{flow}"] if flow is not None else []
    return "\n\n".join([*parts, more]) + "\n"


def workload(**parts: str) -> str:
    """A workload, with these values in place of good ones; `None` leaves a key out."""
    good = {
        "sizes": '{ kind = "fixed", size = "10 kB" }',
        "arrivals": '{ kind = "poisson", load = "50 %", load_of = "10 Mbps" }',
        "until": '"500 ms"',
    }
    return "[[workload]]\n" + "\n".join(f"{key} = {value}" for key, value in (good | parts).items() if value)


def written() -> Iterator[Case]:
    """The cases written out, section by section."""
    for section, found in SECTIONS.items():
        for name, (key, says, parts) in found.items():
            text = scenario(**{part: value for part, value in parts.items() if part != "files"})
            yield Case(section, name, text, key, says, parts.get("files", {}))


def _in(part: str, lines: dict[str, tuple[str, str, str]]) -> dict[str, tuple[str, str, dict[str, Any]]]:
    return {name: (key, says, {part: text}) for name, (key, says, text) in lines.items()}


def _flow(lines: dict[str, tuple[str, str, str]]) -> dict[str, tuple[str, str, dict[str, Any]]]:
    return {name: (f"flow[0].{key}", says, {"flow": text}) for name, (key, says, text) in lines.items()}


def _workload(lines: dict[str, tuple[str, str, dict[str, Any]]]) -> dict[str, tuple[str, str, dict[str, Any]]]:
    found = {}
    for name, (key, says, parts) in lines.items():
        own = {part: value for part, value in parts.items() if part != "files"}
        whole = {"flow": None, "more": workload(**own), "files": parts.get("files", {})}
        found[name] = (f"workload[0].{key}" if key else "workload[0]", says, whole)
    return found


SECTIONS: dict[str, dict[str, tuple[str, str, dict[str, Any]]]] = {
    "top": {
        **_in(
            "head",
            {
                "a stop of zero": ("stop", "above zero", 'stop = "0 s"'),
                "a stop without a unit": ("stop", "5 ms", "stop = 5"),
                "a stop beyond the clock": ("stop", "213 days", 'stop = "1e9 s"'),
                "a negative stop": ("stop", "5 ms", 'stop = "-1 s"'),
                "a seed below zero": ("seed", "whole number", "seed = -1"),
                "a seed beyond 64 bits": ("seed", "18446744073709551615", "seed = 18446744073709551616"),
                "half a seed": ("seed", "whole number", "seed = 0.5"),
                "a seed in words": ("seed", "whole number", 'seed = "one"'),
                "an unknown scheme": ("scheme", "cubic", 'scheme = "cubik"'),
                "no scheme": ("scheme", "midpath schemes", 'scheme = ""'),
                "a scheme over nothing": ("scheme", "rpm", 'scheme = "cubic+"'),
                "a network as a transport": ("scheme", "carries no flows", 'scheme = "rpm"'),
                "two networks": ("scheme", "rpm", 'scheme = "cubic+rpm+rpm"'),
                "schemes in a list": ("scheme", "text", 'scheme = ["cubic"]'),
                "a number for a title": ("title", "text", 'title = 5\nstop = "1 s"'),
                "an unknown key": ("stpo", "stop", 'stpo = "1 s"'),
                "variants that are no table": ("variants", "table", "variants = 3"),
                "a variant that is no table": ("variants.today", "table", "variants = { today = 3 }"),
                "a table for a stop": ("stop", "time", "stop = { at = 3 }"),
                "a key twice": ("seed", "duplicate", 'stop = "1 s"\nseed = 1\nseed = 2'),
            },
        ),
        "no flows at all": ("flow", "workload", {"flow": None}),
        "a flow without end, and a run without stop": (
            "stop",
            "never end",
            {"head": "seed = 1", "ends": False, "flow": 'from = "a"\nto = "b"'},
        ),
        "a date": ("stop", "time", {"head": "stop = 2026-01-01"}),
        "an unknown table": ("queu", "queue", {"more": '[queu]\nlimit = "1 ms"'}),
        "flows in a table": ("flow", "list", {"flow": None, "more": '[flow]\nfrom = "a"\nto = "b"'}),
    },
    "topology": _in(
        "topology",
        {
            "nothing": ("topology", "builtin", ""),
            "two sources": ("topology.generate", "excludes", 'builtin = "abilene"\ngenerate = "star"\nn = 3'),
            "an unknown network": ("topology.builtin", "abilene", 'builtin = "abilen"'),
            "an unknown generator": ("topology.generate", "dumbbell", 'generate = "dumbell"'),
            "a file that is not there": ("topology.file", "no.gml", 'file = "no.gml"'),
            "a folder": ("topology.file", "regular file", 'file = "."'),
            "a format that is unknown": ("topology.format", "did you mean `gml`", 'file = "x.gml"\nformat = "gmll"'),
            "a parameter of another generator": ("topology.k", "`n`", 'generate = "ring"\nk = 3'),
            "a parameter of no generator": ("topology.pairs", "generate", 'builtin = "abilene"\npairs = 3'),
            "a star without arms": (
                "topology.n",
                "1 to",
                'generate = "star"\nn = 0\naccess = { rate = "1 Gbps", delay = "1 ms" }',
            ),
            "a ring of two": (
                "topology.n",
                "3 to",
                'generate = "ring"\nn = 2\nlink = { rate = "1 Gbps", delay = "1 ms" }',
            ),
            "a fat-tree with odd switches": (
                "topology.k",
                "even",
                'generate = "fat-tree"\nk = 3\nlink = { rate = "1 Gbps", delay = "1 us" }',
            ),
            "a giant fat-tree": (
                "topology.k",
                "128",
                'generate = "fat-tree"\nk = 4096\nlink = { rate = "1 Gbps", delay = "1 us" }',
            ),
            "a giant chain": (
                "topology.n",
                "500000",
                'generate = "chain"\nn = 4000000000\nlink = { rate = "1 Gbps", delay = "1 us" }',
            ),
            "a giant waxman": (
                "topology.n",
                "4096",
                'generate = "waxman"\nn = 100000\nlink = { rate = "1 Gbps" }',
            ),
            "a giant dumbbell": (
                "topology.pairs",
                "1 to",
                'generate = "dumbbell"\npairs = 100000000\naccess = { rate = "1 Gbps", delay = "1 us" }\n'
                'bottleneck = { rate = "1 Gbps", delay = "1 us" }',
            ),
            "alpha of zero": (
                "topology.alpha",
                "up to 1",
                'generate = "waxman"\nn = 5\nalpha = 0.0\nlink = { rate = "1 Gbps" }',
            ),
            "beta above one": (
                "topology.beta",
                "up to 1",
                'generate = "waxman"\nn = 5\nbeta = 1.5\nlink = { rate = "1 Gbps" }',
            ),
            "a size that is no number": (
                "topology.size_km",
                "finite",
                'generate = "waxman"\nn = 5\nsize_km = nan\nlink = { rate = "1 Gbps" }',
            ),
            "a chain without links": ("topology.link", "rate", 'generate = "chain"\nn = 3'),
            "a chain without n": (
                "topology.n",
                "n = 4",
                'generate = "chain"\nlink = { rate = "1 Gbps", delay = "1 ms" }',
            ),
            "a dumbbell without a bottleneck": (
                "topology.bottleneck",
                "rate",
                'generate = "dumbbell"\naccess = { rate = "1 Gbps", delay = "1 ms" }',
            ),
            "a link without a delay": (
                "topology.link.delay",
                "5 ms",
                'generate = "ring"\nn = 3\nlink = { rate = "1 Gbps" }',
            ),
            "a rate of zero": ("topology.rate", "above", 'builtin = "abilene"\nrate = "0 Mbps"'),
            "a rate beyond light": ("topology.rate", "100 Tbps", 'builtin = "abilene"\nrate = "1000 Tbps"'),
            "a network without rates": ("topology.links[0].rate", "rate", 'links = [{ a = "a", b = "b" }]'),
            "a least delay of zero": ("topology.min_delay", "above zero", 'builtin = "abilene"\nmin_delay = "0 s"'),
            "a delay of a year": ("topology.delay", "1000 s", 'builtin = "abilene"\nrate = "1 Mbps"\ndelay = "1 h"'),
            "a negative radius": ("topology.radius", "whole number", 'builtin = "abilene"\nradius = -1'),
            "many hosts at each node": (
                "topology.hosts.per_node",
                "nodes",
                'builtin = "abilene"\nrate = "1 Mbps"\nhosts = { per_node = 1000000000 }',
            ),
            "hosts counted twice": (
                "topology.hosts.total",
                "one",
                'builtin = "abilene"\nrate = "1 Mbps"\nhosts = { per_node = 1, total = 3 }',
            ),
            "hosts at a class that nobody has": (
                "topology.hosts.on",
                "backbone",
                'builtin = "abilene"\nrate = "1 Mbps"\nhosts = { on = "core" }',
            ),
            "a rule of an unknown class": (
                "topology.rules[0].from",
                "backbone",
                'builtin = "abilene"\nrate = "1 Mbps"\nrules = [{ from = "bakcbone", to = "*", rate = "1 Mbps" }]',
            ),
            "a rule with an MTU of 10": (
                "topology.rules[0].mtu",
                "68",
                'builtin = "abilene"\nrate = "1 Mbps"\nrules = [{ from = "*", to = "*", mtu = 10 }]',
            ),
            "links and a network": ("topology.links", "excludes", f'builtin = "abilene"\n{SMALL}'),
            "nodes without links": ("topology", "links", 'nodes = [{ name = "a" }]'),
            "no links": ("topology.links", "link", "links = []"),
        },
    ),
    "links": _in(
        "topology",
        {
            "a link to itself": (
                "topology.links[0].b",
                "itself",
                'links = [{ a = "r", b = "r", rate = "1 Mbps", delay = "1 ms" }]',
            ),
            "a rate of zero": (
                "topology.links[0].rate",
                "zero",
                'links = [{ a = "a", b = "b", rate = "0 bps", delay = "1 ms" }]',
            ),
            "no rate": ("topology.links[0].rate", "default_rate", 'links = [{ a = "a", b = "b", delay = "1 ms" }]'),
            "a rate back of zero": (
                "topology.links[0].rate_back",
                "zero",
                'links = [{ a = "a", b = "b", rate = "1 Mbps", rate_back = "0 bps", delay = "1 ms" }]',
            ),
            "an MTU of 67": (
                "topology.links[0].mtu",
                "68",
                'links = [{ a = "a", b = "b", rate = "1 Mbps", delay = "1 ms", mtu = 67 }]',
            ),
            "an MTU of 100000": (
                "topology.links[0].mtu",
                "65535",
                'links = [{ a = "a", b = "b", rate = "1 Mbps", delay = "1 ms", mtu = 100000 }]',
            ),
            "corruption of everything": (
                "topology.links[0].corruption",
                "below 100 %",
                'links = [{ a = "a", b = "b", rate = "1 Mbps", delay = "1 ms", corruption = "100 %" }]',
            ),
            "corruption above everything": (
                "topology.links[0].corruption",
                "below 100 %",
                'links = [{ a = "a", b = "b", rate = "1 Mbps", delay = "1 ms", corruption = "200 %" }]',
            ),
            "an unknown queue": (
                "topology.links[0].queue",
                "queues",
                'links = [{ a = "a", b = "b", rate = "1 Mbps", delay = "1 ms", queue = "deep" }]',
            ),
            "an unknown key": (
                "topology.links[0].dealy",
                "delay",
                'links = [{ a = "a", b = "b", rate = "1 Mbps", dealy = "1 ms" }]',
            ),
            "an end left out": ("topology.links[0]", "`b`", 'links = [{ a = "a", rate = "1 Mbps", delay = "1 ms" }]'),
            "a name of nothing": (
                "topology.links[0].a",
                "name",
                'links = [{ a = "", b = "b", rate = "1 Mbps", delay = "1 ms" }]',
            ),
            "a node twice": (
                "topology.nodes[1].name",
                "unique",
                'nodes = [{ name = "a" }, { name = "a" }]\nlinks = [{ a = "a", b = "b", rate = "1 Mbps", delay = "1 ms" }]',
            ),
            "a node without links": (
                "topology.links",
                "connected",
                'nodes = [{ name = "x" }]\nlinks = [{ a = "a", b = "b", rate = "1 Mbps", delay = "1 ms" }]',
            ),
            "a node of an unknown kind": (
                "topology.nodes[0].kind",
                "router",
                'nodes = [{ name = "a", kind = "switch" }]\nlinks = [{ a = "a", b = "b", rate = "1 Mbps" }]',
            ),
            "a place that is no number": (
                "topology.nodes[0].x",
                "finite",
                'nodes = [{ name = "a", x = nan, y = 1.0 }]\n'
                'links = [{ a = "a", b = "b", rate = "1 Mbps", delay = "1 ms" }]',
            ),
            "a host with two links to others": (
                "topology.links",
                "forward",
                'nodes = [{ name = "r", kind = "host" }]\nlinks = [{ a = "a", b = "r", rate = "1 Mbps", delay = "1 ms" }, '
                '{ a = "r", b = "b", rate = "1 Mbps", delay = "1 ms" }]',
            ),
        },
    ),
    "queue": _in(
        "queue",
        {
            "room for nothing": ("queue.limit", "packet", 'limit = "0 B"'),
            "no packets": ("queue.limit", "packet", 'limit = "0 packets"'),
            "no time": ("queue.limit", "packet", 'limit = "0 ms"'),
            "half a byte": ("queue.limit", "whole", 'limit = "1500.5 B"'),
            "a limit without a unit": ("queue.limit", "50 ms", "limit = 100"),
            "a limit in a rate": ("queue.limit", "100 packets", 'limit = "10 Mbps"'),
            "a negative limit": ("queue.limit", "100 packets", 'limit = "-5 packets"'),
            "half a packet": ("queue.limit", "100 packets", 'limit = "2.5 packets"'),
            "an unknown kind": ("queue.kind", "codel", 'kind = "codle"'),
            "a key with a typing error": ("queue.limt", "`limit`", 'limt = "20 ms"'),
            "a step without a threshold": ("queue.threshold", "65 packets", 'kind = "step"'),
            "a threshold of nothing above the limit": (
                "queue.threshold",
                "limit",
                'kind = "step"\nlimit = "20 kB"\nthreshold = "30 kB"',
            ),
            "a threshold for drop-tail": ("queue.threshold", "scheduler", 'threshold = "9 packets"'),
            "RED upside down": ("queue.max", "above `min`", 'kind = "red"\nmin = "9 kB"\nmax = "8 kB"'),
            "RED in two measures": ("queue.max", "must both be", 'kind = "red"\nmin = "9 kB"\nmax = "8 packets"'),
            "RED with certainty above one": ("queue.max_p", "at most", 'kind = "red"\nmax_p = "150 %"'),
            "RED with a weight of nothing": ("queue.weight", "above 0", 'kind = "red"\nweight = "0 %"'),
            "CoDel without an interval": ("queue.interval", "above zero", 'kind = "codel"\ninterval = "0 ms"'),
            "CoDel without a target": ("queue.target", "above zero", 'kind = "codel"\ntarget = "0 ms"'),
            "a switch's clock that wraps": (
                "queue.interval",
                "2 s",
                'kind = "codel"\nvariant = "data-plane"\ninterval = "3 s"',
            ),
            "an unknown variant": ("queue.variant", "rfc8289", 'kind = "codel"\nvariant = "rfc"'),
            "no quantum": ("queue.quantum", "above zero", 'kind = "drr"\nquantum = "0 B"'),
            "a quantum of terabytes": ("queue.quantum", "4 GiB", 'kind = "drr"\nquantum = "5 TB"'),
            "a quantum without fair queueing": ("queue.quantum", "scheduler", 'quantum = "1500 B"'),
            "a signal without a choice": ("queue.signal", "kind", 'signal = "drop"'),
            "an unknown signal": ("queue.signal", "ce", 'kind = "codel"\nsignal = "ecn"'),
            "a limit beyond memory": ("queue.limit", "100 packets", 'limit = "1e30 B"'),
        },
    )
    | {
        "a host's queue without room": ("host_queue.limit", "packet", {"more": '[host_queue]\nlimit = "0 B"'}),
        "a named queue without room": ("queues.deep.limit", "packet", {"more": '[queues.deep]\nlimit = "0 B"'}),
        "a scheme's queue without room": (
            "schemes.newreno.queue.limit",
            "packet",
            {"more": '[schemes.newreno.queue]\nlimit = "0 packets"'},
        ),
        "a text for a queue": ("queues.deep", "table", {"more": '[queues]\ndeep = "20 ms"'}),
    },
    "routing": {
        "an unknown metric": ("routing.metric", "weight", {"more": '[routing]\nmetric = "cost"'}),
        "ECMP by a word that is not known": ("routing.ecmp", "symmetric", {"more": '[routing]\necmp = "on"'}),
        "ECMP as a truth": ("routing.ecmp", "text", {"more": "[routing]\necmp = true"}),
        "an unknown key": ("routing.metrik", "metric", {"more": '[routing]\nmetrik = "hops"'}),
    },
    "flow": _flow(
        {
            "from nowhere": ("from", "`a`", 'from = "x"\nto = "b"\nsize = "1 kB"'),
            "to nowhere": ("to", "host", 'from = "a"\nto = "z"\nsize = "1 kB"'),
            "to itself": ("to", "another host", 'from = "a"\nto = "a"\nsize = "1 kB"'),
            "from a router": ("from", "host", 'from = "r"\nto = "b"\nsize = "1 kB"'),
            "no bytes": ("size", "at least", 'from = "a"\nto = "b"\nsize = "0 B"'),
            "half a byte": ("size", "whole", 'from = "a"\nto = "b"\nsize = "1.5 B"'),
            "a size without a unit": ("size", "B", 'from = "a"\nto = "b"\nsize = 1000'),
            "none of it": ("count", "at least 1", 'from = "a"\nto = "b"\nsize = "1 kB"\ncount = 0'),
            "49 million of it": ("count", "memory", 'from = "a"\nto = "b"\nsize = "1 kB"\ncount = 49000000'),
            "a billion of it": ("count", "at most", 'from = "a"\nto = "b"\nsize = "1 kB"\ncount = 1000000000'),
            "a negative count": ("count", "whole number", 'from = "a"\nto = "b"\nsize = "1 kB"\ncount = -1'),
            "a rate of zero": ("rate", "above zero", 'from = "a"\nto = "b"\nsize = "1 kB"\nrate = "0 bps"'),
            "a rate as a number": ("rate", '"50 Mbps"', 'from = "a"\nto = "b"\nrate = 50000000'),
            "over before it starts": (
                "stop",
                "later",
                'from = "a"\nto = "b"\nsize = "1 kB"\nstart = "5 ms"\nstop = "4 ms"',
            ),
            "an unknown scheme": ("scheme", "cubic", 'from = "a"\nto = "b"\nsize = "1 kB"\nscheme = "cubik"'),
            "the ideal for one flow": ("scheme", "whole run", 'from = "a"\nto = "b"\nsize = "1 kB"\nscheme = "ideal"'),
            "a weight of zero": ("weight", "1e-12", 'from = "a"\nto = "b"\nsize = "1 kB"\nweight = 0.0'),
            "a weight that is no number": ("weight", "finite", 'from = "a"\nto = "b"\nsize = "1 kB"\nweight = nan'),
            "an unknown replica": (
                "replicas[0]",
                "host",
                'from = "a"\nto = "b"\nsize = "1 kB"\nobject = "film"\nreplicas = ["x"]',
            ),
            "a replica that would fetch": (
                "replicas[0]",
                "fetch",
                'from = "a"\nto = "b"\nsize = "1 kB"\nobject = "film"\nreplicas = ["b"]',
            ),
            "an unknown key": ("sise", "size", 'from = "a"\nto = "b"\nsise = "1 kB"'),
            "a network's scheme": (
                "scheme",
                "carries no flows",
                'from = "a"\nto = "b"\nsize = "1 kB"\nscheme = "rpm"',
            ),
        }
    )
    | {"no receiver": ("flow[0]", "`to`", {"flow": 'from = "a"\nsize = "1 kB"'})},
    "workload": _workload(
        {
            "no arrivals": ("arrivals", "list", {"arrivals": None}),
            "arrivals and a list": ("arrivals", "list", {"list": '{ file = "x.csv" }'}),
            "no sizes": ("sizes", "fixed", {"sizes": None}),
            "two ends": ("duration", "until", {"duration": '"1 s"'}),
            "over before it starts": ("until", "starts", {"start": '"600 ms"'}),
            "no flows": ("flows", "at least 1", {"flows": "0"}),
            "a load in a rate": (
                "arrivals.load",
                "load_of",
                {"arrivals": '{ kind = "poisson", load = "20 Gbps" }'},
            ),
            "a load as a number": ("arrivals.load", "50 %", {"arrivals": '{ kind = "poisson", load = 0.5 }'}),
            "a negative load": ("arrivals.load", "50 %", {"arrivals": '{ kind = "poisson", load = "-50 %" }'}),
            "no load": ("arrivals.load", "above", {"arrivals": '{ kind = "poisson", load = "0 %" }'}),
            "neither rate nor load": ("arrivals.rate_per_s", "load", {"arrivals": '{ kind = "poisson" }'}),
            "rate and load": (
                "arrivals.rate_per_s",
                "one",
                {"arrivals": '{ kind = "poisson", rate_per_s = 5.0, load = "5 %" }'},
            ),
            "a load of nothing known": (
                "arrivals.load_of",
                "receivers",
                {"arrivals": '{ kind = "poisson", load = "5 %", load_of = "routers" }'},
            ),
            "a load of a link that is not there": (
                "arrivals.load_of",
                "neighbours",
                {"arrivals": '{ kind = "poisson", load = "5 %", load_of = "link:a>b" }'},
            ),
            "a rate below zero": (
                "arrivals.rate_per_s",
                "above",
                {"arrivals": '{ kind = "poisson", rate_per_s = -5.0 }'},
            ),
            "an infinite rate": (
                "arrivals.rate_per_s",
                "finite",
                {"arrivals": '{ kind = "poisson", rate_per_s = inf }'},
            ),
            "a rate of too many": ("arrivals", "at most", {"arrivals": '{ kind = "poisson", rate_per_s = 1e12 }'}),
            "a rate of many": ("arrivals", "memory", {"arrivals": '{ kind = "poisson", rate_per_s = 9e7 }'}),
            "an unknown kind": ("arrivals.kind", "poisson", {"arrivals": '{ kind = "poison", load = "5 %" }'}),
            "no kind": ("arrivals", "kind", {"arrivals": '{ load = "5 %" }'}),
            "a key of another kind": (
                "arrivals.hurst",
                "load",
                {"arrivals": '{ kind = "poisson", load = "5 %", hurst = 0.8 }'},
            ),
            "a period of nothing": (
                "arrivals.interval",
                "above zero",
                {"arrivals": '{ kind = "periodic", interval = "0 s" }'},
            ),
            "a period of a picosecond": (
                "arrivals",
                "at most",
                {"arrivals": '{ kind = "periodic", interval = "1 ps" }'},
            ),
            "a Hurst parameter of a half": (
                "arrivals.hurst",
                "between",
                {
                    "arrivals": '{ kind = "ppbp", hurst = 0.5, mean_burst = "1 ms", burst_rate = "1 Mbps", load = "5 %" }',
                    "sizes": None,
                },
            ),
            "sizes for bursts": (
                "sizes",
                "poisson",
                {
                    "arrivals": '{ kind = "ppbp", hurst = 0.8, mean_burst = "1 ms", burst_rate = "1 Mbps", load = "5 %" }'
                },
            ),
            "bursts without end": (
                "arrivals.mean_burst",
                "above zero",
                {
                    "arrivals": '{ kind = "ppbp", hurst = 0.8, mean_burst = "0 ms", burst_rate = "1 Mbps", load = "5 %" }',
                    "sizes": None,
                },
            ),
            "sizes of nothing": ("sizes.size", "at least", {"sizes": '{ kind = "fixed", size = "0 B" }'}),
            "a Pareto without a mean": (
                "sizes.shape",
                "above 1",
                {"sizes": '{ kind = "pareto", mean = "1 MB", shape = 1.0 }'},
            ),
            "a Pareto upside down": (
                "sizes.max",
                "min",
                {"sizes": '{ kind = "bounded-pareto", min = "2 MB", max = "1 MB", shape = 1.2 }'},
            ),
            "a deviation below zero": (
                "sizes.sigma",
                "from 0",
                {"sizes": '{ kind = "log-normal", mean = "1 MB", sigma = -1.0 }'},
            ),
            "mean and median": (
                "sizes.mean",
                "one",
                {"sizes": '{ kind = "log-normal", mean = "1 MB", median = "1 MB", sigma = 1.0 }'},
            ),
            "an unknown distribution": ("sizes.name", "web-search", {"sizes": '{ kind = "cdf", name = "web" }'}),
            "a distribution from nowhere": ("sizes.file", "no.txt", {"sizes": '{ kind = "cdf", file = "no.txt" }'}),
            "a name and a file": (
                "sizes.name",
                "one",
                {"sizes": '{ kind = "cdf", name = "web-search", file = "no.txt" }'},
            ),
            "sizes as a text": ("sizes", "kind", {"sizes": '"1 MB"'}),
            "an incast to nobody": ("matrix.to", "host", {"matrix": '{ kind = "incast", to = "x" }'}),
            "more senders than there are": (
                "matrix.senders",
                "1",
                {"matrix": '{ kind = "incast", to = "a", senders = 5 }'},
            ),
            "more pairs than there are": ("matrix.pairs", "2", {"matrix": '{ kind = "random", pairs = 100 }'}),
            "no pairs": ("matrix.pairs", "no pair", {"matrix": '{ kind = "pairs", pairs = [] }'}),
            "a pair with itself": ("matrix.pairs[0]", "itself", {"matrix": '{ kind = "pairs", pairs = [["a", "a"]] }'}),
            "a pair of three": ("matrix", "2", {"matrix": '{ kind = "pairs", pairs = [["a", "b", "a"]] }'}),
            "a host that weighs less than nothing": (
                "matrix.weights.a",
                "0",
                {"matrix": '{ kind = "gravity", weights = { a = -1.0 } }'},
            ),
            "a gravity without weight": (
                "matrix.weights",
                "above",
                {"matrix": '{ kind = "gravity", weights = { a = 0.0, b = 0.0 } }'},
            ),
            "weights of strangers": (
                "matrix.weights.x",
                "host",
                {"matrix": '{ kind = "gravity", weights = { x = 1.0 } }'},
            ),
            "rounds over a gravity": (
                "matrix",
                "fixed set of pairs",
                {"matrix": '{ kind = "gravity" }', "arrivals": '{ kind = "once" }'},
            ),
            "one host": ("matrix", "at least 2", {"hosts": '["a"]'}),
            "gravity by people whom the map lacks": (
                "matrix.by",
                "population",
                {"matrix": '{ kind = "gravity", by = "population" }'},
            ),
            "gravity by something else": ("matrix.by", "capacity", {"matrix": '{ kind = "gravity", by = "people" }'}),
            "a matrix that is not there": ("matrix.file", "m.csv", {"matrix": '{ kind = "file", file = "m.csv" }'}),
            "hosts beside a matrix from a file": (
                "hosts",
                "itself",
                {"matrix": '{ kind = "file", file = "m.csv" }', "hosts": '["a"]', "files": {"m.csv": MATRIX}},
            ),
            "a stranger in a matrix": (
                "matrix.file",
                "line 2",
                {"matrix": '{ kind = "file", file = "m.csv" }', "files": {"m.csv": "from,to,rate\na,x,1 Mbps\n"}},
            ),
            "a matrix without a head": (
                "matrix.file",
                "from,to,rate",
                {"matrix": '{ kind = "file", file = "m.csv" }', "files": {"m.csv": "a,b,1 Mbps\nb,a,1 Mbps\n"}},
            ),
            "a rate of a parsec": (
                "matrix.file",
                "20 Mbps",
                {"matrix": '{ kind = "file", file = "m.csv" }', "files": {"m.csv": "from,to,rate\na,b,1 pc\n"}},
            ),
            "the rates of a matrix that has none": (
                "arrivals.load_of",
                "10 Gbps",
                {"arrivals": '{ kind = "poisson", load = "50 %", load_of = "matrix" }'},
            ),
            "hosts of no such name": ("hosts[0]", "host", {"hosts": '["x*"]'}),
            "no objects": ("objects.count", "at least 1", {"objects": "{ count = 0 }"}),
            "objects of an unpopular sort": (
                "objects.popularity",
                "0",
                {"objects": "{ count = 3, popularity = -1.0 }"},
            ),
            "an unknown scheme": ("scheme", "cubic", {"scheme": '"cubik"'}),
            "a weight below zero": ("weight", "1e-12", {"weight": "-1.0"}),
            "an unknown key": ("size", "sizes", {"size": '"1 kB"'}),
        }
    ),
    "list": {
        name: (
            "workload[0].list.file",
            says,
            {"flow": None, "more": '[[workload]]\nlist = { file = "f.csv" }', "files": {"f.csv": text}},
        )
        for name, (says, text) in {
            "empty": ("src", ""),
            "no header": ("src", "a,b,1000,0\n"),
            "a column too few": ("start", "src,dst,size\na,b,1000\n"),
            "an unknown column": ("line 1", "src,dst,size,start,colour\na,b,1000,0,red\n"),
            "an unknown host": ("line 2", "src,dst,size,start\na,x,1000,0\n"),
            "to itself": ("line 3", "src,dst,size,start\na,b,1000,0\na,a,1000,0\n"),
            "no bytes": ("line 2", "src,dst,size,start\na,b,0,0\n"),
            "words": ("line 2", "src,dst,size,start\na,b,many,0\n"),
            "a row too short": ("line 2", "src,dst,size,start\na,b,1000\n"),
            "before the beginning": ("line 2", "src,dst,size,start\na,b,1000,-1\n"),
            "not text": ("UTF-8", "src,dst,size,start\na,b,\udcff,0\n"),
        }.items()
    }
    | {
        "a pipe": (
            "workload[0].list.file",
            "regular file",
            {"flow": None, "more": '[[workload]]\nlist = { file = "pipe" }', "files": {"pipe": PIPE}},
        ),
        "not there": (
            "workload[0].list.file",
            "no.csv",
            {"flow": None, "more": '[[workload]]\nlist = { file = "no.csv" }'},
        ),
        "sizes beside it": (
            "workload[0].sizes",
            "list",
            {
                "flow": None,
                "more": '[[workload]]\nlist = { file = "f.csv" }\nsizes = { kind = "fixed", size = "1 kB" }',
                "files": {"f.csv": "src,dst,size,start\na,b,1000,0\n"},
            },
        ),
    },
    "files": {
        name: ("topology.file", says, {"topology": f'file = "{file}"\nrate = "1 Mbps"', "files": {file: text}})
        for name, (file, says, text) in {
            "GML cut off": ("x.gml", "line", 'graph [ node [ id 0 label "a"'),
            "GML with an edge to nowhere": ("x.gml", "3", "graph [ node [ id 0 ] edge [ source 0 target 3 ] ]"),
            "GraphML that is not XML": ("x.graphml", "XML", "graph"),
            "JSON cut off": ("x.json", "line", '{"nodes": ['),
            "JSON without nodes": ("x.json", "nodes", "[]"),
            "a map of nothing": ("x.cch", "no nodes", "\n\n"),
            "an empty file": ("x.gml", "graph", ""),
            "numbers that are none": ("x.txt", "`format`", "three four five\n"),
            "a pipe": ("pipe.gml", "regular file", PIPE),
        }.items()
    },
    "deploy": {
        name: (f"deploy[0].{key}" if key else "deploy[0]", says, {"more": f"[[deploy]]\n{text}"})
        for name, (key, says, text) in {
            "an unknown scheme": ("scheme", "inrpp", 'scheme = "inrp"'),
            "a scheme without a network": ("scheme", "network", 'scheme = "cubic"'),
            "an unknown node": ("nodes[0]", "routers", 'scheme = "rpm"\nnodes = ["x"]'),
            "an unknown port": ("ports[0]", "r0>r1", 'scheme = "rpm"\nports = ["a>b"]'),
            "a port that is not written as one": ("ports[0]", ">", 'scheme = "rpm"\nports = ["a"]'),
            "an unknown queue": ("queue", "queues", 'scheme = "none"\nqueue = "deep"'),
            "an unknown parameter": ("params.x", "registers", 'scheme = "rpm"\nparams = { x = 1 }'),
            "an unknown key": ("node", "nodes", 'scheme = "rpm"\nnode = ["r"]'),
        }.items()
    }
    | {
        "a flow whose scheme runs nowhere": (
            "scheme",
            "deploy",
            {"head": 'scheme = "fcp"', "more": '[[deploy]]\nscheme = "none"'},
        ),
        "said twice": (
            "scheme",
            "deploy",
            {"head": 'scheme = "cubic+rpm"', "more": '[[deploy]]\nscheme = "rpm"'},
        ),
    },
    "schemes": {
        name: (
            f"schemes.{key}",
            says,
            {"head": f'scheme = "{key.split(".")[0]}"', "more": f"[schemes.{table}]\n{text}"},
        )
        for name, (key, table, says, text) in {
            "an unknown parameter": ("cubic.betta", "cubic", "beta", "betta = 0.7"),
            "beta above one": ("cubic.beta", "cubic", "1", "beta = 1.7"),
            "beta in words": ("cubic.beta", "cubic", "ratio", 'beta = "most"'),
            "a window of nothing": ("newreno.initial_window", "newreno", "at least", "initial_window = 0"),
            "a window beyond memory": ("newreno.receive_window", "newreno", "1 GiB", 'receive_window = "1 TB"'),
            "a timeout of nothing": ("newreno.min_rto", "newreno", "above", 'min_rto = "0 s"'),
            "g above one": ("dctcp.g", "dctcp", "1", "g = 2.0"),
            "a cache of nothing": ("inrpp.cache", "inrpp", "above", 'cache = "0 B"'),
            "a mark above the cache": ("inrpp.high", "inrpp", "cache", 'cache = "1 MB"\nhigh = "2 MB"'),
            "an unknown recovery": ("newreno.recovery", "newreno", "prr", 'recovery = "fast"'),
            "unfair fairness": ("ideal.fairness", "ideal", "max-min", 'fairness = "unfair"'),
            "a truth for ECN": ("cubic.ecn", "cubic", "accurate", "ecn = 3"),
        }.items()
    }
    | {
        "an unknown scheme": ("schemes.cubik", "cubic", {"more": "[schemes.cubik]\nbeta = 0.7"}),
        "a number for a scheme": ("schemes.cubic", "table", {"more": "[schemes]\ncubic = 3"}),
    },
    "fault": {
        name: (f"fault[0].{key}" if key else "fault[0]", says, {"more": f"[[fault]]\n{text}"})
        for name, (key, says, text) in {
            "over before it begins": (
                "until",
                "later",
                'at = "500 ms"\nuntil = "400 ms"\nkind = "link-down"\nlink = ["a", "r"]',
            ),
            "an unknown kind": ("kind", "link-down", 'at = "1 ms"\nkind = "down"\nlink = ["a", "r"]'),
            "no link": ("link", "required", 'at = "1 ms"\nkind = "link-down"'),
            "a link that is not there": ("link", "between", 'at = "1 ms"\nkind = "link-down"\nlink = ["a", "b"]'),
            "a node that is not there": ("link[1]", "node", 'at = "1 ms"\nkind = "link-down"\nlink = ["a", "x"]'),
            "a link with one end": ("link", "2", 'at = "1 ms"\nkind = "link-down"\nlink = ["a"]'),
            "a rate of nothing": ("rate", "link-down", 'at = "1 ms"\nkind = "rate"\nlink = ["a", "r"]\nrate = "0 bps"'),
            "a rate left out": ("rate", "required", 'at = "1 ms"\nkind = "rate"\nlink = ["a", "r"]'),
            "a delay of nothing": ("delay", "above", 'at = "1 ms"\nkind = "delay"\nlink = ["a", "r"]\ndelay = "0 s"'),
            "a delay of hours": ("delay", "1000 s", 'at = "1 ms"\nkind = "delay"\nlink = ["a", "r"]\ndelay = "2 h"'),
            "a key of another kind": (
                "rate",
                "does not apply",
                'at = "1 ms"\nkind = "link-down"\nlink = ["a", "r"]\nrate = "1 Mbps"',
            ),
            "a restart of a link": ("link", "does not apply", 'at = "1 ms"\nkind = "restart"\nlink = ["a", "r"]'),
            "a restart of a stranger": ("node", "node", 'at = "1 ms"\nkind = "restart"\nnode = "x"'),
            "no time": ("", "`at`", 'kind = "restart"\nnode = "r"'),
        }.items()
    },
    "vary": {
        name: (f"vary[0].{key}" if key else "vary[0]", says, {"more": f'[[vary]]\nlink = ["a", "r"]\n{text}'})
        for name, (key, says, text) in {
            "nothing": ("", "`steps`", ""),
            "a schedule twice": (
                "file",
                "beside",
                'file = "s.csv"\nsteps = [{ at = "1 s", rate = "1 Mbps" }]',
            ),
            "steps out of order": (
                "steps[1].at",
                "later",
                'steps = [{ at = "1 s", rate = "1 Mbps" }, { at = "1 s", rate = "2 Mbps" }]',
            ),
            "a step that changes nothing": ("steps[0]", "`rate`", 'steps = [{ at = "1 s" }]'),
            "a rate of nothing": ("steps[0].rate", "link-down", 'steps = [{ at = "1 s", rate = "0 bps" }]'),
            "a delay of nothing": ("steps[0].delay", "above", 'steps = [{ at = "1 s", delay = "0 s" }]'),
            "a step after its round": (
                "steps[0].at",
                "within",
                'repeat = "1 s"\nsteps = [{ at = "2 s", rate = "1 Mbps" }]',
            ),
            "a round of nothing": (
                "steps[0].at",
                "within",
                'repeat = "0 s"\nsteps = [{ at = "0 s", rate = "1 Mbps" }]',
            ),
            "a round without a schedule": ("repeat", "`steps`", 'repeat = "1 s"\nloss = { p = "1 %", r = "10 %" }'),
            "a trillion rounds": ("", "1000000", 'repeat = "1 ps"\nsteps = [{ at = "0 s", rate = "1 Mbps" }]'),
            "a trace that is not there": ("trace", "cannot be read", 'trace = "none.trace"'),
            "a schedule that is not there": ("file", "cannot be read", 'file = "none.csv"'),
            "a law unknown": ("jitter.law", "uniform", 'jitter = { law = "gauss" }'),
            "a law without its mean": ("jitter.mean", "required", 'jitter = { law = "exponential" }'),
            "a law with another's key": (
                "jitter.sd",
                "does not apply",
                'jitter = { law = "uniform", max = "1 ms", sd = "1 ms" }',
            ),
            "a tail without a mean": (
                "jitter.shape",
                "above 1",
                'jitter = { law = "pareto", mean = "1 ms", shape = 1.0 }',
            ),
            "a state without a way back": ("loss.r", "above", 'loss = { p = "1 %", r = "0 %" }'),
            "more loss than all": ("loss.bad", "100 %", 'loss = { p = "1 %", r = "1 %", bad = "200 %" }'),
        }.items()
    },
    "links taken out": {
        name: (f"topology.without{key}", says, {"topology": f"{SMALL}\nwithout = {text}"})
        for name, (key, says, text) in {
            "a node that is not there": ("[0][1]", "node", '[["a", "x"]]'),
            "a link that is not there": ("[0]", "links to `r`", '[["a", "b"]]'),
            "flows that are cut off": ("", "1 of 1 flows have no route: flow 0 from `a` to `b`", '[["r", "b"]]'),
            "one end": ("[0]", "2", '[["a"]]'),
        }.items()
    },
    "measure": {
        name: (f"measure.{key}", says, {"more": f"[measure]\n{text}"})
        for name, (key, says, text) in {
            "a billion points": ("points", "at most", "series = true\npoints = 1000000000"),
            "no points": ("points", "at least", "series = true\npoints = 0"),
            "an interval of a picosecond": ("interval", "at least", 'series = true\ninterval = "1 ps"'),
            "an interval of nothing": ("interval", "at least", 'series = true\ninterval = "0 s"'),
            "a negative number of ports": ("ports", "whole number", "series = true\nports = -1"),
            "more flows than a number holds": ("flows", "whole number", "series = true\nflows = 5000000000"),
            "a capture from nowhere": ("pcap[0].from", "node", 'pcap = [{ from = "x", to = "r" }]'),
            "a capture between strangers": ("pcap[0].to", "neighbour", 'pcap = [{ from = "a", to = "b" }]'),
            "a capture of nothing": ("pcap[0].packets", "at least", 'pcap = [{ from = "a", to = "r", packets = 0 }]'),
            "a capture of everything": (
                "pcap[0].packets",
                "at most",
                'pcap = [{ from = "a", to = "r", packets = 4000000000 }]',
            ),
            "a capture twice": (
                "pcap[1]",
                "twice",
                'pcap = [{ from = "a", to = "r" }, { from = "a", to = "r" }]',
            ),
            "an unknown key": ("serie", "series", "serie = true"),
        }.items()
    },
    "trace": {
        name: (f"trace.{key}", says, {"more": f"[trace]\n{text}"})
        for name, (key, says, text) in {
            "a window after the run": ("from", "outside the run", 'from = "4.2 s"\nfor = "200 ms"'),
            "a window of nothing": ("for", "above zero", 'for = "0 s"'),
            "a node that is not there": ("nodes[1]", "node", 'nodes = ["a", "x"]'),
            "no nodes": ("nodes", "empty", "nodes = []"),
            "a flow that is not there": ("flows[0]", "no flow 3", "flows = [3]"),
            "no flows": ("flows", "empty", "flows = []"),
            "no events": ("events", "out of range", "events = 0"),
            "more events than memory": ("events", "out of range", "events = 4000000000"),
            "an unknown key": ("node", "nodes", 'node = "a"'),
        }.items()
    },
}


# Tables of the schema, and the path at which a scenario has them.
TABLES = {
    "QueueTable": "queue",
    "RoutingSpec": "routing",
    "MeasureSpec": "measure",
    "TraceSpec": "trace",
    "TopologySpec": "topology",
    "HostsSpec": "topology.hosts",
    "LinkParams": "topology.link",
    "LinkSpec": "topology.links[0]",
    "NodeSpec": "topology.nodes[0]",
    "RuleSpec": "topology.rules[0]",
    "ExplicitFlow": "flow[0]",
    "WorkloadSpec": "workload[0]",
    "ObjectSpec": "workload[0].objects",
    "ListSpec": "workload[0].list",
    "FaultSpec": "fault[0]",
    "VarySpec": "vary[0]",
    "DeploySpec": "deploy[0]",
    "PcapSpec": "measure.pcap[0]",
}


def of_schema(schema: dict[str, Any]) -> Iterator[Case]:
    """Each key of each table, with a value of a wrong type, and with a text that is no quantity where it takes one."""
    for table, path in TABLES.items():
        for key, found in schema["$defs"][table]["properties"].items():
            for wrong, says in _wrong(schema, found):
                full = f"{path}.{key}"
                yield Case(f"{path} (schema)", f"{key} = {wrong}", _with(path, f"{key} = {wrong}"), full, says)


def _with(path: str, line: str) -> str:
    """A scenario with `line` in the table at `path`, and with nothing else in that table."""
    if path.startswith(("flow", "workload", "fault", "deploy", "vary")):
        table, _, inner = path.partition("[0]")
        body = f"{inner[1:]} = {{ {line} }}" if inner else line
        return f"[topology]\n{SMALL}\n\n[[{table}]]\n{body}\n"
    if "[0]" in path:
        table, _, inner = path.removesuffix("[0]").partition(".")
        return f"[{table}]\n{inner} = [{{ {line} }}]\n"
    return f"[{path}]\n{line}\n"


def _wrong(schema: dict[str, Any], found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Values that a key does not take, each with a word that the message must have."""
    kinds = _kinds(schema, found)
    text = json.dumps(kinds)
    for name, help_ in (("Time", "5 ms"), ("Rate", "Mbps"), ("Bytes", "MB"), ("Ratio", "2.5 %"), ("Limit", "packets")):
        if name in kinds:
            yield '"1 parsec"', help_
            yield "50000000", help_
            return
    if found.get("description", "").startswith("Delay") or "Delay" in kinds or "DelaySpec" in kinds:
        yield '"1 parsec"', "distance"
        yield "3", "distance"
    elif "integer" in text:
        yield '"three"', "whole number"
        yield "1.5", "whole number"
    elif "number" in text:
        yield '"three"', "number"
    elif "boolean" in text:
        yield '"yes"', "true or false"
    elif "array" in text:
        yield '"one"', "list"
    elif "string" in text:
        yield "3", "text"
    else:
        yield "3", ""


# Cases that ended in an abort, or never, before they were refused: they are run in processes of their own.
HEAVY = {"49 million of it", "a rate of many", "a pipe", "a billion points", "an interval of a picosecond"}


def _kinds(schema: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """The types that a key takes: JSON's, or the names of ours."""
    kinds: list[str] = []
    for entry in [found, *found.get("anyOf", []), *found.get("allOf", [])]:
        if "$ref" in entry:
            name = entry["$ref"].rpartition("/")[2]
            kinds += [name, *_kinds(schema, schema["$defs"][name])]
        declared = entry.get("type", [])
        kinds += [declared] if isinstance(declared, str) else declared
    return kinds
