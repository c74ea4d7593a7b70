"""Refuses scenarios that exceed this machine's capacity, before anything is built."""

from __future__ import annotations

import json
import os
import subprocess
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

from midpath.errors import UsageError
from midpath.lab.keys import refused
from midpath.lab.plan import Plan
from midpath.units import quantity

# Namespaces, and flows; ours: what two cores build and serve within some seconds.
MOST_NODES, MOST_FLOWS = 64, 2000
# A run without `stop` has this long, and none may have more.
LONGEST_S = 600.0
# Of a core: the emulator has one thread, and the hosts' TCP needs as much again.
SHARE = 0.5
# What a node needs for a packet, at most, in µs of CPU (evidence/lab/overlay/MEASURED.md). Nodes have all cores.
NODE_US = 75.0
# Bits of a full packet, and packets that pass a link for each of them: an ACK for two.
PACKET_BITS, WITH_ACKS = 12_000, 1.5
# A round trip has so many times the lateness of a wake-up (its 99th percentile): what comes late is then little of it.
TIMES_LATE = 10


@dataclass(frozen=True)
class Budget:
    """What a calibration found."""

    # Packets that can pass links in a second.
    hops_per_s: float
    # The shortest round trip that is one.
    shortest_rtt_s: float
    real_time: bool

    def says(self) -> str:
        """For people."""
        return f"this machine's budget is {self.hops_per_s:,.0f} link transmissions a second"

    def by_nodes(self) -> Budget:
        """The same where nodes are at the links' ends."""
        cost_us = SHARE * 1e6 / self.hops_per_s + NODE_US
        return replace(self, hops_per_s=SHARE * 1e6 / cost_us * (os.cpu_count() or 1))


def calibrate(midpath_lab: str) -> Budget:
    """Measures for two seconds."""
    done = subprocess.run([midpath_lab, "budget"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UsageError(f"the calibration failed: {done.stderr.strip().removeprefix('midpath-lab: ')}")
    found = json.loads(done.stdout)
    return Budget(
        hops_per_s=SHARE * 1e6 / found["cost_us"],
        shortest_rtt_s=TIMES_LATE * found["late_us"]["p99"] / 1e6,
        real_time=found["real_time"],
    )


def check_size(plan: Plan) -> None:
    """Raises `ScenarioError` if there is too much of something."""
    if (nodes := len(plan.nodes)) > MOST_NODES:
        raise refused(plan, "topology", f"has {nodes:,} nodes; the laboratory supports at most {MOST_NODES}")
    if (flows := len(plan.flows)) > MOST_FLOWS:
        key = "workload" if "workload" in plan.written else "flow"
        raise refused(plan, key, f"gives {flows:,} flows; the laboratory supports at most {MOST_FLOWS:,}")
    stop = plan.values["stop_s"]
    if stop is not None and stop > LONGEST_S:
        raise refused(
            plan, "stop", f"is {quantity('seconds', stop)}; real time supports at most {quantity('seconds', LONGEST_S)}"
        )


def check_budget(plan: Plan, budget: Budget, *, nodes: bool = False) -> None:
    """Raises `ScenarioError` if it is too fast for this machine."""
    if nodes:
        budget = budget.by_nodes()
    loads = link_loads(plan)
    hops = sum(loads.values()) * WITH_ACKS / PACKET_BITS
    if hops > budget.hops_per_s:
        fastest = max(loads, key=lambda direction: loads[direction])
        carries = quantity("bps", loads[fastest])
        what = f"{plan.link(fastest[0])} may carry {carries}, and all links {hops:,.0f} packets a second"
        raise refused(plan, rate_key(plan, fastest[0]), f"{what}; {budget.says()}")
    if plan.flows and (rtt := min(flow["rtt_s"] for flow in plan.flows)) < budget.shortest_rtt_s:
        least = quantity("seconds", budget.shortest_rtt_s)
        what = f"a round trip of {quantity('seconds', rtt)} is too short for this machine's wake-up latency"
        raise refused(plan, "topology", f"{what}: the minimum is {least}")


def link_loads(plan: Plan) -> dict[tuple[int, int], float]:
    """Bits per second that may pass each direction of a link: flows that share their slowest link share its rate."""
    numbers: dict[tuple[int, int], tuple[int, int]] = {}
    for number, link in enumerate(plan.links):
        for end, (one, other) in enumerate(((link["a"], link["b"]), (link["b"], link["a"]))):
            numbers.setdefault((one, other), (number, end))
    behind: dict[tuple[int, int], dict[tuple[int, int], float]] = defaultdict(dict)
    for flow in plan.flows:
        hops = [numbers[pair] for pair in zip(flow["path"], flow["path"][1:], strict=False)]
        slowest = min(hops, key=lambda hop: plan.links[hop[0]]["rates_bps"][hop[1]])
        for hop in hops:
            behind[hop][slowest] = plan.links[slowest[0]]["rates_bps"][slowest[1]]
    return {hop: min(plan.links[hop[0]]["rates_bps"][hop[1]], sum(shares.values())) for hop, shares in behind.items()}


def rate_key(plan: Plan, number: int) -> str:
    """The key that most likely says a link's rate."""
    topology: dict[str, Any] = plan.written["topology"]
    link = plan.links[number]
    ends = {plan.name(link["a"]), plan.name(link["b"])}
    for place, written in enumerate(topology.get("links", [])):
        if {written.get("a"), written.get("b")} == ends:
            return f"topology.links[{place}].rate"
    routers = all(plan.nodes[node]["kind"] == "router" for node in (link["a"], link["b"]))
    for key in ("bottleneck", "link") if routers else ("access", "hosts", "link"):
        if "rate" in topology.get(key, {}):
            return f"topology.{key}.rate"
    return next((f"topology.{key}" for key in ("rate", "default_rate") if key in topology), "topology")
