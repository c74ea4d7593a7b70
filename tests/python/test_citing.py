"""What a result was made with, as BibTeX."""

import re
import tomllib

import pytest

import midpath
from conftest import ROOT
from midpath import citing
from midpath.schemes import shipped

SMALL = """stop = "50 ms"
[topology]
builtin = "geant"
[topology.hosts]
per_node = 1
rate = "1 Gbps"
[queue]
kind = "codel"
[[workload]]
flows = 3
until = "1 ms"
arrivals = { kind = "poisson", rate_per_s = 1e5 }
sizes = { kind = "cdf", name = "hadoop" }
matrix = { kind = "random" }
"""


def keys_of(bibtex):
    return re.findall(r"^@\w+\{([\w:-]+),$", bibtex, re.MULTILINE)


def test_a_run_names_its_sources_and_they_are_printed(cli, tmp_path):
    result = midpath.run(midpath.Scenario.from_toml(SMALL), scheme="cubic+rpm")
    result.save(tmp_path / "run")
    wanted = ["rfc9438", "baganalkrishna", "jurkiewicz2023", "knight2011", "roy2015", "li2019", "rfc8289"]
    assert result.run["cites"] == ["midpath", *wanted]
    said = cli("cite", tmp_path / "run")
    assert said.code == 0
    assert keys_of(said.out) == result.run["cites"]
    assert f"version = {{{midpath.__version__}}}" in said.out


def test_comparisons_and_sweeps_have_those_of_all_their_runs(cli, tmp_path):
    scenario = midpath.Scenario.from_toml(SMALL)
    midpath.compare(scenario, ["newreno", "udp"], out=tmp_path / "compared")
    midpath.sweep(scenario, schemes=["newreno", "udp"], out=tmp_path / "swept")
    for folder in ("compared", "swept"):
        found = set(keys_of(cli("cite", tmp_path / folder).out))
        assert {"midpath", "rfc5681", "rfc6582", "rfc768", "knight2011"} <= found


def test_what_only_the_user_knows_is_a_comment(cli, tmp_path):
    (tmp_path / "map.gml").write_text(
        'graph [ node [ id 0 label "a" ] node [ id 1 label "b" ] edge [ source 0 target 1 ] ]'
    )
    text = """stop = "1 ms"
[topology]
file = "map.gml"
default_rate = "1 Gbps"
default_delay = "1 ms"
[topology.hosts]
per_node = 1
rate = "1 Gbps"
[[flow]]
from = "h0"
to = "h1"
size = "1 kB"
"""
    (tmp_path / "own.toml").write_text(text)
    midpath.run(tmp_path / "own.toml").save(tmp_path / "run")
    assert "% map.gml: a file of yours" in cli("cite", tmp_path / "run").out


@pytest.mark.parametrize(
    ("source", "keys"),
    [
        ("RFC 8684, RFC 6356; OLIA: Khalili et al., 2012", ["rfc8684", "rfc6356", "khalili2012"]),
        ("RFC 56810", []),
        ("as Katabi, Handley, Rohrs, SIGCOMM 2002, with our changes", ["katabi2002"]),
        ("A. Author, 2030", []),
    ],
)
def test_a_source_in_words_is_found(source, keys):
    assert citing.of_words(source) == keys


def test_the_four_papers_are_found_in_what_their_schemes_say():
    of = {name: citing.of_words(about.source) for name, about in shipped().items()}
    assert (of["fcp"], of["inrpp"], of["mircc"], of["rpm"]) == (
        ["han2012"],
        ["rene2021"],
        ["mahdian2016"],
        ["baganalkrishna"],
    )


def test_every_scheme_that_ships_has_an_entry():
    assert [name for name, about in shipped().items() if about.source and not citing.of_words(about.source)] == []


def test_every_entry_is_used_and_every_key_has_one():
    tables = (citing.TOPOLOGIES, citing.GENERATORS, citing.SIZES, citing.ARRIVALS, citing.MATRICES, citing.QUEUES)
    used = {key for table in tables for keys in table.values() for key in keys}
    said = {key for about in shipped().values() for key in citing.of_words(about.source)}
    assert set(citing.in_words().values()) == said
    assert used | said | set(citing.ROCKETFUEL) == citing.entries().keys()


def test_a_scheme_from_outside_is_cited_by_what_it_says():
    run = {"schemes": {"mine": {"title": "Mine", "source": "A. Author, 2030"}}}
    assert citing.sources(run) == ["midpath", "scheme:mine"]


def test_shipped_data_name_the_same_papers():
    readme = (ROOT / "crates" / "topo" / "data" / "README.md").read_text(encoding="utf-8")
    named = {"jurkiewicz2023": "Jurkiewicz", "knight2011": "Knight", "orlowski2010": "Orlowski", "zhang2003": "Zhang"}
    for keys in citing.TOPOLOGIES.values():
        assert all(named[key] in readme for key in keys)
    for name, keys in citing.SIZES.items():
        head = (
            (ROOT / "crates" / "traffic" / "data" / f"{name}.txt")
            .read_text(encoding="utf-8")
            .partition("size_bytes")[0]
        )
        assert keys[0][-4:] in head


def test_a_folder_without_results_is_refused(cli, tmp_path):
    assert cli("cite", tmp_path).code == 2


@pytest.mark.parametrize("name", ["abilene", "dumbbell"])
def test_examples_are_printed_as_they_are(cli, name):
    said = cli("example", name)
    assert said.out == (ROOT / "examples" / f"{name}.toml").read_text(encoding="utf-8")
    assert tomllib.loads(said.out)["topology"]


def test_all_examples_are_listed(cli):
    said = cli("example").out
    assert [file.stem for file in (ROOT / "examples").glob("*.toml") if file.stem not in said] == []
    assert cli("example", "none-such").code == 2


def test_citation_file_says_what_midpath_cite_says():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {midpath.__version__}\n" in text
    title = re.search(r'^title: "(.*)"$', text, re.MULTILINE)[1]
    assert f"title = {{{title}}}" in citing.SOFTWARE_ENTRY.format(version="")
