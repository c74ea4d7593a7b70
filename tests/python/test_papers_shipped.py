"""The claims that ship: whole, runnable, and as their papers' RESULTS.md says."""

import math
import resource

import pytest

from midpath import Scenario
from midpath.papers import figures, record, run_figure
from midpath.papers.registry import Says, choose, groups
from midpath.schemes import described, shipped

# Of the four papers, and of newer schemes.
FIGURES = [figure for group in groups().values() for figure in group]
IDS = [figure.id for figure in FIGURES]
NEWER = {figure.id for figure in choose("schemes")}
SCENARIOS = [pytest.param(file, id=f"{figure.id}/{file.name}") for figure in FIGURES for file in figure.scenarios()]
# What all quick runs together may take of processors, whatever else these have to do. It tells a quick run from a full
# one; speed is measured elsewhere.
PATIENCE_S = 300


def test_papers_are_there():
    assert {figure.paper for figure in figures()} == {"fcp", "inrpp", "mircc", "rpm"}
    assert choose("all") == figures()
    assert {figure.paper for figure in choose("schemes")} <= {*shipped(), "queues"}
    assert len({figure.id for figure in FIGURES}) == len(FIGURES)


@pytest.mark.parametrize("figure", FIGURES, ids=IDS)
def test_claims_say_where_and_why(figure):
    assert figure.notes
    for claim in figure.claims:
        assert claim.source.startswith("§") or figure.id in NEWER
        assert len(claim.why) > 10
        assert claim.tolerance.text(claim.kind)
        # What is claimed to be a number is one that the tolerance is about.
        assert claim.number is None or math.isfinite(claim.number)


@pytest.mark.parametrize("file", SCENARIOS)
def test_scenarios_can_be_run_alone(file):
    scenario = Scenario.from_toml(file)
    scenario.check()
    assert scenario.to_dict()["title"]
    assert file.read_text(encoding="utf-8").startswith("# ")


# Their stacks find losses by time; FCP's own senders have what its users get, and BFC's lose nothing.
RACK = {"bbr", "prague"}
OWN = {"fcp", "bfc"}


@pytest.mark.parametrize("file", [one for one in SCENARIOS if one.id.partition("/")[0] not in RACK])
def test_senders_find_losses_as_they_did_then(file):
    """Of all schemes that a scenario names and that have the choice."""
    values = Scenario.from_toml(file).to_dict()
    tables = values.get("schemes", {})
    names = {values["scheme"], *tables, *(one["scheme"] for one in values.get("flow", []) if "scheme" in one)} - OWN
    senders = [name for name in names if "loss_detection" in described(name).parameters]
    assert {name: tables.get(name, {}).get("loss_detection") for name in senders} == dict.fromkeys(senders, "rfc6675")


@pytest.fixture(scope="module")
def quick():
    """Every figure run quickly, once."""
    begin = cpu_s()
    verdicts = {figure.id: run_figure(figure, quick=True) for figure in FIGURES}
    return verdicts, cpu_s() - begin


def cpu_s() -> float:
    """CPU time of this process, and of those that it has started and that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


@pytest.mark.nightly("python/midpath/papers/")
@pytest.mark.parametrize("figure", FIGURES, ids=IDS)
def test_every_claim_is_measured(figure, quick):
    verdicts, _ = quick
    assert [verdict.claim.id for verdict in verdicts[figure.id]] == [claim.id for claim in figure.claims]
    found = [found for found in verdicts[figure.id] if not found.skipped]
    unmeasured = [f"{found.claim.id}: {found.why}" for found in found if found.ours is None]
    assert unmeasured == []


# A quick run's first seed of these is the same run as the recorded one's.
SAME = [figure for figure in FIGURES if figure.seeds == 1 or figure.perturb]


@pytest.mark.nightly("python/midpath/papers/")
@pytest.mark.parametrize("figure", SAME, ids=lambda figure: figure.id)
def test_what_is_not_random_is_as_recorded(figure, quick):
    """RESULTS.md must still be true of these, within what small changes move."""
    verdicts, _ = quick
    kept = record.stored(figure)["claims"]
    for found in verdicts[figure.id]:
        if found.skipped:
            continue
        if figure.seeds == 1:
            assert found.judgement == kept[found.claim.id]["verdict"], found.claim.id
        # Far below what a claim allows at most, a figure is an error of rounding.
        nothing = 0.01 * (found.claim.tolerance.at_most or 0)
        recorded = exact(kept[found.claim.id]["values"])
        assert exact(found.values) == pytest.approx(recorded, rel=0.05, abs=nothing), found.claim.id


def exact(values):
    """The first sample, or the first of each group: nothing is perturbed in it."""
    return {name: of[0] for name, of in values.items()} if isinstance(values, dict) else values[0]


@pytest.mark.parametrize("figure", FIGURES, ids=IDS)
def test_what_is_run_has_an_interval(figure):
    """One run says nothing of chance. Where nothing is run, there is nothing that packets could contradict."""
    if figure.seeds == 1:
        assert not figure.scenarios()
        assert {claim.says for claim in figure.claims} <= {Says.THEORY, Says.INFORMATION}
    for found in record.verdicts(figure):
        if found.judgement == "holds" and found.claim.says is not Says.THEORY:
            assert found.ours.is_whole, found.claim.id
            assert found.ours.ci95 is not None, found.claim.id


@pytest.mark.parametrize("figure", FIGURES, ids=IDS)
def test_what_does_not_hold_says_why(figure):
    for found in record.verdicts(figure):
        if found.fails:
            assert found.claim.differs, found.claim.id
        if found.judgement == "holds":
            assert not found.claim.differs, found.claim.id


@pytest.mark.nightly("python/midpath/papers/")
def test_quick_is_quick(quick):
    assert quick[1] < PATIENCE_S


@pytest.mark.parametrize("paper", sorted({figure.paper for figure in FIGURES}))
def test_results_are_what_is_kept(paper):
    listed = choose(paper)
    page = listed[0].directory.parent / record.PAGE
    assert page.read_text(encoding="utf-8") == record.page(listed)
    assert "not run yet" not in page.read_text(encoding="utf-8").lower()
