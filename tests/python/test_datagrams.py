"""Delays of datagrams: in results, comparisons, tables and reports."""

import pytest

import midpath
from midpath.compare.datagrams import HEADS, datagram_rows
from midpath.console.text import print_comparison, print_result

CALL = """
stop = "2 s"
scheme = "cubic"
[topology]
links = [
    { a = "a", b = "r", rate = "100 Mbps", delay = "1 ms" },
    { a = "r", b = "b", rate = "4 Mbps", delay = "9 ms" },
]
[[flow]]
group = "call"
from = "a"
to = "b"
scheme = "udp"
write = "172 B"
interval = "20 ms"
count = 2
late_after = "12 ms"
[[flow]]
from = "a"
to = "b"
start = "1 s"
[measure]
series = true
"""


@pytest.fixture(scope="module")
def compared():
    return midpath.compare(CALL, ["cubic", "newreno"], seeds=2)


def test_rows_are_by_group_with_the_worst_flow_and_the_sum_of_packets(compared):
    rows = datagram_rows({"cubic": compared.of("cubic")})
    (row,) = rows
    tables = [run.tables["datagrams"].to_pydict() for run in compared.of("cubic")]
    assert row.group == "call" and row.counts["received_packets"] == sum(sum(t["received_packets"]) for t in tables)
    worst = [max(table["delay_p99_s"]) for table in tables]
    assert row.delays["delay_p99_s"].mean == pytest.approx(sum(worst) / 2)
    assert 0 < row.counts["late_packets"] < row.counts["received_packets"]
    assert [found["scheme"] for found in compared.to_json()["datagrams"]] == ["cubic", "newreno"]
    assert compared.warnings[0].startswith("no ideal: some applications `write`")


def test_tables_and_reports_have_them_where_there_are_datagrams(compared, capsys, tmp_path):
    print_comparison(compared)
    run = compared.of("cubic")[0]
    print_result(run)
    assert capsys.readouterr().out.count("Delay p50") == 2
    for found in (run, compared):
        assert ">Delay p50<" in found.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert {"delay_s"} <= set(run.series["metric"].to_pylist())
    without = midpath.run(CALL.replace('scheme = "udp"', 'size = "9 kB"').replace('late_after = "12 ms"', ""))
    assert "datagrams" not in without.tables and not datagram_rows({"cubic": [without]})
    print_result(without)
    assert HEADS[0] not in capsys.readouterr().out


def test_a_saved_run_has_the_table(compared, tmp_path):
    run = compared.of("newreno")[0]
    assert midpath.load(run.save(tmp_path / "run")).tables["datagrams"].equals(run.tables["datagrams"])
