"""Converts measurements into the simulator's result format, for `midpath report`."""

from __future__ import annotations

import json
import statistics
from typing import Any

import numpy as np
import pyarrow as pa

from midpath.extension import _midpath
from midpath.lab.experiment import Experiment, Measured, to_dict
from midpath.lab.gather import REAL, jain, quantile, size_class
from midpath.lab.router import SAMPLE_S
from midpath.result import Result
from midpath.schemes import described, shipped
from midpath.tables import SERIES, schema

# Bytes of Ethernet and IP and TCP with timestamps around a full segment, as the shaper counts them.
FRAME_BYTES, SEGMENT_BYTES = 1514, 1448
PORT = "port:r>x"
# What the router does with signals.
ROUTERS = {"fwd": "marks forward", "rpm": "RPM", "both": "both"}


def scheme_name(control: str, mode: str) -> str:
    """`cubic-rpm`; a router without signals is not mentioned."""
    return control if mode == "none" else f"{control}-{mode}"


def title(control: str, mode: str) -> str:
    """The same for people: CUBIC through a router with RPM."""
    own = described(control).title if control in shipped() else control.upper()
    return own if mode == "none" else f"{own}, {ROUTERS[mode]}"


def result(experiment: Experiment, control: str, mode: str, seed: int, measured: Measured) -> Result:
    """One run as a result."""
    flows = [_flow(experiment, control, measured, flow) for flow in measured.flows]
    port = _port(experiment, measured)
    run = {
        "midpath": _midpath.version(),
        "format": 1,
        "kind": "lab",
        "title": experiment.title,
        "scheme": scheme_name(control, mode),
        "schemes": {scheme_name(control, mode): {"title": title(control, mode)}},
        "seed": seed,
        "source": None,
        "scenario": json.dumps(to_dict(experiment), indent=2),
        "machine": measured.machine,
        "simulated_s": experiment.seconds,
        "packet_hops": measured.router["counters"]["packets"],
        "topology": _topology(experiment),
        "router": measured.router,
        "summary": _summary(experiment, flows, port),
    }
    tables = {
        "flows": pa.Table.from_pylist(flows, schema("flows", *REAL[:2])),
        "ports": pa.Table.from_pylist([port]),
        "series": _series(measured),
    }
    return Result(run, tables)


def _topology(experiment: Experiment) -> dict[str, Any]:
    hosts = [f"d{i}" for i in range(len(experiment.delays.down))]
    kinds = [("s", "host"), ("r", "router"), ("x", "router"), *((name, "host") for name in hosts)]
    rate = experiment.bottleneck.rate_bps
    links = [("s", "r", None, experiment.delays.up), ("r", "x", rate, 0.0)]
    links += [("x", name, None, delay) for name, delay in zip(hosts, experiment.delays.down, strict=True)]
    return {
        "nodes": [{"name": name, "kind": kind} for name, kind in kinds],
        "links": [{"a": a, "b": b, "rate_bps": rate, "delay_s": delay} for a, b, rate, delay in links],
    }


def _flow(experiment: Experiment, control: str, measured: Measured, asked: dict[str, Any]) -> dict[str, Any]:
    number, size = asked["flow"], asked["size_bytes"]
    sent = measured.sent[number]
    last, began = sent["last"], sent["started"]
    delivered, ended = measured.delivered.get(number, 0), measured.ended.get(number)
    fct = ended - began if size is not None and ended is not None else None
    ideal = None if size is None else _alone(experiment, asked)
    took = fct if fct is not None else measured.begin + experiment.seconds - began
    rtts = [look["rtt_us"] / 1e6 for _, look in sent["samples"]] or [last["rtt_us"] / 1e6]
    return {
        "flow": number,
        "group": "long" if size is None else f"{size // SEGMENT_BYTES} packets",
        "scheme": control,
        "src": "s",
        "dst": f"d{asked['receiver']}",
        "size_bytes": None if size is None else float(size),
        "start_s": began - measured.begin,
        "fct_s": fct,
        "ideal_fct_s": ideal,
        "slowdown": fct / ideal if fct is not None and ideal is not None else None,
        "goodput_bps": delivered * 8 / took,
        "delivered_bytes": delivered,
        "sent_packets": last["data_segs_out"],
        "retransmitted_packets": last["total_retrans"],
        "echoed_packets": last["delivered_ce"],
        "ecn": bool(last["ecn"]),
        "rtt_min_s": last["min_rtt_us"] / 1e6,
        "rtt_mean_s": statistics.mean(rtts),
        "rtt_max_s": max(rtts),
        "hops": 3,
        "completed": fct is not None,
    }


def _alone(experiment: Experiment, asked: dict[str, Any]) -> float:
    """On the empty path, without the handshake: its packets back to back, and one way."""
    frames: int = -(-asked["size_bytes"] // SEGMENT_BYTES) * FRAME_BYTES
    one_way: float = experiment.delays.up + experiment.delays.down[asked["receiver"]]
    return frames * 8 / experiment.bottleneck.rate_bps + one_way


def _port(experiment: Experiment, measured: Measured) -> dict[str, Any]:
    status, counters = measured.router, measured.router["counters"]
    rate, packets = experiment.bottleneck.rate_bps, counters["packets"]
    backlog = [look["queue"]["backlog_bytes"] for look in measured.seen]

    def waited(share: str) -> float | None:
        ns = status["sojourn"][f"{share}_ns"]
        return None if ns is None else ns / 1e9

    histogram = status["sojourn"]["histogram"]
    return {
        "node": "r",
        "port": 0,
        "peer": "x",
        "rate_bps": round(rate),
        "delay_s": 0.0,
        "packets": packets,
        "bytes": counters["bytes"],
        "utilisation": counters["bytes"] * 8 / (rate * experiment.seconds),
        "drops_queue": status["queue"]["drops"],
        "drops_aqm": counters["dropped"],
        "drops_fault": 0,
        "drops_policy": 0,
        "corrupted": 0,
        "marks": counters["marked_ce"],
        "marks_back": counters["marked_ece"],
        "signals": counters["signals"],
        "signal_wait_s": None if status["signal_wait_ns"] is None else status["signal_wait_ns"] / 1e9,
        "queue_mean_bytes": float(np.mean(backlog)) if backlog else None,
        "queue_max_bytes": max(backlog, default=None),
        "delay_mean_s": counters["sojourn_sum_ns"] / packets / 1e9 if packets else None,
        "delay_p50_s": waited("p50"),
        "delay_p95_s": waited("p95"),
        "delay_p99_s": waited("p99"),
        "delay_max_s": histogram[-1][1] / 1e9 if histogram else None,
    }


def _summary(experiment: Experiment, flows: list[dict[str, Any]], port: dict[str, Any]) -> dict[str, Any]:
    done = np.array([flow["fct_s"] for flow in flows if flow["fct_s"] is not None])
    slow = np.array([flow["slowdown"] for flow in flows if flow["slowdown"] is not None])
    # Short flows have what they asked for; fairness is among those that want all they can get.
    greedy = [flow["goodput_bps"] for flow in flows if flow["size_bytes"] is None]
    long_rtts = [flow["rtt_mean_s"] for flow in flows if flow["size_bytes"] is None]
    drops = port["drops_queue"] + port["drops_aqm"]
    sent = port["packets"] + port["drops_queue"]

    return {
        "flows": len(flows),
        "completed": int(done.size),
        "afct_s": float(done.mean()) if done.size else None,
        "fct_p50_s": quantile(done, 0.5),
        "fct_p95_s": quantile(done, 0.95),
        "fct_p99_s": quantile(done, 0.99),
        "fct_max_s": quantile(done, 1.0),
        "slowdown_mean": float(slow.mean()) if slow.size else None,
        "slowdown_p50": quantile(slow, 0.5),
        "slowdown_p99": quantile(slow, 0.99),
        "jain_goodput": jain(greedy),
        "goodput_total_bps": sum(flow["delivered_bytes"] for flow in flows) * 8 / experiment.seconds,
        "utilisation_max": port["utilisation"],
        "utilisation_mean": port["utilisation"],
        "loss_ratio": drops / sent if sent else None,
        "lost_packets": drops,
        "sent_packets": sum(flow["sent_packets"] for flow in flows),
        "retransmitted_packets": sum(flow["retransmitted_packets"] for flow in flows),
        "timeouts": None,
        "marks": port["marks"],
        "marks_back": port["marks_back"],
        "signals": port["signals"],
        "signal_wait_s": port["signal_wait_s"],
        "echoed_packets": sum(flow["echoed_packets"] for flow in flows),
        "rtt_mean_s": statistics.mean(long_rtts) if long_rtts else None,
        "queue_delay_mean_s": port["delay_mean_s"],
        "queue_delay_p50_s": port["delay_p50_s"],
        "queue_delay_p99_s": port["delay_p99_s"],
        "queue_delay_max_s": port["delay_max_s"],
        "by_size": by_size(flows),
    }


def by_size(flows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Completion by size; each size is a class of its own."""
    done = [flow for flow in flows if flow["fct_s"] is not None]
    sizes = sorted({flow["size_bytes"] for flow in done})
    return [size_class(size - 1, size, [flow for flow in done if flow["size_bytes"] == size]) for size in sizes]


def _series(measured: Measured) -> pa.Table:
    rows: list[tuple[float, str, str, float]] = []

    def add(at: float, entity: str, metric: str, value: float) -> None:
        if at >= measured.begin:
            rows.append((at - measured.begin, entity, metric, value))

    for (before, had), (at, has) in zip(measured.progress, measured.progress[1:], strict=False):
        add(at, "group:all", "goodput_bps", (has - had) * 8 / (at - before))
    for look in measured.seen:
        add(look["time_s"], PORT, "queue_bytes", look["queue"]["backlog_bytes"])
    for earlier, later in zip(measured.seen, measured.seen[1:], strict=False):
        _between(earlier, later, add)
    for number, sent in measured.sent.items():
        for at, info in sent["samples"]:
            add(at, f"flow:{number}", "cwnd_bytes", info["cwnd"] * SEGMENT_BYTES)
            add(at, f"flow:{number}", "srtt_s", info["rtt_us"] / 1e6)
    columns: list[list[Any]] = [list(column) for column in zip(*rows, strict=True)] or [[], [], [], []]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SERIES, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SERIES)


def _between(before: dict[str, Any], after: dict[str, Any], add: Any) -> None:
    """What the router did between two looks."""
    took = after["time_s"] - before["time_s"]
    if took < SAMPLE_S / 10:
        return
    had, has = before["counters"], after["counters"]
    packets = has["packets"] - had["packets"]
    add(after["time_s"], PORT, "throughput_bps", (has["bytes"] - had["bytes"]) * 8 / took)
    if packets:
        add(after["time_s"], PORT, "sojourn_s", (has["sojourn_sum_ns"] - had["sojourn_sum_ns"]) / packets / 1e9)
    for metric in ("signals", "marked_ce", "marked_ece"):
        add(after["time_s"], PORT, f"{metric}_per_s", (has[metric] - had[metric]) / took)
