"""Sweeps that are killed, stopped, shared, and sent elsewhere."""

import json
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import midpath
from midpath.errors import WorkerError
from midpath.run.bundle import bundle_of, perform_away
from midpath.run.dask import pass_on
from midpath.run.key import build, named_files
from midpath.run.task import Task, perform
from midpath.run.workers import Workers
from midpath.sweep import Slurm
from test_sweep import TINY, records, rows, with_list

MANY = {"queue.limit": [f"{limit} ms" for limit in range(1, 11)]}
ARGUMENTS = ["--vary", f"queue.limit={','.join(MANY['queue.limit'])}", "--schemes", "cubic,dctcp", "--seeds", "4"]
RUNS = 10 * 3 * 4
PATIENCE_S = 60.0


@pytest.fixture
def tiny(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return path


def start(tiny, store, *more):
    command = [sys.executable, "-m", "midpath", "sweep", tiny, *ARGUMENTS, "--out", store, "--jobs", "2", *more]
    return subprocess.Popen(
        [*map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A background job of a shell ignores Ctrl-C, and its children would, too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509 - no threads yet
    )


def until(condition):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def task_of(text, **more):
    return Task("0" * 32, text, ".", None, "cubic", 1, build(), **more)


@pytest.mark.nightly("python/midpath/run/", "python/midpath/sweep/")
def test_killed_twice_and_resumed_it_ends_as_if_never_stopped(tiny, tmp_path):
    store = tmp_path / "store"
    kept = {}
    for goal in (10, 50):
        process = start(tiny, store)
        until(lambda goal=goal: len(records(store)) >= goal)
        workers = children(process.pid)
        assert len(workers) == 2
        process.kill()
        process.communicate()
        # They don't outlive the sweep.
        until(lambda workers=workers: not any(alive(worker) for worker in workers))
        now = records(store)
        assert {key: now[key] for key in kept} == kept
        assert len(now) < RUNS
        kept = now
    process = start(tiny, store, "--json")
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, json.loads(out)["runs"], err) == (0, RUNS, "")
    now = records(store)
    assert len(now) == RUNS
    assert {key: now[key] for key in kept} == kept
    whole = midpath.sweep(tiny, MANY, out=tmp_path / "whole", schemes=["cubic", "dctcp"], seeds=4)  # in one go
    one, other = (found.table().drop_columns(["wall_s"]) for found in (midpath.load_sweep(store), whole))
    assert one.replace_schema_metadata().equals(other.replace_schema_metadata())


def children(pid):
    """The processes that a process has started, whichever of its threads did."""
    lists = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(child) for children in lists for child in children]


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_ctrl_c_stops_it_and_the_same_command_goes_on(tiny, tmp_path):
    store = tmp_path / "store"
    process = start(tiny, store)
    until(lambda: len(records(store)) >= 10)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out, err) == (130, "", "midpath: stopped\n")
    kept = records(store)
    assert 10 <= len(kept) < RUNS
    # What has been run can be looked at.
    states = [row["status"] for row in rows(midpath.load_sweep(store))]
    assert (states.count("done"), states.count("missing")) == (len(kept), RUNS - len(kept))


@pytest.mark.nightly("python/midpath/run/", "python/midpath/sweep/")
def test_two_processes_share_one_store(tiny, tmp_path):
    store = tmp_path / "store"
    both = [start(tiny, store, "--json") for _ in range(2)]
    answers = [process.communicate(timeout=2 * PATIENCE_S) for process in both]
    assert [process.returncode for process in both] == [0, 0], answers
    assert [json.loads(out)["failed"] for out, _ in answers] == [0, 0]
    assert len(records(store)) == RUNS
    assert {row["status"] for row in rows(midpath.load_sweep(store))} == {"done"}
    assert not [path for path in store.rglob(".*") if path.name != ".lock"]


def test_a_run_that_takes_its_process_down_fails_alone():
    workers = Workers(1)
    try:
        # Minutes of work, unless it is killed.
        long = TINY.replace("40 ms", "10000 s").replace("20 kB", "10 TB")
        assert workers.submit(task_of(TINY)).result(PATIENCE_S).record["status"] == "done"
        lost = workers.submit(task_of(long))
        time.sleep(0.3)
        workers._all[0].kill()
        assert lost.result(PATIENCE_S).record["error"].startswith("its process was killed by SIGKILL")
        assert workers.submit(task_of(TINY)).result(PATIENCE_S).record["status"] == "done"
    finally:
        workers.close()


def test_a_worker_that_cannot_start_stops_the_sweep(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(WorkerError, match="a worker did not start: its process exited with code 1"):
        midpath.sweep(tiny, out=tmp_path / "store", schemes=["cubic"])
    assert not records(tmp_path / "store")


def test_closing_stops_what_is_running():
    workers = Workers(2)
    long = TINY.replace("40 ms", "10000 s").replace("20 kB", "10 TB")
    running = [workers.submit(task_of(long)) for _ in range(5)]
    until(lambda: len(workers._all) == 2)
    begun = time.monotonic()
    workers.close()
    assert time.monotonic() - begun < 10
    assert all(future.done() for future in running)


def test_a_run_does_not_stand_for_files_that_changed_under_it(tmp_path):
    path = with_list(tmp_path)
    (tmp_path / "flows.csv").write_text("src,dst,size,start\na,b,10000,0\n")
    task = task_of(path.read_text(), files={"flows.csv": "what it was before"})
    assert "changed while the sweep ran" in perform(replace(task, base_dir=str(tmp_path))).record["error"]


# Elsewhere.


@pytest.mark.parametrize("where", ["flows.csv", "lists/flows.csv", "../flows.csv", "{absolute}/flows.csv"])
def test_files_go_along(tmp_path, where):
    folder = tmp_path / "scenarios"
    (folder / "lists").mkdir(parents=True)
    name = where.format(absolute=tmp_path / "far")
    (tmp_path / "far").mkdir()
    (folder / name).write_text("src,dst,size,start\na,b,10000,0\na,b,3000,0.01\n")
    scenario = midpath.Scenario.from_toml(with_list(folder, name))
    files = {file.text: file.digest for file in named_files(scenario)}
    task = replace(task_of(scenario.text, files=files), base_dir=str(folder))
    bundle, here = bundle_of(task), perform(task)
    (folder / name).unlink()
    away = perform_away(task, bundle)
    assert here.record["figures"] == away.record["figures"]
    assert away.record["flows"] == 2


def test_another_build_is_refused():
    with pytest.raises(midpath.errors.UsageError, match="another build"):
        perform(replace(task_of(TINY), build="0.0.0"))


CLUSTER = """
    import json, sys
    import midpath
    from distributed import LocalCluster

    if __name__ == "__main__":
        path, store = sys.argv[1:]
        told = []
        with LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs="ERROR"
        ) as cluster:
            found = midpath.sweep(
                path,
                {"queue.limit": ["5 ms", "20 ms"]},
                out=store,
                schemes=["cubic"],
                seeds=5,
                cluster=cluster.scheduler_address,
                on_progress=lambda reached: told.append(reached.done),
            )
        print(json.dumps({"done": told, "runs": len(found), "failures": found.failures()}))
"""


@pytest.mark.nightly("python/midpath/run/", "python/midpath/sweep/")
def test_a_dask_cluster_does_the_runs(tmp_path):
    pytest.importorskip("distributed")
    path = with_list(tmp_path, "../far.csv")
    (tmp_path.parent / "far.csv").write_text("src,dst,size,start\na,b,10000,0\na,b,30000,0.01\n")
    script = tmp_path / "cluster.py"
    script.write_text(textwrap.dedent(CLUSTER))
    command = [sys.executable, script, path, tmp_path / "store"]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["runs"], answer["failures"]) == (20, [])
    assert answer["done"] == list(range(21))
    here = midpath.sweep(
        path, {"queue.limit": ["5 ms", "20 ms"]}, out=tmp_path / "here", schemes=["cubic"], seeds=5
    ).table()
    there = midpath.load_sweep(tmp_path / "store").table()
    assert there.drop_columns(["wall_s"]).equals(here.drop_columns(["wall_s"]))


def test_no_cluster_is_one_message(tiny, tmp_path, process):
    pytest.importorskip("distributed")
    answer = process("sweep", tiny, "--out", tmp_path / "store", "--cluster", "nowhere")
    assert answer.code == 2
    assert "--cluster nowhere" in answer.err.splitlines()[-1]


@pytest.mark.nightly("python/midpath/run/", "python/midpath/sweep/")
def test_jobs_by_submitit_do_the_runs(tiny, tmp_path):
    pytest.importorskip("submitit")
    told = []
    slurm = Slurm(jobs=2, executor="local", poll_s=0.1, parameters={"timeout_min": 5})
    vary = {"queue.limit": ["5 ms", "20 ms"]}
    found = midpath.sweep(
        tiny, vary, out=tmp_path / "store", schemes=["cubic"], seeds=3, slurm=slurm, on_progress=told.append
    )
    here = midpath.sweep(tiny, vary, out=tmp_path / "here", schemes=["cubic"], seeds=3)
    assert found.table().drop_columns(["wall_s"]).equals(here.table().drop_columns(["wall_s"]))
    assert (told[0].done, told[-1].done) == (0, 12)


def test_without_slurm_it_says_so(tiny, tmp_path, cli, monkeypatch):
    pytest.importorskip("submitit")
    monkeypatch.setenv("PATH", "")
    answer = cli("sweep", tiny, "--out", tmp_path / "store", "--slurm", 2)
    assert answer.code == 2
    assert "--slurm" in answer.err


def test_jobs_that_end_without_their_runs_are_an_error(tiny, tmp_path, monkeypatch):
    pytest.importorskip("submitit")
    # Another build than the jobs have: they refuse the runs.
    monkeypatch.setattr(sys.modules["midpath.run.work"], "build", lambda: "0.0.0")
    with pytest.raises(WorkerError, match=r"2 runs left.*UsageError: a worker has another build.*\.err\)$"):
        midpath.sweep(
            tiny, out=tmp_path / "store", schemes=["cubic"], slurm=Slurm(jobs=1, executor="local", poll_s=0.1)
        )


def test_a_run_that_takes_dask_workers_down_has_failed():
    distributed = pytest.importorskip("distributed")
    lost, stopped = Future(), Future()
    lost.set_exception(distributed.KilledWorker("run", SimpleNamespace(address="tcp://a"), 3))
    stopped.set_exception(RuntimeError("the scheduler went away"))
    answers = Future(), Future()
    for found, answer in zip((lost, stopped), answers, strict=True):
        pass_on(found, task_of(TINY), answer)
    assert answers[0].result().record["status"] == "failed"
    with pytest.raises(WorkerError, match="scheduler went away"):
        answers[1].result()
