"""A scenario: a TOML text, the base of its relative paths, and overrides."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import tomli_w

from midpath.controller import Controllers, Named, named, packed, told, unpacked
from midpath.errors import ScenarioError, UsageError, no_such
from midpath.extension import _midpath
from midpath.schemes import column

# Seeds have 64 bits.
LARGEST_SEED = 2**64 - 1
# Each is a run, and a comparison keeps all of them until its end.
MOST_SEEDS = 100_000
# Where a scenario has its variants.
VARIANTS = "variants"
# Keys that no variant changes, and what does.
NOT_VARIED = {
    "scheme": "schemes are compared by --schemes",
    "seed": "all variants have the same seeds (--seed, --seeds)",
    VARIANTS: "a variant has no variants",
}
# A name is also that of a folder, and names stand with commas between them.
VARIANT_NAME = re.compile(r"\w[\w .+-]{0,63}")


@dataclass(frozen=True)
class Scenario:
    """What to simulate. Made by `from_toml` or `from_dict`; changed only into a new one, by `with_`."""

    text: str
    base_dir: Path = field(default_factory=Path)
    source: str | None = None
    scheme: str | None = None
    seed: int | None = None
    changes: tuple[tuple[str, Any], ...] = ()
    variant: str | None = None
    # Code: given by who runs a scenario, never by its text.
    controllers: Named = ()

    @classmethod
    def from_toml(cls, source: str | Path) -> Scenario:
        """From a file, or from the text itself (a string with a line break in it)."""
        if isinstance(source, str) and "\n" in source:
            return cls(source)
        path = Path(source)
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ScenarioError("", None, f"is not UTF-8 text (byte {error.start})", str(path)) from None
        except OSError as error:
            raise ScenarioError("", None, f"cannot be read: {error.strerror}", str(path)) from None
        return cls(text, path.parent, str(path))

    @classmethod
    def from_dict(cls, values: dict[str, Any], base_dir: str | Path = ".") -> Scenario:
        """From nested dictionaries with the keys of the TOML file."""
        return cls(tomli_w.dumps(values), Path(base_dir))

    def with_(
        self,
        *,
        scheme: str | None = None,
        seed: int | None = None,
        changes: dict[str, Any] | None = None,
        controllers: Controllers | None = None,
    ) -> Scenario:
        """The same scenario with another scheme, seed, values at dotted keys (`{"queue.limit": "20 ms"}`), or with
        controllers in Python, as more schemes (`midpath.Controller`).
        """
        if seed is not None and (not isinstance(seed, int) or not 0 <= seed <= LARGEST_SEED):
            raise UsageError(f"{seed!r} is not a seed: a whole number from 0 to {LARGEST_SEED}")
        return replace(
            self,
            scheme=scheme if scheme is not None else self.scheme,
            seed=seed if seed is not None else self.seed,
            changes=(*self.changes, *(changes or {}).items()),
            controllers=named(controllers) if controllers is not None else self.controllers,
        )

    @property
    def used(self) -> Named:
        """The controllers that it names, for the run or for flows."""
        if not self.controllers:
            return ()
        found = {column(text).transport for text, _ in texts(self.to_dict())}
        return tuple((name, cls) for name, cls in self.controllers if name in found)

    def __getstate__(self) -> dict[str, Any]:
        """For other processes, which load controllers from their code."""
        return self.__dict__ | {"controllers": packed(self.controllers)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """As it was sent."""
        self.__dict__.update(state | {"controllers": unpacked(state["controllers"])})

    @property
    def variants(self) -> dict[str, dict[str, Any]]:
        """The variants that the file has: of each, values by dotted key.

        Tables stand for the keys in them. A key in quotes with a dot or an index in it is set as it stands, whole.
        """
        tables = _parsed(self.text, self.source).get(VARIANTS, {})
        if not isinstance(tables, dict):
            raise ScenarioError(VARIANTS, None, "is not a table; write [variants.NAME]", self.source)
        return {name: self._variant(name, table) for name, table in tables.items()}

    def with_variant(self, name: str) -> Scenario:
        """The same scenario with the changes of one of its variants; changes made before go on top."""
        known = self.variants
        if name not in known:
            raise ScenarioError(VARIANTS, None, _no_variant(name, known), self.source)
        if self.variant is not None:
            raise UsageError(f"this is already the variant {self.variant!r}")
        return replace(self, variant=name, changes=(*known[name].items(), *self.changes))

    def _variant(self, name: str, table: Any) -> dict[str, Any]:
        key = f"{VARIANTS}.{name}"
        if not VARIANT_NAME.fullmatch(name):
            message = "is not a variant name: up to 64 letters, digits, spaces and . _ + -, starting with a letter"
            raise ScenarioError(key, None, message, self.source)
        if not isinstance(table, dict):
            raise ScenarioError(key, None, "is not a table of changed keys, such as queue.limit", self.source)
        for changed in table:
            first = changed.partition(".")[0]
            if first in NOT_VARIED:
                raise ScenarioError(f"{key}.{first}", None, f"cannot change here: {NOT_VARIED[first]}", self.source)
        return flat(table)

    def to_dict(self) -> dict[str, Any]:
        """Nested dictionaries, with scheme, seed and changes put in. A variant has no variants."""
        values = copy.deepcopy(_parsed(self.text, self.source))
        if self.variant is not None:
            values.pop(VARIANTS, None)
        for key, value in self.changes:
            set_key(values, key, value)
        overrides = {"scheme": self.scheme, "seed": self.seed}
        return values | {key: value for key, value in overrides.items() if value is not None}

    def to_toml(self) -> str:
        """The scenario as TOML: the text itself where nothing was changed, with its comments."""
        if self.scheme is None and self.seed is None and not self._is_changed:
            return self.text
        return tomli_w.dumps(self.to_dict())

    def effective_text(self) -> str:
        """The text to run: ours, with the changes in it; scheme and seed go to the simulator beside it."""
        if not self._is_changed:
            return self.text
        return tomli_w.dumps(replace(self, scheme=None, seed=None).to_dict())

    @property
    def _is_changed(self) -> bool:
        return bool(self.changes) or self.variant is not None

    @property
    def file_name(self) -> str | None:
        """The file that holds `effective_text`, if there is one."""
        return Path(self.source).name if self.source and not self._is_changed else None

    @property
    def shown_file(self) -> str:
        """What its file is called in a command that is printed, or may be called."""
        return Path(self.source).name if self.source else "scenario.toml"

    def base_seed(self) -> int:
        """The seed that a run of this scenario uses."""
        seed = self.to_dict().get("seed", 1)
        return seed if isinstance(seed, int) else 1

    def check(self) -> None:
        """Raises `ScenarioError` unless this scenario can be run."""
        try:
            _midpath.check(
                self.effective_text(),
                self.base_dir,
                scheme=self.scheme,
                seed=self.seed,
                controllers=told(self.controllers),
            )
        except ScenarioError as error:
            raise self.locate(error) from None

    def locate(self, error: ScenarioError) -> ScenarioError:
        """`error` with our file and the line that the user wrote.

        With changes, the simulator read a rewritten text, so its line means nothing to the user: either the file
        itself has the same error, at a line of its own, or a change made it.
        """
        if error.key == "scheme" and self.scheme is not None:
            # The scheme was asked for beside the file; what the file says of it is not at fault.
            return ScenarioError(error.key, None, error.message, self.source)
        if not self._is_changed:
            return ScenarioError(error.key, error.line, error.message, self.source)
        try:
            replace(self, changes=(), variant=None).check()
        except ScenarioError as original:
            if (original.key, original.message) == (error.key, error.message):
                return original
        keys = ", ".join(key for key, _ in self.changes) or "nothing"
        of = f" for the variant {self.variant!r}" if self.variant is not None else ""
        return ScenarioError(error.key, None, f"{error.message} (after setting {keys}{of})", self.source)


def texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """All texts of a scenario's values, each with its key."""
    if isinstance(value, str):
        yield value, key
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from texts(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner, key)


def flat(table: Mapping[str, Any], head: str = "") -> dict[str, Any]:
    """Nested tables as dotted keys, so that `queue.limit = …` needs no quotes. A dotted key is set as it stands."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict) and value and "." not in key and "[" not in key:
            found |= flat(value, f"{head}{key}.")
        else:
            found[head + key] = value
    return found


def _no_variant(name: str, known: Mapping[str, Any]) -> str:
    if not known:
        return f"there is no variant {name!r}: the scenario has none; write [variants.{name}]"
    return no_such("variant", name, known)


@lru_cache(maxsize=16)
def _parsed(text: str, source: str | None) -> dict[str, Any]:
    """A text's values, to be copied: sweeps put thousands of changes into one text."""
    return parse(text, source)


def parse(text: str, source: str | None) -> dict[str, Any]:
    """TOML, with our error in place of tomllib's."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"^(.*) \(at line (\d+), column \d+\)$", str(error))
        last = text.count("\n") + 1
        message, line = (found[1], int(found[2])) if found else (str(error), last)
        raise ScenarioError("", line, message, source) from None
    except RecursionError:
        raise ScenarioError("", None, "arrays or tables are nested too deeply", source) from None


def set_key(values: dict[str, Any], dotted: str, value: Any) -> None:
    """Sets `a.b[2].c` or `a.b.2.c` in nested tables and arrays, making tables that are missing."""
    *parents, last = _steps(dotted)
    here: Any = values
    for step in parents:
        here = _descend(here, _index(here, step, dotted), dotted)
    last = _index(here, last, dotted)
    if isinstance(last, int):
        _descend(here, last, dotted)
    elif not isinstance(here, dict):
        raise ScenarioError(dotted, None, "is not in a table")
    here[last] = value


def _index(here: Any, step: str | int, dotted: str) -> str | int:
    """`2` in `flow.2.size` is an index where a list is, and a key where a table is."""
    if isinstance(step, int) or not step.isdecimal():
        return step
    if here == {}:
        raise ScenarioError(dotted, None, f"there is no element {step}")
    return int(step) if isinstance(here, list) else step


def _steps(dotted: str) -> list[str | int]:
    if not re.fullmatch(r"[\w-]+(\[\d+\])*(\.[\w-]+(\[\d+\])*)*", dotted):
        raise ScenarioError(dotted, None, "is not a key; write it like queue.limit or flow.0.size")
    return [int(step[1:-1]) if step[0] == "[" else step for step in re.findall(r"[\w-]+|\[\d+\]", dotted)]


def _descend(here: Any, step: str | int, dotted: str) -> Any:
    if isinstance(step, int):
        if not isinstance(here, list) or step >= len(here):
            raise ScenarioError(dotted, None, f"there is no element {step}")
        return here[step]
    if not isinstance(here, dict):
        raise ScenarioError(dotted, None, "is not in a table")
    return here.setdefault(step, {})
