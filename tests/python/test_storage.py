import json
import re
from html import unescape

import pyarrow as pa
import pytest

import midpath
from midpath.errors import OutputError
from midpath.report import html
from midpath.storage import to_json, write_directory, write_text


def names(path):
    return sorted(entry.name for entry in path.iterdir())


def test_result_round_trips(tmp_path, made_up):
    result = midpath.run("title = 'x'\n")
    result.save(tmp_path / "out")
    again = midpath.load(tmp_path / "out")
    assert names(tmp_path / "out") == ["flows.parquet", "ports.parquet", "run.json", "series.parquet"]
    assert again.run == result.run
    for name, table in result.tables.items():
        assert again.tables[name].equals(table)


def test_files_of_a_run_are_kept(tmp_path, made_up):
    result = midpath.run("title = 'x'\n")
    result.files["r0-r1.pcapng"] = b"\x0a\x0d"
    result.save(tmp_path / "out")
    assert midpath.load(tmp_path / "out").files == {"r0-r1.pcapng": b"\x0a\x0d"}


def test_failure_leaves_nothing(tmp_path):
    def fill(directory):
        (directory / "half").write_text("x")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_directory(tmp_path / "out", "run.json", fill)
    assert names(tmp_path) == []


def test_failure_leaves_the_old_result(tmp_path, made_up):
    midpath.run("title = 'x'\n").save(tmp_path / "out")

    def fill(directory):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_directory(tmp_path / "out", "run.json", fill)
    assert midpath.load(tmp_path / "out").scheme == "cubic"
    assert names(tmp_path) == ["out"]


def test_a_result_replaces_a_result_and_nothing_else(tmp_path, made_up):
    result = midpath.run("title = 'x'\n")
    result.save(tmp_path / "out")
    (tmp_path / "out" / "stale.parquet").write_bytes(b"")
    result.save(tmp_path / "out")
    assert "stale.parquet" not in names(tmp_path / "out")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("years")
    (tmp_path / "file").write_text("x")
    for taken in ("home", "file"):
        with pytest.raises(OutputError):
            result.save(tmp_path / taken)
    assert names(tmp_path) == ["file", "home", "out"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda out: (out / "flows.parquet").write_bytes(b"PAR1"),
        lambda out: (out / "flows.parquet").unlink(),
        lambda out: (out / "run.json").write_text("{"),
        lambda out: (out / "run.json").unlink(),
        lambda out: (out / "run.json").write_text(json.dumps({"format": 2})),
    ],
)
def test_damaged_results_are_refused(tmp_path, made_up, damage):
    out = midpath.run("title = 'x'\n").save(tmp_path / "out")
    damage(out)
    with pytest.raises(OutputError):
        midpath.load(out)


def test_text_is_written_whole(tmp_path):
    write_text(tmp_path / "a" / "b.html", "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(tmp_path / "a" / "b.html", "new \ud800")
    assert (tmp_path / "a" / "b.html").read_text() == "old"
    assert names(tmp_path / "a") == ["b.html"]


def test_columns_have_their_types(made_up):
    result = midpath.run("title = 'x'\n")
    assert result.flows.schema.field("flow").type == pa.uint32()
    assert result.flows.schema.field("completed").type == pa.bool_()
    assert result.flows["src"].to_pylist()[0] in {"Seattle", "Denver"} | set(result.flows["src"].to_pylist())
    assert result.flows.to_pandas()["fct_s"].notna().all()


def test_results_go_into_what_cannot_be_renamed(tmp_path, monkeypatch):
    """A mount point, or a folder in a folder that is not ours: what is in it is replaced, not the folder."""
    monkeypatch.setattr("midpath.storage.stays", lambda path: path.is_dir())
    out = tmp_path / "out"
    out.mkdir()
    before = out.stat().st_ino
    for word in ("first", "second"):

        def fill(folder, word=word):
            (folder / f"{word}.txt").write_text(word)
            (folder / "marker").write_text(word)

        write_directory(out, "marker", fill)
        assert {entry.name for entry in out.iterdir()} == {f"{word}.txt", "marker"}
        assert (out / "marker").read_text() == word
    assert out.stat().st_ino == before


def test_a_full_disk_is_named(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match=r"cannot write .*report\.html: No space left on device"):
        write_text(tmp_path / "report.html", "x")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OSError, match=r"cannot write .*out: No space left"):
        write_directory(tmp_path / "out", "marker", full)
    assert list(tmp_path.iterdir()) == []


def test_results_show_themselves(tmp_path):
    """In one line, and as a table in notebooks; what is on disk is read by one function."""
    small = """
[topology]
generate = "dumbbell"
pairs = 1
access = { rate = "100 Mbps", delay = "1 ms" }
bottleneck = { rate = "10 Mbps", delay = "5 ms" }
[[flow]]
from = "s0"
to = "d0"
size = "50 kB"
"""
    result = midpath.run(small, seed=3)
    assert re.fullmatch(r"<Result '.*': \w+, seed 3, 1 of 1 flows ended, AFCT [\d.]+\s\w+>", repr(result)), repr(result)
    assert "<th>AFCT</th>" in result._repr_html_()
    found = midpath.compare(small, ["cubic", "ideal"], seeds=2)
    assert repr(found).endswith(": cubic, ideal; 2 seeds>"), repr(found)
    assert found._repr_html_().count("<tr>") == 3
    assert "±" not in found._repr_html_(), "nothing is random"
    shown = found.show()
    assert unescape(re.search(r'srcdoc="([^"]*)"', shown._repr_html_())[1]) == html(found)
    assert len(repr(shown)) < 80
    midpath.run(small).save(tmp_path / "run")
    midpath.compare(small, "cubic", seeds=1, out=tmp_path / "compared")
    assert isinstance(midpath.load(tmp_path / "run"), midpath.Result)
    assert isinstance(midpath.load(tmp_path / "compared"), midpath.Comparison)
    with pytest.raises(midpath.OutputError, match="is not a result"):
        midpath.load(tmp_path)


@pytest.mark.parametrize("levels", [None, 0, 1, 2, 3])
def test_json_is_the_same_value_on_fewer_lines(levels):
    value = {"a": {"b": {"c": [1, {"d": None}], "e": {}}, "f": "ä\n"}, "g": {}}
    text = to_json(value, levels)
    assert json.loads(text) == value
    assert text.count("\n") == {None: 14, 0: 0, 1: 3, 2: 6, 3: 9}[levels]
