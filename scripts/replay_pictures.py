"""Takes the stills of replays that docs/see-it.md shows, into docs/images/see. Needs Chromium.

python scripts/replay_pictures.py            all of them: it runs what the page runs, a minute or two
python scripts/replay_pictures.py inrpp      those whose file begins so
"""

import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "see-it.md"
IMAGES = ROOT / "docs" / "images" / "see"
WIDTH = 900
sys.path.insert(0, str(ROOT / "evidence/lab" / "report-looks"))

from chromium import Page  # noqa: E402


@dataclass(frozen=True)
class Still:
    """A moment of a replay, in seconds of the run: a flow that is chosen, which lines are below the map, the speed."""

    at: float
    flow: int | None = None
    lines: str | None = None
    speed: float = -2

    @property
    def address(self) -> str:
        """What the replay's address says after #."""
        asked = {"t": self.at, "flow": self.flow, "lines": self.lines, "speed": self.speed}
        return "&".join(f"{key}={value}" for key, value in asked.items() if value is not None)


# By the name of the result, which is the picture's.
STILLS = {
    "overshoot": Still(1.1723),
    "inrpp-chain": Still(0.75, lines="bytes in custody"),
    "inrpp-detour": Still(2.3, lines="bytes in custody"),
    "fcp-join": Still(3.08, lines="price"),
    "mircc-stamps": Still(20.08, lines="stamped"),
    "rpm-loop": Still(1.1317, flow=0, speed=-2.5),
}


def commands() -> Iterator[tuple[str, list[str]]]:
    """The page's runs: the name of each one's result, and its words."""
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        words = shlex.split(block.replace("\\\n", " ").splitlines()[0])
        yield Path(words[words.index("--out") + 1]).name, words


def main() -> int:
    """Takes the pictures."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for shown in ("examples", "python"):
            (folder / shown).symlink_to(ROOT / shown)
        for result, words in commands():
            if result.startswith(wanted):
                _midpath(folder, *words[1:])
                _midpath(folder, "replay", f"out/{result}")
                take(folder / "out" / result / "replay.html", STILLS[result], IMAGES / f"{result}.svg")
    return 0


def take(replay: Path, still: Still, file: Path) -> None:
    """One picture."""
    with Page(replay) as page:
        page.show(WIDTH, "light")
        page.run(f"replay.ask({still.address!r})")
        file.write_text(page.run("replay.still()") + "\n", encoding="utf-8")


def _midpath(folder: Path, *command: str) -> None:
    subprocess.run([sys.executable, "-m", "midpath", *command], cwd=folder, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
