"""Every key of a scenario, with values that are wrong for its kind: refused in one short line with key and line.

The schema says which keys there are, and of what kind. What is accepted all the same is listed here with its reason.
`EVERY_VALUE=1` tries all of some 7,000; else a fixed quarter is tried.
"""

import copy
import hashlib
import itertools
import json
import os

import pytest
import tomli_w

from midpath import _midpath
from midpath.errors import ScenarioError
from midpath.scenario import Scenario, parse

KEYS = pytest.mark.nightly("python/midpath/schema/", "python/midpath/check.py")

BASE = """
scheme = "cubic"
stop = "1 s"
[topology]
nodes = [
    { name = "a", kind = "host" },
    { name = "r", kind = "router" },
    { name = "s", kind = "router" },
    { name = "b", kind = "host" },
]
links = [
    { a = "a", b = "r", rate = "10 Mbps", delay = "1 ms" },
    { a = "r", b = "s", rate = "5 Mbps", delay = "1 ms" },
    { a = "s", b = "b", rate = "10 Mbps", delay = "1 ms" },
]
[queue]
limit = "20 ms"
[[flow]]
from = "a"

to = "b"
size = "10 kB"
[[workload]]
until = "0.5 s"
flows = 3
arrivals = { kind = "poisson", rate_per_s = 20.0 }
sizes = { kind = "fixed", size = "10 kB" }
"""
WRONG = {
    "string": ["", "5 apples", "-1 s", "nan", "1e308 s", 5, True, [], {"x": 1}, "\u202e", "x" * 5000],
    "number": [-1.0, 1e308, -1e308, 1e-308, "five", True, [], float("nan")],
    "integer": [-1, 2**64, 1.5, "five", True, [], 10**30],
    "boolean": ["yes", 3, []],
}
# Which wrong values a key may take, by the end of the key: names are any text, and amounts any that are above zero.
NAMES = ("title", "name", "budget", "group", "object", "prefix", "class", "secret")
# Of schemes that do not run here, what is named need not be there.
RESOLVED_WHERE_IT_RUNS = ("no_detours_at", "receiver", "target", "non_cooperative")
AMOUNTS = ("weight", "population", "rate_per_s")
PLACES = ("x", "y")
MOST_CHARACTERS = 200
EVERY = bool(os.environ.get("EVERY_VALUE"))


def leaves(schema):
    """The keys that hold values, as paths, with the types that they may have."""
    found = {}

    def walk(node, path, depth=0):
        while "$ref" in node:
            node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
        if depth > 7:
            return
        for way in ("anyOf", "oneOf", "allOf"):
            for part in node.get(way, []):
                walk(part, path, depth + 1)
        types = node.get("type", [])
        types = [types] if isinstance(types, str) else types
        for key, part in node.get("properties", {}).items():
            walk(part, (*path, key), depth + 1)
        if "array" in types and isinstance(node.get("items"), dict):
            walk(node["items"], (*path, 0), depth + 1)
        if "properties" not in node:
            found.setdefault(path, set()).update(kind for kind in types if kind in WRONG)

    walk(schema, ())
    return {path: sorted(types) for path, types in found.items() if types}


def put(values, path, value):
    """Sets a value, and makes the tables and lists on the way to it."""
    here = values
    for step, following in itertools.pairwise(path):
        kind = list if isinstance(following, int) else dict
        if isinstance(step, int):
            if not here:
                here.append(kind())
        elif not isinstance(here.get(step), kind):
            here[step] = kind()
        here = here[step]
    if isinstance(path[-1], int):
        here[:] = [value]
    else:
        here[path[-1]] = value


def is_fine(path, value):
    """Whether a value that looks wrong is a good one for this key."""
    key = path[-1] if path[-1] != 0 else path[-2]
    if key in NAMES + RESOLVED_WHERE_IT_RUNS and not (key == "budget" and path[0] == "schemes"):
        return isinstance(value, str)
    positive = isinstance(value, float) and value > 0
    if key in PLACES:
        return isinstance(value, float)
    if path[0] == "schemes":
        # Gains and factors: any that is above zero, unless the scheme says otherwise.
        return positive or (key == "delayed_ack" and value in (3, True))
    return key in AMOUNTS and positive


def tried(path, value, of=4):
    """A fixed part of all, one of so many, whatever the order of keys; all with `EVERY_VALUE=1`."""
    text = f"{path}{value!r}"
    return EVERY or int(hashlib.sha256(text.encode()).hexdigest(), 16) % of == 0


LEAVES = leaves(json.loads(_midpath.schema()))
PARTS = sorted({path[0] for path in LEAVES})


@KEYS
@pytest.mark.parametrize("part", PARTS)
def test_wrong_values_are_refused_in_one_short_line_with_key_and_line(part):
    base, faults = parse(BASE, None), []
    for path, types in LEAVES.items():
        for value in (value for kind in types for value in WRONG[kind] if path[0] == part and tried(path, value)):
            values = copy.deepcopy(base)
            put(values, path, value)
            try:
                Scenario(tomli_w.dumps(values)).check()
            except ScenarioError as error:
                text = str(error)
                if error.line is None or not error.key or len(text) > MOST_CHARACTERS or "\n" in text:
                    faults.append((path, value, text))
            else:
                if not is_fine(path, value):
                    faults.append((path, value, "accepted"))
    assert not faults, faults[:10]


def test_there_are_many_and_the_base_is_good():
    Scenario(BASE).check()
    assert len(LEAVES) > 500
    count = sum(tried(path, value) for path, types in LEAVES.items() for kind in types for value in WRONG[kind])
    assert count > 1000
