"""How fast the simulator is on this machine: packet-hops per second and core, memory per flow, against ns-3."""

from midpath.benchmark.measure import Measurement, measure, ns3_programs
from midpath.benchmark.suite import Bench, suite

__all__ = ["Bench", "Measurement", "measure", "ns3_programs", "suite"]
