"""Applications of python-ndn, as its users write them: each a process of its own.

python evidence/peers/ndn/apps.py serve PREFIX FILE      serves a file in segments; says "ready" once it is registered
python evidence/peers/ndn/apps.py stream PREFIX COUNT    serves so many segments, all alike, signed by digests
python evidence/peers/ndn/apps.py fetch PREFIX FILE      fetches it with segment_fetcher; says what it got, in JSON
python evidence/peers/ndn/apps.py ping PREFIX PERIOD     fetches a small object each time; prints how long it took
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path

from ndn.app import NDNApp
from ndn.app_support.segment_fetcher import segment_fetcher
from ndn.encoding import Component, MetaInfo, Name, make_data
from ndn.security import DigestSha256Signer, HmacChecker, HmacSha256Signer, KeychainDigest
from ndn.types import InterestNack, InterestTimeout

# What ndnd's put makes of a file, so that both move packets of one size.
SEGMENT = 8000
# Names of small objects; none is asked for twice, so that no store answers.
SMALL = "/check/small"
KEY_NAME = Name.from_str("/check/KEY/1")
KEY = b"shared by who serves and who fetches"


def application() -> NDNApp:
    """At the forwarder that NDN_CLIENT_TRANSPORT names."""
    return NDNApp(keychain=KeychainDigest())


def serve(prefix: str, content: bytes) -> None:
    """Serves until it is ended. Data are signed when they are asked for the first time."""
    app = application()
    count = max(1, -(-len(content) // SEGMENT))
    signer = HmacSha256Signer(KEY_NAME, KEY)
    name = Name.from_str(prefix)
    final = Component.from_segment(count - 1)
    packets: dict[int, bytes] = {}

    def small(interest: list[bytes], _param: object, _app_param: object) -> None:
        app.put_raw_packet(make_data(interest, MetaInfo(freshness_period=1000), content[:1000], signer))

    def answer(interest: list[bytes], _param: object, _app_param: object) -> None:
        asked = interest[len(name) :]
        number = Component.to_number(asked[0]) if asked else 0
        if number >= count:
            return None
        if number not in packets:
            piece = content[number * SEGMENT : (number + 1) * SEGMENT]
            meta = MetaInfo(freshness_period=3_600_000, final_block_id=final)
            packets[number] = bytes(make_data([*name, Component.from_segment(number)], meta, piece, signer))
        return app.put_raw_packet(packets[number])

    async def begin() -> None:
        if not (await app.register(prefix, answer) and await app.register(SMALL, small)):
            raise ConnectionError("the prefix is not registered")
        print("ready", flush=True)

    app.run_forever(after_start=begin())


def stream(prefix: str, count: int) -> None:
    """Serves whatever object is asked for below a prefix."""
    app, content, signer = application(), bytes(SEGMENT), DigestSha256Signer()
    meta = MetaInfo(freshness_period=3_600_000, final_block_id=Component.from_segment(count - 1))

    def answer(interest: list[bytes], _param: object, _app_param: object) -> None:
        number = interest[-1] if Component.get_type(interest[-1]) == Component.TYPE_SEGMENT else None
        name = interest if number else [*interest, Component.from_segment(0)]
        app.put_raw_packet(make_data(name, meta, content, signer))

    async def begin() -> None:
        if not await app.register(prefix, answer):
            raise ConnectionError("the prefix is not registered")
        print("ready", flush=True)

    app.run_forever(after_start=begin())


def fetch(prefix: str, content: bytes) -> None:
    """Fetches, checks each signature, and compares."""
    app, got = application(), bytearray()
    checker = HmacChecker.from_key(KEY_NAME, KEY)
    said: dict[str, object] = {}

    begun = time.monotonic()

    def report() -> None:
        said.update(seconds=time.monotonic() - begun, bytes=len(got), wrong=wrong(bytes(got), content))
        print(json.dumps(said), flush=True)

    def stop(_signal: int, _frame: object) -> None:
        report()
        os._exit(1)

    async def run() -> None:
        try:
            async for piece in segment_fetcher(app, prefix, validator=checker):
                got.extend(piece)
        except (InterestNack, InterestTimeout) as error:
            said["failed"] = repr(error)
        report()
        app.shutdown()

    # Whoever has waited long enough learns how far it has come.
    signal.signal(signal.SIGTERM, stop)
    app.run_forever(after_start=run())


def wrong(got: bytes, content: bytes) -> int:
    """Bytes that differ; what has not come is not wrong."""
    if content.startswith(got):
        return 0
    return sum(a != b for a, b in zip(got, content, strict=False)) + max(0, len(got) - len(content))


def ping(prefix: str, period: float) -> None:
    """Prints seconds, or null where none came."""
    app = application()
    checker = HmacChecker.from_key(KEY_NAME, KEY)

    async def run() -> None:
        while True:
            begun = time.monotonic()
            name = f"{prefix}/{time.time_ns()}"
            try:
                await app.express_interest(name, validator=checker, must_be_fresh=True, lifetime=4000)
                took = time.monotonic() - begun
            except (InterestNack, InterestTimeout) as error:
                took = None
                print(repr(error), file=sys.stderr)
            print(json.dumps(took), flush=True)
            await asyncio.sleep(period)

    app.run_forever(after_start=run())


if __name__ == "__main__":
    what, at, more = sys.argv[1:]
    if what == "serve":
        serve(at, Path(more).read_bytes())
    elif what == "stream":
        stream(at, int(more))
    elif what == "fetch":
        fetch(at, Path(more).read_bytes())
    else:
        ping(at, float(more))
