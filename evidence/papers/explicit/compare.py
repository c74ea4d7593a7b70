"""FCP, RCP, XCP and three TCPs on the same two scenarios, as one table in Markdown.

    python evidence/papers/explicit/compare.py [SEEDS] > evidence/papers/explicit/RESULTS.md

The scenarios are those of the FCP paper's figure 4 (long flows, round trips of 25 to 625 ms, one start a second) and
figure 5 (short flows at a load of 0.7).
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import midpath
from midpath import markdown
from midpath.papers.fcp.figure4.measure import convergence
from midpath.result.series import series
from midpath.run.drive import results
from midpath.stats import estimate

PAPERS = Path(midpath.__file__).parent / "papers" / "fcp"
LONG, SHORT = PAPERS / "figure4" / "convergence.toml", PAPERS / "figure5" / "short.toml"
SCHEMES = ["fcp", "rcp", "xcp", "newreno", "cubic", "dctcp"]


HEAD = """# FCP, RCP, XCP and TCPs on two scenarios

Midpath {version}, {seeds} seeds, mean ± 95 % interval, written by `python evidence/papers/explicit/compare.py`. First
five columns: long flows of the FCP paper's figure 4 (100 Mbps, round trips of 25 to 625 ms, a start each second
for five
seconds, a queue of 625 ms). Last three: short flows of its figure 5 (150 Mbps, 100 ms, load 0.7; FCP with the paper's
rule for what they preload, NewReno and XCP with an initial window of two). Convergence: from the last start until all
sending rates stay within 20 % of the fair share; at most 6 s are looked at. Overshoot: the most traffic in 100 ms over
the bottleneck's capacity.
"""


def bottleneck(result: midpath.Result) -> dict[str, float]:
    ports = result.ports.to_pandas()
    return ports[(ports.node == "r0") & (ports.peer == "r1")].iloc[0].to_dict()


def overshoot(result: midpath.Result) -> float:
    """The most that the senders' links brought in 100 ms after the first second, over the bottleneck's capacity."""
    _, first = series(result, "port:s0>r0", "throughput_bps")
    rates = [series(result, f"port:s{i}>r0", "throughput_bps")[1] for i in range(5)]
    return float(sum(rates)[10 : len(first)].max()) / 100e6


def long_flows(result: midpath.Result) -> list[float]:
    port = bottleneck(result)
    lost = port["drops_queue"] / (port["packets"] + port["drops_queue"])
    return [convergence(result), overshoot(result), port["utilisation"], lost, port["delay_mean_s"]]


def short_flows(result: midpath.Result) -> list[float]:
    port = bottleneck(result)
    lost = port["drops_queue"] / (port["packets"] + port["drops_queue"])
    return [result.summary["afct_s"], lost, port["delay_mean_s"]]


def cell(values: Sequence[float], scale: float, digits: int) -> str:
    found = estimate(values)
    return f"{found.mean * scale:.{digits}f} ± {(found.ci95 or 0.0) * scale:.{digits}f}"


def main(seeds: int) -> None:
    names = [
        "convergence, s",
        "overshoot",
        "utilisation, %",
        "loss, %",
        "queueing, ms",
        "AFCT, s",
        "loss, %",
        "queueing, ms",
    ]
    print(HEAD.format(version=midpath.__version__, seeds=seeds))
    print(markdown.head(["scheme", *names]))
    formats = [(1, 2), (1, 2), (100, 1), (100, 2), (1e3, 1), (1, 3), (100, 2), (1e3, 2)]
    for scheme in SCHEMES:
        columns = []
        for file, figures in ((LONG, long_flows), (SHORT, short_flows)):
            scenario = midpath.Scenario.from_toml(file)
            asked = (scenario.with_(scheme=scheme, seed=seed) for seed in range(1, seeds + 1))
            columns += zip(*map(figures, results(asked)), strict=True)
        print(markdown.line([scheme, *(cell(c, *f) for c, f in zip(columns, formats, strict=True))]), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
