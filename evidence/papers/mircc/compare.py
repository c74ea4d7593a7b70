"""MIRCC beside TCP, FCP, INRPP and the ideal on Abilene and on providers' maps, as tables in Markdown.

The scenarios are examples/abilene.toml, with arrivals for 4 s, examples/inrpp_isp.toml (GÉANT's map), and the same on
Rocketfuel's map of Tiscali if MIDPATH_ROCKETFUEL names the folder that has it. Run it as
`python evidence/papers/mircc/compare.py [SEEDS] [NAME…]`. README.md beside it says what equipment each scheme has.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import midpath
from midpath import markdown
from midpath.run.drive import results
from midpath.stats import estimate

EXAMPLES = Path(__file__).parents[3] / "examples"
SCENARIOS: dict[str, tuple[str, dict[str, object]]] = {
    "Abilene": ("abilene.toml", {"workload[0].until": "4 s", "measure.series": False}),
    "GÉANT": ("inrpp_isp.toml", {"measure.series": False}),
}
# INRPP's figure 17: its routers, links and flows, with a tenth of its hosts.
TISCALI, HOSTS, FLOWS, LOAD_OF = "Tiscali", 1335, 6675, "31.1 Gbps"
SINGLE: dict[str, object] = {"schemes.mircc.paths": "one", "schemes.mircc.sending": "best-subflow"}
# Name, scheme and parameters of each row.
ROWS: list[tuple[str, str, dict[str, object]]] = [
    *((f"`{scheme}`", scheme, {}) for scheme in ("ideal", "newreno", "cubic", "fcp", "inrpp", "mircc")),
    ("`mircc`, one path", "mircc", SINGLE),
]
# Heading, scale and digits of each figure.
COLUMNS = {
    "AFCT, ms": (1e3, 1),
    "99 %, s": (1.0, 2),
    "mean slowdown": (1.0, 2),
    "lost, %": (100.0, 2),
    "mean wait at a port, ms": (1e3, 2),
    "most waiting at a port, kB": (1e-3, 0),
}


def tiscali(folder: Path) -> dict[str, object]:
    """What makes GÉANT's scenario one on Rocketfuel's map of Tiscali."""
    table = midpath.Scenario.from_toml(EXAMPLES / "inrpp_isp.toml").to_dict()["topology"]
    del table["builtin"]
    table |= {"file": str(folder.resolve() / "3257.pop.cch"), "radius": 9, "drop_edge_links": True}
    del table["hosts"]["per_node"]
    table |= {"component": "largest", "hosts": table["hosts"] | {"total": HOSTS}}
    traffic = {"arrivals.load_of": LOAD_OF, "flows": FLOWS, "matrix.pairs": FLOWS}
    return {"topology": table, "measure.series": False} | {f"workload[0].{key}": v for key, v in traffic.items()}


def scenarios() -> dict[str, tuple[str, dict[str, object]]]:
    """All that can be run here."""
    folder = os.environ.get("MIDPATH_ROCKETFUEL")
    if folder is None:
        print(f"{TISCALI} is left out: MIDPATH_ROCKETFUEL names no folder with 3257.pop.cch", file=sys.stderr)
        return SCENARIOS
    return SCENARIOS | {TISCALI: ("inrpp_isp.toml", tiscali(Path(folder)))}


def figures(result: midpath.Result) -> list[float | None]:
    """One run's figures, in the order of the columns. The ideal has no packets."""
    found, ideal = result.summary, result.scheme == "ideal"
    most = None if ideal else result.ports.to_pandas().queue_max_bytes.max()
    packets = [None] * 3 if ideal else [found.get("loss_ratio"), found.get("queue_delay_mean_s"), most]
    return [found["afct_s"], found["fct_p99_s"], found["slowdown_mean"], *packets]


def cell(values: Sequence[float | None], scale: float, digits: int) -> str:
    """Mean and 95 % interval."""
    found = estimate(values)
    return "–" if found is None else f"{found.mean * scale:.{digits}f} ± {(found.ci95 or 0.0) * scale:.{digits}f}"


def main(seeds: int, names: list[str]) -> None:
    """Prints a table per scenario."""
    for title, (file, changes) in scenarios().items():
        if names and title not in names:
            continue
        print(f"\n{markdown.head([title, *COLUMNS])}")
        for name, scheme, params in ROWS:
            scenario = midpath.Scenario.from_toml(EXAMPLES / file).with_(scheme=scheme, changes=changes | params)
            runs = map(figures, results(scenario.with_(seed=seed) for seed in range(1, seeds + 1)))
            columns = zip(zip(*runs, strict=True), COLUMNS.values(), strict=True)
            print(markdown.line([name, *(cell(values, *about) for values, about in columns)]), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10, sys.argv[2:])
