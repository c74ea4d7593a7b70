"""Made-up results in the shape of real ones, for tests of what is drawn and written (not of what is simulated)."""

import json
import math

import numpy as np

SITES = {
    "Seattle": (-122.3, 47.6), "Sunnyvale": (-122.0, 37.4), "Los Angeles": (-118.2, 34.1), "Denver": (-105.0, 39.7),
    "Houston": (-95.4, 29.8), "Kansas City": (-94.6, 39.1), "Indianapolis": (-86.2, 39.8), "Chicago": (-87.6, 41.9),
    "Atlanta": (-84.4, 33.7), "Washington": (-77.0, 38.9), "New York": (-74.0, 40.7),
}  # fmt: skip
LINKS = [
    ("Seattle", "Sunnyvale"), ("Seattle", "Denver"), ("Sunnyvale", "Los Angeles"), ("Sunnyvale", "Denver"),
    ("Los Angeles", "Houston"), ("Denver", "Kansas City"), ("Houston", "Kansas City"), ("Houston", "Atlanta"),
    ("Kansas City", "Indianapolis"), ("Indianapolis", "Chicago"), ("Indianapolis", "Atlanta"), ("Chicago", "New York"),
    ("Atlanta", "Washington"), ("New York", "Washington"),
]  # fmt: skip
# How much longer flows take than in the ideal, and how much waits in queues.
SLOWER = {"ideal": 1.0, "dctcp": 1.5, "cubic": 2.1, "newreno": 2.4}


def transfer(size, more=""):
    """A scenario of one flow over a dumbbell of 10 Mbps, with `more` at its head."""
    return f"""scheme = "newreno"
{more}[topology]
generate = "dumbbell"
pairs = 1
bottleneck = {{ rate = "10 Mbps", delay = "5 ms" }}
access = {{ rate = "100 Mbps", delay = "1 ms" }}
[[flow]]
from = "s0"
to = "d0"
size = "{size}"
"""


def binding_run(
    text,
    base_dir,
    *,
    scheme=None,
    seed=None,
    threads=1,
    wire=False,
    progress=None,
    policies=None,
    controllers=None,
    rows=None,
    series=True,
    flows=400,
):
    """What `_midpath.run` returns."""
    scheme, seed = scheme or "cubic", seed or 1
    world = np.random.default_rng([seed, 7])
    size = np.exp(world.normal(10.5, 2.2, flows)).clip(100, 3e7)
    start = np.sort(world.uniform(0, 10, flows))
    rng = np.random.default_rng([seed, *scheme.encode()])
    ideal = 0.02 + size * 8 / 40e6
    slow = SLOWER.get(scheme, 1.8)
    fct = ideal * (1 + (slow - 1) * rng.exponential(1, flows)) * rng.uniform(1, 1.05, flows)
    tables = {
        "flows": _flows(scheme, size, start, ideal, fct, rng),
        "ports": _ports(scheme, slow, rng),
        "series": _series(slow, rng) if series else _no_series(),
    }
    run = {
        "midpath": "0.1.0", "format": 1, "title": "TCP family on Abilene, web search", "scheme": scheme, "seed": seed,
        "stochastic": "arrivals" in text,
        "scenario": text, "threads": threads, "wall_s": 0.8, "simulated_s": 14.2, "packet_hops": 1_234_567,
        "hops_per_s": 1.5e6, "events": 2_000_000,
        "topology": {
            "nodes": [{"name": n, "kind": "router", "x": x, "y": y} for n, (x, y) in SITES.items()],
            "links": [{"a": a, "b": b, "rate_bps": 10**8, "delay_s": 0.005} for a, b in LINKS],
        },
        "invariants": {"sent": 1, "delivered": 1, "conserved": True},
        "summary": _summary(size, ideal, fct, slow, rng),
    }  # fmt: skip
    if rows is not None:
        rows(tables.pop("flows"))
    return json.dumps(run), tables, {}


def _summary(size, ideal, fct, slow, rng):
    slowdown = fct / ideal
    good = size * 8 / fct
    waits = slow > 1
    return {
        "flows": len(size), "completed": len(size), "afct_s": fct.mean(), "fct_p50_s": np.median(fct),
        "fct_p95_s": np.quantile(fct, 0.95), "fct_p99_s": np.quantile(fct, 0.99), "fct_max_s": fct.max(),
        "slowdown_mean": slowdown.mean(), "slowdown_p50": np.median(slowdown), "slowdown_p99": np.quantile(slowdown, 0.99),
        "jain_goodput": good.sum() ** 2 / (good.size * (good**2).sum()), "goodput_total_bps": size.sum() * 8 / 14.2,
        "utilisation_max": 0.78, "utilisation_mean": 0.31, "loss_ratio": 0.0042 * slow * waits, "retransmitted_packets": 12,
        "timeouts": 1, "marks": 0, "queue_max_bytes": 250_000 * waits, "queue_delay_mean_s": 0.002 * slow * waits, "queue_delay_p99_s": 0.02 * slow * waits,
        "by_size": [],
    }  # fmt: skip


def _flows(scheme, size, start, ideal, fct, rng):
    n = len(size)
    sites = list(SITES)
    packets = np.ceil(size / 1448)
    return {
        "flow": ("uint32", np.arange(n, dtype="<u4").tobytes()),
        "group": _text(["web"] * n),
        "scheme": _text([scheme] * n),
        "src": _text(rng.choice(sites, n).tolist()),
        "dst": _text(rng.choice(sites, n).tolist()),
        "size_bytes": _float(np.floor(size)),
        "start_s": _float(start),
        "fct_s": _float(fct),
        "ideal_fct_s": _float(ideal),
        "slowdown": _float(fct / ideal),
        "goodput_bps": _float(size * 8 / fct),
        "delivered_bytes": _whole(size),
        "sent_packets": _whole(packets),
        "retransmitted_packets": _whole(packets * 0),
        "lost_packets": _whole(packets * 0),
        "marked_packets": _whole(packets * 0),
        "timeouts": _whole(packets * 0),
        "rtt_min_s": _float(ideal * 0 + 0.02),
        "rtt_mean_s": _float(ideal * 0 + 0.03),
        "rtt_max_s": _float(ideal * 0 + 0.05),
        "hops": ("uint32", np.full(n, 3, "<u4").tobytes()),
        "completed": ("bool", np.ones(n, "?").tobytes()),
    }


def _ports(scheme, slow, rng):
    ends = [pair for a, b in LINKS for pair in ((a, b), (b, a))]
    n = len(ends)
    used = np.random.default_rng(5).beta(1.6, 2.2, n) * rng.uniform(0.93, 1.0, n)
    waits = slow > 1
    names = [a for a, _ in ends]
    return {
        "node": _text(names),
        "port": ("uint32", np.array([names[:i].count(a) for i, a in enumerate(names)], "<u4").tobytes()),
        "peer": _text([b for _, b in ends]),
        "rate_bps": _whole(np.full(n, 1e8)),
        "delay_s": _float(np.full(n, 0.005)),
        "packets": _whole(used * 1e5),
        "bytes": _whole(used * 1.5e8),
        "utilisation": _float(used),
        **{name: _whole(used**3 * 300 * waits) for name in ("drops_queue",)},
        **{name: _whole(used * 0) for name in ("drops_aqm", "drops_fault", "corrupted")},
        "marks": _whole(used * (4000 if scheme == "dctcp" else 0)),
        "queue_mean_bytes": _float(used**2 * 60_000 * slow * waits),
        "queue_max_bytes": _whole(used * 400_000 * waits),
        **{
            f"delay_{name}_s": _float(used**2 * share * slow * waits)
            for name, share in (("mean", 0.004), ("p50", 0.003), ("p95", 0.012), ("p99", 0.02), ("max", 0.03))
        },
    }


def _series(slow, rng):
    times = np.arange(0, 14.2, 0.02)
    rows = []
    wave = 3e8 * (1 - np.exp(-times / 2)) * (times < 12) * (1 + 0.25 * np.sin(times * 2)) + rng.normal(
        0, 1e7, times.size
    )
    rows.append(("group:web", "goodput_bps", wave.clip(0) / math.sqrt(slow)))
    for rank, (a, b) in enumerate(LINKS[:3]):
        saw = ((times * (1 + rank)) % 3) / 3 * 90_000 * slow * (slow > 1)
        rows.append((f"port:{a}>{b}", "queue_bytes", (saw + rng.normal(0, 3000, times.size)).clip(0)))
    return {
        "time_s": _float(np.tile(times, len(rows))),
        "entity": _text([entity for entity, _, _ in rows for _ in times]),
        "metric": _text([metric for _, metric, _ in rows for _ in times]),
        "value": _float(np.concatenate([values for _, _, values in rows])),
    }


def _no_series():
    return {"time_s": _float([]), "entity": _text([]), "metric": _text([]), "value": _float([])}


def _text(values):
    dictionary = sorted(set(values))
    place = {value: index for index, value in enumerate(dictionary)}
    return "str", np.array([place[value] for value in values], "<u4").tobytes(), dictionary


def _float(values):
    return "float64", np.asarray(values, "<f8").tobytes()


def _whole(values):
    return "uint64", np.asarray(np.maximum(values, 0), "<u8").tobytes()
