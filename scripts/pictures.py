"""Draws docs/images/schemes/*.svg: what travels along a path, and what ends and ports do with it.

python scripts/pictures.py            draws them
python scripts/pictures.py --check    fails if that would change one
"""

import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "images" / "schemes"
SCHEMES = ROOT / "crates" / "schemes" / "src"
WIDTH, HEIGHT = 860, 222
# Where the two hosts and the two routers stand, and the lanes there and back.
LEFT, FIRST, SECOND, RIGHT = 75, 265, 595, 785
THERE, BACK, MIDDLE = 62, 108, 85
PLACES = {"left": LEFT, "first": FIRST, "second": SECOND, "right": RIGHT}
STYLE = """
    text { font: 13px sans-serif; fill: #0f172a; text-anchor: middle }
    .note { fill: #334155 } .carried { font-style: italic } .signal { fill: #b45309 }
    rect, circle { stroke: #334155; stroke-width: 1.2 } .host { fill: #f8fafc } .router { fill: #dbeafe }
    path { stroke: #64748b; stroke-width: 1.6; fill: none } path.signal { stroke: #d97706; stroke-width: 3; fill: none }
    path.other { stroke-dasharray: 5 4 }
"""


@dataclass(frozen=True)
class Picture:
    """A scheme on one path: notes below each node, what is carried there and back, and where it becomes a signal."""

    title: str
    left: Sequence[str]
    ports: Sequence[str]
    right: Sequence[str]
    there: str
    back: str
    ends: Sequence[str] = ("sender", "receiver")
    there_from: int | None = None
    """From here on what goes there carries the scheme's signal; drawn thick."""
    back_from: int | None = None
    """The same for what comes back."""
    around: str = ""
    """A second way, drawn above, with this label."""


MID_PATH = Picture(
    "Mid-path: the network takes part",
    ["follows what the network says,", "not losses alone"],
    [
        "data go out: store, detour, stamp a rate, add a price",
        "feedback comes in, through the same port: mark, slow down",
    ],
    ["returns what came,", "as in any TCP or NDN"],
    "data, with rates or prices so far",
    "ACK or Data, and what the network adds",
    there_from=FIRST,
    back_from=RIGHT,
    around="INRPP and MIRCC: other paths, too",
)


def pictures() -> dict[str, Picture]:
    """Each picture by name: those of the schemes that have one in their folder, and that of all mid-path schemes."""
    found = {file.parent.name: read(file) for file in sorted(SCHEMES.glob("*/picture.toml"))}
    return {"mid-path": MID_PATH} | found


def read(file: Path) -> Picture:
    """A scheme's picture: where it becomes a signal by the place's name."""
    values = tomllib.loads(file.read_text(encoding="utf-8"))
    for key in ("there_from", "back_from"):
        if key in values:
            values[key] = PLACES[values[key]]
    return Picture(**values)


def draw(picture: Picture) -> str:
    """The picture as SVG."""
    body = "\n".join(f"  {part}" for part in _parts(picture))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        f' role="img" aria-label="{escape(picture.title)}">\n  <style>{STYLE}  </style>\n'
        f'  <rect width="{WIDTH}" height="{HEIGHT}" style="fill:#fff;stroke:none"/>\n{body}\n</svg>\n'
    )


def _parts(picture: Picture) -> Iterator[str]:
    yield from _lane(LEFT + 42, RIGHT - 42, THERE, picture.there_from)
    yield from _lane(RIGHT - 42, LEFT + 42, BACK, picture.back_from)
    if picture.around:
        bend = f"C{FIRST + 70} 16 {SECOND - 70} 16 {SECOND} {MIDDLE - 24}"
        yield f'<path class="other" d="M{FIRST} {MIDDLE - 24} {bend}"/>'
        yield _text((FIRST + SECOND) / 2, 22, picture.around)
    for x in (FIRST, SECOND):
        yield f'<circle class="router" cx="{x}" cy="{MIDDLE}" r="36"/>'
        yield _text(x, MIDDLE + 4, "router")
    for x, label in zip((LEFT, RIGHT), picture.ends, strict=True):
        yield f'<rect class="host" x="{x - 42}" y="{MIDDLE - 36}" width="84" height="72" rx="6"/>'
        yield _text(x, MIDDLE + 4, label)
    signal = "carried signal" if picture.there_from else "carried"
    yield _text((FIRST + SECOND) / 2, THERE - 8, picture.there, signal)
    signal = "carried signal" if picture.back_from else "carried"
    yield _text((FIRST + SECOND) / 2, BACK + 20, picture.back, signal)
    yield f'<path d="M{FIRST} {MIDDLE + 40} V168 H{SECOND} V{MIDDLE + 40}"/>'
    notes = (
        (LEFT, "start", picture.left),
        ((FIRST + SECOND) / 2, "middle", picture.ports),
        (RIGHT, "end", picture.right),
    )
    for x, anchor, lines in notes:
        # Notes of the hosts begin and end with the picture's edges.
        place = {"start": x - 65, "middle": x, "end": x + 65}[anchor]
        top = 190 if anchor == "middle" else 146
        for number, line in enumerate(lines):
            yield _text(place, top + 18 * number, line, "note", anchor)


def _lane(begin: int, end: int, y: int, signal_from: int | None) -> Iterator[str]:
    """An arrow through both routers; thick from where it carries the signal."""
    ahead = 1 if end > begin else -1
    if signal_from is None:
        yield f'<path d="M{begin} {y} H{end}"/>'
    else:
        yield f'<path d="M{begin} {y} H{signal_from}"/>'
        start = begin if signal_from in (LEFT, RIGHT) else signal_from
        yield f'<path class="signal" d="M{start} {y} H{end}"/>'
    # Heads before the far host, and before each router on the way.
    for x in (end, *(router - ahead * 30 for router in (FIRST, SECOND))):
        yield f'<path d="M{x - 8 * ahead} {y - 5} L{x} {y} L{x - 8 * ahead} {y + 5}"/>'


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "") -> str:
    style = f' class="{kind}"' if kind else ""
    style += f' style="text-anchor:{anchor}"' if anchor and anchor != "middle" else ""
    return f'<text x="{x:g}" y="{y:g}"{style}>{escape(text)}</text>'


def main() -> int:
    """Draws the pictures, or checks them."""
    wanted = {FOLDER / f"{name}.svg": draw(picture) for name, picture in pictures().items()}
    if "--check" in sys.argv[1:]:
        return (
            0 if all(path.is_file() and path.read_text(encoding="utf-8") == svg for path, svg in wanted.items()) else 1
        )
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path, svg in wanted.items():
        path.write_text(svg, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
