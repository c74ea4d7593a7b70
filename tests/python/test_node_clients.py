"""Clients as they are, through three processes of `midpathd`: right by hash, and a reset is seen as a reset.

`MIDPATH_SCHEME=inrpp pytest tests/python/test_node_clients.py` takes another scheme.
"""

import hashlib
import http.server
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import script
from conftest import ROOT

nodes = script.load(ROOT / "evidence/lab" / "overlay" / "nodes.py")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="midpathd works on Linux only")

CONTENT = hashlib.shake_256(b"midpath").digest(3_000_000)
HASH = hashlib.sha256(CONTENT).hexdigest()


class Pages(http.server.BaseHTTPRequestHandler):
    """`/file` is CONTENT; what is put is answered by its hash; `/reset` breaks off, `/endless` never ends."""

    protocol_version = "HTTP/1.1"
    requests: list[tuple[str, int]]
    broken: list[str]

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What is no request is shown: nothing here sends any."""
        print(code, message, self.raw_requestline, file=sys.stderr)
        super().send_error(code, message, explain)

    def do_GET(self) -> None:
        """Gives."""
        self.requests.append((self.path, self.client_address[1]))
        if self.path == "/file":
            self.answer(CONTENT)
        elif self.path.startswith("/small"):
            self.answer(CONTENT[:50_000])
        elif self.path == "/reset":
            # Without a length only the end of the stream says that it is complete.
            self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n" + CONTENT[:1_000_000])
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
        elif self.path == "/endless":
            self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n")
            self.close_connection = True
            try:
                while True:
                    self.wfile.write(CONTENT[:65536])
            except OSError as error:
                self.broken.append(type(error).__name__)
        else:
            self.from_folder()

    def from_folder(self) -> None:
        """A file of the server's folder, as git's simplest way wants it."""
        file = self.server.folder / self.path.split("?")[0].lstrip("/")
        self.answer(file.read_bytes() if file.is_file() else None)

    def do_PUT(self) -> None:
        """Takes."""
        try:
            left, seen = int(self.headers["Content-Length"]), hashlib.sha256()
            while left:
                piece = self.rfile.read(min(left, 65536))
                if not piece:
                    raise ConnectionError("it ends early")
                seen.update(piece)
                left -= len(piece)
            self.answer(seen.hexdigest().encode())
        except OSError as error:
            self.broken.append(type(error).__name__)
            self.close_connection = True

    def answer(self, content: bytes | None) -> None:
        """Says it with its length."""
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        self.wfile.write(content or b"")


class Server(http.server.ThreadingHTTPServer):
    """A web server on this machine."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.handler = type("Handler", (Pages,), {"requests": [], "broken": []})
        super().__init__(("127.0.0.1", 0), self.handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_: object) -> None:
        """Clients that break off are what is tested."""

    def url(self, path: str) -> str:
        """Where a page is."""
        return f"http://127.0.0.1:{self.server_address[1]}{path}"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="module")
def overlay(server):
    """Three nodes, with entrances to a web server and to two ports for others."""
    try:
        scheme = os.environ.get("MIDPATH_SCHEME", "cubic")
        found = nodes.Overlay(scheme, forwards=(server.server_address[1], *PORTS.values()))
    except FileNotFoundError as error:
        pytest.skip(str(error))
    with found as overlay:
        yield overlay


PORTS = {name: nodes.free_port() for name in ("git", "ssh", "iperf3")}


def needs(*programs):
    """Skips where one of them is not there."""
    for program in programs:
        if shutil.which(program) is None and not Path(program).exists():
            pytest.skip(f"needs {program}")


def run(*command, **more):
    done = subprocess.run([*map(str, command)], capture_output=True, check=False, timeout=60, **more)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def wait_for_port(port):
    until = time.monotonic() + 20
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise TimeoutError(f"nobody listens at {port}")


@pytest.fixture
def started(tmp_path):
    """Starts servers that are ended after the test."""
    running = []

    def start(port, *command):
        with (tmp_path / "server.log").open("ab") as log:
            running.append(subprocess.Popen([*map(str, command)], stdout=log, stderr=log))
        wait_for_port(port)

    yield start
    for process in running:
        process.terminate()
        process.wait()


def by_socks(overlay):
    return "--proxy", f"socks5h://127.0.0.1:{overlay.socks}"


def by_connect(overlay):
    return "--proxytunnel", "--proxy", f"http://127.0.0.1:{overlay.connect}"


@pytest.mark.parametrize("way", [by_socks, by_connect])
def test_curl_downloads_and_uploads(overlay, server, tmp_path, way):
    needs("curl")
    got = run("curl", "-sS", *way(overlay), server.url("/file"))
    assert hashlib.sha256(got).hexdigest() == HASH
    (tmp_path / "file").write_bytes(CONTENT)
    assert run("curl", "-sS", *way(overlay), "-T", tmp_path / "file", server.url("/put")).decode() == HASH


def test_a_server_at_an_ipv6_address(overlay):
    needs("curl")
    try:
        listening = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("needs IPv6")
    with listening as listener:

        def serve():
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + CONTENT)

        thread = threading.Thread(target=serve)
        thread.start()
        got = run("curl", "-sS", "-g", *by_socks(overlay), f"http://[::1]:{listener.getsockname()[1]}/")
        thread.join()
    assert hashlib.sha256(got).hexdigest() == HASH


def test_curl_keeps_its_connection(overlay, server):
    needs("curl")
    server.handler.requests.clear()
    urls = [server.url(f"/small?{i}") for i in range(20)]
    assert run("curl", "-sS", *by_socks(overlay), *urls) == CONTENT[:50_000] * len(urls)
    assert len(server.handler.requests) == len(urls)
    assert len({port for _, port in server.handler.requests}) == 1, "one connection at the server, too"


def test_curl_that_is_killed_half_way_resets_the_server(overlay, server):
    needs("curl")
    server.handler.broken.clear()
    command = ["curl", "-sS", *by_socks(overlay), server.url("/endless")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as curl:
        curl.stdout.read(500_000)
        curl.kill()
    until = time.monotonic() + 20
    while not server.handler.broken and time.monotonic() < until:
        time.sleep(0.02)
    assert server.handler.broken and set(server.handler.broken) <= {"ConnectionResetError", "BrokenPipeError"}
    overlay.wait_until_empty()


def test_an_upload_that_is_killed_half_way_is_no_file(overlay, server):
    """The server is told of a reset: what has come looks like no whole file, even without a length."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(("127.0.0.1", overlay.connect))
        client.sendall(f"CONNECT 127.0.0.1:{listener.getsockname()[1]} HTTP/1.1\r\n\r\n".encode())
        assert client.recv(100).startswith(b"HTTP/1.1 200")
        client.sendall(CONTENT[:200_000])
        accepted, _ = listener.accept()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        with accepted, pytest.raises(ConnectionResetError):
            accepted.settimeout(20)
            while accepted.recv(65536):
                pass
            pytest.fail("the end of a file")


def test_a_server_that_resets_is_no_end_of_file(overlay, server):
    """Without a length the end of the stream is the end of the file; a reset must not look like it."""
    needs("curl")
    done = subprocess.run(
        ["curl", "-sS", *by_socks(overlay), server.url("/reset")], capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 56, (done.returncode, done.stderr)
    overlay.wait_until_empty()


def test_wget_downloads(overlay, server):
    needs("wget")
    proxied = server.url("/file").replace(str(server.server_address[1]), str(overlay.forward[server.server_address[1]]))
    got = run("wget", "-q", "-O", "-", "--no-proxy", proxied)
    assert hashlib.sha256(got).hexdigest() == HASH


@pytest.fixture
def repository(tmp_path):
    needs("git")
    work = tmp_path / "work"
    run("git", "init", "-q", work)
    for i in range(20):
        (work / f"{i}.bin").write_bytes(CONTENT[i * 50_000 : (i + 1) * 50_000])
        run("git", "-C", work, "add", ".")
        run("git", "-C", work, "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-q", "-m", f"{i}")
    return work


def same_files(clone):
    return b"".join((clone / f"{i}.bin").read_bytes() for i in range(20)) == CONTENT[:1_000_000]


def test_git_clones_by_its_own_protocol(overlay, repository, started, tmp_path):
    where = Path(subprocess.check_output(["git", "--exec-path"], text=True).strip()) / "git-daemon"
    needs(where)
    port = PORTS["git"]
    started(port, where, "--export-all", f"--base-path={tmp_path}", "--listen=127.0.0.1", f"--port={port}", tmp_path)
    run("git", "clone", "-q", f"git://127.0.0.1:{overlay.forward[port]}/work", tmp_path / "clone")
    assert same_files(tmp_path / "clone")


def test_git_clones_by_http(overlay, repository, server):
    bare = server.folder / "bare.git"
    run("git", "clone", "-q", "--bare", repository, bare)
    run("git", "-C", bare, "update-server-info")
    proxy = f"http.proxy=socks5h://127.0.0.1:{overlay.socks}"
    run("git", "-c", proxy, "clone", "-q", server.url("/bare.git"), server.folder / "clone")
    assert same_files(server.folder / "clone")


def test_ssh_carries_files_both_ways(overlay, started, tmp_path):
    sshd = shutil.which("sshd") or "/usr/sbin/sshd"
    needs("ssh", "ssh-keygen", sshd)
    port = PORTS["ssh"]
    for key in ("host", "user"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / key)
    (tmp_path / "allowed").write_text((tmp_path / "user.pub").read_text())
    config = tmp_path / "sshd_config"
    config.write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/allowed\n"
        f"StrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\nPermitRootLogin yes\n"
    )
    privileges = Path("/run/sshd")
    if os.geteuid() == 0:
        privileges.mkdir(mode=0o755, exist_ok=True)  # sshd wants it of root, and distributions make it at boot
    started(port, sshd, "-D", "-e", "-f", config)
    ssh = ["ssh", "-F", "none", "-i", tmp_path / "user", "-p", overlay.forward[port], "-o", "StrictHostKeyChecking=no"]
    ssh += ["-o", f"UserKnownHostsFile={tmp_path}/known", "-o", "BatchMode=yes", "127.0.0.1"]
    assert run(*ssh, "sha256sum", input=CONTENT).split()[0].decode() == HASH
    (tmp_path / "file").write_bytes(CONTENT)
    assert hashlib.sha256(run(*ssh, f"cat {tmp_path}/file")).hexdigest() == HASH
    assert run(*ssh, "echo hello; exec 1>&-; exit 0") == b"hello\n"


def test_iperf3_gets_eight_streams_at_once(overlay, started):
    needs("iperf3")
    port = PORTS["iperf3"]
    started(port, "iperf3", "-s", "-B", "127.0.0.1", "-p", port)
    said = json.loads(run("iperf3", "-J", "-c", "127.0.0.1", "-p", overlay.forward[port], "-R", "-P", "8", "-t", "3"))
    assert "error" not in said
    streams = [stream["receiver"]["bytes"] for stream in said["end"]["streams"]]
    assert len(streams) == 8 and min(streams) > 0
    # Of 50 Mbps, on a machine that does other things at the same time; each of eight has something of it.
    assert said["end"]["sum_received"]["bits_per_second"] > 5e6, streams
    overlay.wait_until_empty()


@pytest.mark.parametrize("scheme", ["cubic", "fcp"])
def test_a_connection_is_one_flow(scheme: str) -> None:
    """The node that has opened a flow takes none back, whatever header packets have."""
    echo = threading.Event()

    def handle(connection: socket.socket) -> None:
        connection.sendall(connection.recv(5))
        echo.wait(20)

    with nodes.serving(handle) as server, nodes.Overlay(scheme, forwards=(server,)) as overlay:
        with socket.create_connection(("127.0.0.1", overlay.forward[server]), timeout=20) as client:
            client.sendall(b"hello")
            assert client.recv(5) == b"hello"
            there, back = (overlay.ask(name)["tables"]["fill"]["passive_flows"] for name in ("b", "a"))
            assert there >= 1 and back == 0
        echo.set()
