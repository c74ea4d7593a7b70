"""`midpath lab exec`: what it is told, what it refuses, and short runs of unlike programs in namespaces."""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import script
import test_lab_real
import test_lab_uml
from conftest import ROOT
from midpath import load
from midpath.errors import UsageError
from midpath.lab import conversations, expect, guest, kernel, machine, network, programs
from midpath.lab.programs import Program
from test_lab_scenario import plan

measure = script.load(ROOT / "evidence/lab" / "exec" / "measure.py")

CURL = Program("d0", ("sh", "-c", "true"))
SERVER = Program("s0", ("sh", "-c", "true"), serves=True)


def with_programs(*given, **values):
    """The plan of a dumbbell, s0 r0 r1 d0, with programs."""
    return replace(plan(**values), programs=given or (SERVER, CURL))


# -- the command line --

WORD = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=8)
COMMAND = st.lists(WORD.filter(lambda word: word.partition("=")[0] not in ("--at", "--serve")), min_size=1)
PROGRAM = st.builds(Program, st.sampled_from(["h0", "h 1", "s0"]), COMMAND.map(tuple), st.booleans())


@given(
    st.lists(PROGRAM, max_size=4), st.lists(st.sampled_from(["x.toml", "--json", "--expect", "a > b"])), st.booleans()
)
def test_a_command_line_is_parted_into_options_and_programs(given, options, joined):
    words = list(options)
    for program in given:
        option = "--serve" if program.serves else "--at"
        words += [f"{option}={program.host}"] if joined else [option, program.host]
        words += ["--", *program.command]
    assert programs.split(words) == (options, given)


def test_a_program_may_have_options_that_look_like_ours():
    _, found = programs.split(["--at", "h0", "--", "batch", "--at", "noon", "--json", "--at", "h1", "--", "x"])
    assert found == [Program("h0", ("batch", "--at", "noon", "--json")), Program("h1", ("x",))]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "there is no program; write --at HOST -- COMMAND…"),
        (["--at", "h0"], "--at h0: the command is missing"),
        (["--serve", "h0", "--"], "--serve h0: the command is missing; write it behind --"),
        (["--qdisc", "cake", "--at", "h0", "--", "true"], "--qdisc needs --virtual"),
        (["--expect", "goodput.h0>1", "--at", "h0", "--", "true"], "blanks around the sign"),
    ],
)
def test_bad_input_is_one_line(cli, words, says):
    answer = cli("lab", "exec", "none.toml", *words)
    assert (answer.code, answer.out) == (2, "")
    assert says in answer.err
    assert len(answer.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (Program("d7", ("true",)), "--at d7: there is no host 'd7'; there are s0, d0"),
        (Program("r0", ("true",), serves=True), "--serve r0: is a router; programs run at s0 and d0"),
        (Program("d0", ("no-such-program",)), "there is no program 'no-such-program' on the PATH"),
        (Program("d0", ("echo hi",)), "a shell's line is: sh -c 'echo hi'"),
    ],
)
def test_a_program_that_cannot_be_is_named(program, says):
    with pytest.raises(UsageError) as error:
        programs.check(with_programs(program))
    assert says in str(error.value)


def test_servers_alone_need_a_stop():
    with pytest.raises(UsageError, match="--serve alone needs a `stop`"):
        programs.check(with_programs(SERVER, stop_s=None))
    programs.check(with_programs(SERVER))
    programs.check(with_programs(SERVER, CURL, stop_s=None))
    programs.check(with_programs(stop_s=None))


def test_programs_know_each_other_by_name_and_environment(monkeypatch):
    monkeypatch.setenv(machine.OWN, "1")
    found = with_programs()
    assert "10.77.0.3 d0\n" in programs.names(found)
    assert "fd77::1:3 d0.ip6\n" in programs.names(found)
    said = programs.environment(found, CURL)
    assert (said["MIDPATH_HOST"], said["MIDPATH_ADDRESS_s0"], said["MIDPATH_ADDRESS6_d0"]) == (
        "d0",
        "10.77.0.0",
        "fd77::1:3",
    )
    assert said["PATH"] == os.environ["PATH"]
    assert machine.OWN not in said
    # A name that is none of a variable, or of a host.
    nodes = [node | {"name": node["name"].replace("0", " ½")} for node in found.nodes]
    other = replace(found, values=found.values | {"nodes": nodes})
    assert "10.77.0.3 d--\n" in programs.names(other)
    assert programs.environment(other, CURL)["MIDPATH_ADDRESS_d__"] == "10.77.0.3"
    assert list(programs.outputs(with_programs(CURL, CURL, SERVER))) == ["d0.log", "d0-2.log", "s0.log"]


def test_small_links_have_no_ipv6():
    small = with_programs(links=[link | {"mtu": 1279} for link in plan().links])
    assert (network.carries_ipv6(with_programs()), network.carries_ipv6(small)) == (True, False)
    assert "fd77" not in programs.names(small)
    assert not network.carries_ipv6(plan())


def test_without_mounts_programs_still_have_addresses():
    found, row = with_programs(), {"tcp": "cubic"}
    ran = {"names": False, "others": 0, "programs": [row, row]}
    (said,) = test_lab_real.real.of_programs(found, ran)
    assert "use MIDPATH_ADDRESS_…" in said
    assert programs.environment(found, CURL)["MIDPATH_ADDRESS_d0"]
    assert list(test_lab_real.real.of_programs(found, ran | {"names": True})) == []
    (said,) = test_lab_real.real.of_programs(found, ran | {"names": True, "programs": [row, {"tcp": "bbr"}]})
    assert said == "programs' TCP is this machine's, bbr: it does not let a namespace choose cubic"


# -- expectations --


class Made:
    """A result with a conversation of each kind."""

    def __init__(self):
        there = {
            "flow": 0,
            "src": "s0",
            "dst": "d0",
            "group": "s0>d0",
            "start_s": 1.0,
            "goodput_bps": 8e6,
            "protocol": "TCP",
        }
        there |= {"delivered_bytes": 2_000_000, "fct_s": 2.5, "sent_packets": 1400, "lost_packets": 14}
        there |= {"retransmitted_packets": 7}
        second = there | {"flow": 1, "start_s": 2.0, "fct_s": None, "delivered_bytes": 1_000_000, "goodput_bps": 4e6}
        own = there | {"flow": 2, "group": "backup", "protocol": None}
        self.flows = self.ports = self.tables = self
        self.rows = [there, second, own]
        self.datagrams = [
            {"flow": n, "delay_p99_s": 0.01 * (n + 1), "sent_packets": 2000, "lost_packets": 20} for n in (0, 1)
        ]
        self.summary = {"jain_goodput": 0.9}
        program = {
            "host": "d0",
            "serves": False,
            "exit": 0,
            "signal": None,
            "started_s": 0.0,
            "ended_s": 3.0,
            "stopped": False,
        }
        self.run = {"programs": [program, program | {"exit": None, "signal": 9, "ended_s": 4.0}]}

    def to_pylist(self):
        return self.rows

    def __getitem__(self, key):
        found = Made()
        found.rows = self.datagrams
        return found


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # From 1.0 to 4.0 s: 3 MB.
        ("goodput.d0 > 7 Mbps", 8e6),
        ("goodput.s0>d0 > 7 Mbps", 8e6),
        ("goodput.backup >= 8 Mbps", 8e6),
        ("delivered.d0 == 3 MB", 3e6),
        ("completion.d0 < 1 h", None),
        ("completion.backup < 2.6 s", 2.5),
        ("delay_p99.d0 < 21 ms", 0.02),
        ("loss.d0 <= 1 %", 0.01),
        ("retransmitted.d0 < .6 %", 0.005),
        ("exit.d0 == 137", 137.0),
        ("time.d0 > 3 s", 4.0),
        ("jain_goodput > 0.8", 0.9),
    ],
)
def test_a_figure_is_taken_from_the_result(text, value):
    if value is None:
        text = text.replace(" h", " s")
    (one,) = expect.read([text])
    found = expect.judge([one], Made())[0]
    assert found.value == (None if value is None else pytest.approx(value))
    assert found.holds is (value is not None)
    assert text in found.line()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("goodput.d0>3 Mbps", "blanks around the sign"),
        ("goodput.d0 > 3 parsecs", "'3 parsecs' is not a number"),
        ("goodput > 3 Mbps", "is of a host or a link: write goodput.h0"),
        ("jain_goodput.d0 > 1", "is of the whole run: write jain_goodput"),
        ("godput.d0 > 3 Mbps", "there is no figure 'godput'; did you mean 'goodput'?"),
        ("exit.d0 == three", "three"),
    ],
)
def test_an_expectation_that_is_none_is_refused(text, says):
    with pytest.raises(UsageError) as error:
        expect.read([text])
    assert says in str(error.value)


def test_an_expectation_is_of_something_that_there_is():
    expect.check(expect.read(["goodput.d0 > 1 bps", "loss.s0>d0 < 1 %", "utilisation.r0>r1 > 1 %"]), with_programs())
    for text, says in (
        ("goodput.d7 > 1 bps", "there is no host or group 'd7'"),
        ("utilisation.r0>d0 > 1 %", "there is no link 'r0>d0'"),
        ("exit.s0 == 0", "there is no program at 's0'"),
    ):
        with pytest.raises(UsageError, match=says):
            expect.check(expect.read([text]), with_programs(CURL))


def seen(protocol, ends, payload, began, **more):
    (src, src_port), (dst, dst_port) = ends
    row = {"protocol": protocol, "src": src, "src_port": src_port, "dst": dst, "dst_port": dst_port, "began_s": began}
    row |= {"last_s": began + 1, "ended_s": began + 1, "sent": 9, "with_payload": payload, "again": 0, "received": 9}
    row |= {"delivered_bytes": 1000 * payload, "lost": 1, "marked": 0}
    row |= {f"delay_{key}_s": 0.02 for key in ("min", "mean", "p50", "p95", "p99", "p999", "max")} | {"jitter_s": 0.0}
    return row | more


def test_a_direction_with_acks_alone_is_a_part_of_the_other():
    one, other = ("10.77.0.0", 5000), ("10.77.0.3", 80)
    rows = [
        seen(6, (one, other), 0, 0.0),
        seen(6, (other, one), 5, 0.1),
        # A connection that was refused.
        seen(6, (("fd77::1:0", 1), ("fd77::1:3", 2)), 0, 1.0),
        seen(6, (("fd77::1:3", 2), ("fd77::1:0", 1)), 0, 1.1),
        # Datagrams that nobody answers, to somebody unknown.
        seen(17, (one, ("10.9.9.9", 9)), 3, 2.0, delay_min_s=None, ended_s=None),
    ]
    flows, datagrams = conversations.conversations(with_programs(), {"conversations": rows, "flows": [1, 2]})
    assert [(flow["flow"], flow["group"], flow["protocol"]) for flow in flows] == [
        (2, "d0>s0", "TCP"),
        (3, "s0>d0", "TCP"),
        (4, "s0>10.9.9.9", "UDP"),
    ]
    assert [flow["lost_packets"] for flow in flows] == [2, 2, 1]
    assert (flows[0]["start_s"], flows[0]["fct_s"], flows[0]["rtt_min_s"]) == (0.0, 1.1, 0.04)
    assert (flows[2]["completed"], flows[2]["size_bytes"], flows[2]["rtt_min_s"]) == (False, None, None)
    assert [row["lost_packets"] for row in datagrams] == [1, 1, 1]


def test_where_user_namespaces_are_refused_a_line_says_so(monkeypatch):
    monkeypatch.setattr(machine.platform, "system", lambda: "Linux")
    monkeypatch.setattr(machine.shutil, "which", lambda name: f"/bin/{name}")
    refusal = subprocess.CompletedProcess(
        [], 1, "", "unshare: write failed /proc/self/uid_map: Operation not permitted\n"
    )
    monkeypatch.setattr(machine.subprocess, "run", lambda *_, **__: refusal)
    with pytest.raises(UsageError, match="needs root or user namespaces, and this machine refuses these: unshare: "):
        machine.as_own_root("true")


# -- in namespaces --

real = pytest.mark.skipif(test_lab_real.WHY is not None, reason=test_lab_real.WHY or "")
SCENARIO = """
title = "a test"
stop = "{stop}"
topology = {{ links = [
  {{ a = "h0", b = "r0", rate = "50 Mbps", delay = "1 ms" }},
  {{ a = "r0", b = "r1", rate = "{rate}", delay = "{delay}", mtu = {mtu} }},
  {{ a = "r1", b = "h1", rate = "50 Mbps", delay = "1 ms" }},
] }}
queue = {{ limit = "{queue}" }}
"""
ECHO = """
import socket, sys
family = socket.AF_INET6 if sys.argv[1] == "6" else socket.AF_INET
end = socket.socket(family, socket.SOCK_DGRAM)
if len(sys.argv) == 2:
    end.bind(("", 9000))
    while True:
        data, peer = end.recvfrom(2000)
        end.sendto(data, peer)
end.settimeout(2)
for n in range(20):
    end.sendto(n.to_bytes(2, "big") + bytes(498), (sys.argv[2], 9000))
    assert end.recv(2000)[:2] == n.to_bytes(2, "big")
"""


def scenario(folder, more="", **values):
    """A file with a network of two hosts."""
    values = {"stop": "8 s", "rate": "10 Mbps", "delay": "10 ms", "mtu": 1500, "queue": "100 ms"} | values
    file = folder / "net.toml"
    file.write_text(SCENARIO.format(**values) + more)
    return file


@pytest.fixture
def run(cli, monkeypatch):
    """Runs programs over a file's network, with what was built."""
    monkeypatch.setenv("PATH", f"{Path(test_lab_real.TOOL).parent}{os.pathsep}{os.environ['PATH']}")

    def call(file, *words):
        out = file.with_name("out")
        shutil.rmtree(out, ignore_errors=True)
        answer = cli("lab", "exec", file, "--out", out, *words)
        return answer, load(out) if out.exists() else None

    return call


def flow(result, **values):
    """The flow with these values."""
    (found,) = (row for row in result.flows.to_pylist() if values.items() <= row.items())
    return found


@real
def test_a_download_goes_through_the_scenario_s_links(run, tmp_path):
    if shutil.which("curl") is None:
        pytest.skip("needs curl")
    content = random.Random(1).randbytes(1_000_000)
    (tmp_path / "file").write_bytes(content)
    file = scenario(tmp_path, 'scheme = "newreno"\nmeasure = { series = true, pcap = [{ from = "r1", to = "r0" }] }\n')
    server = ["--serve", "h1", "--", sys.executable, "-m", "http.server", "8000", "-d", tmp_path]
    client = ["--at", "h0", "--", "curl", "-sS", "-o", tmp_path / "got", "http://h1:8000/file"]
    answer, result = run(file, "--expect", "goodput.h0 < 10 Mbps", "--expect", "exit.h0 == 0", *server, *client)
    assert answer.code == 0, answer.err
    assert (tmp_path / "got").read_bytes() == content
    assert "holds: goodput.h0 < 10 Mbps" in answer.out
    assert "h1: " in answer.err and "GET /file" in answer.err
    there = flow(result, src="h1", protocol="TCP")
    # The file and its HTTP headers, as TCP's sequence numbers have them; 10 Mbps are .84 s.
    assert 1_000_000 < there["delivered_bytes"] < 1_001_000
    assert there["completed"] and there["fct_s"] > 0.8
    assert 0.024 <= there["rtt_min_s"] < 0.1
    first, second = result.run["programs"]
    assert (first["stopped"], second["exit"], second["tcp"]) == (True, 0, "reno")
    # Payload is captured, too.
    assert len(result.files["r1-r0.pcapng"]) > 900_000
    assert b"GET /file" in result.files["h1.log"]
    assert ("flow:0", "goodput_bps") in set(
        zip(*(result.series[c].to_pylist() for c in ("entity", "metric")), strict=True)
    )
    assert not list(Path("/run/netns").glob(f"midpath-{os.getpid()}.*"))


@real
@pytest.mark.parametrize("version", ["4", "6"])
def test_datagrams_are_echoed_beside_the_scenario_s_flows(run, tmp_path, version):
    (tmp_path / "echo.py").write_text(ECHO)
    file = scenario(tmp_path, 'flow = [{ from = "h1", to = "h0", scheme = "cubic", group = "backup" }]\n', stop="20 s")
    python = [sys.executable, tmp_path / "echo.py", version]
    host = "h1" if version == "4" else "h1.ip6"
    answer, result = run(file, "--serve", "h1", "--", *python, "--at", "h0", "--", *python, host)
    assert answer.code == 0, answer.err
    there, back = flow(result, dst_port=9000), flow(result, src_port=9000)
    assert (there["protocol"], there["delivered_bytes"], back["delivered_bytes"]) == ("UDP", 10_000, 10_000)
    delays = {row["flow"]: row for row in result.tables["datagrams"].to_pylist()}
    assert (delays[there["flow"]]["received_packets"], delays[there["flow"]]["lost_packets"]) == (20, 0)
    # 12 ms and the packet's own time; on the way back behind the flow's packets.
    assert 0.012 < delays[there["flow"]]["delay_min_s"] < 0.02
    assert delays[back["flow"]]["delay_max_s"] > delays[there["flow"]]["delay_min_s"]
    assert flow(result, group="backup")["delivered_bytes"] > 100_000
    # IPv6 says nothing by itself.
    assert {row["protocol"] for row in result.flows.to_pylist()} == {None, "UDP"}


@real
@pytest.mark.parametrize(
    ("command", "expected", "code", "ending"),
    [
        ("echo so; exit 3", [], 1, "exit 3"),
        ("exit 3", ["exit.h0 == 3"], 0, "exit 3"),
        ("kill -9 $$", [], 1, "signal 9"),
        ("trap '' TERM; while :; do sleep 1; done", [], 1, "still running at `stop`"),
        ("exit 0", ["delivered.h0 > 1 B"], 1, "FAILS: delivered.h0 > 1 B (0 B)"),
        ("exit 0", ["goodput.h0 > 1 bps"], 1, "FAILS: goodput.h0 > 1 bps (no value)"),
    ],
)
def test_a_program_s_end_is_the_run_s(run, tmp_path, command, expected, code, ending):
    wanted = [word for one in expected for word in ("--expect", one)]
    began = time.monotonic()
    answer, _ = run(scenario(tmp_path, stop="1 s"), *wanted, "--at", "h0", "--", "sh", "-c", command)
    assert answer.code == code, answer.err
    assert ending in answer.out.replace("\N{NO-BREAK SPACE}", " ")
    assert time.monotonic() - began < 60


@real
def test_what_programs_leave_ends_with_them(run, tmp_path):
    mark = f"73{os.getpid()}"
    leave = f"(setsid sleep {mark} &) ; (sleep {mark} &) ; nohup sleep {mark} > {tmp_path}/x & echo left"
    other = ["--at", "h0", "--", "sh", "-c", "sleep .2; echo two"]
    answer, result = run(scenario(tmp_path), "--at", "h0", "--", "sh", "-c", leave, *other)
    assert answer.code == 0, answer.err
    assert result.files == {"h0.log": b"left\n", "h0-2.log": b"two\n"}
    for words in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert mark.encode() not in words.read_bytes()
        except OSError:
            continue


@real
def test_a_server_that_ends_before_it_listens_is_named(run, tmp_path):
    answer, result = run(scenario(tmp_path), "--serve", "h1", "--", "false", "--at", "h0", "--", "true")
    assert (answer.code, result) == (1, None)
    assert answer.err == "midpath: the laboratory failed: false: ended (exit status: 1), before it listened\n"


@real
def test_small_links_say_that_they_have_no_ipv6(run, tmp_path):
    answer, _ = run(scenario(tmp_path, mtu=1000), "--at", "h0", "--", "sh", "-c", 'test -z "$MIDPATH_ADDRESS6_h1"')
    assert answer.code == 0, answer.err
    assert "there is no IPv6: a link's MTU is below 1,280 bytes" in answer.out


@real
@pytest.mark.nightly("docs/lab.md", "python/midpath/lab/", "net/lab/")
def test_the_page_s_example_does_what_the_page_says(tmp_path):
    if shutil.which("curl") is None:
        pytest.skip("needs curl")
    text = (ROOT / "docs" / "lab.md").read_text().partition("## Any program")[2]
    example = text.partition("```sh\n")[2].partition("```")[0]
    midpath = tmp_path / "midpath"
    midpath.write_text(f'#!/bin/sh\nexec {sys.executable} -m midpath "$@"\n')
    midpath.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{Path(test_lab_real.TOOL).parent}{os.pathsep}{os.environ['PATH']}"
    for variant, code in (("CoDel", 0), ("drop-tail", 1)):
        assert "CoDel" in example
        command = ["sh", "-ec", example.replace("CoDel", variant)]
        environment = os.environ | {"PATH": path}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        assert ("FAILS: delay_p99.s0>d0" in done.stdout) is bool(code)


@real
def test_much_output_holds_nobody_up(run, tmp_path):
    answer, result = run(
        scenario(tmp_path),
        "--at",
        "h0",
        "--",
        sys.executable,
        "-c",
        "print('x' * 80 + '\\n' * 1, end='') or [print('y' * 1000) for _ in range(20000)]",
    )
    assert answer.code == 0
    assert 16 << 20 < len(result.files["h0.log"]) < (16 << 20) + 100
    assert result.files["h0.log"].endswith(b"output are not kept]\n")


# Two unlike families, drawn: a stream that ends, datagrams at a rate. What is sent is known, and so is the link.
STREAM = """
import socket, sys
from_, port, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
family = socket.AF_INET6 if ":" in from_ else socket.AF_INET
if sys.argv[4] == "serve":
    with socket.create_server(("", port), family=family) as server:
        peer, _ = server.accept()
        got = 0
        while piece := peer.recv(1 << 16):
            got += len(piece)
        assert got == size, got
        peer.close()
        server.accept()
else:
    with socket.create_connection((from_, port)) as end:
        end.sendall(bytes(size))
        end.shutdown(socket.SHUT_WR)
        assert end.recv(1) == b""
"""
PACED = """
import socket, sys, time
to, port, size, number, gap = sys.argv[1], *map(int, sys.argv[2:5]), float(sys.argv[5])
end = socket.socket(socket.AF_INET6 if ":" in to else socket.AF_INET, socket.SOCK_DGRAM)
for n in range(number):
    end.sendto(n.to_bytes(4, "big") + bytes(size - 4), (to, port))
    time.sleep(gap)
"""


# Bounds, fixed before the first run: nothing is faster than the link, no delay below the path's, no byte is invented,
# and what links dropped is what conversations lost.
@real
@pytest.mark.parametrize("seed", range(6))
def test_drawn_programs_keep_the_link_s_bounds(run, tmp_path, seed):
    draw = random.Random(seed)
    rate, delay = draw.choice([2, 5, 10, 20]), draw.choice([1, 5, 30, 80])
    six, is_stream = draw.random() < 0.5, seed % 2 == 0
    loss = draw.choice([0, 0, 2])
    vary = f'vary = [{{ link = ["r0", "r1"], loss = {{ p = "{loss} %", r = "90 %" }} }}]\n' if loss else ""
    file = scenario(
        tmp_path, vary, rate=f"{rate} Mbps", delay=f"{delay} ms", queue=f"{draw.choice([20, 100])} ms", stop="40 s"
    )
    host = "$MIDPATH_ADDRESS6_h1" if six else "$MIDPATH_ADDRESS_h1"
    script = tmp_path / "program.py"
    if is_stream:
        size = draw.randrange(20_000, 600_000)
        script.write_text(STREAM)
        command = f"exec {sys.executable} {script} {host} 7000 {size}"
        words = ["--serve", "h1", "--", "sh", "-c", f"{command} serve", "--at", "h0", "--", "sh", "-c", f"{command} go"]
    else:
        size, number = draw.randrange(100, 1400), draw.randrange(20, 200)
        script.write_text(PACED)
        gap = size * 8 / (rate * 1e6) * draw.choice([0.3, 2])
        words = ["--at", "h0", "--", "sh", "-c", f"exec {sys.executable} {script} {host} 7000 {size} {number} {gap}"]
    answer, result = run(file, *words)
    assert answer.code == 0, answer.err
    there = flow(result, src="h0", dst_port=7000)
    delays = {row["flow"]: row for row in result.tables["datagrams"].to_pylist()}[there["flow"]]
    assert delays["delay_min_s"] >= (delay + 2) / 1e3
    assert there["goodput_bps"] <= rate * 1e6
    if is_stream:
        assert there["delivered_bytes"] == size
        assert there["completed"] and there["fct_s"] >= size * 8 / (rate * 1e6) + 2 * (delay + 2) / 1e3
    else:
        assert there["sent_packets"] == number
        assert there["delivered_bytes"] == size * delays["received_packets"]
        assert delays["received_packets"] + there["lost_packets"] == number
    dropped = sum(row[key] for row in result.ports.to_pylist() for key in ("drops_queue", "drops_aqm", "corrupted"))
    assert sum(row["lost_packets"] for row in result.flows.to_pylist()) == dropped


def fetched(library, folder, *, virtual):
    """One run of the page evidence/lab/exec/RESULTS.md, with 1 MB: every byte is compared."""
    case = next(case for case in measure.CASES if case.library == library)
    if why := case.missing():
        pytest.skip(why)
    made = measure.fetch(case, folder, 1_000_000, virtual=virtual)
    # A round trip each for the handshake and the request, and the file at 20 Mbps.
    assert made.took_s > 0.2 + 0.4
    assert made.sent > 1_000_000 / 1472


@real
@pytest.mark.parametrize("library", ["quinn", "aioquic"])
def test_quic_programs_fetch_a_file(library, tmp_path):
    fetched(library, tmp_path, virtual=False)


# -- without root --


def as_user(*words):
    """A command as somebody who is not root, and has no more rights than that."""
    return ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--", *words]


def refused():
    """Why no user namespace can be made inside another, or `None`."""
    if test_lab_real.WHY is not None:
        return test_lab_real.WHY
    done = subprocess.run(
        as_user("unshare", "--user", "--map-root-user", "--net", "true"), capture_output=True, check=False
    )
    return " ".join(done.stderr.decode().split()) if done.returncode else None


@pytest.mark.skipif(refused() is not None, reason=refused() or "")
def test_without_root_it_runs_in_a_user_namespace(tmp_path):
    (tmp_path / "echo.py").write_text(ECHO)
    python = [sys.executable, str(tmp_path / "echo.py"), "4"]
    command = [sys.executable, "-m", "midpath", "lab", "exec", str(scenario(tmp_path)), "--json"]
    command += ["--serve", "h1", "--", *python, "--at", "h0", "--", *python, "h1"]
    environment = os.environ | {"PATH": f"{Path(test_lab_real.TOOL).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(as_user(*command), capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)["run"]
    assert [row["exit"] for row in said["programs"] if not row["serves"]] == [0]
    assert not [one for one in said["warnings"] if "/etc/hosts" in one["message"]]


# -- in virtual time --


@pytest.mark.nightly("python/midpath/lab/", "net/lab/")
@pytest.mark.skipif(test_lab_uml.WHY is not None, reason=test_lab_uml.WHY or "")
def test_in_virtual_time_programs_are_late_by_nothing(run, tmp_path):
    (tmp_path / "echo.py").write_text(ECHO)
    python = [sys.executable, tmp_path / "echo.py", "4"]
    words = ["--virtual", "--serve", "h1", "--", *python, "--at", "h0", "--", *python, "h1"]
    answer, result = run(scenario(tmp_path, stop="20 s"), *words)
    assert answer.code == 0, answer.err
    there = flow(result, dst_port=9000)
    delays = {row["flow"]: row for row in result.tables["datagrams"].to_pylist()}[there["flow"]]
    assert delays["received_packets"] == 20
    # 528 bytes on three links, 50, 10 and 50 Mbps, and their 12 ms.
    exact = 0.012 + 528 * 8 * (2 / 50e6 + 1 / 10e6)
    assert delays["delay_min_s"] == pytest.approx(exact, abs=2e-6)
    assert delays["delay_max_s"] == pytest.approx(exact, abs=2e-5)
    assert result.run["machine"]["time"] == "virtual"


@pytest.mark.nightly("python/midpath/lab/", "net/lab/")
@pytest.mark.skipif(test_lab_uml.WHY is not None, reason=test_lab_uml.WHY or "")
@pytest.mark.parametrize("library", ["quinn", "aioquic"])
def test_in_virtual_time_quic_programs_fetch_a_file(library, tmp_path):
    fetched(library, tmp_path, virtual=True)


@pytest.mark.nightly("python/midpath/lab/", "net/lab/")
@pytest.mark.skipif(test_lab_uml.WHY is not None, reason=test_lab_uml.WHY or "")
def test_a_busy_loop_that_stops_the_clock_is_given_up(run, tmp_path, monkeypatch):
    monkeypatch.setattr(guest, "PROGRAMS_S", 20)
    spin = "import time\nend = time.time() + 1\nwhile time.time() < end: pass"
    answer, _ = run(scenario(tmp_path), "--virtual", "--at", "h0", "--", sys.executable, "-c", spin)
    assert answer.code == 1
    assert "not ended in 20 s; a program that waits in a busy loop" in answer.err


def test_without_the_other_kernel_a_line_says_how_to_get_it(cli, monkeypatch, tmp_path):
    monkeypatch.setattr(kernel, "place", lambda: tmp_path / "none")
    answer = cli("lab", "exec", "x.toml", "--virtual", "--at", "h0", "--", "true")
    assert answer.code == 2
    assert ("build it with: midpath lab kernel" if sys.platform == "linux" else "needs Linux") in answer.err
