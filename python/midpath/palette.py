"""One colour per scheme, everywhere.

Okabe and Ito's palette (https://jfly.uni-koeln.de/color/), made for all kinds of colour vision, in the order of
contrast on white; on a dark page the same hues, lighter. The ideal is grey and dashed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from midpath.metrics import IDEAL


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

# Schemes that are often compared with each other are far apart. A dash tells two schemes of one hue apart.
KNOWN = {
    "newreno": BLUE,
    "cubic": ORANGE,
    "dctcp": GREEN,
    "inrpp": PURPLE,
    "fcp": AMBER,
    "mircc": SKY,
    "rpm": Look(PURPLE.light, PURPLE.dark, "dot"),
    "cubic+rpm": Look(ORANGE.light, ORANGE.dark, "dot"),
    "rcp": Look(AMBER.light, AMBER.dark, "dot"),
    "xcp": Look(SKY.light, SKY.dark, "dot"),
    "mptcp": Look(BLUE.light, BLUE.dark, "dot"),
    "hpcc": Look(GREEN.light, GREEN.dark, "dot"),
    "ndn": Look(ORANGE.light, ORANGE.dark, "dashdot"),
    IDEAL: GREY,
}
NAMES = {
    "newreno": "NewReno",
    "cubic": "CUBIC",
    "dctcp": "DCTCP",
    "inrpp": "INRPP",
    "fcp": "FCP",
    "mircc": "MIRCC",
    "rpm": "RPM",
    "rcp": "RCP",
    "xcp": "XCP",
    "mptcp": "MPTCP",
    "hpcc": "HPCC",
    "ndn": "NDN",
    "bbr": "BBR",
    IDEAL: "Ideal",
}
# What the laboratory's router does with signals.
LAB_MODES = {"fwd": "marks forward", "rpm": "RPM", "both": "both"}
# The states of a scheme's ports, by the numbers that its gauge `state` shows. Grey where nothing is wrong, red where a
# port asks others to slow down.
CALM = Look("#C9D1DA", "#46505C")
STATES = {
    "inrpp": (
        ("Push", CALM),
        ("Store-and-Detour", SKY),
        ("Backpressure", ORANGE),
        ("Disable-Backpressure", GREEN),
    ),
}
# A point that joins samples of several states.
SEVERAL = -1
# Ports or flows of one scheme in one plot.
ENTITIES = {f"entity:{index}": look for index, look in enumerate((BLUE, ORANGE, GREEN, PURPLE, AMBER, SKY))}


def state_tint(scheme: str, state: int) -> str:
    """The name of a state's colour."""
    return f"state:{scheme}:{state}"


def tints() -> dict[str, dict[str, str]]:
    """Colours of what is no scheme, by name."""
    states = {state_tint(s, i): look for s, found in STATES.items() for i, (_, look) in enumerate(found)}
    several = {state_tint(scheme, SEVERAL): PURPLE for scheme in STATES}
    others = {"cache": Look("#5D6976", "#98A4B2"), "ink": Look("#16202B", "#E7ECF2")}
    return {key: asdict(look) for key, look in (states | several | ENTITIES | others).items()}


def name(scheme: str) -> str:
    """The scheme's name as people write it; `cubic-rpm` is a laboratory's: CUBIC through a router with RPM."""
    control, dash, mode = scheme.partition("-")
    if dash and mode in LAB_MODES:
        return f"{NAMES.get(control, control)}, {LAB_MODES[mode]}"
    # A transport over a network.
    return " + ".join(NAMES.get(part, part) for part in scheme.split("+"))


def looks(schemes: Sequence[str]) -> dict[str, dict[str, str]]:
    """A look for each scheme; one that we do not know takes a hue that is free."""
    taken = {KNOWN[scheme].light for scheme in schemes if scheme in KNOWN}
    free = [look for look in (BLUE, ORANGE, GREEN, PURPLE, AMBER, SKY) if look.light not in taken]
    spare = iter([*free, *(Look(look.light, look.dark, "dashdot") for look in (BLUE, ORANGE, GREEN, PURPLE))])
    return {scheme: asdict(KNOWN.get(scheme) or next(spare, GREY)) for scheme in schemes}
