"""The commands under "Repeat it": each is run, and gives the same bytes."""

import html as entities
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import midpath
from midpath import cli
from midpath.controller import load
from midpath.loading import load as load_any
from midpath.report import html

pytestmark = pytest.mark.nightly("python/midpath/")

NEWRENO = Path(__file__).parents[2] / "examples" / "controllers" / "newreno.py"
TEXT = """
title = "Repeated"
scheme = "cubic"
stop = "500 ms"
[topology]
generate = "dumbbell"
pairs = 3
bottleneck = { rate = "10 Mbps", delay = "5 ms" }
access = { rate = "100 Mbps", delay = "1 ms" }
[queue]
limit = "100 kB"
[[workload]]
arrivals = { kind = "poisson", rate_per_s = 50.0 }
sizes = { kind = "exponential", mean = "20 kB" }
flows = 12
"""
WITH_VARIANTS = TEXT + '\n[variants.small]\nqueue.limit = "20 kB"\n[variants.large]\n'
# What the time of day and the machine's speed change.
OF_THE_CLOCK = {"wall_s", "hops_per_s", "cpu_s"}
# What the scenario's text was read from: the page has the text with all changes in it.
OF_THE_FILE = {"source", "variant"}


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A directory with a scenario and a controller in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "given.toml").write_text(TEXT)
    (tmp_path / "varied.toml").write_text(WITH_VARIANTS)
    (tmp_path / "mine.py").write_text(NEWRENO.read_text())
    return tmp_path


def timeless(value):
    if isinstance(value, dict):
        found = {key: timeless(inner) for key, inner in value.items() if key not in OF_THE_CLOCK | OF_THE_FILE}
        return found | ({"scenario": found["scenario"].strip()} if isinstance(found.get("scenario"), str) else {})
    return [timeless(inner) for inner in value] if isinstance(value, list) else value


def contents(directory):
    """What all files of a result hold: bytes, but for times of the clock."""
    found = {}
    for path in sorted(Path(directory).rglob("*")):
        if path.is_file() and path.suffix in (".json", ".parquet", ".arrow", ".toml"):
            name = str(path.relative_to(directory))
            found[name] = timeless(json.loads(path.read_text())) if path.suffix == ".json" else path.read_bytes()
    return found


def repeated(out, home):
    """Runs the page's command where its scenario is a file, and gives what comes of it."""
    page = html(load_any(out))
    command = entities.unescape(re.search(r'<pre id="command">(.*?)</pre>', page, re.DOTALL)[1])
    (home / "again").mkdir()
    for file in ("given.toml", "varied.toml", "mine.py"):
        (home / "again" / file).write_bytes((home / file).read_bytes())
    text = entities.unescape(re.search(r'<pre id="scenario">(.*?)</pre>', page, re.DOTALL)[1])
    (home / "again" / "scenario.toml").write_text(text)
    words = shlex.split(command, comments=True)
    if words[0] == "midpath":
        target = [] if "--out" in words else ["--out", "out"]
        assert cli.main([*_at(words[1:], home), *_at(target, home)]) == 0, command
    else:
        assert words[:2] == ["python", "-c"]
        subprocess.run([sys.executable, "-c", words[2]], cwd=home / "again", check=True, timeout=300)
    (written,) = [path for path in (home / "again").iterdir() if path.is_dir() and path.name != "__pycache__"]
    return written, command


def _at(words, home):
    """The command as if it were given in the directory `again`."""
    files = {path.name for path in (home / "again").iterdir()}
    after = {index + 1 for index, word in enumerate(words) if word == "--out"}
    return [str(home / "again" / word) if word in files or i in after else word for i, word in enumerate(words)]


RUNS = {
    "a run": ["run", "given.toml"],
    "another scheme and seed": ["run", "given.toml", "--scheme", "bbr", "--seed", "7"],
    "changed values": ["run", "given.toml", "--set", "queue.limit=30 kB", "--set", "title=it's \"odd\""],
    "a file of controllers": ["run", "given.toml", "--scheme", "newreno-in-python", "--with", "mine.py"],
    "a variant": ["run", "varied.toml", "--variant", "small"],
    "a trace": ["run", "given.toml", "--trace", "flows=1;2"],
    "bytes on the wire": ["run", "given.toml", "--wire"],
    "a comparison": ["compare", "given.toml", "--schemes", "cubic,bbr", "--seeds", "2"],
    "without the ideal": ["compare", "given.toml", "--schemes", "cubic,bbr", "--no-ideal", "--seed", "5"],
    "of a file": ["compare", "given.toml", "--with", "mine.py", "--schemes", "cubic,newreno-in-python"],
    "a changed comparison": ["compare", "given.toml", "--schemes", "cubic", "--set", "queue.limit=30 kB"],
    "variants": ["compare", "varied.toml", "--schemes", "cubic", "--seeds", "2"],
    "some variants": ["compare", "varied.toml", "--schemes", "cubic", "--variants", "large", "--set", "stop=0.4s"],
    "variants of a file": ["compare", "varied.toml", "--schemes", "newreno-in-python", "--with", "mine.py"],
    "a sweep": ["sweep", "given.toml", "--vary", "queue.limit=20 kB,50 kB", "--schemes", "cubic,bbr", "--seed", "3"],
    "columns with queues": ["compare", "given.toml", "--schemes", "cubic,cubic@fq_codel,cubic+rpm@pie"],
    "a sweep of a file": ["sweep", "given.toml", "--schemes", "newreno-in-python,cubic@pie", "--with", "mine.py"],
    "failures of a file": ["failures", "given.toml", "--schemes", "newreno-in-python", "--at=.2s", "--with", "mine.py"],
    "a sweep of a variant": ["sweep", "varied.toml", "--variants", "small", "--vary", "stop=0.4s,0.5s", "--no-ideal"],
    "failures": ["failures", "given.toml", "--schemes", "cubic", "--at", "200 ms", "--ideal", "--seeds", "2"],
}  # fmt: skip


@pytest.mark.parametrize("words", RUNS.values(), ids=RUNS)
def test_a_command_under_repeat_it_gives_the_same_bytes(work, capsys, words):
    out = work / "first"
    assert cli.main([*words, "--out", str(out)]) == 0, capsys.readouterr().err
    written, command = repeated(out, work)
    assert same(contents(written), contents(out)), command


def same(one, other):
    """Whether two results are; a store's tables have the simulator's time in them, and the command the store's name."""
    assert one.keys() == other.keys()
    return not [name for name in one if one[name] != other[name] and not name.endswith((".arrow", "table.parquet"))]


PYTHON = {
    "seeds with gaps": lambda out: midpath.compare(
        midpath.Scenario.from_toml("given.toml"), "cubic,bbr", seeds=[1, 5], out=out
    ),
    "no variants, though there are": lambda out: midpath.compare(
        midpath.Scenario.from_toml("varied.toml"), "cubic", ideal=False, out=out
    ),
    "variants and seeds with gaps": lambda out: midpath.compare_variants(
        midpath.Scenario.from_toml("varied.toml"), "cubic", seeds=[2, 9], out=out
    ),
    "a sweep and seeds with gaps": lambda out: midpath.sweep(
        midpath.Scenario.from_toml("given.toml").with_(changes={"stop": "0.4 s"}),
        {"queue.limit": ["20 kB", "50 kB"]}, schemes=["cubic"], seeds=[2, 9], out=out,
    ),
    "a sweep of a controller and seeds with gaps": lambda out: midpath.sweep(
        midpath.Scenario.from_toml("given.toml"), schemes=["newreno-in-python"], seeds=[2, 9], out=out,
        controllers=load(Path("mine.py")),
    ),
    "a controller and seeds with gaps": lambda out: midpath.compare(
        midpath.Scenario.from_toml("given.toml").with_(controllers=load(Path("mine.py"))),
        "newreno-in-python", seeds=[3, 1], out=out
    ),
}  # fmt: skip


@pytest.mark.parametrize("call", PYTHON.values(), ids=PYTHON)
def test_what_no_command_can_say_is_a_line_of_python(work, call):
    out = work / "first"
    call(out)
    written, command = repeated(out, work)
    assert command.startswith("python -c "), command
    assert same(contents(written), contents(out)), command


def test_a_controller_without_a_file_is_named(work):
    namespace = {"midpath": midpath}
    exec("class Mine(midpath.Controller):\n    def on_loss(self, loss):\n        return self.window / 2", namespace)
    found = midpath.run("given.toml", scheme="mine", controllers=[namespace["Mine"]])
    assert "with controllers that are in no file: mine" in entities.unescape(html(found))
