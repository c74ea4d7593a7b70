"""The harness of `midpath paper`, on a paper made up for it: TCP NewReno through one bottleneck."""

import json
import textwrap

import pytest

import midpath
from midpath.errors import ScenarioError, UsageError
from midpath.papers import figures, record, run_figure
from midpath.papers.registry import choose
from midpath.papers.tolerance import Tolerance

SCENARIO = """title = "made up"
scheme = "newreno"
stop = "3 s"

[topology]
generate = "dumbbell"
pairs = 1
bottleneck = { rate = "10 Mbps", delay = "5 ms" }
access = { rate = "100 Mbps", delay = "1 ms" }

[[workload]]
arrivals = { kind = "poisson", rate_per_s = 20.0 }
sizes = { kind = "fixed", size = "20 kB" }
matrix = { kind = "pairs", pairs = [["s0", "d0"]] }
"""
MEASURE = """
from midpath.papers.lab import Measured

def measure(lab):
    runs = lab.runs("short")
    other = lab.runs("short", scheme="cubic", changes={"topology.bottleneck.rate": "20 Mbps"}, label="fast")
    yield Measured("afct", runs.summary("afct_s"), bound=0.03)
    yield Measured("wrong", runs.summary("afct_s"))
    yield Measured("faster", other.summary("afct_s"))
    yield Measured("nothing", [None for _ in runs])
"""
# The same without what only some tests want to see fail.
TWO = MEASURE.replace('    yield Measured("nothing"', "    #").replace('    yield Measured("wrong"', "    #")
ONE = TWO.replace('    yield Measured("faster"', "    #")
CLAIMS = """title = "Made up"
source = "§1, figure 1"
seeds = 3
notes = "The rate is ours."

[[claim]]
id = "afct"
claim = "Mean completion time"
paper = 0.04
kind = "seconds"
tolerance = { relative = 0.5 }
why = "a wide one"

[[claim]]
id = "wrong"
claim = "Mean completion time, wrongly"
paper = 4.0
kind = "seconds"
tolerance = { relative = 0.1 }
why = "a narrow one"
differs = "the paper was made up"

[[claim]]
id = "faster"
source = "§2"
claim = "A faster link is faster"
paper = "faster"
kind = "seconds"
tolerance = { at_most = 0.05, at_least = 0.01 }
why = "a shape"

[[claim]]
id = "nothing"
claim = "Nothing"
paper = 1.0
kind = "count"
tolerance = { absolute = 1.0 }
why = "there is nothing"

[[claim]]
id = "forgotten"
claim = "Not measured"
paper = 1.0
kind = "count"
tolerance = { absolute = 1.0 }
why = "measure.py has forgotten it"
"""


@pytest.fixture
def papers(tmp_path):
    """A folder of papers with one figure; called with other texts, it replaces them."""

    def write(claims=CLAIMS, measure=MEASURE, scenario=SCENARIO, name="tiny/figure1"):
        folder = tmp_path / "papers" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "claim.toml").write_text(claims)
        (folder / "measure.py").write_text(measure)
        (folder / "short.toml").write_text(scenario)
        return tmp_path / "papers"

    return write


def only(claims, *ids):
    """Claims without those that are not named."""
    head, *tables = claims.split("[[claim]]\n")
    return head + "".join("[[claim]]\n" + table for table in tables if table.split('"')[1] in ids)


def test_figures_are_in_order_of_their_numbers(papers):
    for number in (10, 9, 1):
        root = papers(name=f"tiny/figure{number}")
    papers(name="other/table1")
    assert [figure.id for figure in figures(root)] == ["other/table1", "tiny/figure1", "tiny/figure9", "tiny/figure10"]
    assert [figure.id for figure in choose("tiny", root)] == ["tiny/figure1", "tiny/figure9", "tiny/figure10"]
    assert [figure.id for figure in choose("tiny/figure1", root)] == ["tiny/figure1"]
    assert len(choose("all", root)) == 4
    with pytest.raises(UsageError, match=r"figure2.*there are: all, other, tiny, other/table1"):
        choose("tiny/figure2", root)


def test_verdicts(papers):
    (figure,) = figures(papers())
    found = {verdict.claim.id: verdict for verdict in run_figure(figure)}
    assert list(found) == ["afct", "wrong", "faster", "nothing", "forgotten"]
    assert {name: str(verdict.judgement) for name, verdict in found.items()} == {
        "afct": "holds",
        "wrong": "does not hold",
        "faster": "holds",
        "nothing": "does not hold",
        "forgotten": "does not hold",
    }
    # Three seeds, so there is an interval; and it is that of the runs themselves.
    runs = [midpath.run(figure.directory / "short.toml", seed=seed).summary["afct_s"] for seed in (1, 2, 3)]
    ours = found["afct"].ours
    assert ours.n == 3
    assert ours.mean == pytest.approx(sum(runs) / 3)
    assert 0 < ours.ci95 < ours.mean
    assert (found["afct"].bound, found["faster"].claim.source) == (0.03, "§2")
    assert found["afct"].why == "within 50 % of the paper: a wide one"
    assert found["wrong"].why == "the paper was made up"
    assert found["nothing"].why == "the runs gave no value"
    assert found["forgotten"].why == "no measurement"


def test_seeds(papers):
    (figure,) = figures(papers())
    assert run_figure(figure, seeds=1)[0].ours.ci95 is None
    assert run_figure(figure, quick=True)[0].ours.n == 2
    # Where nothing is run, more seeds would be the same again.
    (figure,) = figures(papers(CLAIMS.replace("seeds = 3", "seeds = 1")))
    assert run_figure(figure, seeds=5)[0].ours.n == 1


def test_a_run_that_fails_fails_its_claims_only(papers):
    (figure,) = figures(papers(scenario=SCENARIO.replace('scheme = "newreno"', 'scheme = "newrno"')))
    (verdict, *_) = run_figure(figure)
    assert verdict.fails
    assert "newrno" in verdict.why


NEEDY = """
from midpath.papers.lab import Measured, MissingDataError

def measure(lab):
    yield Measured("afct", lab.runs("short").summary("afct_s"))
    yield Measured("faster", [float(len(lab.rocketfuel("1.cch", "2.cch").read_bytes())) for _ in lab.seeds])
"""


def test_claims_without_their_data_are_skipped(cli, papers, tmp_path, monkeypatch):
    monkeypatch.delenv("MIDPATH_ROCKETFUEL", raising=False)
    root = papers(only(CLAIMS, "afct", "faster").replace("at_most = 0.05, at_least = 0.01", "at_most = 5"), NEEDY)
    answer = cli("paper", "run", "tiny", "--claims", root, "--write-results")
    assert answer.code == 0
    assert "1 claim was skipped: needs Rocketfuel's 1.cch: give its folder as --rocketfuel DIR" in answer.out
    assert "1 of 2 claims of the paper hold, 1 skipped" in answer.out
    assert "| skipped |" in (root / "tiny" / "RESULTS.md").read_text()
    assert json.loads(cli("paper", "run", "tiny", "--claims", root, "--json").out)[1]["holds"] is None

    maps = tmp_path / "maps"
    maps.mkdir()
    empty = cli("paper", "run", "tiny", "--claims", root, "--seeds", 1, "--rocketfuel", maps)
    assert "there is no 1.cch or 2.cch in the folder" in empty.out
    (maps / "2.cch").write_text("abc")
    assert cli("paper", "run", "tiny", "--claims", root, "--rocketfuel", maps, "--write-results").code == 0
    kept = (root / "tiny" / "RESULTS.md").read_text()
    # What has once been measured is kept when its data are away.
    monkeypatch.setenv("MIDPATH_ROCKETFUEL", str(tmp_path / "nowhere"))
    assert cli("paper", "run", "tiny", "--claims", root, "--write-results").code == 0
    assert (root / "tiny" / "RESULTS.md").read_text() == kept
    assert "skipped" not in kept.replace("| not decidable here | skipped |", "")


def test_what_is_measured_must_be_claimed(papers):
    (figure,) = figures(papers(only(CLAIMS, "afct")))
    with pytest.raises(UsageError, match="measures faster, nothing, wrong"):
        run_figure(figure, seeds=1)


def test_cli(cli, papers, tmp_path):
    root = papers(only(CLAIMS, "afct", "faster", "wrong"), MEASURE.replace('    yield Measured("nothing"', "    #"))
    answer = cli("paper", "run", "tiny", "--claims", root, "--out", tmp_path / "out", "--json")
    assert (answer.code, answer.err) == (1, "")
    found = json.loads(answer.out)
    keys = {"id", "source", "claim", "paper", "ours", "ci95", "bound", "verdict", "holds", "fixed", "says", "why"}
    assert all(keys <= record.keys() for record in found)
    assert [record["id"] for record in found] == [f"tiny/figure1/{name}" for name in ("afct", "wrong", "faster")]
    assert found == json.loads((tmp_path / "out" / "paper.json").read_text())
    kept = tmp_path / "out" / "tiny" / "figure1"
    assert sorted(path.name for path in kept.iterdir()) == sorted(
        [f"short-{seed}" for seed in (1, 2, 3)] + [f"short-fast-cubic-{seed}" for seed in (1, 2, 3)]
    )
    result = midpath.load(kept / "short-fast-cubic-2")
    assert (result.scheme, result.seed) == ("cubic", 2)
    assert cli("report", kept / "short-fast-cubic-2").code == 0
    # What is kept may be replaced by what is kept, and by nothing else.
    assert cli("paper", "run", "tiny", "--claims", root, "--out", tmp_path / "out", "--seeds", 1).code == 1
    assert cli("paper", "run", "tiny", "--claims", root, "--out", root).code == 2

    text = cli("paper", "run", "tiny/figure1", "--claims", root, "--seeds", 1)
    assert text.code == 1
    for words in (
        "afct",
        "at least 10 ms, at most 50 ms",
        "40.0\N{NO-BREAK SPACE}ms",
        "wrong does not hold: the paper was made up",
        "0 of 3 claims of the paper hold, 2 undecided",
    ):
        assert words in text.out


def test_exit_codes(cli, papers):
    root = papers(only(CLAIMS, "afct"), ONE)
    assert cli("paper", "run", "all", "--claims", root, "--quick").code == 0
    assert cli("paper", "run", "tiny/figure7", "--claims", root).code == 2
    assert cli("paper", "run", "all", "--claims", root / "tiny").code == 2
    assert cli("paper", "run", "all", "--claims", root, "--quick", "--write-results").code == 2


def test_list(cli, papers):
    root = papers()
    assert cli("paper", "list", "--claims", root).out == "tiny/figure1      Made up (5 claims)\n"
    (figure,) = json.loads(cli("paper", "list", "--claims", root, "--json").out)
    assert figure["claims"][0]["tolerance"] == {"relative": 0.5}


def test_results_are_kept_as_text(cli, papers):
    root = papers(only(CLAIMS, "afct", "faster"), TWO)
    papers(name="tiny/figure2")
    assert cli("paper", "run", "tiny/figure1", "--claims", root, "--write-results").code == 0
    page = (root / "tiny" / "RESULTS.md").read_text()
    assert f"Midpath {midpath.__version__}, 3 seeds." in page
    assert "| Mean completion time | number | 40.0\N{NO-BREAK SPACE}ms | " in page
    assert "The rate is ours." in page
    assert page.count("Not run yet.") == 1
    # The page is made from what is kept: nothing in it comes from elsewhere.
    assert page == record.page(choose("tiny", root))


BROKEN = {
    "unknown key": ("notes", "note", "note"),
    "unknown key of a claim": ('kind = "seconds"', 'kindd = "seconds"', "claim[0].kindd"),
    "no reason": ('why = "a wide one"\n', "", "claim[0].why"),
    "an empty reason": ('why = "a wide one"', 'why = ""', "claim[0].why"),
    "no tolerance": ("tolerance = { relative = 0.5 }\n", "", "claim[0].tolerance"),
    "an empty tolerance": ("{ relative = 0.5 }", "{}", "claim[0].tolerance"),
    "a tolerance of nothing": ("{ relative = 0.5 }", "{ relative = 0 }", "claim[0].tolerance.relative"),
    "a tolerance without a number": ("paper = 0.04", 'paper = "short"', "claim[0].tolerance"),
    "an unknown kind": ('kind = "seconds"', 'kind = "second"', "claim[0].kind"),
    "an unknown speaker": ('kind = "seconds"', 'kind = "seconds"\nsays = "they"', "claim[0].says"),
    "no number": ('paper = "faster"', 'paper = "faster"\nsays = "number"', "claim[2].says"),
    "fixed": ("seeds = 3", 'seeds = 3\nfixed = "yes"', "fixed"),
    "twice": ('id = "wrong"', 'id = "afct"', "claim[1].id"),
    "seeds": ("seeds = 3", "seeds = 0", "seeds"),
    "perturb": ("seeds = 3", "seeds = 3\nperturb = 5", "perturb"),
    "effect": ('kind = "seconds"', 'kind = "seconds"\neffect = 0', "claim[0].effect"),
    "no claim": (CLAIMS[CLAIMS.index("[[claim]]") :], "", "claim"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_claims_are_checked(cli, papers, name):
    old, new, key = BROKEN[name]
    root = papers(CLAIMS.replace(old, new, 1))
    with pytest.raises(ScenarioError) as caught:
        figures(root)
    assert caught.value.key == key
    answer = cli("paper", "list", "--claims", root)
    assert answer.code == 2
    assert "figure1/claim.toml" in answer.err


@pytest.mark.parametrize(
    ("limits", "ours", "paper", "bound", "holds"),
    [
        ({"relative": 0.1}, 1.09, 1.0, None, True),
        ({"relative": 0.1}, 1.11, 1.0, None, False),
        ({"relative": 0.1}, -1.05, -1.0, None, True),
        ({"absolute": 0.2}, 0.8, 1.0, None, True),
        ({"absolute": 0.2}, 0.79, 1.0, None, False),
        ({"of_bound": 0.02}, 0.99, None, 1.0, True),
        ({"of_bound": 0.02}, 0.99, None, None, False),
        ({"at_least": 1.0}, 1.0, None, None, True),
        ({"at_most": 1.0}, 1.01, None, None, False),
        ({"at_least": 1.0, "at_most": 2.0}, 2.5, None, None, False),
        ({"relative": 0.5, "at_most": 1.2}, 1.3, 1.0, None, False),
        ({"at_most": 1.0}, float("nan"), None, None, False),
    ],
)
def test_tolerances(limits, ours, paper, bound, holds):
    tolerance = Tolerance.read(limits, "tolerance")
    assert tolerance.allows(ours, paper, bound) is holds
    assert tolerance.text("seconds")


SPREAD = """
from midpath.papers.lab import Measured

def measure(lab):
    yield Measured("afct", [0.05 + 0.001 * seed for seed in lab.seeds])
"""


@pytest.mark.parametrize(
    ("limit", "said"), [(0.06, "holds"), (0.0545, "undecided"), (0.0515, "undecided"), (0.04, "does not hold")]
)
def test_a_verdict_looks_at_the_interval(papers, limit, said):
    """Five seeds: 53 ms, and an interval of 2 ms to either side."""
    claims = only(CLAIMS, "afct").replace("relative = 0.5", f"at_most = {limit}")
    (figure,) = figures(papers(claims, SPREAD))
    (verdict,) = run_figure(figure, seeds=5)
    assert verdict.ours.mean == pytest.approx(0.053)
    assert verdict.ours.ci95 == pytest.approx(0.001963, rel=0.001)
    assert (verdict.judgement, verdict.within) == (said, limit > 0.053)
    assert verdict.fails == (said == "does not hold")
    assert verdict.to_json()["holds"] == {"holds": True, "does not hold": False}.get(said)
    assert {"undecided": "Undecided whether at most", "holds": "at most"}.get(said, "not at") in verdict.why


def test_seeds_can_begin_elsewhere(cli, papers):
    root = papers(only(CLAIMS, "afct"), SPREAD)
    found = json.loads(cli("paper", "run", "tiny", "--claims", root, "--first-seed", 11, "--json").out)
    assert found[0]["ours"] == pytest.approx(0.062)


def test_what_is_ours_is_counted_apart(cli, papers):
    """A headline of the paper's claims; what nobody judges cannot fail."""
    head, afct, wrong, faster = only(CLAIMS, "afct", "wrong", "faster").split("[[claim]]\n")
    wrong += 'says = "information"\n'
    faster += 'says = "ours"\nfixed = false\n'
    root = papers("[[claim]]\n".join([head, afct, wrong, faster]), MEASURE.replace('    yield Measured("nothing"', "#"))
    answer = cli("paper", "run", "tiny", "--claims", root, "--write-results")
    assert answer.code == 0
    assert "1 of 1 claims of the paper hold\n" in answer.out
    page = (root / "tiny" / "RESULTS.md").read_text()
    assert "| paper: number | 1 | 1 | 0 | 0 | 0 | 0 |" in page
    assert "| ours | 1 | 1 | 0 | 0 | 0 | 0 |" in page
    assert "| information | 1 | – | – | – | – | – |" in page
    assert "at least 10 ms, at most 50 ms* |" in page
    found = {one["id"]: one for one in json.loads(cli("paper", "run", "tiny", "--claims", root, "--json").out)}
    assert found["tiny/figure1/wrong"]["verdict"] == "information"
    assert found["tiny/figure1/wrong"]["holds"] is None
    assert found["tiny/figure1/afct"]["fixed"] is True
    assert found["tiny/figure1/faster"]["says"] == "ours"


def test_progress_names_what_runs(papers):
    (figure,) = figures(papers(only(CLAIMS, "afct"), ONE))
    asked, ended = [], []
    run_figure(figure, seeds=2, on_asked=asked.append, on_end=ended.append)
    assert asked == ["short-1", "short-2", "short-fast-cubic-1", "short-fast-cubic-2"]
    assert sorted(set(ended)) == sorted(set(ended) & set(asked))
    assert {"short-1", "short-2"} <= set(ended)


def test_claim_texts_are_one_line(papers):
    claims = only(CLAIMS, "afct").replace('why = "a wide one"', 'why = """\na wide\n  one"""')
    (figure,) = figures(papers(textwrap.dedent(claims)))
    assert figure.claims[0].why == "a wide one"
