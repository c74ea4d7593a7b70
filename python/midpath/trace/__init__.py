"""The record of events that a run with `[trace]` leaves: what happened to a packet, and why a flow is as it is."""

from midpath.trace.life import packet_life
from midpath.trace.option import as_changes
from midpath.trace.record import Trace
from midpath.trace.why import why

__all__ = ["Trace", "as_changes", "packet_life", "why"]
