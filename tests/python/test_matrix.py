"""`midpath matrix`: rows that ship, columns, what is kept of a run, and what is said of it."""

import json
import math
import re

import numpy as np
import pytest

import midpath
import midpath.matrix
from conftest import ROOT
from midpath import cli, entries
from midpath.equipment import equipment_of
from midpath.errors import OutputError, ScenarioError, UsageError
from midpath.matrix import cell, file, found, picture, rows, text

QUICK = ("cubic", "cubic@fq_codel", "fcp")
# Receivers ask under these: they answer no request.
CANNOT = dict.fromkeys(("clients", "pages", "videos", "jobs"), ("mircc", "ndn"))


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """All rows, small, with a column of each class."""
    out = tmp_path_factory.mktemp("matrix")
    return midpath.matrix.matrix(schemes=QUICK, seeds=1, small=True, out=out), out


def test_all_rows_run_and_every_flow_ends(quick):
    matrix, _ = quick
    assert [row.name for row in matrix.rows] == list(rows.every())
    for row in matrix.rows:
        assert [one.name for one in matrix.ran(row.name)] == list(QUICK), row.name
        for one in QUICK:
            # A call's packets may be lost.
            assert matrix.unended(row.name, one) < (0.05 if row.of == "datagrams" else 1e-9), (row.name, one)
            figures = matrix.figures[row.name, one, 1]
            assert figures["mean_ratio"] > 0.5 and figures["wait_p99_s"] > 0, (row.name, one, figures)
            if not row.of:
                assert 0 < figures["jain"] <= 1 and 0 < figures["use"] <= 1.001, (row.name, one, figures)


def test_an_application_is_compared_with_itself_alone_and_a_collective_with_the_line(quick):
    matrix, _ = quick
    alone = midpath.run(rows.every()["page"].scenario(None, small=True))
    assert not [group for group in alone.flows["group"].to_pylist() if not group.startswith("browser")]
    own, told = matrix.figures["page", QUICK[0], 1], alone.run["pages"][0]
    assert own["mean_ratio"] == pytest.approx(own["fct_mean_s"] / told["mean_s"], rel=1e-5)
    # Fifteen sixteenths of 2 MB go over a host's link of 10 Gbps.
    own = matrix.figures["all-to-all", QUICK[0], 1]
    assert own["mean_ratio"] == pytest.approx(own["fct_mean_s"] / (15 / 16 * 2e6 * 8 / 10e9), rel=1e-5)
    # Two rings of eight, 4 MB each: seven eighths twice.
    own = matrix.figures["all-reduce", QUICK[0], 1]
    assert own["mean_ratio"] == pytest.approx(own["fct_mean_s"] / (2 * 7 / 8 * 4e6 * 8 / 10e9), rel=1e-5)


def test_all_columns_of_a_row_have_the_same_memory(quick):
    matrix, _ = quick
    for row in matrix.rows:
        assert len({note["memory"] for note in matrix.notes[row.name].values()}) == 1, row.name


@pytest.mark.nightly("python/midpath/matrix/", "python/midpath/entries.py", "crates/schemes/")
def test_every_scheme_has_a_scenario_in_every_row_and_the_same_memory():
    for row in rows.every().values():
        memory = set()
        for one in entries.columns(None):
            scenario = row.scenario(one, small=True).with_(changes={"stop": "1500 ms"})
            if one.name in CANNOT.get(row.of, ()):
                with pytest.raises(ScenarioError):
                    scenario.check()
                continue
            scenario.check()
            if row.name in ("long", "routers-50"):
                memory.add(equipment_of(midpath.run(scenario)).memory)
        assert len(memory) <= 1, row.name


def test_what_is_there_is_not_run_again_and_what_is_new_is(quick):
    matrix, out = quick
    before = records(out)
    again = midpath.matrix.matrix(schemes=QUICK, rows=["long", "rtts"], seeds=1, small=True, out=out)
    assert records(out) == before
    assert again.figures["long", "fcp", 1] == matrix.figures["long", "fcp", 1]
    assert again.notes["long"] == matrix.notes["long"]
    midpath.matrix.matrix(schemes=["fcp", "newreno"], rows=["long"], seeds=1, small=True, out=out)
    (new,) = records(out).items() - before.items()
    assert json.loads(new[0].read_bytes())["scheme"] == "newreno"


def records(out):
    """The records of runs, and when each was written."""
    return {path: path.stat().st_mtime_ns for path in (out / "runs" / "runs").glob("*/*.json")}


def test_a_matrix_is_read_as_it_was_written(quick, tmp_path):
    matrix, _ = quick
    file.save(matrix, tmp_path)
    again = file.load_matrix(tmp_path)
    assert file.to_csv(again) == file.to_csv(matrix)
    assert [row.name for row in again.rows] == [row.name for row in matrix.rows]
    assert list(text.results(again)) == list(text.results(matrix))
    assert picture.svg(again) == picture.svg(matrix)


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(OutputError, match="holds no matrix"):
        midpath.matrix.matrix(schemes=["fcp"], rows=["long"], seeds=1, small=True, out=tmp_path)
    (tmp_path / "matrix.json").write_text('{"kind": "matrix", "format": 0}')
    with pytest.raises(OutputError, match="not a matrix that this version can read"):
        file.load_matrix(tmp_path)


def test_columns_and_rows_that_are_not_known_are_answered():
    for name, answer in (("fpc", "fcp"), ("cubic@fqcodel", "fq_codel"), ("cubic+rmp", "rpm")):
        with pytest.raises(ScenarioError, match=f"did you mean `{answer}`"):
            midpath.matrix.matrix(schemes=[name], rows=["wan"], seeds=1)
    with pytest.raises(UsageError, match="there are long"):
        rows.rows(["weather"])


def test_columns_are_every_scheme_that_carries_flows_in_three_classes():
    kinds = {one.name: one.kind for one in entries.columns(None)}
    carrying = {name for name, about in midpath.schemes.shipped().items() if about.hosts}
    assert carrying - set(kinds) == set(entries.LEFT_OUT)
    assert {kinds[name] for name in ("newreno", "cubic", "bbr", "mptcp")} == {entries.ENDS}
    assert {kinds[name] for name in ("dctcp", "prague", "cubic@codel", "cubic@fq_codel")} == {entries.QUEUES}
    assert {kinds[name] for name in ("cubic+rpm", "fcp", "inrpp", "mircc", "rcp", "xcp", "hpcc")} == {entries.MIDPATH}


def test_hosts_that_deploy_it_and_routers_that_do_are_as_many_as_said():
    fcp = entries.Entry("fcp")
    for name, share in (("hosts-10", 2), ("hosts-50", 10), ("hosts-100", 20)):
        flows = midpath.run(rows.every()[name].scenario(fcp, small=True)).flows.to_pandas()
        assert (flows.scheme == "fcp").sum() == share == (flows.group == rows.DEPLOYED).sum()
        assert len(flows) == rows.PAIRS
    for name, share in (("routers-10", 1), ("routers-50", 5), ("routers-100", 11)):
        for one, network in (("fcp", "fcp"), ("cubic+rpm", "rpm")):
            run = midpath.run(rows.every()[name].scenario(entries.Entry(one), small=True))
            nodes = next(row["nodes"] for row in run.run["deployment"] if row["scheme"] == network)
            routers = [f"r{i}" for i in range(rows.ROUTERS)] if nodes == "all" else nodes
            assert sum(node.startswith("r") for node in routers) == share, (name, one)


def test_queues_that_a_column_needs_are_those_of_its_routers():
    run = midpath.run(rows.every()["routers-50"].scenario(entries.Entry("cubic@fq_codel"), small=True))
    ports = {row["scheduler"]: row["ports"] for row in run.run["equipment"] if row["at"] == "routers"}
    assert set(ports) == {"fq", "fifo"}
    run = midpath.run(rows.every()["long"].scenario(entries.Entry("prague"), small=True))
    assert "DualPI2" in equipment_of(run).aqm


def test_a_lossless_incast_drops_nothing_for_want_of_room_with_the_same_memory():
    tail, memory = {}, set()
    for name in ("incast", "incast-pfc"):
        row = rows.every()[name]
        ideal = midpath.run(row.scenario(None, small=True))
        for one in ("timely", "dcqcn", "hpcc"):
            run = midpath.run(row.scenario(entries.Entry(one), small=True))
            tail[name, one] = cell.measured(run, ideal, cell.at_routers(run)).figures["p99_ratio"]
            memory.add(equipment_of(run).memory)
            lost = sum(run.ports["drops_queue"].to_pylist())
            assert (lost == 0) if "pfc" in name or one == "hpcc" else (lost > 0), (name, one, lost)
            if "pfc" in name:
                assert run.run["pfc"]["lossless"] == ["all"] and not run.run["pfc"]["deadlock"], one
    assert len(memory) == 1
    # What RACK repeats within a round trip costs the mean little, and the tail all the same.
    for one in ("timely", "dcqcn"):
        assert tail["incast-pfc", one] < 0.75 * tail["incast", one], one


def test_figures_of_a_run_are_what_they_say():
    row, fcp = rows.every()["long"], entries.Entry("fcp")
    ideal, run = (midpath.run(row.scenario(one, small=True)) for one in (None, fcp))
    figures = cell.measured(run, ideal, cell.at_routers(run)).figures
    assert figures["fct_mean_s"] == pytest.approx(run.summary["afct_s"])
    assert figures["mean_ratio"] == pytest.approx(run.summary["afct_s"] / ideal.summary["afct_s"])
    assert cell.measured(ideal, ideal, cell.at_routers(ideal)).figures["jain"] == pytest.approx(1)
    core = next(port for port in run.ports.to_pylist() if (port["node"], port["peer"]) == ("r0", "r1"))
    assert figures["wait_p99_s"] == core["delay_p99_s"]
    last = (run.flows.to_pandas().start_s + run.flows.to_pandas().fct_s).max() - run.flows.to_pandas().start_s.min()
    assert figures["use"] == pytest.approx(core["bytes"] * 8 / 100e6 / last, rel=0.02)


def test_a_flow_that_does_not_end_counts_with_the_time_that_it_had():
    row, fcp = rows.every()["long"], entries.Entry("fcp")
    ideal = midpath.run(row.scenario(None, small=True))
    run = midpath.run(row.scenario(fcp, small=True).with_(changes={"stop": "1200 ms"}))
    flows = run.flows.to_pandas()
    late = flows.fct_s.isna()
    assert late.sum() > 0
    times = cell.durations(run)
    assert times[late] == pytest.approx(1.2 - flows.start_s[late])
    figures = cell.measured(run, ideal, cell.at_routers(run)).figures
    assert figures["ended"] == 4 - late.sum()
    matrix = made({"fcp": [1.0]}, flows=4, ended=3)
    assert any("| > 1.00 |" in line for line in text.of_row(matrix, matrix.rows[0]))


def made(ratios, flows=4, ended=4):
    """A matrix of one row with these means by column and seed."""
    figures = {
        ("long", name, seed): dict.fromkeys(cell.FIGURES, value) | {"flows": flows, "ended": ended}
        for name, values in ratios.items()
        for seed, value in enumerate(values, 1)
    }
    seeds = list(range(1, 1 + len(next(iter(ratios.values())))))
    columns = [entries.Entry(name) for name in ratios]
    blank = {"error": "", "warnings": [], "equipment": None, "memory": 1, "same_as": []}
    return found.Matrix([rows.every()["long"]], columns, seeds, False, figures, {"long": dict.fromkeys(ratios, blank)})


def test_who_is_better_is_told_by_more_than_luck():
    luck = [0.0, 0.1, -0.1, 0.05, -0.05]
    ends = [2 + x for x in luck]
    won = made({"cubic": ends, "cubic@codel": [x + 0.5 for x in ends], "fcp": [x - 1 for x in ends]})
    verdict = won.verdict("long", "mean_ratio")
    assert verdict.winner == (entries.MIDPATH, "fcp", pytest.approx(0.5, abs=0.01))
    assert text.said(verdict) == "**mid-path**: FCP, 50 % sooner"
    lost = made({"cubic": ends, "fcp": [x + 2 for x in ends]}).verdict("long", "mean_ratio")
    assert lost.winner == (entries.ENDS, "cubic", pytest.approx(0.5, abs=0.01))
    # The best of one side differs by more than luck from one of the other, and not from all.
    close = made({"cubic": ends, "newreno": [2.02, 1.9, 1.97, 1.9, 2.1], "fcp": [x - 0.03 for x in ends]})
    assert close.apart("long", "cubic", "fcp", "mean_ratio")
    assert close.verdict("long", "mean_ratio").winner is None
    assert close.verdict("long", "mean_ratio").best[entries.ENDS][0] == "newreno"
    few = made({"cubic": ends[:3], "fcp": [1.36, 1.7, 1.41]}).verdict("long", "mean_ratio")
    assert few.as_pair and not few.told
    assert text.said(few) == "mid-path: FCP, 26 % sooner"
    assert made({"cubic": [2.0], "fcp": [1.0]}).verdict("long", "mean_ratio").winner is None, "one seed tells nothing"
    assert made({"cubic": ends}).verdict("long", "mean_ratio").sides is None


def test_intervals_are_wider_where_more_columns_could_be_best():
    values = {"cubic": [2.0, 2.1, 1.9, 2.05, 1.95], "fcp": [1.9, 1.98, 1.86, 1.93, 1.87]}
    matrix = made(values)
    assert matrix.apart("long", "cubic", "fcp", "mean_ratio", 1)
    assert not matrix.apart("long", "cubic", "fcp", "mean_ratio", 200)


def test_what_cannot_be_run_says_why_and_what_did_nothing_is_named(capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(entries.WITH_ECN, "cubic", {"queue.kind": "no such queue"})
    code = cli.main([
        *("matrix", "--quick", "--rows", "long", "--seeds", "1", "--out", str(tmp_path / "m")),
        *("--schemes", "cubic@pie,newreno,mptcp,fcp"),
    ])  # fmt: skip
    assert code == 0
    assert "cubic@pie cannot run: queue.kind:" in capsys.readouterr().out
    page = (tmp_path / "m" / "RESULTS.md").read_text(encoding="utf-8")
    assert "- CUBIC @ pie cannot be run: queue.kind" in page
    row = rows.every()["long"]
    one = cell.Cell({"flows": 1.0}, digest="a")
    notes = found.noted(
        {("long", "cubic", 1): one, ("long", "newreno", 1): one}, [row], entries.columns(["cubic", "newreno"])
    )
    assert notes["long"]["newreno"]["same_as"] == ["cubic"]
    assert notes["long"]["cubic"]["same_as"] == []


def test_the_command_prints_json(capsys):
    assert cli.main(["matrix", "--quick", "--rows", "long", "--seeds", "1", "--schemes", "cubic,fcp", "--json"]) == 0
    head = json.loads(capsys.readouterr().out)
    assert head["columns"] == ["cubic", "fcp"] and head["rows"] == ["long"] and head["quick"]
    assert head["means"]["long"]["fcp"]["mean_ratio"] > 0.5
    assert cli.main(["matrix", "--schemes", "fpc"]) == 2


def test_the_picture_has_a_mark_for_each_scheme_within_its_scale(quick):
    matrix, _ = quick
    drawn = picture.svg(matrix)
    assert drawn.count("<title>") == len(picture.STRIPS) * len(matrix.rows) * len(QUICK)
    assert picture._x(0.01) == picture._x(picture.LEAST) and picture._x(1e9) == picture._x(picture.MOST)
    assert math.isclose(picture._x(4) - picture._x(2), picture._x(2) - picture._x(1))
    for row in matrix.rows:
        assert row.title in drawn


def test_the_schedule_of_the_varying_link_is_the_script_s():
    lines = (rows.folder() / "cellular.csv").read_text(encoding="utf-8").splitlines()
    rates = [float(re.fullmatch(r"[\d.]+ s,([\d.]+) Mbps", line)[1]) for line in lines[1:]]
    assert len(rates) == 200 and min(rates) == 0.05 and np.mean(rates) > 3
    assert (ROOT / "scripts" / "cellular_trace.py").is_file()
