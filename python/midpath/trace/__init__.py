"""Events recorded by a run with `[trace]`: a packet's life, and causes of a flow's state."""

from midpath.trace.life import packet_life
from midpath.trace.option import as_changes
from midpath.trace.record import Trace
from midpath.trace.why import why

__all__ = ["Trace", "as_changes", "packet_life", "why"]
