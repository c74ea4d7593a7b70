"""`midpath new scheme`: what it writes and refuses.

Its Rust source is the example's, which `make test` compiles and tests. `test_added.py` runs it.
"""

import json
import re
import tomllib

import pytest

from conftest import ROOT
from midpath import _midpath
from midpath.new import scheme as template

EXAMPLE = ROOT / "examples" / "outside-scheme"
# A first scheme is read in ten minutes. Ours: at 30 lines a minute.
MOST_LINES = 300


def test_the_crate_is_the_example_under_another_name(cli, tmp_path):
    answer = cli("new", "scheme", tmp_path / "slow-down", "--json")
    assert (answer.code, answer.err) == (0, "")
    assert json.loads(answer.out) == {"scheme": "slow-down", "directory": str(tmp_path / "slow-down")}
    back = {"slow-down": "aimd", "slow_down": "outside_scheme", "SlowDown": "Aimd"}
    for path in EXAMPLE.glob("src/*.rs"):
        written = (tmp_path / "slow-down" / path.relative_to(EXAMPLE)).read_text()
        assert "aimd" not in written.lower() and "outside" not in written, path
        named = re.sub("|".join(back), lambda found: back[found[0]], written)
        named = re.sub(r"TAG: u8 = \d+", "TAG: u8 = 64", named)
        assert named == path.read_text().replace("outside-scheme", "aimd"), path


def test_a_controller_alone_is_its_example_under_another_name(cli, tmp_path):
    answer = cli("new", "scheme", tmp_path / "slow-down", "--controller", "--json")
    assert (answer.code, answer.err) == (0, "")
    written = (tmp_path / "slow-down" / "src" / "lib.rs").read_text()
    assert all(word not in written for word in ("Header", "Aqm", "impl Network for", "aimd", "Pacer"))
    back = {"slow-down": "pacer", "slow_down": "outside_controller", "SlowDown": "Pacer"}
    named = re.sub("|".join(back), lambda found: back[found[0]], written)
    assert named == (ROOT / "examples" / "outside-controller" / "src" / "lib.rs").read_text()
    assert 'scheme = "slow-down"' in (tmp_path / "slow-down" / "scenario.toml").read_text()


def test_an_aqm_alone_is_its_example_under_another_name(cli, tmp_path):
    answer = cli("new", "scheme", tmp_path / "slow-down", "--aqm", "--json")
    assert (answer.code, answer.err) == (0, "")
    written = (tmp_path / "slow-down" / "src" / "lib.rs").read_text()
    assert all(word not in written for word in ("Header", "Controller", "TcpParams", "blue", "Blue"))
    back = {"slow-down": "blue", "slow_down": "outside_aqm", "SlowDown": "Blue"}
    named = re.sub("|".join(back), lambda found: back[found[0]], written)
    assert named == (ROOT / "examples" / "outside-aqm" / "src" / "lib.rs").read_text()
    assert 'scheme = "cubic+slow-down"' in (tmp_path / "slow-down" / "scenario.toml").read_text()
    answer = cli("new", "scheme", tmp_path / "both", "--aqm", "--controller")
    assert answer.code == 2 and "one of them alone" in answer.err and not (tmp_path / "both").exists()


@pytest.mark.parametrize("kind", template.KINDS)
def test_it_is_read_in_ten_minutes(kind):
    texts = template.crate("mine", kind=kind)
    assert len(texts) == 6
    assert sum(len(text.splitlines()) for text in texts.values()) <= MOST_LINES


def test_new_schemes_have_tags_of_their_own():
    tags = {
        re.search(r"TAG: u8 = (\d+)", template.crate(name)["src/lib.rs"])[1] for name in ("mine", "yours", "slow-down")
    }
    assert len(tags) == 3
    assert all(64 <= int(tag) <= 127 for tag in tags)


@pytest.mark.parametrize("kind", ["dependencies"])
def test_the_crate_depends_on_all_that_the_example_does(kind):
    theirs = tomllib.loads((EXAMPLE / "Cargo.toml").read_text(encoding="utf-8"))
    ours = tomllib.loads(template.crate("mine")["Cargo.toml"])
    assert theirs[kind].keys() == ours[kind].keys()
    assert (
        theirs["package"]["metadata"] == ours["package"]["metadata"] == {"midpath": {"contract": _midpath.contract()}}
    )


def test_every_file_of_the_crate_is_whole(tmp_path, cli):
    cli("new", "scheme", tmp_path / "mine")
    texts = {path: path.read_text() for path in (tmp_path / "mine").rglob("*") if path.is_file()}
    assert {path.name for path in texts} >= {"Cargo.toml", "README.md", ".gitignore", "scenario.toml"}
    for path, text in texts.items():
        assert not template.TOKENS.search(text), path
        if path.suffix == ".toml":
            tomllib.loads(text)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Mine", "'Mine' is not a scheme name"),
        ("2fast", "'2fast' is not a scheme name"),
        ("a--b", "'a--b' is not a scheme name"),
        ("../x", "'../x' is not a scheme name"),
        ("x" * 41, "is not a scheme name"),
        ("cubic", "there is a scheme `cubic` already"),
        ("ideal", "there is a scheme `ideal` already"),
        ("match", "`match` is a reserved word"),
        ("lambda", "`lambda` is a reserved word"),
        ("json", "there is a Python module `json` already"),
        ("numpy", "there is a Python module `numpy` already"),
        ("sender", "`sender` is already used"),
        ("serde", "`serde` is already used"),
    ],
)
def test_bad_names_are_refused_and_nothing_is_written(cli, tmp_path, name, says):
    answer = cli("new", "scheme", tmp_path / "crate", "--name", name)
    assert answer.code == 2
    assert says in answer.err and "--name" in answer.err
    assert not (tmp_path / "crate").exists()


def test_a_folder_in_use_is_left_alone(cli, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("mine")
    answer = cli("new", "scheme", tmp_path / "mine")
    assert answer.code == 2
    assert "is not empty" in answer.err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes"]
    answer = cli("new", "scheme", tmp_path / "mine" / "notes")
    assert answer.code == 2
    assert "is a file" in answer.err
