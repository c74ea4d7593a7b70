"""The laboratory, as far as it needs no root: its command line, its translation for the simulator, its tables."""

import importlib.util
import json
import time
from pathlib import Path

import pytest

import script
from conftest import ROOT
from midpath import markdown, run
from midpath.errors import ScenarioError, UsageError
from midpath.lab import congestion, gather, keys, machine, real, rpm, table
from midpath.lab.plan import Plan
from midpath.lab.router import PARAMS, Place, Router, arguments, counted, rpm_ports, series
from midpath.lab.rpm import AQMS, MODES, Bottleneck, Delays, Experiment, Short
from midpath.report import html

VECTORS = Path(__file__).parents[1] / "vectors" / "rpm"
HERE = Delays(0.005, (0.015, 0.025))


@pytest.fixture
def as_root(monkeypatch):
    """Lets the command believe that it may."""
    monkeypatch.setattr(machine.os, "geteuid", lambda: 0)
    monkeypatch.setattr(machine.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(machine.platform, "system", lambda: "Linux")


def refused(cli, *arguments):
    answer = cli("lab", "rpm", *arguments)
    assert answer.code == 2
    assert answer.out == ""
    assert len(answer.err.strip().splitlines()) == 1
    return answer.err


def test_without_root_it_says_so(cli, monkeypatch):
    monkeypatch.setattr(machine.platform, "system", lambda: "Linux")
    monkeypatch.setattr(machine.os, "geteuid", lambda: 1000)
    assert "needs root" in refused(cli)
    monkeypatch.setattr(machine.platform, "system", lambda: "Darwin")
    assert "needs Linux" in refused(cli)


def test_without_the_binaries_it_says_how_to_build_them(cli, as_root, monkeypatch):
    monkeypatch.setattr(machine.shutil, "which", lambda name: None if name.startswith("midpath") else f"/bin/{name}")
    monkeypatch.setattr(machine, "BUILT", [])
    assert "cargo build --release -p midpathd" in refused(cli)
    assert "/nowhere is not a program" in refused(cli, "--midpathd", "/nowhere")


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--modes", "rpm,backwards", "--modes backwards: there are none, fwd, rpm, both"),
        ("--modes", ",", "--modes is empty"),
        ("--rate", "10 parsecs", "10 parsecs"),
        ("--rate", "10 kbps", "--rate: must be from 1 Mbps"),
        ("--aqm", "red", "--aqm red: there are codel"),
        ("--rtt", "40", "40"),
        ("--upstream", "50 ms", "above --upstream"),
        ("--flows", "0", "--flows: must be at least 1"),
        ("--seconds", "0", "--seconds"),
    ],
)
def test_bad_input_gets_one_line(cli, as_root, option, value, says):
    assert says in refused(cli, option, value)


def test_unknown_congestion_controls_are_named(monkeypatch):
    with pytest.raises(UsageError, match="--cc vegas: there are cubic"), congestion.controls(["vegas"], None):
        pass
    monkeypatch.setattr(congestion, "available", lambda: {"reno"})
    with pytest.raises(UsageError, match="this kernel has no cubic"), congestion.controls(["cubic"], None):
        pass


# -- the same flows every time --


def experiment(**changes):
    return Experiment(**({"title": "a test", "bottleneck": Bottleneck(), "delays": HERE, "long": 2} | changes))


def test_a_repeat_has_the_same_flows_and_another_one_others():
    one = experiment(short=Short(), seconds=20.0)
    flows = one.flows(1)
    assert flows == one.flows(1)
    assert flows != one.flows(2)
    assert [flow["to"] for flow in flows[:4]] == ["d0", "d0", "d1", "d1"]
    short = [flow for flow in flows if "size" in flow]
    assert len(short) > 10
    assert {flow["group"] for flow in short} <= {f"{packets} packets" for packets in (10, 30, 100, 300)}


def test_every_part_of_the_suite_can_be_run():
    measure = script.load(ROOT / "evidence/lab/rpm/measure.py")
    names = set()
    for part, cases in measure.PARTS.items():
        for case in cases():
            case.experiment.check()
            names.add((part, case.name))
            for one in case.cases():
                one.scenario(1).check()
    assert len(names) == sum(len(cases()) for cases in measure.PARTS.values())
    # What is put beside the simulator was measured, and the simulator has some of it.
    assert names.issuperset(measure.SIMULATED)


def test_runs_that_are_there_are_not_made_again(tmp_path, monkeypatch):
    ran = []

    def simulated(scenario, _):
        ran.append(scenario.seed)
        return run(scenario)

    monkeypatch.setattr(real, "run", simulated)
    cases = rpm.cases(experiment(seconds=1.0), ["cubic"], ["none", "rpm"])
    first = real.compare(cases, [1], None, out=tmp_path)
    assert real.compare(cases, [1, 2], None, out=tmp_path, resume=True).schemes == ["cubic", "cubic-rpm"]
    assert len(ran) == 4
    again = real.compare(cases, [1, 2], None, out=tmp_path, resume=True)
    assert len(ran) == 4
    assert [again.results[name, 1].run for name in again.schemes] == [one.run for one in first.results.values()]
    # Another scenario is run, and without `resume` all are.
    others = rpm.cases(experiment(seconds=1.5), ["cubic"], ["none", "rpm"])
    real.compare(others, [1, 2], None, out=tmp_path, resume=True)
    assert len(ran) == 8
    real.compare(others, [1, 2], None, out=tmp_path)
    assert len(ran) == 12


def test_the_router_is_looked_at_to_the_end(tmp_path, monkeypatch):
    # More than a pipe holds, and then a sign that all was written.
    done = tmp_path / "done"
    program = tmp_path / "midpathd"
    line = json.dumps({"time_s": 1.5, "devices": [{"queue": "x" * 4000}]})
    program.write_text(f"#!/bin/sh\nfor i in $(seq 100); do echo '{line}'; done\ntouch {done}\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setattr("midpath.lab.router.enter", lambda space, *words: list(words))
    router = Router("", str(program), "e1", [])
    router.watch()
    patience = time.monotonic() + 20
    while not done.exists() and time.monotonic() < patience:
        time.sleep(0.01)
    seen = router.stop_watching()
    assert len(seen) == 100
    assert seen[-1] == {"time_s": 1.5, "queue": "x" * 4000}
    assert router.stop_watching() == []


# -- beside the simulator --


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("aqm", AQMS)
def test_an_experiment_is_a_scenario(mode, aqm):
    asked = experiment(bottleneck=Bottleneck(rate_bps=20e6, aqm=aqm), short=Short(), seconds=3.0)
    result = run(rpm.scenario(asked, "cubic", mode, 1))
    port = next(port for port in result.ports.to_pylist() if (port["node"], port["peer"]) == ("r", "x"))
    # The laboratory's rate counts Ethernet's header.
    assert port["rate_bps"] == round(20e6 * 1500 / 1514)
    assert port["utilisation"] > 0.5
    assert set(result.flows.to_pandas()["dst"]) == {"d0", "d1"}
    # Data are marked, ACKs are, both, or neither.
    assert (port["marks"] > 0) == (mode in ("fwd", "both"))
    told = at_the_end(result, "rpm_told")
    assert (told > 0) == (mode in ("rpm", "both"))
    if mode == "rpm":
        assert told <= at_the_end(result, "rpm_signals")
        assert at_the_end(result, "rpm_marked") == 0


def at_the_end(result, metric):
    """What the router's port had counted at the end; 0 without such a series."""
    series = result.series.to_pandas()
    values = series[(series.metric == metric) & (series.entity == "port:r>x")].value
    return values.max() if len(values) else 0


def plan(asked, mode="rpm", **changes):
    """A plan as `midpath-lab plan` would say it."""
    scenario = rpm.scenario(asked, "cubic", mode, 1).with_(changes=changes)
    nodes = [{"name": name, "kind": "host" if name in "sd0d1" else "router"} for name in ("s", "d0", "d1", "r", "x")]
    numbers = {node["name"]: number for number, node in enumerate(nodes)}
    links = [
        {"a": numbers[a], "b": numbers[b], "rates_bps": [rate, rate], "delay_s": 0.01, "mtu": 1500}
        | {"schemes": ["rpm" if a == "r" else None, None]}
        for a, b, rate in (("s", "r", 10**10), ("r", "x", 99_075_297), ("x", "d0", 10**10), ("x", "d1", 10**10))
    ]
    flows = [
        {"from": 0, "to": numbers[flow["to"]], "scheme": "cubic", "group": flow["group"], "rate_bps": None, "hops": 3}
        | {"size_bytes": int(flow["size"].split()[0]) if "size" in flow else None, "stop_s": None, "path": [0, 3, 4, 1]}
        | {"start_s": float(flow["start"].split()[0]) / 1e6, "ideal_fct_s": 0.05, "rtt_s": 0.04}
        for flow in asked.flows(1)
    ]
    values = {"nodes": nodes, "links": links, "flows": flows, "scheme": "newreno", "seed": 1, "title": "a test"}
    return Plan(scenario, values | {"stop_s": asked.seconds, "described": {}, "equipment": []})


def test_the_router_is_asked_for_what_the_scenario_says():
    bottleneck = Bottleneck(
        aqm="codel-dataplane", target_s=0.001, interval_s=0.02, registers="plain", aggregate=True, flows=64
    )
    asked = plan(experiment(bottleneck=bottleneck), "none")
    assert rpm_ports(asked) == [Place(1, 0, "r", "x")]
    said = "--rate 100000000bps --aqm codel-dataplane --buffer 200000us --target 1000us --interval 20000us"
    said += " --mode off --registers plain --flows 64 --aggregate"
    assert arguments(asked, rpm_ports(asked)[0]) == said.split()
    assert {f"deploy.params.{name}" for name in (*PARAMS, "aggregate")} == {
        key for _, key, _ in keys.written(asked.written) if key.startswith("deploy.params.")
    }
    keys.refuse(asked)
    step = plan(experiment(bottleneck=Bottleneck(aqm="step")))
    assert "step" in arguments(step, rpm_ports(step)[0])


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("queues.router.kind", "red", "codel or delay-step"),
        ("queues.router.limit", "100 packets", "queues.router: '100 packets' is not a number"),
        ("deploy.0.params.register_max", 1, "is not possible in the laboratory"),
        ("deploy.0.scheme", "fcp", "can be rpm in the laboratory"),
        ("schemes.rpm.mode", "fwd", "is not possible in the laboratory"),
    ],
)
def test_what_midpathd_cannot_do_is_refused(key, value, says):
    asked = plan(experiment(), **{key: value})
    with pytest.raises(ScenarioError, match=says):
        keys.refuse(asked)
        arguments(asked, rpm_ports(asked)[0])


# -- results --


def look(time_s, packets):
    counters = {"packets": packets, "bytes": packets * 1514, "sojourn_sum_ns": packets * 10**6}
    counters |= {"signals": 3, "marked_ce": 1, "marked_ece": 2, "dropped": 0}
    sojourn = {"p50_ns": 10**6, "p95_ns": 2 * 10**6, "p99_ns": 3 * 10**6, "histogram": [[0, 4_000_000, packets]]}
    return {
        "time_s": time_s,
        "counters": counters,
        "queue": {"drops": 1, "backlog_bytes": 3000, "backlog_packets": 2},
        "registers": {"owned": 2},
        "sojourn": sojourn,
        "signal_wait_ns": 7_000_000,
    }


def test_a_run_is_a_result_that_the_report_draws(tmp_path):
    asked = experiment(short=Short(), seconds=8.0)
    drawn, begin = plan(asked), 1000.0
    port = {"node": "r", "port": 0, "peer": "x", "rate_bps": 99_075_297, "delay_s": 0.0, "drops_fault": 0}
    port |= {"drops_policy": 0, "corrupted": 0} | counted(look(0, 1000), port, [look(begin, 0)], 8.0)
    info = {"sent": 700, "retransmitted": 1, "timeouts": 0, "rtt_s": 0.041, "rtt_min_s": 0.0401}
    info |= {"echoed": 2, "ecn": True, "window_limited_s": 0.0}
    # One short flow never ends.
    ended = [flow["size_bytes"] is not None for flow in drawn.flows]
    ended[ended.index(True)] = False
    flows = [
        {"started_s": flow["start_s"], "completed_s": flow["start_s"] + 0.1 if done else None, "info": info}
        | {"delivered_bytes": flow["size_bytes"] or 10**6, "lost_packets": 0, "marked_packets": 0}
        | {"rtt_mean_s": 0.041, "rtt_max_s": 0.05}
        for flow, done in zip(drawn.flows, ended, strict=True)
    ]
    seen = list(series("port:r>x", [look(begin + i, 100 * i) for i in range(4)], begin, 8.0))
    ran = {"simulated_s": 8.0, "flows": flows, "ports": [port], "series": seen, "rpm": {"r>x": look(0, 1000)}}
    late = {"late_us": {"p50": 1, "p99": 2}, "missed": 0, "refused": 0, "stored": 0}
    (case,) = rpm.cases(asked, ["cubic"], ["rpm"])
    result = case.called(gather.result(drawn, ran | {"emulator": late}, {}))
    assert result.scheme == "cubic-rpm"
    summary = result.summary
    assert summary["flows"] == len(flows)
    assert summary["completed"] == len(flows) - 4 - 1
    assert summary["jain_goodput"] == pytest.approx(1.0, abs=0.01)
    assert (summary["signals"], summary["marks"], summary["marks_back"]) == (3, 1, 2)
    assert summary["signal_wait_s"] == pytest.approx(0.007)
    assert summary["queue_delay_p99_s"] == pytest.approx(0.003)
    assert summary["echoed_packets"] == 2 * len(flows)
    series_ = result.series.to_pandas()
    assert list(series_[series_.metric == "sojourn_s"].value) == pytest.approx([0.001] * 3)
    result.run["machine"] = {"kernel": "6.0", "cpus": "2", "load_average": "0.5 0.5 0.5"}
    result.save(tmp_path / "run")
    page = html(result)
    assert "CUBIC, RPM" in page
    assert "Measured" in page


def test_a_cell_is_a_median_and_a_range():
    assert table.cell(table.spread([3.0, 1.0, 2.0])) == "2.00 (1.00–3.00)"
    assert table.cell(table.spread([2.0, None])) == "2.00"
    assert table.cell(table.spread([None])) == "–"
    assert markdown.table(("a", "b"), [("1", "2|3")], numbers=True) == "| a | b |\n| --- | ---: |\n| 1 | 2\\|3 |"


# -- vectors --


def test_the_vectors_are_what_the_model_gives(monkeypatch):
    monkeypatch.syspath_prepend(str(VECTORS))
    spec = importlib.util.spec_from_file_location("generate", VECTORS / "generate.py")
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    names = {path.stem for path in VECTORS.glob("*.json")}
    assert names == set(generate.FILES)
    for name, make in generate.FILES.items():
        committed = (VECTORS / f"{name}.json").read_text(encoding="utf-8")
        assert committed == generate.text(make()), name
        json.loads(committed)
