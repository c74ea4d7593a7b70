"""Streams between applications, through the nodes that `midpathd node` runs beside them.

A node with an `[[application]]` entrance connects to services at other nodes, or offers one there. A stream's data
travel under the network's scheme. A stream left by an exception is reset, also if the process is killed: the other
application sees an end of stream only after a regular end.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

NODE = "127.0.0.1:4800"
"""Where a node's entrance is unless something else is said."""

_RESET = struct.pack("ii", 1, 0)
_DELIVER = struct.pack("ii", 0, 0)


class Stream:
    """Bytes to and from an application at another node."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: str) -> None:
        self._reader = reader
        self._writer = writer
        self.peer = peer
        """The name of the other node."""

    async def read(self, most: int = -1) -> bytes:
        """Up to so many bytes, or all up to the end; nothing at the end. Raises `ConnectionError` after a reset."""
        return await self._reader.read(most)

    async def write(self, data: bytes) -> None:
        """Returns once there is room for more."""
        self._writer.write(data)
        await self._writer.drain()

    async def finish(self) -> None:
        """Nothing follows; the other direction goes on."""
        if not self._writer.transport.is_closing():
            await self._writer.drain()
            self._writer.write_eof()
            _set(self._writer, _DELIVER)

    async def _leave(self, well: bool) -> None:
        if well:
            await self.finish()
            self._writer.close()
        else:
            self._writer.transport.abort()
        try:
            await self._writer.wait_closed()
        except ConnectionError:
            if well:
                raise


@asynccontextmanager
async def connect(node: str, service: str, at: str = NODE) -> AsyncIterator[Stream]:
    """A stream to whoever offers the service at that node."""
    reader, writer = await _ask(f"connect {node} {service}", at)
    _expect(await _line(reader), "ok", writer)
    async with _held(Stream(reader, writer, node)) as stream:
        yield stream


async def serve(service: str, handle: Callable[[Stream], Awaitable[None]], at: str = NODE) -> None:
    """Offers a service: each stream is handed to `handle`, until this is cancelled."""
    reader, writer = await _ask(f"listen {service}", at)
    _expect(await _line(reader), "ok", writer)
    async with asyncio.TaskGroup() as tasks:
        try:
            while number := await _line(reader):
                tasks.create_task(_take(number, handle, at))
            raise ConnectionError("the node is gone")
        finally:
            writer.close()


async def _take(number: str, handle: Callable[[Stream], Awaitable[None]], at: str) -> None:
    reader, writer = await _ask(f"take {number}", at)
    answer = await _line(reader)
    if not answer.startswith("from "):  # it has been given up meanwhile
        writer.close()
        return
    try:
        async with _held(Stream(reader, writer, answer.removeprefix("from "))) as stream:
            await handle(stream)
    except ConnectionError:
        return  # of this one stream


@asynccontextmanager
async def _held(stream: Stream) -> AsyncIterator[Stream]:
    well = False
    try:
        yield stream
        well = True
    finally:
        await stream._leave(well)


async def _ask(wish: str, at: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = at.rsplit(":", 1)
    reader, writer = await asyncio.open_connection(host, int(port))
    # What has been written is the kernel's: nothing is left here when the process is killed after `finish`.
    writer.transport.set_write_buffer_limits(0)
    _set(writer, _RESET)
    writer.write(f"{wish}\n".encode())
    return reader, writer


def _set(writer: asyncio.StreamWriter, linger: bytes) -> None:
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)


async def _line(reader: asyncio.StreamReader) -> str:
    return (await reader.readline()).decode().rstrip("\n")


def _expect(said: str, wanted: str, writer: asyncio.StreamWriter) -> None:
    if said != wanted:
        writer.close()
        raise ConnectionRefusedError(said.removeprefix("refused ") or "the node is gone")
