"""CAKE in user-mode Linux beside the simulator's: writes DIR/CAKE.md.

    python evidence/lab/cake.py --out DIR

Margins are the laboratory's (docs/lab.md), fixed before the first run; a host's share is held to .05. Runs that are in
DIR are not made again. A quarter of an hour.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from virtual import measured

from midpath.lab import beside, clean, kernel, machine, real
from midpath.lab.table import markdown
from midpath.result import Result
from midpath.run import run as simulate
from midpath.scenario import Scenario

SEEDS = (1, 2, 3)
SHARE = 0.05
SCENE = """
title = "{title}"
scheme = "cubic"
stop = "10 s"

[topology]
links = [
    {{ a = "h0", b = "r0", rate = "100 Mbps", delay = "1 ms" }},
    {{ a = "h1", b = "r0", rate = "100 Mbps", delay = "{far} ms" }},
    {{ a = "r0", b = "r1", rate = "{rate} Mbps", delay = "10 ms" }},
    {{ a = "d0", b = "r1", rate = "100 Mbps", delay = "1 ms" }},
    {{ a = "d1", b = "r1", rate = "100 Mbps", delay = "1 ms" }},
]
nodes = [
    {{ name = "h0", kind = "host" }}, {{ name = "h1", kind = "host" }},
    {{ name = "d0", kind = "host" }}, {{ name = "d1", kind = "host" }},
]

[queue]
kind = "cake"
{queue}

[schemes.cubic]
ecn = {ecn}

[[flow]]
group = "one"
from = "h0"
to = "d0"
jitter = "200 ms"

[[flow]]
group = "many"
from = "h1"
to = "d1"
count = {many}
start = "500 ms"
jitter = "200 ms"
"""
# Title, rate of the link in Mbps, ms of the second host's link, its flows, ECN, further keys.
SCENES = (
    ("two flows", 10, 1, 1, "false", ""),
    ("two flows that are marked", 10, 1, 1, "true", ""),
    ("one flow and four", 10, 1, 4, "false", ""),
    ("one flow and four, by flows", 10, 1, 4, "false", 'isolation = "flows"'),
    ("unlike round trips", 10, 30, 1, "false", ""),
    ("a slow link", 2, 1, 2, "false", ""),
    ("interval of 50 ms", 10, 1, 1, "false", 'interval = "50 ms"\ntarget = "2500 us"'),
)

INTRO = """# CAKE beside Linux's

Written by `evidence/lab/cake.py`. User-mode Linux {kernel}, seeds 1 to 3: medians, least, most. {within} of {counted}
figures are within the laboratory's margins, and {shares} of {all} shares of the first host within {share}.

Why a margin is missed: [EXPLAINED.md](EXPLAINED.md#cake).
"""


def share(made: Result) -> float:
    """Of the first host, of all bytes that were delivered."""
    flows = made.flows.to_pylist()
    own = sum(row["delivered_bytes"] for row in flows if row["group"] == "one")
    return float(own / sum(row["delivered_bytes"] for row in flows))


def main() -> None:
    """Runs everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    clean.clean()
    laboratory = real.Laboratory(machine.program("midpath-lab"), None, linux=kernel.find())
    lines, shares, first = [], [], None
    for title, rate, far, many, ecn, queue in SCENES:
        text = SCENE.format(title=title, rate=rate, far=far, many=many, ecn=ecn, queue=queue)
        pairs = []
        for seed in SEEDS:
            scenario = Scenario.from_toml(text).with_(seed=seed)
            place = out / f"{title.replace(' ', '-').replace(',', '')}-{seed}"
            lab = measured(place, scenario, laboratory)
            pairs.append((lab, simulate(beside.as_linux(scenario, laboratory.prepare(scenario)))))
            first = first or lab
        queues = {name for name in pairs[0][0].run["machine"]["queues"].values() if "cake" in name}
        assert queues, pairs[0][0].run["machine"]["queues"]
        lines += beside.verdicts(title, pairs)
        for lab, sim in pairs:
            shares.append((title, share(lab), share(sim)))
    assert first is not None
    counted = [line for line in lines if line.verdict in ("yes", "no")]
    near = [one for one in shares if abs(one[1] - one[2]) <= SHARE]
    head = INTRO.format(
        kernel=first.run["machine"]["kernel"], within=sum(line.verdict == "yes" for line in counted),
        counted=len(counted), shares=len(near), all=len(shares), share=SHARE,
    )  # fmt: skip
    table = markdown(beside.HEADS, beside.cells(lines))
    hosts = markdown(("", "Measured", "Simulated"), [[t, f"{a:.3f}", f"{b:.3f}"] for t, a, b in shares])
    text = f"{head}\n{table}\n\n## The first host's share\n\n{hosts}\n"
    (out / "CAKE.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
