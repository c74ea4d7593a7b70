"""Where our parser and python-ndn disagree, by class, and what the specification says: writes AGREE.md beside it.

python evidence/peers/ndn/agree.py [MUTATIONS] [--example PROGRAM] [--print]

PROGRAM is `ndn_packets`, an example of net/ndn; it is built unless it is given.
"""

from __future__ import annotations

import argparse
import random
import re
import struct
import subprocess
from collections import Counter
from pathlib import Path

from clauses import refused_by_them, refused_by_us
from ndn.encoding import DecodeError, parse_data, parse_interest
from ndn.encoding.ndnlp_v2 import parse_lp_packet_v2
from packets import mutation, packet, tree

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
BAD = (DecodeError, IndexError, TypeError, ValueError, struct.error)


def theirs(wire: bytes) -> str:
    """Why python-ndn's application drops it; nothing if it takes it."""
    try:
        if wire[:1] == b"\x64":
            wire = bytes(parse_lp_packet_v2(wire).fragment or b"")
        (parse_interest if wire[:1] == b"\x05" else parse_data)(wire)
    except BAD as error:
        return f"{type(error).__name__}: {re.sub('[0-9a-fx]*[0-9][0-9a-fx]*', 'n', str(error))}"[:80]
    return ""


def ours(program: list[str], wires: list[bytes]) -> list[dict[str, str]]:
    """What our example says of each."""
    lines = "".join(wire.hex() + "\n" for wire in wires)
    done = subprocess.run(program, cwd=ROOT, input=lines, capture_output=True, text=True, check=True)
    fields = [re.match(r"error=(.*)", line) for line in done.stdout.splitlines()]
    said = [dict(f.split("=", 1) for f in line.split(" ") if "=" in f) for line in done.stdout.splitlines()]
    return [{"error": error[1]} if error else found for error, found in zip(fields, said, strict=True)]


def forwarded(wire: bytes, said: dict[str, str]) -> bool:
    """Whether what goes on is what came, but for HopLimit and a nonce where there was none."""
    sent = bytes.fromhex(said.get("forwarded", said.get("again", "")))
    return strip(sent) == strip(wire)


def strip(wire: bytes) -> object:
    """The packet's elements without the two that a forwarder changes."""
    if wire[:1] == b"\x64":
        wire = bytes(parse_lp_packet_v2(wire).fragment or b"")
    if wire[:1] != b"\x05":
        return wire
    ((kind, value),) = tree(wire)
    return kind, [element for element in value if element[0] not in (0x22, 0x0A)]


def kept(program: list[str], count: int) -> tuple[int, int]:
    """Of so many good packets, how many ours refuses, and how many change on their way."""
    good = [packet(random.Random(f"good {i}")) for i in range(count)]
    said = ours(program, good)
    changed = sum(not forwarded(wire, answer) for wire, answer in zip(good, said, strict=True) if "error" not in answer)
    return sum("error" in answer for answer in said), changed


def disagreements(program: list[str], count: int) -> tuple[Counter[tuple[str, ...]], tuple[int, int]]:
    """Who alone takes a mutation, its class, clause and verdict; and how many both take, and neither."""
    wires = [mutation(random.Random(f"bad {i}")) for i in range(count)]
    classes: Counter[tuple[str, ...]] = Counter()
    both = neither = 0
    for wire, answer in zip(wires, ours(program, wires), strict=True):
        why, error = theirs(wire), answer.get("error", "")
        if error and not why:
            classes["python-ndn", *refused_by_us(wire, error)] += 1
        elif why and not error:
            classes["ours", *refused_by_them(wire, why)] += 1
        else:
            both += not why
            neither += bool(why)
    return classes, (both, neither)


def main() -> None:
    """Compares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mutations", type=int, nargs="?", default=30_000)
    parser.add_argument("--example", help="the program")
    parser.add_argument("--print", action="store_true", help="print the classes, and leave the page alone")
    asked = parser.parse_args()
    built = ["cargo", "run", "--quiet", "-p", "midpath-ndn", "--example", "ndn_packets"]
    program = [asked.example] if asked.example else built
    refused, changed = kept(program, 10_000)
    classes, (both, neither) = disagreements(program, asked.mutations)
    alone = {who: sum(count for (by, *_), count in classes.items() if by == who) for who in ("python-ndn", "ours")}
    lines = [
        "# Our parser and python-ndn",
        "",
        "Written by `python evidence/peers/ndn/agree.py`.",
        "",
        f"Of 10,000 packets that python-ndn writes, ours refuses {refused}, and changes {changed} on the way.",
        "",
        f"Of {asked.mutations:,} mutations both accept {both:,} and both refuse {neither:,}; "
        f"python-ndn alone accepts {alone['python-ndn']:,}, ours alone {alone['ours']:,}.",
        "",
        "| only it accepts | count | what | the specification | so |",
        "|---|---|---|---|---|",
    ]
    for (who, *rest), count in sorted(classes.items(), key=lambda item: (item[0][0], -item[1])):
        lines += [f"| {who} | {count} | {' | '.join(rest)} |"]
    if asked.print:
        print(*lines, sep="\n")
    else:
        (HERE / "AGREE.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
