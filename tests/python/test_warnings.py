"""What schemes warn of: in the result, on the terminal, in the report."""

import midpath
from midpath.report import html

# A cache below RTT x C, which three packets fill.
SCENARIO = """
scheme = "inrpp"
stop = "3 s"
[topology]
links = [
    { a = "h0", b = "r0", rate = "100 Mbps", delay = "5 ms" },
    { a = "r0", b = "r1", rate = "10 Mbps", delay = "5 ms" },
    { a = "r1", b = "h1", rate = "100 Mbps", delay = "5 ms" },
]
nodes = [{ name = "h0", kind = "host" }, { name = "h1", kind = "host" }]
[schemes.inrpp]
cache = "4500 B"
[[flow]]
from = "h0"
to = "h1"
size = "1 MB"
"""
SMALL = "inrpp at r0>r1, r0>h0, r1>r0, r1>h1: the cache is smaller than RTT × C"
FULL = "inrpp at r0>r1: packets were dropped because the cache was full"


def test_a_result_has_each_warning_once_with_its_ports():
    found = midpath.run(SCENARIO)
    assert [entry["count"] for entry in found.run["warnings"]] == [1, 4]
    assert FULL in found.warnings
    assert midpath.run(SCENARIO, scheme="newreno").warnings == []


def test_the_terminal_and_the_report_show_them(tmp_path, cli):
    file = tmp_path / "small.toml"
    file.write_text(SCENARIO)
    assert f"warning: {FULL}" in cli("run", file).out
    both = cli("compare", file, "--schemes", "newreno,inrpp", "--seeds", 2)
    assert both.out.count(f"warning: {FULL}") == 1
    assert FULL.replace(">", "&gt;") in html(midpath.run(SCENARIO))


STUBS = """
stop = "1 s"
[topology]
links = [
    { a = "a", b = "r0", rate = "10 Mbps", delay = "5 ms" },
    { a = "r0", b = "r1", rate = "10 Mbps", delay = "5 ms" },
    { a = "r1", b = "b", rate = "10 Mbps", delay = "5 ms" },
    { a = "r1", b = "c", rate = "10 Mbps", delay = "5 ms" },
]
[[flow]]
from = "a"
to = "b"
size = "10 kB"
"""


def test_nodes_that_became_hosts_and_carry_nothing_are_said_once():
    found = midpath.run(STUBS).warnings
    assert [text for text in found if "became" in text] == [
        "`c` became a host, as a node with one link does, but no flow begins or ends there; for a router write "
        'nodes = [{ name = "c", kind = "router" }]'
    ]
    said = STUBS.replace("[[flow]]", 'nodes = [{ name = "c", kind = "router" }]\n[[flow]]')
    assert not any("became" in text for text in midpath.run(said).warnings)


STAR = """
stop = "1 s"
[topology]
links = [
    { a = "h0", b = "sw", rate = "1 Gbps", delay = "25 us" },
    { a = "h1", b = "sw", rate = "1 Gbps", delay = "25 us" },
    { a = "h2", b = "sw", rate = "1 Gbps", delay = "25 us" },
]
nodes = [{ name = "sw", kind = "router" }]
[queue]
limit = "5 ms"
[[flow]]
from = "h0"
to = "h2"
[[flow]]
from = "h1"
to = "h2"
"""


def test_phase_effects_are_said_with_flows_link_and_switch():
    found = midpath.run(STAR).warnings
    assert len(found) == 1
    assert found[0].startswith("newreno at sw>h2: phase effects: flows 0 (h0>h2), 1 (h1>h2) ")
    assert '`host_jitter = "12 us"`' in found[0]
    assert midpath.run('host_jitter = "1 us"\n' + STAR).warnings == []


def test_a_stall_is_said_with_its_link_and_time():
    window = "\n[schemes.fixed-window]\nwindow = 1\ndelayed_ack = false\n"
    text = STAR.replace('"25 us"', '"2 ms"').replace('"1 s"', '"5 s"') + window
    found = midpath.run(text, scheme="fixed-window").warnings
    assert len(found) == 1
    assert "fixed-window at " in found[0]
    assert "a stall: " in found[0]
    assert "had data to send" in found[0]
