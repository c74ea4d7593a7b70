"""Somebody forges packets in a flow's name, who does not see the flow: what it costs the flow, under RPM and CoDel-FWD.

    python evidence/lab/rpm/spoofed.py [--seeds N] [--seconds S] > evidence/lab/rpm/SPOOFED.md

Two CUBIC flows over 100 Mbps and 40 ms, to a receiver each; the first is the victim. The forger knows its addresses and
ports, and draws TCP's numbers by chance: 3,000 packets a second, ECT(0) data towards the receiver, or ACKs with wrong
checksums towards the sender. Each row is of the same seeds. As root; the machine should have nothing else to do.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import socket
import struct
import time
from collections.abc import Iterator
from typing import Any

from midpath import __version__
from midpath.lab import machine
from midpath.lab.experiment import Experiment, measure
from midpath.lab.router import Bottleneck
from midpath.lab.spaces import inside
from midpath.lab.testbed import SENDER, Delays, Testbed, mac, receiver
from midpath.lab.traffic import LONG_PORT
from midpath.stats import estimate

RATE_PER_S = 3000
DELAYS = Delays(0.0, (0.02, 0.02))
# Name, mode, window in MiB.
ROUTERS = (("CoDel-FWD", "fwd", 16), ("RPM", "rpm", 16), ("RPM, `--window 0`", "rpm", 0))
ATTACKS = ("none", "data", "ACKs")
ECT0, ACK = 2, 0x10


def ipv4_tcp(source: str, destination: str, ports: tuple[int, int], payload: int, rng: random.Random) -> bytes:
    """An ACK or a data packet with numbers of chance; its TCP checksum is wrong."""
    numbers = (rng.getrandbits(32), rng.getrandbits(32))
    tcp = struct.pack("!HHIIBBHHH", *ports, *numbers, 5 << 4, ACK, 500, 0xBAD, 0) + bytes(payload)
    ends = socket.inet_aton(source) + socket.inet_aton(destination)
    ecn = ECT0 if payload else 0
    head = struct.pack("!BBHHHBBH", 0x45, ecn, 20 + len(tcp), 0, 0x4000, 64, 6, 0) + ends
    total = sum(struct.unpack("!10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    return head[:10] + struct.pack("!H", checksum) + head[12:] + tcp


def victims_port() -> int | None:
    """The sender's port of the flow to the first receiver, as the namespace of this process has it."""
    wanted = f"{int.from_bytes(socket.inet_aton(receiver(0)), 'little'):08X}:{LONG_PORT:04X}"
    with open("/proc/self/net/tcp", encoding="ascii") as lines:  # noqa: PTH123
        found = [line.split() for line in lines if wanted in line]
    return next((int(words[1].split(":")[1], 16) for words in found if words[2] == wanted), None)


def forge(spaces: dict[str, str], attack: str, seed: int, until: float) -> None:
    """Waits for the flow, then sends in its name."""
    rng = random.Random(seed)
    port = None
    with inside(spaces["sender"]):
        while port is None and time.monotonic() < until:
            time.sleep(0.02)
            port = victims_port()
    if port is None:
        return
    name, device = (spaces["sender"], "s0") if attack == "data" else (spaces["receiver"], "d0")
    with inside(name):
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        raw.bind((device, 0))
    # The router's stations, and the end's own.
    stations = (mac(2), mac(1)) if attack == "data" else (mac(3), mac(4, 0))
    head = b"".join(bytes.fromhex(station.replace(":", "")) for station in stations) + b"\x08\x00"
    begin, sent = time.monotonic(), 0
    while (now := time.monotonic()) < until:
        while sent < (now - begin) * RATE_PER_S:
            if attack == "data":
                packet = ipv4_tcp(SENDER, receiver(0), (port, LONG_PORT), 1000, rng)
            else:
                packet = ipv4_tcp(receiver(0), SENDER, (LONG_PORT, port), 0, rng)
            raw.send(head + packet)
            sent += 1
        time.sleep(0.0005)


def run(
    bed: Testbed, tools: Any, router: tuple[str, str, int], attack: str, seed: int, seconds: float
) -> dict[str, float]:
    """One run's figures."""
    bottleneck = Bottleneck(rate_bps=100e6, window=router[2])
    asked = Experiment("spoofed", bottleneck, DELAYS, long=1, seconds=seconds)
    spaces = {"sender": bed.sender.name, "receiver": bed.receivers[0].name}
    until = time.monotonic() + seconds + 2
    forger = multiprocessing.Process(target=forge, args=(spaces, attack, seed, until), daemon=True)
    if attack != "none":
        forger.start()
    found = measure(bed, asked, "cubic", router[1], seed, tools)
    if attack != "none":
        forger.terminate()
        forger.join()
    counters = found.router["counters"]
    told = {flow["receiver"]: found.sent[flow["flow"]]["last"]["delivered_ce"] for flow in found.flows}
    rates = [
        found.delivered[flow["flow"]] * 8 / seconds / 1e6 for flow in sorted(found.flows, key=lambda f: f["receiver"])
    ]
    return {
        "victim": rates[0],
        "other": rates[1],
        "signals": counters["signals"],
        "taken": counters["marked_ece"],
        "echoed": told[0] + told[1],
        "strange": counters["strange"],
        "strange_acks": counters["return_strange"],
    }


COLUMNS = ("victim", "other", "signals", "taken", "echoed", "strange", "strange_acks")


def page(seeds: int, seconds: float) -> Iterator[str]:
    """The table, row by row."""
    machine.require()
    tools = machine.find_tools()
    yield "# Forged packets in a flow's name"
    yield ""
    yield f"Midpath {__version__}, by `python evidence/lab/rpm/spoofed.py --seeds {seeds} --seconds {seconds:g}`:"
    yield "means over seeds with 95 % intervals. *Taken*: signals that an ACK took; *echoed*: packets whose"
    yield "senders heard of congestion; *strange*: signals, and ACKs, outside their flow's window. Rates are Mbps."
    yield "What is done stands at the head of the script."
    yield ""
    yield "| forged | router | victim | other | signals | taken | echoed | strange | strange ACKs |"
    yield "|---|---|---|---|---|---|---|---|---|"
    with Testbed(DELAYS, tools) as bed:
        for attack in ATTACKS:
            rows = {router: [] for router in ROUTERS}
            # In turns, so that whatever else the machine does falls on all of them.
            for seed in range(1, seeds + 1):
                for router, found in rows.items():
                    found.append(run(bed, tools, router, attack, seed, seconds))
            for router, found in rows.items():
                cells = [shown([one[key] for one in found]) for key in COLUMNS]
                yield f"| {attack} | {router[0]} | {' | '.join(cells)} |"


def shown(values: list[float]) -> str:
    """Mean and half of the interval."""
    found = estimate(values)
    if found is None:
        return "–"
    return f"{found.mean:.1f}" + (f" ± {found.ci95:.1f}" if found.ci95 is not None else "")


def main() -> None:
    """Prints the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=8.0)
    options = parser.parse_args()
    for line in page(options.seeds, options.seconds):
        print(line, flush=True)


if __name__ == "__main__":
    main()
