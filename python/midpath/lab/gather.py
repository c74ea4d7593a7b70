"""Converts a laboratory run into the simulator's result format (docs/results.md)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from midpath.extension import _midpath
from midpath.lab import programs
from midpath.lab.conversations import COLUMNS, SCHEME, conversations
from midpath.lab.plan import Plan
from midpath.result import Result
from midpath.stats import jain
from midpath.tables import SERIES, schema

# Of a real host, besides: packets that the sender was told of as marked, whether ECN was agreed on, and how long the
# receiver's window was the limit.
REAL = (("echoed_packets", pa.uint64()), ("ecn", pa.bool_()), ("window_limited_s", pa.float64()))
# Of a port with RPM, besides: packets whose ACK was marked, the AQM's decisions, and how long they waited for an ACK.
RPM = (("marks_back", pa.uint64()), ("signals", pa.uint64()), ("signal_wait_s", pa.float64()))
# The classes of `by_size`, as the simulator's summary has them.
CLASSES = (0, 3_000, 10_000, 30_000, 100_000, 1_000_000, 10_000_000)


def result(plan: Plan, ran: dict[str, Any], captures: dict[str, bytes]) -> Result:
    """One run as a result."""
    span = ran["simulated_s"]
    flows = [_flow(plan, number, asked, flow, span) for number, (asked, flow) in enumerate(_both(plan, ran))]
    said, datagrams = conversations(plan, ran) if plan.programs else ([], [])
    flows += said
    ports = ran["ports"]
    hosts = {node["name"] for node in plan.nodes if node["kind"] == "host"}
    values = plan.values
    run = {
        "midpath": _midpath.version(),
        "format": 1,
        "kind": "lab",
        "title": values["title"],
        "scheme": values["scheme"],
        "seed": values["seed"],
        "scenario": plan.scenario.effective_text(),
        "simulated_s": span,
        "packet_hops": sum(port["packets"] for port in ports),
        "topology": _topology(plan),
        "equipment": values["equipment"],
        "schemes": {name: {**found, "parameters": None} for name, found in values["described"].items()},
        "paths": [{"flow": n, "nodes": [plan.name(p) for p in f["path"]]} for n, f in enumerate(plan.flows[:16])],
        "emulator": ran["emulator"],
        "invariants": _invariants(ports, ran["emulator"]),
        "summary": summary(flows, ports, hosts, span),
    }
    if "nodes" in ran:
        # Of single flows nodes tell nothing.
        run["nodes"] = of = ran["nodes"]
        sums = {"sent_packets": of["packets"], "retransmitted_packets": of["again"], "timeouts": of["timeouts"]}
        run["summary"] |= sums
    if plan.programs:
        run["programs"] = programs.rows(plan, ran)
        run["schemes"][SCHEME] = {"title": "Programs"}
    if "rpm" in ran:
        run["rpm"] = ran["rpm"]
        run["summary"] |= of_rpm(flows, ports)
    series = [list(column) for column in zip(*ran["series"], strict=True)] or [[], [], [], []]
    arrays = [pa.array(column, field.type) for column, field in zip(series, SERIES, strict=True)]
    tables = {
        "flows": pa.Table.from_pylist(flows, schema("flows", *REAL, *(COLUMNS if plan.programs else ()))),
        "ports": pa.Table.from_pylist(ports, schema("ports", *(RPM if "rpm" in ran else ()))),
        "series": pa.Table.from_arrays(arrays, schema=SERIES),
    }
    if plan.programs:
        tables["datagrams"] = pa.Table.from_pylist(datagrams, schema("datagrams"))
    return Result(run, tables, captures)


def _both(plan: Plan, ran: dict[str, Any]) -> Any:
    return zip(plan.flows, ran["flows"], strict=True)


def _flow(plan: Plan, number: int, asked: dict[str, Any], flow: dict[str, Any], span: float) -> dict[str, Any]:
    info = flow["info"] or dict.fromkeys(("sent", "retransmitted", "timeouts"), None if plan.by_nodes else 0)
    began, ended = flow["started_s"], flow["completed_s"]
    fct = ended - began if ended is not None else None
    until = min(span, asked["stop_s"] or span)
    took = fct if fct is not None else max(until - began, 1e-9) if began is not None else None
    ideal, rtt = asked["ideal_fct_s"], info.get("rtt_s")
    return {
        "flow": number,
        "group": asked["group"],
        "scheme": asked["scheme"],
        "src": plan.name(asked["from"]),
        "dst": plan.name(asked["to"]),
        "size_bytes": asked["size_bytes"] and float(asked["size_bytes"]),
        "start_s": asked["start_s"] if began is None else began,
        "fct_s": fct,
        "ideal_fct_s": ideal,
        "slowdown": fct / ideal if fct is not None and ideal else None,
        "goodput_bps": flow["delivered_bytes"] * 8 / took if took else 0.0,
        "delivered_bytes": flow["delivered_bytes"],
        "sent_packets": info["sent"],
        "retransmitted_packets": info["retransmitted"],
        "lost_packets": flow["lost_packets"],
        "marked_packets": flow["marked_packets"],
        "timeouts": info["timeouts"],
        "rtt_min_s": info.get("rtt_min_s"),
        "rtt_mean_s": flow["rtt_mean_s"] if flow["rtt_mean_s"] is not None else rtt,
        "rtt_max_s": flow["rtt_max_s"] if flow["rtt_max_s"] is not None else rtt,
        "hops": asked["hops"],
        "completed": fct is not None,
        "echoed_packets": info.get("echoed"),
        "ecn": info.get("ecn"),
        "window_limited_s": info.get("window_limited_s"),
    }


def _topology(plan: Plan) -> dict[str, Any]:
    links = [
        {"a": plan.name(link["a"]), "b": plan.name(link["b"])}
        | {"rate_bps": link["rates_bps"][0], "delay_s": link["delay_s"]}
        for link in plan.links
    ]
    return {"nodes": plan.nodes, "links": links}


def _invariants(ports: list[dict[str, Any]], emulator: dict[str, Any]) -> dict[str, Any]:
    """What the links know of packets; hosts are the kernel's."""
    dropped = sum(port[key] for port in ports for key in DROPS)
    corrupted = sum(port["corrupted"] for port in ports)
    return {"dropped": dropped, "corrupted": corrupted, "stored": emulator["stored"]}


DROPS = ("drops_queue", "drops_aqm", "drops_fault", "drops_policy")


def summary(flows: list[dict[str, Any]], ports: list[dict[str, Any]], hosts: set[str], span: float) -> dict[str, Any]:
    """The figures of the whole run."""
    done = np.array([flow["fct_s"] for flow in flows if flow["fct_s"] is not None])
    slow = np.array([flow["slowdown"] for flow in flows if flow["slowdown"] is not None])
    used = [port["utilisation"] for port in ports if port["packets"]]
    packets = sum(port["packets"] for port in ports)
    waits = [(port["delay_mean_s"], port["packets"]) for port in ports if port["packets"]]
    lost = sum(port[key] for port in ports for key in (*DROPS, "corrupted"))
    sent = sum(port["packets"] for port in ports if port["node"] in hosts)
    return {
        "flows": len(flows),
        "completed": int(done.size),
        "afct_s": float(done.mean()) if done.size else None,
        "fct_p50_s": quantile(done, 0.5),
        "fct_p95_s": quantile(done, 0.95),
        "fct_p99_s": quantile(done, 0.99),
        "fct_max_s": quantile(done, 1.0),
        "afct_bound_s": None,
        "slowdown_mean": float(slow.mean()) if slow.size else None,
        "slowdown_p50": quantile(slow, 0.5),
        "slowdown_p99": quantile(slow, 0.99),
        "jain_goodput": fairness(flows),
        "goodput_total_bps": sum(flow["delivered_bytes"] for flow in flows) * 8 / span if span else None,
        "utilisation_max": max(used, default=None),
        "utilisation_mean": sum(used) / len(used) if used else None,
        "loss_ratio": lost / sent if sent else None,
        "lost_packets": lost,
        "sent_packets": sum(flow["sent_packets"] or 0 for flow in flows),
        "retransmitted_packets": sum(flow["retransmitted_packets"] or 0 for flow in flows),
        "timeouts": sum(flow["timeouts"] or 0 for flow in flows),
        "marks": sum(port["marks"] for port in ports),
        "queue_max_bytes": max((p["queue_max_bytes"] for p in ports if p["node"] not in hosts), default=None),
        "queue_delay_mean_s": sum(mean * n for mean, n in waits) / packets if packets else None,
        # Each port has a histogram of its own.
        "queue_delay_p99_s": None,
        "queue_delay_max_s": max((port["delay_max_s"] or 0.0 for port in ports), default=None),
        "by_size": by_size(flows),
    }


def of_rpm(flows: list[dict[str, Any]], ports: list[dict[str, Any]]) -> dict[str, Any]:
    """The same of the port with RPM that had most to do, of flows without end, and of what senders heard."""
    port = max((port for port in ports if "signals" in port), key=lambda port: port["packets"])
    long = [flow for flow in flows if flow["size_bytes"] is None]
    rtts = [flow["rtt_mean_s"] for flow in long if flow["rtt_mean_s"] is not None]
    found = {key: port[key] for key in ("marks_back", "signals", "signal_wait_s")}
    found |= {f"queue_delay_{key}_s": port[f"delay_{key}_s"] for key in ("mean", "p50", "p99", "max")}
    heard = sum(flow["echoed_packets"] or 0 for flow in flows)
    fair = fairness(long)
    return found | {
        "jain_goodput": fair,
        "echoed_packets": heard,
        "rtt_mean_s": sum(rtts) / len(rtts) if rtts else None,
    }


def quantile(values: np.ndarray, share: float) -> float | None:
    """The value that this share of them does not exceed; `None` of nothing."""
    return float(np.quantile(values, share)) if values.size else None


def fairness(flows: list[dict[str, Any]]) -> float | None:
    """Jain's index of their goodputs, if there are any."""
    index = jain([flow["goodput_bps"] for flow in flows])
    return None if math.isnan(index) else index


def by_size(flows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Completion by classes of sizes."""
    found = []
    for low, high in zip(CLASSES, (*CLASSES[1:], None), strict=True):
        here = [
            flow for flow in flows if flow["fct_s"] is not None and low < flow["size_bytes"] <= (high or float("inf"))
        ]
        if not here:
            continue
        found.append(size_class(low, high, here))
    return found


def size_class(low: float, high: float | None, flows: list[dict[str, Any]]) -> dict[str, Any]:
    """A row of `by_size`: flows that have ended, and the class that they are of."""
    times = np.array([flow["fct_s"] for flow in flows])
    slow = np.array([flow["slowdown"] for flow in flows if flow["slowdown"] is not None])
    return {
        "from_bytes": low,
        "to_bytes": high,
        "flows": len(flows),
        "afct_s": float(times.mean()),
        "p50_s": quantile(times, 0.5),
        "p99_s": quantile(times, 0.99),
        "slowdown_mean": float(slow.mean()) if slow.size else None,
        "slowdown_p50": quantile(slow, 0.5),
        "slowdown_p99": quantile(slow, 0.99),
    }
