"""The simulator's cost on this machine: speed, CPU time, memory, counters; compared with goals and ns-3."""

from midpath.benchmark.goals import Goal, Reached, with_goals
from midpath.benchmark.measure import Measurement, NotMeasuredError, measure
from midpath.benchmark.ns3 import Ns3, find_ns3
from midpath.benchmark.suite import Bench, choose, suite

__all__ = [
    "Bench",
    "Goal",
    "Measurement",
    "NotMeasuredError",
    "Ns3",
    "Reached",
    "choose",
    "find_ns3",
    "measure",
    "suite",
    "with_goals",
]
