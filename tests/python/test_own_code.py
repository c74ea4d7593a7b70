"""Controllers in Python in every command: what a store knows of their code, and how it reaches other processes."""

import importlib
import json
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import midpath
import midpath.matrix
from midpath import _midpath
from midpath.added import build as added
from midpath.controller import load, named, origins, packed, unpacked
from midpath.controller.own_code import Code
from midpath.errors import UsageError
from midpath.loading import load as load_result
from test_columns import TEXT, VARIED

OWN_CODE = pytest.mark.nightly("python/midpath/controller/", "python/midpath/run/", "python/midpath/commands/")

MINE = """
import midpath
from lower import fall
from pieces.rates import STEP



class Mine(midpath.Controller):
    def on_ack(self, ack):
        import late
        self.window += STEP * late.TIMES * self.mss * ack.acked / self.window

    def on_loss(self, loss):
        return fall(loss.flight)
"""
FILES = {
    "mine.py": MINE,
    "lower.py": "import share\n\n\ndef fall(flight):\n    return share.SHARE * flight\n",
    "share.py": "SHARE = 0.7\n",
    "late.py": "TIMES = 1\n",
    "pieces/rates.py": "from .more import STEP\n",
    "pieces/more.py": "STEP = 1.5\n",
    "unused.py": "raise SystemExit('nobody imports it')\n",
}


def written(folder, **changes):
    """A controller of several files."""
    for place, text in (FILES | changes).items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text)
    return folder / "mine.py"


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "given.toml").write_text(TEXT)
    (tmp_path / "varied.toml").write_text(VARIED)
    return written(tmp_path)


def flows(result):
    return result.flows.to_pylist()


def test_the_code_is_the_file_and_what_it_imports_from_beside_it(mine):
    code = Code.read(mine)
    assert {place for place, _ in code.texts} == FILES.keys() - {"unused.py"}
    assert code.file == "mine.py"
    (said,) = origins(named(load(mine))).values()
    assert said["imports"].keys() == FILES.keys() - {"unused.py", "mine.py"}


def test_what_was_read_is_what_runs_in_every_process(mine, tmp_path):
    here = midpath.run(TEXT, scheme="mine@pie", controllers=load(mine))
    scenario = midpath.Scenario.from_toml(TEXT).with_(scheme="mine@pie", controllers=load(mine))
    # Another process has neither the folder nor its modules.
    sent = pickle.dumps(scenario)
    for place in FILES:
        (tmp_path / place).unlink()
    program = "import pickle, sys, midpath; r = midpath.run(pickle.load(sys.stdin.buffer)); print(r.flows.to_pylist())"
    there = subprocess.run([sys.executable, "-c", program], input=sent, capture_output=True, check=True)
    assert there.stdout.decode().strip() == str(flows(here))


def test_files_of_one_name_in_two_folders_are_two(tmp_path):
    sharp = written(tmp_path / "sharp", **{"share.py": "SHARE = 0.2\n"})
    both = {"mild": load(written(tmp_path / "mild"))[0], "sharp": load(sharp)[0]}
    lossy = midpath.Scenario.from_toml(TEXT).with_(changes={"queue.limit": "12 kB"})
    sent = dict(unpacked(packed(named(both))))
    found = {one: flows(midpath.run(lossy, scheme=one, controllers=both)) for one in both}
    assert found == {one: flows(midpath.run(lossy, scheme=one, controllers=sent)) for one in both}
    assert [row["delivered_bytes"] for row in found["mild"]] != [row["delivered_bytes"] for row in found["sharp"]]
    assert origins(named(both))["mild"]["imports"] != origins(named(both))["sharp"]["imports"]


def test_a_module_that_has_the_name_of_another_is_refused(tmp_path):
    mine = written(tmp_path, **{"mine.py": "import json\n" + MINE, "json.py": ""})
    with pytest.raises(
        UsageError, match=r"mine.py imports json from its folder, but another module has this name: rename it"
    ):
        load(mine)


COMMANDS = {
    "compare": ("compare", "given.toml", "--no-ideal"),
    "variants": ("compare", "varied.toml", "--no-ideal"),
    "sweep": ("sweep", "given.toml", "--no-ideal", "--keep-results", "--jobs", "2"),
    "failures": ("failures", "given.toml", "--at", "300 ms"),
    "matrix": ("matrix", "--quick", "--rows", "long", "--seeds", "1"),
}


@OWN_CODE
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_it_beside_others(mine, tmp_path, cli, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    answer = cli(*COMMANDS[command], "--schemes", "cubic,mine,mine@pie", "--with", "mine.py", "--out", "out", "--json")
    assert answer.code == 0, answer.err
    assert all(f'"{one}"' in answer.out for one in ("mine", "mine@pie")) or command == "sweep"
    if command in ("compare", "sweep"):
        found = load_result(tmp_path / "out")
        alone = midpath.run("given.toml", scheme="mine@pie", controllers=load(mine))
        (run,) = [one for one in results(found) if one.scheme == "mine@pie"]
        assert flows(run) == flows(alone) and run.run["controllers"] == alone.run["controllers"]


def results(found):
    if isinstance(found, midpath.Comparison):
        return list(found.results.values())
    return [midpath.load(found.store.result(row["key"])) for row in found.table().to_pylist()]


def records(store):
    return {path.name: path.stat().st_mtime_ns for path in Path(store).glob("runs/*/*.json")}


@OWN_CODE
def test_a_store_runs_again_what_a_changed_module_changes_and_nothing_else(mine, tmp_path):
    def swept():
        found = midpath.sweep(
            tmp_path / "given.toml",
            {"queue.limit": ["20 kB", "60 kB"]},
            schemes=["cubic", "mine"],
            out=tmp_path / "store",
            controllers=load(mine),
        )
        return found.to_pandas().set_index(["queue.limit", "scheme"])["loss_ratio"]

    once, first = swept(), records(tmp_path / "store")
    assert swept().equals(once) and records(tmp_path / "store") == first
    (tmp_path / "unused.py").write_text("")
    assert swept().equals(once) and records(tmp_path / "store") == first
    (tmp_path / "share.py").write_text("SHARE = 0.1\n")
    changed, then = swept(), records(tmp_path / "store")
    assert len(then) == len(first) + 2 and first.items() <= then.items()
    assert changed.drop("mine", level="scheme").equals(once.drop("mine", level="scheme"))
    assert not changed.equals(once)


@OWN_CODE
def test_runs_that_are_there_are_taken_if_the_code_is_the_same(mine, tmp_path, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran, real = [], _midpath.run

    def counted(*arguments, scheme=None, **more):
        ran.append(scheme)
        return real(*arguments, scheme=scheme, **more)

    monkeypatch.setattr(_midpath, "run", counted)
    words = (*COMMANDS["compare"], "--schemes", "cubic,mine", "--with", "mine.py", "--out", "out")
    for share, again in (("0.7", {"cubic", "mine"}), ("0.7", set()), ("0.3", {"mine"})):
        (tmp_path / "share.py").write_text(f"SHARE = {share}\n")
        ran.clear()
        assert cli(*words).code == 0
        assert {one for one in ran if one != "ideal"} == again


@OWN_CODE
def test_a_class_of_an_imported_module_is_found_there_by_workers(mine, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    cls = importlib.import_module("mine").Mine
    try:
        found = midpath.sweep(TEXT, schemes=["mine"], ideal=False, out=tmp_path / "store", controllers=[cls])
    finally:
        for name in ("mine", "lower", "share", "late", "pieces", "pieces.rates", "pieces.more"):
            sys.modules.pop(name, None)
    alone = midpath.run(TEXT, scheme="mine", controllers=load(mine))
    assert found.table()["loss_ratio"].to_pylist() == [alone.summary["loss_ratio"]]


@OWN_CODE
def test_a_class_in_no_file_has_no_key(tmp_path):
    class Local(midpath.Controller):
        pass

    again = type("Mine", (midpath.Controller,), {})
    for cls in (Local, again):
        with pytest.raises(UsageError, match="is not in its own module"):
            midpath.sweep(TEXT, schemes=["own"], out=tmp_path / "store", controllers={"own": cls})
    # Where it is not used, it does no harm.
    assert len(midpath.sweep(TEXT, schemes=["cubic"], out=tmp_path / "store", controllers={"own": Local})) == 2


def test_an_error_of_a_controller_is_its_run_s(mine, tmp_path, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "late.py").write_text("raise OSError('too late')\n")
    answer = cli("sweep", "given.toml", "--schemes", "cubic,mine", "--with", "mine.py", "--out", "out", "--json")
    assert answer.code == 1
    (failure,) = json.loads(answer.out)["failures"]
    assert "mine: on_ack of flow" in failure["error"] and "OSError: too late (late.py, line 1)" in failure["error"]


CLUSTER = """
    import sys
    from pathlib import Path

    import midpath
    from distributed import LocalCluster
    from midpath.controller import load
    from midpath.run.dask import cluster_executor

    def main():
        base = {"ideal": False, "controllers": load(Path("mine.py"))}
        with LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None, local_directory=".") as cluster:
            at = cluster.scheduler_address
            Path("lower.py").unlink()
            swept = midpath.sweep("given.toml", schemes=["mine", "cubic"], seeds=3, out="swept", cluster=at, **base)
            with cluster_executor(at) as executor:
                found = midpath.compare("given.toml", ["mine", "cubic"], seeds=3, executor=executor, **base)
        assert not swept.failures(), swept.failures()
        here = midpath.compare("given.toml", ["mine", "cubic"], seeds=3, **base)
        for pair, run in here.results.items():
            assert found.results[pair].flows == run.flows, pair
        rows = {(row["scheme"], row["seed"]): row["loss_ratio"] for row in swept.table().to_pylist()}
        assert rows == {pair: run.summary["loss_ratio"] for pair, run in here.results.items()}
        print("alike")

    if __name__ == "__main__":
        main()
"""


@pytest.mark.nightly("python/midpath/run/", "python/midpath/controller/")
def test_a_dask_cluster_runs_it(mine, tmp_path):
    pytest.importorskip("distributed")
    (tmp_path / "cluster.py").write_text(textwrap.dedent(CLUSTER))
    done = subprocess.run(
        [sys.executable, "cluster.py"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0 and "alike" in done.stdout, done.stderr


@pytest.fixture
def crate(tmp_path, monkeypatch):
    """A crate, and what compiling it does: `built` is what the simulator's file has then."""
    monkeypatch.setenv("MIDPATH_SCHEMES", str(tmp_path / "added"))
    monkeypatch.delenv(added.AGAIN, raising=False)
    (tmp_path / "added").mkdir()
    (tmp_path / "crate").mkdir()
    (tmp_path / "given.toml").write_text(TEXT)
    state = {"built": b"one", "started": []}

    def add(directories, say):
        assert list(directories) == [tmp_path / "crate"]
        say("building")
        added.extension().write_bytes(state["built"])

    def execve(program, words, environment):
        state["started"].append(words[1:3])
        assert environment[added.AGAIN] == "1"
        raise SystemExit(0)

    monkeypatch.setattr(added, "add", add)
    monkeypatch.setattr(added.os, "execve", execve)
    return state


def test_a_crate_is_compiled_and_the_command_starts_again_with_it(crate, tmp_path, cli, monkeypatch):
    words = ("run", tmp_path / "given.toml", "--with", tmp_path / "crate")
    with pytest.raises(SystemExit):
        cli(*words)
    assert crate["started"] == [["-m", "midpath"]]
    # The simulator that runs is the one that has it, as it is: nothing starts again.
    monkeypatch.setattr(_midpath, "__file__", str(added.extension()))
    assert cli(*words).code == 0 and len(crate["started"]) == 1
    crate["built"] = b"two"
    with pytest.raises(SystemExit):
        cli(*words)
    # One that was built and does not load is no reason to start for ever.
    monkeypatch.setenv(added.AGAIN, "1")
    monkeypatch.setattr(_midpath, "__file__", "elsewhere")
    answer = cli(*words)
    assert answer.code == 2 and "cannot run it" in answer.err
