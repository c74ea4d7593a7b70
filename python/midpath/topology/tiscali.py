"""Figure 17's network at the paper's size: Rocketfuel's map of Tiscali, with its hosts and flows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

# The file of the map, which cannot be shipped.
MAP = "3257.pop.cch"
# The folder with Rocketfuel's maps, where no option says it. The tests of `crates/topo` read it too.
ROCKETFUEL = "MIDPATH_ROCKETFUEL"
# §IV-D.1. The load is of all links between edge and gateway routers, of which there are 311, one way.
HOSTS, FLOWS, LOAD_OF = 13350, 6675, "31.1 Gbps"


def on_map(topology: dict[str, Any], file: Path, hosts: int = HOSTS, homes: int = 1) -> dict[str, Any]:
    """The scenario's topology on the user's map instead of the one that ships; `homes` is links per host."""
    table = {key: value for key, value in topology.items() if key != "builtin"}
    return table | {
        "file": str(file),
        # All that the file has, without links between edge routers: see the claim's notes.
        "radius": 9,
        "drop_edge_links": True,
        "component": "largest",
        "hosts": table["hosts"] | {"total": hosts, "homes": homes},
    }


def offered(flows: int = FLOWS) -> dict[str, Any]:
    """Changes of the workload: the load on that map, and as many pairs as flows."""
    return {"arrivals.load_of": LOAD_OF, "flows": flows, "matrix.pairs": flows}
