"""What programs said to each other, as rows of `flows` and `datagrams` (docs/results.md)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from midpath.lab.network import address, address6
from midpath.lab.plan import Plan
from midpath.tables import columns

# Besides, of a flow: TCP or UDP, and its ports.
COLUMNS = (("protocol", pa.string()), ("src_port", pa.uint32()), ("dst_port", pa.uint32()))
PROTOCOLS = {1: "ICMP", 6: "TCP", 17: "UDP", 58: "ICMPv6"}
# What these flows have in place of a scheme.
SCHEME = "programs"
Row = dict[str, Any]


def conversations(plan: Plan, ran: Row) -> tuple[list[Row], list[Row]]:
    """Rows of `flows` and of `datagrams`: one for each direction, but for one of TCP that has only ACKs."""
    hosts = {kind(node): plan.name(node) for node in plan.hosts for kind in (address, address6)}
    there = {_ends(row): row for row in ran["conversations"]}
    flows: list[Row] = []
    datagrams: list[Row] = []
    for row in ran["conversations"]:
        back = there.get(_ends(row, back=True), {})
        # Of two such directions the first stays: a connection that was refused.
        if back and _only_acks(row) and (not _only_acks(back) or back["began_s"] < row["began_s"]):
            continue
        number = len(ran["flows"]) + len(flows)
        names = {"src": hosts.get(row["src"], row["src"]), "dst": hosts.get(row["dst"], row["dst"])}
        names |= {"flow": number, "group": f"{names['src']}>{names['dst']}"}
        flows.append(names | _flow(row, back))
        datagrams.append(names | _delays(row))
    return flows, datagrams


def _ends(row: Row, *, back: bool = False) -> tuple[Any, ...]:
    first, second = ("dst", "src") if back else ("src", "dst")
    return row["protocol"], row[first], row[f"{first}_port"], row[second], row[f"{second}_port"]


def _only_acks(row: Row) -> bool:
    return PROTOCOLS.get(row.get("protocol", 0)) == "TCP" and row["with_payload"] == 0


def _flow(row: Row, back: Row) -> Row:
    began = min(row["began_s"], back.get("began_s", row["began_s"]))
    took, ended = row["last_s"] - row["began_s"], row["ended_s"]
    both = row["delay_min_s"] is not None and back.get("delay_min_s") is not None
    acks = back if back and _only_acks(back) else {"lost": 0, "marked": 0}
    return {
        "scheme": SCHEME,
        "size_bytes": None if ended is None else float(row["delivered_bytes"]),
        "start_s": began,
        "fct_s": None if ended is None else ended - began,
        "ideal_fct_s": None,
        "slowdown": None,
        "goodput_bps": row["delivered_bytes"] * 8 / took if took > 0 else 0.0,
        "delivered_bytes": row["delivered_bytes"],
        "sent_packets": row["with_payload"],
        "retransmitted_packets": row["again"],
        "lost_packets": row["lost"] + acks["lost"],
        "marked_packets": row["marked"] + acks["marked"],
        "timeouts": None,
        "rtt_min_s": row["delay_min_s"] + back["delay_min_s"] if both else None,
        "rtt_mean_s": row["delay_mean_s"] + back["delay_mean_s"] if both else None,
        "rtt_max_s": None,
        "hops": None,
        "completed": ended is not None,
        "protocol": PROTOCOLS.get(row["protocol"], str(row["protocol"])),
        "src_port": row["src_port"],
        "dst_port": row["dst_port"],
    }


def _delays(row: Row) -> Row:
    counts = {"sent_packets": row["sent"], "received_packets": row["received"], "lost_packets": row["lost"]}
    delays = {name: row[name] for name, *_ in columns("datagrams") if name.startswith(("delay_", "jitter_"))}
    return counts | {"late_packets": 0} | delays
