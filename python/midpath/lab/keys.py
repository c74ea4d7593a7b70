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
from midpath.lab.plan import Plan
from midpath.units import listed

# What stands before a scheme's parameter.
PARAMETERS = "schemes.*."
HONOURED, APPROXIMATED, REFUSED = "honoured", "approximated", "refused"


@dataclass(frozen=True)
class Rule:
    """Keys, what becomes of them, and how."""

    keys: tuple[str, ...]
    verdict: str
    how: str

    def has(self, key: str) -> bool:
        """Whether a key, without the numbers of lists, is one of these."""
        return any(fnmatch.fnmatchcase(key, pattern) for pattern in self.keys)


# The first rule that has a key decides.
RULES = (
    Rule(("format", "title", "seed", "stop", "variants*"), HONOURED, "without `stop`, ten minutes at most"),
    Rule(("topology*",), HONOURED, "a namespace for each node, 64 at most"),
    Rule(
        ("queue*", "queues*", "host_queue*"),
        HONOURED,
        "Midpath's queue code; with `--kernel uml` the kernel's at routers",
    ),
    Rule(("schemes.*.queue*",), HONOURED, "the same"),
    Rule(("pfc*",), REFUSED, "no neighbour's transmitter can be stopped"),
    Rule(("host_jitter", "vary*", "fault*"), HONOURED, "the simulator's own code and random streams"),
    Rule(("scheme", "flow.scheme", "workload.scheme"), HONOURED, f"{listed(list(KERNEL))}; any other is refused"),
    Rule(("deploy*",), REFUSED, "routers forward and queue, nothing else"),
    Rule(("routing.metric",), HONOURED, "static routes"),
    Rule(("routing.ecmp",), APPROXIMATED, "the kernel's own hash; `packet`, `symmetric` are refused"),
    Rule(("routing.reconverge",), REFUSED, "routes stay as they are at the start"),
    Rule(("flow.path",), REFUSED, "flows go as routing does"),
    Rule(("flow.rate", "workload.arrivals.burst_rate"), REFUSED, "flows are TCP's"),
    Rule(("flow.weight", "workload.weight", "flow.budget", "workload.budget"), REFUSED, "TCP has neither"),
    Rule(("flow.object", "flow.replicas", "workload.objects*"), REFUSED, "a flow is a connection of its own"),
    Rule(("flow*", "workload*"), HONOURED, "the same flows as in the simulator: sizes, ends, times"),
    Rule(("trace*",), REFUSED, "`measure.pcap` shows the kernel's packets"),
    Rule(("measure.pcap.drops",), REFUSED, "captures have what is sent"),
    Rule(("measure*",), HONOURED, "looks are no nearer than 5 ms"),
    Rule(("schemes.*.ecn", "schemes.*.sack", "schemes.*.timestamps"), HONOURED, "sysctl; `accurate` is refused"),
    Rule(("schemes.*.initial_window", "schemes.*.min_rto"), HONOURED, "of a route"),
    Rule(("schemes.*.delayed_ack",), HONOURED, "of a route; other numbers than 1 and 2 are refused"),
    Rule(("schemes.*.pacing",), HONOURED, "a socket's"),
    Rule(("schemes.*.max_retries", "schemes.*.syn_retries", "schemes.*.dup_thresh"), HONOURED, "sysctl"),
    Rule(("schemes.*.receive_window",), APPROXIMATED, "tcp_rmem, twice of it"),
    Rule(
        tuple(
            f"schemes.*.{key}"
            for key in (
                "delack_timeout",
                "rto_margin",
                "max_rto",
                "initial_rto",
                "recovery",
                "loss_detection",
                "growth",
                "abc_limit",
                "hystart",
                "pacing_slow_start",
                "pacing_avoidance",
                "limited_transmit",
            )
        ),
        APPROXIMATED,
        "the kernel's own",
    ),
    Rule((f"{PARAMETERS}*",), REFUSED, "the kernel's modules have their constants"),
)

# Values that a scenario's key may have where its rule says "honoured" or "approximated".
VALUES: dict[str, tuple[Any, ...]] = {
    "routing.ecmp": ("flow", "off"),
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


def refuse(plan: Plan) -> None:
    """Raises `ScenarioError` at the first key that the laboratory cannot do."""
    if plan.values["scheme"] == "ideal":
        raise refused(plan, "scheme", "the ideal is a fluid model, and has no packets")
    unknown = [scheme for scheme in plan.schemes if scheme not in KERNEL]
    if unknown:
        what = f"{unknown[0]} is not in the kernel; it has {listed(list(KERNEL))}"
        raise refused(plan, scheme_key(plan, unknown[0]), what)
    for key, bare, value in written(plan.written):
        if not relevant(bare, plan):
            continue
        rule = rule_of(bare)
        if rule is None or rule.verdict == REFUSED:
            raise refused(plan, key, f"is not possible in the laboratory: {rule.how if rule else 'it is not known'}")
        allowed = next((found for pattern, found in VALUES.items() if fnmatch.fnmatchcase(bare, pattern)), None)
        if allowed is not None and value not in allowed:
            said = listed([str(one).lower() if isinstance(one, bool) else str(one) for one in allowed])
            raise refused(plan, key, f"can be {said} in the laboratory")
    network = {scheme for link in plan.links for scheme in link["schemes"] if scheme} - set(KERNEL)
    if network:
        raise refused(plan, "scheme", f"{min(network)} runs in the network; routers of the laboratory only queue")
    for number, flow in enumerate(plan.flows):
        if flow["rate_bps"] is not None:
            raise refused(plan, f"flow[{number}].rate", "is not possible in the laboratory: flows are TCP's")
    agree(plan)


def relevant(bare: str, plan: Plan) -> bool:
    """Whether a key counts in this run: parameters of schemes that nobody uses do not, nor do variants."""
    parts = bare.split(".")
    if parts[0] == "variants":
        return False
    return parts[0] != "schemes" or len(parts) < 2 or parts[1] in plan.schemes or parts[-2] == "queue"


def agree(plan: Plan) -> None:
    """What is the kernel's for a whole host must be the same for all schemes."""
    for key in ("sack", "timestamps", "receive_window", "max_retries", "syn_retries", "dup_thresh"):
        values = {scheme: plan.parameters(scheme).get(key) for scheme in plan.schemes}
        if len({str(value) for value in values.values()}) > 1:
            scheme = next(scheme for scheme, value in values.items() if value is not None)
            raise refused(plan, f"schemes.{scheme}.{key}", "must be the same for all schemes: hosts have it, not flows")


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
    """The rows of docs/lab.md: keys, verdict, how."""
    return [(shown(rule), rule.verdict, rule.how) for rule in RULES]


def shown(rule: Rule) -> str:
    """Keys as people write them."""
    own = [key.removeprefix(PARAMETERS) for key in rule.keys if key.startswith(PARAMETERS)]
    if own == ["*"]:
        return "other parameters of schemes"
    if own:
        return "of schemes: " + ", ".join(f"`{key.rstrip('*')}`" for key in own)
    return ", ".join(f"`{key.rstrip('*')}`" for key in rule.keys)
