import json
import tomllib
from importlib.resources import files

import jsonschema
import pytest

from conftest import ROOT
from midpath import _midpath

SHIPPED = files("midpath") / "schema" / "scenario.schema.json"
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))


def test_shipped_schema_is_the_simulators():
    hint = "write it again: midpath schema > python/midpath/schema/scenario.schema.json"
    assert json.loads(SHIPPED.read_text(encoding="utf-8")) == json.loads(_midpath.schema()), hint


def test_schema_is_one():
    schema = json.loads(_midpath.schema())
    jsonschema.validators.validator_for(schema).check_schema(schema)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_examples_fit_it(file):
    jsonschema.validate(tomllib.loads(file.read_text(encoding="utf-8")), json.loads(_midpath.schema()))


def test_it_refuses_unknown_keys():
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"topology": {"builtin": "abilene"}, "bogus": 1}, json.loads(_midpath.schema()))
