"""Holds what Midpath reads of public files against counts that its readers have no part in.

    python evidence/properties/files/run.py FOLDER [READER]     writes evidence/properties/files/RESULTS.md

FOLDER has the files of files.csv, as FOLDER/SOURCE/PATH. None of them is part of this project; what is absent is
skipped and named. READER is the program `count_files`, which is built unless it is given.
"""

import csv
import json
import subprocess
import sys
from pathlib import Path

from count import KINDS, TABLE, said

ROOT = Path(__file__).parents[3]
PAGE = Path(__file__).with_name("RESULTS.md")
BUILD = ["cargo", "run", "--quiet", "--package", "midpath-sim", "--example", "count_files", "--"]
HEAD = """# Public files, counted and read

`python evidence/properties/files/run.py FOLDER` writes this page. Each file was counted by `count.py`, which has its
own ways (NetworkX, PyYAML, XML, regular expressions), and read by Midpath, which was not told the format.
The page has nothing
but counts of a file.

| total of | is |
|---|---|
| links | the sum of their rates, both ways, in bits per second; 0 where the file states none, or no unit |
| demands | their sum, in bits per second where the file has a unit |
| flows | their sum in bytes |
| sizes | the largest size |

{equal} of {all} readings of {files} files of {kinds} kinds are equal.
{skipped}
| kind | source | file | counted | read |
|---|---|---|---|---|
"""


def read(reader: list[str], rows: list[dict[str, str]], folder: Path) -> list[dict[str, str | float]]:
    """What Midpath's readers make of the files."""
    words = [word for row in rows for word in (KINDS[row["kind"]][0], str(folder / row["source"] / row["path"]))]
    done = subprocess.run([*reader, *words], cwd=ROOT, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def same(counted: str, found: dict[str, str | float]) -> str:
    """`equal`, or what was read in the place of what was counted."""
    if "refused" in found:
        return "equal" if counted.startswith("no ") else f"refused: {found['refused']}"
    names = [part.rpartition(" ")[0] for part in counted.split(", ")]
    text = said({name: found.get(name, -1) for name in names})
    return "equal" if text == counted else text


def main() -> int:
    """Writes the page, and says how many differ."""
    folder, reader = Path(sys.argv[1]), sys.argv[2:] or BUILD
    rows = list(csv.DictReader(TABLE.read_text().splitlines()))
    here = [row for row in rows if (folder / row["source"] / row["path"]).is_file()]
    absent = [f"{row['source']}: {row['path']}" for row in rows if row not in here]
    verdicts = [same(row["counts"], found) for row, found in zip(here, read(reader, here, folder), strict=True)]
    skipped = "".join(f"\nSkipped, absent: {name}\n" for name in absent)
    files = {(row["source"], row["path"]) for row in here}
    kinds = {row["kind"] for row in here}
    equal = verdicts.count("equal")
    page = HEAD.format(equal=equal, all=len(here), files=len(files), kinds=len(kinds), skipped=skipped)
    for row, verdict in zip(here, verdicts, strict=True):
        page += f"| {row['kind']} | {row['source']} {row['commit']} | {row['path']} | {row['counts']} | {verdict} |\n"
    PAGE.write_text(page)
    print(f"{equal} of {len(here)} equal, {len(absent)} skipped")
    return int(equal < len(here))


if __name__ == "__main__":
    sys.exit(main())
