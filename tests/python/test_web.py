"""The simulator as WebAssembly gives the bytes that it gives natively: 50 scenarios in Node and here.

Built by `make web` (scripts/web.py); skipped where that or Node is missing.
"""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from conftest import ROOT
from midpath import _midpath
from midpath.metrics import IDEAL
from midpath.schemes import shipped

WASM = ROOT / "target/web/midpath.wasm"
RUNNER = ROOT / "tests/python/web_run.mjs"
NODE = shutil.which("node")
# What depends on the machine, as in RunOutput::repeatable.
OWN = ("wall_s", "hops_per_s", "threads", "memory_bytes")
BLOCK = re.compile(r"^```toml[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
# These name files, which a tab does not have, or take many seconds.
LEFT_OUT = {"inrpp_isp.toml", "page_load.toml"}

pytestmark = [
    pytest.mark.skipif(NODE is None, reason="no node here to run WebAssembly with"),
    pytest.mark.skipif(not WASM.is_file(), reason="no target/web/midpath.wasm: make web"),
]

ONE_LINK = """
seed = 3
stop = "2 s"
[topology]
generate = "dumbbell"
pairs = 3
bottleneck = { rate = "10 Mbps", delay = "5 ms" }
access = { rate = "100 Mbps", delay = "1 ms" }
[queue]
limit = "60 kB"
[[workload]]
arrivals = { kind = "poisson", load = "60 %", load_of = "10 Mbps" }
sizes = { kind = "pareto", mean = "30 kB", shape = 1.4 }
matrix = { kind = "random" }
until = "1 s"
[measure]
series = true
"""


# The same traffic in a backbone.
BACKBONE = (
    ONE_LINK.split("[topology]", maxsplit=1)[0]
    + """
[topology]
builtin = "abilene"
rate = "20 Mbps"
hosts = { per_node = 1, rate = "100 Mbps" }
"""
    + ONE_LINK[ONE_LINK.index("[queue]") :]
)
# Traffic that waits for traffic, writes, datagrams, groups of flows, faults.
WAITING = """
seed = 3
stop = "1500 ms"
[topology]
links = [
    { a = "s0", b = "r0", rate = "100 Mbps", delay = "1 ms" },
    { a = "s1", b = "r0", rate = "100 Mbps", delay = "1 ms" },
    { a = "r0", b = "r1", rate = "10 Mbps", delay = "5 ms" },
    { a = "r1", b = "d0", rate = "100 Mbps", delay = "1 ms" },
    { a = "r1", b = "d1", rate = "100 Mbps", delay = "1 ms" },
]
[queue]
limit = "60 kB"
[[client]]
group = "asks"
from = ["s0"]
to = ["d*"]
requests = 40
fan_out = 2
request_sizes = { kind = "fixed", size = "1 kB" }
reply_sizes = { kind = "exponential", mean = "8 kB" }
think_time = { kind = "exponential", mean = "3 ms" }
service_time = "200 us"
deadline = "60 ms"
[[job]]
group = "training"
collective = "all-reduce"
hosts = ["s1", "d1"]
size = "30 kB"
iterations = 9
compute_time = "5 ms"
[[flow]]
group = "call"
scheme = "udp"
from = "s1"
to = "d0"
write = { kind = "log-normal", mean = "900 B", sigma = 0.4 }
interval = "10 ms"
on = { kind = "exponential", mean = "100 ms" }
off = { kind = "exponential", mean = "50 ms" }
late_after = "30 ms"
[[flow]]
group = "writes"
from = "s0"
to = "d1"
write = "4 kB"
interval = "20 ms"
[[flow]]
group = "first"
from = "s0"
to = "d0"
size = "60 kB"
[[flow]]
group = "then"
from = "s1"
to = "d1"
size = "40 kB"
after = ["first"]
[[fault]]
kind = "link-down"
link = ["r0", "r1"]
at = "0.5 s"
until = "600 ms"
[[fault]]
kind = "rate"
link = ["r0", "r1"]
at = "1 s"
rate = "8 Mbps"
[measure]
series = true
"""
POLICED = WAITING.replace('limit = "60 kB"', 'limit = "60 kB"\nkind = "policer"\nrate = "9 Mbps"\nburst = "30 kB"')
IN_BACKBONE = ("bbr", "cubic", "cubic+rpm", "fcp", "hpcc", "inrpp", "mircc", "newreno@fq_codel", "rcp", "xcp", IDEAL)
# RCP raises to a power (its equation for several intervals at once), and libraries of mathematics differ in the last
# bit of that; WebAssembly has its own. Where it shows, in series, 15 digits are the same.
ROUNDED = 1e-14
RAISES = {"rcp"}


def cases():
    """The examples, each scheme on one link, some in a backbone, the pages' scenarios: 50 names and requests."""
    found = [
        (file.name, {"text": file.read_text(encoding="utf-8")})
        for file in sorted((ROOT / "examples").glob("*.toml"))
        if file.name not in LEFT_OUT
    ]
    schemes = [*shipped(), "cubic+rpm", "dctcp+rpm", "newreno@codel", "cubic@fq_codel", "dctcp@red", IDEAL]
    runnable = [scheme for scheme in schemes if accepted({"text": ONE_LINK, "scheme": scheme})]
    found += [(f"one link, {scheme}", {"text": ONE_LINK, "scheme": scheme}) for scheme in runnable]
    found += [(f"backbone, {scheme}", {"text": BACKBONE, "scheme": scheme}) for scheme in IN_BACKBONE]
    found += [
        (f"waiting, {scheme}", {"text": WAITING, "scheme": scheme}) for scheme in ("newreno", "bbr", "fcp", "inrpp")
    ]
    found += [(f"policed, {scheme}", {"text": POLICED, "scheme": scheme}) for scheme in ("newreno", "bbr")]
    for page in sorted((ROOT / "docs").rglob("*.md")):
        blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
        whole = [text for text in blocks if "topology" in text and accepted({"text": text})]
        found += [(f"{page.name}, {number}", {"text": text}) for number, text in enumerate(whole)]
    return found


def accepted(request):
    """Whether there is such a run."""
    try:
        _midpath.check(request["text"], "", scheme=request.get("scheme"), seed=None)
    except Exception:
        return False
    return True


def ask(requests, folder):
    """The answers of the simulator in Node."""
    command = [NODE, str(RUNNER), str(WASM), str(folder)]
    done = subprocess.run(command, input=json.dumps(requests), capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    return [(one, (folder / str(i)).read_bytes() if "ms" in one else b"") for i, one in enumerate(said)]


def opened(answer):
    """An answer's JSON, and what it lists."""
    length = int.from_bytes(answer[:4], "little")
    return json.loads(answer[4 : 4 + length]), answer[4 + length :]


def cut(body, place):
    return body[place["at"] : place["at"] + place["bytes"]]


def repeatable(text):
    return {key: value for key, value in json.loads(text).items() if key not in OWN}


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    listed = cases()
    answers = ask([{"ask": "run", **request} for _, request in listed], tmp_path_factory.mktemp("web"))
    return [(name, request, *answer) for (name, request), answer in zip(listed, answers, strict=True)]


def test_there_are_fifty(compared):
    assert len(compared) >= 50


def test_the_bytes_are_the_same(compared):
    differ = [name for name, request, said, answer in compared if not is_native(request, said, answer)]
    assert differ == []


def is_native(request, said, answer):
    if not answer:
        return False
    head, body = opened(answer)
    run, tables, files = _midpath.run(request["text"], "", scheme=request.get("scheme"), seed=None, threads=1)
    found = {table["name"]: {c["name"]: column(c, body) for c in table["columns"]} for table in head["tables"]}
    native = {name: {key: tuple(value) for key, value in table.items()} for name, table in tables.items()}
    if request.get("scheme") in RAISES:
        found["series"]["value"] = rounded(found["series"]["value"], native["series"]["value"])
    return (
        repeatable(cut(body, head["run"])) == repeatable(run)
        and found == native
        and {file["name"]: cut(body, file["place"]) for file in head["files"]} == dict(files)
    )


def rounded(found, native):
    """The native column, if the other is the same but for the last bits."""
    values, natives = (np.frombuffer(column[1]) for column in (found, native))
    return native if np.allclose(values, natives, rtol=ROUNDED, atol=0, equal_nan=True) else found


def column(found, body):
    """As the extension gives it."""
    values = cut(body, found["place"])
    return ("str", values, found["dictionary"]) if found["kind"] == "str" else (found["kind"], values)


def test_errors_have_line_and_key(tmp_path):
    wrong = ONE_LINK.replace('"2 s"', '"2 fortnights"').replace('"60 kB"', "60")
    ((_, answer),) = ask([{"ask": "run", "text": wrong}], tmp_path)
    errors = opened(answer)[0]["errors"]
    assert {(error["line"], error["key"]) for error in errors} == {(3, "stop"), (10, "queue.limit")}
    native = json.loads(_midpath.check_scenario(wrong, ""))["errors"]
    assert errors == native


def too_large():
    """More flows than a tab has memory for."""
    many = ONE_LINK.replace('"60 %"', '"100 %"').replace('"1 s"', '"30 s"').replace('"2 s"', '"40 s"')
    return many.replace('"pareto", mean = "30 kB", shape = 1.4', '"fixed", size = "1 B"')


def test_what_does_not_fit_a_tab_is_refused_not_killed(tmp_path):
    file = ONE_LINK.replace('generate = "dumbbell"', 'file = "/etc/hosts"')
    answers = ask([{"ask": "run", "text": text} for text in (too_large(), file)], tmp_path)
    errors = [opened(answer)[0]["errors"] for _, answer in answers]
    assert "memory" in errors[0][0]["message"]
    assert all(error["line"] for error in errors[1])
