"""`midpath bench`: what is chosen, how it is measured, what is made of it."""

import contextlib
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import typer

import script
from midpath import stats
from midpath.benchmark import Bench, NotMeasuredError, beside, choose, measure, suite, with_goals
from midpath.benchmark.counters import counted, missing
from midpath.benchmark.curves import choose as choose_curves
from midpath.benchmark.curves import curves
from midpath.benchmark.curves import measured as curve_point
from midpath.benchmark.goals import Goal
from midpath.benchmark.instructions import parsed as counted_by_valgrind
from midpath.benchmark.instructions import per_hop
from midpath.benchmark.measure import busy_loops, repetitions
from midpath.benchmark.ns3 import Ns3, parsed
from midpath.benchmark.scenarios import chain, fat_tree, many_hosts, provider
from midpath.commands.bench import bench, print_benchmarks
from midpath.errors import UsageError
from midpath.run import cores
from midpath.topology.tiscali import MAP

# What the kernel told on machines of three kinds: with all counters, with fewer places than counters, with none.
ALL = {
    "cycles": (601_200_000, 250_000_000, 250_000_000),
    "instructions": (2_810_000_000, 250_000_000, 250_000_000),
    "cache_misses": (420_000, 250_000_000, 250_000_000),
    "branch_misses": (99_000, 250_000_000, 250_000_000),
    "page_faults": (909, 250_000_000, 250_000_000),
}
SHARED = ALL | {"cycles": (300_000, 1_000, 500), "branch_misses": (0, 1_000, 0)}
NO_HARDWARE = dict.fromkeys(ALL, "no such device") | {"page_faults": ALL["page_faults"]}


@pytest.fixture(scope="module")
def smallest():
    """The row that takes least."""
    (row,) = choose(suite(), "chain-8")
    return replace(row, scenario=chain(8, "200 ms"))


@pytest.fixture(scope="module")
def measured(smallest):
    return measure(smallest, repeat=2)


def names(only=None, large=False):
    return [row.id for row in choose(suite(), only, large)]


def test_names_are_unique_and_large_rows_wait_to_be_asked_for():
    every = names(large=True)
    assert len(set(every)) == len(every)
    assert {"million", "fat-tree-16", "set-up-128"} <= set(every) - set(names())


def test_rows_are_chosen_by_name_or_beginning():
    assert names("long") == ["long-4", "long-64", "long-1024", "long-16384"]
    assert names("fat-tree") == ["fat-tree-4", "fat-tree-8"]
    assert names("fat-tree", large=True) == ["fat-tree-4", "fat-tree-8", "fat-tree-16"]
    assert names("million, short,sho") == ["million", "short"]
    # One name may be the beginning of others.
    assert names("long-4") == ["long-4"]


@pytest.mark.parametrize(
    ("only", "says"),
    [
        ("fat-three-4", "no benchmark begins with 'fat-three-4'; did you mean fat-tree-4"),
        ("xyz", "there are: long-4, "),
        ("short,", "no benchmark begins with ''"),
        ("set", "set-up-64, set-up-128: large rows; give whole names, or add --all"),
    ],
)
def test_unknown_names_are_answered_with_near_ones(only, says):
    with pytest.raises(UsageError) as caught:
        names(only)
    assert says in str(caught.value)


def test_counters_are_scaled_to_the_whole_run():
    assert counted(ALL)["cycles"] == 601_200_000
    found = counted(SHARED)
    assert found["cycles"] == 600_000
    assert "branch_misses" not in found
    assert missing(SHARED) is None


def test_a_machine_without_counters_says_why():
    assert counted(NO_HARDWARE) == {"page_faults": 909}
    assert missing(NO_HARDWARE) == "no such device"
    assert missing(dict.fromkeys(ALL, (0, 1_000, 0))) == "the hardware counters were never free"


def test_a_row_is_measured_in_a_process_of_its_own(measured):
    # 200 ms at 1 Gbps are 16,667 packets of 1500 B, over 9 links of 1 ms; those on the way at the end are not counted.
    assert measured.packet_hops == pytest.approx(9 * 16_667, rel=0.06)
    assert measured.hops_per_s == pytest.approx(measured.packet_hops / measured.wall_s)
    assert measured.best_hops_per_s >= measured.hops_per_s
    assert measured.best_cpu_s <= measured.cpu_s
    assert 0 < measured.set_up_cpu_s < measured.total_cpu_s
    assert measured.total_cpu_s > measured.best_cpu_s
    # This process has pandas loaded and is larger than that.
    if sys.platform == "linux":
        assert 4e6 < measured.peak_bytes < 60e6


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's counters")
def test_counters_are_there_or_the_reason_is(measured):
    found = measured.counters_per_hop
    if measured.counters_missing is None:
        assert set(found) & {"cycles", "instructions", "cache_misses", "branch_misses"}
    else:
        assert measured.counters_missing.strip()
        assert not set(found) & {"cycles", "instructions"}


def test_a_set_up_moves_no_packet():
    (row,) = choose(suite(), "set-up-64")
    found = measure(replace(row, scenario=fat_tree(4)), repeat=1)
    assert (found.packet_hops, found.hops_per_s, found.counters_per_hop) == (0, None, {})
    assert found.set_up_cpu_s == found.total_cpu_s > 0


def test_repetitions_have_the_same_packets_with_any_threads():
    one, two = (repetitions(fat_tree(4, "100 kB"), 1, threads) for threads in (1, 2))
    assert one.run["packet_hops"] == two.run["packet_hops"] > 0
    assert one.run["completed"] == 16


def test_what_cannot_be_measured_says_so(smallest):
    with pytest.raises(NotMeasuredError, match=r"topology\.n"):
        measure(replace(smallest, scenario=chain(0)))


def test_goals_are_reached_in_parts(measured):
    one = replace(measured, hops_per_cpu_s=10e6, total_cpu_s=2.0, peak_bytes=400_000_000)
    half = replace(one, id="other", hops_per_cpu_s=4e6)
    goals = {one.id: Goal(mhops=8, cpu_s=1, memory=1e9), "other": Goal(5, beside=(one.id, 0.5))}
    first, second = with_goals([one, half], goals)
    assert [part.share for part in first.reached] == pytest.approx([1.25, 0.5, 2.5])
    assert first.share == 0.5
    assert [part.share for part in second.reached] == pytest.approx([0.8, 0.8])
    # Without the other row its part is left out.
    (alone,) = with_goals([half], goals)
    assert len(alone.reached) == 1
    assert str(goals[one.id]) == "8 Mhop/s, 1 s, 1000 MB"
    assert str(goals["other"]) == f"5 Mhop/s, 0.5 of {one.id}"


def test_the_table_leaves_out_what_no_row_has(measured, capsys):
    print_benchmarks([measured])
    plain = capsys.readouterr().out
    assert "2 threads" not in plain
    print_benchmarks([replace(measured, counters_per_hop={"cycles": 117.0}, counters_missing=None, speedup=1.79)])
    full = capsys.readouterr().out
    assert "Cycles/hop" in full
    assert "117" in full
    assert "1.79×" in full
    assert "No cycles" not in full


def test_bench_prints_json(cli):
    (found,) = json.loads(cli("bench", "--only", "chain-8", "--repeat", 1, "--json").out)
    assert found["id"] == "chain-8"
    assert found["reached"][0]["goal"] == 55e6
    assert found["share"] == pytest.approx(found["hops_per_cpu_s"] / 55e6)
    answer = cli("bench", "--only", "chain-9")
    assert (answer.code, "chain-8" in answer.err) == (2, True)


def test_the_map_is_the_users_where_there_is_one(cli, tmp_path):
    assert provider("inrpp")["topology"]["builtin"] == "geant"
    theirs = provider("mptcp", tmp_path / MAP)
    assert theirs["topology"]["file"] == str(tmp_path / MAP)
    assert theirs["topology"]["hosts"]["homes"] == 2
    assert theirs["workload"][0]["arrivals"]["load_of"] == "31.1 Gbps"
    assert MAP in cli("bench", "--rocketfuel", tmp_path).err


def test_many_hosts_are_as_many_as_said():
    found = repetitions(many_hosts(400, 50), 1).run
    assert (found["flows"], found["completed"]) == (50, 50)


def test_what_ns3_prints_is_read():
    line = '{"scenario":"c","packet_hops":1494217,"wall_s":5.5,"cpu_s":5.08,"mhops_per_cpu_s":0.29}'
    assert parsed(f"warning\n{line}\n").cpu_s == 5.08


@pytest.mark.skipif(shutil.which("sh") is None, reason="the script is the shell's")
def test_a_machine_without_ns3_says_how_to_get_it(cli, monkeypatch, tmp_path):
    monkeypatch.setenv("NS3_PREFIX", str(tmp_path))
    answer = cli("bench", "--ns3", "--only", "chain-8")
    assert (answer.code, "run.sh install" in answer.err) == (2, True)


def test_ns3_stands_beside_a_row(measured, smallest, tmp_path):
    script = tmp_path / "run.sh"
    script.write_text('echo \'{"packet_hops": 100, "wall_s": 4.0, "cpu_s": 2.0, "asked": "\'$*\'"}\'')
    found = Ns3(script, "ns-3.37").beside(smallest, replace(measured, hops_per_cpu_s=5000.0))
    assert (found.ns3_hops_per_s, found.ns3_hops_per_cpu_s, found.ratio_to_ns3) == (25.0, 50.0, 100.0)
    assert Ns3(script, "ns-3.37").beside(replace(smallest, ns3=[]), measured) is measured


def test_curves_are_of_unlike_sizes_and_bounded_when_quick():
    whole, quick = ({curve.id: curve for curve in curves(few)} for few in (False, True))
    assert list(whole) == list(quick) == ["flows", "nodes", "hops", "threads", "schemes"]
    places = {name: [point.x for point in curve.points] for name, curve in whole.items()}
    assert (min(places["flows"]), max(places["flows"])) == (4, 1_000_000)
    assert (min(places["nodes"]), max(places["nodes"])) == (36, 100_040)
    assert (min(places["hops"]), max(places["hops"])) == (2, 64)
    assert all(len(curve.points) < len(whole[name].points) for name, curve in quick.items())


def test_a_chain_has_the_links_that_its_place_says():
    (hops,) = choose_curves(curves(quick=True), "hops")
    found = {point.x: curve_point(hops, point, 1) for point in hops.points}
    # 100 ms at 1 Gbps are 8,333 packets on the first link; a link of 1 ms later they are 83 fewer.
    assert found[2].packet_hops == pytest.approx(2 * 8_292, rel=0.01)
    assert found[8].packet_hops > 3.5 * found[2].packet_hops
    assert found[8].cpu_ns_per_hop > 0


def test_plot_writes_figure_and_values(cli, tmp_path):
    answer = cli("bench", "--plot", "--quick", "--only", "hops", "--repeat", 1, "--out", tmp_path / "there")
    assert answer.code == 0
    assert (tmp_path / "there" / "curves.png").read_bytes().startswith(b"\x89PNG")
    values = json.loads((tmp_path / "there" / "curves.json").read_text())
    assert [value["x"] for value in values] == [2, 8, 64]
    assert all(value["cpu_ns_per_hop"] > 0 and value["repetitions"] == 1 for value in values)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--plot", "--only", "hop,threds"], "no curve begins with 'threds'; did you mean threads?"),
        (["--plot", "--all"], "--plot takes"),
        (["--quick"], "--out and --quick apply to --plot"),
    ],
)
def test_options_that_do_not_go_together(cli, words, says):
    answer = cli("bench", *words)
    assert (answer.code, says in answer.err) == (2, True)


ROOT = Path(__file__).parents[2]

STUB = """
import json, sys
request = json.load(sys.stdin)
names = ["begin", "simulate", "collect", "end"]
marks = {name: {"wall_s": at, "cpu_s": at * %s, "peak_bytes": 1} for at, name in enumerate(names)}
run = {"packet_hops": %d, "events": 1, "memory_bytes": 1, "flows": 1}
one = {"marks": marks, "counters": %s, "run": {} if request["set_up"] else run}
json.dump({"runs": [one] * request["repeat"]}, sys.stdout)
"""
UNREADABLE = {"instructions": "not permitted"}


def side(folder, name, *, cpu="1", hops=1000, counters=UNREADABLE):
    """A simulator that answers so."""
    child = folder / f"{name}.py"
    child.write_text(STUB % (cpu, hops, counters), encoding="utf-8")
    return beside.Side(name, child)


def instructions(count):
    return {"instructions": (count, 10, 10)}


def row():
    return choose(suite(), "chain-8")[0]


@pytest.mark.parametrize(("here", "worse"), [(1_010, False), (1_020, True), (900, False)])
def test_a_row_with_two_percent_more_instructions_is_worse(tmp_path, here, worse):
    sides = side(tmp_path, "here", counters=instructions(here)), side(tmp_path, "there", counters=instructions(1_000))
    found = beside.beside(row(), sides, 2)
    assert found.counted == (here / 1000, 1.0)
    assert found.instructions.mean == pytest.approx(here / 1000)
    assert (found.is_worse, beside.worse([found])) == (worse, ["chain-8"] if worse else [])
    assert found.to_json()["worse"] is worse


def test_hops_not_runs_are_compared(tmp_path):
    """One revision may move more packets than the other."""
    sides = side(tmp_path, "here", cpu="2", hops=2000), side(tmp_path, "there")
    found = beside.beside(row(), sides, 2)
    assert (found.instructions, found.counted, found.is_worse) == (None, None, False)
    assert found.cpu.mean == pytest.approx(1)


def test_without_counts_times_decide_where_turns_tell_them_apart(tmp_path):
    there = side(tmp_path, "there")
    slower = side(tmp_path, "slower", cpu="1.1")
    assert beside.beside(row(), (slower, there), 2).is_worse
    # One turn has no interval.
    assert not beside.beside(row(), (slower, there), 1).is_worse
    # Noise: sometimes half, sometimes twice as fast.
    wide = beside.Beside("noisy", None, None, stats.paired_ratio([2, 0.5, 2], [1, 1, 1]))
    assert wide.cpu.mean > beside.WORSE
    assert not wide.is_worse


def test_a_row_without_packets_is_not_compared(tmp_path):
    sides = side(tmp_path, "here", hops=0), side(tmp_path, "there")
    with pytest.raises(NotMeasuredError, match="no packet moves"):
        beside.beside(row(), sides, 1)


def test_valgrinds_count_is_read():
    assert counted_by_valgrind("==7== \n==7== I refs:        1,234,567\n") == 1_234_567
    assert counted_by_valgrind("==7== I   refs:      99") == 99
    with pytest.raises(NotMeasuredError, match="counted nothing"):
        counted_by_valgrind("valgrind: cannot execute")


@pytest.mark.nightly("python/midpath/benchmark/")
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_instructions_are_those_of_packets_not_of_the_set_up(tmp_path):
    """A stub's set-up takes as much as its run: nothing is left for the packets."""
    stub = side(tmp_path, "here", hops=10_000)
    assert abs(per_hop("", tmp_path, stub.child)) < 100


@pytest.mark.parametrize("threads", [2, 4, 8, 16])
def test_rows_about_threads_are_measured_where_there_are_so_many_and_else_say_why(threads, monkeypatch):
    rows = [one for one in suite() if one.threads == threads]
    assert any("fat-tree-16" in one.title for one in rows)
    monkeypatch.setattr(sys.modules["midpath.benchmark.measure"], "cores", lambda: threads - 1)
    with pytest.raises(NotMeasuredError, match=f"needs {threads} processors; there are {threads - 1}"):
        measure(rows[0])


@pytest.mark.parametrize("threads", [2, 4, 8, 16])
def test_as_many_threads_as_there_are_processors_are_measured(threads):
    if cores() < threads:
        pytest.skip(f"needs {threads} processors; there are {cores()}")
    scenario = fat_tree(8, "20 kB")
    found = measure(Bench("threads", "in short", scenario, threads=threads), repeat=1)
    assert (found.threads, found.packet_hops) == (threads, repetitions(scenario, 1).hops)
    assert found.speedup > 0


def test_endless_loops_run_beside_a_row_and_end_with_it():
    with busy_loops(2) as loops:
        assert [loop.poll() for loop in loops] == [None, None]
    assert all(loop.poll() for loop in loops)


def test_every_row_in_short_is_a_row():
    assert set(beside.SHORT) <= {one.id for one in suite()}


def test_a_revision_that_is_not_there_is_refused():
    with pytest.raises(UsageError, match="there is no revision 'nonsense'"), beside.both("nonsense"):
        pass


CARGO = """#!/bin/sh
[ "$1" = metadata ] && echo '{"packages": [{"targets": []}, {"name": "wheel", "targets": [{"name": "_midpath"}]}]}'
case "$*" in build*"--package wheel "*) ;; *) exit ;; esac
for word; do [ "$last" = --target-dir ] && target=$word; last=$word; done
mkdir -p "$target/release" && git rev-parse HEAD > "$target/release/lib_midpath.so"
"""


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout")
def test_both_sides_are_built_from_worktrees_which_go_afterwards(tmp_path, monkeypatch):
    cargo = tmp_path / "bin" / "cargo"
    cargo.parent.mkdir()
    cargo.write_text(CARGO, encoding="utf-8")
    cargo.chmod(0o755)
    monkeypatch.setenv("PATH", str(cargo.parent), prepend=":")
    monkeypatch.setattr(beside, "PLACE", tmp_path / "place")
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    with beside.both("HEAD") as sides:
        assert [one.name for one in sides] == ["here", "HEAD"]
        built = [one.child.parents[1] / "_midpath.abi3.so" for one in sides]
        assert all(one.child.is_file() for one in sides)
        assert built[0] != built[1]
        assert built[1].read_text(encoding="utf-8") == head
    assert not any(one.exists() for one in built)


def test_a_worse_row_ends_the_command_with_1(tmp_path, monkeypatch, capsys):
    sides = side(tmp_path, "here", counters=instructions(1_100)), side(tmp_path, "there", counters=instructions(1_000))
    monkeypatch.setattr(beside, "both", lambda _: contextlib.nullcontext(sides))
    with pytest.raises(typer.Exit) as ended:
        bench(only="chain-8", rev="HEAD", repeat=1)
    said = capsys.readouterr()
    assert ended.value.exit_code == 1
    assert "worse than HEAD by 2 % or more: chain-8" in said.err
    assert "1.100" in said.out
    assert said.err.index("1.100") < said.err.index("worse than"), "each row is told when it ends"


def test_the_page_of_goals_is_of_its_data():
    goals = script.load(ROOT / "evidence/bench/goals.py")
    kept = json.loads((ROOT / "evidence/bench/goals.json").read_text(encoding="utf-8"))
    assert set(kept) <= {"earlier", *goals.PARTS}
    assert "\n".join(goals.page(kept)) + "\n" == (ROOT / "evidence/bench/GOALS.md").read_text(encoding="utf-8")
