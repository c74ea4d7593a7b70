"""What was asked for and did not take effect is said beside the figures, and no difference found is not called none."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import midpath
from midpath.errors import OutputError, ScenarioError, UsageError
from midpath.report import html
from midpath.report.failures import CALM, UNKNOWN, UNUSED, step_of
from midpath.stats import estimate
from midpath.storage import write_text
from midpath.sweep.failures import Harm, _unknown

TEXT = """
scheme = "cubic"
stop = "3 s"
[topology]
generate = "dumbbell"
bottleneck = { rate = "10 Mbps", delay = "5 ms" }
access = { rate = "100 Mbps", delay = "1 ms" }
[queue]
kind = "codel"
limit = "100 kB"
[[flow]]
from = "s0"
to = "d0"
size = "2 MB"

[variants.codel]
[variants.other]
queue.limit = "200 kB"
[variants.plain]
queue = { kind = "drop-tail", limit = "100 kB" }
"""


def test_a_scheme_that_adds_nothing_is_said():
    found = midpath.compare(TEXT, "cubic,cubic+rpm,newreno", ideal=False)
    texts = " ".join(found.warnings)
    assert "rpm at r0>r1: nothing was signalled" in texts
    assert "CUBIC and CUBIC + RPM are identical flow by flow" in texts
    # RPM's CoDel has a target of its own, so let it be the same for both.
    with_ecn = midpath.compare(TEXT + "[schemes.cubic]\necn = true\n", "cubic,cubic+rpm", ideal=False)
    assert "identical flow by flow" not in " ".join(with_ecn.warnings)


def test_a_variant_that_changes_nothing_is_said_and_equipment_is_each_variants_own(cli, tmp_path):
    found = midpath.compare_variants(TEXT, "cubic", ideal=False)
    assert any("codel and other are identical flow by flow" in text for text in found.warnings), found.warnings
    own = {variant: row.aqm for variant, row in found.equipment}
    assert own == {"codel": "CoDel of 5 ms", "other": "CoDel of 5 ms", "plain": "drop-tail"}
    ecn = {variant: row.ecn for variant, row in found.equipment}
    assert ecn == {"codel": "CE, but flows use none", "other": "CE, but flows use none", "plain": "no"}
    with_ecn = midpath.compare_variants(TEXT + "[schemes.cubic]\necn = true\n", "cubic", ideal=False)
    assert [row.ecn for _, row in with_ecn.equipment] == ["CE", "CE", "no"]
    file = tmp_path / "s.toml"
    file.write_text(TEXT)
    answer = cli("compare", file, "--schemes", "cubic", "--no-ideal")
    lines = [line.split() for line in answer.out.splitlines()]
    assert ["plain", "CUBIC"] in [line[:2] for line in lines if "drop-tail" in line]
    page = html(found)
    assert page.count("<h3>Equipment</h3>") == 1 and "CoDel of 5 ms" in page and "drop-tail" in page


def test_variants_are_drawn_as_curves_and_over_time():
    text = TEXT.replace('stop = "3 s"', 'stop = "3 s"\nmeasure = { series = true }')
    page = html(midpath.compare_variants(text, "cubic,newreno", ideal=False))
    data = json.loads(page.split('id="report-data">')[1].split("</script>")[0])
    for figure in ("fct", "goodput", "queue"):
        shown = data["figures"][figure]["variants"]
        assert {key.split()[0] for key in shown} == {"cubic", "newreno"}, figure
        names = {trace["meta"]["scheme"] for state in shown.values() for trace in state["data"]}
        assert names == {"variant:codel", "variant:other", "variant:plain"} <= set(data["looks"]), figure
    # The bottleneck first, and not a host's own port.
    assert next(iter(data["figures"]["queue"]["variants"])).endswith("port:r0>r1")


def harm(*ratios):
    return Harm(("a", "b"), "cubic", 10, 0, len(ratios), 0, 10, estimate(ratios), None, None, None, None)


def test_no_difference_found_is_not_no_difference():
    unknown, harmless, hurting = harm(0.9, 1.2, 1.0), harm(0.9, 0.91, 0.9), harm(1.2, 1.21, 1.2)
    assert (unknown.hurts, unknown.is_harmless, unknown.cells[0]) == (False, False, "not significant")
    assert (harmless.hurts, harmless.is_harmless, harmless.cells[0]) == (False, True, "no")
    assert (step_of(unknown), step_of(harmless)) == (UNKNOWN, CALM)
    assert UNKNOWN.dash != CALM.dash
    # As many seeds as a repetition with this spread would need.
    wanted = unknown.seeds_wanted
    assert 20 < wanted < 100 and hurting.hurts


def test_a_failure_after_the_end_is_refused(tmp_path):
    with pytest.raises(UsageError, match="--at 99h: the run ends at 3 s, before any link fails"):
        midpath.failures(TEXT, "cubic", out=tmp_path / "store", at="99h")
    assert not (tmp_path / "store").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_device_is_not_replaced_by_a_file(cli, tmp_path, made_up):
    result = midpath.run("title = 'x'\n")
    result.save(tmp_path / "out")
    answer = cli("report", tmp_path / "out", "--out", "/dev/full")
    assert answer.code == 2 and "/dev/full is not a regular file" in answer.err
    assert not Path("/dev/full").is_file()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OutputError, match="is not a regular file"):
        write_text(tmp_path / "pipe", "x")
    # What a link leads to is written; the link stays.
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_text(tmp_path / "link", "x")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_text() == "x"


def test_sweeps_load_where_there_is_no_fcntl():
    code = "import sys; sys.modules['fcntl'] = None; from midpath import cli; dict(cli.Commands())"
    command = [sys.executable, "-W", "ignore", "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=False).stderr == ""


def test_seeds_have_a_bound_and_long_work_says_how_long(cli, tmp_path, monkeypatch):
    file = tmp_path / "s.toml"
    file.write_text(TEXT)
    answer = cli("compare", file, "--schemes", "cubic", "--seeds", 1_000_000_000)
    assert answer.code == 2 and "100000" in answer.err.replace(",", "")
    monkeypatch.setattr("midpath.console.progress.FIRST_S", 0.0)
    answer = cli("compare", file, "--schemes", "cubic", "--variants", "codel,plain", "--seeds", 2)
    assert "1 of 8 runs after" in answer.err and "to go" in answer.err, answer.err


WORKLOAD = """
stop = "10 s"
[topology]
nodes = [{ name = "r", kind = "router" }]
links = [
    { a = "a", b = "r", rate = "10 Mbps", delay = "1 ms" },
    { a = "r", b = "b", rate = "10 Mbps", delay = "1 ms" },
]
[[workload]]
"""


def refused(folder, workload):
    file = folder / "s.toml"
    file.write_text(WORKLOAD + workload)
    with pytest.raises(ScenarioError) as caught:
        midpath.Scenario.from_toml(file).check()
    return str(caught.value)


def test_traffic_that_would_be_none_names_its_cause(tmp_path):
    sizes = 'sizes = { kind = "fixed", size = "10 kB" }\n'
    rare = refused(tmp_path, sizes + 'arrivals = { kind = "poisson", rate_per_s = 1e-300 }\n')
    assert "workload[0].arrivals: 1.0e-299 arrivals are expected in 10s" in rare.replace("10 s", "10s")
    (tmp_path / "m.csv").write_text("from,to,rate\na,b,1.2\nb,a,0.6\n")
    matrix = 'matrix = { kind = "file", file = "m.csv" }\narrivals = { kind = "poisson", load = "100 %" }\n'
    bits = refused(tmp_path, sizes + matrix)
    assert "the matrix adds up to 1 bps" in bits and "are its numbers Mbps?" in bits
    (tmp_path / "l.csv").write_text("src,dst,size,start\n")
    empty = refused(tmp_path, 'list = { file = "l.csv" }\n')
    assert "lists no flow: it has only a first line" in empty


@pytest.mark.parametrize(
    ("scheme", "keys", "expected"),
    [
        ("dctcp", "", ("its own step", "CE")),
        ("dctcp", 'queue.kind = "codel"\n', ("CoDel of 5 ms", "CE")),
        ("cubic+rpm", "", ("its own CoDel, 1 ms", "CE")),
        ("cubic+rpm", 'schemes.rpm.mode = "drop"\n', ("its own CoDel, 1 ms", "drop")),
        ("cubic+rpm", 'schemes.rpm.mode = "off"\n', ("drop-tail", "drop")),
        ("cubic", "", ("drop-tail", "drop")),
    ],
)
def test_equipment_has_the_aqm_that_a_scheme_brings(scheme, keys, expected):
    text = (
        f'stop = "1 s"\nscheme = "{scheme}"\n{keys}'
        + """[topology]
generate = "dumbbell"
pairs = 1
bottleneck = { rate = "10 Mbps", delay = "10 ms" }
access = { rate = "100 Mbps", delay = "1 ms" }
[[flow]]
from = "s0"
to = "d0"
"""
    )
    result = midpath.run(midpath.Scenario.from_toml(text))
    routers = [row for row in result.run["equipment"] if row["at"] == "routers"]
    assert {(row["aqm"], row["signal"]) for row in routers} == {expected}


SQUARE = """
scheme = "cubic"
stop = "6 s"
[topology]
nodes = [{ name = "s", kind = "host" }, { name = "d", kind = "host" }]
links = [
  { a = "s", b = "r0", rate = "100 Mbps", delay = "1 ms" },
  { a = "r0", b = "r1", rate = "10 Mbps", delay = "5 ms" },
  { a = "r1", b = "r2", rate = "10 Mbps", delay = "5 ms" },
  { a = "r2", b = "r0", rate = "10 Mbps", delay = "5 ms" },
  { a = "r1", b = "d", rate = "100 Mbps", delay = "1 ms" },
]
[queue]
limit = "100 kB"
[[workload]]
arrivals = { kind = "poisson", rate_per_s = 20.0 }
sizes = { kind = "exponential", mean = "20 kB" }
matrix = { kind = "pairs", pairs = [["s", "d"]] }
flows = 30
"""


def test_links_without_traffic_are_counted_apart(tmp_path):
    found = midpath.failures(SQUARE, "cubic", out=tmp_path / "store", seeds=3)
    by_link = {frozenset(harm.link): harm for harm in found.harms}
    assert {link for link, one in by_link.items() if one.unused} == {frozenset(["r1", "r2"]), frozenset(["r0", "r2"])}
    used = by_link[frozenset(["r0", "r1"])]
    assert used.hurts and used.cells[0] == "yes"
    idle = by_link[frozenset(["r1", "r2"])]
    assert (idle.hurts, idle.cells[0], step_of(idle)) == (False, "no traffic", UNUSED)
    (sentence,) = found.verdict()
    assert sentence.startswith("Under CUBIC, 1 of 1 link with traffic hurt when they fail; worst is r0 – r1")
    assert sentence.endswith(" 2 more carry no traffic.")
    assert [row["unused"] for row in found.to_json()["harms"]].count(True) == 2
    assert "carries no traffic" in html(found)


def test_what_is_not_told_apart_says_how_large_an_effect_could_be():
    wide, narrow = harm(0.9, 1.2, 1.0), harm(0.9999, 1.0002, 1.0001)
    assert wide.most == pytest.approx(wide.afct.interval[1] - 1)
    # The interval of ±0.0004: what a thousand seeds more would find, nobody would miss.
    assert narrow.seeds_wanted is None or narrow.seeds_wanted > 10
    assert _unknown([narrow]) == " 1 has no effect worth finding above 0.0446\N{NO-BREAK SPACE}%."
    text = _unknown([narrow, wide, harm(0.9, 0.91, 0.9)])
    assert text.startswith(" 1 does not, and 2 have no effect worth finding above 41.3\N{NO-BREAK SPACE}%. About ")
    assert text.endswith(f" {wide.seeds_wanted} seeds would decide.")
