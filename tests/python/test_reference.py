"""docs/scenario.md is what the schema says, and its examples are values that the schema accepts."""

import importlib.util
import json
import re
import tomllib

import jsonschema
import pytest

import midpath
from conftest import ROOT

_spec = importlib.util.spec_from_file_location("scenario_reference", ROOT / "scripts" / "scenario_reference.py")
reference = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(reference)

SCHEMA = json.loads(reference.SCHEMA.read_text(encoding="utf-8"))


def reached(part, known):
    """The definitions that `part` refers to, directly or not, besides those `known`."""
    for name in re.findall(r'"#/\$defs/(\w+)"', json.dumps(part)):
        if name not in known:
            known |= reached(SCHEMA["$defs"][name], known | {name})
    return known


# What only schemes' parameters are made of stands on the schemes' pages; a test beside the schemes looks after that.
OWN = {key: value for key, value in SCHEMA["properties"].items() if key != "schemes"}
DEFINITIONS = {name: SCHEMA["$defs"][name] for name in sorted(reached(OWN, set()))} | {"Scenario": SCHEMA}
# The last of the values that a key's kind names.
LAST = re.compile(r"`([^`]+)`$")


def tables():
    """Each definition with the tables that it has, one for every kind if it comes in kinds."""
    for name, definition in DEFINITIONS.items():
        for table in [definition, *definition.get("oneOf", [])]:
            if "properties" in table:
                yield name, table


def test_page_is_up_to_date():
    assert reference.PAGE.read_text(encoding="utf-8") == reference.page(), "write it again: make docs"


def test_every_table_is_on_the_page():
    template = reference.TEMPLATE.read_text(encoding="utf-8")
    shown = {name for _, name in reference.DIRECTIVE.findall(template)}
    assert {name for name, _ in tables()} <= shown


def test_links_lead_somewhere():
    page = reference.page()
    anchors = set(re.findall(r'<a id="(\w+)">', page)) | {"quantities"}
    assert set(re.findall(r"\]\(#(\w+)\)", page)) <= anchors


@pytest.mark.parametrize(("name", "table"), list(tables()), ids=lambda value: value if isinstance(value, str) else "")
def test_examples_are_accepted(name, table):
    for key in reference.Reference(SCHEMA).keys(table):
        if example := key.example or "".join(LAST.findall(key.kind)):
            value = tomllib.loads(f"value = {example}")["value"]
            # `validate` would check the whole schema, too, each time: test_schema.py does.
            schema = table["properties"][key.name] | {"$defs": SCHEMA["$defs"]}
            jsonschema.Draft202012Validator(schema).validate(value)
            text = reference.without_null(table["properties"][key.name]).get("type")
            assert not (text == "string" and value == ""), key


def test_plain_keys_have_examples():
    # The others name their values, or lead to what a quantity or a table looks like.
    kinds = "(?:text|number|integer|list of (?:texts|numbers|integers))"
    plain = re.compile(rf"^- `\w+`, {kinds}[,:]")
    bare = [line for line in reference.page().splitlines() if plain.match(line)]
    assert not bare, f'add #[schemars(extend("examples" = [...]))] to the key\'s field in Rust: {bare}'
    assert plain.match("- `a`, integer, default 1: Something.")


def documented(section):
    """The names that lines of a section of docs/results.md begin with."""
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    body = page.split(f"\n{section}\n", 1)[1].split("\n## ", 1)[0].split("\n### ", 1)[0]
    begins = [line.partition(":")[0] for line in body.splitlines() if line.startswith("- `")]
    return [name for begin in begins for name in re.findall(r"`(\w+)`", begin)]


RUN = """stop = "50 ms"
[topology]
links = [{ a = "a", b = "b", rate = "10 Mbps", delay = "1 ms" }]
[[flow]]
from = "a"
to = "b"
size = "10 kB"
[measure]
series = true
"""


def test_results_page_names_what_a_run_returns():
    result = midpath.run(midpath.Scenario.from_toml(RUN))
    for name, table in result.tables.items():
        assert documented(f"## `{name}`")[: table.num_columns] == table.column_names
    assert sorted(documented("## `run.json`")) == sorted(result.run)
    assert sorted(documented("### `summary`")) == sorted(result.summary)
