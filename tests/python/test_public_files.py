"""evidence/properties/files: the page is of the table, and what is absent is skipped and named."""

import csv
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "evidence/properties/files"
ROWS = list(csv.DictReader((FOLDER / "files.csv").read_text().splitlines()))


def test_the_page_is_of_the_table() -> None:
    """At least 25 files of 12 kinds, each counted and read alike; a row has counts and nothing else of a file."""
    page = (FOLDER / "RESULTS.md").read_text()
    assert len({(row["source"], row["path"]) for row in ROWS}) >= 25
    assert len({row["kind"] for row in ROWS}) >= 12
    for row in ROWS:
        assert (
            f"| {row['kind']} | {row['source']} {row['commit']} | {row['path']} | {row['counts']} | equal |\n" in page
        )


def test_what_is_absent_is_skipped_and_named(tmp_path: Path) -> None:
    """With no file at all, nothing is compared, and the page says so."""
    copy = tmp_path / "files"
    copy.mkdir()
    for name in ("run.py", "files.csv"):
        (copy / name).write_bytes((FOLDER / name).read_bytes())
    # What counts wants a library of the extra `analysis` and is not asked here.
    (copy / "count.py").write_text(
        "from pathlib import Path\nTABLE = Path(__file__).with_name('files.csv')\nKINDS = {}\nsaid = str\n"
    )
    done = subprocess.run(
        [sys.executable, copy / "run.py", tmp_path, "true"], capture_output=True, text=True, check=False
    )
    assert done.stdout == f"0 of 0 equal, {len(ROWS)} skipped\n", done.stderr
    assert f"Skipped, absent: {ROWS[0]['source']}: {ROWS[0]['path']}\n" in (copy / "RESULTS.md").read_text()
