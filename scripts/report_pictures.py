"""Takes the pictures of reports that the pages show, into docs/images. Needs Chromium, and Pillow (of matplotlib's).

python scripts/report_pictures.py            all of them: it runs what they are of, a minute or two
python scripts/report_pictures.py report     those whose file begins so
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
sys.path.insert(0, str(ROOT / "evidence/lab" / "report-looks"))

from chromium import Page  # noqa: E402

# What `make run` compares; the Makefile says the same.
SCHEMES = "newreno,cubic,dctcp,cubic+rpm,fcp,mircc,inrpp"


@dataclass(frozen=True)
class Picture:
    """A picture: of which report, and what of it, in pixels from the top or as the element that it shows."""

    report: str
    height: int = 0
    element: str = ""
    width: int = 1280


def abilene(folder: Path) -> None:
    """The report of `make run`."""
    file = ROOT / "examples" / "abilene.toml"
    _midpath(folder, "compare", str(file), "--schemes", SCHEMES, "--seeds", "5", "--out", "abilene")
    _midpath(folder, "report", "abilene")


def followed(page: str, *reports: str) -> Callable[[Path], None]:
    """What a reader of the page has in her folder, with reports of these."""

    def make(folder: Path) -> None:
        follow = [sys.executable, str(ROOT / "scripts" / "follow.py"), str(ROOT / "docs" / page), "--folder", folder]
        subprocess.run(follow, check=True)
        for report in reports:
            _midpath(folder, "report", report)

    return make


def _midpath(folder: Path, *command: str) -> None:
    subprocess.run([sys.executable, "-m", "midpath", *command], cwd=folder, check=True, stdout=subprocess.DEVNULL)


# What makes a folder of reports, and the pictures of them.
SHOWN = (
    (abilene, {"report.png": Picture("abilene", height=2372)}),
    (followed("tutorial.md", "wide"), {"tutorial-report.png": Picture("wide", height=1300)}),
    (followed("operator.md", "today"), {"operator-map.png": Picture("today", element=".network", width=960)}),
    (followed("what-if.md", "failures"), {"failures-map.png": Picture("failures", element=".failures")}),
)


def main() -> int:
    """Takes the pictures."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    for make, pictures in SHOWN:
        chosen = {file: picture for file, picture in pictures.items() if file.startswith(wanted)}
        if chosen:
            with tempfile.TemporaryDirectory() as name:
                make(Path(name))
                for file, picture in chosen.items():
                    take(Path(name), picture, IMAGES / file)
    return 0


def take(folder: Path, picture: Picture, file: Path) -> None:
    """One picture, with a palette of 256 colours: a third of the size."""
    with Page(folder / picture.report / "report.html") as page:
        page.show(picture.width, "light")
        page.picture(file, dict(_clip(page, picture)))
    Image.open(file).convert("RGB").quantize(256, kmeans=1, dither=Image.Dither.NONE).save(file, optimize=True)


def _clip(page: Page, picture: Picture) -> Iterator[tuple[str, float]]:
    if picture.height:
        yield "height", picture.height
    if picture.element:
        card = f"document.querySelector('.card{picture.element}')"
        # Without the table below it.
        page.run(f"{card}.querySelectorAll('.scroll').forEach(table => table.remove())")
        yield from page.run(f"{card}.getBoundingClientRect().toJSON()").items()


if __name__ == "__main__":
    sys.exit(main())
