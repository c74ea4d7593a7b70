"""What random scenes are written with: parts of a scenario's text, rows of a page."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence

from midpath.stats import estimate

TRIMS = ("uec", "ndp", "eqds")
"""Schemes whose queues cut payloads off."""


def log_uniform(rng: random.Random, low: float, high: float) -> float:
    """Drawn so that each factor is as likely as any other."""
    return float(low * (high / low) ** rng.random())


def link(a: str, b: str, rate: str, delay: str, more: str = "") -> str:
    """A link."""
    return f'{{ a = "{a}", b = "{b}", rate = "{rate}"{more}, delay = "{delay}" }}'


def topology(links: Iterable[str], hosts: Iterable[str]) -> str:
    """A network of these links."""
    nodes = ", ".join(f'{{ name = "{host}", kind = "host" }}' for host in hosts)
    return "[topology]\nlinks = [\n  " + ",\n  ".join(links) + f"\n]\nnodes = [{nodes}]"


def dumbbell(rate: str, delay: float, access: str, delays: Sequence[float], far: float = 0.1, more: str = "") -> str:
    """A core from r0 to r1, and for each of `delays`, those of senders' links, a pair of hosts. Delays in ms; `far`
    is that of receivers' links, `more` what else is said of the core."""
    pairs = [((f"s{i}", "r0", ms), (f"d{i}", "r1", far)) for i, ms in enumerate(delays)]
    ends = [end for pair in pairs for end in pair]
    links = [link(host, router, access, f"{ms} ms") for host, router, ms in ends]
    return topology([link("r0", "r1", rate, f"{delay} ms", more), *links], [host for host, _, _ in ends])


def flow(source: str, target: str, start: str, **more: str | None) -> str:
    """A flow, with what more is said of it."""
    said = {"from": source, "to": target, "start": start} | {key: value for key, value in more.items() if value}
    return "[[flow]]\n" + "\n".join(f'{key} = "{value}"' for key, value in said.items())


def down(a: str, b: str, at: str, until: str) -> str:
    """A link fails."""
    return f'[[fault]]\nkind = "link-down"\nlink = ["{a}", "{b}"]\nat = "{at}"\nuntil = "{until}"'


def loses(a: str, b: str, share: float) -> str:
    """What goes from one end of a link to the other is lost, each packet by itself: both states are alike."""
    states = '{{ p = "100 %", r = "100 %", good = "{0:.4f} %", bad = "{0:.4f} %" }}'.format(100 * share)
    return f'[[vary]]\nlink = ["{a}", "{b}"]\none_way = true\nloss = {states}'


def rate_step(a: str, b: str, at: str, rate: str) -> str:
    """A link has another rate from then on."""
    return f'[[fault]]\nkind = "rate"\nlink = ["{a}", "{b}"]\nat = "{at}"\nrate = "{rate}"'


def restart(at: str) -> str:
    """The core's first router restarts."""
    return f'[[fault]]\nkind = "restart"\nnode = "r0"\nat = "{at}"'


def interval(logs: Sequence[float]) -> tuple[float, float, float]:
    """A mean and its 95 % interval, which is infinite for fewer than two."""
    found = estimate(logs)
    half = math.inf if found is None or found.ci95 is None else found.ci95
    mean = found.mean if found else 0.0
    return mean, mean - half, mean + half
