"""Variants of one scenario, on the same flows: closed forms on one link, and what is asked of names and keys."""

import json

import pytest

import midpath
from midpath import _midpath
from midpath.compare.variants import MARKER
from midpath.errors import OutputError, ScenarioError
from midpath.loading import load
from midpath.report import html

TEXT = """
title = "Faster or not"
scheme = "newreno"

[topology]
generate = "dumbbell"
bottleneck = { rate = "10 Mbps", delay = "5 ms" }
access = { rate = "100 Mbps", delay = "1 ms" }

[queue]
limit = "50 ms"

[[workload]]
arrivals = { kind = "poisson", rate_per_s = 20.0 }
sizes = { kind = "exponential", mean = "20 kB" }
flows = 20

[variants.today]

[variants.upgrade]
topology.bottleneck.rate = "20 Mbps"
queue.limit = "20 ms"

[variants."more traffic"]
"workload[0].flows" = 30
"""
LONG = TEXT.replace("flows = 20\n", "flows = 1\n").replace('"20 kB"', '"20 MB"').replace("exponential", "fixed")
LONG = LONG.replace("mean =", "size =")


def scenario(text=TEXT):
    return midpath.Scenario.from_toml(text)


def test_tables_stand_for_the_keys_in_them():
    found = scenario().variants
    assert found == {
        "today": {},
        "upgrade": {"topology.bottleneck.rate": "20 Mbps", "queue.limit": "20 ms"},
        "more traffic": {"workload[0].flows": 30},
    }
    changed = scenario().with_variant("upgrade").with_(changes={"queue.limit": "5 ms"}).to_dict()
    assert changed["topology"]["bottleneck"] == {"rate": "20 Mbps", "delay": "5 ms"}
    assert changed["queue"]["limit"] == "5 ms"
    assert "variants" not in changed


def test_a_key_in_quotes_is_set_whole():
    text = TEXT + '\n[variants.whole]\n"workload[0].sizes" = { kind = "fixed", size = "1 kB" }\n'
    assert scenario(text).with_variant("whole").to_dict()["workload"][0]["sizes"] == {"kind": "fixed", "size": "1 kB"}


@pytest.mark.parametrize(
    ("table", "key", "says"),
    [
        ("[variants.x]\nscheme = 'fcp'", "variants.x.scheme", "--schemes"),
        ("[variants.x]\nseed = 3", "variants.x.seed", "same seeds"),
        ("[variants]\nx = 3", "variants.x", "not a table"),
        ("[variants.'../x']\nstop = '1 s'", "variants.../x", "not a variant name"),
        ("[variants.'a,b']\nstop = '1 s'", "variants.a,b", "not a variant name"),
    ],
)
def test_bad_variants_name_their_key(table, key, says):
    text = TEXT.partition("[variants")[0] + table
    with pytest.raises(ScenarioError, match=says) as error:
        scenario(text).variants  # noqa: B018
    assert error.value.key == key


def test_near_names_are_offered(cli, tmp_path):
    (tmp_path / "s.toml").write_text(TEXT)
    answer = cli("run", tmp_path / "s.toml", "--variant", "upgrad")
    assert (answer.code, "did you mean 'upgrade'?" in answer.err) == (2, True)
    answer = cli("compare", tmp_path / "s.toml", "--schemes", "cubic", "--variants", "today,tomorrow")
    assert (answer.code, "there is no variant 'tomorrow'" in answer.err) == (2, True)


def test_a_link_of_twice_the_rate_halves_the_time_of_a_long_flow():
    found = midpath.compare_variants(LONG, [], ["today", "upgrade"], ideal=True)
    assert found.same_flows == {"today": True, "upgrade": True}
    ratio = found.against_first("upgrade", "ideal", "afct_s")
    # 20 MB: 16 s and 8 s of sending, and 14 ms of round trips beside them.
    assert ratio.mean == pytest.approx(0.5, abs=0.002)
    assert found.against_first("today", "ideal", "afct_s").mean == 1.0


def test_other_flows_have_no_ratio():
    found = midpath.compare_variants(TEXT, "newreno", ideal=False)
    assert found.same_flows == {"today": True, "upgrade": True, "more traffic": False}
    assert found.against_first("more traffic", "newreno", "afct_s") is None
    assert found.against_first("upgrade", "newreno", "afct_s").mean < 1
    assert any(note.startswith("more traffic has other flows than today") for note in found.notes)
    assert "more traffic" not in found.verdict()[0]


def test_times_are_over_flows_that_ended_in_all_variants():
    # 10 Mbps are shared by both, and then the large one's: it would need 4.8 s. 20 Mbps carry both within 3 s.
    flows = "".join(f'[[flow]]\nfrom = "s0"\nto = "d0"\nsize = "{size} MB"\n' for size in (1, 5))
    head, _, rest = TEXT.partition("[[workload]]")
    text = head.replace("[topology]", 'stop = "3 s"\n[topology]') + flows + "[variants" + rest.split("[variants", 1)[1]
    text = text.partition('[variants."more')[0].replace('queue.limit = "20 ms"', "")
    found = midpath.compare_variants(text, "newreno", ideal=False)
    rows = {row.variant: row.row for row in found.rows()}
    assert rows["today"].completed < rows["upgrade"].completed
    common = found.matched["today"].common
    assert list(common[1]) == list(found.matched["upgrade"].common[1]) == [True, False]
    own = found.comparisons["upgrade"].rows()[0].figures["afct_s"].mean
    assert rows["upgrade"].figures["afct_s"].mean != own
    assert "in all variants" in found.matched["upgrade"].matching


def test_the_command_compares_keeps_and_reports(cli, tmp_path, monkeypatch):
    (tmp_path / "s.toml").write_text(TEXT)
    ask = ("compare", tmp_path / "s.toml", "--schemes", "newreno", "--seeds", "2", "--out", tmp_path / "out")
    answer = cli(*ask)
    assert answer.code == 0, answer.err
    assert "AFCT/today" in answer.out and "Under NewReno, completion times relative to today: upgrade" in answer.out
    monkeypatch.setattr(_midpath, "run", lambda *_, **__: pytest.fail("this run was there already"))
    printed = json.loads(cli(*ask, "--json").out)
    assert printed["variants"] == ["today", "upgrade", "more traffic"]
    assert len(printed["rows"]) == 6
    found = load(tmp_path / "out")
    assert isinstance(found, midpath.Variants)
    assert found.to_json() == json.loads((tmp_path / "out" / MARKER).read_text())
    assert load(tmp_path / "out" / "variants" / "upgrade").schemes == ["newreno", "ideal"]
    page = html(found)
    assert "more traffic" in page and "×\N{NO-BREAK SPACE}today" in page
    assert repr(found) == "<Variants 'Faster or not': today, upgrade, more traffic; newreno, ideal>"
    answer = cli(*ask, "--variants", "today")
    assert (answer.code, "also holds upgrade and more traffic" in answer.err) == (2, True)


def test_a_sweep_has_variants_as_scenarios(cli, tmp_path):
    (tmp_path / "s.toml").write_text(TEXT)
    ask = ("sweep", tmp_path / "s.toml", "--variants", "today,upgrade", "--no-ideal", "--out", tmp_path / "store")
    answer = cli(*ask, "--vary", "queue.limit=5ms,50ms")
    assert answer.code == 0, answer.err
    table = midpath.load_sweep(tmp_path / "store").to_pandas()
    assert sorted(zip(table["scenario"], table["queue.limit"], strict=True)) == [
        *(("today", limit) for limit in ("50ms", "5ms")),
        *(("upgrade", limit) for limit in ("50ms", "5ms")),
    ]
    assert "--variants today,upgrade" in midpath.load_sweep(tmp_path / "store").about["command"]


def test_an_interrupted_comparison_goes_on(tmp_path):
    out = tmp_path / "out"
    midpath.compare_variants(TEXT, "newreno", out=out, ideal=False)
    (out / MARKER).unlink()
    with pytest.raises(OutputError, match="unfinished"):
        load(out)
    assert midpath.compare_variants(TEXT, "newreno", out=out, ideal=False).names == ["today", "upgrade", "more traffic"]


def test_a_run_of_a_variant_says_so(cli, tmp_path):
    (tmp_path / "s.toml").write_text(TEXT)
    found = json.loads(cli("run", tmp_path / "s.toml", "--variant", "upgrade", "--json").out)
    assert found["variant"] == "upgrade"
    assert "[variants" not in found["scenario"]
