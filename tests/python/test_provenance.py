"""Results say the version and the defaults that they ran under, and unlike ones do not mix."""

import json

import pytest

import fixture
import midpath
from midpath import _midpath, provenance
from midpath.errors import OutputError
from midpath.loading import load_all
from midpath.papers import figures, record, run_figure
from midpath.papers.sequence import run_until_decided

TEXT = fixture.transfer("20 kB")


@pytest.fixture
def small(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(TEXT, encoding="utf-8")
    return file


@pytest.fixture
def changed(monkeypatch):
    """Makes the simulator another one, with a key of its schema changed."""

    def change(*path, value):
        schema = json.loads(_midpath.schema())
        *parents, last = path
        node = schema
        for key in parents:
            node = node[key]
        node[last] = value
        text = json.dumps(schema)
        monkeypatch.setattr(_midpath, "schema", lambda: text)
        provenance.digests.cache_clear()

    yield change
    monkeypatch.undo()
    provenance.digests.cache_clear()


def of(scheme, key):
    """Where a parameter stands in the schema."""
    return "properties", "schemes", "properties", scheme, "properties", key


def rewritten(directory, **changes):
    """Changes what a stored run says of itself."""
    file = directory / "run.json"
    run = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(run | changes), encoding="utf-8")
    return run


def refused(*texts):
    """An error of one line that has these texts."""
    return pytest.raises(OutputError, match="(?s)^(?!.*\n)" + "".join(f"(?=.*{text})" for text in texts))


def test_a_run_names_its_version_and_the_defaults_of_what_ran(small):
    run = midpath.run(small).run
    assert run["midpath"] == midpath.__version__
    assert run["defaults"] == {name: provenance.digests()[name] for name in ("scenario", "newreno")}
    assert provenance.digests().keys() == {"scenario", *midpath.schemes.shipped()}


def test_a_digest_is_of_defaults_alone(changed):
    before = dict(provenance.digests())
    changed(*of("newreno", "min_rto"), "description", value="other words")
    changed("$defs", "LossDetection", "oneOf", value=[])
    assert provenance.digests() == before
    changed(*of("newreno", "min_rto"), "default", value="200 ms")
    assert {name for name in before if provenance.digests()[name] != before[name]} == {"newreno"}
    changed("properties", "measure", "default", "points", value=7)
    assert {name for name in before if provenance.digests()[name] != before[name]} == {"newreno", "scenario"}


def test_a_default_that_schemes_share_is_in_the_digest_of_each(changed):
    before = dict(provenance.digests())
    changed("$defs", "QueueTable", "properties", "new", value={"default": 1})
    assert all(provenance.digests()[name] != before[name] for name in ("scenario", "newreno", "fcp"))


def test_a_comparison_of_other_defaults_is_refused_or_replaced(small, changed, tmp_path):
    out = tmp_path / "out"
    first = midpath.compare(small, ["newreno", "cubic"], ideal=False, out=out)
    old, cubic = first.results["newreno", 1].run["defaults"]["newreno"], first.results["cubic", 1].run
    changed(*of("newreno", "min_rto"), "default", value="200 ms")
    new = provenance.digests()["newreno"]
    with refused("newreno-1 ran under midpath", f"newreno {old}", f"newreno {new}", "--replace"):
        midpath.compare(small, ["newreno", "cubic"], ideal=False, out=out)
    again = midpath.compare(small, ["newreno", "cubic"], ideal=False, out=out, replace=True)
    assert again.results["newreno", 1].run["defaults"]["newreno"] == new
    # CUBIC's defaults are what they were: its run stays.
    assert again.results["cubic", 1].run["wall_s"] == cubic["wall_s"]
    kept = json.loads((out / "compare.json").read_text(encoding="utf-8"))
    assert kept["defaults"] == {name: provenance.digests()[name] for name in ("scenario", "newreno", "cubic")}


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"midpath": "0.0.1"}, r"midpath 0\.0\.1"), ({"defaults": None}, "with defaults that it does not name")],
)
def test_runs_of_another_version_are_refused(small, tmp_path, changes, said):
    out = tmp_path / "out"
    midpath.compare(small, ["newreno"], seeds=2, ideal=False, out=out)
    rewritten(out / "runs/newreno-2", **changes)
    now = rf"midpath {midpath.__version__}"
    with refused("newreno-2", said, now, "--replace"):
        midpath.compare(small, ["newreno"], seeds=2, ideal=False, out=out)
    with refused("newreno-1 ran under", "newreno-2", said, now, "rerun the older one"):
        midpath.load(out)


def test_the_command_says_it_in_a_line(small, cli, tmp_path):
    out = tmp_path / "out"
    assert cli("compare", small, "--schemes", "newreno", "--no-ideal", "--out", out).code == 0
    rewritten(out / "runs/newreno-1", midpath="0.0.1")
    said = cli("compare", small, "--schemes", "newreno", "--no-ideal", "--out", out)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert cli("compare", small, "--schemes", "newreno", "--no-ideal", "--out", out, "--replace").code == 0


def test_variants_of_unlike_versions_are_refused(tmp_path):
    file, out = tmp_path / "two.toml", tmp_path / "out"
    file.write_text(TEXT + '[variants.today]\n[variants.later]\nqueue.limit = "10 ms"\n', encoding="utf-8")
    midpath.compare_variants(file, ["newreno"], ideal=False, out=out)
    kept = json.loads((out / "variants.json").read_text(encoding="utf-8"))
    assert kept["midpath"] == midpath.__version__ and kept["defaults"].keys() == {"scenario", "newreno"}
    rewritten(out / "variants/later/runs/newreno-1", midpath="0.0.1")
    with refused("today/newreno-1 ran under", "later/newreno-1 under midpath 0.0.1"):
        midpath.load(out)


def test_results_of_unlike_defaults_are_not_drawn_together(small, tmp_path):
    for name, scheme in (("a", "newreno"), ("b", "cubic"), ("c", "newreno")):
        midpath.run(small, scheme=scheme, out=tmp_path / name)
    directories = [tmp_path / name for name in "abc"]
    assert len(load_all(directories)) == 3
    defaults = json.loads((tmp_path / "c/run.json").read_text(encoding="utf-8"))["defaults"]
    rewritten(tmp_path / "c", defaults=defaults | {"newreno": "0" * 12})
    assert len(load_all(directories[:2])) == len(load_all(directories[1:])) == 2
    with refused("a ran under", f"newreno {defaults['newreno']}", "c under", f"newreno {'0' * 12}"):
        load_all(directories)
    # A kernel has no defaults of ours.
    rewritten(tmp_path / "c", kind="lab", midpath="0.0.1", defaults=None)
    assert len(load_all(directories)) == 3


def test_a_sweep_of_other_defaults_is_refused(small, changed, tmp_path):
    store = tmp_path / "store"
    found = midpath.sweep(small, {"queue.limit": ["10 ms"]}, out=store, ideal=False, jobs=1)
    assert found.about["defaults"] == provenance.digests()
    assert len(midpath.sweep(small, {"queue.limit": ["10 ms"]}, out=store, ideal=False, jobs=1)) == 1
    changed(*of("newreno", "min_rto"), "default", value="200 ms")
    with refused("store ran under", "newreno", "choose another directory"):
        midpath.sweep(small, {"queue.limit": ["10 ms", "20 ms"]}, out=store, ideal=False, jobs=1)


CLAIM = """title = "One transfer"
source = "§1"
seeds = 2
[[claim]]
id = "open"
claim = "Mean completion time"
paper = "short"
kind = "seconds"
tolerance = { at_most = 0.1 }
why = "between the seeds"
"""
MEASURE = """from midpath.papers.lab import Measured

def measure(lab):
    lab.runs("short")
    yield Measured("open", [0.1 * (seed % 2) + 0.01 for seed in lab.seeds])
"""


def test_seeds_are_not_added_to_those_of_other_defaults(tmp_path, changed):
    folder = tmp_path / "made/figure1"
    folder.mkdir(parents=True)
    for name, text in (("claim.toml", CLAIM), ("measure.py", MEASURE), ("short.toml", TEXT)):
        (folder / name).write_text(text, encoding="utf-8")
    figure = figures(tmp_path)[0]
    record.keep(figure, run_figure(figure))
    assert record.stored(figure)["defaults"].keys() == {"scenario", "newreno"}
    assert next(run_until_decided([figure], 1.0)).first > 3
    changed(*of("newreno", "min_rto"), "default", value="200 ms")
    with refused("results.json ran under", "newreno", "--write-results"):
        next(run_until_decided([figure], 1.0))
