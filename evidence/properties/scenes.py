"""What random scenes are written with: parts of a scenario's text, rows of a page.

From `options` on it is for scripts that are no suites of `harness.py` yet, and keep runs in a file of their own.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from midpath import __version__
from midpath.run.key import build, file_digest

Found = TypeVar("Found")
# What tells a run: its scenario's number, its scheme, and what else there is.
Key = tuple[Any, ...]


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


def head(cells: Sequence[str]) -> str:
    """A table's head."""
    return f"{row(cells)}\n|{'---|' * len(cells)}"


def row(cells: Iterable[str]) -> str:
    """A table's row."""
    return f"| {' | '.join(cells)} |"


def written(numbers: range, by: str, of: str = "", more: str = "") -> str:
    """Which scenarios a page is of, and the command that writes it, which says `more` in the end."""
    command = f"python evidence/properties/{by} --first {numbers[0]} --scenarios {len(numbers)}{more}"
    return f"Midpath {__version__}, scenarios {numbers[0]} to {numbers[-1]}{of}, written by\n`{command}`."


def options(doc: str | None, scenarios: int) -> argparse.ArgumentParser:
    """What all suites can be asked for."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenarios", type=int, default=scenarios, help="how many of each class")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", action="store_true", help="print the scenarios' texts and figures")
    return parser


def numbers_of(options: argparse.Namespace) -> range:
    """The scenarios' numbers that were asked for."""
    return range(options.first, options.first + options.scenarios)


def kept(path: Path | None, read: Callable[..., Found], of: str | None = None) -> dict[Key, Found]:
    """Runs that a file has; with `of` only those of this simulator and code."""
    lines = path.read_text(encoding="utf-8").splitlines() if path and path.exists() else []
    return {tuple(key): read(**found) for by, *key, found in map(json.loads, lines) if of in (None, by)}


def made_by(make: Callable[..., Any]) -> str:
    """What a run depends on beside its key: the simulator, the scripts that draw and measure, what is set for all."""
    function, more = (make.func, [make.args, make.keywords]) if isinstance(make, partial) else (make, [])
    scripts = [Path(function.__code__.co_filename), Path(__file__)]
    return hashlib.sha256(repr([build(), more, *map(file_digest, scripts)]).encode()).hexdigest()[:16]


def runs(
    keys: Iterable[Key],
    make: Callable[..., Found],
    read: Callable[..., Found],
    jobs: int,
    chunk: int,
    keep: Path | None,
) -> Iterator[Found]:
    """Each key's run, in order. What the file `keep` has of the same code is not run again; what is run goes there."""
    by = made_by(make)
    have, keys = kept(keep, read, by), list(keys)
    tasks = [key for key in keys if key not in have]
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        found = pool.map(make, *zip(*tasks, strict=True), chunksize=chunk) if tasks else iter(())
        for key in keys:
            if key not in have:
                have[key] = next(found)
                if keep:
                    with keep.open("a", encoding="utf-8") as out:
                        out.write(json.dumps([by, *key, asdict(have[key])]) + "\n")  # type: ignore[call-overload]
            yield have[key]


def interval(logs: Sequence[float]) -> tuple[float, float, float]:
    """A mean and its 95 % interval (normal)."""
    mean = statistics.fmean(logs)
    half = 1.96 * statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else math.inf
    return mean, mean - half, mean + half
