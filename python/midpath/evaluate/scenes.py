"""What scenarios of items are made of: a dumbbell, flows, and what happens to its bottleneck r0–r1."""

from __future__ import annotations

from typing import Any

from midpath.evaluate.facts import SUBJECT

Scene = dict[str, Any]
MTU = 1500
# A bandwidth-delay product is no less than so many packets, so that a shallow queue still holds one.
LEAST_PACKETS = 4
# The default of items: a home's line, and a round trip across a continent.
RATE, TRIP, STOP = 10.0, 40.0, 40.0
# What a receiver's and a sender's link add to a round trip: a fifth, of which each has half.
ACCESS = 0.05


def dumbbell(
    *flows: Scene,
    rate: float = RATE,
    trip: float = TRIP,
    depth: float = 1.0,
    stop: float = STOP,
    pairs: int | None = None,
    **more: Any,
) -> Scene:
    """Pairs of hosts on two sides of a bottleneck.

    `rate` in Mbps, `trip`, the round trip, in ms, and `depth`, the queue, in bandwidth-delay products. Access links are
    ten times as fast. `more` are further tables.
    """
    count = 1 + max(int(one["from"][1:]) for one in flows) if pairs is None else pairs
    return {
        "stop": f"{stop:g} s",
        "topology": {
            "generate": "dumbbell",
            "pairs": count,
            "bottleneck": {"rate": f"{rate:g} Mbps", "delay": f"{trip / 2 * (1 - 4 * ACCESS):g} ms"},
            "access": {"rate": f"{10 * rate:g} Mbps", "delay": f"{trip * ACCESS:g} ms"},
        },
        **around(rate, trip, depth, stop),
        "flow": list(flows),
    } | more


def around(rate: float, trip: float, depth: float, stop: float) -> Scene:
    """Queues, what is recorded, and a random delay in hosts, against phase effects.

    It is up to a packet's time at the bottleneck (Floyd and Jacobson, "On traffic phase effects", 1992), a tenth of the
    round trip at most: with a tenth of that time two flows of NewReno over 21 and 20 ms had 6.9 and 2.7 of 10 Mbps.
    """
    return {
        "host_jitter": f"{min(MTU * 8 / rate, trip * 100):g} us",
        "queue": {"limit": f"{queue_bytes(rate, trip, depth)} B"},
        "host_queue": {"limit": "10 MB"},  # hosts wait for their own link
        # 160 intervals, so that a picture has them all.
        "measure": {"series": True, "interval": f"{stop / 160 * 1000:g} ms", "flows": 1, "ports": 8},
    }


def queue_bytes(rate: float, trip: float, depth: float) -> int:
    """So many bandwidth-delay products, four packets at least."""
    return max(LEAST_PACKETS * MTU, round(depth * rate * trip * 1e3 / 8))


def flow(pair: int = 0, group: str = SUBJECT, jitter: str = "500 ms", **more: Any) -> Scene:
    """A flow of a pair of hosts; without a scheme it runs the one that is evaluated."""
    return {"from": f"s{pair}", "to": f"d{pair}", "group": group, "jitter": jitter} | more


def flows(count: int, first: int = 0, group: str = SUBJECT, **more: Any) -> list[Scene]:
    """A flow each of so many pairs."""
    return [flow(first + i, group, **more) for i in range(count)]


def arrivals(pairs: range, group: str, load: str, mean: str, until: float, **more: Any) -> Scene:
    """Short flows that arrive at random, of exponential sizes, as a share of the bottleneck."""
    return {
        "group": group,
        "sizes": {"kind": "exponential", "mean": mean},
        "matrix": {"kind": "pairs", "pairs": [[f"s{i}", f"d{i}"] for i in pairs]},
        "arrivals": {"kind": "poisson", "load": load, "load_of": "link:r0>r1"},
        "start": "2 s",
        "until": f"{until:g} s",
    } | more


def down(at: float, until: float) -> Scene:
    """The bottleneck fails."""
    return {"kind": "link-down", "link": ["r0", "r1"], "at": f"{at:g} s", "until": f"{until:g} s"}


def vary(**what: Any) -> Scene:
    """The bottleneck varies, from senders to receivers."""
    return {"link": ["r0", "r1"], "one_way": True} | what


def loses(share: float) -> Scene:
    """It loses this share of packets, each by itself: both states are alike."""
    return {"p": "100 %", "r": "100 %", "good": f"{100 * share:g} %", "bad": f"{100 * share:g} %"}


def fades(share: float, packets: float = 10.0) -> Scene:
    """It loses this share of packets, in fades of so many packets of which half are lost.

    States change by packets. If all were lost in a fade, a flow after a timeout, with a packet in each of ever longer
    times, would be in one for minutes.
    """
    r = 1 / packets
    return {"p": f"{100 * r * 2 * share / (1 - 2 * share):.6g} %", "r": f"{100 * r:g} %", "bad": "50 %"}


def plain_bottleneck(scene: Scene) -> Scene:
    """The bottleneck has a plain queue, all other routers run the scheme: it is inside a tunnel, or not upgraded."""
    limit = scene["queue"]["limit"]
    return scene | {
        "queues": {"plain": {"kind": "drop-tail", "limit": limit}},
        "deploy": [{}, {"scheme": "none", "queue": "plain", "ports": ["r0>r1", "r1>r0"]}],
    }
