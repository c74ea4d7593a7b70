"""One look per scheme, everywhere: a colour, a marker and a dash.

Ten looks, no two of which share a colour, a marker or a dash. Their colours maximise the smallest distance (OKLab)
between any two, and to the ideal's grey, for normal, protanopic, deuteranopic and tritanopic eyes at once;
`tests/python/test_palette.py` measures it. A scheme prefers the look of the hue that it asks for. Where two schemes of
a figure prefer the same look, the first in a fixed order keeps it, and the other takes the next free one. That depends
on the set of schemes, not on their order. `choose` overrides. The ideal is grey, with a dash of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from zlib import crc32

from midpath.errors import UsageError
from midpath.metrics import IDEAL
from midpath.schemes import column, described


@dataclass(frozen=True)
class Look:
    """How a scheme's lines are drawn. Dashes and markers have Plotly's names."""

    light: str
    dark: str
    dash: str = "solid"
    shape: str = "circle"


BLUE = Look("#0001E4", "#7266FF", "solid", "circle")
RED = Look("#DC0019", "#F00000", "9px,3px", "square")
GREEN = Look("#007B47", "#13EB95", "2px,3px", "diamond")
PURPLE = Look("#9C349F", "#B5707E", "9px,3px,2px,3px", "triangle-up")
AMBER = Look("#CA8722", "#F3FF35", "16px,4px", "triangle-down")
SKY = Look("#0D95FF", "#35A8FF", "4px,2px", "cross")
BROWN = Look("#7E0307", "#EA9011", "9px,3px,2px,3px,2px,3px", "x")
TEAL = Look("#0E4656", "#BAFFFC", "16px,4px,2px,4px", "star")
MAGENTA = Look("#FF21D8", "#D700BF", "2px,7px", "triangle-left")
INDIGO = Look("#4D0087", "#E9BCFF", "16px,4px,6px,4px", "triangle-right")
GREY = Look("#7A828C", "#A3ABB6", "6px,6px", "pentagon")

HUES = {
    "blue": BLUE, "red": RED, "green": GREEN, "purple": PURPLE, "amber": AMBER, "sky": SKY, "brown": BROWN,
    "teal": TEAL, "magenta": MAGENTA, "indigo": INDIGO,
}  # fmt: skip
# What schemes ask for (`hue` and `dash` of their descriptions), where that is not the name of a look.
ASKED = {"orange": "red"}
ASKED_DOTTED = {"orange": "brown", "green": "teal", "blue": "magenta", "purple": "indigo"}
# Beyond ten curves colours come again, with the marker and the dash of the look so many places on.
TURN = 3
# The least start of the hash of a queue's name from which the nine common queues (test_palette.py) differ.
APART = 687
COLOUR = re.compile(r"#[0-9A-Fa-f]{6}")
# States of a scheme's ports, by their tones: areas, not lines. Grey where nothing is wrong, red where a port asks
# others to slow down. Okabe and Ito's colours (https://jfly.uni-koeln.de/color/).
TONES = {
    "calm": Look("#C9D1DA", "#46505C"),
    "busy": Look("#3F97CF", "#8FD0F7"),
    "alarm": Look("#D55E00", "#FF8A3D"),
    "relief": Look("#009E73", "#2CCB9E"),
}
# A point that joins samples of several states.
SEVERAL = "several"
MIXED = Look("#B8568F", "#E394C0")

# What stands before a variant's name where a scheme's could be.
VARIANT = "variant:"

_chosen: dict[str, str] = {}


def in_order(count: int) -> list[Look]:
    """Looks for things that are no schemes, such as variants and ports, in the order in which they come."""
    return [_turned(list(HUES)[index % len(HUES)], index // len(HUES)) for index in range(count)]


# Ports or flows of one scheme in one plot.
MOST_ENTITIES = 6


def tone_tint(tone: str) -> str:
    """The name of a tone's colour; one that we do not know is calm."""
    return f"tone:{tone if tone in TONES or tone == SEVERAL else 'calm'}"


def tints() -> dict[str, dict[str, str]]:
    """Colours of what is no scheme, by name; of lines also dash and marker."""
    tones = {tone_tint(tone): look for tone, look in (TONES | {SEVERAL: MIXED}).items()}
    others = {"cache": Look("#5D6976", "#98A4B2"), "ink": Look("#16202B", "#E7ECF2")}
    areas = {key: {"light": look.light, "dark": look.dark} for key, look in (tones | others).items()}
    return areas | {key: asdict(look) for key, look in ENTITIES.items()}


def name(scheme: str) -> str:
    """A column's name as people write it: `CUBIC + RPM`, `CUBIC @ fq_codel`."""
    if scheme == IDEAL:
        return "Ideal"
    if scheme.startswith(VARIANT):
        return scheme.removeprefix(VARIANT)
    found = column(scheme)
    titles = " + ".join(described(part).title for part in found.schemes)
    return f"{titles} @ {found.queue}" if found.queue else titles


def set_styles(wanted: Mapping[str, str]) -> None:
    """Sets the looks of schemes by name, for all figures from now on; `set_styles({})` takes that back.

    Each is the name of a look (`blue`, `red`, …: its colour, marker and dash) or a colour as `#rrggbb`, with the marker
    and the dash that the scheme has anyway.
    """
    for scheme, look in wanted.items():
        if look not in HUES and not COLOUR.fullmatch(look):
            raise UsageError(f"{scheme}={look}: write #rrggbb, or one of {', '.join(HUES)}")
    _chosen.clear()
    _chosen.update(wanted)


def preferred(scheme: str) -> str:
    """The name of the look that a scheme has where no other of the figure comes first."""
    if _chosen.get(scheme) in HUES:
        return _chosen[scheme]
    found, names = column(scheme), list(HUES)
    if found.queue:
        # Never the look of the transport over plain queues, which is beside it most of the time.
        plain = names.index(preferred("+".join(found.schemes)))
        return names[(plain + 1 + crc32(found.queue.encode(), APART) % (len(names) - 1)) % len(names)]
    asks = described(found.transport)
    dotted = ASKED_DOTTED.get(asks.hue) if asks.dash == "dot" else None
    hue = dotted or ASKED.get(asks.hue, asks.hue)
    # The same in each figure, whoever else is there.
    return hue if hue in HUES else names[crc32(scheme.encode()) % len(names)]


def looks(schemes: Sequence[str]) -> dict[str, dict[str, str]]:
    """A look for each scheme of a figure: the preferred one where it is free."""
    names, found = list(HUES), {IDEAL: GREY}
    taken: set[tuple[str, int]] = set()
    for scheme in sorted(set(schemes) - {IDEAL}, key=_rank):
        turn = len(taken) // len(names)
        first = names.index(preferred(scheme))
        turned = names[first:] + names[:first]
        hue = next(name for name in turned if (name, turn) not in taken)
        taken.add((hue, turn))
        found[scheme] = _turned(hue, turn)
        if COLOUR.fullmatch(own := _chosen.get(scheme, "")):
            found[scheme] = replace(found[scheme], light=own, dark=own)
    return {scheme: asdict(found[scheme]) for scheme in schemes}


def _rank(scheme: str) -> tuple[bool, bool, bool, str]:
    """Which of two schemes keeps a look: first what the user chose, then whose hue it is, then by name."""
    asks = described(scheme)
    owns = asks.hue in HUES | ASKED and asks.dash in ("", "solid")
    return scheme not in _chosen, not owns, not (asks.dash == "dot" and asks.hue in ASKED_DOTTED), scheme


def _turned(hue: str, turn: int) -> Look:
    """The look of a hue, or after so many full turns its colour with another marker and dash."""
    names = list(HUES)
    other = HUES[names[(names.index(hue) + TURN * turn) % len(names)]]
    return replace(HUES[hue], dash=other.dash, shape=other.shape)


ENTITIES = {f"entity:{index}": look for index, look in enumerate(in_order(MOST_ENTITIES))}
