"""What a packet-hop costs under each scheme, beside NewReno's: instructions, and bytes on the wire.

    python evidence/bench/matrix/cost.py > evidence/bench/matrix/COST.md

Valgrind counts instructions, which do not depend on what else the machine does. The scenario is the matrix's row of
long flows, at 40 Mbps. It runs twice, and the second run is two seconds longer: what that takes more, over the
packet-hops that it has more, is a packet-hop's cost once flows are under way. Hosts' work is in it: a packet crosses
three links, of which a host feeds one and another takes from one. Use a release build.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import midpath
from midpath import entries, markdown
from midpath.benchmark import instructions
from midpath.matrix import rows
from midpath.scenario import Scenario

sys.path.insert(0, str(Path(__file__).parents[2] / "properties"))

STOPS = ("2500 ms", "4500 ms")
RATE = "40 Mbps"
BASE = "newreno"


@dataclass(frozen=True)
class Cost:
    """Of one column: instructions for each packet-hop, and bytes on the bottleneck for each byte delivered."""

    instructions: float
    bytes_sent: float


def long_flows(one: entries.Entry, stop: str) -> Scenario:
    """Four of them under a column."""
    return rows.every()["long"].scenario(one).with_(changes={"stop": stop, "topology.bottleneck.rate": RATE})


def counted(one: entries.Entry, stop: str, changes: Mapping[str, Any] | None = None) -> tuple[int, int]:
    """The instructions of a process that runs the scenario until `stop`, and the packet-hops of that."""
    scenario = long_flows(one, stop).with_(changes=changes or {})
    text = scenario.with_(changes={"scheme": one.scheme}).effective_text()
    request = {"text": text, "base": str(scenario.base_dir), "threads": 1, "repeat": 1, "set_up": False}
    count, answer = instructions.counted(request)
    return count, answer["runs"][0]["run"]["packet_hops"]


def cost(one: entries.Entry) -> Cost:
    """What a column costs."""
    (few, few_hops), (many, many_hops) = (counted(one, stop) for stop in STOPS)
    run = midpath.run(long_flows(one, STOPS[1]))
    core = next(port for port in run.ports.to_pylist() if (port["node"], port["peer"]) == ("r0", "r1"))
    delivered = sum(run.flows["delivered_bytes"].to_pylist())
    return Cost((many - few) / (many_hops - few_hops), core["bytes"] / delivered)


def page(names: list[str]) -> Iterator[str]:
    """COST.md."""
    columns = entries.columns(list(dict.fromkeys([BASE, *names])))
    costs = {}
    for one in columns:
        costs[one.name] = cost(one)
        print(one.name, costs[one.name], file=sys.stderr, flush=True)
    base = costs[BASE]
    yield "# What a packet-hop costs under each scheme\n"
    yield f"Midpath {midpath.__version__}, a release build, written by `python evidence/bench/matrix/cost.py`."
    yield "Valgrind counts instructions in the simulator, hosts' and routers' together:"
    yield "four long flows through a bottleneck of 40 Mbps, from 2.5 s to 4.5 s (row `long` of the matrix)."
    yield "Bytes: on the bottleneck, for each byte"
    yield "delivered, with what was sent again.\n"
    yield markdown.head(
        ["", "class", "instructions a packet-hop", "over NewReno's", "bytes sent a byte", "on packets and in routers"]
    )
    for one in columns:
        found = costs[one.name]
        about = [midpath.schemes.described(part) for part in one.column.schemes]
        own = "; ".join(text for each in about for text in each.costs) or "nothing"
        yield markdown.line(
            [
                one.title,
                one.kind,
                f"{found.instructions:.0f}",
                f"{found.instructions / base.instructions:.2f}",
                f"{found.bytes_sent:.3f}",
                own,
            ]
        )


def main() -> None:
    """Prints the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schemes", default=",".join(entries.every()))
    for line in page(parser.parse_args().schemes.split(",")):
        print(line, flush=True)


if __name__ == "__main__":
    main()
