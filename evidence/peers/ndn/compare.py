"""Stock clients through ndnd's forwarder and through ours, on the same links: writes RESULTS.md beside it.

python evidence/peers/ndn/compare.py ndnd                  # what peers do, 100 MB in each scene
python evidence/peers/ndn/compare.py ndnd midpathd --runs 3 --size 10
python evidence/peers/ndn/compare.py ndnd --scene line --client "ndnd cat" --print
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import statistics
import sys
import tempfile
from pathlib import Path

from forwarders import KINDS
from transfers import SCENES, Result, transfer

from midpath import markdown

HERE = Path(__file__).parent
CLIENTS = ("segment_fetcher", "ndnd cat", "midpathd fetch", "midpath.ndn")
HEAD = """# Files through NDN forwarders

Written by `python evidence/peers/ndn/compare.py`; [README.md](README.md) says what the scenes are. Medians of the runs,
but for the least time (other work on the machine only adds) and the sum of wrong bytes. Times are in seconds, those of
small objects fetched meanwhile in milliseconds. *midpathd* paces by delay; with *MIRCC* it knows the links'
rates, of which 95% are given out.

"""
COLUMNS = (
    "scene | client | forwarder | MB | runs | seconds | least | Mbit/s | received | wrong bytes | frames dropped"
    " | small: median | worst | lost | CPU s | MB resident"
)


def content(megabytes: float) -> bytes:
    """The same each time."""
    return hashlib.shake_128(b"midpath").digest(int(megabytes * 1e6))


def text(value: float | None) -> str:
    """A number in few digits."""
    return "–" if value is None else f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def middle(found: list[Result], what: str) -> float | None:
    """The median of runs that have it."""
    values = [value for run in found if (value := getattr(run, what)) is not None]
    return statistics.median(values) if values else None


def line(rows: list[dict]) -> str:
    """A row of the table: medians of these runs."""
    found = [Result(**row) for row in rows]
    one = found[0]
    rate = statistics.median(run.received * run.megabytes * 8 / run.seconds for run in found)
    why = next((run.why for run in found if run.why), "")
    cells = [one.scene, one.client, one.forwarder, text(one.megabytes), str(len(found))]
    cells += [text(middle(found, "seconds")), text(min(run.seconds for run in found)), text(rate)]
    cells += [f"{middle(found, 'received'):.1%}" + (f" ({why})" if why else "")]
    cells += [str(sum(run.wrong for run in found)), text(middle(found, "dropped"))]
    cells += [text(middle(found, what)) for what in ("ping_median", "ping_worst", "pings_lost", "cpu", "memory")]
    return markdown.line(cells)


def transfers_of(rows: list[dict]) -> list[list[dict]]:
    """Runs of the same, in the page's order."""

    def key(row: dict) -> tuple[int, int, float, int]:
        places = [*SCENES].index(row["scene"]), CLIENTS.index(row["client"])
        return *places, -row["megabytes"], [*KINDS].index(row["forwarder"])

    return [list(runs) for _, runs in itertools.groupby(sorted(rows, key=key), key)]


def page(rows: list[dict]) -> str:
    """The results page."""
    return HEAD + "\n".join([markdown.head(COLUMNS.split(" | ")), *map(line, transfers_of(rows))]) + "\n"


def main() -> None:
    """Runs scenes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("forwarder", choices=KINDS, nargs="+", help="in turn, run by run")
    parser.add_argument("--size", type=float, default=100, help="MB")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--scene", action="append", choices=SCENES)
    parser.add_argument("--client", action="append", choices=CLIENTS)
    parser.add_argument("--print", action="store_true", help="print what was found, and leave the page alone")
    asked = parser.parse_args()
    store = HERE / "results.json"
    rows = json.loads(store.read_text()) if store.exists() else []
    with tempfile.NamedTemporaryFile() as file:
        file.write(content(asked.size))
        file.flush()
        for scene, client in itertools.product(asked.scene or SCENES, asked.client or CLIENTS):
            limit = 10 + 5 * asked.size * 8 / SCENES[scene].mbps
            kinds = [kind for kind in asked.forwarder if kind != "ndnd" or not client.startswith("midpath")]
            found = [
                transfer(kind, scene, client, Path(file.name), limit).row()
                for _, kind in itertools.product(range(asked.runs), kinds)
            ]
            print(*map(line, transfers_of(found)), sep="\n", flush=True, file=sys.stderr)
            same = {"scene": scene, "client": client, "megabytes": asked.size}
            rows = [row for row in rows if row["forwarder"] not in kinds or not same.items() <= row.items()] + found
            if not asked.print:
                store.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
                (HERE / "RESULTS.md").write_text(page(rows))


if __name__ == "__main__":
    main()
