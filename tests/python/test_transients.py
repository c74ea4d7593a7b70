"""A sample of evidence/properties/transients: held to the same bounds as all of them."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

import midpath
import script

RUNS = pytest.mark.nightly("evidence/properties/transients/", "crates/schemes/", "crates/core/", "crates/sim/src/node/")

FOLDER = Path(__file__).parents[2] / "evidence/properties" / "transients"
# Schemes that keep all bounds in these scenarios; RESULTS.md says who does not, and where.
SAMPLE = (
    ("changes", 1, ("newreno", "cubic", "dctcp", "xcp", "mircc")),
    ("changes", 4, ("rcp", "fcp", "hpcc")),
    ("changes", 11, ("mptcp", "mircc", "rcp")),
    # The worst once: FCP offered 4.5 and 3.6 times the bound in 80 and 69.
    ("changes", 80, ("fcp",)),
    ("changes", 69, ("fcp",)),
    ("crowds", 3, ("newreno", "dctcp", "xcp", "inrpp")),
    ("lossy", 6501, ("mircc", "ndn")),
)


@pytest.fixture(scope="module")
def suite():
    """The module."""
    return script.suite("transients.suite")


@RUNS
@pytest.mark.parametrize(("of", "number", "schemes"), SAMPLE)
def test_a_sample_keeps_its_bounds(suite, of, number, schemes):
    scene = suite.CLASSES[of](number)
    base = suite.SUITE.played(of, number, suite.BASE)
    for scheme in schemes:
        found = suite.SUITE.played(of, number, scheme)
        assert suite.SUITE.failures(scene, found, base) == {}, f"{scheme}: {found}"
        assert found.offered > 0.01, "something is offered, and the bound is not out of sight"


def test_what_breaks_a_bound_is_found(suite):
    scene, crowd = suite.CLASSES["changes"](1), suite.CLASSES["crowds"](1)
    failures = suite.SUITE.failures
    good = suite.Found(loss=0.02, offered=0.5, filled=0.9, late=0.01)
    bad = suite.Found(loss=0.04, offered=3.0, filled=0.1, late=0.05, starved=0.1)
    assert failures(scene, good, good) == {}
    assert set(failures(scene, bad, good)) == {"loss", "offered", "idle", "late loss"}
    assert set(failures(crowd, bad, good)) == {"loss", "offered", "idle", "late loss", "starved"}
    assert set(failures(scene, suite.Found(filled=float("nan")), good)) == {"idle"}


def test_crowds_fill_the_core_or_as_much_as_newreno_where_shares_are_below_a_packet_a_second(suite):
    scenes = [suite.CLASSES["crowds"](number) for number in range(1, 201)]
    ample = next(scene for scene in scenes if scene.share > 1)
    scarce = replace(ample, rates=[ample.rate / ample.share / 2])
    assert scarce.share == pytest.approx(0.5)
    base, found = suite.Found(filled=0.6, late=0.3), suite.Found(filled=0.595, late=0.305)
    assert set(suite.SUITE.failures(ample, found, base)) == {"idle"}
    assert suite.SUITE.failures(scarce, found, base) == {}
    assert set(suite.SUITE.failures(scarce, suite.Found(filled=0.58, late=0.32), base)) == {"idle", "late loss"}


def test_scenarios_follow_from_their_numbers_and_have_what_they_say(suite):
    scenes = [suite.CLASSES["changes"](number) for number in range(1, 201)]
    assert scenes == [suite.CLASSES["changes"](number) for number in range(1, 201)]
    texts = [scene.toml("newreno") for scene in scenes]
    for kind in ("link-down", "rate", "restart"):
        assert 20 < sum(f'kind = "{kind}"' in text for text in texts) < 100, kind
    assert any(flow.stop for flow in scenes[0].flows) or any(flow.size for flow in scenes[0].flows)
    trips = [(scene.longest, 2 * (scene.delay + 0.2) / 1e3) for scene in scenes]
    assert max(longest / least for longest, least in trips) > 50
    crowds = [len(s.flows) > s.rate * 1e6 / 8 * 2 * s.delay / 1e3 / 1500 for s in scenes]
    assert sum(crowds) > 20
    for scene in scenes[:3]:
        result = midpath.run(scene.toml("xcp"))
        assert result.summary["flows"] == len(scene.flows)
        assert result.run["simulated_s"] == scene.stop


def test_crowds_are_as_many_and_as_scarce_as_they_say(suite):
    scenes = [suite.CLASSES["crowds"](number) for number in range(1, 201)]
    assert scenes == [suite.CLASSES["crowds"](number) for number in range(1, 201)]
    scarce = [scene.share * scene.longest < 1 for scene in scenes]
    assert 50 < sum(scarce) < 150, "shares below a packet in a round trip"
    assert sum(len(scene.flows) > 100 for scene in scenes) > 20
    joins = [sum(flow.start == scene.flows[-1].start for flow in scene.flows) for scene in scenes]
    assert sum(joins) > 200, "all at once"
    assert any(scene.hosts for scene in scenes)
    for kind in ("link-down", "restart"):
        assert 10 < sum(f'kind = "{kind}"' in fault for scene in scenes for fault in scene.faults) < 80, kind


def test_a_lossy_core_loses_what_it_says(suite):
    scenes = [suite.CLASSES["lossy"](number) for number in range(1, 201)]
    assert scenes == [suite.CLASSES["lossy"](number) for number in range(1, 201)]
    for there, back in ((True, False), (False, True), (True, True)):
        assert sum((scene.lost[0] > 0, scene.lost[1] > 0) == (there, back) for scene in scenes) > 40
    trips = [[2 * (scene.delay + flow.delay + scene.far) for flow in scene.flows] for scene in scenes]
    assert max(max(each) / min(each) for each in trips) > 500
    scene = next(scene for scene in scenes if scene.lost[0] > 0.01 and not scene.lost[1] and not scene.faults)
    ports = midpath.run(scene.toml("mircc")).ports.to_pandas().set_index(["node", "peer"])
    core, back = ports.loc[("r0", "r1")], ports.loc[("r1", "r0")]
    assert core.corrupted / core.packets == pytest.approx(scene.lost[0], rel=0.3)
    assert back.corrupted == 0


@pytest.mark.parametrize(("of", "number"), [("changes", 1), ("crowds", 3)])
def test_ports_of_all_schemes_have_the_same_memory(suite, of, number):
    scene = suite.CLASSES[of](number)
    bytes_in_all = scene.queue / 1e3 * scene.rate * 1e6 / 8
    for scheme in suite.SCHEMES:
        rows = [row for row in midpath.run(scene.toml(scheme, 0.1)).run["equipment"] if row["at"] == "routers"]
        has = min(row["queue_bytes"][0] + (row["store_bytes"] or [0])[0] for row in rows)
        assert has == pytest.approx(bytes_in_all, rel=0.01), scheme


def test_fabrics_transports_run_in_racks_with_the_same_memory(suite):
    scene = suite.CLASSES["racks"](90001)
    elsewhere = [s for s in suite.FABRICS if suite.text(suite.CLASSES["changes"](1), s, "") is not None]
    assert elsewhere == ["falcon"]
    bytes_in_all = scene.queue / 1e3 * scene.rate * 1e6 / 8
    for scheme in suite.FABRICS:
        text = suite.text(scene, scheme, "", 0.1)
        rows = [row for row in midpath.run(text).run["equipment"] if row["at"] == "routers"]
        has = min(row["queue_bytes"][0] for row in rows)
        share = float(re.search(r'^limit = "([\d.]+) ms"', text, re.MULTILINE)[1]) / scene.queue
        headers = re.search(r'^header_limit = "([\d.]+) ms"', text, re.MULTILINE)
        share += float(headers[1]) / scene.queue if headers else 0.0
        assert share == pytest.approx(1.0) and has == pytest.approx(bytes_in_all * (0.9 if headers else 1.0), rel=0.01)


def test_the_page_of_fabrics_transports_has_their_classes(suite):
    page = (FOLDER / "FABRICS.md").read_text(encoding="utf-8")
    found = set(re.findall(r"^## (\w+)$|^\| (\w+) \| \d+ of 15 \|", page, re.MULTILINE))
    assert {name for name, _ in found if name} == {name.capitalize() for name in suite.CLASSES}
    assert {scheme for _, scheme in found if scheme} == {suite.BASE, *suite.FABRICS}


BALANCED = (("leaf-spine", 3), ("others", 5))


@RUNS
@pytest.mark.parametrize(("family", "number"), BALANCED)
def test_balancers_keep_their_bounds_while_things_change(family, number):
    balancers = script.suite("transients.balancers")
    suite, scene = balancers.SUITE, balancers.draw(family, number)
    base = suite.played(family, number, balancers.FLOW)
    for ecmp in balancers.ECMP:
        assert suite.failures(scene, suite.played(family, number, ecmp), base) == {}, ecmp


def test_what_a_balancer_may_not_do_is_found():
    balancers = script.suite("transients.balancers")
    scenes = [balancers.draw(family, number) for family in balancers.SUITE.families for number in range(1, 101)]
    for of, drawn in (("event", balancers.EVENTS), ("traffic", balancers.TRAFFIC), ("transport", balancers.TRANSPORTS)):
        assert all(sum(getattr(scene, of) == one for scene in scenes) > 20 for one in drawn), of
    base = balancers.Found(last=4.0, again=0.05, lost=0.01, unended=0, wrong=0, uneven=1.0)
    assert balancers.SUITE.failures(scenes[0], replace(base, last=7.9, again=0.24, uneven=1.2), base) == {}
    bad = replace(base, last=8.1, again=0.26, unended=1, wrong=1, uneven=1.3)
    assert set(balancers.SUITE.failures(scenes[0], bad, base)) == {"unended", "wrong", "slower", "again", "uneven"}


def test_the_page_counts_every_balancer_in_every_scene():
    balancers = script.suite("transients.balancers")
    page = (FOLDER / "BALANCERS.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w-]+) \| (\w+) \| (\d+) of (\d+) \|", page, re.MULTILINE)
    assert [row[:2] for row in rows] == [(of, ecmp) for of in balancers.SUITE.families for ecmp in balancers.ECMP]
    assert {row[3] for row in rows} == {"100"}
    misses = re.findall(r"^- \d+: ", page, re.MULTILINE)
    assert len(misses) == sum(int(row[3]) - int(row[2]) for row in rows)


def test_the_page_counts_every_scheme_in_every_scenario_of_every_class(suite):
    page = (FOLDER / "RESULTS.md").read_text(encoding="utf-8")
    first, last = map(int, re.search(r"^Midpath [^,]+, scenarios (\d+) to (\d+) of", page, re.MULTILINE).groups())
    classes = {}
    for name in suite.CLASSES:
        part = re.search(rf"^## {name.capitalize()}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL).group(1)
        # Before, with what was gained and lost, then now.
        row = r"^\| ([\w+]+) \| \**\d+ of (\d+); \d+, \d+\** \| \d+ of (\d+) \|"
        classes[name] = {scheme: {int(then), int(now)} for scheme, then, now in re.findall(row, part, re.MULTILINE)}
    whole = {scheme: {last - first + 1} for scheme in suite.SCHEMES}
    assert all(counted == whole for counted in classes.values()), classes
    assert len(classes) * (last - first + 1) >= 1000


@RUNS
@pytest.mark.parametrize(("family", "number"), [("one", 9001), ("several", 9002)])
def test_bbr_comes_down_after_a_rate_has_fallen(family, number):
    falls = script.suite("transients.falls").SUITE
    missed = [falls.failures(falls.draw(family, number), falls.played(family, number, on)) for on in ("true", "false")]
    assert [bool(one) for one in missed] == [False, True], "these are draws that it takes"


@RUNS
@pytest.mark.parametrize("scheme", ["newreno", "cubic", "prague", "bbr", "mptcp", "cubic+rpm", "swift", "rcp"])
def test_reordering_without_loss_costs_little(scheme):
    reordered = script.suite("transients.reordered")
    for (reach, least), family in zip(reordered.LEAST.items(), reordered.FAMILIES, strict=True):
        found = reordered.SUITE.played(f"{family}, {reach}", 201, scheme)
        assert found.after >= least * found.before, (family, reach)


@RUNS
def test_reordering_ruins_what_counts_duplicates():
    """These are draws that it takes."""
    reordered = script.suite("transients.reordered")
    scenario = reordered.text("line", "quarter", 201)
    head, network = scenario.split("[topology]", 1)
    counts = f'{head}[schemes.cubic]\nloss_detection = "rfc6675"\n[topology]{network}'
    runs = [reordered.others(counts, "cubic", order, reordered.SEEDS) for order in ("false", "true")]
    in_order, out_of_order = (reordered.delivered(*some) for some in runs)
    assert out_of_order < reordered.LEAST["quarter"] * in_order


@RUNS
@pytest.mark.parametrize("family", ["steps", "chain"])
def test_rpm_tells_no_signals_of_a_queue_that_has_gone(family):
    falls = script.suite("rpm.falls").SUITE
    numbers = range(2001, 2004)
    assert not any(falls.played(family, number, "guarded").over > 0 for number in numbers)
    plain = [falls.played(family, number, "plain").over for number in numbers]
    assert any(over > 0 for over in plain), "these are draws that it takes"


def sprayed_row(scheme):
    """Its cells on the page."""
    page = (FOLDER / "SPRAYED.md").read_text(encoding="utf-8")
    return re.search(rf"^\| {re.escape(scheme)} \| (.+) \|$", page, re.MULTILINE)[1].split(" | ")


def sprayed_holds(scheme):
    """Its first scene, played again: the bounds, and what the page says."""
    suite = script.suite("transients.sprayed").SUITE
    found = suite.played("", 1, scheme)
    assert suite.failures(suite.draw("", 1), found) == {}, found
    told = [f"{found.by_flow:.1f}", f"{found.by_packet:.1f}", f"{found.again:.1%}", f"{found.lost:.1%}"]
    assert sprayed_row(scheme)[:4] == told


@pytest.mark.parametrize("scheme", ["dctcp", "prague"])
def test_a_path_for_each_packet_does_what_the_page_says(scheme):
    """Prague paces: where an undo left its next packet to a pace that was over, it took 61.7 ms."""
    sprayed_holds(scheme)


@RUNS
def test_a_path_for_each_packet_does_to_every_sender_what_the_page_says():
    for scheme in script.suite("transients.sprayed").SCHEMES:
        sprayed_holds(scheme)


def test_a_sender_that_falls_when_its_packets_are_sprayed_misses_a_bound():
    sprayed = script.suite("transients.sprayed")
    good = sprayed.Found(by_flow=12.0, by_packet=7.0, again=0.05, lost=0.0, unended=0, scheme="cubic")
    failures = sprayed.SUITE.failures
    assert failures(sprayed.draw("", 2), good) == {}
    assert set(failures(sprayed.draw("", 2), replace(good, by_packet=14.0, again=0.3))) == {"slower", "again"}
    assert failures(sprayed.draw("", 2), replace(good, by_packet=60.0, scheme="hpcc")) == {}
    assert set(failures(sprayed.draw("", 2), replace(good, by_packet=float("nan"), unended=2))) == {"unended", "slower"}
