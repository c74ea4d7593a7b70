"""The library: applications at two nodes, in Python and in Rust, by the services that they offer."""

import asyncio
import contextlib
import hashlib
import subprocess
import sys
import time

import pytest

import script
from conftest import ROOT
from midpath import streams

nodes = script.load(ROOT / "evidence/lab" / "overlay" / "nodes.py")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="midpathd works on Linux only")

CONTENT = hashlib.shake_256(b"midpath").digest(500_000)
PYTHON = ROOT / "examples" / "streams"
RUST = ROOT / "target" / "debug" / "examples"


@pytest.fixture(scope="module")
def overlay():
    ports = {name: nodes.free_port() for name in ("a", "b")}
    tables = {name: f'[[application]]\nlisten = "127.0.0.1:{port}"\n' for name, port in ports.items()}
    try:
        found = nodes.Overlay(**tables)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    with found as overlay:
        overlay.at = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
        yield overlay


@contextlib.asynccontextmanager
async def service(name, handle, at):
    """A service for as long as this is held."""
    task = asyncio.create_task(streams.serve(name, handle, at=at))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def settle(at, node, name):
    """Until somebody offers the service."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        with contextlib.suppress(ConnectionError):
            async with streams.connect(node, name, at=at):
                return
        await asyncio.sleep(0.02)
    raise TimeoutError(name)


async def echo(stream):
    while piece := await stream.read(65536):
        await stream.write(piece)


PROGRAMS = {
    "Python": ([sys.executable, PYTHON / "echo_server.py"], [sys.executable, PYTHON / "echo_client.py"]),
    "Rust": ([RUST / "echo_server"], [RUST / "echo_client"]),
}


@pytest.mark.parametrize("client", PROGRAMS)
@pytest.mark.parametrize("server", PROGRAMS)
def test_the_examples_say_what_they_are_told(overlay, server, client):
    serve, ask = PROGRAMS[server][0], PROGRAMS[client][1]
    if not all(command[0].exists() for command in (serve, ask) if command[0] != sys.executable):
        pytest.skip("needs cargo build -p midpath-client --examples")
    with subprocess.Popen([*map(str, serve), overlay.at["b"]], stdout=subprocess.PIPE, text=True) as process:
        try:
            asyncio.run(settle(overlay.at["a"], "b", "echo"))
            command = [*map(str, ask), overlay.at["a"], "b", "hello", "there"]
            assert subprocess.check_output(command, text=True, timeout=30) == "hello there\n"
            assert process.stdout.readline() == "a is here\n"
        finally:
            process.kill()
    overlay.wait_until_empty()


def test_two_hundred_streams_at_once_each_get_their_own(overlay):
    async def ask(number):
        said = CONTENT[number : number + 5000 + 17 * number]
        async with streams.connect("b", "many", at=overlay.at["a"]) as stream:
            await stream.write(said)
            await stream.finish()
            assert await stream.read() == said

    async def main():
        async with service("many", echo, overlay.at["b"]):
            await settle(overlay.at["a"], "b", "many")
            await asyncio.gather(*[ask(number) for number in range(200)])

    asyncio.run(main())
    overlay.wait_until_empty()


def test_services_are_at_both_ends(overlay):
    """`b` reaches what `a` offers, too, and large answers come as a whole."""

    async def give(stream):
        assert stream.peer == "b"
        assert await stream.read() == b"all"
        await stream.write(CONTENT)

    async def main():
        async with service("give", give, overlay.at["a"]):
            await asyncio.sleep(0.2)
            async with streams.connect("a", "give", at=overlay.at["b"]) as stream:
                await stream.write(b"all")
                await stream.finish()
                assert await stream.read() == CONTENT

    asyncio.run(main())


def test_an_application_that_fails_is_no_end_of_a_stream(overlay):
    async def fail(stream):
        await stream.read(1)
        await stream.write(CONTENT[:1000])
        raise ConnectionAbortedError("on purpose")

    async def main():
        async with service("fail", fail, overlay.at["b"]):
            await settle(overlay.at["a"], "b", "fail")
            with pytest.raises(ConnectionResetError):
                async with streams.connect("b", "fail", at=overlay.at["a"]) as stream:
                    await stream.write(b"x")
                    await stream.read()

    asyncio.run(main())
    overlay.wait_until_empty()


def test_what_is_not_there_is_refused_with_its_reason(overlay):
    async def main():
        for node, name, why in [("b", "none", "no such service"), ("nowhere", "x", "no such node")]:
            with pytest.raises(ConnectionRefusedError, match=why):
                async with streams.connect(node, name, at=overlay.at["a"]):
                    pass
        async with service("once", echo, overlay.at["b"]):
            await settle(overlay.at["a"], "b", "once")
            with pytest.raises(ConnectionRefusedError, match="the service exists"):
                await streams.serve("once", echo, at=overlay.at["b"])

    asyncio.run(main())


def test_a_service_that_goes_refuses_what_waits(overlay):
    """Somebody listens, and takes nothing; when he goes, who waits is told at once."""

    async def main():
        reader, writer = await asyncio.open_connection(*overlay.at["b"].split(":"))
        writer.write(b"listen slow\n")
        assert await reader.readline() == b"ok\n"

        async def wait():
            async with streams.connect("b", "slow", at=overlay.at["a"]):
                pass

        waits = asyncio.create_task(wait())
        assert (await reader.readline()).strip().isdigit()
        writer.close()
        with pytest.raises(ConnectionRefusedError, match="no such service"):
            await asyncio.wait_for(waits, 5)

    asyncio.run(main())
    overlay.wait_until_empty()
