"""The report's opening sentences: the result, and its significance."""

from __future__ import annotations

from midpath.compare.verdict import sentences
from midpath.report.model import Model
from midpath.units import quantity


def verdict(model: Model) -> str:
    """A few sentences in plain words."""
    if model.comparison is None:
        return _of_run(model)
    return " ".join(sentences(model.comparison))


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
