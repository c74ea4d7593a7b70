"""What we add to the papers' schemes: each addition off is a mutant, and a test should notice it.

The list is scripts/additions.toml: which parameter, where its default stands, and what it is with `text = "paper"`. A
test of the list holds it to what the schemes' `Texts::paper` say.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tree_sitter import Node

from mutation.find import File, add, functions, parser
from mutation.notice import Test

LIST = Path(__file__).parents[1] / "additions.toml"
# Tests that compare defaults with what is written down notice each addition: they say nothing about what it does.
ONLY_VALUES = re.compile(r"params::|papers_text|text::|schema|reference|catalogue::")


@dataclass(frozen=True)
class Addition:
    """A parameter of ours, and what it is in the paper."""

    scheme: str
    key: str
    file: str
    type: str
    """The struct whose default has it."""
    off: str
    """The paper's value, as code."""
    test: str
    """A test that fails when it is off, as it was found last. Empty: none does."""

    @property
    def field(self) -> str:
        """The parameter's name in its struct."""
        return self.key.rsplit(".", 1)[-1]


def additions(path: Path = LIST) -> list[Addition]:
    """All additions, in the list's order."""
    listed = tomllib.loads(path.read_text(encoding="utf-8"))
    return [
        Addition(scheme, key, struct["file"], struct["type"], entry["off"], entry.get("test", ""))
        for scheme, structs in listed.items()
        for struct in structs
        for key, entry in struct["keys"].items()
    ]


def finder(listed: list[Addition], guard: Callable[[str], str]) -> Callable[[str, str], File | None]:
    """Gives a file its mutants: one for each addition whose default stands in it."""

    def find(name: str, source: str) -> File | None:
        here = [addition for addition in listed if addition.file == name]
        if not here:
            return None
        file = File(name, source.encode(), guard(name))
        for addition in here:
            turn_off(file, addition)
        return file

    return find


def turn_off(file: File, addition: Addition) -> None:
    """The mutant of one addition: its field has the paper's value in `Default::default`."""
    wanted = f"{addition.type}::default"
    for name, function in functions(parser().parse(file.source).root_node, file, skipped=frozenset()):
        if name != wanted:
            continue
        for node in [function, *descendants(function)]:
            if node.type == "field_initializer" and file.text(node.child_by_field_name("field")) == addition.field:
                value = node.child_by_field_name("value")
                shown = (file.text(node), f"{addition.field}: {addition.off}")
                add(file, f"{addition.scheme} {addition.key}", value, "value", addition.off, shown)
                return
    raise RuntimeError(f"{addition.file} has no default of {addition.key} in {addition.type}")


def descendants(node: Node) -> Iterator[Node]:
    """All nodes below a node."""
    for child in node.named_children:
        yield child
        yield from descendants(child)


def shows(scheme: str, test: Test) -> bool:
    """Whether a test is about a scheme, and may show what an addition to it does."""
    return scheme in test.name and not ONLY_VALUES.search(test.name)


def record(found: dict[tuple[str, str], str], text: str) -> str:
    """The list with the tests that were found, by scheme and key."""
    scheme, lines = "", []
    for line in text.splitlines():
        scheme = table[1] if (table := re.match(r"\[\[(\w+)\]\]", line)) else scheme
        entry = re.match(r'("?[\w.]+"?) = \{ off = ("[^"]*")', line)
        if entry:
            test = found.get((scheme, entry[1].strip('"')), "")
            named = f', test = "{test}"' if test else ""
            lines.append(f"{entry[1]} = {{ off = {entry[2]}{named} }}")
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def papers_keys(source: str, additions: str = "") -> set[str]:
    """The keys that `Texts::paper` names in a scheme's file, with the switches of `Additions` (there, or beside)."""
    body = re.search(r"fn paper\(\) -> Value \{(.*?)\n    \}", source, re.S)
    assert body is not None
    table = re.sub(r"//[^\n]*", "", body[1])
    keys, path = set(), []
    for name, value in re.findall(r'"(\w+)":\s*(\{|[\w:."\' -]+)|\}', table):
        if value == "{":
            path.append(name)
        elif not name:
            path = path[:-1]
        elif value.startswith("without::names"):
            keys |= {".".join([*path, name, field]) for field in switches(additions or source)}
        else:
            keys.add(".".join([*path, name]))
    return keys


def switches(source: str) -> list[str]:
    """The fields of `Additions`."""
    body = re.search(r"fn default\(\) -> Additions \{\s*Additions \{(.*?)\}", source, re.S)
    return re.findall(r"^\s*(\w+):", body[1], re.M) if body else []
