"""Captures of every scheme, as Wireshark sees them: nothing malformed, every checksum right."""

import csv
import hashlib
import hmac
import shutil
import subprocess
from pathlib import Path

import pytest

import midpath
from midpath.schemes import shipped

pytestmark = pytest.mark.nightly("crates/core/src/wire/", "crates/sim/src/measure/", "python/midpath/trace/")

DISSECTOR = Path(__file__).parents[2] / "tools" / "midpath.lua"

SCENARIO = """
stop = "2 s"
[topology]
nodes = [{{ name = "s", kind = "host" }}, {{ name = "d", kind = "host" }}]
links = [
  {{ a = "s", b = "r0", rate = "100 Mbps", delay = "1 ms" }},
  {{ a = "s", b = "r2", rate = "100 Mbps", delay = "1 ms" }},
  {{ a = "r0", b = "r1", rate = "5 Mbps", delay = "2 ms" }},
  {{ a = "r0", b = "r2", rate = "10 Mbps", delay = "2 ms" }},
  {{ a = "r2", b = "r1", rate = "10 Mbps", delay = "2 ms" }},
  {{ a = "r1", b = "d", rate = "100 Mbps", delay = "1 ms" }},
]
[[flow]]
from = "s"
to = "d"
[[flow]]
from = "d"
to = "s"
size = "100 kB"
[[fault]]
at = "500 ms"
until = "700 ms"
link = ["r0", "r1"]
kind = "link-down"
[measure]
pcap = [
  {{ from = "s", to = "r0" }},
  {{ from = "r0", to = "r1" }},
  {{ from = "r0", to = "r2" }},
  {{ from = "r0", to = "s" }},
]
{more}
"""

# What a scenario needs beside a scheme, for each of its headers; and a stack of two headers.
BESIDE = {
    "cubic": '[schemes.cubic]\necn = "accurate"\n[queue]\nkind = "red"\nmin = "5 packets"\nmax = "20 packets"',
    "dctcp": '[queue]\nkind = "step"\nthreshold = "10 packets"',
    "inrpp": "[schemes.inrpp]\nauth = true",
}
# Attackers send what INRPP's routers do.
SCHEMES = [name for name, about in shipped().items() if about.hosts and name != "inrpp-attack"]

needs_tshark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")


def tshark(capture, *columns):
    """Each packet's columns. Checksums are looked at."""
    checks = ("-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE")
    fields = [word for column in columns for word in ("-e", column)]
    command = [
        "tshark",
        "-X",
        f"lua_script:{DISSECTOR}",
        *checks,
        "-r",
        capture,
        "-T",
        "fields",
        "-E",
        "separator=,",
        "-E",
        "aggregator=;",
        *fields,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Lua" not in done.stderr, done.stderr
    return list(csv.reader(done.stdout.splitlines()))


@needs_tshark
@pytest.mark.parametrize("scheme", SCHEMES)
def test_wireshark_finds_nothing_malformed(scheme, tmp_path):
    result = midpath.run(midpath.Scenario.from_toml(SCENARIO.format(more=BESIDE.get(scheme, ""))).with_(scheme=scheme))
    result.save(tmp_path / "out")
    packets = 0
    for capture in sorted((tmp_path / "out").glob("*.pcapng")):
        found = tshark(
            capture,
            "frame.len",
            "ip.len",
            "ip.checksum.status",
            "tcp.checksum.status",
            "_ws.malformed",
            "midpath.broken",
        )
        for length, ip, ip_sum, tcp_sum, malformed, broken in found:
            assert (malformed, broken) == ("", ""), capture.name
            assert length == ip and ip_sum == "1"
            # 2 is "unverified": the capture has not the payload, and no shim stands before it.
            assert tcp_sum in ("", "1", "2"), tcp_sum
        packets += len(found)
    assert packets > 60


@needs_tshark
def test_headers_are_read_as_they_were_written(tmp_path):
    result = midpath.run(midpath.Scenario.from_toml(SCENARIO.format(more="")).with_(scheme="fcp"))
    result.save(tmp_path / "out")
    found = tshark(
        tmp_path / "out" / "r0-s.pcapng", "midpath.fcp.nonce", "midpath.fcp.flags", "midpath.fcp.rtt", "tcp.len"
    )
    sent = [row for row in found if row[1] == "0x00" and int(row[3] or 0) > 0]
    assert [int(row[0]) for row in sent] == sorted(int(row[0]) for row in sent)
    # The path's propagation is 8 ms or more; nobody waits for a second.
    assert all(0.008 <= float(row[2]) < 1 for row in sent)
    assert {int(row[3]) for row in sent if int(row[3]) > 1000} == {1408}


@needs_tshark
@pytest.mark.parametrize(("scheme", "field"), [("falcon", "midpath.falcon.sent"), ("uec", "midpath.uec.psn")])
def test_transports_that_share_a_tag_are_told_apart(scheme, field, tmp_path):
    result = midpath.run(midpath.Scenario.from_toml(SCENARIO.format(more="")).with_(scheme=scheme))
    result.save(tmp_path / "out")
    both = ["midpath.falcon.sent", "midpath.uec.psn"]
    found = tshark(tmp_path / "out" / "r0-r1.pcapng", *both)
    read = {name for row in found for name, value in zip(both, row, strict=True) if value}
    assert read == {field}


# Two addresses at each end, and both ways between them.
TWO_PATHS = """
scheme = "mptcp"
stop = "3 s"
[topology]
nodes = [{ name = "s", kind = "host" }, { name = "d", kind = "host" }]
links = [
  { a = "s", b = "p", rate = "10 Mbps", delay = "5 ms" },
  { a = "s", b = "q", rate = "10 Mbps", delay = "10 ms" },
  { a = "p", b = "d", rate = "10 Mbps", delay = "5 ms" },
  { a = "q", b = "d", rate = "10 Mbps", delay = "10 ms" },
  { a = "p", b = "q", rate = "1 Mbps", delay = "1 ms" },
]
[[flow]]
from = "s"
to = "d"
size = "1 MB"
[schemes.mptcp]
subflows = 2
[measure]
pcap = [
  { from = "s", to = "p" },
  { from = "p", to = "s" },
  { from = "s", to = "q" },
  { from = "q", to = "s" },
]
"""


def mac(key, text):
    return hmac.new(key, text, "sha256").digest()


@needs_tshark
@pytest.mark.skipif(not shutil.which("mergecap"), reason="mergecap is not installed")
def test_wireshark_follows_an_mptcp_connection(tmp_path):
    midpath.run(midpath.Scenario.from_toml(TWO_PATHS)).save(tmp_path / "out")
    both = tmp_path / "both.pcapng"
    subprocess.run(["mergecap", "-w", both, *sorted((tmp_path / "out").glob("*.pcapng"))], check=True)
    option = "tcp.options.mptcp."
    names = ["subtype", "sendkey", "recvkey", "recvtok", "sendrand", "sendtrunchmac", "sendhmac"]
    names += ["addrid", "ipv4", "addaddrtrunchmac", "rawdataack"]
    columns = ["tcp.stream", "ip.dst", *(option + name for name in names), "mptcp.expected_token", "_ws.expert.message"]
    found = [dict(zip(columns, row, strict=True)) for row in tshark(both, *columns)]

    def values(name):
        """What packets say, in order."""
        return [row[option + name] for row in found if row[option + name]]

    def number(text, size):
        return int(text, 0).to_bytes(size)

    # The listener's key is on the SYN-ACK, both on the third packet, which has the first data.
    listener, initiator = (number(values("sendkey")[i], 8) for i in (0, 1))
    assert number(values("recvkey")[0], 8) == listener
    digest = {key: hashlib.sha256(key).digest() for key in (listener, initiator)}
    # Data ACKs count from the number after the initial one; the first is of two segments.
    acks = [int(ack) for ack in values("rawdataack")]
    first = int.from_bytes(digest[initiator][-8:]) + 1
    assert first + 1_000_000 + 1 in acks and min(a - first for a in acks if a >= first) == 2 * 1420
    # The join: token and proofs of both sides.
    assert [number(token, 4) for token in values("recvtok")] == [digest[listener][:4]]
    ours, theirs = (number(nonce, 4) for nonce in values("sendrand"))
    assert [number(proof, 8) for proof in values("sendtrunchmac")] == [mac(listener + initiator, theirs + ours)[:8]]
    proofs = {bytes.fromhex(proof.replace(":", "")) for proof in values("sendhmac")}
    assert proofs == {mac(initiator + listener, ours + theirs)[:20]}
    # The address of d, which is node 1, that the first SYN was not for: told once, echoed, by the interface's number.
    (other,) = {17, 18} - {int(found[0]["ip.dst"].rpartition(".")[2])}
    assert values("ipv4") == [f"10.0.0.{other}"] * 2
    told = bytes([other - 16]) + bytes([10, 0, 0, other]) + bytes(2)
    assert [number(proof, 8) for proof in values("addaddrtrunchmac")] == [mac(listener + initiator, told)[-8:]]
    # Wireshark finds the same token in the keys, sees two subflows, and has nothing to say about MPTCP.
    tokens = {int(token) for row in found for token in row["mptcp.expected_token"].split(";") if token}
    assert tokens >= {int.from_bytes(digest[listener][:4])}
    assert {row["tcp.stream"] for row in found} == {"0", "1"}
    said = {row["_ws.expert.message"] for row in found if row["_ws.expert.message"]}
    assert not any(word in text for text in said for word in ("MPTCP", "key", "mapping", "algorithm")), said
