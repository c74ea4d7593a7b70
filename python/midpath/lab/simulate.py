"""The same experiment in the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from midpath.compare.comparison import Comparison
from midpath.errors import UsageError
from midpath.lab.collect import FRAME_BYTES, scheme_name
from midpath.lab.experiment import SEGMENT_BYTES, Experiment
from midpath.lab.gather import jain
from midpath.lab.table import COLUMNS, cell, spread
from midpath.result import Result
from midpath.run import run
from midpath.scenario import Scenario
from midpath.units import digits

# What the simulator's packets are: IP packets, without Ethernet's header.
PACKET_BYTES = 1500
# Links that are no bottleneck.
FAST = "10 Gbps"
# Congestion controls that both have in the same version: BBR is 1 in the kernel and 3 here.
CONTROLS = ("newreno", "cubic", "dctcp")
# The run's scheme. All flows name their own, and DCTCP as the run's would give every queue a step.
NETWORK = "newreno"
# The router's queue, among the scenario's queues.
QUEUE = "router"


def require(controls: Sequence[str]) -> None:
    """Raises `UsageError` unless the simulator has at least one of them in the kernel's version."""
    if not set(controls) & set(CONTROLS):
        raise UsageError(f"--vs-sim: {controls[0]} is not compared with the simulator; there are {', '.join(CONTROLS)}")


def simulate(experiment: Experiment, control: str, mode: str, seed: int) -> Result:
    """Runs the same flows in the simulator."""
    return run(scenario(experiment, control, mode, seed))


def scenario(experiment: Experiment, control: str, mode: str, seed: int) -> Scenario:
    """The experiment as a scenario."""
    flows = [_flow(flow) | {"scheme": control} for flow in experiment.flows(control, seed)]
    values = {
        "title": experiment.title,
        "scheme": NETWORK,
        "seed": seed,
        "stop": _seconds(experiment.seconds),
        "topology": _topology(experiment),
        "queues": {QUEUE: _queue(experiment)},
        "deploy": [_deploy(experiment, mode)],
        # As Linux has them; the laboratory turns ECN on.
        "schemes": {control: {"min_rto": "200 ms", "rto_margin": "200 ms", "delack_timeout": "40 ms", "ecn": True}},
        "flow": flows,
        "measure": {"series": True},
    }
    return Scenario.from_dict(values)


def _seconds(value: float) -> str:
    return f"{value * 1e6:.0f} us"


def _topology(experiment: Experiment) -> dict[str, Any]:
    # The router's shaper counts frames; the simulator counts what is in them.
    rate = f"{experiment.bottleneck.rate_bps * PACKET_BYTES / FRAME_BYTES:.0f} bps"
    delays = experiment.delays
    links = [
        {"a": "s", "b": "r", "rate": FAST, "delay": _seconds(max(delays.up, 1e-5))},
        {"a": "r", "b": "x", "rate": rate, "delay": "10 us"},
    ]
    links += [
        {"a": "x", "b": f"d{i}", "rate": FAST, "delay": _seconds(max(delay, 1e-5))}
        for i, delay in enumerate(delays.down)
    ]
    nodes = [{"name": name, "kind": "host"} for name in ("s", *(f"d{i}" for i in range(len(delays.down))))]
    return {"links": links, "nodes": nodes}


def _queue(experiment: Experiment) -> dict[str, Any]:
    bottleneck = experiment.bottleneck
    queue = {"limit": _seconds(bottleneck.buffer_s), "target": _seconds(bottleneck.target_s)}
    if bottleneck.aqm == "step":
        return queue | {"kind": "delay-step"}
    variant = "data-plane" if bottleneck.aqm == "codel-dataplane" else "rfc8289"
    return queue | {"kind": "codel", "variant": variant, "interval": _seconds(bottleneck.interval_s)}


def _deploy(experiment: Experiment, mode: str) -> dict[str, Any]:
    """RPM as `Bottleneck.arguments` asks `midpathd` for it, on the same one device."""
    bottleneck = experiment.bottleneck
    params = {
        "mode": "off" if mode == "none" else mode,
        "registers": bottleneck.registers,
        "size": bottleneck.flows,
        "aggregate": bottleneck.aggregate,
    }
    return {"scheme": "rpm", "ports": ["r>x"], "queue": QUEUE, "params": params}


def _flow(asked: dict[str, Any]) -> dict[str, Any]:
    size = asked["size_bytes"]
    flow = {"from": "s", "to": f"d{asked['receiver']}", "start": _seconds(asked["start_s"])}
    if size is None:
        return flow | {"group": "long"}
    return flow | {"size": f"{size} B", "group": f"{size // SEGMENT_BYTES} packets"}


def bottleneck_of(result: Result) -> dict[str, Any]:
    """The row of the port that both have."""
    ports = result.ports.to_pylist()
    found: dict[str, Any] = next(port for port in ports if (port["node"], port["peer"]) == ("r", "x"))
    return found


# How near the simulator is to be, fixed before the first run: a share of what was measured, or this much if it is more.
MARGINS = {
    "goodput_total_bps": (0.10, 0.0),
    "queue_delay_p50_s": (0.30, 0.001),
    "queue_delay_p99_s": (0.30, 0.002),
    "jain_goodput": (0.0, 0.10),
}


# A p99 within this share of the buffer is the buffer's.
PINNED = 0.95


def side_by_side(
    experiment: Experiment, found: Comparison, controls: Sequence[str], modes: Sequence[str]
) -> list[dict[str, Any]]:
    """Each figure as measured and as simulated, and whether they are within the margin."""
    lines: list[dict[str, Any]] = []
    for control in (control for control in controls if control in CONTROLS):
        for mode in modes:
            simulated = [_figures(simulate(experiment, control, mode, seed)) for seed in found.seeds]
            for key, margin in MARGINS.items():
                real = spread(found.values(scheme_name(control, mode), key))
                model = spread([figures[key] for figures in simulated])
                if real is not None and model is not None:
                    within = is_within(real["median"], model["median"], *margin)
                    why = cannot_fail(key, experiment, real["median"], model["median"])
                    line = {"scheme": scheme_name(control, mode), "figure": key, "measured": real}
                    lines.append(line | {"simulated": model, "within": None if why else within, "not_counted": why})
    return lines


def cannot_fail(key: str, experiment: Experiment, real: float, model: float) -> str | None:
    """Why a figure says nothing, if so: it would be within its margin whatever TCP does."""
    if key == "jain_goodput" and experiment.long * len(experiment.delays.down) == 1:
        return "one flow"
    if key == "queue_delay_p99_s" and min(real, model) >= PINNED * experiment.bottleneck.buffer_s:
        return "the buffer's"
    return None


def is_within(real: float, model: float, share: float, least: float) -> bool:
    """Whether the model is near enough."""
    return abs(real - model) <= max(share * abs(real), least)


def _figures(result: Result) -> dict[str, float | None]:
    port = bottleneck_of(result)
    summary = result.summary
    # Over the same flows as in the laboratory: those without end.
    greedy = [flow["goodput_bps"] for flow in result.flows.to_pylist() if flow["size_bytes"] is None]
    return {
        "goodput_total_bps": summary["goodput_total_bps"],
        "queue_delay_p50_s": port["delay_p50_s"],
        "queue_delay_p99_s": port["delay_p99_s"],
        "jain_goodput": jain(greedy),
    }


def verdict(line: dict[str, Any]) -> str:
    """`yes`, `no`, or why it does not count."""
    return f"not counted: {why}" if (why := line["not_counted"]) else "yes" if line["within"] else "no"


HEADS = ("", "Figure", "Measured", "Simulated", "Margin", "Within")


def cells(lines: Sequence[dict[str, Any]]) -> list[list[str]]:
    """The same as text."""
    labels = {key: (head, divisor) for key, head, divisor in COLUMNS}
    labels["queue_delay_p99_s"] = ("Sojourn p99 ms", 1e-3)
    found = []
    for line in lines:
        head, divisor = labels[line["figure"]]
        share, least = MARGINS[line["figure"]]
        margin = " or ".join([*([f"{share:.0%}"] if share else []), *([digits(least / divisor)] if least else [])])
        measured, simulated = cell(line["measured"], divisor), cell(line["simulated"], divisor)
        found.append([line["scheme"], head, measured, simulated, margin, verdict(line)])
    return found
