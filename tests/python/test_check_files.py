"""`midpath check`: what a run would refuse is refused without one, at the same line; what runs passes."""

import json
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import yaml

import midpath
import script
from conftest import ROOT
from midpath.check import check
from midpath.controller import load, named

sys.path.insert(0, str(ROOT / "evidence/properties" / "malformed"))
import cases

follow = script.load(ROOT / "scripts" / "follow.py")
PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if "[topology]" in page.read_text(encoding="utf-8")]
EXAMPLES = sorted(
    file for file in (ROOT / "examples").rglob("*.toml") if re.search(r"^\[topology\]", file.read_text(), re.MULTILINE)
)
EVERY = [case for case in cases.every() if case.name not in cases.HEAVY]


def errors(found):
    return [(one.line, one.key, one.message) for one in found.findings if one.severity == "error"]


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: str(file.relative_to(ROOT)))
def test_examples_pass(file):
    controllers = [cls for path in file.parent.glob("*.py") if "Controller" in path.read_text() for cls in load(path)]
    assert errors(check(file, named(controllers))) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_scenarios_of_pages_pass(page, tmp_path):
    blocks = [found.groups() for found in follow.BLOCK.finditer(page.read_text(encoding="utf-8"))]
    whole = [(title or f"{i}.toml", body) for i, (_, title, body) in enumerate(blocks) if title or "[topology]" in body]
    for title, body in whole:
        if "/" not in title and " " not in title:
            (tmp_path / title).write_text(body)
    for file in tmp_path.glob("*.toml"):
        text = file.read_text()
        if "[topology]" in text and ("[[flow]]" in text or "[[workload]]" in text) and "…" not in text:
            assert errors(check(file)) == []


@pytest.mark.parametrize("section", dict.fromkeys(case.section for case in EVERY))
def test_what_a_run_refuses_is_refused_at_the_same_line(section, tmp_path):
    wrong = {}
    for i, case in enumerate(case for case in EVERY if case.section == section):
        folder = tmp_path / str(i)
        folder.mkdir()
        cases.write(case, folder)
        with pytest.raises(midpath.ScenarioError) as refused:
            midpath.run(folder / "s.toml")
        error = refused.value
        found = errors(check(folder / "s.toml"))
        if (error.line, error.key, error.message) not in found:
            wrong[case.name] = (str(error), found)
    assert wrong == {}


def test_there_are_enough():
    assert len(EVERY) > 450
    assert len(EXAMPLES) > 15
    assert len(PAGES) > 4


def test_every_error_of_form_is_named(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text('seed = "one"\nstpo = 3\n[topology]\nbuiltin = "abilene"\n[[flow]]\nfrom = "a"\nto = 3\n')
    assert [(line, key) for line, key, _ in errors(check(file))] == [(1, "seed"), (2, "stpo"), (7, "flow[0].to")]


def test_variants_are_checked(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(cases.scenario(more='[variants.worse]\nqueue.limit = "3 parsec"\n[variants.better]\nseed = 3'))
    assert "seed" in errors(check(file))[0][1]
    file.write_text(cases.scenario(more='[variants.worse]\nqueue.limit = "3 parsec"'))
    [(_, key, message)] = errors(check(file))
    assert key == "queue.limit" and "for the variant 'worse'" in message


def test_warnings_are_those_of_a_run(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(cases.scenario(more='[[fault]]\nat = "5 s"\nkind = "link-down"\nlink = ["a", "r"]'))
    found = [one.message for one in check(file).findings]
    assert found and set(found) <= set(midpath.run(file).warnings)
    assert check(file).ok


GML = 'graph [\n node [ id 0 label "a" ]\n node [ id 1 label "b" ]\n edge [ source 0 target 1 ]\n]\n'
JSON = '{"nodes": [{"id": 0}, {"id": 1}],\n"links": [{"source": 0, "target": 1}]}'
GRAPH = "NODES 2\nlabel x y\na 0 0\nb 1 1\n\nEDGES 1\nlabel src dest weight bw delay\ne 0 1 1 10 5\n"
# What a file is, a good one, what is replaced by what in it, and the line that is named then.
FILES = {
    "map.gml": ("topology", GML, "target 1", "target 9", 4),
    "map.graphml": (
        "topology",
        '<graphml>\n<graph>\n<node id="a"/>\n<node id="b"/>\n<edge source="a" target="b"/>\n</graph></graphml>\n',
        'target="b"',
        'target="c"',
        5,
    ),
    "map.json": ("topology", JSON, "1}]}", "1}", 2),
    "weights.intra": ("topology", "a b 1\nb c 2\n", "b c 2", "b c", 2),
    "net.graph": ("topology", GRAPH, "e 0 1", "e 0 7", 8),
    "map.txt": ("topology", "2 0 1\n\n0 1 10Gbps 1ms 0\n", "0 1 10G", "0 7 10G", 3),
    "rel.txt": ("topology", "1|2|-1\n2|3|0\n", "2|3|0", "2|x|0", 2),
    "m.csv": ("traffic matrix", "from,to,rate\na,b,1 Mbps\nb,a,2 Mbps\n", "2 Mbps", "2 parsec", 3),
    "square.csv": ("traffic matrix", ",a,b\na,0,1\nb,1,0\n", "b,1,0", "b,x,0", 3),
    "net.demands": ("traffic matrix", "DEMANDS 1\nlabel src dest bw\nd 0 1 5\n", "0 1 5", "0 1 x", 3),
    "flows.csv": ("flow list", "src,dst,size,start\na,b,1000,0\n", "1000", "much", 2),
    "flows.txt": ("flow list", "1\n0 1 3 100 1000 0.1\n", "1000", "much", 2),
    "flows.cm": ("flow list", "Nodes 2\nConnections 1\n0->1 start 0 size 9\n", "start 0", "start x", 3),
    "cdf.txt": ("sizes of flows", "0 0\n1000 50\n2000 100\n", "2000 100", "500 100", 3),
    "steps.csv": ("schedule of a link", "at,rate\n0 s,1 Mbps\n1 s,2 Mbps\n", "2 Mbps", "2 parsec", 3),
    "cell.trace": ("trace of a link", "1\n2\n3\n", "3", "1", 3),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_files_that_scenarios_name(name, tmp_path):
    kind, good, old, new, line = FILES[name]
    file = tmp_path / name
    file.write_text(good)
    found = check(file)
    assert (found.kind, errors(found)) == (kind, [])
    assert any(found.counts.values()) or kind == "trace of a link"
    assert old in good
    file.write_text(good.replace(old, new))
    [(at, _, message)] = errors(check(file))
    assert message
    assert at == line, message


def test_what_is_nothing_is_said(tmp_path):
    for name, content in {"a.bin": b"\x00\x01", "e": b"", "x.xlsx": b"PK\x03\x04"}.items():
        (tmp_path / name).write_bytes(content)
        assert len(errors(check(tmp_path / name))) == 1
    assert len(errors(check(tmp_path / "none.gml"))) == len(errors(check(tmp_path / "none.toml"))) == 1


CONTROLLER = '''import midpath


class Mine(midpath.Controller):
    """Mine."""

    def on_ack(self, ack):
        """More."""
        self.window += 1
'''


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("self.window += 1", "self.window +=", 9, "SyntaxError"),
        ("import midpath\n", "import midpath\nimport nothing_of_this_name\n", 2, "ModuleNotFoundError"),
        ("on_ack", "on_akc", 4, "is not a hook"),
        ("class Mine", "class _Mine", None, "defines no midpath.Controller"),
        ("class Mine", "class Cubic", None, "there is a scheme 'cubic' already"),
    ],
)
def test_controllers(tmp_path, old, new, line, says):
    file = tmp_path / "mine.py"
    file.write_text(CONTROLLER)
    assert errors(check(file)) == []
    file.write_text(CONTROLLER.replace(old, new, 1))
    [(at, _, message)] = errors(check(file))
    assert says in message
    assert at == line or (line is None and at in (None, 4))


def test_the_command(cli, tmp_path):
    good, bad, mine = tmp_path / "good.toml", tmp_path / "bad.toml", tmp_path / "mine.py"
    good.write_text(cases.scenario(head='scheme = "mine"'))
    bad.write_text(cases.scenario(head="seed = -1"))
    mine.write_text(CONTROLLER)
    answer = cli("check", good, bad, "--with", mine)
    assert (answer.code, answer.err) == (1, "")
    assert answer.out.startswith(f"{bad}:3: error: seed: ")
    assert answer.out.endswith("3 files, 1 error, 0 warnings\n")
    assert cli("check", good, "--with", mine).code == 0
    assert cli("check", good).code == 1
    found = json.loads(cli("check", bad, mine, "--json").out)
    assert [(one["ok"], one["kind"]) for one in found] == [(False, "scenario"), (True, "controllers")]
    assert found[0]["findings"][0]["line"] == 3


def test_the_hook_is_run_as_pre_commit_would(tmp_path):
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    folder = tmp_path / "scenarios"
    folder.mkdir()
    (folder / "good.toml").write_text(cases.scenario())
    (folder / "bad.toml").write_text(cases.scenario(head="seed = -1"))
    (tmp_path / "pyproject.toml").write_text("")
    given = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.toml"))
    chosen = [name for name in given if re.search(hook["files"], name)]
    assert chosen == ["scenarios/bad.toml", "scenarios/good.toml"]
    assert hook["language"] == "system"
    command, *words = hook["entry"].split()
    assert command == "midpath"
    run = [sys.executable, "-m", command, *words]
    assert subprocess.run([*run, "scenarios/good.toml"], cwd=tmp_path, check=False, capture_output=True).returncode == 0
    bad = subprocess.run([*run, *chosen], cwd=tmp_path, check=False, capture_output=True, text=True)
    assert bad.returncode == 1
    assert bad.stdout.startswith("scenarios/bad.toml:3: error: seed: ")


def test_the_schema_resolves_where_it_is_read_from(cli, tmp_path):
    text = cli("schema").out
    schema = json.loads(text)
    # Without `$id` its base is its own address; taplo refuses one that is relative.
    assert "$id" not in schema
    refs = set(re.findall(r'"\$ref":"#/\$defs/(\w+)"', json.dumps(schema, separators=(",", ":"))))
    assert refs and refs <= schema["$defs"].keys()
    taplo = shutil.which("taplo") or shutil.which("taplo", path=sysconfig.get_path("scripts"))
    if taplo is None:
        pytest.skip("taplo is not installed")
    (tmp_path / "scenario.schema.json").write_text(text)
    for name, scenario, code in (
        ("good", cases.scenario(), 0),
        ("bad", cases.scenario().replace("[queue]", "[queu]"), 1),
    ):
        (tmp_path / f"{name}.toml").write_text(f"#:schema ./scenario.schema.json\n{scenario}")
        done = subprocess.run(
            [taplo, "lint", f"{name}.toml"], cwd=tmp_path, check=False, capture_output=True, text=True
        )
        assert done.returncode == code, done.stderr
        assert ("'queu' was unexpected" in done.stderr) == bool(code)


def test_files_are_left_as_they_are(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(cases.scenario())
    check(file)
    assert list(Path(tmp_path).iterdir()) == [file]
