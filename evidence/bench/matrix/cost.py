"""What a packet-hop costs under each scheme, beside NewReno's: instructions, and bytes on the wire.

    python evidence/bench/matrix/cost.py               # all columns of the matrix; --schemes mircc: it, and NewReno

Writes COST.md from cost.json, which keeps what was counted at each commit: of a column the page has the last. Valgrind
counts instructions, which do not depend on what else the machine does. The scenario is the matrix's row of long flows,
at 40 Mbps. It runs twice, and the second run is two seconds longer: what that takes more, over the packet-hops that it
has more, is a packet-hop's cost once flows are under way. Hosts' work is in it: a packet crosses three links, of which
a host feeds one and another takes from one. Use a release build.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import midpath
from midpath import entries, markdown
from midpath.benchmark import instructions
from midpath.matrix import rows
from midpath.scenario import Scenario
from midpath.storage import to_json

STOPS = ("2500 ms", "4500 ms")
RATE = "40 Mbps"
BASE = "newreno"
KEPT, PAGE = (Path(__file__).with_name(name) for name in ("cost.json", "COST.md"))
# What goals are multiples of: NewReno's instructions a packet-hop on `long-4`, set-up included, at b7b53da.
UNIT = 620
GOALS = {"newreno": 1.0, "fcp": 2.2, "inrpp": 3.5, "mircc": 4.3, "prague": 2.6, "cubic@fq_codel": 2.2, "bbr": 1.8}


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


def page(kept: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Iterator[str]:
    """COST.md."""
    found: dict[str, dict[str, Any]] = {}
    for commit, costs in kept.items():
        for name, one in costs.items():
            more = {"over": one["instructions"] / costs[BASE]["instructions"], "commit": commit}
            found[name] = found.get(name, {}) | one | more
    yield "# What a packet-hop costs under each scheme\n"
    yield "Written by `python evidence/bench/matrix/cost.py` from [cost.json](cost.json). Valgrind counts instructions"
    yield "of a release build of the simulator, hosts' and routers' together: four long flows through a bottleneck of"
    yield "40 Mbps, from 2.5 s to 4.5 s (row `long` of the matrix). *Over NewReno's*: of the same commit. Bytes: on the"
    yield "bottleneck, for each byte delivered, with what was sent again. Goals are multiples of"
    yield f"{UNIT}, NewReno's on `long-4` at b7b53da.\n"
    heads = [
        "instructions a packet-hop",
        "over NewReno's",
        "goal",
        "bytes sent a byte",
        "at",
        "on packets and in routers",
    ]
    yield markdown.head(["", "class", *heads])
    for one in (one for one in entries.columns(None) if one.name in found):
        cost = found[one.name]
        about = [midpath.schemes.described(part) for part in one.column.schemes]
        own = "; ".join(text for each in about for text in each.costs) or "nothing"
        goal = f"{UNIT * GOALS[one.name]:.0f}" if one.name in GOALS else "–"
        cells = [
            f"{cost['instructions']:.0f}",
            f"{cost['over']:.2f}",
            goal,
            f"{cost['bytes_sent']:.3f}",
            cost["commit"],
        ]
        yield markdown.line([one.title, one.kind, *cells, own])


def main() -> None:
    """Counts, and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schemes", default=",".join(entries.every()))
    names = dict.fromkeys([BASE, *parser.parse_args().schemes.split(",")])
    words = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(words, cwd=KEPT.parent, capture_output=True, text=True, check=True).stdout.strip()
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    for one in entries.columns(list(names)):
        kept.setdefault(commit, {})[one.name] = asdict(cost(one))
        print(one.name, kept[commit][one.name], file=sys.stderr, flush=True)
    KEPT.write_text(to_json(kept, 2) + "\n", encoding="utf-8")
    PAGE.write_text("\n".join(page(kept)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
