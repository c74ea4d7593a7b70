"""`midpath estimate`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from midpath.console import text
from midpath.console.options import File, Json, Seed, Set, Variant, changes, names_in, print_json, read
from midpath.console.progress import steps
from midpath.errors import UsageError
from midpath.estimate import FEWEST, MOST, PILOT, SHARE, Estimates, Figure
from midpath.estimate import estimate as estimate_schemes
from midpath.metrics import BY_KEY
from midpath.palette import name
from midpath.units import quantity


def estimate(
    file: File,
    schemes: Annotated[list[str], typer.Option(help="Comma-separated schemes.", show_default=False)],
    flows: Annotated[int, typer.Option(help="Maximum flows per workload.", min=FEWEST)] = MOST,
    pilot: Annotated[int, typer.Option(help="Initial packet-level flows.", min=FEWEST)] = PILOT,
    share: Annotated[float, typer.Option(help="Maximum share of packet-level flows.", min=0.0, max=1.0)] = SHARE,
    variant: Variant = None,
    seed: Seed = None,
    settings: Set = None,
    json: Json = False,
) -> None:
    """Estimate completion times of many flows by the fluid model and a short packet run, with error bands.

    Figures with a 95 % band above 30 % are refused.
    """
    names = names_in(schemes)
    if not names:
        raise UsageError("--schemes is empty")
    given = read(file, variant=variant)
    asked = given.with_(changes=changes(settings))
    with steps("estimate") as at:
        found = estimate_schemes(asked, names, flows=flows, pilot=pilot, share=share, seed=seed, at=at)
    if json:
        print_json([one.to_json() for one in found])
        return
    heads = ["Scheme", "By packets", *(BY_KEY[one.figure].label for one in found[0].figures)]
    title = f"{found[0].flows:,} flows in the fluid model, the first ones at packet level; in brackets, 95 % bands"
    text.print_table(heads, [_row(one) for one in found], title)
    for note in [*found[0].notes, *_refusals(found)]:
        text.console().print(f"note: {note}", soft_wrap=True)


def _row(one: Estimates) -> list[str]:
    return [name(one.scheme), f"{one.pilot:,}", *(_shown(figure) for figure in one.figures)]


def _shown(figure: Figure) -> str:
    if figure.value is None or figure.low is None or figure.high is None:
        return "refused"
    low, value, high = (quantity("seconds", one) for one in (figure.low, figure.value, figure.high))
    return f"{value} ({low} to {high})"


def _refusals(found: list[Estimates]) -> Iterator[str]:
    for one in found:
        for figure in one.figures:
            if figure.refused:
                yield f"{name(one.scheme)}, {BY_KEY[figure.figure].label}: {figure.refused}"
