"""What the packet specification (0.3) and NDNLPv2 say of bytes that one parser takes and the other refuses."""

from __future__ import annotations

import contextlib
import re
import struct
from collections.abc import Iterator

from ndn.encoding import DecodeError, SignatureInfo
from packets import read_number

# NDNLPv2's fields.
HEADER = {0x50, 0x51, 0x52, 0x53, 0x62, 0x320, 0x32C, 0x330, 0x334, 0x340, 0x344, 0x348, 0x34C, 0x350}
OURS = "ours follows it"
# Which of our errors; what that is; where it stands; what follows.
CLASSES = [
    (
        r"shortest",
        "a type or length in more bytes than it takes",
        "*Variable-Size Encoding*: MUST be the shortest",
        OURS,
    ),
    (r"truncated", "an element that reaches beyond the one around it", "*NDN TLV Encoding*: TLV-LENGTH", OURS),
    (
        r"type 0x7 is missing",
        "no name, an Interest's name without components, or an element before the name",
        "*Interest*, *Data*: required, MUST be discarded, must not appear before",
        OURS,
    ),
    (
        r"type 0x(16|17|1b) is missing",
        "Data without signature, or a signature without type",
        "*Data Signature*: required",
        OURS,
    ),
    (
        r"type 0x2 is missing",
        "parameters without their digest in the name",
        "*Parameters Digest Component*: MUST appear",
        OURS,
    ),
    (r"value of type 0x[12] ", "a digest of other than 32 bytes", "*Name*: TLV-LENGTH == 32", OURS),
    (r"value of type 0x(12|21) ", "a flag with a value", "*CanBePrefix*, *MustBeFresh*: TLV-LENGTH == 0", OURS),
    (
        r"value of type 0x(a|22) ",
        "a nonce of other than 4 bytes, or hops of other than one",
        "*Nonce*, *HopLimit*",
        OURS,
    ),
    (r"value of type 0x1e ", "a hint without names", "*ForwardingHint*: 1*Name", OURS),
    (
        r"value of type 0x(c|18|19|1b|53|52|340|321|32c|330) ",
        "a number of 3, 5, 6, 7 or no bytes",
        "*Non-Negative Integer*",
        OURS,
    ),
    (r"value of type 0x62 ", "a PIT token of no or more than 32 bytes", "NDNLPv2, *PIT token*: 1*32OCTET", OURS),
    (
        r"value of type 0x3[ab]",
        "a field of MIRCC's that is none",
        "none: the type is ours, and unknown to others",
        "ours: see wire.md",
    ),
    (
        r"trailing",
        "bytes behind a packet, or two components for a last segment's",
        "*FinalBlockId*: NameComponent",
        OURS,
    ),
    (
        r"header: .*again",
        "a header field twice, or one behind the fragment",
        "NDNLPv2, *packet format*: at most once; the fragment last",
        OURS,
    ),
    (r"header: ", "an unknown header field", "NDNLPv2, *packet format*: MUST be dropped but for 800 to 959, 4n", OURS),
    (r"type 0x[0-9a-f]{5,8} is not", "a component's type above 65535", "*Name*: invalid, SHOULD be dropped", OURS),
    (
        r"is not allowed here",
        "an element that is critical and unknown, out of order or there twice",
        "*Evolvability*: abort decoding; all types to 31 are critical",
        OURS,
    ),
    (r"too long", "a name above 64 components or 2,048 bytes", "none", "ours: tables by names need a bound"),
]


def elements(value: bytes) -> Iterator[tuple[int, bytes]]:
    """Types and values, as far as they can be read."""
    at = 0
    with contextlib.suppress(IndexError):
        while at < len(value):
            kind, at = read_number(value, at)
            length, at = read_number(value, at)
            yield kind, value[at : at + length]
            at += length


def header(wire: bytes) -> list[tuple[int, bytes]]:
    """NDNLPv2's fields; none around a bare packet."""
    return list(elements(next(elements(wire), (0, b""))[1])) if wire[:1] == b"\x64" else []


def signature_info(wire: bytes) -> list[bytes]:
    """What an Interest or Data says of its signature."""
    bare = dict(header(wire)).get(0x50, b"") if wire[:1] == b"\x64" else wire
    return [value for kind, value in elements(next(elements(bare), (0, b""))[1]) if kind in (0x16, 0x2C)]


def refused_by_us(wire: bytes, error: str) -> tuple[str, str, str]:
    """Class, clause, verdict of what python-ndn alone takes."""
    found = re.search(r"type 0x([0-9a-f]+) is not allowed here", error)
    kind = int(found[1], 16) if found else 0
    if any(field == kind for field, _ in header(wire)):
        may = kind in HEADER or (800 <= kind <= 959 and kind % 4 == 0)
        error = f"header: {error}" + (" again" if may else "")
    for pattern, what, where, verdict in CLASSES:
        if re.search(pattern, error):
            return what, where, verdict
    return error, "?", "?"


def refused_by_them(wire: bytes, why: str) -> tuple[str, str, str]:
    """Class, clause, verdict of what ours alone takes."""
    for info in signature_info(wire):
        try:
            SignatureInfo.parse(memoryview(info), {})
        except (DecodeError, IndexError, TypeError, ValueError, struct.error):
            return (
                "a key locator or something else of a signature's information that cannot be read",
                "*Data Signature*, *Interest Signature*: of who verifies",
                "ours: a forwarder reads the type, and sends the rest on",
            )
    return why, "?", "?"
