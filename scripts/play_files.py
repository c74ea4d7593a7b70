"""The playground's files: docs/play, what it has from the report and the replay, and the simulator where it was built.

python scripts/play_files.py FOLDER     # puts them there, to be served
"""

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLAY = ROOT / "docs/play"
REUSED = (
    *sorted((ROOT / "python/midpath/report/assets").glob("*")),
    *(ROOT / "python/midpath/trace/assets" / file for file in ("replay.html", "replay.css", "replay.js")),
)
WASM = ROOT / "target/web/midpath.wasm"


def added(wasm: Path = WASM) -> Iterator[tuple[str, bytes]]:
    """Those that are not in docs/play. Without the simulator, the page says that there is none."""
    for file in REUSED:
        yield file.name, file.read_bytes()
    if wasm.is_file():
        # Packed here, since few servers pack WebAssembly.
        yield "midpath.wasm.gz", gzip.compress(wasm.read_bytes(), 9, mtime=0)


def put(folder: Path, wasm: Path = WASM) -> None:
    """Puts all into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    own = ((file.name, file.read_bytes()) for file in PLAY.iterdir() if file.is_file())
    for name, content in (*own, *added(wasm)):
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    put(Path(sys.argv[1]))
