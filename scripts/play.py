"""Writes docs/play/play.json: what the playground knows beside the simulator.

python scripts/play.py            # metrics, units, looks of schemes, Student's t, the gallery's scenarios
python scripts/play.py --check    # fails if the file would change
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

from gallery import ENTRIES

from midpath.metrics import IDEAL, METRICS
from midpath.palette import HUES, in_order, looks, name, tints
from midpath.scenario import parse
from midpath.schemes import shipped
from midpath.stats import student_t
from midpath.units import SCALES

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docs/play/play.json"
# What can be ticked: each transport alone (UDP for datagrams), the four systems, and what they are compared with most.
SCHEMES = [
    "newreno", "cubic", "dctcp", "bbr", "prague", "cubic+rpm", "dctcp+rpm", "fcp", "mircc", "inrpp", "rcp", "xcp",
    "swift", "timely", "dcqcn", "hpcc", "powertcp", "bolt", "mptcp", "udp", IDEAL,
]  # fmt: skip
MOST_SEEDS = 20
# Keys of a scenario whose value is a file.
NAMED = re.compile(r'^(?:file|page|trace) = "(.+)"', re.M)


def gallery() -> list[dict[str, Any]]:
    """The gallery's scenarios, with the schemes that their commands compare, and the files that they name."""
    found = []
    varying = sorted((ROOT / "examples/links").glob("*.toml"))
    for file, command in [(ROOT / "examples" / entry.file, entry.command) for entry in ENTRIES] + [
        (v, "") for v in varying
    ]:
        text = file.read_text(encoding="utf-8")
        asked = re.search(r"--schemes (\S+)", command)
        schemes = [one for one in asked[1].split(",") if one in SCHEMES] if asked else []
        named = {one.name: one.read_text(encoding="utf-8") for one in map(file.parent.joinpath, NAMED.findall(text))}
        about = {"id": file.stem, "title": parse(text, None)["title"], "text": text, "schemes": schemes}
        found.append(about | ({"files": named} if named else {}))
    return found


def facts() -> dict[str, Any]:
    """All of it."""
    shown = looks(SCHEMES)
    return {
        "schemes": [{"id": scheme, "name": name(scheme), "look": shown[scheme]} for scheme in SCHEMES],
        "titles": {scheme: found.title for scheme, found in shipped().items()},
        "tints": tints(),
        # Of things that are no schemes, as many as there are without a repetition.
        "order": [vars(look) for look in in_order(2 * len(HUES))],
        "metrics": [vars(metric) for metric in METRICS],
        "units": SCALES,
        "student_t": [None, *(student_t(degrees) for degrees in range(1, MOST_SEEDS))],
        "gallery": gallery(),
    }


def main() -> None:
    """Writes the file, or compares."""
    text = json.dumps(facts(), indent=1, ensure_ascii=False) + "\n"
    if "--check" not in sys.argv:
        FILE.write_text(text, encoding="utf-8")
    elif FILE.read_text(encoding="utf-8") != text:
        sys.exit(f"{FILE.relative_to(ROOT)} is not as scripts/play.py writes it")


if __name__ == "__main__":
    main()
