"""A run as an environment of Gymnasium: an agent sets one TCP's window, every so often.

env = midpath.gym.Env("examples/controllers/one_flow.toml", interval_s=0.1)
observation, info = env.reset(seed=1)
observation, reward, terminated, truncated, info = env.step(np.array([5.0], np.float32))

The run waits at each decision. One is due with the first acknowledgement or timeout after `interval_s`. Needs
`pip install 'midpath[gym]'`.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from midpath.controller import Ack, Congestion, Controller, Lost, Opening, Sample
from midpath.errors import ControllerError, UsageError
from midpath.result import Result
from midpath.run import as_scenario, cores, run
from midpath.scenario import Scenario

# The scheme of the flow that the agent drives.
AGENT = "agent"
# What an observation says, in this order; its least and its largest.
OBSERVED: Mapping[str, tuple[float, float]] = {
    "delivered_mbps": (0, 1e6),
    "rtt_s": (0, 1e3),
    "rtt_min_s": (0, 1e3),
    "lost_share": (0, 1),
    "marked_share": (0, 1),
    "window_log2": (-10, 30),
    "in_flight": (0, 1e9),
}
# The action: the window in packets is two to this.
LEAST, LARGEST = 0.0, 14.0

Vector = npt.NDArray[np.float32]
Given = Scenario | Mapping[str, Any] | str | Path
Reward = Callable[["Interval"], float]


@dataclass
class Interval:
    """What has happened to the agent's flow between two decisions."""

    seconds: float = 0.0
    delivered: int = 0
    """Bytes of payload."""
    lost: int = 0
    marked: int = 0
    rtt_s: float = 0.0
    """The mean of the round trips in it; where there were none, the last before."""
    rtt_min_s: float = 0.0
    """The shortest since the flow began."""
    window: float = 0.0
    """Packets: at its end."""
    in_flight: float = 0.0
    """Packets: at its end."""

    @property
    def delivered_mbps(self) -> float:
        """The rate at which payload was delivered."""
        return 8e-6 * self.delivered / self.seconds if self.seconds else 0.0


def default_reward(interval: Interval) -> float:
    """log(rate in Mbps) − log(round trip / shortest round trip), as Remy's and Copa's objective with delta 1.

    A rate below 10 kbps counts as 10 kbps.
    """
    stretch = interval.rtt_s / interval.rtt_min_s if interval.rtt_min_s else 1.0
    return float(np.log(max(interval.delivered_mbps, 0.01)) - np.log(max(stretch, 1.0)))


class Env(gymnasium.Env[Vector, Vector]):
    """One flow of a scenario, driven by an agent.

    The scenario (or what a function makes of each seed) has one flow whose scheme is `agent`: its own, or by the
    scenario's. Of an observation, `OBSERVED` names the numbers. The action is the logarithm to base 2 of the window in
    packets, from 0 to 14. An episode ends with the flow (`terminated`) or the run (`truncated`);
    that step repeats the last observation, and its reward is 0.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own type

    def __init__(
        self,
        scenario: Given | Callable[[int], Given],
        *,
        interval_s: float = 0.1,
        reward: Reward = default_reward,
    ) -> None:
        if not interval_s > 0:
            raise UsageError(f"interval_s must be above 0, not {interval_s!r}")
        self.scenario, self.interval_s, self.reward_of = scenario, interval_s, reward
        bounds = np.array(list(OBSERVED.values()), np.float32)
        self.observation_space = gymnasium.spaces.Box(bounds[:, 0], bounds[:, 1], dtype=np.float32)
        self.action_space = gymnasium.spaces.Box(LEAST, LARGEST, (1,), np.float32)
        self.result: Result | None = None
        """The run, once it has ended."""
        self._episode: _Episode | None = None

    def reset(
        self,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002 - Gymnasium's
    ) -> tuple[Vector, dict[str, Any]]:
        """Begins the run of a seed; without one, of a seed that the environment draws."""
        super().reset(seed=seed)
        self.close()
        run_seed = seed if seed is not None else int(self.np_random.integers(2**31))
        given = self.scenario(run_seed) if callable(self.scenario) else self.scenario
        self.result = None
        self._episode = _Episode(as_scenario(given), run_seed, self.interval_s)
        interval = self._episode.next()
        if interval is None:
            raise UsageError(f"no flow of this scenario has the scheme {AGENT!r}, or it never started")
        return _observed(interval), {"seed": run_seed, "interval": interval}

    def step(self, action: Vector) -> tuple[Vector, float, bool, bool, dict[str, Any]]:
        """Sets the window, and goes on to the next decision."""
        if self._episode is None:
            raise UsageError("call reset before step")
        wanted = float(np.clip(np.asarray(action, np.float64).reshape(-1)[0], LEAST, LARGEST))
        interval = self._episode.next(2.0**wanted)
        ended = interval is None
        if interval is None:
            interval = self._episode.last
            self.result = self._episode.result
        terminated = ended and self._episode.completed
        reward = 0.0 if ended else float(self.reward_of(interval))
        return _observed(interval), reward, terminated, ended and not terminated, {"interval": interval}

    def close(self) -> None:
        """Ends the run."""
        if self._episode is not None:
            self._episode.stop()
        self._episode = None

    def __del__(self) -> None:
        """Leaves no thread behind."""
        with contextlib.suppress(Exception):
            self.close()


def vector(
    scenario: Given | Callable[[int], Given], count: int | None = None, **options: Any
) -> gymnasium.vector.AsyncVectorEnv:
    """So many environments (one per core), each in a process of its own."""
    made = [lambda: Env(scenario, **options)] * (count or cores())
    return gymnasium.vector.AsyncVectorEnv(made)


def _observed(interval: Interval) -> Vector:
    sent = max(interval.delivered + interval.lost, 1)
    numbers = [
        interval.delivered_mbps,
        interval.rtt_s,
        interval.rtt_min_s,
        interval.lost / sent,
        interval.marked / sent,
        np.log2(max(interval.window, 2.0**-10)),
        interval.in_flight,
    ]
    bounds = np.array(list(OBSERVED.values()))
    return np.asarray(np.clip(numbers, bounds[:, 0], bounds[:, 1]), np.float32)


class _Stopped(BaseException):
    """The agent wants no more of this run."""


class _Episode:
    """A run on a thread of its own, which waits for the agent at each decision."""

    def __init__(self, scenario: Scenario, seed: int, interval_s: float) -> None:
        self.interval_s = interval_s
        self.last = Interval()
        self.result: Result | None = None
        self.error: BaseException | None = None
        self.completed = False
        self.agents = 0
        self._begun = self._over = False
        # Each has room for what is on its way at most: no side ever waits to put.
        self._intervals: queue.SimpleQueue[Interval | None] = queue.SimpleQueue()
        self._windows: queue.SimpleQueue[float | None] = queue.SimpleQueue()
        asked = scenario.with_(scheme=_scheme(scenario), seed=seed, controllers={AGENT: _controller(self)})
        self._thread = threading.Thread(target=self._work, args=(asked,), daemon=True)

    def next(self, window: float | None = None) -> Interval | None:
        """Goes on with a window (packets) to the next decision; none at the end."""
        if self._over:
            raise UsageError("the episode is over: call reset before step")
        if self._begun:
            self._windows.put(window)
        else:
            self._begun = True
            self._thread.start()
        interval = self._intervals.get()
        if interval is None:
            self._over = True
            self._thread.join()
            if isinstance(self.error, ControllerError) and isinstance(self.error.cause, UsageError):
                raise self.error.cause
            if self.error is not None:
                raise self.error
        else:
            self.last = interval
        return interval

    def stop(self) -> None:
        """Ends the run where it stands."""
        if self._begun and not self._over:
            self._over = True
            self._windows.put(None)
            self._thread.join()

    def decide(self, interval: Interval) -> float:
        """By the run: the window that the agent wants."""
        self._intervals.put(interval)
        window = self._windows.get()
        if window is None:
            raise _Stopped
        return window

    def _work(self, scenario: Scenario) -> None:
        try:
            self.result = run(scenario)
            flows = self.result.flows
            mine = [name == AGENT for name in flows["scheme"].to_pylist()]
            self.completed = any(done for done, own in zip(flows["completed"].to_pylist(), mine, strict=True) if own)
        except _Stopped:
            pass
        except BaseException as error:  # of the thread that waits
            self.error = error
        finally:
            self._intervals.put(None)


def _scheme(scenario: Scenario) -> str | None:
    """The scenario's own scheme; where a flow has the agent's by itself, nothing is changed."""
    flows = scenario.to_dict().get("flow", [])
    own = any(isinstance(flow, dict) and flow.get("scheme") == AGENT for flow in flows)
    return None if own else AGENT


def _controller(episode: _Episode) -> type[Controller]:
    class Agent(Controller):
        """Has the window that an agent wants."""

        samples = True
        own_window = True

        def __init__(self) -> None:
            episode.agents += 1
            if episode.agents > 1:
                raise UsageError(f"exactly one flow may have the scheme {AGENT!r}; this scenario has more")

        def on_open(self, opening: Opening) -> None:
            self.wanted = self.window
            self.began_s = opening.now_s
            self.rtt_s = self.rtt_min_s = opening.srtt_s
            self.forget()
            self.decide(opening.now_s)
            self.window = self.wanted

        def forget(self) -> None:
            self.delivered = self.lost = self.marked = self.in_flight = self.round_trips = 0
            self.rtt_sum_s = 0.0

        def decide(self, now_s: float) -> None:
            if self.round_trips:
                self.rtt_s = self.rtt_sum_s / self.round_trips
            mss = self.mss
            interval = Interval(
                seconds=now_s - self.began_s,
                delivered=self.delivered,
                lost=self.lost,
                marked=self.marked,
                rtt_s=self.rtt_s,
                rtt_min_s=self.rtt_min_s,
                window=self.wanted / mss,
                in_flight=self.in_flight / mss,
            )
            self.wanted = episode.decide(interval) * mss
            self.began_s = now_s
            self.forget()

        def on_sample(self, ack: Ack, sample: Sample) -> None:
            self.delivered += ack.delivered
            self.marked += ack.marked
            self.in_flight = sample.pipe
            if sample.rtt_s is not None:
                self.rtt_min_s = min(self.rtt_min_s or sample.rtt_s, sample.rtt_s)
                self.rtt_sum_s += sample.rtt_s
                self.round_trips += 1
            if ack.now_s - self.began_s >= episode.interval_s:
                self.decide(ack.now_s)
            self.window = self.wanted

        def on_lost(self, lost: Lost) -> None:
            self.lost += lost.size

        def on_loss(self, loss: Congestion) -> float:  # noqa: ARG002
            return self.wanted

        def on_timeout(self, loss: Congestion) -> float:
            if loss.now_s - self.began_s >= episode.interval_s:
                self.decide(loss.now_s)
            return self.wanted

        def on_ecn(self, loss: Congestion) -> float:  # noqa: ARG002
            return self.wanted

    return Agent
