"""Variants as curves: completion times, goodput and queues of each scheme, a look for each variant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace

from midpath.compare.variants import Variants
from midpath.palette import VARIANT, in_order, name
from midpath.report.figure import Figure
from midpath.report.flows import completion
from midpath.report.model import Model
from midpath.report.time import goodput, queues

DRAWN: tuple[Callable[[Model], Figure], ...] = (completion, goodput, queues)


def curves(found: Variants) -> Iterator[Figure]:
    """A figure of each sort, in which the reader chooses the scheme."""
    models = {scheme: _model(found, scheme) for scheme in found.schemes}
    for draw in DRAWN:
        yield _joined(found, {scheme: draw(model) for scheme, model in models.items()})


def variant_looks(found: Variants) -> dict[str, dict[str, str]]:
    """A look for each variant."""
    looks = in_order(len(found.names))
    return {VARIANT + of: asdict(look) for of, look in zip(found.names, looks, strict=True)}


def _model(found: Variants, scheme: str) -> Model:
    """Variants of one scheme as the schemes of a comparison."""
    runs = {VARIANT + of: comparison.of(scheme) for of, comparison in found.comparisons.items()}
    return Model(found.title, found.source, found.scenario, found.seeds, runs, None)


def _joined(found: Variants, figures: dict[str, Figure]) -> Figure:
    first = next(iter(figures.values()))
    states = {f"{scheme} {key}": state for scheme, one in figures.items() for key, state in one.variants.items()}
    options, groups = {}, {}
    for scheme, one in figures.items():
        for key in one.variants:
            options[f"{scheme} {key}"] = one.options.get(key, key) or name(scheme)
            groups[f"{scheme} {key}"] = name(scheme) if len(one.variants) > 1 else ""
    keys = [(VARIANT + of, of) for of in found.names]
    return replace(first, variants=states, choose="Show", options=options, groups=groups, keys=keys)
