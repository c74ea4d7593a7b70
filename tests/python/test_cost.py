"""INRPP's cache: closed forms, and what the paper says."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import midpath
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
