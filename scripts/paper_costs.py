"""Writes python/midpath/papers/costs.json: what each figure takes, from reproductions that were measured.

    midpath paper reproduce all --quick --jobs 1 --out quick
    midpath paper reproduce all --jobs 1 --out whole
    python scripts/paper_costs.py quick whole

A figure that none of them has keeps what stands there.
"""

import json
import sys
from pathlib import Path

COSTS = Path(__file__).parents[1] / "python" / "midpath" / "papers" / "costs.json"


def main() -> int:
    """Adds what the folders have to what is known."""
    costs = json.loads(COSTS.read_text(encoding="utf-8"))
    for folder in sys.argv[1:]:
        for file in Path(folder, "figures").glob("*.json"):
            found = json.loads(file.read_text(encoding="utf-8"))
            kind = "quick_" if found["quick"] else ""
            costs["figures"].setdefault(found["figure"], {})[f"{kind}core_s"] = round(found["core_s"], 1)
            most = f"{kind}memory_bytes"
            costs[most] = max(costs[most] or 0, found["memory_bytes"])
    costs["figures"] = dict(sorted(costs["figures"].items()))
    COSTS.write_text(json.dumps(costs, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
