"""Scheme or placement? Collectives on a rail-optimised fabric of 1,024 GPUs, with and without a slow link.

    python evidence/bench/fabric/run.py                # all runs that results.json lacks, and the page
    python evidence/bench/fabric/run.py --quick        # the same with 32 GPUs, printed
    python evidence/bench/fabric/run.py --page         # the page alone

Each run is written to results.json as it ends, so that a command that was stopped goes on.

Bounds, fixed before the first run (BOUNDS): every run ends, and none before its bound; UEC's packets that spray end
all-to-alls within 1.5 of the placement's bound, and lose at most a fifth to a link at a tenth of its rate. Expected,
no bound: columns that hash lose more than half to that link.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import fabric_cases
import fabric_page

HERE = Path(__file__).parent
RESULTS, PAGE = HERE / "results.json", HERE / "RESULTS.md"
PICTURE, DOCS = (HERE.parents[2] / "docs" / name for name in ("images/fabric.svg", "fabrics.md"))


def main() -> None:
    """Runs what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="32 GPUs; print the page, write nothing")
    parser.add_argument("--page", action="store_true", help="run nothing")
    parser.add_argument("--only", default="", help="runs with this in their names")
    asked = parser.parse_args()
    fabric = fabric_cases.QUICK if asked.quick else fabric_cases.WHOLE
    kept = not asked.quick and RESULTS.exists()
    found: fabric_page.Found = json.loads(RESULTS.read_text(encoding="utf-8")) if kept else {}
    every = fabric_cases.cases(fabric)
    for case in every:
        if asked.page or asked.only not in case.name or case.name in found:
            continue
        found[case.name] = case.run()
        found = {one.name: found[one.name] for one in every if one.name in found}
        print(case.name, found[case.name], file=sys.stderr, flush=True)
        if not asked.quick:
            RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    page = "\n".join(fabric_page.tables(found, fabric)) + "\n"
    if asked.quick:
        print(page)
        return
    PAGE.write_text(page, encoding="utf-8")
    PICTURE.write_text(fabric_page.svg(found, fabric), encoding="utf-8")
    DOCS.write_text(fabric_page.docs(DOCS.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
