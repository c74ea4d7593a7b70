"""The GitHub Action in tools/action: its steps, run here as a runner would, with the scenarios that it has."""

import json

import pytest

import action
import test_lab_real
from conftest import ROOT
from midpath import _midpath
from midpath.scenario import Scenario

pytestmark = [
    pytest.mark.nightly("tools/action/", "python/midpath/lab/", "net/lab/"),
    pytest.mark.skipif(test_lab_real.WHY is not None, reason=test_lab_real.WHY or ""),
]
ACTION = ROOT / "tools" / "action"
SCENARIOS = sorted(ACTION.glob("scenarios/*.toml"))
# A server of so many bytes for each connection, and a client; C, as a step has to build it.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <netdb.h>
#include <sys/socket.h>
static char data[65536];
int main(int argc, char **argv) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = AF_INET, .ai_flags = AI_PASSIVE}, *at;
  if (getaddrinfo(argc < 3 ? NULL : argv[2], "7000", &hints, &at)) return 2;
  int end = socket(at->ai_family, SOCK_STREAM, 0), one = 1;
  setsockopt(end, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (argc < 3) {
    bind(end, at->ai_addr, at->ai_addrlen);
    listen(end, 5);
    int peer = accept(end, NULL, NULL);
    for (long left = atol(argv[1]), sent; left > 0; left -= sent)
      if ((sent = write(peer, data, left < 65536 ? left : 65536)) <= 0) return 1;
    shutdown(peer, SHUT_WR);
    read(peer, data, 1);
    return 0;
  }
  if (connect(end, at->ai_addr, at->ai_addrlen)) return 1;
  long all = 0;
  for (long got; (got = read(end, data, 65536)) > 0;) all += got;
  printf("%ld bytes\n", all);
  return all != atol(argv[1]);
}
"""


def steps(inputs, folder):
    """The action's."""
    return action.steps(ACTION / "action.yml", inputs, folder, {"midpath-lab": test_lab_real.TOOL})


def built(folder):
    """Inputs that build the program and fetch with it."""
    (folder / "fetch.c").write_text(PROGRAM)
    fetch = "./fetch 300000"
    return {"build": "cc -O1 -o fetch fetch.c", "serve": fetch, "at": f"{fetch} h1"}


def test_its_scenarios_run_in_the_simulator_as_well():
    assert len(SCENARIOS) == 5
    for file in SCENARIOS:
        scenario = Scenario.from_toml(file)
        _midpath.check(scenario.effective_text(), file.parent, flows_optional=True)


def test_a_program_is_built_and_runs_over_all_scenarios(tmp_path):
    expected = "delivered.h0 >= 300 kB\noutage: goodput.h0 < 10 Mbps\n"
    code, said, summary, output = steps(built(tmp_path) | {"expect": expected}, tmp_path)
    assert code == 0, said
    rows = [line.split(" | ") for line in summary.splitlines() if line.startswith("| ")][2:]
    assert [row[0].strip("| ") for row in rows] == [file.stem for file in SCENARIOS]
    assert all(row[1] == "passed" and "exit 0" in row[2] for row in rows)
    assert summary.count("holds: ") == 6
    assert "h0: 300000 bytes" in said
    verdicts = json.loads(output.removeprefix("verdicts="))
    assert [one["passed"] for one in verdicts] == [True] * 5
    assert (tmp_path / "midpath-results" / "outage" / "run.json").exists()


def test_what_does_not_hold_fails_the_job(tmp_path):
    more = {"scenarios": "broadband\noutage", "expect": "broadband: goodput.h0 > 30 Mbps"}
    code, said, summary, _ = steps(built(tmp_path) | more, tmp_path)
    assert code == 1
    assert "FAILS: goodput.h0 > 30 Mbps" in said
    assert "| broadband | **failed** |" in summary
    assert "| outage | passed |" in summary


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ({"build": "false"}, ""),
        ({"at": "exit 5", "scenarios": "broadband"}, "exit 5"),
        ({"at": "true", "scenarios": "missing"}, "missing.toml"),
        ({"at": "true", "scenarios": "broadband", "expect": "goodput.h9 > 1 bps"}, "there is no host or group 'h9'"),
    ],
)
def test_what_goes_wrong_is_in_the_summary(tmp_path, inputs, says):
    code, _, summary, _ = steps({"at": "true"} | inputs, tmp_path)
    assert code == 1
    assert says in summary
    assert bool(summary) is ("build" not in inputs)
