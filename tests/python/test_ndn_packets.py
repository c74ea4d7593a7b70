"""NDN packets against python-ndn, which knows nothing of MIRCC: what we write it reads, and what it writes we read.

`net/ndn/examples/ndn_packets.rs` is our side: packets in hexadecimal, and what hexadecimal digits say.
"""

import subprocess
from functools import cache

import pytest

import script
from conftest import ROOT, built

ndn = pytest.importorskip("ndn.encoding", reason="python-ndn is not installed: pip install python-ndn")
lp = pytest.importorskip("ndn.encoding.ndnlp_v2", reason="python-ndn is not installed: pip install python-ndn")
security = pytest.importorskip("ndn.security", reason="python-ndn is not installed: pip install python-ndn")

NAME = "/midpath/12/7/seg=300"

# MIRCC's header fields, as net/ndn/README.md has them.
CLASS, DATA_SIZE, ROUND_TRIP, RATES, PATH_ID, FILTER, RANDOM_VALUE, SPARE_COST = range(0x3A0, 0x3C0, 4)


class OurHeader(ndn.TlvModel):
    """NDNLPv2's header as python-ndn has it, with our fields."""

    pit_token = ndn.BytesField(lp.LpTypeNumber.PIT_TOKEN)
    nack = ndn.ModelField(lp.LpTypeNumber.NACK, lp.NetworkNack)
    congestion_mark = ndn.UintField(lp.LpTypeNumber.CONGESTION_MARK)
    traffic_class = ndn.UintField(CLASS)
    data_size = ndn.UintField(DATA_SIZE)
    round_trip = ndn.UintField(ROUND_TRIP)
    rates = ndn.BytesField(RATES)
    path_id = ndn.BytesField(PATH_ID)
    filter = ndn.BytesField(FILTER)
    random_value = ndn.BytesField(RANDOM_VALUE)
    spare_cost = ndn.UintField(SPARE_COST)
    fragment = ndn.BytesField(lp.LpTypeNumber.FRAGMENT)


class OurPacket(ndn.TlvModel):
    """The whole packet."""

    header = ndn.ModelField(lp.LpTypeNumber.LP_PACKET, OurHeader)


def run(*args: str, lines: str = "") -> list[str]:
    """The example's answer."""
    command = [built("examples/ndn_packets"), *args]
    done = subprocess.run(command, cwd=ROOT, input=lines, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@cache
def samples() -> dict[str, bytes]:
    """Packets that we write."""
    pairs = (line.split() for line in run("samples"))
    return {name: bytes.fromhex(digits) for name, digits in pairs}


def read(wire: bytes) -> dict[str, str]:
    """What we read in it; and we write the same again."""
    (line,) = run(lines=bytes(wire).hex() + "\n")
    return dict(field.split("=", 1) for field in line.split(" "))


def number(field: object) -> int:
    """Eight bytes as a number."""
    return int.from_bytes(bytes(field), "big")  # type: ignore[call-overload]


def check_interest(wire: bytes) -> None:
    name, params, _, _ = ndn.parse_interest(wire)
    assert ndn.Name.to_str(name) == NAME
    assert (params.nonce, params.lifetime, params.hop_limit) == (0x01020304, 4000, 64)
    assert (params.must_be_fresh, params.can_be_prefix) == (True, False)


def check_data(wire: bytes) -> None:
    name, meta, content, signature = ndn.parse_data(wire)
    assert ndn.Name.to_str(name) == NAME
    assert (bytes(content), meta.freshness_period) == (b"hello", 1000)
    assert signature.signature_info.signature_type == ndn.SignatureType.NULL


def test_it_reads_our_bare_data() -> None:
    check_data(samples()["bare-data"])


def test_it_reads_our_packets_and_passes_over_mirccs_fields() -> None:
    for kind, check in [("interest", check_interest), ("data", check_data), ("nack", check_interest)]:
        packet = lp.parse_lp_packet_v2(samples()[kind])
        assert bytes(packet.pit_token) == bytes([0, 0, 0, 7])
        assert (packet.congestion_mark, packet.nack is not None) == (1 if kind == "data" else None, kind == "nack")
        check(bytes(packet.fragment))
    assert lp.parse_network_nack(samples()["nack"])[0] == lp.NackReason.CONGESTION


def test_mirccs_fields_are_where_the_documentation_says() -> None:
    asks = OurPacket.parse(samples()["interest"]).header
    assert (asks.traffic_class, asks.data_size, asks.round_trip, asks.spare_cost) == (1, 1500, 25_000, 2_000_000)
    assert number(asks.path_id) == 0x1122334455667788
    tells = OurPacket.parse(samples()["data"]).header
    assert bytes(tells.rates) == (12_000_000).to_bytes(8, "big") + (3_000_000).to_bytes(8, "big")
    assert (number(tells.path_id), bytes(tells.filter), number(tells.random_value)) == (2**64 - 1, b"\xa5" * 32, 99)


def test_we_read_its_interests() -> None:
    params = ndn.InterestParam(can_be_prefix=True, must_be_fresh=True, nonce=0xDEADBEEF, lifetime=70_000, hop_limit=9)
    wire = ndn.make_interest(NAME, params)
    said = read(wire)
    want = {"kind": "interest", "can_be_prefix": "true", "must_be_fresh": "true", "nonce": str(0xDEADBEEF)}
    assert want.items() <= said.items() and (said["lifetime"], said["hop_limit"]) == ("70000", "9")
    assert said["name"] == "/midpath/12/7/50=%01%2C"
    assert said["again"] == bytes(wire).hex(), "there is one encoding"


def test_we_read_its_signed_data_and_write_them_unchanged() -> None:
    wire = ndn.make_data("/a/b", ndn.MetaInfo(freshness_period=2000), b"x" * 1400, security.DigestSha256Signer())
    said = read(wire)
    assert (said["kind"], said["freshness"], said["content"]) == ("data", "2000", (b"x" * 1400).hex())
    assert (said["signature_type"], len(said["signature"])) == ("0", 64)
    assert said["again"] == bytes(wire).hex()
    assert ndn.parse_data(bytes.fromhex(said["again"]))[2] == b"x" * 1400


def test_we_read_its_nacks() -> None:
    interest = bytes(ndn.make_interest(NAME, ndn.InterestParam(nonce=5)))
    wire = ndn.make_network_nack(interest, lp.NackReason.NO_ROUTE)
    said = read(wire)
    assert (said["kind"], said["nack"], said["nonce"]) == ("interest", "150", "5")
    assert said["again"] == bytes(wire).hex()


def test_we_read_what_it_writes_with_our_fields() -> None:
    packet = OurPacket()
    header = packet.header = OurHeader()
    header.pit_token = b"\x01\x02"
    header.traffic_class, header.data_size, header.round_trip, header.spare_cost = 1, 9000, 300, 2**40
    header.path_id, header.random_value = (77).to_bytes(8, "big"), (78).to_bytes(8, "big")
    header.fragment = bytes(ndn.make_interest(NAME, ndn.InterestParam(nonce=5)))
    said = read(packet.encode())
    assert (said["pit_token"], said["class"], said["data_size"], said["round_trip"]) == ("0102", "1", "9000", "300")
    assert (said["path_id"], said["random_value"], said["spare_cost"]) == ("77", "78", str(2**40))


def test_bytes_that_are_no_packet_get_an_error() -> None:
    broken = bytes(ndn.make_interest(NAME, ndn.InterestParam(nonce=5)))[:-1]
    answers = run(lines=f"{broken.hex()}\nxyz\n\n0500\n")
    assert all(answer.startswith("error=") for answer in answers) and len(answers) == 4


def test_what_the_parsers_disagree_on_has_a_clause_of_the_specification() -> None:
    agree = script.load(ROOT / "evidence/peers" / "ndn" / "agree.py")
    program = [str(built("examples/ndn_packets"))]
    assert agree.kept(program, 300) == (0, 0), "refused, or changed on their way"
    classes, (both, neither) = agree.disagreements(program, 1500)
    assert both > 300 and neither > 300 and sum(classes.values()) > 100
    assert not [found for found in classes if "?" in found]
