"""The kernel's queue disciplines at routers' ports: text for `tc`, and `tc`'s counters."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from midpath.errors import UsageError
from midpath.lab.plan import Plan

# What `--qdisc` may begin with: they keep the order of each conversation, by which dropped packets are found.
KNOWN = ("bfifo", "pfifo", "pfifo_fast", "codel", "fq_codel", "cake", "pie", "fq_pie", "fq", "red", "sfq")
WORDS = re.compile(r"[a-z0-9_.%-]+(?: [a-zA-Z0-9_.%-]+)*")
# Bytes of Ethernet's header: a link's rate and a queue's limit count IP packets.
ETHERNET = 14
# TBF lets through what its bucket holds: a full packet, and nothing like two.
SPARE = 40
# What `tc` calls packets that found no room, for disciplines that drop others, too.
NO_ROOM = {"codel": "drop_overlimit", "fq_codel": "drop_overlimit", "pie": "overlimit", "fq_pie": "overlimit"}
NO_ROOM |= {"cake": "", "red": "pdrop"}


@dataclass(frozen=True)
class Queue:
    """A port's queue in the kernel."""

    link: int
    end: int
    node: int
    text: str

    @property
    def way(self) -> int:
        """The direction's number, as `midpath-lab run` has it."""
        return 2 * self.link + self.end


def check(asked: str) -> str:
    """`--qdisc`, with one blank between words."""
    text = " ".join(asked.split())
    name = text.partition(" ")[0]
    if name not in KNOWN:
        raise UsageError(f"--qdisc {name or asked!r}: there are {', '.join(KNOWN)}")
    if not WORDS.fullmatch(text):
        raise UsageError(f"--qdisc {text}: only words and numbers are allowed, as after `tc qdisc add dev X root`")
    return text


def queues(plan: Plan, asked: str | None) -> list[Queue]:
    """Routers' ports with a queue of the kernel: all if a discipline was asked for, else those that have one."""
    found = []
    for number, link in enumerate(plan.links):
        for end, node in enumerate((link["a"], link["b"])):
            if plan.nodes[node]["kind"] != "router":
                continue
            queue = link["queues"][end]
            if asked is not None and queue["varies"]:
                raise UsageError(
                    f"--qdisc: {plan.link(number)} varies in rate or state, which only Midpath's queues support"
                )
            text = asked or queue["qdisc"]
            if text is not None and not queue["varies"]:
                found.append(Queue(number, end, node, text))
    return found


def said(plan: Plan, found: list[Queue]) -> dict[str, str]:
    """Of each router's port its queue, for people: `r0>r1`."""
    kernel = {queue.way: queue.text for queue in found}
    names = {}
    for number, link in enumerate(plan.links):
        for end, (node, peer) in enumerate(((link["a"], link["b"]), (link["b"], link["a"]))):
            if plan.nodes[node]["kind"] == "router":
                text = kernel.get(2 * number + end)
                names[f"{plan.name(node)}>{plan.name(peer)}"] = f"Linux: {text}" if text else "Midpath's"
    return names


def script(plan: Plan, queue: Queue) -> Iterator[str]:
    """Commands that make it, in its router's namespace."""
    link = plan.links[queue.link]
    device, rate = f"e{queue.link}", link["rates_bps"][queue.end]
    name = queue.text.partition(" ")[0]
    if name == "cake" and "bandwidth" not in queue.text:
        # Its own shaper, which counts IP packets if it is told an overhead.
        overhead = "" if "overhead" in queue.text else " overhead 0"
        yield f"tc qdisc add dev {device} root handle 10: {queue.text} bandwidth {rate}bit{overhead}"
        return
    bucket = link["mtu"] + SPARE
    yield (
        f"tc qdisc add dev {device} root handle 1: stab overhead -{ETHERNET} "
        f"tbf rate {rate}bit burst {bucket} limit {bucket}"
    )
    yield f"tc qdisc add dev {device} parent 1:1 handle 10: {queue.text}"


def no_room(text: str) -> dict[str, int]:
    """Of each device: packets that its discipline had no room for, from what `tc -s -j qdisc` says."""
    found = {}
    for entry in json.loads(text or "[]"):
        if entry.get("handle") == "10:":
            key = NO_ROOM.get(entry["kind"], "drops")
            found[entry["dev"]] = int(entry.get(key, 0))
    return found


def split(ports: list[dict[str, Any]], plan: Plan, found: list[Queue], counts: dict[int, str]) -> None:
    """Of the packets that a port's discipline has dropped, those that it chose; the others had found no room."""
    rows = {(port["node"], port["peer"]): port for port in ports}
    for queue in found:
        link = plan.links[queue.link]
        peer = link["b"] if queue.end == 0 else link["a"]
        row = rows[plan.name(queue.node), plan.name(peer)]
        full = no_room(counts.get(queue.node, "")).get(f"e{queue.link}", 0)
        lost = row["drops_queue"]
        row["drops_queue"] = min(lost, full)
        row["drops_aqm"] += lost - row["drops_queue"]
