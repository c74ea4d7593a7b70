"""`midpath lab rpm` as scenarios: a sender, a router with RPM before a bottleneck, receivers.

s ── delay ── r ══ bottleneck ══ x ── delays ── d0 … dn
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from midpath.errors import UsageError
from midpath.lab.real import Case
from midpath.lab.router import ETHERNET_BYTES, PACKET_BYTES
from midpath.scenario import Scenario
from midpath.schemes import described, shipped

# By midpathd's names for how congestion is found: the scenario's queue.
AQMS = {
    "codel": {"kind": "codel", "variant": "rfc8289"},
    "codel-dataplane": {"kind": "codel", "variant": "data-plane"},
    "step": {"kind": "delay-step"},
}
# What the router does with signals: as people and as scenarios call it.
MODES = {"none": "off", "fwd": "fwd", "rpm": "rpm", "both": "both"}
SAID = {"fwd": "marks forward", "rpm": "RPM", "both": "both"}
# Kernel TCP's segment with timestamps over an MTU of 1500.
SEGMENT_BYTES = 1448
# Flows without end start one after the other within this time, in seconds: what starts at once stays in step.
SPREAD_S = 0.1
# Of links that are no bottleneck. Flows name their own scheme, for DCTCP as the run's would give each queue a step.
FAST, NETWORK = "10 Gbps", "newreno"
# The bottleneck's queue, among the scenario's.
QUEUE = "router"


@dataclass(frozen=True)
class Bottleneck:
    """The router's port."""

    rate_bps: float = 100e6
    """As the shaper counts it, with Ethernet's headers."""
    buffer_s: float = 0.2
    aqm: str = "codel"
    target_s: float = 0.005
    interval_s: float = 0.1
    registers: str = "guarded"
    aggregate: bool = False
    flows: int = 65_536


@dataclass(frozen=True)
class Delays:
    """One-way delays in seconds: between sender and router, and between router and each receiver."""

    up: float
    down: tuple[float, ...]


@dataclass(frozen=True)
class Short:
    """Short flows beside the long ones, one after the other at random."""

    packets: tuple[int, ...] = (10, 30, 100, 300)
    per_s: float = 4.0


@dataclass(frozen=True)
class Experiment:
    """What is run, but for the congestion control, the mode and the seed."""

    title: str
    bottleneck: Bottleneck
    delays: Delays
    # Flows without end to each receiver.
    long: int = 1
    seconds: float = 10.0
    short: Short | None = None
    # Senders space their packets out.
    paced: bool = False

    def check(self) -> None:
        """Raises `UsageError` if it cannot be run."""
        if not 1e6 <= self.bottleneck.rate_bps <= 1e9:
            raise UsageError("--rate: must be from 1 Mbps to 1 Gbps; above 200 Mbps this machine limits the results")
        if self.bottleneck.aqm not in AQMS:
            raise UsageError(f"--aqm {self.bottleneck.aqm}: there are {', '.join(AQMS)}")
        if self.long < 0 or (self.long == 0 and self.short is None):
            raise UsageError("--flows: must be at least 1")
        if not 1 <= self.seconds <= 3600:
            raise UsageError("--seconds: must be from 1 to 3600")
        if self.delays.up < 0 or not all(0 <= delay <= 5 for delay in self.delays.down):
            raise UsageError("--rtt: must be from 0 to 10 s, and above --upstream")

    def flows(self, seed: int) -> list[dict[str, str]]:
        """The flows of one run, as scenarios have them; the same seed gives the same."""
        rng, hosts = random.Random(seed), range(len(self.delays.down))
        found = [
            {"from": "s", "to": f"d{host}", "start": us(rng.uniform(0, SPREAD_S)), "group": "long"}
            for host in hosts
            for _ in range(self.long)
        ]
        if self.short is not None:
            # The long flows come to terms first.
            at = min(2.0, self.seconds / 4)
            while (at := at + rng.expovariate(self.short.per_s)) < self.seconds - 1:
                host, packets = rng.randrange(len(hosts)), rng.choice(self.short.packets)
                size = {"size": f"{packets * SEGMENT_BYTES} B", "group": f"{packets} packets"}
                found.append({"from": "s", "to": f"d{host}", "start": us(at)} | size)
        return found


def us(seconds: float) -> str:
    """A time, as scenarios have it."""
    return f"{seconds * 1e6:.0f} us"


def check_modes(modes: Sequence[str]) -> None:
    """Raises `UsageError` unless there are such modes."""
    if unknown := [mode for mode in modes if mode not in MODES]:
        raise UsageError(f"--modes {unknown[0]}: there are {', '.join(MODES)}")


def scheme_name(control: str, mode: str) -> str:
    """`cubic-rpm`; a router without signals is not mentioned."""
    return control if mode == "none" else f"{control}-{mode}"


def title(control: str, mode: str) -> str:
    """The same for people: CUBIC through a router with RPM."""
    own = described(control).title if control in shipped() else control.upper()
    return own if mode == "none" else f"{own}, {SAID[mode]}"


def scenario(experiment: Experiment, control: str, mode: str, seed: int) -> Scenario:
    """The experiment as a scenario: one device of the router, asked for what `midpathd` would be."""
    bottleneck, delays = experiment.bottleneck, experiment.delays
    hosts = [f"d{i}" for i in range(len(delays.down))]
    # The shaper counts frames; scenarios count what is in them.
    rate = bottleneck.rate_bps * PACKET_BYTES / (PACKET_BYTES + ETHERNET_BYTES)
    links = [("s", "r", FAST, delays.up), ("r", "x", f"{rate:.0f} bps", 1e-5)]
    links += [("x", host, FAST, delay) for host, delay in zip(hosts, delays.down, strict=True)]
    queue = AQMS[bottleneck.aqm] | {"limit": us(bottleneck.buffer_s), "target": us(bottleneck.target_s)}
    interval = {"interval": us(bottleneck.interval_s)} if queue["kind"] == "codel" else {}
    params = {"mode": MODES[mode], "registers": bottleneck.registers, "size": bottleneck.flows}
    values: dict[str, Any] = {
        "title": experiment.title,
        "scheme": NETWORK,
        "seed": seed,
        "stop": us(experiment.seconds),
        "topology": {
            "links": [{"a": a, "b": b, "rate": rate, "delay": us(max(delay, 1e-5))} for a, b, rate, delay in links],
            "nodes": [{"name": name, "kind": "host"} for name in ("s", *hosts)],
        },
        "queues": {QUEUE: queue | interval},
        "deploy": [
            {"scheme": "rpm", "ports": ["r>x"], "queue": QUEUE, "params": params | {"aggregate": bottleneck.aggregate}}
        ],
        "schemes": {control: {"ecn": True} | ({"pacing": True} if experiment.paced else {})},
        "flow": [flow | {"scheme": control} for flow in experiment.flows(seed)],
        "measure": {"series": True},
    }
    return Scenario.from_dict(values)


def cases(experiment: Experiment, controls: Sequence[str], modes: Sequence[str]) -> list[Case]:
    """The runs of one seed: mode after mode, so that what the machine does meanwhile hits all alike."""
    return [
        Case(scheme_name(control, mode), partial(scenario, experiment, control, mode), title(control, mode))
        for control in controls
        for mode in modes
    ]
