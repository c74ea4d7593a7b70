"""Writes docs/scenario.md: the keys from the scenario's JSON Schema, the words around them from a template.

    python scripts/scenario_reference.py            writes docs/scenario.md
    python scripts/scenario_reference.py --check    fails if that would change it

A line `<!-- table Name -->` of the template becomes the list of that definition's keys, one of
`<!-- kinds Name -->` a section for each kind, one of `<!-- values Name -->` a list of the values;
`<!-- schemes -->` the names of those that carry flows.
"""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from midpath.schemes import shipped

ROOT = Path(__file__).parents[1]
SCHEMA = ROOT / "python" / "midpath" / "schema" / "scenario.schema.json"
TEMPLATE = Path(__file__).with_name("scenario.template.md")
PAGE = ROOT / "docs" / "scenario.md"
DIRECTIVE = re.compile(r"^<!-- (table|kinds|values) (\w+) -->$", re.MULTILINE)

# Quantities are texts; what one looks like is in the section "Quantities".
QUANTITIES = {"Time", "Rate", "Bytes", "Ratio", "Limit", "Delay"}
PLAIN = {"string": "text", "boolean": "boolean", "integer": "integer", "number": "number"}

# Types whose values the page lists right below the table.
LISTED = {
    "Format": "a [format](#format)",
    "Generator": "a [generator](#generator)",
    "FaultKind": "below",
    "TimeSpec": "[table](#sizespec)",
}


@dataclass(frozen=True)
class Key:
    """A key of a table."""

    name: str
    kind: str
    example: str
    default: str
    needed: bool
    meaning: str

    def value(self) -> str:
        """What it may be set to: an example says that of a plain value; a link or all values say more."""
        if not self.example:
            return self.kind
        plain = "`" not in self.kind and "](" not in self.kind
        return f"`{self.example}`" if plain else f"{self.kind}, `{self.example}`"

    def line(self) -> str:
        """Its line of the page."""
        unless = "required" if self.needed else self.default and f"default {self.default}"
        return f"- {', '.join(part for part in (f'`{self.name}`', self.value(), unless) if part)}: {self.meaning}"


class Reference:
    """The schema's definitions as Markdown."""

    def __init__(self, schema: dict) -> None:
        self.definitions = schema["$defs"] | {"Scenario": schema}

    def render(self, kind: str, name: str) -> str:
        """What a directive of the template becomes."""
        definition = self.definitions[name]
        if kind == "kinds":
            return self.kinds(definition)
        if kind == "values":
            return "\n".join(f"- `{value['const']}`: {one_line(value['description'])}" for value in definition["oneOf"])
        return self.table(definition)

    def kinds(self, definition: dict) -> str:
        """Every kind of a table that comes in kinds."""
        parts = []
        for variant in definition["oneOf"]:
            kind = variant["properties"]["kind"]["const"]
            parts.append(f'**`kind = "{kind}"`**: {one_line(variant["description"])}')
            if len(variant["properties"]) > 1:
                parts.append(self.table(variant))
        return "\n\n".join(parts)

    def table(self, definition: dict) -> str:
        """A line for each key of a table: those that must be there first."""
        return "\n".join(key.line() for key in self.keys(definition))

    def keys(self, definition: dict) -> Iterator[Key]:
        """The keys of a table: those that must be there first."""
        required = definition.get("required", [])
        keys = [key for key in definition["properties"] if "const" not in definition["properties"][key]]
        keys.sort(key=lambda key: key not in required)
        for key in keys:
            value = definition["properties"][key]
            meaning, default = split_default(one_line(value.get("description", "")), value.get("default"))
            shown = "" if self.shows_itself(value) else self.example(value)
            yield Key(key, self.type_of(value), shown, default, key in required, meaning)

    def type_of(self, value: dict) -> str:
        """A type in words, with a link where there is more to say."""
        value = without_null(value)
        if "$ref" in value:
            return self.type_of_definition(value["$ref"].rsplit("/", 1)[1])
        if "anyOf" in value:
            return " or ".join(map(self.type_of, value["anyOf"]))
        kind = value.get("type")
        if kind == "array":
            length = f"{value['minItems']} " if value.get("minItems") else ""
            kind = self.type_of(value["items"])
            if kind.startswith("[table]"):
                return kind.replace("[table]", "[list]")
            return f"list of {length}{plural(kind)}"
        if kind == "object":
            inner = value.get("additionalProperties")
            named = isinstance(inner, dict) and "$ref" in inner
            return self.type_of(inner).replace("[table]", "[tables by name]") if named else "table"
        return PLAIN[kind]

    def type_of_definition(self, name: str) -> str:
        """The type that a name in the schema stands for."""
        if name in QUANTITIES:
            return f"[{name.lower()}](#quantities)"
        if name in LISTED:
            return LISTED[name]
        definition = self.definitions[name]
        if all("const" in value for value in definition.get("oneOf", [{}])):
            return ", ".join(f'`"{value["const"]}"`' for value in definition["oneOf"])
        return f"[table](#{name.lower()})"

    def shows_itself(self, value: dict) -> bool:
        """Whether the type's column has what a value looks like: a link to quantities, or all the values."""
        value = without_null(value)
        return value.get("type") == "boolean" or ("$ref" in value and not self.type_of(value).startswith("[table]"))

    def example(self, value: dict) -> str:
        """What a key may be set to, as TOML; empty for tables, whose own keys have examples."""
        if "examples" in value:
            return toml(value["examples"][0])
        value = without_null(value)
        if "$ref" in value:
            definition = self.definitions[value["$ref"].rsplit("/", 1)[1]]
            if "examples" in definition:
                return f'"{definition["examples"][0]}"'
            values = [one["const"] for one in definition.get("oneOf", []) if "const" in one]
            others = [one for one in values if one != value.get("default")]
            return f'"{others[0]}"' if others else ""
        return "true" if value.get("type") == "boolean" and value.get("default") is not True else ""


def toml(value: object) -> str:
    """A value on one line of TOML."""
    if isinstance(value, dict):
        keys = (key if re.fullmatch(r"[\w.-]+", key) else json.dumps(key) for key in value)
        return f"{{ {', '.join(f'{key} = {toml(one)}' for key, one in zip(keys, value.values(), strict=True))} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value)


def without_null(value: dict) -> dict:
    """The schema of a value that may be left out, without the null that stands for that."""
    if "anyOf" in value:
        some = [one for one in value["anyOf"] if one.get("type") != "null"]
        value = (some[0] if len(some) == 1 else {"anyOf": some}) | {"default": value.get("default")}
    if isinstance(value.get("type"), list):
        value = value | {"type": next(one for one in value["type"] if one != "null")}
    return value


def plural(kind: str) -> str:
    """More than one of a type."""
    return {"text": "texts", "number": "numbers"}.get(kind, kind)


def one_line(text: str) -> str:
    """A description as one line of Markdown; lists in it become sentences."""
    return re.sub(r"\s+", " ", re.sub(r"\n- ", " ", text)).strip()


def split_default(meaning: str, default: object) -> tuple[str, str]:
    """The meaning without the clause that names the default, and the default."""
    found = re.search(r"[;.] default ((?:[^;().]|\.(?=\d))+?)(?=[.;](?!\d)|$)", meaning)
    if found:
        meaning = meaning[: found.start()] + meaning[found.end() :]
        if default is None or isinstance(default, dict):
            return meaning, found[1]
    if default is None or isinstance(default, dict | list) or default == "":
        return meaning, ""
    return meaning, f"`{json.dumps(default)}`"


def page() -> str:
    """The whole of docs/scenario.md."""
    reference = Reference(json.loads(SCHEMA.read_text(encoding="utf-8")))
    template = TEMPLATE.read_text(encoding="utf-8")
    names = ", ".join(f"`{name}`" for name, about in shipped().items() if about.hosts)
    template = template.replace("<!-- schemes -->", names)
    return DIRECTIVE.sub(lambda found: reference.render(found[1], found[2]), template)


def main() -> int:
    """Writes the page, or checks it."""
    text = page()
    if "--check" in sys.argv[1:]:
        return 0 if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
