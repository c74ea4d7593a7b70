"""`midpath stack-test`: what it refuses, and how Linux's figures come to the bounds. The suite is in test_stacks.py."""

import pytest

import midpath
from midpath.lab import kernel, machine, real, stacktest

SCENARIO = """
scheme = "cubic"
flow = [{ from = "s0", to = "d0", size = "100 kB" }]
stop = "STOP"
[topology]
generate = "dumbbell"
bottleneck = { rate = "10 Mbps", delay = "5 ms" }
access = { rate = "1 Gbps", delay = "1 ms" }
"""


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--linux", "quinn"], "--linux quinn: there are cubic, newreno, bbr and dctcp"),
        (["--linux", "--qlog", "there", "cubic"], "--qlog: Linux's TCPs write none"),
        (["--out", "there", "cubic"], "--out applies to --linux"),
        (["cubic"], "stacks is not on the PATH; in a checkout: cd stacks && cargo build --release -p stack-runner"),
    ],
)
def test_bad_input_is_one_line(cli, monkeypatch, words, says):
    monkeypatch.setattr(machine, "BUILT", [])
    monkeypatch.setenv("PATH", "")
    answer = cli("stack-test", *words)
    assert answer.code == 2
    assert says in answer.err
    assert len(answer.err.strip().splitlines()) == 1


def test_linux_s_figures_are_a_line_for_each_case_and_are_kept(monkeypatch, tmp_path):
    """What the simulator makes of the scenario stands for the guest."""
    made = []

    def run(scenario, _):
        made.append(scenario)
        return midpath.run(scenario)

    def said(*words):
        return (
            "ends\nnever\n" if len(words) == 1 else SCENARIO.replace("STOP", "9 s" if words[1] == "ends" else "50 ms")
        )

    monkeypatch.setattr(stacktest, "_said", said)
    monkeypatch.setattr(kernel, "find", lambda: tmp_path / "linux")
    monkeypatch.setattr(machine, "program", lambda name, **_: name)
    monkeypatch.setattr(real, "run", run)
    lines = stacktest.measured(["cubic", "bbr"], tmp_path)
    rows = [line.split() for line in lines.splitlines()]
    assert [row[:2] for row in rows] == [[f"Linux-{s}", case] for s in ("cubic", "bbr") for case in ("ends", "never")]
    assert 0.1 < float(rows[0][2]) < 0.3
    assert rows[1][2] == "inf"
    assert all(int(row[3]) > 0 for row in rows)
    assert all(float(number) >= 0 for row in rows for number in row[2:])
    assert stacktest.measured(["cubic", "bbr"], tmp_path) == lines
    assert len(made) == 4
