"""DCQCN's queue at rest beside the fixed point of its fluid model."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, expm1, log, log1p

from midpath.papers.lab import Lab, Measured
from midpath.result.series import mean

FLOWS = (2, 4, 8, 10)
# The link and the paper's switch: bits per second, bytes.
RATE, PACKET, K_MIN, K_MAX, P_MAX = 40e9, 1500, 5e3, 200e3, 0.01
# The paper's reaction point: seconds between notifications (N), of the timers (K and T), bytes, bits per second.
NOTIFY, TIMER, BYTES, FAST, R_AI, G = 50e-6, 55e-6, 10e6, 5, 40e6, 1 / 256


def measure(lab: Lab) -> Iterator[Measured]:
    """Mean queues of the second half."""
    stop = 0.02 if lab.quick else 0.4
    runs = {
        flows: lab.runs(
            "star",
            changes={
                "topology.n": flows + 1,
                "flow": [{"from": f"h{1 + i}", "to": "h0", "jitter": "1 ms"} for i in range(flows)],
                "stop": f"{1e3 * stop:g} ms",
            },
            label=f"{flows}",
        )
        for flows in FLOWS
    }
    for flows, found in runs.items():
        queues = found.values(lambda result: mean(result, "port:r0>h0", "queue_bytes", stop / 2, stop))
        yield Measured(f"queue.{flows}", queues, bound=queue(flows))
    used = {
        f"{flows} flows": of.values(lambda result: mean(result, "port:r0>h0", "utilisation", stop / 2, stop))
        for flows, of in runs.items()
    }
    yield Measured("used", used)


def queue(flows: int) -> float:
    """The queue at which the share that RED marks is the model's."""
    return K_MIN + marked(flows) / P_MAX * (K_MAX - K_MIN)


def marked(flows: int) -> float:
    """The share of marked packets at the fixed point: a²·α = N²·R_AI·R_C·(b + d)·(c + e), by bisection."""
    rate, step = RATE / flows / (8 * PACKET), R_AI / (8 * PACKET)

    def excess(p: float) -> float:
        none = log1p(-p)
        notified, alpha = -expm1(NOTIFY * rate * none), -expm1(TIMER * rate * none)
        b, d = events(BYTES / PACKET, none), events(TIMER * rate, none)
        c, e = (exp(FAST * n * none) * by for n, by in ((BYTES / PACKET, b), (TIMER * rate, d)))
        growth = p**2 * NOTIFY**2 * step * rate * (b + d) * (c + e)
        return log(notified**2 * alpha) - log(growth) if growth > 0 else 1.0

    low, high = 1e-7, 0.5
    for _ in range(200):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if excess(middle) > 0 else (middle, high)
    return low


def events(packets: float, none: float) -> float:
    """How often so many packets in a row are not marked, over the share of packets that are marked."""
    return exp(packets * none) / -expm1(packets * none)
