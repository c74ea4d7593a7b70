"""From runs to RESULTS.md."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from typing import Any

import plan

Row = dict[str, Any]
UNITS = {"small p50": "s", "small p95": "s", "bulk": "Mbps", "silence": "s", "share": "c : b"}


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float, float]:
    """Hodges-Lehmann's estimate of ours over theirs, and the interval of the Mann-Whitney test, at least 95 %."""
    all_of = sorted(math.log(max(x, 1e-9) / max(y, 1e-9)) for x, y in itertools.product(ours, theirs))
    counts, total = rank_sums(len(ours), len(theirs)), math.comb(len(ours) + len(theirs), len(ours))
    below, cut = 0, 0
    for statistic in sorted(counts):
        below += counts[statistic]
        if 2 * below / total > 0.05:
            break
        cut = statistic + 1
    low, high = (all_of[cut - 1], all_of[-cut]) if cut else (-math.inf, math.inf)
    return math.exp(statistics.median(all_of)), math.exp(low), math.exp(high)


def rank_sums(n: int, m: int) -> dict[int, int]:
    """How many orders of n and m values have each value of Mann-Whitney's U."""
    if n == 0 or m == 0:
        return {0: 1}
    found: dict[int, int] = {}
    for statistic, count in rank_sums(n - 1, m).items():
        found[statistic + m] = found.get(statistic + m, 0) + count
    for statistic, count in rank_sums(n, m - 1).items():
        found[statistic] = found.get(statistic, 0) + count
    return found


def values(rows: list[Row], scene: str, system: str, measure: str) -> list[float]:
    """A measure of the valid runs."""
    own = (row for row in rows if (row["scene"], row["system"]) == (scene, system) and not row["invalid"])
    return [row[measure] for row in own]


def days(rows: list[Row]) -> str:
    """When each scene's runs were made."""
    of = {scene.name: sorted({row["at"][:10] for row in rows if row["scene"] == scene.name}) for scene in plan.SCENES}
    return "; ".join(f"{name} {', '.join(each)}" for name, each in of.items() if each)


def around(of: Sequence[float]) -> tuple[float, float]:
    """The sign test's interval of the median, at least 95 %; of fewer than six runs the least and the most."""
    found, n = sorted(of), len(of)
    below, cut = 0, 0
    for k in range(n // 2):
        below += math.comb(n, k)
        if 2 * below / 2**n > 0.05:
            break
        cut = k + 1
    cut = max(cut, 1)
    return found[cut - 1], found[-cut]


def verdict(ours: Sequence[float], theirs: Sequence[float], more_is_better: bool) -> str:
    """What a measure says of us beside one of the kernel's."""
    if not ours or not theirs:
        return "-"
    estimate, low, high = ratio(ours, theirs)
    sign = 1 if more_is_better else -1
    text = f"{estimate:.2f} ({low:.2f}-{high:.2f})"
    if min(sign * (low - 1), sign * (high - 1)) > 0 and (estimate * plan.WIN**-sign - 1) * sign > 0:
        return f"**wins**, {text}"
    if max(sign * (low - 1), sign * (high - 1)) < 0 and (estimate * plan.WIN**sign - 1) * sign < 0:
        return f"loses, {text}"
    return f"level, {text}" if low > 1 / plan.WIN and high < plan.WIN else f"not decided, {text}"


def share_verdict(of: Sequence[float]) -> str:
    """Whether the share is that of the budgets."""
    if not of:
        return "-"
    low, high = around(of)
    wanted = max(plan.BUDGETS.values()) / min(plan.BUDGETS.values())
    return "as budgeted" if low <= 1.1 * wanted and high >= 0.9 * wanted else "not as budgeted"


def shown(of: Sequence[float], unit: str) -> str:
    """A median and what is around it."""
    if not of:
        return "-"
    middle, (low, high) = statistics.median(of), around(of)
    digits = 1 if unit == "Mbps" else 2 if unit == "c : b" else 3
    return f"{middle:.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"


def scene_table(rows: list[Row], scene: plan.Scene) -> str:
    """One scene: what was measured, and who wins."""
    all_of = plan.measures(scene)
    head = [f"{measure}, {UNITS[measure]}" for measure in all_of]
    text = f"## {scene.name[0].upper()}{scene.name[1:]}\n\n{scene.about[0].upper()}{scene.about[1:]}.\n\n"
    text += f"| system | runs, invalid | {' | '.join(head)} |\n|{'---|' * (len(head) + 2)}\n"
    for system in plan.SYSTEMS:
        own = [row for row in rows if (row["scene"], row["system"]) == (scene.name, system)]
        invalid = sum(row["invalid"] for row in own)
        failed = ", **failed**" if 5 * invalid > len(own) else ""
        cells = [shown(values(rows, scene.name, system, measure), UNITS[measure]) for measure in all_of]
        text += f"| {system} | {len(own)}, {invalid}{failed} | {' | '.join(cells)} |\n"
    text += f"\n| ratio to the kernel's | {' | '.join(all_of)} |\n|{'---|' * (len(head) + 1)}\n"
    for ours, theirs in itertools.product(plan.OVERLAY, plan.KERNEL):
        cells = []
        for measure in all_of:
            own = values(rows, scene.name, f"overlay {ours}", measure)
            other = values(rows, scene.name, f"kernel {theirs}", measure)
            said = share_verdict(own) if measure == "share" else verdict(own, other, plan.MEASURES[measure])
            cells.append(said)
        text += f"| overlay {ours} : {theirs} | {' | '.join(cells)} |\n"
    return text + "\n"


def at_a_glance(rows: list[Row]) -> str:
    """The medians of all scenes, a line for each measure."""
    text = f"| scene | median of | {' | '.join(plan.SYSTEMS)} |\n|{'---|' * (len(plan.SYSTEMS) + 2)}\n"
    for scene in plan.SCENES:
        for measure in plan.measures(scene):
            found = (values(rows, scene.name, system, measure) for system in plan.SYSTEMS)
            cells = [f"{statistics.median(of):.3g}" if of else "-" for of in found]
            text += f"| {scene.name} | {measure}, {UNITS[measure]} | {' | '.join(cells)} |\n"
    return text + "\n"


def results(rows: list[Row], file: str) -> str:
    """The page."""
    late = [row["late"] for row in rows if not row["invalid"]]
    worst = {key: max(each[key] for each in late) for key in late[0]} if late else {}
    text = "# Unmodified curls, the kernel's TCP beside the gateway: results\n\n"
    text += f"Generated by `compare.py table` from [{file}]({file}), {len(rows)} runs. "
    text += "[plan.py](plan.py) says what is\nmeasured and what counts as winning, and what was changed after trials. "
    text += f"Days of the\nruns, by scene: {days(rows)}.\nMedians, and intervals of 95 % or more. "
    text += "Of valid runs, the latest in us: "
    text += ", ".join(f"{key} {value}" for key, value in worst.items()) + ".\n\n"
    return text + at_a_glance(rows) + "".join(scene_table(rows, scene) for scene in plan.SCENES).rstrip("\n") + "\n"
