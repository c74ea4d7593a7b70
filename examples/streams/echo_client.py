"""Says a line to an echo at another node: `python echo_client.py 127.0.0.1:4800 b hello`."""

import asyncio
import sys

from midpath import streams


async def main(at, node, *words):
    async with streams.connect(node, "echo", at=at) as stream:
        await stream.write(" ".join(words).encode())
        await stream.finish()
        print((await stream.read()).decode())


asyncio.run(main(*sys.argv[1:]))
