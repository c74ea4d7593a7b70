"""What a packet-hop costs under each scheme: the page, and how it is counted."""

import json
import subprocess

import pytest

import script
from conftest import ROOT
from midpath import entries
from midpath.benchmark import instructions as counter

FOLDER = ROOT / "evidence/bench" / "matrix"


def test_the_page_is_of_its_data_and_each_column_is_beside_newreno_of_the_same_commit():
    cost = script.load(FOLDER / "cost.py")
    kept = json.loads(cost.KEPT.read_text(encoding="utf-8"))
    page = "\n".join(cost.page(kept)) + "\n"
    assert page == cost.PAGE.read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in page.splitlines() if line[:2] == "| "]
    found = {row[0]: row for row in rows if row[2].isdecimal()}
    assert len(found) >= 17
    for title, (_, _, instructions, ratio, goal, sent, commit, _) in found.items():
        (name,) = (one.name for one in entries.columns(None) if one.title == title)
        base = kept[commit][cost.BASE]["instructions"]
        # The page has whole instructions and hundredths: half of either is rounding.
        assert float(ratio) == pytest.approx(float(instructions) / base, abs=0.005 + 0.5 / base), title
        assert (goal == "–") == (name not in cost.GOALS)
        assert float(sent) >= 1 + 40 / 1460, title
    assert set(cost.GOALS) <= set(entries.every())


def test_a_cost_is_what_the_longer_run_takes_more_over_its_hops(monkeypatch):
    cost = script.load(FOLDER / "cost.py")
    counts = iter(((1_000_000, 1_000), (4_000_000, 5_000)))

    def valgrind(command, *, input, **_):
        assert command[0] == "valgrind"
        assert json.loads(input)["threads"] == 1
        instructions, hops = next(counts)
        answer = json.dumps({"runs": [{"run": {"packet_hops": hops}}]})
        return subprocess.CompletedProcess(command, 0, answer, f"==1== I   refs:      {instructions:,}\n")

    monkeypatch.setattr(counter, "require", lambda: None)
    monkeypatch.setattr(subprocess, "run", valgrind)
    found = cost.cost(entries.Entry("newreno"))
    assert found.instructions == 750
    assert 1.02 < found.bytes_sent < 1.1
