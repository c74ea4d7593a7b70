"""An evaluation as text: tables, the Markdown report, and the command behind each row."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from midpath.evaluate.found import Difference, Evaluation
from midpath.evaluate.items import LEVELS, Item
from midpath.evaluate.suites import DEFAULT, SUITES
from midpath.evaluate.verdict import HOLDS, MOST, NOT
from midpath.markdown import head, line
from midpath.units import quantity

SCENARIOS = "scenarios"
# In what a bound is from, where it is TCP in the same scenario.
RELATIVE = ("NewReno and CUBIC",)
# How an evaluation is read.
READ = (
    "Bounds were fixed before the first run. Intervals are of 95 %, for the worst case of each measure, all cases at "
    "once. TCP is the slower, or the worse, of NewReno and CUBIC in the same scenario with the same seed."
)


def slug(text: str) -> str:
    """As a file's name."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-")


def scenario_file(scheme: str, item: str, case: str) -> str:
    """Where the scenario of a case is, in the evaluation's folder."""
    return str(PurePosixPath(SCENARIOS) / slug(scheme) / f"{item}-{slug(case)}.toml")


def packets(told: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """The commands that show packets behind a row."""
    look = row["look"]
    if not look:
        return ""
    file, at = scenario_file(row["scheme"], row["item"], look["case"]), look["at_s"]
    if by := told["schemes"][row["scheme"]].get("packets"):
        return str(by).format(file=file, seed=told["seeds"][0])
    trace = f"from={max(0.0, at - 1):g}s,for=2s,nodes=hosts"
    code = "".join(f" --with {shlex.quote(one)}" for one in told["with"])
    run = f'midpath run {file} --seed {told["seeds"][0]}{code} --trace "{trace}" --out trace'
    return f"{run} && midpath why trace --flow {look['flow']} --at {at:g}s"


def interval(measure: Mapping[str, Any]) -> str:
    """`0.97 (0.95 to 1.02)`."""
    worst, kind = measure["worst"], measure["kind"]
    if worst is None:
        return "no value"
    mean, low, high = (_shown(kind, worst[key]) for key in ("mean", "low", "high"))
    return f"{mean} ({low} to {high})"


def bound(measure: Mapping[str, Any]) -> str:
    """`at most 5.00 %`."""
    return f"{measure['bound_is']} {_shown(measure['kind'], measure['bound'])}"


def _shown(kind: str, value: float) -> str:
    if abs(value) >= MOST or not math.isfinite(value):
        return "∞" if value > 0 else "−∞"
    return quantity(kind, value)


def summary(found: Evaluation, scheme: str) -> str:
    """`MUST: 8 hold, 1 does not, 1 undecided, 1 not applicable`, for each level: there is no score."""
    parts = []
    for level, counts in found.count(scheme).items():
        words = {HOLDS: "hold", NOT: "do not hold"}
        said = [f"{count} {words.get(verdict, verdict)}" for verdict, count in counts.items() if count]
        if said:
            parts.append(f"{level}: {', '.join(said)}")
    return ". ".join(parts)


def title(found: Evaluation) -> str:
    """`RFC 9743, item by item`."""
    return f"{SUITES[found.told['suite']].title}, item by item"


def command(found: Evaluation, scheme: str) -> str:
    """What to type for the same."""
    told, about = found.told, found.told["schemes"][scheme]
    words = ["midpath", "evaluate", about["name"]]
    words += [f"--set {key}='{value}'" for key, value in about["changes"].items()]
    words += [f"--with {shlex.quote(one)}" for one in told["with"]]
    words += [f"--suite {told['suite']}"] if told["suite"] != DEFAULT else []
    all_items = [item.name for item in SUITES[told["suite"]].items]
    words += [f"--items {','.join(told['items'])}"] if told["items"] != all_items else []
    words += ["--quick"] if told["quick"] else []
    words += [f"--seeds {len(told['seeds'])}", f"--seed {told['seeds'][0]}", "--out DIR"]
    return " ".join(words)


def report(found: Evaluation) -> Iterator[str]:
    """REPORT.md."""
    told = found.told
    yield f"# {title(found)}\n"
    yield f"Midpath {told['midpath']}, {said_seeds(told['seeds'])}. {READ}"
    for scheme in told["subjects"]:
        yield f"\n## {scheme}\n"
        yield f"{summary(found, scheme)}. There is no score.\n"
        yield f"`{command(found, scheme)}`\n"
        yield from rows(found, scheme)
        yield from remarks(found, scheme)


def rows(found: Evaluation, scheme: str) -> Iterator[str]:
    """A scheme's table: a line for each item, and one for each of its measures."""
    yield head(["item", "level", "verdict", "measured", "interval", "bound"])
    for row in found.told["rows"]:
        if row["scheme"] != scheme:
            continue
        verdict = f"**{row['verdict']}**" if row["verdict"] == NOT else row["verdict"]
        why = row["why"] if not row["measures"] else ""
        yield line([f"{row['item']} {row['title']}", row["level"], verdict, why, "", ""])
        for one in row["measures"]:
            case = one["worst"] and len(one["values"]) > 1
            label = f"{one['measure']} ({one['worst']['case']})" if case else one["measure"]
            level = one["level"] if one["level"] != row["level"] else ""
            yield line(["", level, one["verdict"], label, interval(one), bound(one)])


def remarks(found: Evaluation, scheme: str) -> Iterator[str]:
    """Packets behind rows, and what is not built."""
    own = [row for row in found.told["rows"] if row["scheme"] == scheme]
    yield "\nPackets behind a row, in the evaluation's folder:\n"
    yield "```sh"
    for row in own:
        if text := packets(found.told, row):
            yield f"{text}  # {row['item']}"
    yield "```\n"
    yield from (f"- {row['item']}: {text}" for row in own for text in off(row))
    missing = [row for row in own if row["not_built"]]
    if missing:
        yield "\nNot built:\n"
        yield from (f"- {row['item']}: {row['not_built']}" for row in missing)


def off(row: Mapping[str, Any]) -> Iterator[str]:
    """Cases of an item that do not apply, where others do."""
    if row["measures"]:
        yield from (f"not applicable in {case}: {why}" for case, why in row["not_applicable"].items())


def said_seeds(seeds: Sequence[int]) -> str:
    """`seeds 1 to 10`."""
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"


def bounds(items: Sequence[Item]) -> Iterator[str]:
    """The table of items with measures and bounds, for pages of results. A measure over TCP's says by its
    name where its bound is from.
    """
    yield head(["item", "level", "measure", "bound", "from"])
    for item in items:
        name = f"{item.name} {item.title}"
        if not item.measures:
            yield line([name, item.level, item.text or "not built", "", item.missing])
        for one in item.measures:
            told = {"bound_is": "at least" if one.at_least else "at most", "kind": one.kind, "bound": one.bound}
            source = "" if any(reference in one.source for reference in RELATIVE) else one.source
            yield line([name, one.level or item.level, one.label, bound(told), source])
            name = ""


def changed(found: Evaluation, one: str, two: Evaluation, theirs: str, other: str) -> Iterator[str]:
    """Items whose verdict is another."""
    mine, its = found.verdicts(one), two.verdicts(theirs)
    both = [item for item in mine if item in its]
    rows = [(item, mine[item], its[item]) for item in both if mine[item] != its[item]]
    yield f"{len(rows)} of {len(both)} verdicts differ between {one} and {other}.\n"
    if rows:
        yield head(["item", "level", one, other])
        for item, verdict, before in rows:
            row = found.row(item, one)
            yield line([f"{item} {row['title']}", row["level"], verdict, before])
        yield ""


def differences(found: Sequence[Difference], one: str, other: str) -> Iterator[str]:
    """What differs by more than luck."""
    told = [found_one for found_one in found if found_one.is_told]
    yield f"{len(told)} of {len(found)} numbers differ between {one} and {other}, paired by seed, at 95 % each.\n"
    yield head(["item", "measure", "case", one, other, "difference"])
    for d in told:
        cells = (_shown(d.kind, d.one), _shown(d.kind, d.other), quantity(d.kind, d.by.mean, d.by.ci95))
        yield line([d.item, d.measure, d.case, *cells])


__all__ = ["LEVELS", "bounds", "command", "differences", "report", "rows", "scenario_file", "slug", "summary"]
