"""The harness of evidence/properties: bounds that are missed, scenes that crash, runs that go on where they ended."""

import os
import signal
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path

import pytest

import script

pytestmark = pytest.mark.nightly("evidence/properties/", "python/midpath/run/")

ROOT = Path(__file__).parents[2]
TOY = """
from dataclasses import dataclass
from pathlib import Path
from harness import Bound, Suite, tallied

@dataclass(frozen=True)
class Found:
    flows: int

def text(number, scheme, params):
    if number == 3:
        return "no = [[scenario\\n"
    flow = '[[flow]]\\nfrom = "a"\\nto = "b"\\nsize = "3 kB"\\n' * number
    broken = "stop = 1\\n" if number == 4 else ""
    link = '{ a = "a", b = "b", rate = "10 Mbps", delay = "1 ms" }'
    return f"seed = {number}\\n{broken}[topology]\\nlinks = [{link}]\\n{flow}"

def judge(number, result, scheme, params):
    with Path("judged").open("a") as out:
        out.write(f"{number}\\n")
    if number == 5:
        raise ValueError("no judge can")
    return Found(result.summary["flows"])

SUITE = Suite("A toy", lambda family, number: number, text, judge, Found,
              tallied({}, {"most": lambda found: str(max(one.flows for one in found))}), (Bound("flows", 1),))
"""
MAIN = """
import sys
sys.path[:0] = [{here!r}, {checks!r}]
import runpy
sys.argv[0] = "properties"
command = runpy.run_path({checks!r} + "/__main__.py", run_name="command")
command["SUITES"]["toy"] = ("toy.suite", "toy/PAGE.md")
if __name__ == "__main__":
    sys.exit(command["main"](sys.argv[1:]))
"""


@pytest.fixture
def toy(tmp_path):
    """A suite beside those of checks, and how it is called."""
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy/suite.py").write_text(TOY, encoding="utf-8")
    main = tmp_path / "main.py"
    main.write_text(MAIN.format(here=str(tmp_path), checks=str(ROOT / "evidence/properties")), encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python")}
    return lambda *words: subprocess.Popen(
        [sys.executable, main, "toy", *map(str, words)],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_broken_bound_and_a_crash_are_rows_and_the_rest_goes_on(toy):
    page, _ = toy("--scenarios", 6).communicate(timeout=300)
    lines = page.splitlines()
    assert "| 1 of 6 | 2 | 6 |" in lines
    missed = [line for line in lines if line.startswith("- ")]
    assert [line.partition(" (")[0] for line in missed] == [
        "- 2: flows",
        *(f"- {n}: error" for n in (3, 4, 5)),
        "- 6: flows",
    ]
    assert "(Found(flows=2))" in missed[0]
    assert all("ScenarioError" in line for line in missed[1:3])
    assert "ValueError: no judge can" in missed[3]


def test_scenes_of_one_text_are_judged_each(toy):
    page, _ = toy("--scenarios", 1, "--schemes", "a,b").communicate(timeout=300)
    assert "| 2 of 2 | 0 | 1 |" in page


def test_what_is_done_is_not_run_again_after_a_kill(toy, tmp_path):
    judged, numbers = tmp_path / "judged", 24
    first = toy("--scenarios", numbers, "--keep", "runs", "--jobs", 1)
    while first.poll() is None and not (judged.exists() and len(judged.read_text().split()) > 5):
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    before = len(list((tmp_path / "runs/runs").glob("*/*.json")))
    judged.write_text("")
    page, _ = toy("--scenarios", numbers, "--keep", "runs", "--jobs", 1).communicate(timeout=300)
    again = len(judged.read_text().split())
    assert f"| 1 of {numbers} |" in page
    assert 0 < before <= numbers
    assert again <= numbers - before + 1
    judged.write_text("")
    assert toy("--scenarios", numbers, "--keep", "runs").communicate(timeout=300)[0] == page
    assert judged.read_text() == ""
    suite = tmp_path / "toy/suite.py"
    suite.write_text(suite.read_text(encoding="utf-8") + "# a change\n", encoding="utf-8")
    toy("--scenarios", 2, "--keep", "runs").communicate(timeout=300)
    assert sorted(judged.read_text().split()) == ["1", "2"], "another judge, another run"


def test_a_base_that_crashed_holds_nobody_to_a_bound():
    harness = script.suite("harness")
    suite = script.suite("transients.suite").SUITE
    assert suite.failures(None, None, harness.Crash("no")) == {"error": 1.0}
    assert suite.failures(None, harness.Crash("no")) == {"error": 1.0}


def test_runs_of_another_build_are_read_where_they_are_kept(toy, tmp_path, monkeypatch):
    toy("--scenarios", 6, "--keep", "runs").communicate(timeout=300)
    monkeypatch.syspath_prepend(tmp_path)
    asked = Namespace(module="toy.suite", before=tmp_path / "runs")
    before = script.suite("harness").kept_before(asked)
    assert {key: one.flows for key, one in before.items()} == {("", n, ""): n for n in (1, 2, 6)}


@pytest.mark.parametrize(
    ("longer", "count", "missed", "says"),
    [
        (0.0, 120, (3, 3), "goes"),
        (0.0, 120, (3, 2), "goes"),
        (0.0, 120, (2, 3), "stays"),
        (0.03, 120, (0, 0), "stays"),
        (-0.03, 120, (0, 0), "stays"),
        (0.0, 99, (0, 0), "acted too rarely"),
    ],
)
def test_an_addition_goes_if_little_changes_and_no_bound_is_missed_more_often(longer, count, missed, says):
    ablation, harness = script.suite("ablation"), script.suite("harness")

    def row(scheme, time, bounds):
        return harness.Row("", 1, scheme, None, ablation.Found(time, time, "x"), None, bounds)

    own = []
    for i in range(count):
        noise = 1 + 0.001 * (-1) ** i
        lost = [{"b": 1.0} if i < most else {} for most in missed]
        own.append((row("", 1.0, lost[0]), row("without", noise * (1 + longer), lost[1])))
    *cells, verdict = ablation.worth(own, ["a", "b"])
    assert verdict == says
    assert cells[0] == str(count)
    assert cells[-2:] == ["0 → 0", f"{missed[0]} → {missed[1]}"]
