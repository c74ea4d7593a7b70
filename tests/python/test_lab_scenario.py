"""`midpath lab SCENARIO`, as far as it needs no root: what it refuses, its tables, its verdicts."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import ROOT
from midpath import _midpath, run
from midpath.errors import ScenarioError
from midpath.lab import beside, budget, clean, clients, gather, keys, nodes, real, router
from midpath.lab.congestion import KERNEL
from midpath.lab.network import _route_metrics, _settings
from midpath.lab.plan import Plan
from midpath.report import html
from midpath.scenario import Scenario

DUMBBELL = {
    "scheme": "cubic",
    "stop": "5 s",
    "topology": {
        "generate": "dumbbell",
        "bottleneck": {"rate": "20 Mbps", "delay": "10 ms"},
        "access": {"rate": "100 Mbps", "delay": "1 ms"},
    },
    "flow": [{"from": "s0", "to": "d0", "size": "1 MB"}, {"from": "s0", "to": "d0"}],
}


def plan(changes=None, **values):
    """A plan as `midpath-lab plan` would say it, of a dumbbell with two flows."""
    scenario = Scenario.from_dict(DUMBBELL).with_(changes=changes or {})
    names = ("s0", "r0", "r1", "d0")
    mbps = 10**6
    links = [(0, 1, 100 * mbps, 0.001), (1, 2, 20 * mbps, 0.01), (2, 3, 100 * mbps, 0.001)]
    flow = {"from": 0, "to": 3, "start_s": 0.0, "stop_s": None, "scheme": "cubic", "group": "flows", "rate_bps": None}
    flow |= {"rtt_s": 0.0241, "hops": 3, "path": [0, 1, 2, 3]}
    said = {
        "title": "a test",
        "scheme": "cubic",
        "seed": 1,
        "stop_s": 5.0,
        "nodes": [{"name": n, "kind": "host" if n[0] in "sd" else "router", "x": None, "y": None} for n in names],
        "links": [
            {"a": a, "b": b, "rates_bps": [rate, rate], "delay_s": delay, "mtu": 1500, "schemes": ["cubic", None]}
            for a, b, rate, delay in links
        ],
        "flows": [
            flow | {"size_bytes": 10**6, "ideal_fct_s": 0.43},
            flow | {"size_bytes": None, "ideal_fct_s": None},
        ],
        "routes": [],
        "reroutes": [],
        "described": {"cubic": {"title": "CUBIC"}},
        "equipment": [],
    }
    return Plan(scenario, said | values)


# -- what it refuses --


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("deploy", [{"scheme": "fcp"}], "deploy[0].scheme: can be rpm in the laboratory"),
        ("deploy", [{"scheme": "rpm", "nodes": ["r0"]}], "deploy[0].nodes: is not possible in the laboratory"),
        ("routing.ecmp", "packet", "routing.ecmp: can be flow and off"),
        ("flow.0.path", ["r0", "r1"], "flow[0].path"),
        (
            "client",
            [{"from": ["s0"], "to": ["d0"], "fan_out": 2}],
            "client[0].fan_out: is not possible in the laboratory",
        ),
        ("flow.1.rate", "1 Mbps", "flow[1].rate"),
        ("flow.1.weight", 2.0, "flow[1].weight"),
        ("schemes.cubic.beta", 0.5, "schemes.cubic.beta: is not possible in the laboratory: constants of the kernel"),
        ("schemes.cubic.ecn", "accurate", "schemes.cubic.ecn: can be true and false"),
        ("schemes.cubic.delayed_ack", 4, "schemes.cubic.delayed_ack: can be"),
    ],
)
def test_a_key_that_cannot_be_real_is_named(key, value, says):
    with pytest.raises(ScenarioError) as error:
        keys.refuse(plan({key: value}))
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("rows", "queue", "says"),
    [
        (
            2,
            {"kind": "codel", "limit": "200 ms"},
            "deploy[1]: is not possible in the laboratory: one row has",
        ),
        (1, {"kind": "pie", "limit": "200 ms"}, "deploy[0].queue: must name one of `queues`"),
        (1, {"kind": "codel", "limit": "100 kB"}, "queues.q: '100 kB' is not a number"),
    ],
)
def test_what_rpm_at_a_port_cannot_be_is_named(rows, queue, says):
    links = [link | {"schemes": ["rpm", None]} for link in plan().links]
    deploy = [{"scheme": "rpm", "ports": [port], "queue": "q"} for port in ("r0>r1", "r1>d0")]
    found = plan({"deploy": deploy[:rows], "queues": {"q": queue}}, links=links)
    with pytest.raises(ScenarioError) as error:
        router.arguments(found, router.rpm_ports(found)[0])
    assert says in str(error.value)


def test_schemes_without_a_kernel_are_named():
    flows = [flow | {"scheme": "rcp"} for flow in plan().flows]
    with pytest.raises(ScenarioError, match="rcp is not in the kernel; it has cubic, newreno, bbr and dctcp"):
        keys.refuse(plan({"scheme": "rcp"}, flows=flows))
    links = [link | {"schemes": ["inrpp", None]} for link in plan().links]
    with pytest.raises(ScenarioError, match="scheme: inrpp runs in the network"):
        keys.refuse(plan(links=links))
    with pytest.raises(ScenarioError, match="the ideal is a fluid model"):
        keys.refuse(plan(scheme="ideal"))


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("deploy", [{"scheme": "rpm"}], "deploy[0].scheme: is not possible in the laboratory"),
        ("flow.0.scheme", "cubic", "flow[0].scheme: all flows of nodes have the run's scheme, fcp"),
        ("flow.1.budget", 2.0, "flow[1].budget: is not possible in the laboratory: not available for a connection"),
        ("fault", [{"at": "1 s", "kind": "restart", "node": "r0"}], "fault[0].kind: can be link-down, link-up, rate"),
        ("vary", [{"link": ["r0", "r1"], "trace": "x"}], "vary[0].trace: is not possible"),
        (
            "measure.pcap",
            [{"from": "r0", "to": "r1"}],
            "measure.pcap[0].from: is not possible in the laboratory: nodes' traffic",
        ),
        ("topology.access.mtu", 9000, "topology: has a link with an MTU of 9,000; nodes' lines have 1,500"),
    ],
)
def test_what_nodes_cannot_do_is_named(key, value, says):
    schemes = ["cubic" if key == "flow.0.scheme" else "fcp", "fcp"]
    flows = [flow | {"scheme": scheme} for flow, scheme in zip(plan().flows, schemes, strict=True)]
    links = [link | {"mtu": 9000 if "mtu" in key else 1500, "schemes": ["fcp", "fcp"]} for link in plan().links]
    with pytest.raises(ScenarioError) as error:
        keys.refuse(plan({"scheme": "fcp", key: value}, scheme="fcp", flows=flows, links=links), nodes=True)
    assert says in str(error.value)


def test_nodes_carry_what_no_kernel_has():
    flows = [flow | {"scheme": "fcp"} for flow in plan().flows]
    fcp = plan({"scheme": "fcp", "schemes.fcp.network.catch_up": True}, scheme="fcp", flows=flows)
    keys.refuse(fcp, nodes=True)
    assert (nodes.has_to(fcp), nodes.has_to(plan())) == (True, False)
    flows = [flow | {"scheme": "udp"} for flow in flows]
    with pytest.raises(ScenarioError, match=r"udp is not carried by nodes; they carry newreno, cubic, .* and inrpp"):
        keys.refuse(plan({"scheme": "udp"}, scheme="udp", flows=flows), nodes=True)
    twice = [*plan().links, plan().links[0]]
    with pytest.raises(ScenarioError, match="topology: has two links s0–r0; nodes have one"):
        keys.refuse(plan(links=twice), nodes=True)


def test_a_node_s_configuration_follows_from_the_scenario():
    asked = plan({"scheme": "inrpp", "queue.limit": "50 ms", "vary": [{"link": ["r0", "r1"]}]}, scheme="inrpp")
    network = nodes.net(asked)
    # Its flows as they were drawn; what happens to links is the line's business.
    assert network["flow"] == [
        {"from": "s0", "to": "d0", "start": "0.0 s", "size": "1000000 B"},
        {"from": "s0", "to": "d0", "start": "0.0 s"},
    ]
    assert network["queue"] == {"limit": "50 ms"}
    assert "vary" not in network
    assert len(network["schemes"]["inrpp"]["secret"]) == 32
    sender, router, _, receiver = nodes.configurations(asked, ["K0", "K1", "K2", "K3"])
    assert [one["listen"] for one in sender["forward"]] == ["127.0.0.1:10000", "127.0.0.1:10001"]
    assert {(one["exit"], one["to"]) for one in sender["forward"]} == {("d0", f"127.0.0.1:{n}") for n in (20000, 20001)}
    assert receiver["exit"]["allow"] == ["127.0.0.1/32:20000-20002"]
    assert router["exit"]["allow"] == []
    # 20 Mbps for packets of 1,415 bytes, with 65 bytes of headers around each.
    to_r1 = router["neighbour"][1]
    assert (to_r1["node"], to_r1["key"], to_r1["address"]) == ("r1", "K2", "10.77.0.2:4700")
    assert (to_r1["rate"], to_r1["dedicated"]) == ("20918728 bps", True)


def test_what_nobody_uses_is_no_reason_to_refuse():
    keys.refuse(plan({"schemes.fcp.budget": "5 Mbps", "variants": {"x": {"deploy": []}}}))
    keys.refuse(plan({"schemes.cubic.ecn": True, "queue.kind": "codel", "measure.series": True}))


def test_hosts_have_one_setting_for_all_schemes():
    flows = [plan().flows[0], plan().flows[1] | {"scheme": "newreno"}]
    with pytest.raises(ScenarioError, match=r"schemes.cubic.sack: must be the same for all schemes"):
        keys.refuse(plan({"schemes.cubic.sack": False}, flows=flows))
    keys.refuse(plan({"schemes.cubic.sack": False, "schemes.newreno.sack": False}, flows=flows))


def paths(schema, node, key="", seen=()):
    """The keys that a schema has, without numbers."""
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        if name in seen:
            return
        node, seen = schema["$defs"][name], (*seen, name)
    for part in (*node.get("anyOf", ()), *node.get("oneOf", ()), *node.get("allOf", ())):
        yield from paths(schema, part, key, seen)
    if "items" in node and isinstance(node["items"], dict):
        yield from paths(schema, node["items"], key, seen)
    for name, inner in node.get("properties", {}).items():
        below = f"{key}.{name}" if key else name
        yield below
        yield from paths(schema, inner, below, seen)


def test_every_key_of_a_scenario_has_a_rule():
    schema = json.loads(_midpath.schema())
    found = {key for key in paths(schema, schema) if not key.startswith("schemes")} - {"routing"}
    described = json.loads(_midpath.schemes())
    for scheme in {*KERNEL, *nodes.SCHEMES} & set(described):
        found |= {f"schemes.{scheme}.{parameter}" for parameter in described[scheme]["parameters"]}
    assert len(found) > 150
    unknown = [key for key in sorted(found) if keys.rule_of(key) is None]
    assert not unknown, f"say in RULES of python/midpath/lab/keys.py what becomes of {unknown}"
    # A rule that no key has is a rule of a key that is gone.
    used = {keys.rule_of(key) for key in found} | {keys.rule_of("schemes.cubic.queue.kind"), keys.rule_of("variants.x")}
    assert [rule.keys for rule in keys.RULES if rule not in used] == []


def test_the_page_has_the_table_of_the_code():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "lab_keys.py", "--check"],
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT / "python")},
    )
    assert done.returncode == 0, "write it again: python scripts/lab_keys.py"


# -- what is too much for a machine --

HERE = budget.Budget(hops_per_s=50_000, shortest_rtt_s=0.001, real_time=True)


def test_loads_are_those_of_the_slowest_links():
    loads = budget.link_loads(plan())
    # Both flows share 20 Mbps, on every link of their way.
    assert loads == {(0, 0): 20e6, (1, 0): 20e6, (2, 0): 20e6}
    budget.check_budget(plan(), HERE)


def test_what_is_too_fast_names_the_rate_and_the_budget():
    links = [link | {"rates_bps": [10**10, 10**10]} for link in plan().links]
    with pytest.raises(ScenarioError) as error:
        budget.check_budget(plan(links=links), HERE)
    said = str(error.value)
    assert "topology.access.rate: s0–r0 may carry 10.0\xa0Gbps, and all links 3,750,000 packets a second" in said
    assert "budget is 50,000 link transmissions a second" in said


def test_nodes_cost_more_and_have_all_cores(monkeypatch):
    monkeypatch.setattr(budget.os, "cpu_count", lambda: 4)
    # 10 µs a frame, and 75 for the node: half of four cores.
    assert HERE.by_nodes().hops_per_s == pytest.approx(2e6 / 85)
    fast = plan(links=[link | {"rates_bps": [10**8, 10**8]} for link in plan().links])
    budget.check_budget(fast, HERE)
    with pytest.raises(ScenarioError, match="budget is 23,529 link transmissions"):
        budget.check_budget(fast, HERE, nodes=True)


def test_what_is_too_short_or_too_much_is_refused():
    flows = [flow | {"rtt_s": 20e-6} for flow in plan().flows]
    with pytest.raises(ScenarioError, match=r"20\.0\xa0µs is too short .* the minimum is 1\.00\xa0ms"):
        budget.check_budget(plan(flows=flows), HERE)
    with pytest.raises(ScenarioError, match="topology: has 100 nodes; the laboratory supports at most 64"):
        budget.check_size(plan(nodes=plan().nodes * 25))
    with pytest.raises(ScenarioError, match="flow: gives 3,000 flows"):
        budget.check_size(plan(flows=plan().flows * 1500))
    with pytest.raises(ScenarioError, match="stop: is 700\xa0s; real time supports at most 600\xa0s"):
        budget.check_size(plan(stop_s=700.0))


def test_the_key_of_a_link_is_where_it_is_written():
    links = {"topology": {"links": [{"a": "r1", "b": "r0", "rate": "1 Mbps"}]}}
    assert budget.rate_key(Plan(Scenario.from_dict(links), plan().values), 1) == "topology.links[0].rate"
    rates = {"topology": {"builtin": "abilene", "rate": "1 Mbps"}}
    assert budget.rate_key(Plan(Scenario.from_dict(rates), plan().values), 1) == "topology.rate"


# -- what hosts are told --


def test_parameters_become_settings():
    asked = plan({"schemes.cubic": {"ecn": True, "sack": False, "receive_window": "100 kB", "initial_window": 4}})
    settings = _settings(asked)
    assert (settings["net/ipv4/tcp_ecn"], settings["net/ipv4/tcp_sack"]) == (1, 0)
    assert settings["net/ipv4/tcp_rmem"] == "4096 131072 200000"
    assert _route_metrics(asked) == "initcwnd 4 "
    assert (
        _route_metrics(plan({"schemes.cubic": {"min_rto": "10 ms", "delayed_ack": False}}))
        == "rto_min 10ms quickack 1 "
    )
    assert _route_metrics(plan()) == ""
    assert real.paced(plan({"schemes.cubic.pacing": True})) == ["cubic"]


# -- results --


def port(node, peer, **changes):
    values = {"node": node, "port": 0, "peer": peer, "rate_bps": 20_000_000, "delay_s": 0.01, "packets": 1000}
    values |= {"bytes": 1_500_000, "utilisation": 0.9, "drops_queue": 5, "drops_aqm": 0, "drops_fault": 0}
    values |= {"drops_policy": 0, "corrupted": 0, "marks": 0, "queue_mean_bytes": 30_000.0, "queue_max_bytes": 125_000}
    values |= {"delay_mean_s": 0.02, "delay_p50_s": 0.02, "delay_p95_s": 0.03, "delay_p99_s": 0.03, "delay_max_s": 0.05}
    return values | changes


def ran(fct_s=0.9, late_us=80, **changes):
    info = {"rtt_s": 0.04, "rtt_min_s": 0.024, "sent": 700, "retransmitted": 7, "echoed": 0, "timeouts": 0}
    info |= {"ecn": False, "window_limited_s": 0.0}
    flow = {"started_s": 0.0, "completed_s": None, "delivered_bytes": 5 * 10**6, "info": info, "lost_packets": 5}
    flow |= {"marked_packets": 0, "rtt_mean_s": 0.05, "rtt_max_s": 0.06, "error": None}
    emulator = {"frames": 1000, "missed": 0, "refused": 0, "stored": 0, "real_time": True}
    emulator |= {"late_us": {"p50": 30, "p99": late_us, "p999": 200, "max": 900, "histogram": [[30, 1000]]}}
    return {
        "simulated_s": 5.0,
        "flows": [flow | {"completed_s": fct_s, "delivered_bytes": 10**6}, flow],
        "ports": [port("r0", "r1", **changes), port("s0", "r0", packets=900, queue_mean_bytes=10.0, drops_queue=0)],
        "emulator": emulator,
        "series": [[0.1, "port:r0>r1", "queue_bytes", 3000.0], [0.1, "group:flows", "goodput_bps", 1e6]],
    }


def made(**changes):
    found = gather.result(plan(), ran(**changes), {})
    found.run["machine"] = {"kernel": "6.0", "cpus": "2", "load_average": "0.5 0.5 0.5"}
    return found


def test_a_run_is_a_result_that_the_report_draws(tmp_path):
    found = made()
    summary = found.summary
    assert (summary["flows"], summary["completed"], summary["afct_s"]) == (2, 1, 0.9)
    assert summary["goodput_total_bps"] == pytest.approx(6e6 * 8 / 5)
    assert (summary["lost_packets"], summary["retransmitted_packets"], summary["sent_packets"]) == (5, 14, 1400)
    # Of what hosts sent.
    assert summary["loss_ratio"] == pytest.approx(5 / 900)
    assert summary["queue_max_bytes"] == 125_000
    assert [entry["to_bytes"] for entry in summary["by_size"]] == [1_000_000]
    flows = found.flows.to_pandas()
    assert list(flows.completed) == [True, False]
    assert flows.goodput_bps[1] == pytest.approx(5e6 * 8 / 5)
    assert flows.slowdown[0] == pytest.approx(0.9 / 0.43)
    # The simulator's columns, and some that only a kernel has.
    simulated = {"flows": set(_columns("flows")), "ports": set(_columns("ports"))}
    assert set(found.flows.column_names) - simulated["flows"] == {"echoed_packets", "ecn", "window_limited_s"}
    assert set(found.ports.column_names) == simulated["ports"]
    assert simulated["flows"] <= set(found.flows.column_names)
    found.save(tmp_path / "run")
    assert "CUBIC" in html(found)


def _columns(table):
    return run(Scenario.from_dict(DUMBBELL | {"stop": "1 s"})).tables[table].column_names


# -- beside the simulator --


def test_a_late_run_is_invalid_and_too_many_fail_the_row():
    assert real.invalid(made()) is None
    assert "at least 1,500 µs late" in real.invalid(made(late_us=1500))
    good, late = made(), made(late_us=1500)
    lines = beside.verdicts("cubic", [(good, made())] * 4 + [(late, made())])
    assert {line.verdict for line in lines if line.figure == "Goodput Mbps"} == {"yes"}
    lines = beside.verdicts("cubic", [(good, made())] * 3 + [(late, made())])
    assert {line.verdict for line in lines} == {"1 of 4 runs invalid"}
    lost = made()
    lost.run["emulator"]["missed"] = 3
    assert "3 frames were lost" in real.invalid(lost)


def said(node, ports, woken=64):
    """What a node's status says, of its ports in the plan's order."""
    port = {"packets": 1000, "bytes": 1_415_000, "drops": {"queue": 3, "aqm": 1, "fault": 0, "policy": 2}, "marks": 7}
    port |= {"queue": {"most_bytes": 50_000}, "waited_s": {"bytes": 60_000.0, "mean": 0.01, "max": 0.05}}
    port["waited_s"] |= {"p50": 0.012, "p95": 0.03, "p99": 0.04}
    flows = {"packets": 700, "again": 6, "timeouts": 1}
    return {"node": node, "ports": [port] * ports, "flows": flows, "late_us": {"p50": 8, "p99": woken}} | {
        "priority": {"losses": 0}
    }


def by_nodes(woken=64):
    """A run of nodes as a result."""
    asked = replace(plan(), by_nodes=True)
    measured = ran()
    for flow in measured["flows"]:
        flow["info"] = None
    measured["ports"] = [port("r0", "r1", port=1, drops_queue=2), port("s0", "r0")]
    states = [said(node, ports, woken) for node, ports in enumerate((1, 2, 2, 1))]
    made = gather.result(asked, nodes.together(measured, states, asked), {})
    made.run["machine"] = {"kernel": "6.0", "cpus": "2", "load_average": "0.5 0.5 0.5"}
    return made


def test_ports_of_nodes_are_what_nodes_say():
    made = by_nodes()
    middle = next(row for row in made.ports.to_pylist() if row["node"] == "r0")
    assert (middle["packets"], middle["bytes"], middle["marks"]) == (1000, 1_415_000, 7)
    # Of the node, and of the line.
    assert (middle["drops_queue"], middle["drops_aqm"], middle["drops_policy"]) == (3 + 2, 1, 2)
    assert (middle["delay_p50_s"], middle["queue_mean_bytes"], middle["queue_max_bytes"]) == (0.012, 12_000.0, 50_000)
    # The line carries headers, too.
    assert middle["utilisation"] == pytest.approx(0.9 * 1_415_000 / 1_500_000)
    assert (made.summary["sent_packets"], made.summary["retransmitted_packets"]) == (4 * 700, 4 * 6)
    assert made.flows.to_pylist()[0]["sent_packets"] is None
    assert real.invalid(made) is None
    assert "1 % of a node's wake-ups were at least 2,048 µs late" in real.invalid(by_nodes(woken=2048))


def test_what_is_to_be_known_is_a_warning():
    flows = [flow | {"scheme": "bbr"} for flow in plan().flows]
    assert real.warnings(replace(plan(flows=flows), by_nodes=True), ran(), made()) == []
    broken = ran(late_us=1500)
    broken["flows"][1]["error"] = "Connection refused"
    late = made(late_us=1500)
    late.run["warnings"] = real.warnings(plan(flows=flows), broken, late)
    said = " ".join(late.warnings)
    assert "version 1, the simulator's 3" in said
    assert "1 of 2 flows failed: Connection refused" in said
    assert "this run is not valid for TCP: 1 % of frames left at least 1,500 µs late" in said
    assert real.warnings(plan(), ran(), made()) == []


def test_margins_decide_and_can_fail():
    def verdict(figure, **changes):
        lines = beside.verdicts("cubic", [(made(), made(**changes))] * 3)
        return next(line.verdict for line in lines if line.figure == figure)

    assert verdict("FCT p50 ms", fct_s=0.98) == "yes"
    assert verdict("FCT p50 ms", fct_s=1.0) == "no"
    assert verdict("Queue p50 ms", delay_p50_s=0.0255) == "yes"
    assert verdict("Queue p50 ms", delay_p50_s=0.027) == "no"
    assert verdict("Queue p99 ms", delay_p99_s=0.045) == "no"


def test_figures_that_cannot_fail_are_not_counted():
    one = made()
    one.summary["flows"] = one.summary["completed"] = 1
    lines = {line.figure: line.verdict for line in beside.verdicts("cubic", [(one, one)])}
    assert lines["Jain"] == "not counted: one flow"
    assert lines["Goodput Mbps"] == "not counted: all flows end in time"
    full = made(delay_p99_s=0.0499)
    lines = {line.figure: line.verdict for line in beside.verdicts("cubic", [(full, full)])}
    assert lines["Queue p99 ms"] == "not counted: the buffer's"
    clean_run = made()
    clean_run.summary["retransmitted_packets"] = 0
    lines = {line.figure: line.verdict for line in beside.verdicts("cubic", [(clean_run, clean_run)])}
    assert lines["Repeats %"] == "not counted: no loss"


def test_bbr_has_no_verdict_but_of_nodes():
    lines = beside.verdicts("bbr", [(by_nodes(), by_nodes())])
    assert "yes" in {line.verdict for line in lines}
    lines = beside.verdicts("bbr", [(made(), made())])
    assert {line.verdict for line in lines} == {"not counted: version 1 in the kernel, 3 here"}


def test_where_timeouts_decide_distributions_are_compared():
    waited = made()
    waited.summary["timeouts"] = 3
    lines = {line.figure: line.verdict for line in beside.verdicts("cubic", [(waited, made(fct_s=0.95))])}
    # One of two flows of each ended, and not at the same time.
    assert lines["FCT, all"] == "no (distance 0.50)"
    assert beside.kolmogorov_smirnov([1, 2, 3, 4], [1, 2, 3, 4]) == 0
    assert beside.kolmogorov_smirnov([1, 2, 3, 4], [3, 4, 5, 6]) == 0.5
    assert beside.kolmogorov_smirnov([1, 2], [5]) == 1


def test_the_simulator_gets_what_linux_has_where_nothing_is_said():
    asked = plan({"schemes.cubic.min_rto": "1 s"})
    values = beside.as_linux(asked.scenario, asked).to_dict()
    timers = {"rto_margin": "200 ms", "delack_timeout": "40 ms"}
    assert values["schemes"]["cubic"] == {"min_rto": "1 s", "loss_detection": "rack-tlp", "hystart": "linux"} | timers
    values = beside.as_linux(asked.scenario, asked, beside.TIMERS).to_dict()
    assert values["schemes"]["cubic"] == {"min_rto": "1 s"} | timers
    # CUBIC's alone.
    other = plan(flows=[flow | {"scheme": "newreno"} for flow in plan().flows])
    assert "hystart" not in beside.as_linux(other.scenario, other).to_dict()["schemes"]["newreno"]


# -- what killed ones leave --


def test_namespaces_of_the_living_stay(tmp_path, monkeypatch):
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    before = clean.started(child.pid)
    child.wait()
    gone, mine = f"midpath-{child.pid}.{before}-0n1", f"{clean.stem()}-0w"
    # A process that has only the number of the one that is gone.
    reused = f"midpath-{os.getpid()}.1-0n1"
    for name in (gone, mine, reused, "midpath-try-5", "other"):
        (tmp_path / name).touch()
    monkeypatch.setattr(clean, "SPACES", tmp_path)
    assert {path.name for path in clean.left()} == {gone, reused}
    assert clean.started(child.pid) is None
    monkeypatch.setattr(clean, "SPACES", tmp_path / "none")
    assert clean.left() == []


# -- the command --


def test_a_scenario_in_place_of_a_command(cli, monkeypatch, tmp_path):
    monkeypatch.setattr(real.budget, "calibrate", lambda _: HERE)
    monkeypatch.setattr("midpath.lab.machine.no_spaces", lambda: None)
    monkeypatch.setattr("midpath.lab.machine.program", lambda name, asked=None: name)
    monkeypatch.setattr(clean, "clean", list)
    monkeypatch.setattr(
        real, "plan", lambda scenario, *_: plan() if scenario.scheme == "cubic" else plan(scheme="ideal")
    )
    monkeypatch.setattr(real, "run", lambda scenario, laboratory: made())
    file = tmp_path / "dumbbell.toml"
    file.write_text(Scenario.from_dict(DUMBBELL).to_toml())
    answer = cli("lab", file, "--json")
    assert answer.code == 0
    assert json.loads(answer.out)["runs"][0]["kind"] == "lab"
    # In real time no two runs are the same, whatever the scenario draws.
    assert "nothing in this scenario is random" not in cli("lab", file).out
    assert "frames late by 30 µs (p50), 80 µs (p99)" in json.loads(answer.out)["note"]
    answer = cli("lab", file, "--schemes", "ideal")
    assert answer.code == 2
    assert "the ideal is a fluid model" in answer.err
    assert cli("lab", "clean").out == "nothing to clean up\n"


def test_without_root_it_says_so(cli, monkeypatch, tmp_path):
    monkeypatch.setattr("midpath.lab.machine.platform.system", lambda: "Linux")
    monkeypatch.setattr("midpath.lab.machine.os.geteuid", lambda: 1000)
    for command in (["lab", tmp_path / "x.toml"], ["lab", "clean"]):
        answer = cli(*command)
        assert answer.code == 2
        assert "needs root" in answer.err


def test_programs_of_clients_are_told_what_the_simulator_draws():
    star = {"generate": "star", "n": 4, "access": {"rate": "100 Mbps", "delay": "1 ms"}}
    client = {"from": ["h0", "h1"], "to": ["h2", "h3"], "requests": 5, "concurrency": 2, "group": "web"}
    client |= {"request_sizes": {"kind": "fixed", "size": "600 B"}, "service_time": "3 ms", "think_time": "10 ms"}
    client |= {"reply_sizes": {"kind": "exponential", "mean": "20 kB"}}
    scenario = Scenario.from_dict({"scheme": "cubic", "stop": "9 s", "topology": star, "client": [client]})
    asked = clients.asked(scenario)
    assert "client" not in clients.network(scenario).to_dict()
    simulated = run(scenario)
    sizes = dict(zip(simulated.flows["flow"].to_pylist(), simulated.flows["size_bytes"].to_pylist(), strict=True))
    rows = simulated.tables["requests"].to_pylist()
    assert [(one.number, one.host) for one in asked.requests] == [(row["request"], row["src"]) for row in rows]
    for (request, reply, service, server, think), row in zip(asked.plan["exchanges"], rows, strict=True):
        assert (request, reply) == (sizes[row["flow"]], sizes[row["flow"] + 1])
        assert service == pytest.approx(0.003)
        assert server in ("h2", "h3")
        assert think == pytest.approx(0.01) or row["request"] % 5 in (2, 4)
    assert {host: [len(own) for _, own in loops] for host, loops in asked.plan["loops"].items()} == {
        "h0": [3, 2],
        "h1": [3, 2],
    }
    hosts = [(program.host, program.serves) for program in asked.programs(Path())]
    assert sorted(hosts) == [("h0", False), ("h1", False), ("h2", True), ("h3", True)]
