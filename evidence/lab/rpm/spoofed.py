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
from dataclasses import dataclass

from midpath import __version__
from midpath.lab import machine, real
from midpath.lab.network import address, mac
from midpath.lab.rpm import Bottleneck, Delays, Experiment, scenario
from midpath.lab.spaces import inside
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


def victims_ports(receiver: str) -> tuple[int, int] | None:
    """The sender's and the receiver's port of the flow to the receiver, as the namespace of this process has it."""
    wanted = f"{int.from_bytes(socket.inet_aton(receiver), 'little'):08X}"
    with open("/proc/self/net/tcp", encoding="ascii") as lines:  # noqa: PTH123
        ends = [[end.split(":") for end in line.split()[1:3]] for line in lines]
    return next(((int(own[1], 16), int(peer[1], 16)) for own, peer in ends[1:] if peer[0] == wanted), None)


@dataclass(frozen=True)
class Victim:
    """Where a flow begins or ends: namespaces, addresses, and of the forger's device its name and both stations."""

    sender: str
    addresses: tuple[str, str]
    space: str
    device: str
    stations: tuple[str, str]


def victim(lab: real.Built, attack: str) -> Victim:
    """Of the flow to the first receiver, at the end where its packets are forged."""
    plan, network = lab.plan, lab.network
    sender, receiver = plan.number("s"), plan.number("d0")
    own = sender if attack == "data" else receiver
    number = next(n for n, link in enumerate(plan.links) if own in (link["a"], link["b"]))
    end = int(plan.links[number]["b"] == own)
    stations = mac(number, 1 - end), mac(number, end)
    ends = address(sender), address(receiver)
    return Victim(network.space(sender), ends, network.space(own), f"e{number}", stations)


def forge(of: Victim, attack: str, seed: int, until: float) -> None:
    """Waits for the flow, then sends in its name."""
    rng = random.Random(seed)
    ports = None
    with inside(of.sender):
        while ports is None and time.monotonic() < until:
            time.sleep(0.02)
            ports = victims_ports(of.addresses[1])
    if ports is None:
        return
    with inside(of.space):
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        raw.bind((of.device, 0))
    head = b"".join(bytes.fromhex(station.replace(":", "")) for station in of.stations) + b"\x08\x00"
    begin, sent = time.monotonic(), 0
    while (now := time.monotonic()) < until:
        while sent < (now - begin) * RATE_PER_S:
            if attack == "data":
                packet = ipv4_tcp(*of.addresses, ports, 1000, rng)
            else:
                packet = ipv4_tcp(*of.addresses[::-1], ports[::-1], 0, rng)
            raw.send(head + packet)
            sent += 1
        time.sleep(0.0005)


def run(
    laboratory: real.Laboratory, router: tuple[str, str, int], attack: str, seed: int, seconds: float
) -> dict[str, float]:
    """One run's figures."""
    asked = Experiment("spoofed", Bottleneck(rate_bps=100e6), DELAYS, long=1, seconds=seconds)
    plan = laboratory.prepare(scenario(asked, "cubic", router[1], seed))
    with real.built(plan, laboratory, ("--window", str(router[2]))) as lab:
        until = time.monotonic() + seconds + 2
        given = (victim(lab, attack), attack, seed, until)
        forger = multiprocessing.Process(target=forge, args=given, daemon=True)
        if attack != "none":
            forger.start()
        found = lab.carry_out()
        if attack != "none":
            forger.terminate()
            forger.join()
    (status,) = found["rpm"].values()
    counters, to = status["counters"], {plan.name(flow["to"]): n for n, flow in enumerate(plan.flows)}
    flows = [found["flows"][to[name]] for name in ("d0", "d1")]
    rates = [flow["delivered_bytes"] * 8 / seconds / 1e6 for flow in flows]
    return {
        "victim": rates[0],
        "other": rates[1],
        "signals": counters["signals"],
        "taken": counters["marked_ece"],
        "echoed": sum(flow["info"]["echoed"] for flow in flows),
        "strange": counters["strange"],
        "strange_acks": counters["return_strange"],
    }


COLUMNS = ("victim", "other", "signals", "taken", "echoed", "strange", "strange_acks")


def page(seeds: int, seconds: float) -> Iterator[str]:
    """The table, row by row."""
    laboratory = real.Laboratory.of(machine.find_tools())
    yield "# Forged packets in a flow's name"
    yield ""
    yield f"Midpath {__version__}, by `python evidence/lab/rpm/spoofed.py --seeds {seeds} --seconds {seconds:g}`:"
    yield "means over seeds with 95 % intervals. *Taken*: signals that an ACK took; *echoed*: packets whose"
    yield "senders heard of congestion; *strange*: signals, and ACKs, outside their flow's window. Rates are Mbps."
    yield "What is done stands at the head of the script."
    yield ""
    yield "| forged | router | victim | other | signals | taken | echoed | strange | strange ACKs |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for attack in ATTACKS:
        rows = {router: [] for router in ROUTERS}
        # In turns, so that whatever else the machine does falls on all of them.
        for seed in range(1, seeds + 1):
            for router, found in rows.items():
                found.append(run(laboratory, router, attack, seed, seconds))
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
