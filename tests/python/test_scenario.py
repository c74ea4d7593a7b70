import tomllib

import pytest

from midpath import Scenario, ScenarioError
from midpath.scenario import set_key

TEXT = """# a comment
title = "t"
seed = 7
[queue]
limit = "50 ms"
[[flow]]
from = "a"
to = "b"
"""


def test_unchanged_text_keeps_its_comments():
    assert Scenario.from_toml(TEXT).to_toml() == TEXT


def test_with_makes_a_new_scenario():
    base = Scenario.from_toml(TEXT)
    other = base.with_(scheme="dctcp", changes={"queue.limit": "20 ms", "flow[0].to": "c"}).with_(seed=3)
    assert tomllib.loads(other.to_toml()) == {
        "title": "t",
        "seed": 3,
        "scheme": "dctcp",
        "queue": {"limit": "20 ms"},
        "flow": [{"from": "a", "to": "c"}],
    }
    assert base.to_toml() == TEXT
    assert (base.base_seed(), other.base_seed()) == (7, 3)


def test_from_dict_round_trips():
    values = {"title": "x", "topology": {"builtin": "abilene"}, "flow": [{"from": "a", "to": "b", "size": "1 MB"}]}
    assert Scenario.from_dict(values).to_dict() == values


def test_file_sets_where_relative_paths_start(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(TEXT)
    scenario = Scenario.from_toml(file)
    assert (scenario.base_dir, scenario.source) == (tmp_path, str(file))


def test_missing_and_binary_files_are_named(tmp_path):
    with pytest.raises(ScenarioError, match=r"no\.toml: cannot be read: No such file"):
        Scenario.from_toml(tmp_path / "no.toml")
    (tmp_path / "b.toml").write_bytes(b"a = \xff\n")
    with pytest.raises(ScenarioError, match="is not UTF-8 text"):
        Scenario.from_toml(tmp_path / "b.toml")


def test_broken_toml_names_its_line():
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_toml('title = "t"\nseed = \n').to_dict()
    assert caught.value.line == 2


@pytest.mark.parametrize("key", ["", "a..b", "a[x]", ".a", "flow[5].size", "title.x", "title[0]", "[0]"])
def test_keys_that_lead_nowhere_are_refused(key):
    with pytest.raises(ScenarioError):
        set_key({"title": "t", "flow": [{}]}, key, 1)


def test_set_makes_missing_tables():
    values = {}
    set_key(values, "schemes.dctcp.queue.kind", "step")
    assert values == {"schemes": {"dctcp": {"queue": {"kind": "step"}}}}


def test_errors_read_like_a_compilers():
    error = ScenarioError("flow[0].to", 12, "there is no node 'x'", "a.toml")
    assert str(error) == "a.toml:12: flow[0].to: there is no node 'x'"
    assert str(ScenarioError("", None, "is empty")) == "scenario: is empty"
