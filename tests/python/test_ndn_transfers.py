"""Stock NDN programs through forwarders in namespaces: seconds of what evidence/peers/ndn does at length."""

import os

import pytest

import script
from conftest import ROOT

pytest.importorskip("ndn.app", reason="python-ndn is not installed: pip install python-ndn")
if os.geteuid() != 0:
    pytest.skip("namespaces and shaped links need root", allow_module_level=True)

forwarders = script.load(ROOT / "evidence/peers" / "ndn" / "forwarders.py")
attacks = script.load(ROOT / "evidence/peers" / "ndn" / "attacks.py")
compare = script.load(ROOT / "evidence/peers" / "ndn" / "compare.py")
hops = script.load(ROOT / "evidence/peers" / "ndn" / "hops.py")


def skip_without(*programs):
    """Skips with the reason if one is missing."""
    for program in programs:
        try:
            program()
        except FileNotFoundError as error:
            pytest.skip(str(error))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A megabyte."""
    path = tmp_path_factory.mktemp("ndn") / "file"
    path.write_bytes(compare.content(1))
    return path


def whole(kind, client, file):
    """A transfer in which everything comes, and is right."""
    found = compare.transfer(kind, "line", client, file, 20)
    assert (found.why, found.received, found.wrong) == ("", 1.0, 0)


def test_a_segments_time_is_that_of_its_frames():
    # In us: Interests leave at 0 and 1000, are on the far link 50 later; Data in two pieces.
    near = [(0, True, 100), (500, False, 1400), (600, False, 1400), (1000, True, 100), (1500, False, 1400)]
    far = [(50, True, 100), (300, False, 1400), (420, False, 1400), (1050, True, 100), (1300, False, 1400)]
    seen = {name: hops.Frames([(us * 1000, *more) for us, *more in each]) for name, each in (("a", near), ("r", far))}
    assert list(hops.steps(seen)) == []  # The second has no Interest after it, so that nobody knows when it ended.
    seen["a"].seen.append((2_000_000, True, 100))
    seen["r"].seen.append((2_050_000, True, 100))
    assert list(hops.steps(seen)) == [([50, 250, 120, 80, 100, 400], 2800)]


def test_the_frames_of_a_transfer_are_seen(file):
    skip_without(forwarders.midpathd_program)
    found = hops.run("midpathd", file)
    # A megabyte has 125 segments; the last one has none after it.
    assert len(found) > 100
    # 8.5 kB less what HTB lets go at once take 2.2 ms of 20 Mbit/s.
    assert 1000 < sorted(times[2] for times, _ in found)[60] < 3400


def test_stock_programs_work_through_ndnd(file):
    skip_without(forwarders.ndnd_program)
    whole("ndnd", "segment_fetcher", file)
    whole("ndnd", "ndnd cat", file)


def test_stock_programs_work_through_ours(file):
    skip_without(forwarders.midpathd_program)
    whole("midpathd", "segment_fetcher", file)


def test_our_consumer_works_in_python(file):
    skip_without(forwarders.midpathd_program)
    whole("midpathd", "midpath.ndn", file)


def test_ndnds_programs_work_through_ours(file):
    skip_without(forwarders.midpathd_program, forwarders.ndnd_program)
    whole("midpathd", "ndnd cat", file)


@pytest.mark.parametrize("kind", ["ndnd between midpathd", "midpathd between ndnd"])
def test_each_reads_the_others_fragments(file, kind):
    # Segments of 8 kB: six fragments of ndnd's, whose MTU for UDP is 1,420 bytes.
    skip_without(forwarders.midpathd_program, forwarders.ndnd_program)
    whole(kind, "segment_fetcher", file)
    whole(kind, "ndnd cat", file)


@pytest.mark.parametrize("kind", ["random names", "absurd stamps on own Data", "names of 8 kB"])
def test_strangers_neither_stop_a_flow_nor_fill_memory(file, kind):
    skip_without(forwarders.midpathd_program)
    found = attacks.honest("midpathd", "segment_fetcher", file, kind, 1000, 20)
    assert (found["why"], found["wrong"]) == ("", 0)
    assert found["mbps"] > 2
    assert found["most"] - found["before"] < attacks.MOST
