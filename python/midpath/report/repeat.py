"""The command that repeats a result, shown beside the scenario's text. What the command line cannot express is a
line of Python.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from midpath.compare.variants import Variants
from midpath.controller import loading, with_options
from midpath.metrics import IDEAL
from midpath.report.model import Model
from midpath.result import Result
from midpath.run import follow_each_other
from midpath.scenario import VARIANTS, parse

FILE = "scenario.toml"


def file_name(source: str | None) -> str:
    """What the scenario's file is called, or may be."""
    return source or FILE


def of_model(model: Model) -> str:
    """Of a run or of a comparison."""
    if typed := model.first.run.get("command"):
        return str(typed)
    file = file_name(model.source)
    results = [result for runs in model.runs.values() for result in runs]
    if model.comparison is None:
        words = [file, "--scheme", model.first.scheme, "--seed", str(model.seeds[0])]
        return _with_files(["midpath", "run", *words], results)
    # `midpath compare` would compare the variants.
    if VARIANTS in parse(model.scenario, model.source):
        return _in_python("compare", file, model.schemes, model.seeds, results)
    return _compared(file, [], model.schemes, model.seeds, results)


def of_variants(found: Variants) -> str:
    """Of a comparison of variants."""
    file = file_name(found.source)
    results = [result for one in found.comparisons.values() for result in one.results.values()]
    return _compared(file, found.names, found.schemes, found.seeds, results)


def _compared(
    file: str, variants: Sequence[str], schemes: Sequence[str], seeds: Sequence[int], results: Iterable[Result]
) -> str:
    if not follow_each_other(seeds):
        return _in_python("compare_variants" if variants else "compare", file, schemes, seeds, results, variants)
    words = ["midpath", "compare", file, *(["--variants", ",".join(variants)] if variants else [])]
    words += ["--schemes", ",".join(_but_ideal(schemes)), "--seed", str(seeds[0]), "--seeds", str(len(seeds))]
    return _with_files(words + ([] if IDEAL in schemes else ["--no-ideal"]), results)


def _in_python(
    call: str,
    file: str,
    schemes: Sequence[str],
    seeds: Sequence[int],
    results: Iterable[Result],
    variants: Sequence[str] = (),
) -> str:
    files, lost = _files(results)
    head, loaded = loading(files)
    arguments = [repr(file), repr(_but_ideal(schemes)), *([repr(list(variants))] if variants else [])]
    arguments += [f"seeds={list(seeds)}", f"ideal={IDEAL in schemes}", "out='out'"]
    arguments += [f"controllers={loaded}"] if loaded else []
    return shlex.join(["python", "-c", f"{head}; midpath.{call}({', '.join(arguments)})"]) + lost


def _but_ideal(schemes: Sequence[str]) -> list[str]:
    return [scheme for scheme in schemes if scheme != IDEAL]


def _with_files(words: list[str], results: Iterable[Result]) -> str:
    files, lost = _files(results)
    return shlex.join([*words, *with_options(files)]) + lost


def _files(results: Iterable[Result]) -> tuple[list[str], str]:
    """The files of controllers in Python, and a remark where a class has none."""
    found = {name: said for result in results for name, said in (result.run.get("controllers") or {}).items()}
    files = dict.fromkeys(str(said["file"]) for said in found.values() if said["file"])
    lost = [name for name, said in found.items() if not said["file"]]
    return list(files), f"  # with controllers that are in no file: {', '.join(lost)}" if lost else ""
