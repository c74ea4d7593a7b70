"""`midpath evaluate`: items, verdicts, schemes that crash, hang or are silent, and what is written."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

import action
import midpath.evaluate
from conftest import ROOT
from midpath.controller import load
from midpath.errors import OutputError, UsageError
from midpath.evaluate import bbr, verdict, work
from midpath.evaluate.facts import Facts
from midpath.evaluate.found import beside, load_evaluation
from midpath.evaluate.items import LEVELS, ME, REFERENCES, Measure, Runs, Subject
from midpath.evaluate.rfc9743 import ITEMS
from midpath.evaluate.suites import SUITES
from midpath.schemes import shipped
from test_evaluate_fails import SAMPLE, UNFIT
from test_evaluate_fails import verdict as verdict_of

RUNS = pytest.mark.nightly(
    "python/midpath/evaluate/", "python/midpath/run/", "tools/action/evaluate/", "tests/python/unfit.py"
)

CONTROLLERS = Path(__file__).parent / "unfit.py"
OWN = load(CONTROLLERS)
# The RFC's sections that have criteria.
SECTIONS = [f"5.1.{i}" for i in range(1, 6)] + [f"5.2.{i}" for i in range(1, 4)] + ["5.3.1", "5.3.2"]
SECTIONS += [f"6.{i}" for i in range(1, 5)] + [f"7.{i}" for i in range(1, 12)]


def evaluate(schemes, items, **more):
    return midpath.evaluate.evaluate(schemes, items=items, controllers=OWN, **{"seeds": 2} | more)


def test_every_section_has_an_item_with_bounds_or_says_what_is_missing():
    assert [item.name for item in ITEMS] == SECTIONS
    for item in ITEMS:
        assert item.level in LEVELS and item.asks, item.name
        assert item.measures or item.text or item.missing, item.name
        assert {one.name for one in item.cases} >= {case for one in item.measures for case in one.cases}, item.name
        assert all(one.source for one in item.measures), item.name


@RUNS
def test_every_scenario_can_be_run_by_the_references():
    for case in (case for suite in SUITES.values() for item in suite.items for case in item.cases):
        for scheme in (case.by,) if case.by else REFERENCES:
            work.scenario(case, Subject(scheme)).check()


@RUNS
@pytest.mark.parametrize("item", SAMPLE)
def test_an_item_fails_the_unfit_and_passes_the_fit(item):
    assert verdict_of(item, *UNFIT[item], seeds=4)[0] == "does not hold"
    assert verdict_of(item, "newreno", {}, seeds=4)[0] == "holds"


@pytest.mark.parametrize(
    ("values", "at_least", "said"),
    [
        ({"a": [0.40, 0.41, 0.42], "b": [0.1, 0.1, 0.1]}, False, "holds"),
        ({"a": [0.60, 0.61, 0.62], "b": [0.1, 0.1, 0.1]}, False, "does not hold"),
        ({"a": [0.40, 0.60, 0.45], "b": [0.1, 0.1, 0.1]}, False, "undecided"),
        ({"a": [0.40, 0.41, 0.42], "b": [0.9, 0.9, 0.9]}, True, "does not hold"),
        ({"a": [0.60, 0.61, 0.62], "b": [0.9, 0.9, 0.9]}, True, "holds"),
        ({"a": [0.1], "b": [0.1]}, False, "undecided"),
        ({"a": [0.1, None, 0.1], "b": [0.1, 0.1, 0.1]}, False, "undecided"),
    ],
)
def test_a_verdict_is_of_the_interval_of_the_worst_case(values, at_least, said):
    measure = Measure("m", "ratio", list(values), lambda *_: None, 0.5, "ours", at_least=at_least)
    found = verdict.worst(measure, values)
    assert verdict.judged(measure, found) == said
    if said == "does not hold":
        assert found.case == "a"


def test_ratios_are_averaged_as_logarithms():
    measure = Measure("m", "times", ["a"], lambda *_: None, 1.0, "ours")
    found = verdict.worst(measure, {"a": [0.5, 2.0, 1.0]})
    assert found.mean == pytest.approx(1.0) and found.low == pytest.approx(1 / found.high)
    assert math.isfinite(verdict.worst(measure, {"a": [0.0, 1.0]}).low)


@RUNS
@pytest.mark.parametrize(
    ("scheme", "why"),
    [("broken", "ZeroDivisionError"), ("inrpp-attack", "delivers nothing"), ("endless", "did not end")],
)
def test_who_crashes_hangs_or_is_silent_has_a_row_and_the_rest_goes_on(scheme, why, monkeypatch):
    monkeypatch.setattr(work, "LIMIT_S", 3.0)
    found = evaluate(["newreno", scheme], ["7.5"])
    assert found.row("7.5", "NewReno")["measures"]
    row = found.row("7.5", Subject(scheme).title)
    assert row["verdict"] == "failed" and why in row["why"], row


@RUNS
def test_an_item_that_does_not_apply_says_why():
    assert evaluate(["cubic"], ["7.10"]).row("7.10", "CUBIC")["why"] == "a flow has one path"
    assert "explicit" in evaluate(["cubic"], ["6.2"]).row("6.2", "CUBIC")["why"]
    found = evaluate(["fcp"], ["7.1"]).row("7.1", "FCP")
    assert found["verdict"] == "not applicable" and "codel" in found["why"], found


@RUNS
def test_what_is_there_is_not_run_again_and_is_written_alike(tmp_path, cli):
    words = ["evaluate", "bbr", "--items", "7.5,7.7", "--seeds", "2", "--out", tmp_path]
    assert cli(*words).code == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.suffix in (".md", ".html", ".toml")}
    records = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs/runs").glob("*/*.json")}
    told = (tmp_path / "evaluation.json").read_bytes()
    assert len(before) == 5 and len(records) == 2 * 9
    assert cli(*words).code == 0
    assert all(path.read_bytes() == text for path, text in before.items())
    assert (tmp_path / "evaluation.json").read_bytes() == told
    assert {path: path.stat().st_mtime_ns for path in records} == records
    page = (tmp_path / "report.html").read_text()
    assert "<svg" in page and "midpath why" in page
    # Its scenarios run as they are.
    file = tmp_path / "scenarios/bbrv3/7.5-600-ms.toml"
    assert midpath.run(file, seed=1).scheme == "bbr"
    with pytest.raises(OutputError, match="holds no"):
        evaluate(["bbr"], ["7.5"], out=tmp_path / "scenarios")


@RUNS
def test_two_schemes_and_two_evaluations_stand_side_by_side(tmp_path, cli):
    words = ["evaluate", "cubic", "--items", "5.1.2", "--seeds", "3"]
    assert cli(*words, "--out", tmp_path, "--beside", "newreno").code == 0
    found = load_evaluation(tmp_path)
    assert found.verdicts("CUBIC") == {"5.1.2": "holds"}
    wait = next(row for row in beside(found, "CUBIC", found, "NewReno") if row.measure.startswith("mean wait"))
    assert wait.is_told and wait.one > wait.other
    assert not any(row.is_told for row in beside(found, "CUBIC", found, "CUBIC"))
    told = cli(*words, "--set", "schemes.cubic.beta=50 %", "--beside", tmp_path).out
    assert "0 of 2" not in told and f"CUBIC ({tmp_path})" in told and "| 5.1.2 | mean wait over TCP's |" in told


POLITE = """import midpath
class Mine(midpath.Controller):
    def on_ack(self, ack):
        self.window += ack.acked if self.in_slow_start else self.mss * ack.acked / self.window
"""
# It halves nothing.
RUDE = (
    POLITE
    + """
    own_window = True
    def on_loss(self, loss):
        return self.window
    def on_timeout(self, loss):
        return self.window
"""
)


def git(folder, *words):
    done = subprocess.run(
        ["git", "-C", folder, "-c", "user.name=t", "-c", "user.email=t@example.org", *words],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path):
    """One whose last commit made the controller worse."""
    folder = tmp_path / "mine"
    folder.mkdir()
    git(folder, "init", "-q")
    for text in (POLITE, RUDE):
        (folder / "mine.py").write_text(text)
        git(folder, "add", "mine.py")
        git(folder, "commit", "-q", "-m", "mine")
    return folder


BESIDE = ("--items", "7.9", "--seeds", "3")


@RUNS
def test_a_revision_stands_beside_what_became_of_it(repository, cli):
    words = ["evaluate", "mine", "--with", repository / "mine.py", *BESIDE]
    answer = cli(*words, "--beside", "HEAD~1")
    assert "1 of 1 verdicts differ between mine and mine (HEAD~1)" in answer.out, answer
    assert "| 7.9 Sudden changes in the path | MUST | does not hold | holds |" in answer.out
    assert answer.code == 1
    # What failed before fails nobody's change.
    answer = cli(*words, "--beside", "HEAD")
    assert "0 of 1 verdicts differ" in answer.out and answer.code == 0
    answer = cli(*words, "--beside", "no-such-revision")
    assert answer.code == 2 and "no-such-revision" in answer.err


@RUNS
def test_another_build_stands_beside_this_one(repository, tmp_path, cli):
    other = tmp_path / "other"
    other.write_text(f"#!/bin/sh\nexec {sys.executable} -m midpath \"$@\" --set schemes.cubic.beta='50 %'\n")
    other.chmod(0o755)
    answer = cli("evaluate", "cubic", *BESIDE, "--beside", other)
    assert "between CUBIC and CUBIC (beta = 50 %)" in answer.out, answer
    other.write_text("#!/bin/sh\necho 'No such command: evaluate' >&2\nexit 2\n")
    answer = cli("evaluate", "cubic", *BESIDE, "--beside", other)
    assert answer.code == 2 and "No such command" in answer.err


@RUNS
def test_the_action_compares_with_the_base_of_a_pull_request(repository):
    inputs = {"scheme": "mine", "with": "mine.py", "beside": git(repository, "rev-parse", "HEAD~1")}
    file = ROOT / "tools/action/evaluate/action.yml"
    code, said, summary, _ = action.steps(file, inputs | {"options": " ".join(BESIDE)}, repository)
    assert code == 1, said
    assert summary.startswith("1 of 1 verdicts differ") and "# RFC 9743, item by item" in summary
    assert (repository / "midpath-evaluation/report.html").exists()


@pytest.mark.nightly("python/midpath/evaluate/", "python/midpath/commands/evaluate.py")
def test_the_command_says_what_does_not_hold_and_its_code_is_one(cli):
    answer = cli("evaluate", "slow", "--with", CONTROLLERS, "--items", "5.1.5", "--seeds", "2")
    assert answer.code == 1
    assert "does not hold (MUST): short flows' completion over TCP's" in answer.out
    assert json.loads(cli("evaluate", "cubic", "--items", "7.5", "--seeds", "2", "--json").out)["items"] == ["7.5"]


def test_words_that_are_not_known_are_answered():
    with pytest.raises(UsageError, match=r"5\.1\.1"):
        evaluate(["cubic"], ["5.1.11"])
    for key in ("queue.limit", "schemes.newreno.beta", "schemes.cubic"):
        with pytest.raises(UsageError, match="no parameter of a scheme that is evaluated"):
            evaluate(["cubic"], ["7.5"], changes={key: "1 MB"})
    with pytest.raises(midpath.ScenarioError, match="cubic"):
        evaluate(["cubbic"], ["7.5"])


def test_every_scheme_that_carries_flows_has_scenarios():
    for name in (name for name, about in shipped().items() if about.hosts):
        for case in (case for item in ITEMS[:4] for case in item.cases):
            work.scenario(case, Subject(name)).check()


@RUNS
def test_each_of_bbr_s_22_cases_is_asked_or_says_why_not():
    assert [item.name for item in SUITES["bbr"].items] == [str(number) for number in range(1, 23)]
    assert sum(bool(item.measures) for item in SUITES["bbr"].items) == 22
    found = evaluate(["bbr", "cubic"], ["1"], suite="bbr", seeds=5)
    assert found.verdicts("BBRv3") == {"1": "holds"}
    assert found.row("1", "CUBIC")["why"] == "it shows no states of BBR"


@RUNS
def test_a_queue_is_evaluated_under_a_tcp(cli):
    answer = cli("evaluate", "cubic", "--aqm", "codel", "--items", "6", "--seeds", "2", "--json")
    (row,) = json.loads(answer.out)["rows"]
    assert row["scheme"] == "CUBIC @ codel" and row["measures"], answer
    assert "names no queue" in evaluate(["cubic"], ["6"], suite="rfc7928").row("6", "CUBIC")["why"]


def lasting(states):
    """Samples of BBR's states, of 10 ms each: `(state, seconds)`."""
    return [state for state, seconds in states for _ in range(round(seconds * 100))]


STARTS = [(bbr.STARTUP, 0.5), (bbr.DRAIN, 0.1), (bbr.CRUISE, 1.9), (bbr.REFILL, 0.1), (bbr.UP, 0.2)]


@pytest.mark.parametrize(
    ("item", "measure", "states"),
    [
        ("4", "rounds that end in DRAIN", [(bbr.STARTUP, 0.5), (bbr.DRAIN, 1.0), (bbr.DOWN, 1.0), (bbr.CRUISE, 1.0)]),
        ("4", "PROBE_BW follows", [(bbr.STARTUP, 0.5), (bbr.DRAIN, 0.2), (bbr.STARTUP, 1.0), (bbr.DRAIN, 1.0)]),
        ("6", "PROBE_UP lasts", [*STARTS[:-1], (bbr.UP, 3.0), (bbr.DOWN, 1.0)]),
        ("9", "PROBE_DOWN lasts", [*STARTS, (bbr.DOWN, 4.0), (bbr.REFILL, 1.0)]),
        ("9", "PROBE_CRUISE is bypassed", [*STARTS, (bbr.DOWN, 1.0), (bbr.CRUISE, 1.0)]),
        ("22", "PROBE_UP follows", [*STARTS, (bbr.DOWN, 0.5), (bbr.REFILL, 0.1), (bbr.CRUISE, 1.0)]),
    ],
)
def test_states_that_the_draft_forbids_are_found(item, measure, states):
    series = {f"flow:0 {bbr.STATE}": lasting(states), "port:r0>r1 queue_bytes": [0.0] * 1000}
    told = {"interval_s": 0.01, "first_s": 0.01, "series": series}
    (asked,) = (m for own in SUITES["bbr"].items if own.name == item for m in own.measures if m.label == measure)
    (case,) = asked.cases
    runs = Runs({(name, ME): Facts(told) for name in (bbr.FIRST, case)})
    value = asked.of(runs, case)
    assert value < asked.bound if asked.at_least else value > asked.bound


def test_a_scheduler_that_costs_rate_or_delay_is_found():
    (item,) = (item for item in SUITES["rfc7928"].items if item.name == "13")

    def facts(rate, delay):
        series = {"group:subject goodput_bps": [rate] * 160}
        told = {"interval_s": 0.25, "first_s": 0.25, "series": series, "datagrams": {"voice": {"delay_p95_s": delay}}}
        return Facts(told)

    for case, sound in ((facts(9e6, 0.03), [True, True]), (facts(8e6, 0.05), [False, False])):
        runs = Runs({("without", ME): facts(9e6, 0.04), ("with fair queueing", ME): case})
        values = [(one.of(runs, "with fair queueing"), one) for one in item.measures]
        assert [value >= one.bound if one.at_least else value <= one.bound for value, one in values] == sound
