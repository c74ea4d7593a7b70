"""Citations of a result: software, schemes, queues, topology and traffic.

A run names its sources (`cites` in run.json). `sources.bib` has them, and schemes bring theirs.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from midpath.errors import OutputError
from midpath.extension import _midpath
from midpath.schemes import shipped

SOFTWARE = "midpath"
SOFTWARE_ENTRY = """@software{{midpath,
  author = {{{{The Midpath authors}}}},
  title = {{Midpath: congestion control that works mid-path, simulated, compared and on real packets}},
  version = {{{version}}}, year = {{2026}}, license = {{Apache-2.0}},
}}"""
TOPOLOGIES: Mapping[Any, tuple[str, ...]] = {
    "abilene": ("zhang2003",),
    "geant": ("jurkiewicz2023", "knight2011"),
    "nobel-germany": ("jurkiewicz2023", "orlowski2010"),
}
GENERATORS: Mapping[Any, tuple[str, ...]] = {"fat-tree": ("alfares2008",), "waxman": ("waxman1988",)}
# Points of two distributions are as they were published with HPCC.
SIZES: Mapping[Any, tuple[str, ...]] = {
    "web-search": ("alizadeh2010", "li2019"),
    "data-mining": ("greenberg2009",),
    "hadoop": ("roy2015", "li2019"),
    "ali-storage": ("li2019",),
}
ARRIVALS: Mapping[Any, tuple[str, ...]] = {"ppbp": ("zukerman2003",)}
MATRICES: Mapping[Any, tuple[str, ...]] = {"gravity": ("zhang2003",)}
QUEUES: Mapping[Any, tuple[str, ...]] = {
    "red": ("floyd1993",),
    "pie": ("rfc8033",),
    "codel": ("rfc8289",),
    "dualpi2": ("rfc9332",),
    "drr": ("shreedhar1995",),
    "fq": ("rfc8290",),
}
ROCKETFUEL = ("spring2002",)
# Of a record of a sweep, or of a run, where its sources stand.
CITES = "cites"


@cache
def _bibliography() -> str:
    own = files("midpath").joinpath("sources.bib").read_text(encoding="utf-8")
    return "\n".join(dict.fromkeys([own, *(about.bibtex for about in shipped().values())]))


@cache
def entries() -> dict[str, str]:
    """The entries by key."""
    every = re.finditer(r"^@\w+\{(\w+),\n.*?^\}", _bibliography(), re.DOTALL | re.MULTILINE)
    return {found[1]: found[0] for found in every}


@cache
def in_words() -> dict[str, str]:
    """What a scheme says of its source, and the key that this stands for."""
    every = re.finditer(r"^% in words: (.*)\n@\w+\{(\w+),$", _bibliography(), re.MULTILINE)
    return {found[1]: found[2] for found in every}


def of_words(source: str) -> list[str]:
    """Keys of the entries that a scheme's source is about, in its order."""
    found = ((re.search(rf"{re.escape(words)}(?!\w)", source), key) for words, key in in_words().items())
    return [key for _, key in sorted((place.start(), key) for place, key in found if place)]


def sources(run: Mapping[str, Any]) -> list[str]:
    """Keys of what a run was made with: the software first, then in the order of the scenario, each once."""
    found = [SOFTWARE, *_of_schemes(run), *_of_scenario(_scenario(run)), *_of_queues(run)]
    return list(dict.fromkeys(found))


def _scenario(run: Mapping[str, Any]) -> dict[str, Any]:
    """What a run was asked for; nothing, if that cannot be read."""
    try:
        return tomllib.loads(str(run.get("scenario") or ""))
    except tomllib.TOMLDecodeError:
        return {}


def _of_schemes(run: Mapping[str, Any]) -> Iterator[str]:
    for name, said in (run.get("schemes") or {}).items():
        if source := str(said.get("source") or ""):
            # A source that is not here is cited as the scheme says it.
            yield from of_words(source) or [scheme_key(name)]


def scheme_key(name: str) -> str:
    """The key of a scheme whose source only it knows."""
    return f"scheme:{name}"


def _of_scenario(scenario: Mapping[str, Any]) -> Iterator[str]:
    topology = scenario.get("topology") or {}
    yield from TOPOLOGIES.get(topology.get("builtin"), ())
    yield from GENERATORS.get(topology.get("generate"), ())
    kind = f"{topology.get('format', '')} {topology.get('file', '')}"
    if "rocketfuel" in kind or kind.endswith((".cch", ".intra")):
        yield from ROCKETFUEL
    for workload in scenario.get("workload") or []:
        yield from SIZES.get((workload.get("sizes") or {}).get("name"), ())
        yield from ARRIVALS.get((workload.get("arrivals") or {}).get("kind"), ())
        yield from MATRICES.get((workload.get("matrix") or {}).get("kind"), ())


def _of_queues(run: Mapping[str, Any]) -> Iterator[str]:
    for row in run.get("equipment") or []:
        # "CoDel of 5 ms" is a CoDel.
        for said in (row.get("aqm"), row.get("scheduler")):
            yield from QUEUES.get(str(said).partition(" ")[0].lower(), ())


def own_files(run: Mapping[str, Any]) -> list[str]:
    """Files that a run read, as its scenario names them. Only the user knows where they come from."""
    return list(dict.fromkeys(_files(_scenario(run))))


def _files(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("file", "page", "trace") and isinstance(inner, str):
                yield inner
            else:
                yield from _files(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _files(inner)


class Citation:
    """What a folder of results was made with."""

    def __init__(self, directory: str | Path) -> None:
        self.path = Path(directory)
        self.versions: dict[str, None] = {}
        self.keys: dict[str, None] = {SOFTWARE: None}
        self.files: dict[str, None] = {}
        self.said: dict[str, str] = {}
        found = 0
        for run in _runs(self.path):
            self._add(run)
            found += 1
        if not found:
            raise OutputError(f"{self.path} holds no Midpath result")

    def _add(self, run: Mapping[str, Any]) -> None:
        built = str(run.get("build") or "").partition(" ")[0]
        self.versions[str(run.get("midpath") or built or _midpath.version())] = None
        self.keys.update(dict.fromkeys(run.get(CITES) or sources(run)))
        self.files.update(dict.fromkeys(own_files(run)))
        for name, said in (run.get("schemes") or {}).items():
            self.said[scheme_key(name)] = str(said.get("source") or "")

    def bibtex(self) -> str:
        """The entries. What only the user can cite is a comment."""
        found = [self._entry(key) for key in self.keys]
        own = [f"% {name}: a file of yours; cite where it comes from." for name in self.files]
        return "\n\n".join([*found, *(["\n".join(own)] if own else [])])

    def _entry(self, key: str) -> str:
        if key == SOFTWARE:
            return SOFTWARE_ENTRY.format(version=", ".join(self.versions))
        if key in entries():
            return entries()[key]
        name = key.partition(":")[2] or key
        return f"@misc{{{key},\n  title = {{The scheme {name}}},\n  note = {{{self.said.get(key, '')}}},\n}}"

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {"versions": list(self.versions), "cites": list(self.keys), "files": list(self.files)}


def _runs(path: Path) -> Iterator[Mapping[str, Any]]:
    """Each run below a folder: run.json of whole results, records of a sweep's store."""
    for file in _candidates(path):
        try:
            value = json.loads(file.read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(value, dict) and ("scenario" in value or CITES in value):
            yield value


def _candidates(path: Path) -> Iterable[Path]:
    return sorted({*path.rglob("run.json"), *path.glob("runs/??/*.json")})
