"""Any column of any result over any other, over time, or as a distribution: `midpath plot`."""

from midpath.plot.frame import TABLES, frame_of, table_with
from midpath.plot.panels import Panel, Panels, What, panels

__all__ = ["TABLES", "Panel", "Panels", "What", "frame_of", "panels", "table_with"]
