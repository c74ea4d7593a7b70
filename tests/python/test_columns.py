"""A run's name as a column: `cubic@fq_codel`, `cubic+rpm`, in every command, with the same bytes."""

import itertools
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import midpath
import midpath.matrix
from midpath import _midpath, entries
from midpath.compare.asked import asked_by
from midpath.errors import ScenarioError
from midpath.matrix import rows
from midpath.palette import looks, name
from midpath.report import html
from midpath.schemes import column, shipped

RUNS = pytest.mark.nightly(
    "python/midpath/entries.py",
    "python/midpath/run/",
    "python/midpath/commands/",
    "python/midpath/matrix/",
    "crates/core/src/queue/",
)

TEXT = """
title = "Columns"
stop = "400 ms"
[topology]
generate = "dumbbell"
pairs = 3
bottleneck = { rate = "10 Mbps", delay = "5 ms" }
access = { rate = "100 Mbps", delay = "1 ms" }
[queue]
limit = "60 kB"
[queues.short]
kind = "codel"
target = "1 ms"
[schemes.cubic]
ecn = true
[[flow]]
from = "s0"
to = "d0"
[[flow]]
from = "s1"
to = "d1"
[[flow]]
from = "s2"

to = "d2"
start = "100 ms"
size = "40 kB"
"""
VARIED = TEXT + '[variants.today]\n[variants.small]\nqueue.limit = "20 kB"\n'
# Columns with queues of every sort that a name can have, and others beside them.
COLUMNS = (
    *("cubic@fq_codel", "cubic@pie", "cubic@dualpi2", "cubic@codel", "cubic@red", "cubic@drr", "cubic@fq"),
    *("cubic@short", "dctcp@pie", "mptcp@fq_codel", "cubic+rpm", "cubic+rpm@pie", "cubic", "inrpp", "fcp"),
)
# What the clock and the machine change.
OF_THE_CLOCK = ("wall_s", "hops_per_s", "cpu_s", "variant", "source")


def told(result):
    """A result's bytes: its tables, and what it says but for the time of day."""
    run = {key: value for key, value in result.run.items() if key not in OF_THE_CLOCK}
    return json.dumps(run, sort_keys=True), {key: table.to_pylist() for key, table in result.tables.items()}


@pytest.fixture(scope="module")
def single():
    """Each column by `run`."""
    return {one: midpath.run(TEXT, scheme=one) for one in COLUMNS}


def test_columns_differ_from_each_other(single):
    packets = {one: tuple(found.ports["bytes"].to_pylist()) for one, found in single.items()}
    assert len(set(packets.values())) >= len(COLUMNS) - 2, packets
    assert [found.scheme for found in single.values()] == list(COLUMNS)


def test_a_column_of_a_comparison_is_the_run(single):
    found = midpath.compare(TEXT, COLUMNS, ideal=False)
    for one in COLUMNS:
        assert told(found.of(one)[0]) == told(single[one]), one
    page = html(found)
    assert all(name(one) in page for one in COLUMNS)
    # INRPP's custody is the one store beside queues.
    memory = {row.scheme: row.queue_bytes for row in found.equipment}
    assert len(set(memory.values())) == 1, memory


@RUNS
def test_a_column_of_a_sweep_is_the_run(single, tmp_path):
    found = midpath.sweep(TEXT, schemes=COLUMNS, ideal=False, out=tmp_path / "store", keep_results=True)
    kept = {row["scheme"]: midpath.load(found.store.result(row["key"])) for row in found.table().to_pylist()}
    for one in COLUMNS:
        assert told(kept[one]) == told(single[one]), one


@RUNS
def test_a_column_of_failures_is_the_run(single, tmp_path):
    found = midpath.failures(TEXT, COLUMNS, out=tmp_path / "store", at="300 ms")
    assert found.schemes == list(COLUMNS)
    for one in COLUMNS:
        whole = found._run("none", one, 1)
        assert whole.flows["fct_s"].to_pylist() == single[one].flows["fct_s"].to_pylist(), one
        assert whole.summary["loss_ratio"] == single[one].summary["loss_ratio"], one


def test_a_column_of_variants_is_the_run(single):
    found = midpath.compare_variants(VARIED, COLUMNS, ideal=False)
    small = midpath.Scenario.from_toml(VARIED).with_variant("small")
    for one in COLUMNS:
        today = found.comparisons["today"].of(one)[0]
        assert today.flows == single[one].flows and today.ports == single[one].ports, one
        assert told(found.comparisons["small"].of(one)[0]) == told(midpath.run(small, scheme=one)), one


def test_chance_in_a_column_s_queue_is_chance():
    found = {one: midpath.compare(TEXT, [one], ideal=False).is_random for one in ("cubic@pie", "cubic@codel")}
    assert found == {"cubic@pie": True, "cubic@codel": False}


@RUNS
@pytest.mark.parametrize("one", ["cubic@fq_codel", "cubic+rpm", "cubic@codel", "mptcp@pie", "inrpp"])
def test_a_column_of_the_matrix_is_the_run(one):
    row = rows.every()["long"]
    entry = entries.Entry(one)
    scenario = row.scenario(entry, small=True).with_(changes={"stop": "1 s"})
    base = rows.Scenario.from_toml(rows.folder() / row.file)
    alone = base.with_(scheme=one, changes={**row.quick, "stop": "1 s", **entry.changes})
    assert told(midpath.run(scenario)) == told(midpath.run(alone))


COMMANDS = {
    "run": ("run", "FILE", "--scheme"),
    "compare": ("compare", "FILE", "--no-ideal", "--schemes"),
    "variants": ("compare", "VARIED", "--no-ideal", "--schemes"),
    "sweep": ("sweep", "FILE", "--no-ideal", "--out", "OUT", "--schemes"),
    "failures": ("failures", "FILE", "--at", "300 ms", "--out", "OUT", "--schemes"),
    "matrix": ("matrix", "--quick", "--rows", "long", "--seeds", "1", "--schemes"),
}


@pytest.fixture
def words(tmp_path):
    """The words of a command."""
    (tmp_path / "given.toml").write_text(TEXT)
    (tmp_path / "varied.toml").write_text(VARIED)
    places = {"FILE": tmp_path / "given.toml", "VARIED": tmp_path / "varied.toml", "OUT": tmp_path / "out"}
    return lambda command: [places.get(word, word) for word in COMMANDS[command]]


@RUNS
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_every_column(words, cli, command):
    # Of the matrix's scenario, `short` is no queue.
    columns = [one for one in COLUMNS if command != "matrix" or not one.endswith("@short")]
    for asked in columns if command == "run" else [",".join(columns)]:
        answer = cli(*words(command), asked, "--json")
        assert answer.code == 0, (asked, answer.err)
        out = cli("sweep", "table", words(command)[4], "--json").out if command == "sweep" else answer.out
        assert all(f'"{one}"' in out for one in asked.split(",")), asked


REFUSED = {
    "fcp@fq_codel": "ports of this scheme have their own queue rule",
    "inrpp@pie": "ports of this scheme have their own queue rule",
    "dctcp@drop-tail": "`drop-tail` has no AQM, and ports of `dctcp` then run their own",
    "cubic+rpm@fq": "`fq` has no AQM, and ports of `rpm` then run their own",
    "cubic@fqcodel": "there is no queue `fqcodel`; did you mean `fq_codel`?",
    "cubic@step": "threshold: is required for a step queue",
    "ideal@pie": "is a fluid model and has no queues",
    "cubic@": "there is no queue ``",
    "cubik@pie": "there is no scheme `cubik`; did you mean `cubic`?",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_column_that_cannot_be_is_refused_in_one_line_by_every_command(words, cli, command):
    for one, why in REFUSED.items():
        answer = cli(*words(command), one)
        assert answer.code == 2 and answer.err.count("\n") == 1, (one, answer)
        assert why in answer.err and "scheme: " in answer.err, (one, answer.err)


def test_a_scenario_s_own_scheme_is_read_alike(single):
    found = midpath.run('scheme = "cubic@pie"\n' + TEXT)
    assert (found.ports, found.scheme) == (single["cubic@pie"].ports, "cubic@pie")
    with pytest.raises(
        ScenarioError, match=r"flow\[0\].scheme: there is no scheme `cubic@pie`: `\+` and `@` are allowed"
    ):
        midpath.run(TEXT.replace('to = "d0"', 'to = "d0"\nscheme = "cubic@pie"'))


def test_where_no_port_has_the_queue_a_column_says_so():
    named = TEXT.replace('rate = "10 Mbps"', 'queue = "short", rate = "10 Mbps"')
    assert midpath.run(named, scheme="cubic@pie").scheme == "cubic@pie"
    both = named.replace('rate = "100 Mbps"', 'queue = "short", rate = "100 Mbps"')
    with pytest.raises(ScenarioError, match="no port uses `\\[queue\\]`"):
        midpath.run(both, scheme="cubic@pie")


def test_what_queue_says_of_the_kind_holds_and_its_memory_is_the_columns():
    own = midpath.Scenario.from_toml(TEXT).with_(
        changes={"queue": {"kind": "codel", "target": "3 ms", "limit": "60 kB"}}
    )
    aqm = {one: midpath.run(own, scheme=one).run["equipment"] for one in ("cubic@codel", "cubic@fq_codel", "cubic@pie")}
    assert {row["aqm"] for row in aqm["cubic@codel"] + aqm["cubic@fq_codel"]} == {"CoDel of 3 ms"}
    assert {row["aqm"] for row in aqm["cubic@pie"]} == {"PIE of 15 ms"}
    assert {tuple(row["queue_bytes"]) for found in aqm.values() for row in found} == {(60_000, 60_000)}


# --- any scheme over any queue ---

SCHEMA = json.loads(_midpath.schema())["$defs"]
KINDS = [one["const"] for one in SCHEMA["QueueKind"]["oneOf"]]
SCHEDULERS = [one["const"] for one in SCHEMA["SchedulerKind"]["oneOf"]]
NAMES = [*KINDS, *SCHEDULERS, *(f"{scheduler}_{kind}" for scheduler, kind in itertools.product(SCHEDULERS, KINDS))]
TRANSPORTS = sorted(one for one, about in shipped().items() if about.hosts)
NETWORKS = sorted(one for one, about in shipped().items() if about.routers and not about.hosts)
TINY = TEXT.replace('stop = "400 ms"', 'stop = "20 ms"')


def parts_of(found):
    """What ports do: which packets they choose, and in which order they leave."""
    return {(row["aqm"], row["scheduler"]) for row in found.run["equipment"]}


@RUNS
@settings(max_examples=120, deadline=None)
@given(st.sampled_from(TRANSPORTS), st.sampled_from(["", *NETWORKS]), st.sampled_from(NAMES))
def test_any_scheme_runs_with_the_queue_in_every_port_or_is_refused_in_a_line(transport, network, queue):
    one = f"{transport}{'+' if network else ''}{network}@{queue}"
    scheduler, _, kind = queue.rpartition("_") if "_" in queue else ("", "", queue)
    kind, scheduler = ("drop-tail", kind) if kind in SCHEDULERS and kind not in KINDS else (kind, scheduler)
    plain = {"queue.kind": kind} | ({"queue.scheduler": scheduler} if scheduler else {})
    try:
        found = midpath.run(TINY, scheme=one)
    except ScenarioError as error:
        assert error.key == "scheme" and "\n" not in str(error) and len(str(error)) < 400, str(error)
        assert re.search(r"`[\w.@+-]+`", error.message), error.message
        return
    asked = midpath.run(midpath.Scenario.from_toml(TINY).with_(scheme="udp", changes=plain))
    assert parts_of(found) == parts_of(asked), one
    assert {tuple(row["queue_bytes"]) for row in found.run["equipment"]} == {(60_000, 60_000)}
    assert found.scheme == one and found.run["invariants"]["conserved"]


def test_most_pairs_run():
    """The property above is about something: transports alone run over every queue that needs no more keys."""
    ready = [one for one in NAMES if not re.search("step|policer|trim|_(drr|dualpi2|cake)$", one)]
    for one in (f"{transport}@{queue}" for transport in ("cubic", "bbr", "mptcp") for queue in ready):
        midpath.Scenario.from_toml(TINY).with_(scheme=one).check()


# --- how columns are named and drawn ---


def test_names_are_the_columns():
    assert [name(one) for one in ("cubic", "cubic+rpm", "cubic@fq_codel", "dctcp+rpm@pie")] == [
        *("CUBIC", "CUBIC + RPM", "CUBIC @ fq_codel", "DCTCP + RPM @ pie")
    ]
    assert column("dctcp+rpm@pie").schemes == ["dctcp", "rpm"]
    assert asked_by("cubic@pie").routers == "queues: pie" and asked_by("cubic").routers == ""


def test_colours_of_columns_are_the_same_in_every_figure():
    queues = ("red", "pie", "dualpi2", "codel", "drr", "fq", "fq_codel", "fq_pie", "drop-tail")
    whole = looks(["cubic", *(f"cubic@{queue}" for queue in queues)])
    assert len({look["light"] for look in whole.values()}) == len(whole)
    for few in itertools.combinations(whole, 3):
        assert looks(few) == {one: whole[one] for one in few}
