import dataclasses
import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

import midpath
from conftest import ROOT
from midpath import _midpath
from midpath.compare.comparison import MARKER
from midpath.compare.runs import load_comparison
from midpath.errors import OutputError
from midpath.metrics import IDEAL
from midpath.report import html

TEXT = "title = 'x'\nseed = 5\n"


def test_every_scheme_meets_every_seed(made_up):
    found = midpath.compare(TEXT, ["cubic", "dctcp"], seeds=3)
    assert found.schemes == ["cubic", "dctcp", IDEAL]
    assert sorted(made_up) == sorted((s, n) for s in found.schemes for n in (5, 6, 7))
    assert list(found.results) == [(s, n) for s in found.schemes for n in (5, 6, 7)]


def test_a_stored_run_is_run_again_when_a_file_that_its_scenario_names_has_changed(made_up, tmp_path):
    (tmp_path / "scene.toml").write_text("title = 'links.txt'\nseed = 5\n")
    links = tmp_path / "links.txt"
    links.write_text("a b 1")
    for again in (["cubic"], []):
        midpath.compare(tmp_path / "scene.toml", ["cubic"], ideal=False, out=tmp_path / "out")
        assert [scheme for scheme, _ in made_up] == again
        made_up.clear()
    links.write_text("a b 2")
    midpath.compare(tmp_path / "scene.toml", ["cubic"], ideal=False, out=tmp_path / "out")
    assert made_up == [("cubic", 5)]


def test_a_seed_that_is_set_is_the_first_one(made_up):
    found = midpath.compare(midpath.Scenario.from_toml(TEXT).with_(changes={"seed": 9}), ["cubic"], seeds=2)
    assert found.seeds == [9, 10]


def test_rows_hold_means_and_ratios(made_up):
    found = midpath.compare(TEXT, ["cubic"], seeds=[1, 2, 3])
    cubic, ideal = found.rows()
    times = [result.summary["afct_s"] for result in found.of("cubic")]
    assert cubic.figures["afct_s"].mean == pytest.approx(sum(times) / 3)
    assert cubic.to_ideal["afct_s"].mean > 1.5
    assert (ideal.to_ideal["afct_s"].mean, ideal.to_ideal["afct_s"].ci95) == (1.0, 0.0)
    # The ideal loses nothing: a ratio to it has no meaning.
    assert cubic.to_ideal["loss_ratio"] is None
    frame = found.to_pandas()
    assert frame.loc[("cubic", "afct_s"), "mean"] == pytest.approx(sum(times) / 3)


def test_ratios_are_over_flows_that_ended_in_both(made_up):
    whole = midpath.compare(TEXT, ["cubic"])
    cubic = whole.results["cubic", 5]
    # CUBIC's slowest half never ends: its mean falls below the ideal's, its ratio over common flows does not.
    times = cubic.flows["fct_s"].to_numpy()
    ended = times <= np.median(times)
    flows = cubic.flows.set_column(7, "fct_s", pa.array(np.where(ended, times, np.nan), from_pandas=True))
    summary = cubic.summary | {"completed": int(ended.sum()), "afct_s": float(times[ended].mean())}
    half = midpath.Result(cubic.run | {"summary": summary}, cubic.tables | {"flows": flows})
    found = dataclasses.replace(whole, results=whole.results | {("cubic", 5): half})
    row = found.rows()[0]
    ideal = found.results["ideal", 5]
    common = ideal.flows["fct_s"].to_numpy()[ended].mean()
    assert row.to_ideal["afct_s"].mean == pytest.approx(times[ended].mean() / common)
    assert row.figures["afct_s"].mean < ideal.summary["afct_s"]
    assert row.to_ideal["afct_s"].mean > 1


def test_times_of_all_schemes_are_over_the_same_flows(made_up):
    found = midpath.compare(TEXT, ["cubic", "dctcp"])
    assert found.matching is None
    # CUBIC ends the 100 flows that are quickest under it, and no other.
    cubic = found.results["cubic", 5]
    times = cubic.flows["fct_s"].to_numpy()
    ended = times <= np.sort(times)[99]
    flows = cubic.flows.set_column(7, "fct_s", pa.array(np.where(ended, times, np.nan), from_pandas=True))
    summary = cubic.summary | {"completed": 100, "afct_s": float(times[ended].mean())}
    fewer = midpath.Result(cubic.run | {"summary": summary}, cubic.tables | {"flows": flows})
    found = dataclasses.replace(found, results=found.results | {("cubic", 5): fewer})
    assert found.matching == "Times cover the 100 of 400 flows that ended under all schemes"
    dctcp = found.results["dctcp", 5]
    assert found.values("dctcp", "afct_s") == [pytest.approx(dctcp.flows["fct_s"].to_numpy()[ended].mean())]
    assert found.values("dctcp", "loss_ratio") == [dctcp.summary["loss_ratio"]]
    page = html(found)
    assert "DCTCP completes all 400 flows; CUBIC 100." in page
    assert found.matching in page
    assert found.to_json()["times_over"] == found.matching


def test_groups_have_rows_of_their_own(made_up):
    found = midpath.compare(TEXT, ["cubic"])
    assert found.groups == []
    for pair, result in found.results.items():
        names = ["short" if i % 4 else "long" for i in range(400)]
        column = result.flows.schema.get_field_index("group")
        flows = result.flows.set_column(column, "group", pa.array(names))
        found.results[pair] = midpath.Result(result.run, result.tables | {"flows": flows})
    found = dataclasses.replace(found)
    rows = found.groups
    assert [(row.group, row.scheme, row.flows) for row in rows] == [
        ("long", "cubic", 100), ("long", IDEAL, 100), ("short", "cubic", 300), ("short", IDEAL, 300),
    ]  # fmt: skip
    times = found.results["cubic", 5].flows["fct_s"].to_numpy()
    assert rows[0].afct_s.mean == pytest.approx(times[::4].mean())
    assert "Groups of flows" in html(found)


def test_unlike_memory_is_warned_of():
    scenario = midpath.Scenario.from_toml(ROOT / "examples" / "dumbbell.toml").with_(changes={"stop": "100 ms"})
    equal = midpath.compare(scenario, ["cubic", "inrpp"], ideal=False)
    cubic, inrpp = equal.equipment
    assert (cubic.queue_bytes, cubic.store_bytes) == (inrpp.queue_bytes, inrpp.store_bytes)
    assert "different memory" not in "".join(equal.warnings)
    stored = scenario.with_(changes={"schemes.inrpp.cache": "20 s"})
    found = midpath.compare(stored, ["cubic", "inrpp"], ideal=False)
    assert found.equipment[1].store_bytes[1] == 20 * 40e6 / 8  # of a router's fastest port
    assert "schemes have different memory" in found.warnings[0]
    assert "3 of 3 flows did not start before the end" in found.warnings
    assert "different memory" not in "".join(midpath.compare(scenario, ["cubic", "newreno"], ideal=False).warnings)


def test_only_missing_runs_are_run(tmp_path, made_up):
    out = tmp_path / "out"
    midpath.compare(TEXT, ["cubic"], seeds=2, out=out)
    assert len(made_up) == 4
    made_up.clear()
    first = midpath.compare(TEXT, ["cubic", "dctcp"], seeds=3, out=out)
    assert sorted(made_up) == [("cubic", 7), ("dctcp", 5), ("dctcp", 6), ("dctcp", 7), ("ideal", 7)]
    assert load_comparison(out).to_json() == first.to_json() == json.loads((out / MARKER).read_text())


def test_runs_of_another_scenario_are_not_reused(tmp_path, made_up):
    midpath.compare(TEXT, ["cubic"], ideal=False, out=tmp_path / "out")
    midpath.compare(TEXT + "stop = '1 s'\n", ["cubic"], ideal=False, out=tmp_path / "out")
    assert made_up == [("cubic", 5), ("cubic", 5)]


def test_save_gives_what_out_gives(tmp_path, made_up):
    found = midpath.compare(TEXT, ["cubic"], seeds=2, out=tmp_path / "a")
    found.save(tmp_path / "b")
    assert load_comparison(tmp_path / "b").to_json() == load_comparison(tmp_path / "a").to_json()


def test_other_directories_are_left_alone(tmp_path, made_up):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(OutputError):
        midpath.compare(TEXT, ["cubic"], out=tmp_path)
    assert made_up == []


def test_a_directory_with_runs_and_more_is_not_ours(tmp_path, made_up):
    (tmp_path / "runs").mkdir()
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(OutputError):
        midpath.compare(TEXT, ["cubic"], out=tmp_path)


def test_an_interrupted_comparison_is_gone_on_with(tmp_path, made_up):
    midpath.compare(TEXT, ["cubic"], seeds=2, out=tmp_path)
    (tmp_path / MARKER).unlink()
    made_up.clear()
    midpath.compare(TEXT, ["cubic"], seeds=2, out=tmp_path)
    assert made_up == []
    assert (tmp_path / MARKER).is_file()


def test_one_failure_stops_the_others(monkeypatch, made_up):
    ran = []

    def run(text, base_dir, *, scheme, seed, **more):
        ran.append(seed)
        raise MemoryError

    monkeypatch.setattr(_midpath, "run", run)
    with pytest.raises(MemoryError):
        midpath.compare(TEXT, ["cubic"], seeds=500, jobs=1)
    assert len(ran) < 500


def test_processes_give_what_threads_give():
    scenario = (ROOT / "examples" / "dumbbell.toml").read_text()
    here = midpath.compare(scenario, ["cubic"], seeds=2)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        there = midpath.compare(scenario, ["cubic"], seeds=2, executor=executor)
    assert here.to_json() == there.to_json()
    for pair, result in here.results.items():
        assert result.flows.equals(there.results[pair].flows)


def test_flows_that_wait_are_compared_without_the_ideal():
    waits = """
    scheme = "cubic"
    topology = { generate = "dumbbell", pairs = 1, bottleneck = { rate = "10 Mbps", delay = "1 ms" }, access = { rate = "1 Gbps", delay = "1 us" } }
    flow = [
        { from = "s0", to = "d0", size = "10 kB", group = "ask" },
        { from = "d0", to = "s0", size = "90 kB", after = ["ask"], start = "5 ms" },
    ]
    """  # noqa: E501
    found = midpath.compare(waits, ["cubic", "newreno"])
    assert found.schemes == ["cubic", "newreno"]
    assert found.warnings[0].startswith("no ideal: some flows start `after` others")
    ask, answer = found.of("cubic")[0].flows.to_pylist()
    # The receiver of the question sends the answer.
    assert answer["start_s"] == pytest.approx(ask["start_s"] + ask["fct_s"] + 0.005)
    with pytest.raises(midpath.ScenarioError, match="ideal"):
        midpath.compare(waits, ["cubic", "ideal"])
