"""BBR beside CUBIC over buffers of half a BDP to sixteen, as a table in Markdown.

python checks/bbr/fairness.py [SEEDS] [SECONDS] > checks/bbr/RESULTS.md
"""

import sys
from typing import Any

import midpath
from midpath.stats import estimate

BUFFERS = (0.5, 1, 2, 4, 8, 16)
PATHS = ((20, 40), (100, 20))
HEAD = """# BBR beside CUBIC

Midpath {version}, {seeds} seeds, {seconds} s, written by `python checks/bbr/fairness.py {seeds} {seconds}`. Flows
start within a second, two of each kind share one drop-tail link; mean ± 95 % interval of BBR's goodput over CUBIC's,
of the link in use, of what the queue drops and how long packets wait. 1 is fair; the last columns are four flows of
one kind, seed 1.

| link | buffer, BDP | BBR : CUBIC | in use, % | lost, % | wait, ms | four BBR: the same three | four CUBIC: the same |
|---|---|---|---|---|---|---|---|"""


def scenario(rate: int, rtt: int, bdps: float, seconds: float, schemes: list[str]) -> dict[str, Any]:
    flows = [{"from": f"s{i}", "to": f"d{i}", "scheme": scheme, "jitter": "1 s"} for i, scheme in enumerate(schemes)]
    return {
        "stop": f"{seconds} s",
        "topology": {
            "generate": "dumbbell",
            "pairs": len(schemes),
            "bottleneck": {"rate": f"{rate} Mbps", "delay": f"{rtt / 2 - 2} ms"},
            "access": {"rate": "1 Gbps", "delay": "1 ms"},
        },
        "queue": {"limit": f"{int(bdps * rate * rtt * 125)} B"},
        "flow": flows,
    }


def measured(seeds: int, seconds: float, rate: int, rtt: int, bdps: float, schemes: list[str]) -> list[list[float]]:
    """A row for each seed: goodput of the first half of the flows over that of the second, use, loss, wait."""
    rows = []
    for seed in range(1, seeds + 1):
        result = midpath.run(scenario(rate, rtt, bdps, seconds, schemes), seed=seed)
        goodput = result.flows.to_pandas()["delivered_bytes"]
        ports = result.ports.to_pandas()
        port = ports[(ports.node == "r0") & (ports.peer == "r1")].iloc[0]
        lost = port["drops_queue"] / (port["packets"] + port["drops_queue"])
        half = len(schemes) // 2
        ratio = goodput[:half].sum() / goodput[half:].sum()
        rows.append([ratio, 100 * port["utilisation"], 100 * lost, 1e3 * port["delay_mean_s"]])
    return rows


def cells(rows: list[list[float]], digits: tuple[int, ...]) -> list[str]:
    found = [estimate(list(column)) for column in zip(*rows, strict=True)]
    return [
        f"{f.mean:.{d}f}" + ("" if f.ci95 is None else f" ± {f.ci95:.{d}f}") for f, d in zip(found, digits, strict=True)
    ]


def main() -> None:
    seeds, seconds = (int(sys.argv[1]) if len(sys.argv) > 1 else 3), (float(sys.argv[2]) if len(sys.argv) > 2 else 60.0)
    print(HEAD.format(version=midpath.__version__, seeds=seeds, seconds=f"{seconds:g}"))
    for rate, rtt in PATHS:
        for bdps in BUFFERS:
            mixed = cells(measured(seeds, seconds, rate, rtt, bdps, ["bbr", "bbr", "cubic", "cubic"]), (2, 1, 2, 1))
            alone = [
                ", ".join(cells(measured(1, seconds, rate, rtt, bdps, 4 * [scheme]), (2, 1, 2, 1))[1:])
                for scheme in ("bbr", "cubic")
            ]
            print(f"| {rate} Mbps, {rtt} ms | {bdps:g} | {' | '.join(mixed)} | {' | '.join(alone)} |", flush=True)


if __name__ == "__main__":
    main()
