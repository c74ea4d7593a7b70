"""INRPP's cache: closed forms, and what the paper says."""

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import midpath
from midpath import prices
from midpath.cost import DRAM, SRAM, Memory, in_gigabits, inrpp_cache
from midpath.errors import UsageError


def test_paper():
    found = inrpp_cache()
    assert found.packet_s == pytest.approx(64 * 8 / 100e9)
    assert found.needed_access_s == pytest.approx(2.56e-9)
    assert found.sram_is_fast_enough
    assert found.drams == 25
    assert found.storage_bytes == 200e9
    assert found.storage_s == pytest.approx(16.0)
    # 8,000 MB at 0.054 $/MB, 25 times; 260 MB at 27 $/MB, twice.
    assert found.dram_dollars == pytest.approx(25 * 432)
    assert found.sram_dollars == pytest.approx(2 * 7020)
    assert found.all_sram_dollars == pytest.approx(200_000 * 27)
    assert found.saved == pytest.approx(1 - 24_840 / 5_400_000)
    assert found.saved_without_sram == pytest.approx(1 - 0.054 / 27)


def test_paper_with_bits_for_bytes():
    found = inrpp_cache(dram=in_gigabits())
    assert found.dram_dollars == pytest.approx(1350)
    assert found.storage_bytes == 25e9
    assert found.storage_s == pytest.approx(2.0)


def test_the_rate_alone_needs_fewer():
    # 11.25 / 2.56 = 4.39.
    assert inrpp_cache().drams_for_rate == 5
    assert inrpp_cache(rate_bps=10e9).drams_for_rate == 1
    assert not inrpp_cache(rate_bps=1e12).sram_is_fast_enough


positive = st.floats(1e-6, 1e6)


@given(st.builds(Memory, positive, positive, positive), st.integers(1, 1000), positive, st.floats(0, 1e9))
def test_whole_ratios_are_not_rounded_up(dram, ratio, price, sram_bytes):
    sram = Memory(dram.access_s / ratio, 1e6, price)
    found = inrpp_cache(sram=sram, dram=dram, sram_bytes=sram_bytes)
    assert found.drams == ratio
    assert found.total_dollars == pytest.approx(found.dram_dollars + 2 * sram_bytes / 1e6 * price)
    # Without the SRAMs at the ends, only the prices of a byte count, whatever the size.
    assert 1 - found.saved_without_sram == pytest.approx(dram.dollars_per_mb / price)
    assert found.saved <= found.saved_without_sram


@given(positive, positive)
def test_drams_keep_up_and_none_is_too_many(slow, fast):
    found = inrpp_cache(sram=Memory(fast, 1, 1), dram=Memory(slow, 1, 1))
    assert found.drams * fast >= slow * (1 - 1e-6)
    assert (found.drams - 1) * fast < slow


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, 1e300, 1e-300])
def test_nonsense_is_refused(bad):
    with pytest.raises(UsageError):
        inrpp_cache(rate_bps=bad)
    with pytest.raises(UsageError):
        inrpp_cache(dram=Memory(bad, DRAM.capacity_bytes, DRAM.dollars_per_mb))
    with pytest.raises(UsageError):
        inrpp_cache(sram=Memory(SRAM.access_s, SRAM.capacity_bytes, bad))


def test_command(cli):
    found = cli("cost", "inrpp-cache", "--rate", "100Gbps")
    assert found.code == 0
    for part in ("2.56", "25", "200", "16.0", "$10,800", "$24,840", "$5,400,000", "99.54", "$1,350"):
        assert part in found.out
    assert "$1350" not in cli("cost", "inrpp-cache", "--rate", "40Gbps").out
    assert "too slow" in cli("cost", "inrpp-cache", "--rate", "1Tbps").out


def test_command_in_json(cli):
    found = json.loads(cli("cost", "inrpp-cache", "--rate", "40 Gbps", "--sram", "1MB", "--json").out)
    assert found["storage_s"] == pytest.approx(40.0)
    assert found["sram_dollars"] == pytest.approx(54.0)


@pytest.mark.parametrize(
    "arguments", [("--rate", "fast"), ("--rate", "0 bps"), ("--sram", "-1 B"), ("--dram-price", "nan")]
)
def test_command_refuses_nonsense(cli, arguments):
    found = cli("cost", "inrpp-cache", *arguments)
    assert found.code == 2
    assert found.err.count("\n") == 1


def test_every_scheme_says_what_it_asks_for(cli, tmp_path, made_up):
    rows = {row["scheme"]: row for row in json.loads(cli("cost", "schemes", "--json").out)}
    assert {"cubic", "fcp", "inrpp", "mircc", "rpm", "xcp"} <= rows.keys()
    assert rows["fcp"]["routers"] == "FCP" and any("40 B on each packet" in cost for cost in rows["fcp"]["costs"])
    both = json.loads(cli("cost", "schemes", "cubic+rpm", "--json").out)[0]
    assert (both["hosts"], both["routers"]) == (rows["cubic"]["hosts"], "RPM")
    midpath.compare("title = 'x'\n", "cubic,fcp", out=tmp_path / "out")
    gains = json.loads(cli("cost", "schemes", "--of", tmp_path / "out", "--json").out)
    assert [row["scheme"] for row in gains] == ["cubic", "fcp"] and all(row["afct_s"] > 0 for row in gains)
    assert "FCP" in cli("cost", "schemes", "--of", tmp_path / "out").out
    refused = cli("cost", "schemes", "nosuch")
    assert refused.code == 2 and "there is no scheme 'nosuch'" in refused.err


SCENARIO = """stop = "2 s"
[topology]
generate = "dumbbell"
pairs = 2
bottleneck = { rate = "100 Gbps", delay = "1 us" }
access = { rate = "100 Gbps", delay = "1 us" }
[queue]
limit = "10 MB"
[schemes.inrpp]
cache = "1 GB"
[[flow]]
from = "s0"
to = "d0"
size = "100 kB"
"""
CSV = """# ours
item,dollars,watts,source,date
link,100,,carrier's offer,2026-05
port,,2,data sheet,2026-01
card,50,1,card maker's list,2026-02
dram,1,,shop,2026-03
dram,,0.5,data sheet,2026-03
sram,2,0.25,shop,2026-03
"""


@pytest.fixture
def asked(tmp_path):
    """The scenario, and a table of prices."""
    (tmp_path / "s.toml").write_text(SCENARIO)
    (tmp_path / "p.csv").write_text(CSV)
    return tmp_path / "s.toml", tmp_path / "p.csv"


def bill_of(cli, *words):
    answer = cli("cost", "bill", *words, "--json")
    assert answer.code == 0, answer.err
    return {row["option"]: row for row in json.loads(answer.out)}


def test_what_a_scheme_takes(cli, asked):
    scenario, prices = asked
    found = bill_of(cli, scenario, "--schemes", "cubic,inrpp,cubic+rpm", "--prices", prices)
    assert found["cubic"]["buys"] == {} and found["cubic"]["dollars"] == 0
    # Six ports of routers at 100 Gbps, each with 1 GB beside its queue, and two SRAMs of 260 MB: one DRAM is too slow.
    inrpp = found["inrpp"]
    assert inrpp["buys"] == pytest.approx({"card": 600, "dram": 6000, "sram": 6 * 2 * 260}, rel=0.02)
    assert inrpp["dollars"] == pytest.approx(600 * 50 + 6000 + 3120 * 2, rel=0.01)
    assert inrpp["watts"] == pytest.approx(600 + 3000 + 3120 / 4, rel=0.01)
    assert found["cubic+rpm"]["buys"] == {"card": 600} and found["cubic+rpm"]["dollars"] == 30_000


def test_a_slow_port_needs_no_sram(cli, asked):
    scenario, prices = asked
    scenario.write_text(SCENARIO.replace("100 Gbps", "1 Gbps"))
    assert "sram" not in bill_of(cli, scenario, "--schemes", "cubic,inrpp", "--prices", prices)["inrpp"]["buys"]


def test_bigger_links_and_memory_are_variants(cli, asked):
    scenario, prices = asked
    bigger, deep = 'topology.bottleneck.rate = "200 Gbps"', 'queue.limit = "20 MB"'
    scenario.write_text(f"{SCENARIO}[variants.today]\n[variants.bigger]\n{bigger}\n[variants.deep]\n{deep}\n")
    found = bill_of(cli, scenario, "--schemes", "cubic", "--prices", prices)
    assert found["bigger: cubic"]["buys"] == {"link": 100, "port": 200}
    # Nobody has said what a port costs.
    assert found["bigger: cubic"]["dollars"] is None and found["bigger: cubic"]["open"] == {
        "dollars": ["port"],
        "watts": ["link"],
    }
    assert found["deep: cubic"]["buys"] == {"dram": 60} and found["deep: cubic"]["dollars"] == 60
    said = cli("cost", "bill", scenario, "--schemes", "cubic", "--prices", prices)
    assert "no dollars for port" in said.out and "no watts for link" in said.out


def test_gain_per_dollar_and_watt(cli, asked, tmp_path):
    scenario, prices = asked
    midpath.compare(scenario, "cubic,fcp", out=tmp_path / "out")
    found = bill_of(cli, "--of", tmp_path / "out", "--prices", prices)
    ran = midpath.load(tmp_path / "out").rows()
    times = {row.scheme: row.figures["afct_s"].mean for row in ran}
    gain = 100 * (1 - times["fcp"] / times["cubic"])
    assert found["fcp"]["afct_to_first"]["mean"] == pytest.approx(times["fcp"] / times["cubic"])
    assert found["fcp"]["percent_per_dollar"] == pytest.approx(gain / 30_000)
    assert found["fcp"]["percent_per_watt"] == pytest.approx(gain / 600)
    assert gain != 0
    # The same for nothing, and a difference that was not told, buy nothing.
    assert found["cubic"]["percent_per_dollar"] is None
    assert "ideal" not in found
    assert "fcp" in cli("cost", "bill", "--of", tmp_path / "out").out


def test_prices_that_ship_name_a_source_and_a_date(cli):
    known = prices.load()
    assert all(one.source and re.match(r"\d{4}", one.date) for one in known.of.values())
    # Those of table IV are the ones of the calculation above.
    assert known.of["dram", "dollars"].value == DRAM.dollars_per_mb
    assert known.of["sram", "dollars"].value == SRAM.dollars_per_mb
    said = cli("cost", "prices")
    assert said.code == 0 and "no dollars for link" in said.err
    assert len(json.loads(cli("cost", "prices", "--json").out)) == len(known.of)


def test_what_is_printed_can_be_used(cli, tmp_path, asked):
    scenario, _ = asked
    own = tmp_path / "own.toml"
    own.write_text(cli("cost", "prices").out)
    words = (scenario, "--schemes", "cubic,inrpp")
    assert bill_of(cli, *words, "--prices", own) == bill_of(cli, *words)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ('item = "lnik"\ndollars = 1\nsource = "x"\ndate = "2026"', "did you mean 'link'"),
        ('item = "link"\nsource = "x"\ndate = "2026"', "write dollars, watts, or both"),
        ('item = "link"\ndollars = 1\ndate = "2026"', "no source"),
        ('item = "link"\ndollars = 1\nsource = "x"', "no date"),
        ('item = "link"\ndollars = -1\nsource = "x"\ndate = "2026"', "not a number from 0"),
        ('item = "link"\ndollars = "many"\nsource = "x"\ndate = "2026"', "not a number from 0"),
        ('item = "link"\ndolars = 1\nsource = "x"\ndate = "2026"', "did you mean 'dollars'"),
    ],
)
def test_rows_that_are_no_price_are_refused(cli, tmp_path, row, says):
    (tmp_path / "p.toml").write_text(f"[[price]]\n{row}\n")
    answer = cli("cost", "prices", "--prices", tmp_path / "p.toml")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert says in answer.err and "price 1" in answer.err


@given(st.dictionaries(st.sampled_from(list(prices.ITEMS)), st.floats(0, 1e9)))
def test_costs_add_up_or_are_open(amounts):
    table = prices.load()
    for measure in prices.MEASURES:
        cost, lacking = table.cost(amounts, measure), table.open(amounts, measure)
        assert (cost is None) == bool(lacking)
        assert cost is None or cost == pytest.approx(
            sum(table.of[item, measure].value * amount for item, amount in amounts.items() if amount)
        )
