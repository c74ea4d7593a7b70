"""Draws docs/images/schemes/*.svg: what travels along a path, and what ends and ports do with it.

python scripts/pictures.py            draws them
python scripts/pictures.py --check    fails if that would change one
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "schemes"
WIDTH, HEIGHT = 860, 222
# Where the two hosts and the two routers stand, and the lanes there and back.
LEFT, FIRST, SECOND, RIGHT = 75, 265, 595, 785
THERE, BACK, MIDDLE = 62, 108, 85
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
    ends: tuple[str, str] = ("sender", "receiver")
    there_from: int | None = None
    """From here on what goes there carries the scheme's signal; drawn thick."""
    back_from: int | None = None
    """The same for what comes back."""
    around: str = ""
    """A second way, drawn above, with this label."""


PICTURES = {
    "mid-path": Picture(
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
    ),
    "tcp": Picture(
        "TCP: the two ends alone",
        ["window grows with ACKs,", "shrinks at a loss or an echo"],
        ["drop what finds no room;", "with an AQM: drop or mark earlier"],
        ["acknowledges what came,", "echoes marks (ECE)"],
        "data; CE if a port has marked them",
        "ACK; ECE if data were marked",
        there_from=SECOND,
        back_from=RIGHT,
    ),
    "rpm": Picture(
        "RPM: the mark takes the short way back",
        ["any TCP with ECN,", "unmodified"],
        ["AQM chooses a packet: the flow's register + 1", "next ACK of the flow: set ECE, register − 1"],
        ["unmodified;", "sees no mark"],
        "data, not marked",
        "ACK; ECE from the congested port on",
        back_from=SECOND,
    ),
    "fcp": Picture(
        "FCP: links have prices, senders have budgets",
        ["rate = budget / price", "of the path"],
        ["price of the link, from what is paid", "and what it can carry: added to the packet's"],
        ["echoes the sum"],
        "data; price so far",
        "ACK; price of the path",
        there_from=FIRST,
        back_from=RIGHT,
    ),
    "inrpp": Picture(
        "INRPP: store, detour, push back hop by hop",
        ["as fast as its link (open loop);", "once told: a packet per ACK"],
        ["store what exceeds the link; send part around", "cache above S_high: ask the hop before to slow down"],
        ["plain ACKs"],
        "data",
        "ACK; slow-down, from hop to hop",
        back_from=SECOND,
        around="detour",
    ),
    "mircc": Picture(
        "MIRCC: rates stamped on returning Data",
        ["sends Interests at the stamped", "rates, over all its paths"],
        ["let go as many Interests as Data have room;", "compute a rate for each of two classes"],
        ["answers each Interest", "with Data"],
        "Interests",
        "Data; least rate of the path",
        ends=("consumer", "producer"),
        back_from=SECOND,
        around="another path",
    ),
    "rcp": Picture(
        "RCP: one rate for all flows of a link",
        ["sends at the echoed rate"],
        ["compute one rate for all flows;", "lower the packet's rate to it"],
        ["echoes the rate"],
        "data; least rate so far",
        "ACK; least rate of the path",
        there_from=FIRST,
        back_from=RIGHT,
    ),
    "xcp": Picture(
        "XCP: ask for a change, get what the path allows",
        ["window moves by", "the feedback"],
        ["share out what is spare, move some", "from flow to flow: lower the request"],
        ["returns the change"],
        "data; throughput, round trip, wish",
        "ACK; change allowed by the path",
        there_from=FIRST,
        back_from=RIGHT,
    ),
    "hpcc": Picture(
        "HPCC: each port says how busy it is",
        ["window from the busiest", "port of the path"],
        ["write rate, queue, bytes sent and time", "(int = ack: into the ACK, the short way)"],
        ["echoes the readings"],
        "data; a reading per port",
        "ACK; the readings",
        there_from=FIRST,
        back_from=RIGHT,
    ),
    "bbr": Picture(
        "BBR: the sender measures the path and sends at its rate",
        ["rate: the most delivered of late,", "window: twice rate times least round trip"],
        ["any queue:", "nothing new in the network"],
        ["acknowledges"],
        "data at a pace; faster now and then, to probe",
        "ACK",
    ),
    "powertcp": Picture(
        "PowerTCP: each port says how busy it is, senders follow the power",
        ["window from the power:", "what arrives times what waits"],
        ["write rate, queue, bytes sent and time"],
        ["echoes the readings"],
        "data; a reading per port",
        "ACK; the readings",
        there_from=FIRST,
        back_from=RIGHT,
    ),
    "timely": Picture(
        "TIMELY: the rate follows how the round trip changes",
        ["rate: less as round trips grow,", "more as they do not"],
        ["any queue:", "nothing new in the network"],
        ["acknowledges each packet"],
        "data at a pace",
        "ACK",
    ),
    "swift": Picture(
        "Swift: the window keeps the round trip at a target",
        ["window: a packet more per round trip", "below the target, less above it"],
        ["any queue:", "nothing new in the network"],
        ["acknowledges each packet"],
        "data",
        "ACK",
    ),
    "bolt": Picture(
        "Bolt: a congested port tells the sender itself",
        ["window: a packet less for notices,", "a packet more where an ACK says so"],
        ["congested: tell the sender;", "else hand out what the link has left"],
        ["returns what is said", "of each packet"],
        "data; may its ACK raise the window?",
        "ACK; and notices, from the port on",
        there_from=FIRST,
        back_from=SECOND,
    ),
    "dcqcn": Picture(
        "DCQCN: marks cut the rate, time and bytes take it back",
        ["rate: cut by notifications,", "back in halves, then beyond"],
        ["mark between two", "lengths of the queue"],
        ["counts marks"],
        "data at a pace; CE if a port has marked them",
        "ACK; marks counted",
        there_from=SECOND,
        back_from=RIGHT,
    ),
    "mptcp": Picture(
        "MPTCP: one stream over several paths",
        ["a TCP on each path,", "windows coupled"],
        ["any queue:", "nothing new in the network"],
        ["puts the stream together,", "one window for all paths"],
        "data of subflow 1",
        "ACK; data ACK of the whole stream",
        around="subflow 2",
    ),
    "ndn": Picture(
        "NDN with a window: one Interest, one Data",
        ["window of Interests: grows with", "Data, shrinks at marks and timeouts"],
        ["any queue: drop, or mark Data;", "remember who waits for which name"],
        ["answers each Interest", "with Data"],
        "Interests",
        "Data; mark if a port was congested",
        ends=("consumer", "producer"),
        back_from=SECOND,
    ),
}


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
    wanted = {FOLDER / f"{name}.svg": draw(picture) for name, picture in PICTURES.items()}
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
