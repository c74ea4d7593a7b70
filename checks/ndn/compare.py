"""Stock clients through ndnd's forwarder and through ours, on the same links: writes RESULTS.md beside it.

python checks/ndn/compare.py ndnd                  # what peers do, 100 MB in each scene
python checks/ndn/compare.py midpathd --runs 3 --size 10
python checks/ndn/compare.py ndnd --scene line --client "ndnd cat" --print
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from pathlib import Path

from forwarders import KINDS
from transfers import SCENES, Result, transfer

HERE = Path(__file__).parent
CLIENTS = ("segment_fetcher", "ndnd cat", "midpathd fetch")
HEAD = """# Files through NDN forwarders

Written by `python checks/ndn/compare.py`; [README.md](README.md) says what the scenes are. Each row is one transfer.
Times are in seconds, those of small objects fetched meanwhile in milliseconds.

"""
COLUMNS = (
    "scene | client | forwarder | MB | seconds | Mbit/s | received | wrong bytes | frames dropped"
    " | small: median | worst | lost | CPU s | MB resident"
)


def content(megabytes: float) -> bytes:
    """The same each time."""
    return hashlib.shake_128(b"midpath").digest(int(megabytes * 1e6))


def text(value: float | None) -> str:
    """A number in few digits."""
    return "–" if value is None else f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def line(row: dict) -> str:
    """A row of the table."""
    found = Result(**row)
    rate = found.received * found.megabytes * 8 / found.seconds
    cells = [found.scene, found.client, found.forwarder, text(found.megabytes), text(found.seconds), text(rate)]
    cells += [f"{found.received:.1%}" + (f" ({found.why})" if found.why else ""), str(found.wrong), str(found.dropped)]
    cells += [
        text(found.ping_median),
        text(found.ping_worst),
        str(found.pings_lost),
        text(found.cpu),
        text(found.memory),
    ]
    return "| " + " | ".join(cells) + " |"


def page(rows: list[dict]) -> str:
    """The results page."""
    order = [*SCENES]
    kinds = [*KINDS]
    rows = sorted(
        rows,
        key=lambda r: (
            order.index(r["scene"]),
            CLIENTS.index(r["client"]),
            -r["megabytes"],
            kinds.index(r["forwarder"]),
        ),
    )
    rule = "|" + "---|" * (COLUMNS.count("|") + 1)
    return HEAD + "\n".join([f"| {COLUMNS} |", rule, *map(line, rows)]) + "\n"


def main() -> None:
    """Runs scenes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("forwarder", choices=KINDS)
    parser.add_argument("--size", type=float, default=100, help="MB")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--scene", action="append", choices=SCENES)
    parser.add_argument("--client", action="append", choices=CLIENTS)
    parser.add_argument("--print", action="store_true", help="print what was found, and leave the page alone")
    asked = parser.parse_args()
    clients = asked.client or CLIENTS[: 3 if asked.forwarder == "midpathd" else 2]
    store = HERE / "results.json"
    rows = json.loads(store.read_text()) if store.exists() else []
    with tempfile.NamedTemporaryFile() as file:
        file.write(content(asked.size))
        file.flush()
        for scene in asked.scene or SCENES:
            for client in clients:
                key = {"forwarder": asked.forwarder, "scene": scene, "client": client, "megabytes": asked.size}
                limit = 10 + 5 * asked.size * 8 / SCENES[scene].mbps
                found = [
                    transfer(asked.forwarder, scene, client, Path(file.name), limit).row() for _ in range(asked.runs)
                ]
                rows = [row for row in rows if any(row[name] != value for name, value in key.items())] + found
                print(*map(line, found), sep="\n", flush=True, file=sys.stderr)
                if not asked.print:
                    store.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
                    (HERE / "RESULTS.md").write_text(page(rows))


if __name__ == "__main__":
    main()
