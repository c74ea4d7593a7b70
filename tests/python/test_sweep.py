"""Sweeps: the plan, the keys, the store, the table, what is drawn."""

import json
import math
import sys
from concurrent.futures import Future
from dataclasses import replace

import numpy as np
import pyarrow.dataset as ds
import pytest

import midpath
from midpath.errors import OutputError, ScenarioError, UsageError
from midpath.report import html
from midpath.run.drive import results
from midpath.run.key import named_files, point_key
from midpath.run.task import perform
from midpath.stats import estimate
from midpath.sweep.facets import facets, short
from midpath.sweep.plan import plan_of, read_listed, split, value_of
from midpath.sweep.quantity import number, numbers

TINY = """
title = "Tiny"
stop = "40 ms"

[topology]
links = [
    { a = "a", b = "r", rate = "100 Mbps", delay = "1 ms" },
    { a = "r", b = "b", rate = "10 Mbps", delay = "1 ms" },
]

[queue]
limit = "20 ms"

[[flow]]
from = "a"
to = "b"
size = "10 kB"

[[flow]]
from = "a"
to = "b"
size = "20 kB"
"""
# Draws no flow with some seeds, and such a run fails.
RARE = (
    TINY[: TINY.index("[[flow]]")]
    + """
[[workload]]
arrivals = { kind = "poisson", load = "30 %", load_of = "10 Mbps" }
sizes = { kind = "fixed", size = "20 kB" }
matrix = { kind = "pairs", pairs = [["a", "b"]] }
"""
)


def test_results_come_in_the_order_of_their_scenarios_and_an_error_ends_them():
    scenario = midpath.Scenario.from_toml(TINY)
    seeds = [9, 2, 7, 1, 8, 3, 5]
    found = [(one.seed, one.summary) for one in results((scenario.with_(seed=seed) for seed in seeds), jobs=2)]
    assert found == [(seed, midpath.run(scenario, seed=seed).summary) for seed in seeds]
    with pytest.raises(ScenarioError, match="limit"):
        list(results([scenario, scenario.with_(changes={"queue.limit": "20 parsecs"}), scenario], jobs=1))


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """Runs in this process: what starts processes is tested in test_sweep_processes.py."""

    class Here:
        width = 1

        def __init__(self, jobs, limit_s=None):
            pass

        def submit(self, task):
            future = Future()
            future.set_result(perform(task))
            return future

        def close(self):
            pass

    monkeypatch.setattr(sys.modules["midpath.run.execute"], "Workers", Here)


@pytest.fixture
def tiny(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return path


def records(store):
    return {path.stem: path.stat().st_mtime_ns for path in store.glob("runs/*/*.json")}


def rows(sweep, **where):
    return [row for row in sweep.table().to_pylist() if all(row[key] == value for key, value in where.items())]


# The plan.


def planned(scenario, vary=None, listed=None, schemes=("cubic",), seeds=1, ideal=False):
    scenarios = scenario if isinstance(scenario, list) else [scenario]
    return plan_of([midpath.Scenario.from_toml(one) for one in scenarios], vary or {}, listed, schemes, seeds, ideal)


def test_a_factorial_plan_has_every_combination(tiny):
    plan = planned(
        tiny, {"queue.limit": ["5 ms", "20 ms"], "flow.1.size": ["1 kB", "2 kB", "3 kB"]}, seeds=4, ideal=True
    )
    assert len(plan) == 2 * 3 * 4 * 2
    assert plan.keys == ["queue.limit", "flow.1.size"]
    assert [tuple(point.values.values()) for point in plan.points][:2] == [("5 ms", "1 kB"), ("5 ms", "2 kB")]
    last = plan.points[-1].scenario.to_dict()
    assert (last["queue"]["limit"], last["flow"][1]["size"], last["flow"][0]["size"]) == ("20 ms", "3 kB", "10 kB")
    # All schemes of a seed together, seeds from the scenario's own upwards.
    assert list(plan.runs())[:3] == [(0, "cubic", 1), (0, "ideal", 1), (0, "cubic", 2)]


def test_numpys_numbers_are_numbers(tiny):
    plan = planned(
        tiny, {"flow.0.weight": list(np.linspace(1, 2, 3)), "measure.points": list(np.arange(100, 300, 100))}
    )
    assert [point.values["flow.0.weight"] for point in plan.points[::2]] == [1.0, 1.5, 2.0]
    assert plan.points[1].scenario.to_dict()["measure"]["points"] == 200


def test_listed_points_meet_every_combination(tiny):
    listed = [{"queue.limit": "5 ms", "flow.0.size": "1 kB"}, {"queue.limit": "9 ms"}]
    plan = planned(tiny, {"flow.1.size": ["1 kB", "2 kB"]}, listed)
    assert [point.values for point in plan.points] == [
        {"queue.limit": "5 ms", "flow.0.size": "1 kB", "flow.1.size": "1 kB"},
        {"queue.limit": "5 ms", "flow.0.size": "1 kB", "flow.1.size": "2 kB"},
        {"queue.limit": "9 ms", "flow.1.size": "1 kB"},
        {"queue.limit": "9 ms", "flow.1.size": "2 kB"},
    ]


def test_several_scenarios_are_a_parameter(tiny, tmp_path):
    (tmp_path / "other.toml").write_text(TINY.replace("Tiny", "Other"))
    plan = planned([tiny, tmp_path / "other.toml"], {"queue.limit": ["5 ms"]})
    assert [point.values["scenario"] for point in plan.points] == ["tiny", "other"]


def test_points_come_from_files(tmp_path):
    (tmp_path / "p.csv").write_text('queue.limit,flow.0.size,wire\n5 ms,"1 kB",true\n50 ms,,false\n')
    assert read_listed(tmp_path / "p.csv") == [
        {"queue.limit": "5 ms", "flow.0.size": "1 kB", "wire": True},
        {"queue.limit": "50 ms", "wire": False},
    ]
    (tmp_path / "p.toml").write_text("[[point]]\nqueue.limit = '5 ms'\n'flow.0.size' = '1 kB'\n[[point]]\nseries = 3\n")
    assert read_listed(tmp_path / "p.toml") == [{"queue.limit": "5 ms", "flow.0.size": "1 kB"}, {"series": 3}]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("p.csv", "", "lists no point"),
        ("p.csv", "queue.limit,queue.limit\n1,2\n", "a key of its own"),
        ("p.csv", "queue.limit\n1,2\n", "2 cells for 1 column"),
        ("p.toml", "point = 3\n", r"\[\[point\]\]"),
        ("p.toml", "[[point\n", "p.toml"),
    ],
)
def test_bad_lists_are_refused(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=message):
        read_listed(tmp_path / name)


def test_commas_part_values_but_not_inside_them():
    assert split("10ms,50 ms") == ["10ms", "50 ms"]
    assert split("""[1, 2],{ a = "x,y" },'a,b',3""") == ["[1, 2]", '{ a = "x,y" }', "'a,b'", "3"]
    assert [value_of(text) for text in ("10 ms", "3", "[1, 2]", "true", "'a,b'")] == ["10 ms", 3, [1, 2], True, "a,b"]


BAD = {
    "unknown key": ({"queue.limt": ["5 ms"]}, "limt"),
    "no such element": ({"flow.2.size": ["5 kB"]}, "no element 2"),
    "no list": ({"workload.0.until": ["5 ms"]}, "no element 0"),
    "one bad value of many": ({"queue.limit": ["5 ms", "9 ms", "5 foo"]}, r"5 foo.*at the point queue\.limit=5 foo"),
    "scheme": ({"scheme": ["cubic"]}, "--schemes"),
    "seed": ({"seed": [1, 2]}, "--seeds"),
    "no value": ({"queue.limit": []}, "no value"),
    "a text for a list": ({"queue.limit": "5 ms"}, "list of values"),
}


@pytest.mark.parametrize(("vary", "message"), BAD.values(), ids=BAD)
def test_a_bad_plan_is_refused_before_the_first_run(tiny, tmp_path, vary, message):
    with pytest.raises((ScenarioError, UsageError), match=message):
        midpath.sweep(tiny, vary, out=tmp_path / "store")
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("seeds", [0, -1, [], "3", [1, "2"], [-1], [2**64], range(2**64 - 1, 2**64 + 1)])
def test_bad_seeds_are_refused(tiny, tmp_path, seeds):
    with pytest.raises(UsageError, match="seed"):
        midpath.sweep(tiny, out=tmp_path / "store", seeds=seeds)


def test_an_unknown_scheme_is_refused(tiny, tmp_path):
    with pytest.raises(ScenarioError, match="cubix"):
        midpath.sweep(tiny, out=tmp_path / "store", schemes=["cubix"])


def test_a_directory_with_something_else_is_left_alone(tiny, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(OutputError, match="choose another directory"):
        midpath.sweep(tiny, out=tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


# The key.


def key(path):
    scenario = midpath.Scenario.from_toml(path)
    return point_key(scenario, named_files(scenario))


def test_the_key_is_of_what_is_said_and_not_of_how(tiny):
    before = key(tiny)
    tiny.write_text("# a comment\n" + TINY.replace('limit = "20 ms"', 'limit   =   "20 ms" # as routers have it'))
    assert key(tiny) == before
    tiny.write_text(TINY.replace('limit = "20 ms"', 'limit = "21 ms"'))
    assert key(tiny) != before


def with_list(tmp_path, name="flows.csv"):
    path = tmp_path / "listed.toml"
    path.write_text(TINY[: TINY.index("[[flow]]")] + f"[[workload]]\nlist = {{ file = '{name}' }}\n")
    return path


def test_the_contents_of_named_files_are_in_the_key(tmp_path):
    path = with_list(tmp_path)
    (tmp_path / "flows.csv").write_text("src,dst,size,start\na,b,10000,0\n")
    before = key(path)
    (tmp_path / "flows.csv").write_text("src,dst,size,start\na,b,20000,0\n")
    assert key(path) != before
    assert [file.text for file in named_files(midpath.Scenario.from_toml(path))] == ["flows.csv"]


def test_a_changed_file_runs_again_and_an_unchanged_one_does_not(tmp_path):
    path, store = with_list(tmp_path), tmp_path / "store"
    flows = tmp_path / "flows.csv"
    flows.write_text("src,dst,size,start\na,b,10000,0\n")
    first = rows(midpath.sweep(path, out=store, schemes=["cubic"]), scheme="cubic")
    kept = records(store)
    midpath.sweep(path, out=store, schemes=["cubic"])
    assert records(store) == kept
    flows.write_text("src,dst,size,start\na,b,20000,0\n")
    second = rows(midpath.sweep(path, out=store, schemes=["cubic"]), scheme="cubic")
    assert len(records(store)) == 2 * len(kept)
    assert second[0]["afct_s"] > first[0]["afct_s"]


def test_of_rocketfuels_two_files_both_are_in_the_key(tmp_path):
    path = tmp_path / "map.toml"
    path.write_text("[topology]\nfile = 'weights.intra'\n")
    (tmp_path / "weights.intra").write_text("a b 1\n")
    before = key(path)
    (tmp_path / "latencies.intra").write_text("a b 5\n")
    assert key(path) != before


# The store.


def test_only_what_is_missing_runs(tiny, tmp_path):
    store = tmp_path / "store"
    midpath.sweep(tiny, {"queue.limit": ["5 ms", "20 ms"]}, out=store, schemes=["cubic"])
    kept = records(store)
    assert len(kept) == 4
    found = midpath.sweep(tiny, {"queue.limit": ["5 ms", "20 ms", "50 ms"]}, out=store, schemes=["cubic", "dctcp"])
    now = records(store)
    assert len(now) == len(found) == 9
    assert {key: now[key] for key in kept} == kept


def test_figures_are_those_of_runs_one_by_one(tiny, tmp_path):
    found = midpath.sweep(tiny, {"queue.limit": ["5 ms", "20 ms"]}, out=tmp_path / "store", schemes=["cubic"], seeds=2)
    for row in rows(found):
        scenario = midpath.Scenario.from_toml(tiny).with_(changes={"queue.limit": row["queue.limit"]})
        summary = midpath.run(scenario, scheme=row["scheme"], seed=row["seed"]).summary
        for name in ("afct_s", "loss_ratio", "goodput_total_bps", "queue_delay_p99_s", "flows", "completed"):
            assert row[name] == summary[name]


def test_ratios_are_over_flows_that_ended_in_both(tiny, tmp_path):
    # The second flow is too long to end under CUBIC before the run's stop, and ends in the ideal.
    found = midpath.sweep(tiny, {"flow.1.size": ["34 kB"]}, out=tmp_path / "store", schemes=["cubic"])
    cubic, ideal = rows(found, scheme="cubic")[0], rows(found, scheme="ideal")[0]
    assert (cubic["completed"], cubic["unfinished"], ideal["completed"]) == (1, 1, 2)
    scenario = midpath.Scenario.from_toml(tiny).with_(changes={"flow.1.size": "34 kB"})
    times = [midpath.run(scenario, scheme=scheme).flows["fct_s"].to_pylist()[0] for scheme in ("cubic", "ideal")]
    assert cubic["afct_s_to_ideal"] == pytest.approx(times[0] / times[1])
    assert ideal["afct_s_to_ideal"] == 1.0


def test_a_run_that_fails_is_kept_with_its_error_and_the_others_go_on(tmp_path):
    path, store = tmp_path / "rare.toml", tmp_path / "store"
    path.write_text(RARE)
    told = []
    found = midpath.sweep(path, out=store, schemes=["cubic"], seeds=8, ideal=False, on_progress=told.append)
    failures = found.failures()
    assert 0 < len(failures) < 8
    assert all("had an arrival before its end" in failure["error"] for failure in failures)
    assert (told[-1].done, told[-1].failed, told[-1].runs) == (8, len(failures), 8)
    # It is not tried again unless asked for.
    kept = records(store)
    midpath.sweep(path, out=store, schemes=["cubic"], seeds=8, ideal=False)
    assert records(store) == kept
    midpath.sweep(path, out=store, schemes=["cubic"], seeds=8, ideal=False, retry_failed=True)
    now = records(store)
    assert sum(now[key] != kept[key] for key in kept) == len(failures)


def test_whole_results_are_kept_on_demand(tiny, tmp_path):
    store = tmp_path / "store"
    midpath.sweep(tiny, out=store, schemes=["cubic"], ideal=False)
    found = midpath.sweep(tiny, out=store, schemes=["cubic"], ideal=False, keep_results=True)
    kept = midpath.load(store / "results" / rows(found)[0]["key"])
    assert kept.flows.num_rows == 2
    assert kept.summary["afct_s"] == rows(found)[0]["afct_s"]


def test_what_a_power_cut_left_half_on_the_disk_runs_again(tiny, tmp_path):
    store = tmp_path / "store"
    midpath.sweep(tiny, out=store, schemes=["cubic"])
    record = next(store.glob("runs/*/*.json"))
    whole = record.read_text()
    record.write_text(whole[:40])
    midpath.sweep(tiny, out=store, schemes=["cubic"])
    assert json.loads(record.read_text())["figures"] == json.loads(whole)["figures"]


# The table.


def test_the_table_is_read_lazily_and_tidy(tiny, tmp_path):
    found = midpath.sweep(tiny, {"queue.limit": ["20 ms", "50 ms"]}, out=tmp_path / "store", schemes=["cubic"], seeds=3)
    again = midpath.load_sweep(tmp_path / "store")
    assert len(again) == 12
    chosen = again.dataset().to_table(["queue.limit", "afct_s"], filter=ds.field("scheme") == "cubic")
    assert chosen.num_rows == 6
    frame = found.to_pandas()
    assert list(frame.columns[:5]) == ["key", "point", "queue.limit", "scheme", "seed"]
    assert frame["afct_s"].notna().all()
    assert repr(found).count("\n") == 0


def test_the_table_follows_the_store(tiny, tmp_path):
    store = tmp_path / "store"
    midpath.sweep(tiny, {"queue.limit": ["5 ms"]}, out=store, schemes=["cubic"])
    found = midpath.sweep(tiny, {"queue.limit": ["20 ms"]}, out=store, schemes=["dctcp"])
    assert {row["scheme"] for row in rows(found)} == {"dctcp", "ideal"}
    next(store.glob(f"runs/*/{rows(found)[0]['key']}.json")).unlink()
    (store / "table.parquet").unlink()
    assert [row["status"] for row in rows(midpath.load_sweep(store))] == ["missing", "done"]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.arrow"])
def test_the_table_goes_to_other_programs(tiny, tmp_path, cli, name):
    midpath.sweep(tiny, out=tmp_path / "store", schemes=["cubic"])
    assert cli("sweep", "table", tmp_path / "store", "--out", tmp_path / name).code == 0
    assert ds.dataset(tmp_path / name, format=name[2:]).count_rows() == 2


# What is drawn.


@pytest.fixture
def swept(tiny, tmp_path):
    vary = {"queue.limit": ["5 ms", "100 ms", "20 ms"], "flow.1.size": ["5 kB", "34 kB"]}
    return midpath.sweep(tiny, vary, out=tmp_path / "store", schemes=["cubic", "dctcp"], seeds=3)


def test_facets_are_means_over_seeds_in_the_order_of_amounts(swept):
    found = facets(swept, "queue.limit", ["afct_s", "afct_s_to_ideal"], "flow.1.size")
    assert found.values == ["5 ms", "20 ms", "100 ms"]
    assert [panel.facet for panel in found.rows[0]] == ["5 kB", "34 kB"]
    mean = found.rows[0][0].lines["cubic"][1]
    values = [r["afct_s"] for r in rows(swept, scheme="cubic", **{"queue.limit": "20 ms", "flow.1.size": "5 kB"})]
    assert mean.value == estimate(values)
    assert mean.unfinished == 0
    assert found.rows[0][1].lines["cubic"][1].unfinished == 3
    assert found.unfinished


def test_many_values_are_not_all_written_along_the_axis(swept):
    found = facets(swept, "queue.limit", ["afct_s"], "flow.1.size")
    assert found.ticks() == {0.005: "5 ms", 0.02: "20 ms", 0.1: "100 ms"}
    assert found.logarithmic
    many = [f"{limit} ms" for limit in range(2, 52, 2)]
    amounts = ("seconds", {text: float(text.split()[0]) / 1000 for text in many})
    ticks = replace(found, values=many, amounts=amounts).ticks()
    assert next(iter(ticks)) == 0.002
    assert 4 <= len(ticks) <= 7


def test_categories_stand_side_by_side(tiny, tmp_path):
    found = midpath.sweep(
        tiny, {"queue.scheduler": ["fifo", "drr"]}, out=tmp_path / "store", schemes=["cubic", "dctcp"]
    )
    drawn = facets(found, "queue.scheduler", ["goodput_total_bps"])
    assert (drawn.amounts, drawn.values, list(drawn.ticks())) == (None, ["fifo", "drr"], [0.0, 1.0])
    places = [drawn.places(scheme, drawn.rows[0][0].lines[scheme]) for scheme in drawn.schemes]
    assert sorted(x for line in places for x in line) == [x for pair in zip(*places, strict=True) for x in pair]
    page = html(found)
    assert '"mode":"markers"' in page
    assert "One seed, so no confidence intervals." in page


def test_a_parameter_that_is_not_shown_is_not_averaged_over(swept):
    with pytest.raises(UsageError, match=r"flow\.1\.size has 2 values"):
        facets(swept, "queue.limit", ["afct_s"])
    fixed = facets(swept, "queue.limit", ["afct_s"], where={"flow.1.size": "34 kB"})
    assert len(fixed.rows[0]) == 1
    for wrong in ({"x": "queue.limt"}, {"ys": ["afct"]}, {"where": {"flow.1.size": "28 kB"}}):
        with pytest.raises(UsageError):
            facets(swept, **({"x": "queue.limit", "ys": ["afct_s"], "facet": "flow.1.size"} | wrong))


def test_a_key_that_changes_no_figure_is_named(tmp_path, cli):
    # Both limits are never reached; the size of a flow makes a difference.
    limits, sizes = ["--vary", "queue.limit=1MB,2MB"], ["--vary", "flow.1.size=20kB,40kB"]
    (tmp_path / "tiny.toml").write_text(TINY)
    arguments = ["sweep", tmp_path / "tiny.toml", *limits, *sizes, "--schemes", "newreno", "--out", tmp_path / "store"]
    answer = cli(*arguments)
    assert "queue.limit: its 2 values have no effect on any result" in answer.out
    assert "flow.1.size: its" not in answer.out
    assert json.loads(cli(*arguments, "--json").out)["warnings"] == [
        "queue.limit: its 2 values have no effect on any result"
    ]
    for out in (cli("sweep", "table", tmp_path / "store").out, html(midpath.load_sweep(tmp_path / "store"))):
        assert "its 2 values have no effect" in out


@pytest.mark.parametrize("end", ["svg", "png"])
def test_the_figure_is_a_file(swept, tmp_path, cli, end):
    pytest.importorskip("matplotlib")
    path = tmp_path / f"f.{end}"
    arguments = ["--x", "queue.limit", "--y", "afct_s,loss_ratio", "--facet", "flow.1.size", "--out", path]
    answer = cli("sweep", "plot", swept.store.path, *arguments, "--json")
    assert (answer.code, answer.err) == (0, "")
    assert json.loads(answer.out) == {"figure": str(path), "bytes": path.stat().st_size}
    assert path.stat().st_size > 5000
    if end == "svg":
        text = path.read_text()
        assert all(word in text for word in ("queue limit", "CUBIC", "DCTCP", "Hollow"))


def test_a_figure_of_an_unknown_format_is_refused(swept, tmp_path, cli):
    answer = cli("sweep", "plot", swept.store.path, "--x", "queue.limit", "--facet", "flow.1.size", "--out", "f.doc")
    assert (answer.code, answer.out) == (2, "")
    assert ".svg" in answer.err


def test_the_report_draws_a_sweep(swept):
    page = html(midpath.load(swept.store.path))
    data = json.loads(page.split('id="report-data">')[1].split("</script>")[0])
    drawn = data["figures"]["afct_s"]["variants"][""]
    assert {trace["xaxis"] for trace in drawn["data"]} == {"x", "x2"}
    assert all(math.isfinite(value) for trace in drawn["data"] for value in trace["y"])
    assert "54 of 54 runs" in page
    assert "some flows did not end" in page
    assert "midpath sweep tiny.toml --vary &#x27;queue.limit=5 ms,100 ms,20 ms&#x27;" in page


def test_quantities_are_numbers():
    assert number("10 ms") == ("seconds", pytest.approx(0.01))
    assert number("1.5Gbit/s") == ("bps", 1.5e9)
    assert number("60 %") == ("ratio", pytest.approx(0.6))
    assert number("2 KiB") == ("bytes", 2048)
    assert number("30 packets") == ("packets", 30)
    assert number(3) == number("3") == ("number", 3.0)
    assert [number(value) for value in (True, "red", "5 foo", "1.2.3 ms", [1])] == [None] * 5
    assert numbers(["10 ms", "5 s"])[0] == "seconds"
    assert numbers(["10 ms", "5 kB"]) is None


def test_keys_are_shortened_while_they_are_told_apart():
    assert short("workload.0.arrivals.load", ["queue.limit"]) == "load"
    assert short("queue.limit", ["host_queue.limit"]) == "queue.limit"
    assert short("flow.1.size", ["flow.0.size"]) == "1.size"


# The command.


def test_the_command_sweeps_lists_and_says_what_failed(tmp_path, cli):
    path, store = tmp_path / "rare.toml", tmp_path / "store"
    path.write_text(RARE)
    arguments = [path, "--vary", "queue.limit=5ms,20 ms", "--schemes", "cubic,dctcp", "--schemes", "fcp", "--seeds", 4]
    answer = cli("sweep", *arguments, "--no-ideal", "--out", store)
    assert answer.code == 1
    assert "of 24 runs done" in answer.out
    assert "failed: ScenarioError" in answer.out
    answer = cli("sweep", *arguments, "--no-ideal", "--out", store, "--json")
    found = json.loads(answer.out)
    assert found["runs"] == 24
    assert found["failed"] == len(found["failures"]) > 0
    listed = cli("sweep", "table", store)
    assert listed.out.count("CUBIC") == 2
    assert json.loads(cli("sweep", "table", store, "--json").out)[0]["queue.limit"] == "5ms"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--vary", "queue.limit"], "write KEY=VALUE,VALUE"),
        (["--vary", "queue.limit=5ms,,6ms"], "write KEY=VALUE,VALUE"),
        (["--vary", "queue.limit=5 foo"], "5 foo"),
        (["--slurm-set", "slurm_partition=x"], "--slurm JOBS"),
        (["--plan", "no.csv"], "cannot read no.csv"),
        (["--cluster", "tcp://127.0.0.1:1", "--slurm", "2"], "not on both"),
    ],
)
def test_bad_arguments_get_one_line(tiny, tmp_path, cli, arguments, message):
    answer = cli("sweep", tiny, *arguments, "--out", tmp_path / "store")
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert message in answer.err
    assert not (tmp_path / "store").exists()
