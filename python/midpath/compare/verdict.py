"""A comparison's verdict in three sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from midpath.compare.comparison import Comparison, Row
from midpath.metrics import IDEAL
from midpath.palette import name
from midpath.stats import Estimate
from midpath.units import listed, quantity


def sentences(comparison: Comparison) -> list[str]:
    """Which scheme ends flows sooner and what is not significant; queue and memory; requirements on routers."""
    rows = {row.scheme: row for row in comparison.rows() if row.scheme != IDEAL}
    found = [_speed(comparison, rows), _memory(rows), _routers(comparison, list(rows))]
    return [sentence for sentence in found if sentence]


def _speed(comparison: Comparison, rows: dict[str, Row]) -> str:
    times = {scheme: found for scheme, row in rows.items() if (found := row.figures["afct_s"])}
    if not times:
        return _by_goodput(rows) if not comparison.matching else _by_completion(list(rows.values()))
    ranking = f"{_ranked(comparison, rows, times)}{missing(times)}{_luck(comparison)}"
    if comparison.matching:
        return f"{_by_completion(list(rows.values()))} {comparison.matching}: of these {ranking}"
    return ranking


def fastest(comparison: Comparison) -> str:
    """The scheme with the lowest AFCT, and how much longer the others take; empty if no scheme has times."""
    rows = {row.scheme: row for row in comparison.rows() if row.scheme != IDEAL}
    times = {scheme: found for scheme, row in rows.items() if (found := row.figures["afct_s"])}
    return _ranked(comparison, rows, times) if len(times) > 1 else ""


def _ranked(comparison: Comparison, rows: Mapping[str, Row], times: Mapping[str, Estimate]) -> str:
    best, *others = sorted(times, key=lambda scheme: times[scheme].mean)
    random = comparison.is_random
    time = quantity("seconds", times[best].mean, times[best].ci95 if random else None)
    sentence = f"{name(best)} has the lowest AFCT: {time}"
    ratio = rows[best].to_ideal.get("afct_s")
    if ratio:
        of_ideal = quantity("times", ratio.mean, ratio.ci95 if random else None).removesuffix("×")
        sentence += f", {of_ideal} times the ideal"
    rest = "; ".join(f"{name(other)} {_longer(comparison, other, best)}" for other in others)
    return f"{sentence}{f'. {rest}' if rest else ''}."


def missing(times: Mapping[str, Estimate]) -> str:
    """Schemes whose mean covers fewer seeds than were run, as no flow ended in the others."""
    parts = [f"{name(scheme)}'s is from {of.n} of {of.of} seeds" for scheme, of in times.items() if not of.is_whole]
    return f" Some seeds gave no time: {'; '.join(parts)}." if parts else ""


def _luck(comparison: Comparison) -> str:
    """A note on few seeds."""
    if not comparison.is_random:
        return ""
    if len(comparison.seeds) == 1:
        return " One seed only: small differences may be chance; repeat with several."
    return " Two seeds only: intervals are wide." if len(comparison.seeds) == 2 else ""


def _longer(comparison: Comparison, other: str, best: str) -> str:
    more = comparison.excess(other, best, "afct_s")
    if more is None or not comparison.told_apart(other, best, "afct_s"):
        return "does not differ significantly"
    return f"takes {quantity('ratio', more.mean, more.ci95 if comparison.is_random else None)} longer"


def _by_completion(rows: list[Row]) -> str:
    """Ranking by completed flows: a scheme that ends fewer flows has the better mean over those it ended."""
    best, *others = sorted(rows, key=lambda row: -row.completed)
    ends = "all" if best.completed == best.flows else f"{best.completed:,} of"
    rest = ", ".join(f"{name(row.scheme)} {row.completed:,}" for row in others)
    return f"{name(best.scheme)} completes {ends} {best.flows:,} flows{f'; {rest}' if rest else ''}."


def _by_goodput(rows: dict[str, Row]) -> str:
    rates = {scheme: found for scheme, row in rows.items() if (found := row.figures["goodput_total_bps"])}
    if not rates:
        return "No flow delivered anything."
    best = max(rates, key=lambda scheme: rates[scheme].mean)
    return (
        f"{name(best)} has the highest goodput: {quantity('bps', rates[best].mean, rates[best].ci95)} over all flows."
    )


def _memory(rows: dict[str, Row]) -> str:
    """Memory used by ports, and packets' waiting times, from least to most."""
    held = {scheme: found.mean for scheme, row in rows.items() if (found := row.figures["queue_max_bytes"])}
    waits = {scheme: found.mean for scheme, row in rows.items() if (found := row.figures["queue_delay_p99_s"])}
    if len(held) < 2 or len(waits) < len(held):
        return ""

    def of(scheme: str) -> str:
        return f"{quantity('bytes', held[scheme])} with {name(scheme)} ({quantity('seconds', waits[scheme])})"

    least, *_, most = sorted(held, key=lambda scheme: held[scheme])
    return f"The fullest port held {of(least)} to {of(most)}; in brackets the 99th percentile of a packet's wait."


def _routers(comparison: Comparison, schemes: Sequence[str]) -> str:
    """Schemes that run in routers, and those that do not."""
    plain = [scheme for scheme in schemes if _is_plain(comparison, scheme)]
    others = [scheme for scheme in schemes if scheme not in plain]
    if not others:
        return ""
    if not plain:
        return f"{listed([*map(name, others)])} {'runs' if len(others) == 1 else 'run'} in the routers, too."
    run = "runs" if len(others) == 1 else "run"
    stay, change = (listed([*map(name, some)]) for some in (plain, others))
    return f"Routers stay as they are for {stay}; {change} {run} in them, too."


def _is_plain(comparison: Comparison, scheme: str) -> bool:
    deployed = comparison.of(scheme)[0].run.get("deployment") or []
    return all(instance["scheme"] == "none" for instance in deployed)
