"""docs/scenario.md is what the schema says, and its examples are values that the schema accepts."""

import importlib.util
import json
import re
import tomllib

import jsonschema
import pytest

from conftest import ROOT

_spec = importlib.util.spec_from_file_location("scenario_reference", ROOT / "scripts" / "scenario_reference.py")
reference = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(reference)

SCHEMA = json.loads(reference.SCHEMA.read_text(encoding="utf-8"))
DEFINITIONS = SCHEMA["$defs"] | {"Scenario": SCHEMA}
ROW = re.compile(r"^\| `(\w+)` \|.*\| `(\w+ = .*)` \|$")


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
    for line in reference.Reference(SCHEMA).table(name, table).splitlines():
        if row := ROW.match(line):
            value = tomllib.loads(row[2].replace("\\|", "|"))[row[1]]
            jsonschema.validate(value, table["properties"][row[1]] | {"$defs": SCHEMA["$defs"]})
            text = reference.without_null(table["properties"][row[1]]).get("type")
            assert not (text == "string" and value == ""), line


def test_examples_belong_to_keys():
    keys = {f"{name}.{key}" for name, table in tables() for key in table["properties"]}
    assert {path.removesuffix("[]") for path in reference.EXAMPLES} <= keys


def test_plain_keys_have_examples():
    rows = [line for line in reference.page().splitlines() if line.startswith("| `")]
    bare = [row for row in rows if row.endswith("|  |") and "[table]" not in row]
    assert bare == []
