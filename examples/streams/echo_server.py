"""Says what it is told: `python echo_server.py 127.0.0.1:4800`, the node's `[[application]]` entrance."""

import asyncio
import sys

from midpath import streams


async def echo(stream):
    print(f"{stream.peer} is here", flush=True)
    while piece := await stream.read(65536):
        await stream.write(piece)


asyncio.run(streams.serve("echo", echo, at=sys.argv[1]))
