import io
import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import time
import tomllib

import pytest

import midpath
from conftest import ROOT
from midpath import _midpath
from midpath.console.progress import hops

COMMANDS = [[name] for name in ("run", "compare", "report", "topo", "bench", "schema", "version")]
COMMANDS += [["paper", "list"], ["paper", "run"], ["paper", "table"]]
SMALL = """title = "small"
seed = 3
scheme = "newreno"

[topology]
generate = "dumbbell"
pairs = 2
access = {rate = "100 Mbps", delay = "1 ms"}
bottleneck = {rate = "10 Mbps", delay = "5 ms"}

[[flow]]
from = "s0"
to = "d0"
size = "500 kB"

[[flow]]
from = "s1"
to = "d1"
size = "500 kB"
start = "100 ms"
"""


MIXED = """
[[deploy]]
name = "first"
scheme = "fcp"
nodes = ["r0"]
"""


@pytest.fixture
def small(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    return file


def test_run_prints_figures_and_stores_the_result(cli, small, tmp_path):
    answer = cli("run", small, "--out", tmp_path / "out", "--seed", 9)
    assert (answer.code, answer.err) == (0, "")
    assert "2 of 2 flows ended" in answer.out
    result = midpath.load(tmp_path / "out")
    assert (result.seed, result.scheme, result.flows.num_rows) == (9, "newreno", 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "small.toml"]


def test_run_json_is_what_is_stored(cli, small, tmp_path):
    answer = cli("run", small, "--out", tmp_path / "out", "--json", "--scheme", "cubic")
    assert json.loads(answer.out) == midpath.load(tmp_path / "out").run


def test_set_changes_the_scenario(cli, small, tmp_path):
    slow, fast = (
        json.loads(cli("run", small, "--json", "--set", f"topology.bottleneck.rate={rate}").out)["summary"]["afct_s"]
        for rate in ("5 Mbps", "50 Mbps")
    )
    assert slow > 3 * fast


def test_threads_and_links_of_bytes_do_not_change_the_result(cli, small):
    def run(threads, *more):
        found = json.loads(cli("run", small, "--json", "--threads", threads, *more).out)
        return {key: found[key] for key in found.keys() - {"wall_s", "hops_per_s", "threads", "memory_bytes"}}

    assert run(1) == run(0) == run(3) == run(1, "--wire")
    assert cli("run", small, "--threads", "64").err.startswith("1 of 64 threads ran: ")
    assert cli("run", small).err == ""


def test_what_runs_where_is_told(cli, small, tmp_path):
    assert json.loads(cli("run", small, "--json").out)["deployment"] == [
        {"instance": "newreno", "scheme": "none", "ports": 10, "nodes": "all"}
    ]
    mixed = tmp_path / "mixed.toml"
    mixed.write_text(small.read_text() + MIXED)
    assert "first: fcp at r0 (3 ports)\n" in cli("run", mixed).out
    answer = cli("run", small, "--scheme", "ideal", "--wire")
    assert answer.code == 2
    assert "has no packets to encode" in answer.err


def test_compare_prints_a_row_per_scheme(cli, small, tmp_path):
    answer = cli("compare", small, "--schemes", "newreno,cubic", "--seeds", 2, "--out", tmp_path / "out")
    assert (answer.code, answer.err) == (0, "")
    for text in ("NewReno", "CUBIC", "Ideal", "AFCT/ideal", "Queue per port", "Routers run"):
        assert text in answer.out
    # Nothing is drawn in it: both seeds gave the same, and an interval would be a pretence.
    assert "±" not in answer.out
    assert "nothing in this scenario is random" in answer.out
    assert json.loads((tmp_path / "out" / "compare.json").read_text())["seeds"] == [3, 4]


def test_schemes_add_up(cli, small):
    found = json.loads(cli("compare", small, "--schemes", "cubic", "--schemes", "dctcp,cubic", "--json").out)
    assert found["schemes"] == ["cubic", "dctcp", "ideal"]
    assert [row["scheme"] for row in found["equipment"]] == ["cubic", "dctcp"]


def test_a_larger_comparison_is_not_replaced_unasked(cli, small, tmp_path):
    out = tmp_path / "out"
    cli("compare", small, "--schemes", "cubic,dctcp", "--seeds", 2, "--out", out)
    answer = cli("compare", small, "--schemes", "cubic", "--out", out)
    assert (answer.code, "4 runs that this one lacks" in answer.err) == (2, True), answer.err
    assert json.loads((out / "compare.json").read_text())["schemes"] == ["cubic", "dctcp", "ideal"]
    assert cli("compare", small, "--schemes", "cubic", "--out", out, "--replace").code == 0
    assert json.loads((out / "compare.json").read_text())["schemes"] == ["cubic", "ideal"]


def test_a_comparison_that_has_not_finished_says_so(cli, small, tmp_path):
    cli("compare", small, "--schemes", "cubic", "--out", tmp_path / "out")
    (tmp_path / "out" / "compare.json").unlink()
    answer = cli("report", tmp_path / "out")
    assert (answer.code, "is an unfinished comparison (2 runs are there)" in answer.err) == (2, True), answer.err


def test_a_seed_has_64_bits(cli, small):
    seed = 2**64
    answer = cli("run", small, f"--seed={seed}")
    assert (answer.code, answer.err.count("\n"), "18446744073709551615" in answer.err) == (2, 1, True), answer.err
    with pytest.raises(midpath.UsageError, match="18446744073709551615"):
        midpath.run(small, seed=seed)
    answer = cli("compare", small, "--schemes", "cubic", "--seed", 2**64 - 2, "--seeds", 3)
    assert (answer.code, "18446744073709551615" in answer.err) == (2, True), answer.err


def test_a_terminal_may_have_any_encoding(small):
    command = [sys.executable, "-m", "midpath", "run", str(small)]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"AFCT" in done.stdout and b"?" not in done.stdout


def test_version_and_standard_input(cli, small, monkeypatch):
    assert cli("--version").out == cli("version").out
    monkeypatch.setattr(sys, "stdin", io.StringIO(small.read_text()))
    assert json.loads(cli("run", "-", "--json").out)["seed"] == 3
    monkeypatch.setattr(sys, "stdin", io.StringIO("nonsense"))
    assert cli("run", "-").err.startswith("midpath: standard input:1: ")


def test_dictionaries_and_strings_stand_for_what_they_say(small):
    values = tomllib.loads(small.read_text())
    assert midpath.run(values).summary == midpath.run(small).summary
    assert midpath.compare(values, "cubic, dctcp", ideal=False).schemes == ["cubic", "dctcp"]
    with pytest.raises(midpath.UsageError, match="is not a scenario"):
        midpath.run(7)


def test_compare_json(cli, small):
    found = json.loads(cli("compare", small, "--schemes", "cubic", "--no-ideal", "--json").out)
    assert [row["scheme"] for row in found["rows"]] == ["cubic"]
    assert found["rows"][0]["figures"]["afct_s"]["n"] == 1


def test_report_of_both_kinds(cli, small, tmp_path):
    cli("run", small, "--out", tmp_path / "run")
    cli("compare", small, "--schemes", "cubic,dctcp", "--out", tmp_path / "cmp")
    assert cli("report", tmp_path / "run").out.strip() == f"report: {tmp_path / 'run' / 'report.html'}"
    answer = cli("report", tmp_path / "cmp", "--out", tmp_path / "c.html", "--json")
    assert json.loads(answer.out)["bytes"] == (tmp_path / "c.html").stat().st_size
    # A report beside the tables does not make the directory anything else than a result.
    assert cli("run", small, "--out", tmp_path / "run").code == 0


def test_topo_describes_what_ships_a_scenario_and_a_file(cli, small):
    found = json.loads(cli("topo", "abilene", "--json").out)
    assert found["nodes"] == 11
    assert cli("topo", small).code == 0
    answer = cli("topo", "atlantis")
    assert answer.code == 2
    assert "abilene" in answer.err


def test_version_and_schema(cli):
    assert cli("version").out == f"midpath {midpath.__version__}\n"
    assert json.loads(cli("version", "--json").out) == {"midpath": midpath.__version__}
    assert json.loads(cli("schema").out) == json.loads(_midpath.schema())
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())
    assert midpath.__version__ == cargo["workspace"]["package"]["version"]


def test_papers_are_listed_honestly(cli):
    assert isinstance(json.loads(cli("paper", "list", "--json").out), list)
    answer = cli("paper", "run", "no-such/figure")
    assert answer.code == 2
    assert "no-such/figure" in answer.err


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help_and_json(cli, command):
    answer = cli(*command, "--help")
    assert answer.code == 0
    assert "--json" in answer.out or command == ["schema"]


def test_wrong_use_is_one_message(cli, small):
    for arguments in (["run"], ["run", small, "--bogus"], ["compare", small], ["run", small, "--set", "x"], ["fly"]):
        answer = cli(*arguments)
        assert answer.code == 2
        assert answer.out == ""
        assert answer.err.startswith("midpath: ")
        assert answer.err.count("\n") == 1


def test_installed_command(process, small, tmp_path):
    answer = process("run", small.name, "--out", "out", cwd=tmp_path)
    assert (answer.code, answer.err) == (0, "")
    # Piped, so no colours, no progress, no box that a pipe would have to parse.
    assert "\x1b" not in answer.out
    assert process("version").out == f"midpath {midpath.__version__}\n"
    bad = process("run", "no.toml", cwd=tmp_path)
    assert (bad.code, bad.out) == (2, "")
    assert bad.err == "midpath: no.toml: cannot be read: No such file or directory\n"


# The command, which says when the simulator has been called. It hears SIGINT: what a shell runs in the background
# inherits that it is ignored, and so would this, from tests that run there.
BEGUN = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "import sys, midpath; run = sys.modules['midpath.run']; real = run._midpath.run\n"
    "def told(*a, **k): print('begun', file=sys.stderr, flush=True); return real(*a, **k)\n"
    "run._midpath = type('M', (), {'run': staticmethod(told)})\n"
    "from midpath.cli import main; sys.exit(main(sys.argv[1:]))"
)


def test_interrupted_runs_leave_nothing(tmp_path):
    endless = SMALL.replace('size = "500 kB"\n', "") + '\n[queue]\nlimit = "1 MB"\n'
    (tmp_path / "endless.toml").write_text(f'stop = "100000 s"\n{endless}')
    command = [sys.executable, "-c", BEGUN, "run", "endless.toml", "--out", "out"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen(command, cwd=tmp_path, **pipes) as running:
        # Not before: a signal that comes between imports may be lost.
        assert running.stderr.readline() == "begun\n"
        time.sleep(0.5)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    # A machine that is slow says first how long it would take.
    assert (running.returncode, out, err.splitlines()[-1]) == (130, "", "midpath: stopped")
    assert [path.name for path in tmp_path.iterdir()] == ["endless.toml"]


# Its set-up takes more than ten seconds here: the routes of a random network to each of its 4,000 hosts.
SLOW_SETUP = """
stop = "1 us"
[topology]
generate = "waxman"
n = 4000
link = { rate = "1 Gbps", delay = "1 ms" }
access = { rate = "1 Gbps", delay = "1 ms" }
[[workload]]
matrix = { kind = "permutation" }
sizes = { kind = "fixed", size = "1 kB" }
arrivals = { kind = "once" }
"""


def test_a_run_that_is_being_set_up_is_interrupted_at_once(tmp_path):
    (tmp_path / "slow.toml").write_text(SLOW_SETUP)
    words = [sys.executable, "-c", BEGUN, "run", "slow.toml"]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True) as running:
        assert running.stderr.readline() == "begun\n"
        time.sleep(0.3)
        sent = time.monotonic()
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
        # Within a second; the rest is for ending Python on a busy machine.
        assert time.monotonic() - sent < 5
    assert running.returncode == 130
    assert err.endswith("midpath: stopped\n")


def test_progress_shows_on_a_terminal_only(small, tmp_path):
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "midpath", "compare", str(small), "--schemes", "cubic", "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=follower, check=True, timeout=60)
    os.close(follower)
    assert "packet-hops" in os.read(leader, 1 << 16).decode()
    os.close(leader)
    assert json.loads(done.stdout)["schemes"] == ["cubic", "ideal"]


@pytest.mark.skipif(os.name != "posix", reason="no pipes of a shell here")
@pytest.mark.parametrize("words", ["schemes --json", "example", "--help"])
def test_a_reader_that_has_seen_enough_is_no_failure(words):
    # Nothing is read, and the pipe is closed before anything is written.
    line = f"set -o pipefail; ({shlex.quote(sys.executable)} -m midpath {words}) | true"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    line = line.replace("| true", "| head -1")
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0 packet-hops"), (940, "940 packet-hops"), (12_300, "12.3 k packet-hops"), (1.2e6, "1.20 M packet-hops"),
     (3e9, "3,000 M packet-hops")],
)  # fmt: skip
def test_few_packet_hops_are_not_none(count, said):
    assert hops(count) == said
