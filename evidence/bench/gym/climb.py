"""A plain hill climber drives one TCP's window, beside the best constant window, on seeds that neither has seen.

    python evidence/bench/gym/climb.py               writes RESULTS.md beside it and a curve; called again, goes on
    python evidence/bench/gym/climb.py --workers 4   the same, in four processes

Each seed draws a link: 4 to 64 Mbps, a round trip of 14 to 104 ms, a queue of one such round trip, and a stream that
takes up to half of it. The climber changes five weights at random, and keeps what is better on the seeds that it learns
from.

Fixed before the first run: the constants, and that a climber beats one if the interval of its gain over the unseen
seeds lies above 0. The first climber did not beat the best constant where it learnt. The other designs were made after
that. Each climber is judged on new seeds, by which nothing was chosen.

Each episode is written down when it ends, under a name that changes with this file and with the simulator.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from midpath import _midpath
from midpath.gym import OBSERVED, Env

mpl.use("svg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

HERE = Path(__file__).parent
STORE = HERE.parents[2] / "target" / "gym-climb"
LEARNT_FROM = range(1, 9)
# About 40 decisions in an episode of 4 s.
INTERVAL_S = 0.1
# Standard deviation of what a trial adds to each weight. Ours: a third of the step that leads to what the path holds.
STEP = 0.3
# Logarithms to base 2, as actions are: 4 to 1,024 packets, two in each doubling. The links hold 5 to 550.
CONSTANTS = [n / 2 for n in range(4, 21)]
# Student's t for 19 degrees of freedom: 97.5 %, and as much for four climbers at once (Bonferroni).
T, T_OF_FOUR = 2.093, 2.759


@dataclass(frozen=True)
class Design:
    """What a climber does, and which seeds it is judged on."""

    name: str
    unseen: Sequence[int]
    draws: int
    """Weights that are drawn anew, before trials begin from the best of them."""
    trials: int
    waits: bool
    """At the first decision nothing has been delivered yet: it makes no step of that."""
    begin: tuple[float, ...] = (0.0,) * 5
    bounded: bool = False
    """Its windows are of the constants' range."""


DRAWS = 20
BY_HAND = (0.5, -1.0, 0.0, 0.5, 0.0)
DESIGNS = [
    Design("first", range(101, 121), draws=0, trials=60, waits=False),
    # At the first decision a weight on what was delivered made the window one packet, for good. And the first trial
    # found that the largest window is not bad, from where small steps lead nowhere.
    Design("second", range(201, 221), draws=DRAWS, trials=40, waits=True),
    # Draws led to large windows, too. It begins elsewhere: half a step to what the path delivers in a round trip.
    Design("third", range(301, 321), draws=0, trials=60, waits=True, begin=(0.0, 0.0, 0.0, 0.5, 0.0)),
    # The best of five tried by hand on the seeds learnt from, before unseen ones were looked at: nothing climbs.
    Design("by hand", range(301, 321), draws=0, trials=0, waits=True, begin=BY_HAND),
    # On some of those seeds the window fell to one packet, for good. The last one begins there, within bounds.
    Design("fourth", range(401, 421), draws=0, trials=40, waits=True, begin=BY_HAND, bounded=True),
]


@dataclass(frozen=True)
class Linear:
    """Weights of a step from the present window."""

    weights: tuple[float, ...]
    waits: bool
    bounded: bool = False


# Or always the same window.
Policy = float | Linear


def scenario(seed: int) -> dict[str, Any]:
    """A link drawn from a seed, one flow of the agent's, and a stream beside it."""
    draw = random.Random(seed)
    mbps, delay_ms = 4 * 16 ** draw.random(), 5 + 45 * draw.random()
    share = draw.random() / 2
    return {
        "stop": "4 s",
        "topology": {
            "generate": "dumbbell",
            "pairs": 2,
            "bottleneck": {"rate": f"{mbps:.3f} Mbps", "delay": f"{delay_ms:.3f} ms"},
            "access": {"rate": "1 Gbps", "delay": "1 ms"},
        },
        "queue": {"limit": f"{2 * delay_ms + 4:.3f} ms"},
        "flow": [
            {"from": "s0", "to": "d0", "scheme": "agent"},
            {"from": "s1", "to": "d1", "rate": f"{share * mbps:.3f} Mbps"},
        ],
    }


def window(policy: Policy, seen: dict[str, float]) -> float:
    """The action: a constant, or a step from the present window by what was seen."""
    if isinstance(policy, float):
        return policy
    now = seen["window_log2"]
    rtt = max(seen["rtt_min_s"], 1e-4)
    product = max(seen["delivered_mbps"], 0.01) * 1e6 / 8 * rtt / 1448
    features = (
        1.0,
        float(np.log2(max(seen["rtt_s"] / rtt, 1.0))),
        seen["lost_share"],
        # What the path delivers in its shortest round trip, beside the window.
        float(np.log2(product)) - now if seen["delivered_mbps"] or not policy.waits else 0.0,
        now / 10,
    )
    wanted = now + sum(weight * feature for weight, feature in zip(policy.weights, features, strict=True))
    return min(max(wanted, CONSTANTS[0]), CONSTANTS[-1]) if policy.bounded else wanted


def episode(policy: Policy, seed: int) -> float:
    """The mean reward of one."""
    env = Env(scenario, interval_s=INTERVAL_S)
    observation, _ = env.reset(seed=seed)
    rewards, over = [], False
    while not over:
        seen = dict(zip(OBSERVED, map(float, observation), strict=True))
        observation, reward, terminated, truncated, _ = env.step(np.array([window(policy, seen)], np.float32))
        over = terminated or truncated
        if not over:
            rewards.append(reward)
    return statistics.fmean(rewards)


def timed(policy: Policy, seed: int) -> tuple[float, float]:
    """An episode's reward, and the seconds of processor time that it took."""
    begun = time.process_time()
    return episode(policy, seed), time.process_time() - begun


class Episodes:
    """What has been run; each is added to a file when it ends."""

    def __init__(self, folder: Path, workers: int) -> None:
        code = Path(__file__).read_bytes() + Path(_midpath.__file__).read_bytes()
        self.file = folder / f"{hashlib.sha256(code).hexdigest()[:16]}.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        self.run = ProcessPoolExecutor(workers).map if workers > 1 else map
        self.known: dict[str, float] = {}
        self.processor_s = 0.0
        for line in self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else []:
            one = json.loads(line)
            self.keep(one["of"], one["reward"], one["processor_s"])

    def keep(self, of: str, reward: float, processor_s: float) -> None:
        """Takes an episode up."""
        self.known[of] = reward
        self.processor_s += processor_s

    def rewards(self, policy: Policy, seeds: Sequence[int]) -> list[float]:
        """On each of these seeds."""
        names = {seed: f"{policy!r} {seed}" for seed in seeds}
        missing = [seed for seed in seeds if names[seed] not in self.known]
        for seed, (reward, taken) in zip(missing, self.run(partial(timed, policy), missing), strict=True):
            with self.file.open("a", encoding="utf-8") as written:
                line = {"of": names[seed], "reward": reward, "processor_s": round(taken, 4)}
                written.write(json.dumps(line) + "\n")
            self.keep(names[seed], reward, taken)
        return [self.known[name] for name in names.values()]

    def mean(self, policy: Policy, seeds: Sequence[int]) -> float:
        """Over these seeds."""
        return statistics.fmean(self.rewards(policy, seeds))


@dataclass
class Kept:
    """Weights that were better than all before, at which trial, and their reward where they were found."""

    trial: int
    policy: Linear
    learnt: float


def climb(design: Design, episodes: Episodes) -> list[Kept]:
    """The beginning, and each that was better."""
    draw = random.Random(1)
    at = Linear(design.begin, design.waits, design.bounded)
    kept = [Kept(0, at, episodes.mean(at, LEARNT_FROM))]
    for trial in range(1, design.draws + design.trials + 1):
        # Ours: draws are twice as wide as steps.
        begin, width = (design.begin, 2 * STEP) if trial <= design.draws else (kept[-1].policy.weights, STEP)
        tried = Linear(tuple(weight + draw.gauss(0, width) for weight in begin), design.waits, design.bounded)
        found = episodes.mean(tried, LEARNT_FROM)
        if found > kept[-1].learnt:
            kept.append(Kept(trial, tried, found))
            print(f"{design.name}, trial {trial}: {found:.3f}", flush=True)
    return kept


@dataclass
class Judged:
    """A design's climb, and what the constants are worth on its unseen seeds."""

    design: Design
    kept: list[Kept]
    unseen: list[float]
    """The mean of each that was kept."""
    chosen: float
    """The constant that is best where the climber learnt, and the one that is best on the unseen seeds."""
    hindsight: float
    episodes: Episodes

    def rows(self) -> Iterator[str]:
        """The climber beside both constants."""
        mine = self.episodes.rewards(self.kept[-1].policy, self.design.unseen)
        for log2, where in ((self.chosen, "learnt from"), (self.hindsight, "unseen, with hindsight")):
            other = self.episodes.rewards(log2, self.design.unseen)
            gains = [a - b for a, b in zip(mine, other, strict=True)]
            gain, half = statistics.fmean(gains), T * statistics.stdev(gains) / len(gains) ** 0.5
            cells = [
                self.design.name,
                f"{statistics.fmean(mine):.3f}",
                f"{2**log2:.0f} packets, best on seeds {where}",
                f"{statistics.fmean(other):.3f}",
                f"{gain:+.3f} ± {half:.3f}",
                f"{sum(one > 0 for one in gains)} of {len(gains)}",
                "yes" if gain > half else "no",
            ]
            yield f"| {' | '.join(cells)} |"

    def draw(self, axes: Axes) -> None:
        """Rewards by trial: what was best stays until there is better."""
        trials = [*(one.trial for one in self.kept), self.design.draws + self.design.trials]
        learnt = [one.learnt for one in self.kept]
        axes.step(trials, [*self.unseen, self.unseen[-1]], where="post", label="climber, unseen seeds")
        label = "climber, seeds that it learns from"
        axes.step(trials, [*learnt, learnt[-1]], where="post", linestyle=":", label=label)
        for log2, style, where in ((self.chosen, "-", "learnt from"), (self.hindsight, "--", "unseen, with hindsight")):
            reward = self.episodes.mean(log2, self.design.unseen)
            axes.axhline(reward, color="0.4", linestyle=style, label=f"constant, best on seeds {where}")
        axes.set(xlabel="trial", title=f"{self.design.name} design")


def judge(design: Design, episodes: Episodes) -> Judged:
    """Climbs, and then looks at the unseen seeds."""
    chosen = max(CONSTANTS, key=lambda log2: episodes.mean(log2, LEARNT_FROM))
    kept = climb(design, episodes)
    unseen = [episodes.mean(one.policy, design.unseen) for one in kept]
    hindsight = max(CONSTANTS, key=lambda log2: episodes.mean(log2, design.unseen))
    return Judged(design, kept, unseen, chosen, hindsight, episodes)


def draw_curves(file: Path, judged: list[Judged]) -> None:
    """The picture: a panel for each design."""
    mpl.rcParams["svg.hashsalt"] = "midpath"
    figure, panels = plt.subplots(1, len(judged), figsize=(9, 3.4), sharey=True, layout="constrained", squeeze=False)
    for one, axes in zip(judged, panels[0], strict=True):
        one.draw(axes)
    # Some begin far below.
    low = min(one.episodes.mean(one.chosen, one.design.unseen) for one in judged)
    panels[0][0].set(ylabel="mean reward of a decision", ylim=(low - 0.3, None))
    lines, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=2, fontsize="small")
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)


def main(out: Path = HERE, store: Path = STORE, workers: int = 1) -> None:
    """Runs what has not been run yet, and writes the page."""
    episodes = Episodes(store, workers)
    judged = [judge(design, episodes) for design in DESIGNS]
    draw_curves(out / "curve.svg", [one for one in judged if one.design.trials])
    weights = "\n".join(
        f"| {one.design.name} | {one.kept[-1].learnt:.3f} | "
        + " | ".join(f"{weight:+.3f}" for weight in one.kept[-1].policy.weights)
        + " |"
        for one in judged
    )
    unseen = judged[-1].unseen
    learnt = {log2: episodes.mean(log2, LEARNT_FROM) for log2 in CONSTANTS}
    text = f"""# A hill climber beside the best constant window

`python evidence/bench/gym/climb.py` writes this page. Each seed draws a link of 4 to 64 Mbps, a round trip of 14 to
104 ms, and a stream that takes up to half of it.
The reward of a decision is log(Mbps) − log(round trip / shortest round trip).
Climbers learn from {len(LEARNT_FROM)} seeds. Each is judged on {len(DESIGNS[-1].unseen)} others. Constants are \
{2 ** CONSTANTS[0]:.0f} to {2 ** CONSTANTS[-1]:,.0f} packets, two in each doubling.
{len(episodes.known):,} episodes took {episodes.processor_s:.0f} s of processor time.

| design | its reward | constant window | the constant's reward | gain, mean and 95 % | seeds won | beaten |
|---|---|---|---|---|---|---|
{chr(10).join(row for one in judged for row in one.rows())}

![Mean reward of a decision by trial, for each design: the climber's, and the two constants](curve.svg)

The first three climbers come to windows that are as large as they get, or near: a queue of one round trip makes those
hardly worse than the best constant. The second begins with the best of {DRAWS} weights drawn at random, and
its first decision makes no step of what was delivered: nothing yet. The third begins with half a step to what the path
delivers in its shortest round trip. Weights set by hand win most seeds; on some the window falls to one packet, whose
ACK waits, and stays there. The fourth begins with these weights, within the range of the constants: with
{unseen[0]:.3f} on its unseen seeds, to which climbing adds {unseen[-1] - unseen[0]:+.3f}.
Four climbers were tried: intervals that hold for all four at once are {T_OF_FOUR / T:.2f} times as wide.

On the seeds learnt from the best constant has {max(learnt.values()):.3f}. Weights:

| design | reward where learnt | one | round trip / shortest | share lost | delivered / window | window |
|---|---|---|---|---|---|---|
{weights}

They are of a step in log2 of the window; round trip / shortest, what is delivered in a shortest round trip / window,
and a tenth of the window are logarithms, too.
"""
    (out / "RESULTS.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=1)
    main(workers=parser.parse_args().workers)
