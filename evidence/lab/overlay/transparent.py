"""Connections that are routed to a node, in namespaces; `unshare -Urn python evidence/lab/overlay/transparent.py`.

Here are `a`, `r` and the clients; in another namespace are `b` and the servers, at addresses that here are the
machine's own by a local route. Links are IPv6, over Ethernet's packets of 1,500 bytes.
"""

from __future__ import annotations

import subprocess
import sys

from nodes import Overlay, namespace, run

SERVER = """
import http.server, socket, sys, threading
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(bytes(i % 251 for i in range(100_000)))
    def log_message(self, *_):
        pass
class Six(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6
four = http.server.ThreadingHTTPServer(("198.51.100.3", 80), Page)
threading.Thread(target=four.serve_forever, daemon=True).start()
six = Six(("2001:db8:1::7", 80), Page)
print("ready", flush=True)
six.serve_forever()
"""
CONTENT = bytes(i % 251 for i in range(100_000))
TARGETS = ("198.51.100.0/24:80", "[2001:db8:1::]/48:80", "198.51.100.0/24:81")
TABLES = "".join(f'[[transparent]]\nto = "{to}"\nexit = "b"\n' for to in TARGETS)


def get(url: str) -> str:
    """What curl says, and whether it is right."""
    done = subprocess.run(["curl", "-sS", "-g", "-m", "20", url], capture_output=True, check=False)
    if done.returncode in (7, 55, 56):  # while it connects, when it sends, or when it reads
        return f"reset, {len(done.stdout)} bytes"
    right = ", right" if done.stdout == CONTENT else ""
    return f"curl {done.returncode}, {len(done.stdout)} bytes{right}"


def main() -> None:
    """Prints what clients got."""
    with namespace() as (there, inside):
        run("ip link set lo up")
        run(f"ip link add here type veth peer name there netns {there}")
        run("ip addr add fd09::1/64 dev here nodad")
        run("ip link set here up")
        # A wildcard is at all of the machine's addresses, and these are its own, too.
        run("ip route add local 198.51.100.0/24 dev lo")
        run("ip route add local 2001:db8:1::/48 dev lo")
        for command in (
            "ip addr add fd09::2/64 dev there nodad",
            "ip link set there up",
            "ip addr add 198.51.100.3/32 dev lo",
            "ip addr add 2001:db8:1::7/128 dev lo nodad",
        ):
            run(command, inside)
        server = subprocess.Popen([*inside, sys.executable, "-c", SERVER], stdout=subprocess.PIPE)
        assert server.stdout is not None
        server.stdout.readline()
        overlay = Overlay(hosts={"a": "[fd09::1]", "r": "[fd09::1]", "b": "[fd09::2]"}, within={"b": inside}, a=TABLES)
        try:
            overlay.start()
            overlay.wait()
            print(f"198.51.100.3: {get('http://198.51.100.3/')}")
            print(f"[2001:db8:1::7]: {get('http://[2001:db8:1::7]/')}")
            print(f"198.51.100.3:81: {get('http://198.51.100.3:81/')}")
            print(f"127.0.0.1: {get('http://127.0.0.1/')}")
            entered = overlay.ask("a")["conversations"]["entered"]
            b = overlay.ask("b")["conversations"]
            print(f"{entered} entered, {b['left']} left, {b['refused']} refused")
        finally:
            overlay.close()
            server.kill()
            server.wait()


if __name__ == "__main__":
    main()
