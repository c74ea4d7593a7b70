"""One colour per scheme, everywhere.

Okabe and Ito's palette (https://jfly.uni-koeln.de/color/), made for all kinds of colour vision, in the order of
contrast on white; on a dark page the same hues, lighter. Which of them a scheme has, it says itself. The ideal is grey
and dashed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from midpath.metrics import IDEAL
from midpath.schemes import described


@dataclass(frozen=True)
class Look:
    """How a scheme's lines are drawn."""

    light: str
    dark: str
    dash: str = "solid"


BLUE = Look("#0072B2", "#4FB0EA")
ORANGE = Look("#D55E00", "#FF8A3D")
GREEN = Look("#009E73", "#2CCB9E")
PURPLE = Look("#B8568F", "#E394C0")
AMBER = Look("#C98500", "#F2B632")
SKY = Look("#3F97CF", "#8FD0F7")
GREY = Look("#7A828C", "#A3ABB6", "dash")

HUES = {"blue": BLUE, "orange": ORANGE, "green": GREEN, "purple": PURPLE, "amber": AMBER, "sky": SKY}
# States of a scheme's ports, by their tones. Grey where nothing is wrong, red where a port asks others to slow down.
TONES = {"calm": Look("#C9D1DA", "#46505C"), "busy": SKY, "alarm": ORANGE, "relief": GREEN}
# A point that joins samples of several states.
SEVERAL = "several"
# Ports or flows of one scheme in one plot.
ENTITIES = {f"entity:{index}": look for index, look in enumerate((BLUE, ORANGE, GREEN, PURPLE, AMBER, SKY))}


# What stands before a variant's name where a scheme's could be.
VARIANT = "variant:"


def tone_tint(tone: str) -> str:
    """The name of a tone's colour; one that we do not know is calm."""
    return f"tone:{tone if tone in TONES or tone == SEVERAL else 'calm'}"


def tints() -> dict[str, dict[str, str]]:
    """Colours of what is no scheme, by name."""
    tones = {tone_tint(tone): look for tone, look in (TONES | {SEVERAL: PURPLE}).items()}
    others = {"cache": Look("#5D6976", "#98A4B2"), "ink": Look("#16202B", "#E7ECF2")}
    return {key: asdict(look) for key, look in (tones | ENTITIES | others).items()}


def name(scheme: str) -> str:
    """The scheme's name as people write it; of a transport over a network, both."""
    if scheme == IDEAL:
        return "Ideal"
    if scheme.startswith(VARIANT):
        return scheme.removeprefix(VARIANT)
    return " + ".join(described(part).title for part in scheme.split("+"))


def known(scheme: str) -> Look | None:
    """The look that a scheme asks for; a transport over a network has the transport's hue and the network's dash."""
    if scheme == IDEAL:
        return GREY
    transport, _, network = scheme.partition("+")
    hue, dash = described(transport), described(network or transport)
    return replace(HUES[hue.hue], dash=dash.dash or "solid") if hue.hue in HUES else None


def looks(schemes: Sequence[str]) -> dict[str, dict[str, str]]:
    """A look for each scheme; one that asks for none takes a hue that is free."""
    asked = {scheme: look for scheme in schemes if (look := known(scheme))}
    taken = {look.light for look in asked.values()}
    free = [look for look in HUES.values() if look.light not in taken]
    spare = iter([*free, *(replace(look, dash="dashdot") for look in (BLUE, ORANGE, GREEN, PURPLE))])
    return {scheme: asdict(asked.get(scheme) or next(spare, GREY)) for scheme in schemes}
