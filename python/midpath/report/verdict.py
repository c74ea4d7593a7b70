"""The report's one sentence: what came out, and whether that is more than luck."""

from __future__ import annotations

from midpath.compare import IDEAL, Comparison, Row
from midpath.palette import name
from midpath.report.model import Model
from midpath.stats import Estimate
from midpath.units import digits, quantity


def verdict(model: Model) -> str:
    """One or two sentences in plain words."""
    if model.comparison is None:
        return _of_run(model)
    return _of_comparison(model.comparison)


def _of_run(model: Model) -> str:
    summary = model.first.summary
    flows, completed = summary["flows"], summary["completed"]
    if flows == completed == 1:
        done = "The flow ended"
    elif completed == flows:
        done = f"All {flows:,} flows ended"
    else:
        done = f"{completed:,} of {flows:,} flows ended"
    parts = [f"{done} within {quantity('seconds', model.first.run['simulated_s'])}"]
    if summary.get("afct_s") is not None:
        average = " on average" if completed > 1 else ""
        parts.append(f"in {quantity('seconds', summary['afct_s'])}{average}")
    busiest = _busiest(model)
    return f"{', '.join(parts)}.{busiest}"


def _busiest(model: Model) -> str:
    ports = model.ports[model.schemes[0]]
    used = ports["utilisation"].dropna()
    if not len(used):
        return ""
    port = ports.loc[used.index[int(used.to_numpy().argmax())]]
    return f" The busiest link, {port['label']}, was {quantity('ratio', port['utilisation'])} used."


def _of_comparison(comparison: Comparison) -> str:
    rows = {row.scheme: row for row in comparison.rows() if row.scheme != IDEAL}
    if not comparison.comparable("afct_s"):
        return _by_completion(list(rows.values()))
    times = {scheme: found for scheme, row in rows.items() if (found := row.figures["afct_s"])}
    if not times:
        return _by_goodput(rows)
    best, *others = sorted(times, key=lambda scheme: times[scheme].mean)
    sentence = f"{name(best)} ends flows soonest: {quantity('seconds', times[best].mean, times[best].ci95)} on average"
    ratio = rows[best].to_ideal.get("afct_s")
    if ratio:
        sentence += f", {digits(ratio.mean)} times the ideal"
    rest = "; ".join(f"{name(other)} {_longer(comparison, other, best, times)}" for other in others)
    luck = (
        " One seed only: repeat with several before you believe small differences."
        if len(comparison.seeds) == 1
        else ""
    )
    return f"{sentence}{f'. {rest}' if rest else ''}.{luck}"


def _longer(comparison: Comparison, other: str, best: str, times: dict[str, Estimate]) -> str:
    if not comparison.told_apart(other, best, "afct_s"):
        return "cannot be told apart from it"
    return f"takes {quantity('ratio', times[other].mean / times[best].mean - 1)} longer"


def _by_completion(rows: list[Row]) -> str:
    """A scheme that ends fewer flows has the better mean over those it ended: no ranking by time, then."""
    best, *others = sorted(rows, key=lambda row: -row.completed)
    ends = "all" if best.completed == best.flows else f"{best.completed:,} of"
    rest = ", ".join(f"{name(row.scheme)} {row.completed:,}" for row in others)
    return f"{name(best.scheme)} ends {ends} {best.flows:,} flows; {rest}. Times are over flows that ended."


def _by_goodput(rows: dict[str, Row]) -> str:
    rates = {scheme: found for scheme, row in rows.items() if (found := row.figures["goodput_total_bps"])}
    if not rates:
        return "No flow delivered anything."
    best = max(rates, key=lambda scheme: rates[scheme].mean)
    return f"{name(best)} delivers most: {quantity('bps', rates[best].mean, rates[best].ci95)} over all flows."
