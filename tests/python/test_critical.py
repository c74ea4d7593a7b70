"""`midpath why --of`, and applications in the replay: what a request, a page, a view or an iteration waited for."""

import re

import pytest

import midpath
from midpath.errors import UsageError
from midpath.trace import Trace
from midpath.trace.critical import CriticalPath, applications
from midpath.trace.replay import data
from test_applications import CLIENT, JOB, NET, VIDEO

CHAIN = """
[[client]]
group = "ask"
from = ["h0"]
to = ["h1"]
requests = 5
think_time = "2 ms"
service_time = "300 us"
request_sizes = { kind = "fixed", size = "1 kB" }
reply_sizes = { kind = "fixed", size = "50 kB" }
then = [{ to = ["h2"], service_time = "700 us" }]
"""
TRACE = "\n[trace]\n"


@pytest.fixture(scope="module")
def runs():
    return [midpath.run(NET + more) for more in (CLIENT + JOB, CHAIN + TRACE, VIDEO)]


def test_parts_are_the_completion_time(runs):
    seen = set()
    for run in runs:
        for name, kind in applications(run).items():
            seen.add(kind.word)
            table = run.tables[kind.table].to_pandas()
            for row in range(len(table)):
                path = CriticalPath(run, name, int(table[kind.number][row]))
                assert sum(path.spent.values()) == pytest.approx(path.end - path.start, abs=1e-9)
                assert path.start == pytest.approx(table.start_s[row], abs=1e-9)
                if kind.took:
                    assert path.end - path.start == pytest.approx(table[kind.took][row], abs=1e-9)
                assert sum(link.took for link in path.chain()) == pytest.approx(path.end - path.start, abs=1e-9)
                assert 2 <= len(path.sentences()) <= 10
    assert seen == {"request", "view", "iteration"}


def test_a_chain_of_servers_is_told_from_its_end(runs):
    path = CriticalPath(runs[1], "ask", 3)
    assert path.spent["service"] == pytest.approx(1e-3)
    assert path.spent["compute"] == path.spent["blocked"] == 0
    whole, *links = path.sentences()
    took = runs[1].tables["requests"].to_pandas().completion_s[3]
    said = rf"\S+ s: request 3 of ask was complete after {took * 1e3:.2f}\sms: .* network, 1.00\sms servers"
    assert re.fullmatch(said, whole)
    ways = [re.match(r"\S+ s: RPC (\S+) (?:waited for RPC (\S+)|was first) and took", link).groups() for link in links]
    assert ways == [("h1>h0", "h2>h1"), ("h2>h1", "h1>h2"), ("h1>h2", "h0>h1"), ("h0>h1", None)]
    ends = [float(sentence.split()[0]) for sentence in (whole, *links)]
    assert ends == sorted(ends, reverse=True)
    assert "slowest link h1>r0" in links[0]


def test_without_a_number_it_is_the_slowest(runs):
    slowest = runs[0].tables["requests"].to_pandas().completion_s.idxmax()
    assert CriticalPath(runs[0], "ask").number == slowest


def test_what_is_not_there_is_said(runs):
    for name, number, says in (("nobody", None, "there are `ask` and `job0`"), ("ask", 99, "request 99 of `ask`")):
        with pytest.raises(UsageError, match=says):
            CriticalPath(runs[0], name, number)
    plain = midpath.run(NET + '[[flow]]\nfrom = "h0"\nto = "h1"\nsize = "1 kB"\n')
    with pytest.raises(UsageError, match="the run has none"):
        CriticalPath(plain, "ask")


def test_the_command_asks_for_one_of_both(runs, tmp_path, cli):
    out = tmp_path / "out"
    runs[1].save(out)
    answer = cli("why", out, "--of", "ask", "--number", 3)
    assert (answer.code, len(answer.out.splitlines())) == (0, 5)
    assert '"request": 3' in cli("why", out, "--of", "ask", "--number", 3, "--json").out
    for words, says in (
        (("why", out), "--of a client or job"),
        (("why", out, "--of", "ask", "--flow", 1), "leave one out"),
        (("why", out, "--flow", 1, "--at", "1ms", "--number", 1), "--number is of a client or job"),
    ):
        answer = cli(*words)
        assert answer.code == 2
        assert says in answer.err


def test_the_replay_has_them_on_its_time_axis(runs):
    trace = Trace(runs[1])
    shown = data(trace, len(trace))["applications"]
    assert [one["name"] for one in shown] == [f"request {i} of ask" for i in range(5)]
    first = float(trace.time[0])
    for number, one in enumerate(shown):
        path = CriticalPath(runs[1], "ask", number)
        assert one["pieces"][0]["from"] + first == pytest.approx(path.start)
        assert one["pieces"][-1]["until"] + first == pytest.approx(path.end)
        assert one["pieces"][0]["for"] == "RPC h0>h1"
