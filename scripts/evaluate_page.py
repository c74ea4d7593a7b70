"""Writes what pages say of `midpath evaluate`, from the committed results in evidence/bench/evaluate.

    python scripts/evaluate_page.py               writes the pages and the picture
    python scripts/evaluate_page.py --take DIR    first takes the results of an evaluation, without the values by seed
    python scripts/evaluate_page.py --add DIR     the same of other schemes, beside those that there are

- evidence/bench/evaluate/RESULTS.md, docs/images/evaluate.svg, and which results docs/evaluate.md shows;
- RESULTS.md of each other suite, in a folder below;
- in `linux`, what Linux's TCPs do in the laboratory, beside the simulator's.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from midpath.evaluate.found import MARKER, Evaluation, load_evaluation
from midpath.evaluate.picture import overview
from midpath.evaluate.suites import DEFAULT, SUITES
from midpath.evaluate.text import READ, bound, bounds, interval, off, said_seeds, summary, title
from midpath.evaluate.verdict import FAILED, HOLDS, NOT, OFF, UNDECIDED
from midpath.lab.evaluated import agreements
from midpath.markdown import filled, head, line
from midpath.units import quantity

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "evidence/bench/evaluate"
LINUX = FOLDER / "linux"
PAGE, PICTURE, RESULTS = ROOT / "docs/evaluate.md", ROOT / "docs/images/evaluate.svg", "RESULTS.md"
LETTERS = {HOLDS: "✓", NOT: "✗", UNDECIDED: "?", FAILED: "!", OFF: "–"}


def take(folder: Path, add: bool = False) -> None:
    """Keeps what the pages say of an evaluation, a row a line: no values by seed, no bounds' reasons."""
    told = dict(load_evaluation(folder).told)
    is_linux = any("version" in about for about in told["schemes"].values())
    rows = [_without(row, "look", "not_built") for row in told.pop("rows")]
    for row in rows:
        # The laboratory's page has what measures are made of.
        dropped = ("values", "bound_from", *(() if is_linux else ("figures",)))
        row["measures"] = [_without(measure, *dropped) for measure in row["measures"]]
    own = LINUX if is_linux else FOLDER if told["suite"] == DEFAULT else FOLDER / told["suite"]
    if add:
        before = dict(load_evaluation(own).told)
        alike = ("midpath", "suite", "quick", "seeds", "with", "items")
        assert all(before[key] == told[key] for key in alike), f"not alike: {alike}"
        rows = [row for row in before["rows"] if row["scheme"] not in told["subjects"]] + rows
        others = [name for name in before["subjects"] if name not in told["subjects"]]
        told |= {"subjects": [*others, *told["subjects"]]}
        own_defaults = {about["name"]: told["defaults"][about["name"]] for about in told["schemes"].values()}
        told |= {"schemes": before["schemes"] | told["schemes"], "defaults": before["defaults"] | own_defaults}
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    start = json.dumps(told, ensure_ascii=False)[:-1]
    own.mkdir(parents=True, exist_ok=True)
    (own / MARKER).write_text(f'{start}, "rows": [\n{lines}\n]}}\n', encoding="utf-8")


def _without(row: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in keys}


def folders() -> list[Path]:
    """Where results are: of RFC 9743, then of other suites."""
    return sorted(path.parent for path in FOLDER.rglob(MARKER))


def written(found: Evaluation) -> Iterator[str]:
    """Which results these are."""
    told = found.told
    words = ["midpath", "evaluate NAME", *([f"--suite {told['suite']}"] if told["suite"] != DEFAULT else [])]
    names = [about["name"] for about in told["schemes"].values()]
    if any(":" in name for name in names):
        words[1:] = [
            f"evaluate {' '.join(names)}",
            f"--items {','.join(told['items'])}",
            f"--seeds {len(told['seeds'])}",
        ]
    words += [*(["--quick"] if told["quick"] else []), "--out DIR"]
    yield f"Midpath {told['midpath']}, {said_seeds(told['seeds'])}: `{' '.join(words)}`."


def results(found: Evaluation) -> Iterator[str]:
    """RESULTS.md."""
    yield f"# {title(found)}\n"
    yield from written(found)
    yield f"Written by `python scripts/evaluate_page.py`. {READ}"
    yield f"\n{', '.join(f'{letter}: {verdict}' for verdict, letter in LETTERS.items())}. There is no score.\n"
    items = [item for item in found.told["items"] if any(item_is_measured(found, item))]
    yield head(["", *items])
    for scheme in found.told["subjects"]:
        verdicts = found.verdicts(scheme)
        yield line([scheme, *(LETTERS[verdicts[item]] for item in items)])
    yield from agreement(found)
    for scheme in found.told["subjects"]:
        yield f"\n## {scheme}\n\n{summary(found, scheme)}.\n"
        for row in found.told["rows"]:
            if row["scheme"] == scheme:
                yield from _misses(row)
    yield "\n## Items, measures, bounds\n"
    yield from bounds([item for item in SUITES[found.told["suite"]].items if item.name in found.told["items"]])


def agreement(found: Evaluation) -> Iterator[str]:
    """Linux's schemes beside the simulator's, figure by figure."""
    lines = list(agreements(found))
    if not lines:
        return
    versions = dict.fromkeys(
        v.partition(" ")[0] for about in found.told["schemes"].values() if (v := about.get("version"))
    )
    yield "\n## Linux beside the simulator\n"
    yield f"User-mode Linux {', '.join(versions)} in virtual time; means over the same seeds of what measures compare."
    yield "Margins were fixed before the first run. "
    yield f"{sum(one.is_within for one in lines)} of {len(lines)} figures are within them.\n"
    yield head(["item", "of", "scheme", "Linux", "simulated", "margin", "within"])
    for one in lines:
        label = one.measure.replace(" over TCP's", "").replace(" above TCP's", "")
        numbers = (quantity(one.kind, one.linux), quantity(one.kind, one.simulated))
        within = "yes" if one.is_within else "**no**"
        yield line([one.item, f"{label} ({one.case})", one.scheme, *numbers, one.margin, within])


def item_is_measured(found: Evaluation, item: str) -> Iterator[bool]:
    """Of each scheme: whether an item has a verdict by measurement."""
    return (row["verdict"] in LETTERS for row in found.told["rows"] if row["item"] == item)


def _misses(row: Mapping[str, Any]) -> Iterator[str]:
    if row["verdict"] == FAILED or (row["verdict"] == OFF and row["why"]):
        yield f"- {row['item']} {row['title']}: {row['verdict']}: {row['why']}"
    yield from (f"- {row['item']} {row['title']}: {text}" for text in off(row))
    for one in row["measures"]:
        if one["verdict"] != HOLDS:
            case = one["worst"]["case"] if one["worst"] else ""
            said = f"{one['measure']} ({case}): {interval(one)}, {bound(one)}"
            yield f"- {row['item']} {row['title']}, {one['level']}, {one['verdict']}: {said}"


PARTS = {"written": written}


def page(old: str, found: Evaluation) -> str:
    """docs/evaluate.md with its tables in their places."""
    return filled(old, "evaluate", lambda name: "\n".join(["", *PARTS[name](found), "", ""]))


def main() -> None:
    """Writes all of it."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--take", type=Path)
    asked.add_argument("--add", type=Path)
    given = asked.parse_args()
    if folder := given.take or given.add:
        take(folder, add=given.take is None)
    for folder in folders():
        page_of = "\n".join(results(load_evaluation(folder))) + "\n"
        (folder / RESULTS).write_text(page_of, encoding="utf-8")
    found = load_evaluation(FOLDER)
    PICTURE.write_text(overview(found), encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
