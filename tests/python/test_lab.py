"""The laboratory, as far as it needs no root: its command line, its translation for the simulator, its tables."""

import importlib.util
import json
import sys
import time
from pathlib import Path

import pytest

from midpath.errors import UsageError
from midpath.lab import collect, congestion, machine, simulate, suite, table
from midpath.lab.experiment import AQMS, MODES, Experiment, Measured, Short, command
from midpath.lab.router import Bottleneck, Router
from midpath.lab.testbed import Delays, round_trips
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


def test_without_pyroute2_it_says_how_to_get_it(cli, as_root, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyroute2", None)
    assert "pip install 'midpath[lab]'" in refused(cli)


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
        ("--only", "cost", "--full needs --out"),
    ],
)
def test_bad_input_gets_one_line(cli, as_root, option, value, says):
    assert says in refused(cli, option, value)


def test_beside_the_simulator_says_what_it_has(cli, as_root):
    said = refused(cli, "--vs-sim", "--cc", "bbr")
    assert "bbr is not compared with the simulator; there are newreno, cubic, dctcp" in said


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
    flows = one.flows("cubic", 1)
    assert flows == one.flows("cubic", 1)
    assert flows != one.flows("cubic", 2)
    assert [flow["receiver"] for flow in flows[:4]] == [0, 0, 1, 1]
    short = [flow for flow in flows if flow["size_bytes"]]
    assert len(short) > 10
    assert {flow["size_bytes"] // 1448 for flow in short} <= {10, 30, 100, 300}
    assert round_trips(HERE) == [pytest.approx(0.04), pytest.approx(0.06)]


def test_every_part_of_the_suite_can_be_run():
    names = set()
    for part, cases in suite.PARTS.items():
        for case in cases():
            case.experiment.check()
            names.add((part, case.name))
    assert len(names) == sum(len(cases()) for cases in suite.PARTS.values())
    # What is put beside the simulator was measured, and the simulator has some of it.
    assert names.issuperset(suite.SIMULATED)
    for part, name in suite.SIMULATED:
        case = next(case for case in suite.PARTS[part]() if case.name == name)
        simulate.require(case.controls)


class Here:
    """This machine in place of a namespace."""

    @staticmethod
    def command(*arguments):
        return list(arguments)


def test_the_router_is_looked_at_to_the_end(tmp_path):
    # More than a pipe holds, and then a sign that all was written.
    done = tmp_path / "done"
    program = tmp_path / "midpathd"
    line = json.dumps({"time_s": 1.5, "devices": [{"queue": "x" * 4000}]})
    program.write_text(f"#!/bin/sh\nfor i in $(seq 100); do echo '{line}'; done\ntouch {done}\nexec sleep 60\n")
    program.chmod(0o755)
    router = Router(Here(), machine.Tools(str(program), ""), Bottleneck(), "rpm")
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
    result = simulate.simulate(asked, "cubic", mode, 1)
    port = simulate.bottleneck_of(result)
    # The laboratory's rate counts Ethernet's header.
    assert port["rate_bps"] == round(20e6 * 1500 / 1514)
    assert port["utilisation"] > 0.5
    assert set(result.flows.to_pandas()["dst"]) == {"d0", "d1"}
    # Data are marked, ACKs are, both, or neither.
    assert (port["marks"] > 0) == (mode in ("fwd", "both"))
    told = counted(result, "rpm_told")
    assert (told > 0) == (mode in ("rpm", "both"))
    if mode == "rpm":
        assert told <= counted(result, "rpm_signals")
        assert counted(result, "rpm_marked") == 0


def counted(result, metric):
    """What the router's port had counted at the end; 0 without such a series."""
    series = result.series.to_pandas()
    values = series[(series.metric == metric) & (series.entity == "port:r>x")].value
    return values.max() if len(values) else 0


def test_the_simulated_router_is_asked_for_what_midpathd_is():
    bottleneck = Bottleneck(
        aqm="codel-dataplane", target_s=0.001, interval_s=0.02, registers="plain", aggregate=True, flows=64
    )
    values = simulate.scenario(experiment(bottleneck=bottleneck), "cubic", "none", 1).to_dict()
    (row,) = values["deploy"]
    assert (row["scheme"], row["ports"]) == ("rpm", ["r>x"])
    assert row["params"] == {"mode": "off", "registers": "plain", "size": 64, "aggregate": True}
    queue = values["queues"][row["queue"]]
    assert (queue["kind"], queue["variant"]) == ("codel", "data-plane")
    assert (queue["target"], queue["interval"], queue["limit"]) == ("1000 us", "20000 us", "200000 us")


def test_margins_are_a_share_or_an_amount():
    assert simulate.is_within(100, 109, 0.1, 0.0)
    assert not simulate.is_within(100, 111, 0.1, 0.0)
    assert simulate.is_within(0.001, 0.0019, 0.3, 0.001)


def test_what_cannot_fail_is_not_counted():
    one = experiment(long=1, delays=Delays(0.0, (0.02,)))
    assert simulate.cannot_fail("jain_goodput", one, 1.0, 1.0) == "one flow"
    assert simulate.cannot_fail("jain_goodput", experiment(), 1.0, 1.0) is None
    # 200 ms of buffer.
    assert simulate.cannot_fail("queue_delay_p99_s", one, 0.193, 0.2) == "the buffer's"
    assert simulate.cannot_fail("queue_delay_p99_s", one, 0.193, 0.08) is None
    line = {"within": None, "not_counted": "one flow"}
    assert simulate.verdict(line) == "not counted: one flow"
    assert [simulate.verdict({"within": w, "not_counted": None}) for w in (True, False)] == ["yes", "no"]


# -- results --


def look(time_s, packets):
    counters = {"packets": packets, "bytes": packets * 1514, "sojourn_sum_ns": packets * 10**6}
    counters |= {"signals": 3, "marked_ce": 1, "marked_ece": 2, "dropped": 0}
    sojourn = {"p50_ns": 10**6, "p95_ns": 2 * 10**6, "p99_ns": 3 * 10**6, "histogram": [[0, 4_000_000, packets]]}
    return {
        "time_s": time_s,
        "counters": counters,
        "queue": {"drops": 1, "backlog_bytes": 3000, "backlog_packets": 2},
        "sojourn": sojourn,
        "signal_wait_ns": 7_000_000,
    }


def measured(asked):
    flows = asked.flows("cubic", 1)
    info = {"rtt_us": 41_000, "cwnd": 30, "total_retrans": 1, "bytes_acked": 10**6, "min_rtt_us": 40_100}
    info |= {"data_segs_out": 700, "delivered": 700, "delivered_ce": 2, "ecn": 1}
    begin = 1000.0
    sent = {
        flow["flow"]: {"started": begin + flow["start_s"], "last": info, "samples": [(begin + 1, info)], "error": None}
        for flow in flows
    }
    sized = [flow for flow in flows if flow["size_bytes"]]
    delivered = {flow["flow"]: flow["size_bytes"] or 10**6 for flow in flows}
    # One short flow never ends.
    ended = {flow["flow"]: begin + flow["start_s"] + 0.1 for flow in sized[1:]}
    progress = [(begin + i, i * 10**6) for i in range(4)]
    seen = [look(begin + i, 100 * i) for i in range(4)]
    machine_ = {"kernel": "6.0", "cpus": "2", "midpathd": "midpathd 0", "load_average": "0.5 0.5 0.5"}
    return Measured(flows, sent, delivered, ended, progress, begin, look(0, 1000), seen, machine_)


def test_a_run_is_a_result_that_the_report_draws(tmp_path):
    asked = experiment(short=Short(), seconds=8.0)
    result = collect.result(asked, "cubic", "rpm", 1, measured(asked))
    result.run["command"] = command(asked, ["cubic"], ["rpm"], 1)
    assert result.scheme == "cubic-rpm"
    summary = result.summary
    flows = result.flows.to_pandas()
    assert summary["flows"] == len(flows)
    assert summary["completed"] == len(flows) - 4 - 1
    assert summary["jain_goodput"] == pytest.approx(1.0, abs=0.01)
    assert summary["loss_ratio"] == pytest.approx(1 / 1001)
    assert (summary["signals"], summary["marks"], summary["marks_back"]) == (3, 1, 2)
    assert summary["signal_wait_s"] == pytest.approx(0.007)
    # 10 packets of 1514 bytes at 100 Mbps, and 20 ms one way.
    ten = flows[flows.size_bytes == 14480].iloc[0]
    assert ten.ideal_fct_s == pytest.approx(10 * 1514 * 8 / 1e8 + (0.02 if ten.dst == "d0" else 0.03))
    series = result.series.to_pandas()
    rate = series[(series.metric == "throughput_bps")].value
    assert list(rate) == pytest.approx([100 * 1514 * 8] * 3)
    result.save(tmp_path / "run")
    page = html(result)
    assert "CUBIC, RPM" in page
    assert "Measured" in page
    assert "midpath lab rpm --cc cubic --modes rpm --flows 2 --rtt 40ms,60ms --upstream 10ms --rate 100Mbps" in page


def test_a_cell_is_a_median_and_a_range():
    assert table.cell(table.spread([3.0, 1.0, 2.0])) == "2.00 (1.00–3.00)"
    assert table.cell(table.spread([2.0, None])) == "2.00"
    assert table.cell(table.spread([None])) == "–"
    assert table.markdown(("a", "b"), [("1", "2")]) == "| a | b |\n| --- | ---: |\n| 1 | 2 |\n"


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
