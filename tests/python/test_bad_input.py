"""Whatever is wrong with the input: exit code 2, one message that names file, key and line, nothing written."""

import pytest

import midpath

GOOD = """title = "good"
seed = 1
stop = "1 s"

[topology]
nodes = [{name = "a"}, {name = "r"}, {name = "b"}]
links = [
    {a = "a", b = "r", rate = "10 Mbps", delay = "1 ms"},
    {a = "r", b = "b", rate = "10 Mbps", delay = "1 ms"},
]

[queue]
limit = "20 ms"

[[flow]]
from = "a"
to = "b"
size = "10 kB"
"""

NETWORK = GOOD[GOOD.index("nodes") : GOOD.index("\n[queue]")]

# What is replaced by what; the key and the line that the message must name; a word that helps.
WRONG = {
    "unknown key": ("[queue]\n", "[queue]\nlimmit = 1\n", "queue.limmit", 13, "limit"),
    "unknown table": ("[queue]\n", "[kue]\n", "kue", 12, "queue"),
    "wrong unit": ('size = "10 kB"', 'size = "10 ms"', "flow[0].size", 18, "B"),
    "no unit": ('rate = "10 Mbps", delay = "1 ms"},\n    ', 'rate = "10", delay = "1 ms"},\n    ', "rate", 8, "Mbps"),
    "wrong type": ("seed = 1", 'seed = "one"', "seed", 2, "whole number"),
    "negative seed": ("seed = 1", "seed = -1", "seed", 2, ""),
    "flow to nowhere": ('to = "b"', 'to = "c"', "flow[0].to", 17, "c"),
    "flow to itself": ('to = "b"', 'to = "a"', "flow[0].to", 17, ""),
    "flow to a router": ('to = "b"', 'to = "r"', "flow[0].to", 17, "host"),
    "no size": ('size = "10 kB"\n', 'size = "0 B"\n', "flow[0].size", 18, ""),
    "disconnected": ('{a = "r", b = "b",', '{a = "x", b = "b",', "topology.links", 7, "connected"),
    "zero rate": ('b = "b", rate = "10 Mbps"', 'b = "b", rate = "0 bps"', "topology.links[1].rate", 9, "zero"),
    "unknown scheme": ('size = "10 kB"', 'size = "10 kB"\nscheme = "cubik"', "flow[0].scheme", 19, "cubic"),
    "unknown queue": ("[queue]\n", '[queue]\nkind = "codle"\n', "kind", 13, "codel"),
    "unknown network": (NETWORK, 'builtin = "abilen"\n', "builtin", 6, "abilene"),
    "missing file": (NETWORK, 'file = "no.gml"\n', "topology.file", 6, "no.gml"),
    "truncated file": (NETWORK, 'file = "cut.gml"\n', "topology.file", 6, "cut.gml"),
    "no topology": (GOOD[GOOD.index("[topology]") : GOOD.index("\n[queue]")], "", "topology", None, "missing"),
    "not TOML": ("seed = 1", "seed = ", "", 2, ""),
    "cut off": (GOOD[GOOD.index("[queue]") :], '[queue]\nlimit = "20', "", 13, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_message_names_the_place(cli, tmp_path, name):
    old, new, key, line, helps = WRONG[name]
    assert GOOD.count(old) == 1
    file = tmp_path / "s.toml"
    file.write_text(GOOD.replace(old, new))
    (tmp_path / "cut.gml").write_text('graph [ node [ id 0 label "a"')
    before = sorted(tmp_path.iterdir())
    for command in (("run",), ("compare", "--schemes", "newreno,cubic")):
        answer = cli(command[0], file, *command[1:], "--out", tmp_path / "out", "--json")
        assert (answer.code, answer.out) == (2, "")
        assert answer.err.count("\n") == 1
        place = f"midpath: {file}:{line}: " if line else f"midpath: {file}:"
        assert answer.err.startswith(place)
        assert key in answer.err
        assert helps in answer.err
        assert sorted(tmp_path.iterdir()) == before


def test_the_good_one_is_good(cli, tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(GOOD)
    assert cli("run", file).code == 0


@pytest.mark.parametrize("content", [b"", b"\x00", b"\xff\xfe", b"[" * 5000, b"a = " + b"[" * 5000, b"x = 1e999"])
def test_rubbish_is_refused(cli, tmp_path, content):
    file = tmp_path / "s.toml"
    file.write_bytes(content)
    answer = cli("run", file)
    assert (answer.code, answer.err.count("\n")) == (2, 1)


@pytest.mark.parametrize("command", [("run", "--scheme", "cubik"), ("compare", "--schemes", "cubic,cubik")])
def test_schemes_asked_for_are_not_sought_in_the_file(cli, tmp_path, command):
    file = tmp_path / "s.toml"
    file.write_text('scheme = "cubic"\n' + GOOD)
    answer = cli(command[0], file, *command[1:], "--out", tmp_path / "out")
    assert answer.code == 2
    assert answer.err.startswith(f"midpath: {file}: scheme: ")
    assert "cubik" in answer.err
    assert sorted(tmp_path.iterdir()) == [file]


def test_changes_are_blamed_for_what_they_break(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(GOOD)
    base = midpath.Scenario.from_toml(file)
    with pytest.raises(midpath.ScenarioError) as caught:
        midpath.run(base.with_(changes={"queue.limit": "20 parsecs"}))
    assert (caught.value.key, caught.value.line) == ("queue.limit", None)
    assert "after setting queue.limit" in caught.value.message


def test_changes_are_not_blamed_for_what_was_broken(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(GOOD.replace('to = "b"', 'to = "c"'))
    base = midpath.Scenario.from_toml(file)
    with pytest.raises(midpath.ScenarioError) as caught:
        midpath.run(base.with_(changes={"queue.limit": "30 ms"}))
    assert (caught.value.key, caught.value.line) == ("flow[0].to", 17)


@pytest.mark.parametrize("where", ["file", "full"])
def test_results_go_only_where_results_may(cli, tmp_path, where):
    file = tmp_path / "s.toml"
    file.write_text(GOOD)
    (tmp_path / "file").write_text("x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("years")
    for command in (("run",), ("compare", "--schemes", "cubic")):
        answer = cli(command[0], file, *command[1:], "--out", tmp_path / where)
        assert (answer.code, answer.err.count("\n")) == (2, 1)
        assert str(tmp_path / where) in answer.err
    assert (tmp_path / "full" / "thesis.tex").read_text() == "years"


@pytest.mark.parametrize("arguments", [["report", "nowhere"], ["report", "."], ["topo", "no.toml"], ["run", "."]])
def test_missing_inputs(cli, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    answer = cli(*arguments)
    assert (answer.code, answer.err.count("\n"), list(tmp_path.iterdir())) == (2, 1, [])
