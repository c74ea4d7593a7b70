"""Which mechanism of TCP differs between this kernel and the simulator, by packets: writes MECHANISMS.md.

    sudo python evidence/lab/mechanisms.py --out DIR [--runs 3]

One flow through a deep buffer (one_flow.toml). The same code reads both sides' captures: data as they leave the sender,
ACKs as they come back to it. `suite.py` puts what this writes behind its own tables.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from midpath import markdown
from midpath.lab import beside, budget, clean, machine, real
from midpath.result import Result
from midpath.run import run as simulate
from midpath.scenario import Scenario
from midpath.units import digits

HERE = Path(__file__).parent
FILE = HERE / "one_flow.toml"
SYN, ACK = 2, 16
# Rounds in which slow start is looked at: no queue has grown yet, and a silence of a fifth of a round trip parts them.
ROUNDS, SILENCE_S = 3, 0.008


def captured(capture: bytes) -> Iterator[tuple[float, bytes]]:
    """When each packet was sent, and its bytes (pcapng, blocks of type 6)."""
    at = 0
    while at + 12 <= len(capture):
        kind, length = struct.unpack_from("<II", capture, at)
        if kind == 6:
            _, high, low, kept, _ = struct.unpack_from("<IIIII", capture, at + 8)
            yield (high << 32 | low) / 1e9, capture[at + 28 : at + 28 + kept]
        at += length


def packets(capture: bytes) -> Iterator[tuple[float, int, int, int, int]]:
    """Of each packet: when, flags, sequence number, acknowledgement, payload."""
    for at, packet in captured(capture):
        headers = (packet[0] & 15) * 4
        total = struct.unpack_from("!H", packet, 2)[0]
        seq, ack, offset, flags = struct.unpack_from("!IIBB", packet, headers + 4)
        yield at, flags, seq, ack, total - headers - (offset >> 4) * 4


def acknowledgements(capture: bytes) -> Iterator[tuple[int, int]]:
    """Of each ACK that a receiver sends: bytes that are acknowledged anew, and by how much the window's field grows."""
    before = None
    for _, packet in captured(capture):
        headers = (packet[0] & 15) * 4
        ack, flags, window = struct.unpack_from("!IxBH", packet, headers + 8)
        if before is not None:
            yield (ack - before[0]) % 2**32, window - before[1]
        # Of a SYN the field has another unit.
        before = (ack, 2**16 if flags & SYN else window)


def look(made: Result) -> dict[str, float]:
    """What a run's packets show of its mechanisms."""
    data = list(packets(made.files["s-r.pcapng"]))
    acks = list(packets(made.files["r-s.pcapng"]))
    first = next(seq for _, flags, seq, _, _ in data if flags & SYN) + 1
    sent = [(at, (seq - first) % 2**32, size) for at, _, seq, _, size in data if size > 0]
    came = [(at, (ack - first) % 2**32) for at, flags, _, ack, size in acks if flags & ACK and not flags & SYN]
    began = sent[0][0]
    rounds = bursts([at for at, _, _ in sent])
    most, repeats, first_repeat, highest = 0, 0, None, []
    for at, place, size in sent:
        if place < most:
            repeats += 1
            first_repeat = first_repeat or at
        most = max(most, place + size)
        highest.append((at, most))
    port = next(one for one in made.ports.to_pylist() if (one["node"], one["peer"]) == ("r", "d"))
    flow = made.flows.to_pylist()[0]
    lost = port["drops_queue"] + port["corrupted"]
    before = flight(highest, came, first_repeat) if first_repeat else 0.0
    half = made.run["simulated_s"] / 2
    return {
        "first": rounds[0],
        "growth": statistics.mean(rounds[n + 1] / rounds[n] for n in range(ROUNDS)),
        "acks": len(sent) / len(came),
        "exit": before / 1448,
        "exit_s": (first_repeat or began) - began,
        "lost": lost,
        "repeats": repeats,
        "needless": max(repeats - lost, 0),
        "timeouts": flow["timeouts"],
        "half": flight(highest, came, began + half) / 1448,
        "end": flight(highest, came, sent[-1][0]) / 1448,
        "limited": flow.get("window_limited_s") or 0.0,
        "delay": port["delay_p50_s"] * 1e3,
        "goodput": flow["goodput_bps"] / 1e6,
    }


def bursts(times: list[float]) -> list[int]:
    """How many packets leave between silences."""
    found = [1]
    for before, after in itertools.pairwise(times):
        if after - before > SILENCE_S:
            found.append(0)
        found[-1] += 1
        if len(found) > ROUNDS + 1:
            break
    return found


def flight(highest: list[tuple[float, int]], came: list[tuple[float, int]], at: float) -> float:
    """Bytes sent and not acknowledged at a time."""
    return max(most for when, most in highest if when <= at) - max((ack for when, ack in came if when <= at), default=0)


HEAD = """## Mechanisms, by packets

Written by `evidence/lab/mechanisms.py`: one flow, 100 Mbps, a round trip of 40 ms, 200 ms of buffer, 8 s. Medians
of the runs in brackets. *Super-frames*: hosts with TSO. *RFC 6298*: `min_rto = "200 ms"` alone, as the
laboratory's simulations had it before; *as Linux*: with `rto_margin = "200 ms"`, too; *Linux's HyStart*: with that, and
`hystart = "linux"`.
"""
# Of each: Linux 6.18, ours, and what it does in the tables above.
MECHANISMS = (
    (
        "initial window, growth of slow start",
        "10, doubles",
        "the same",
        "",
    ),
    (
        "delayed ACKs",
        "two segments; one, at once, for the first 16 and while the receive window grows; the last ones of a round may "
        "wait for the next",
        "two segments",
        "a file of 70 segments takes a round trip more (`buffers`: FCT). HyStart sees a train of ACKs only if they are "
        "within 2 ms: at 10 Mbps those for one segment are, so Linux's slow start ends sooner ([repeats of "
        "`dumbbell`](VIRTUAL.md); p99 of `bufferbloat-codel`)",
    ),
    (
        "**retransmission timeout**",
        "SRTT + max(200 ms, 4 RTTVAR)",
        "RFC 6298: max(`min_rto`, SRTT + 4 RTTVAR)",
        "in a full queue RTTVAR is small: timeouts in recovery, repeats of what was not lost, half a "
        "window. With `rto_margin` the same as Linux",
    ),
    (
        "end of slow start, CUBIC",
        "HyStart: at once when the delay grows, then 5 % a round trip until the first loss",
        'HyStart++ (RFC 9406): a quarter of the pace for five round trips more; or `hystart = "linux"`',
        "ours overshoots: repeats of one flow, a longer queue at the start (`bufferbloat-codel`). Linux's is nearer "
        "in both ([here](VIRTUAL.md)), and with an ACK for each segment in the repeats of `dumbbell`",
    ),
    (
        "what a loss takes off",
        "half, 30 % (CUBIC)",
        "the same",
        "",
    ),
    (
        "tail losses",
        "a probe after two round trips, RACK (RFC 8985)",
        'the timer; or `loss_detection = "rack-tlp"`',
        "`incast`: in ours some flows wait for their timer, and the others end sooner; in Linux next to none",
    ),
    (
        "timeouts without a loss",
        "seen by the next ACKs, by timestamps (RFC 3522) or F-RTO (RFC 5682), either of which is enough; the window "
        "comes back",
        "a timeout like any other",
        "`cellular`: all in flight is sent again",
    ),
    (
        "receive window",
        "grows from 64 KiB",
        "as large as may be",
        "the limit for a round trip of slow start",
    ),
    (
        "pacing",
        "none without `fq`",
        "none",
        "",
    ),
    (
        "super-frames (TSO)",
        "cut by the card",
        "none",
        "nothing that can be seen",
    ),
    (
        "ECN",
        "DCTCP's marks are told of one by one",
        "the same",
        "`forward-marking`, `incast`",
    ),
)
MECHANISM_HEADS = ("mechanism", "Linux 6.18", "ours", "what it does here")
TAIL = """**The question was** why without AQM the median wait was longer measured than simulated (first column, that
of RFC 6298). Ours was wrong: as Linux's it had been asked for a minimum RTO of 200 ms alone, and that is not
Linux's rule. `rto_margin` mends it. What is left of one CUBIC flow is HyStart, where RFC 9406 and Linux differ.
"""

ROWS = (
    ("first", "segments in the first round trip"),
    ("growth", "segments of a round trip over those of the one before, in slow start"),
    ("acks", "data segments per ACK"),
    ("exit_s", "first repeat, s after the first segment"),
    ("exit", "segments in flight then"),
    ("lost", "packets dropped by the queue"),
    ("repeats", "repeats"),
    ("needless", "repeats of what was not lost"),
    ("timeouts", "timeouts"),
    ("half", "segments in flight after half of the run"),
    ("end", "segments in flight at the end"),
    ("limited", "the receiver's window was the limit, s"),
    ("delay", "wait in the queue, p50, ms"),
    ("goodput", "goodput, Mbps"),
)


def sides(out: Path, scheme: str, runs: int, laboratory: real.Laboratory) -> dict[str, list[dict[str, float]]]:
    """What was seen, by side."""
    scenario = Scenario.from_toml(FILE).with_(scheme=scheme)
    found: dict[str, list[dict[str, float]]] = {}
    kinds = {
        "Linux": laboratory,
        "Linux, super-frames": real.Laboratory(laboratory.midpath_lab, laboratory.budget, True),
    }
    for kind, where in kinds.items():
        for number in range(runs):
            place = out / "one_flow" / f"{scheme}-{'whole' if where.whole else 'plain'}-{number}"
            one = real.kept(place, scenario, where)
            print(scheme, kind, one.run["emulator"]["late_us"]["p99"], "µs", flush=True)
            if real.invalid(one) is None:
                found.setdefault(kind, []).append(look(one))
    for name, changes in (OURS | HYSTART if scheme == "cubic" else OURS).items():
        asked = scenario.with_(changes={f"schemes.{scheme}.{key}": value for key, value in changes.items()})
        found[name] = [look(simulate(asked))]
    return found


# The simulator, with these parameters.
OURS: dict[str, dict[str, Any]] = {
    "ours, RFC 6298's RTO of 200 ms": {"min_rto": "200 ms", "delack_timeout": "40 ms"},
    "ours, as Linux": dict(beside.TIMERS),
}
# CUBIC's alone.
HYSTART = {"ours, with Linux's HyStart": dict(beside.TIMERS) | {"hystart": "linux"}}


def table(found: dict[str, list[dict[str, float]]]) -> str:
    """A column a side; medians."""
    heads = ["", *(f"{side} ({len(seen)})" if len(seen) > 1 else side for side, seen in found.items())]
    lines = [
        [label, *(digits(float(statistics.median(one[key] for one in seen))) for seen in found.values())]
        for key, label in ROWS
    ]
    return markdown.table(heads, lines, numbers=True) + "\n"


def main() -> None:
    """Runs both schemes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    midpath_lab = machine.program("midpath-lab")
    clean.clean()
    laboratory = real.Laboratory(midpath_lab, budget.calibrate(midpath_lab))
    parts = [
        f"### {scheme}\n\n{table(sides(asked.out, scheme, asked.runs, laboratory))}" for scheme in ("newreno", "cubic")
    ]
    text = "\n".join([HEAD, *parts, markdown.table(MECHANISM_HEADS, MECHANISMS) + "\n", TAIL])
    (asked.out / "MECHANISMS.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
