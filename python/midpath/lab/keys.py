"""Which keys of a scenario the laboratory honours, approximates, refuses.

The table is that of docs/lab.md; `refuse` goes by it. A key that the scenario does not write is no reason to refuse.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from midpath.errors import ScenarioError
from midpath.lab.congestion import KERNEL
from midpath.lab.nodes import SCHEMES
from midpath.lab.plan import Plan
from midpath.units import listed

# What stands before a scheme's parameter.
PARAMETERS = "schemes.*."
HONOURED, APPROXIMATED, REFUSED = "honoured", "approximated", "refused"
# Parameters of RPM that `midpathd` has.
RPM_PARAMS = ("mode", "registers", "size", "aggregate")
# What lines under nodes carry: their packets are cut for it.
MTU = 1500


@dataclass(frozen=True)
class Rule:
    """Keys, what becomes of them, and how: with a kernel's TCP, and with Midpath's nodes."""

    keys: tuple[str, ...]
    kernel: str
    nodes: str
    how: str

    def has(self, key: str) -> bool:
        """Whether a key, without the numbers of lists, is one of these."""
        return any(fnmatch.fnmatchcase(key, pattern) for pattern in self.keys)

    def verdict(self, nodes: bool) -> str:
        """What becomes of them."""
        return self.nodes if nodes else self.kernel


def _both(keys: tuple[str, ...], verdict: str, how: str) -> Rule:
    return Rule(keys, verdict, verdict, how)


# Of schemes: what a kernel has a setting for. Nodes have them all.
_SYSCTL = ("ecn", "sack", "timestamps", "max_retries", "syn_retries", "dup_thresh")
_OWN = (
    *("delack_timeout", "rto_margin", "max_rto", "initial_rto", "recovery", "loss_detection", "growth", "abc_limit"),
    *("hystart", "pacing_slow_start", "pacing_avoidance", "limited_transmit"),
)


def _of_schemes(keys: tuple[str, ...], kernel: str, how: str) -> Rule:
    return Rule(tuple(f"{PARAMETERS}{key}" for key in keys), kernel, HONOURED, how)


# Keys of flows; one that is not here is refused.
_OF_FLOWS = ("from", "to", "size", "start", "stop", "group", "count", "jitter", "write*", "interval*", "on*", "off*")

_OF_OTHER_CLIENTS = (
    *("after*", "page", "video*", "fan_out", "then*", "workers", "scheduling", "timeout", "retries", "backoff*"),
    *("hedge_after", "tied", "rate", "scheme"),
)

# The first rule that has a key decides.
RULES = (
    _both(("format", "title", "seed", "stop", "variants*"), HONOURED, "at most ten minutes without `stop`"),
    Rule(
        ("topology*",),
        HONOURED,
        APPROXIMATED,
        "one namespace per node, at most 64; nodes: MTU 1,500 only",
    ),
    _both(
        ("queue*", "queues*", "host_queue*", "schemes.*.queue*"),
        HONOURED,
        "Midpath's queue code; with `--virtual` the kernel's at routers",
    ),
    _both(("pfc*",), REFUSED, "real transmitters cannot be paused"),
    _both(("host", "host.*"), REFUSED, "real hosts take the time that they take"),
    Rule(("vary.trace", "vary.shaper*"), HONOURED, REFUSED, "nodes need a known link rate"),
    _both(("vary.aggregation*", "vary.arq*"), REFUSED, "no device repeats or gathers frames on request"),
    Rule(("vary.ecn*", "vary.ack_thinning"), HONOURED, REFUSED, "nodes' traffic is encrypted"),
    Rule(
        ("host_jitter", "vary*", "fault*"),
        HONOURED,
        APPROXIMATED,
        "simulator code and random streams; nodes detect changes, no `restart`",
    ),
    _both(("scheme",), HONOURED, f"{listed(list(KERNEL))}; nodes {listed(list(SCHEMES))}; others refused"),
    Rule(("flow.scheme", "workload.scheme"), HONOURED, APPROXIMATED, "nodes: one scheme for all flows"),
    Rule(
        tuple(f"deploy.{key}" for key in ("name", "scheme", "ports", "queue", *(f"params.{p}" for p in RPM_PARAMS))),
        HONOURED,
        REFUSED,
        "one row of RPM, by [midpathd](rpm-on-linux.md)",
    ),
    _both(("deploy*",), REFUSED, "routers only forward and queue; nodes have one scheme"),
    _both(("routing.metric",), HONOURED, "static routes"),
    _both(
        ("routing.ecmp",),
        APPROXIMATED,
        "own hash; others refused",
    ),
    _both(("routing.flowlet_gap", "routing.drill_samples", "routing.drill_memory"), REFUSED, "kernels hash by flow"),
    Rule(("routing.reconverge",), HONOURED, REFUSED, "`ip route replace`, that long after a change"),
    _both(("flow.path",), REFUSED, "routes are those of destinations"),
    _both(("flow.after*", "workload.after*", "job*"), REFUSED, "flows start at times known before the run"),
    _both(
        tuple(f"client.{key}" for key in _OF_OTHER_CLIENTS),
        REFUSED,
        "programs ask one server at a time, over TCP of the run's scheme",
    ),
    Rule(("client*",), HONOURED, REFUSED, "programs on sockets, with the simulator's sizes and times"),
    _both(("flow.late_after",), REFUSED, "no datagrams"),
    _both(("flow.rate", "workload.arrivals.burst_rate"), REFUSED, "flows are TCP's or a node's"),
    _both(
        (
            *("flow.weight", "workload.weight", "flow.budget", "workload.budget", "flow.object", "flow.replicas"),
            *("workload.objects*", "schemes.*.groups*"),
        ),
        REFUSED,
        "not available for a connection",
    ),
    Rule(
        ("flow", *(f"flow.{key}" for key in _OF_FLOWS), "workload*"),
        HONOURED,
        APPROXIMATED,
        "sizes, end points and times as simulated; nodes start an RTT later",
    ),
    _both(("trace*", "measure.pcap.drops"), REFUSED, "captures show only what is sent"),
    Rule(("measure.pcap*",), HONOURED, REFUSED, "nodes' traffic is encrypted"),
    Rule(("measure*",), HONOURED, APPROXIMATED, "samples at least 5 ms apart; no queues or windows of nodes"),
    _of_schemes((*_SYSCTL, "pacing"), HONOURED, "sysctl or socket option; `accurate` ECN refused"),
    _of_schemes(("initial_window", "min_rto", "delayed_ack"), HONOURED, "route attributes; ACKs per 1 or 2 segments"),
    _of_schemes(("receive_window",), APPROXIMATED, "tcp_rmem, doubled"),
    _of_schemes(_OWN, APPROXIMATED, "the kernel's own"),
    Rule(
        (f"{PARAMETERS}*",),
        REFUSED,
        HONOURED,
        "constants of the kernel's modules",
    ),
)

# Values that a scenario's key may have where its rule says "honoured" or "approximated".
VALUES: dict[str, tuple[Any, ...]] = {"routing.ecmp": ("flow", "off")}
NODES_VALUES = VALUES | {"fault.kind": ("link-down", "link-up", "rate", "delay")}
KERNEL_VALUES = VALUES | {
    "deploy.scheme": ("rpm",),
    "schemes.*.ecn": (True, False),
    "schemes.*.sack": (True, False),
    "schemes.*.timestamps": (True, False),
    "schemes.*.delayed_ack": (True, False, 1, 2),
}


def written(values: Any, key: str = "") -> Iterator[tuple[str, str, Any]]:
    """Each key that holds a value: as it is written (`flow[1].size`), without numbers (`flow.size`), its value."""
    if isinstance(values, dict):
        for name, value in values.items():
            yield from written(value, f"{key}.{name}" if key else name)
    elif isinstance(values, list) and any(isinstance(value, dict) for value in values):
        for number, value in enumerate(values):
            yield from written(value, f"{key}[{number}]")
    else:
        yield key, plain(key), values


def plain(key: str) -> str:
    """Without the numbers of lists."""
    return "".join(part.partition("]")[2] if place else part for place, part in enumerate(key.split("[")))


def rule_of(key: str) -> Rule | None:
    """The rule for a key without numbers."""
    return next((rule for rule in RULES if rule.has(key)), None)


def refuse(plan: Plan, *, nodes: bool = False) -> None:
    """Raises `ScenarioError` at the first key that the laboratory cannot do."""
    if plan.values["scheme"] == "ideal":
        raise refused(plan, "scheme", "the ideal is a fluid model without packets")
    can = SCHEMES if nodes else KERNEL
    unknown = [scheme for scheme in plan.schemes if scheme not in can]
    if unknown:
        has = "carried by nodes; they carry" if nodes else "in the kernel; it has"
        raise refused(plan, scheme_key(plan, unknown[0]), f"{unknown[0]} is not {has} {listed(list(can))}")
    for key, bare, value in written(plan.written):
        if not relevant(bare, plan):
            continue
        rule = rule_of(bare)
        if rule is None or rule.verdict(nodes) == REFUSED:
            raise refused(plan, key, f"is not possible in the laboratory: {rule.how if rule else 'it is not known'}")
        values = NODES_VALUES if nodes else KERNEL_VALUES
        allowed = next((found for pattern, found in values.items() if fnmatch.fnmatchcase(bare, pattern)), None)
        if allowed is not None and value not in allowed:
            said = listed([str(one).lower() if isinstance(one, bool) else str(one) for one in allowed])
            raise refused(plan, key, f"can be {said} in the laboratory")
    for number, flow in enumerate(plan.flows):
        if flow["rate_bps"] is not None:
            raise refused(plan, f"flow[{number}].rate", "is not possible in the laboratory: flows are TCP's")
    if nodes:
        _one_scheme(plan)
        return
    network = {scheme for link in plan.links for scheme in link["schemes"] if scheme} - {*KERNEL, "rpm"}
    if network:
        raise refused(plan, "scheme", f"{min(network)} runs in the network; the laboratory's routers only queue")
    agree(plan)


def _one_scheme(plan: Plan) -> None:
    """What nodes have in common, and how their links must be."""
    other = [scheme for scheme in plan.schemes if scheme != plan.values["scheme"]]
    if other:
        what = f"all flows of nodes have the run's scheme, {plan.values['scheme']}"
        raise refused(plan, scheme_key(plan, other[0]), what)
    pairs = set()
    for link in plan.links:
        if link["mtu"] != MTU:
            raise refused(plan, "topology", f"has a link with an MTU of {link['mtu']:,}; nodes' lines have {MTU:,}")
        pair = frozenset((link["a"], link["b"]))
        if pair in pairs:
            raise refused(
                plan, "topology", f"has two links {plan.name(link['a'])}–{plan.name(link['b'])}; nodes have one"
            )
        pairs.add(pair)


def relevant(bare: str, plan: Plan) -> bool:
    """Whether a key counts in this run: parameters of schemes that nobody uses do not, nor do variants."""
    parts = bare.split(".")
    if parts[0] == "variants":
        return False
    deployed = [row.get("scheme") for row in plan.written.get("deploy", [])]
    return parts[0] != "schemes" or len(parts) < 2 or parts[1] in (*plan.schemes, *deployed) or parts[-2] == "queue"


def agree(plan: Plan) -> None:
    """What is the kernel's for a whole host must be the same for all schemes."""
    for key in ("sack", "timestamps", "receive_window", "max_retries", "syn_retries", "dup_thresh"):
        values = {scheme: plan.parameters(scheme).get(key) for scheme in plan.schemes}
        if len({str(value) for value in values.values()}) > 1:
            scheme = next(scheme for scheme, value in values.items() if value is not None)
            raise refused(
                plan, f"schemes.{scheme}.{key}", "must be the same for all schemes: it applies per host, not per flow"
            )


def scheme_key(plan: Plan, scheme: str) -> str:
    """Where a scheme is named."""
    for key, bare, value in written(plan.written):
        if value == scheme and bare in ("scheme", "flow.scheme", "workload.scheme"):
            return key
    return "scheme"


def refused(plan: Plan, key: str, message: str) -> ScenarioError:
    """An error that names the key, and the scenario."""
    return ScenarioError(key, None, message, plan.scenario.source)


def table() -> list[tuple[str, str, str]]:
    """The rows of docs/lab.md: keys, what becomes of them (with nodes, too, if that differs), how."""
    same = [rule.kernel if rule.kernel == rule.nodes else f"{rule.kernel}; nodes: {rule.nodes}" for rule in RULES]
    return [(shown(rule), verdict, rule.how) for rule, verdict in zip(RULES, same, strict=True)]


def shown(rule: Rule) -> str:
    """Keys as people write them."""
    own = [key.removeprefix(PARAMETERS) for key in rule.keys if all(k.startswith(PARAMETERS) for k in rule.keys)]
    if own == ["*"]:
        return "other parameters of schemes"
    if own:
        return "of schemes: " + ", ".join(f"`{key.rstrip('*')}`" for key in own)
    return ", ".join(f"`{key.rstrip('*')}`" for key in rule.keys)
