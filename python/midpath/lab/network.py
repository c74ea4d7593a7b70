"""A scenario's nodes as network namespaces, and its links as devices that `midpath-lab run` joins.

    host ══ e0 ── l0a ┐                 ┌ l0b ── e0 ══ router ══ e1 ── l1a …
                      └── midpath-lab ──┘

All devices' other ends are in one namespace, where the emulator forwards frames between them.
"""

from __future__ import annotations

import itertools
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from midpath.lab import spaces
from midpath.lab.clean import stem
from midpath.lab.plan import Plan
from midpath.lab.spaces import NETNS, SINGLE, delete, enter, setting, veth
from midpath.units import parse

# Enough for 200 Mbps over 220 ms, twice.
SOCKET_BYTES = 16 << 20
LEAST_MTU = 1280
# IPv6 without packets of its own: no link-local address, no search for routers or for others with an address.
QUIET = {"addr_gen_mode": 1, "accept_ra": 0, "autoconf": 0, "accept_dad": 0, "dad_transmits": 0}
_made = itertools.count()


def address(node: int) -> str:
    """A node's address, as `midpath-lab run` has it."""
    return f"10.77.{node >> 8}.{node & 0xFF}"


def address6(node: int) -> str:
    """The same of IPv6, which hosts and routers have for programs."""
    return f"fd77::1:{node:x}"


def carries_ipv6(plan: Plan) -> bool:
    """Whether there is IPv6: for programs, where each link has its least MTU (RFC 8200, §5)."""
    return bool(plan.programs) and all(link["mtu"] >= LEAST_MTU for link in plan.links)


def mac(link: int, end: int) -> str:
    """The address of a device of a node: that of end `a` (0) or `b` (1) of a link."""
    return f"02:6d:70:{link >> 8:02x}:{link & 0xFF:02x}:{end:02x}"


class Network:
    """The namespaces, while the `with` block runs."""

    def __init__(self, plan: Plan, *, whole: bool = False, nodes: bool = False) -> None:
        # Of whoever makes it: a laboratory whose master is gone is found by that.
        self.stem = f"{stem()}-{next(_made)}"
        # With `nodes` nothing is routed: Midpath's nodes forward, and send to their neighbours alone.
        self.plan, self.whole, self.nodes = plan, whole, nodes
        self.made: list[str] = []

    def __enter__(self) -> Network:
        """Builds them."""
        try:
            self._build()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Takes them away."""
        self.close()

    def close(self) -> None:
        """Takes them away, with all devices in them."""
        while self.made:
            delete(self.made.pop())

    def space(self, node: int) -> str:
        """A node's namespace."""
        return f"{self.stem}-n{node}"

    @property
    def between(self) -> str:
        """The namespace of the links."""
        return f"{self.stem}-w"

    def paths(self) -> dict[str, Any]:
        """The namespaces as files, as `midpath-lab run` wants them, and when their routes change."""
        hosts = {str(node): f"{NETNS}/{self.space(node)}" for node in self.plan.hosts}
        return {"between": f"{NETNS}/{self.between}", "hosts": hosts, "reroutes": self._reroutes()}

    def run(self, space: str, script: str) -> None:
        """Runs a shell script in a namespace."""
        spaces.script(space, script)

    def default_control(self, name: str) -> None:
        """Hosts' TCP uses this congestion control, where the kernel lets it."""
        for node in self.plan.hosts:
            self.run(self.space(node), f"echo {name} 2>/dev/null > /proc/sys/net/ipv4/tcp_congestion_control || :\n")

    def batch(self, lines: list[str]) -> None:
        """Runs commands of `ip` outside of all namespaces."""
        spaces.batch(lines)

    @contextmanager
    def wires(self, midpath_lab: str) -> Iterator[None]:
        """Lets frames pass without a run: links delay them, and do nothing else."""
        paths = []
        for number, link in enumerate(self.plan.links):
            for one, other in ("ab", "ba"):
                paths += ["--path", f"in=l{number}{one},out=l{number}{other},delay={link['delay_s'] * 1e6:.0f}us"]
        pipe = subprocess.PIPE
        with subprocess.Popen(enter(self.between, midpath_lab, "wire", *paths), stdin=pipe, stdout=pipe) as wire:
            try:
                assert wire.stdout is not None
                if wire.stdout.readline() != b"ready\n":
                    raise OSError("cannot start the wires")
                yield
            finally:
                wire.kill()

    def _build(self) -> None:
        for space in (self.between, *(self.space(node) for node in range(len(self.plan.nodes)))):
            # What is made is noted first: it is taken away whatever happens.
            self.made.append(space)
            self.batch([f"netns add {space}"])
            # IPv6 would send packets of its own, which the scenario does not have.
            quiet = QUIET if space != self.between and carries_ipv6(self.plan) else {"disable_ipv6": 1}
            settings = ((f"net/ipv6/conf/{which}/{key}", quiet[key]) for which in ("all", "default") for key in quiet)
            self.run(space, "".join(setting(key, value) for key, value in settings))
        self.batch([line for number in range(len(self.plan.links)) for line in self._pairs(number)])
        self.run(self.between, "".join(f"ip link set {d} up\n" for d in self._devices()))
        routes, ends = self._routes(), self._ends()
        for node in range(len(self.plan.nodes)):
            self.run(self.space(node), self._node(node, ends[node], routes[node]))

    def _devices(self) -> Iterable[str]:
        return (f"l{number}{end}" for number in range(len(self.plan.links)) for end in "ab")

    def _pairs(self, number: int) -> Iterable[str]:
        link = self.plan.links[number]
        # A frame is a packet, as it would lie on a wire, unless the hosts' offloads are a part of the question.
        more = f"mtu {link['mtu']}" if self.whole else f"mtu {link['mtu']} {SINGLE}"
        for end, node in enumerate((link["a"], link["b"])):
            one, device = self.space(node), f"e{number}"
            yield veth(one, device, self.between, f"l{number}{'ab'[end]}", mac=mac(number, end), more=more)

    def _ends(self) -> dict[int, list[tuple[int, int]]]:
        """Of each node its links, with the end that it is."""
        found = defaultdict(list)
        for number, link in enumerate(self.plan.links):
            found[link["a"]].append((number, 0))
            found[link["b"]].append((number, 1))
        return found

    def _routes(self) -> dict[int, list[tuple[int, list[int]]]]:
        """Of each node, towards which host by which links."""
        found = defaultdict(list)
        if self.nodes:
            for number, link in enumerate(self.plan.links):
                found[link["a"]].append((link["b"], [number]))
                found[link["b"]].append((link["a"], [number]))
            return found
        for route in self.plan.values["routes"]:
            found[route["at"]].append((route["to"], route["links"]))
        return found

    def _node(self, node: int, ends: list[tuple[int, int]], routes: list[tuple[int, list[int]]]) -> str:
        """The script that makes a namespace a node."""
        router = self.plan.nodes[node]["kind"] == "router" and not self.nodes
        host = not router and not self.nodes
        lines = ["ip link set lo up", f"ip addr add {address(node)}/32 dev lo"]
        with_ipv6 = carries_ipv6(self.plan)
        if with_ipv6:
            lines.append(f"ip addr add {address6(node)}/128 dev lo nodad")
        for number, end in ends:
            peer = self._peer(node, number)
            lines.append(f"ip link set e{number} up")
            for near in (address(peer), address6(peer))[: 1 + with_ipv6]:
                lines.append(f"ip neigh add {near} lladdr {mac(number, 1 - end)} dev e{number} nud permanent")
        lines += [f"ip route add {route}" for to, links in routes for route in self._route(node, to, links)]
        settings: dict[str, object] = {"net/ipv4/ip_forward": int(router), "net/ipv4/fib_multipath_hash_policy": 1}
        if with_ipv6:
            settings |= {"net/ipv6/conf/all/forwarding": int(router), "net/ipv6/fib_multipath_hash_policy": 1}
        settings |= {f"net/ipv4/conf/{which}/rp_filter": 0 for which in ("all", "default")}
        settings |= {f"net/ipv4/conf/e{number}/rp_filter": 0 for number, _ in ends}
        if host:
            settings |= _settings(self.plan)
        return "\n".join(lines) + "\n" + "".join(setting(key, value) for key, value in settings.items())

    def _peer(self, node: int, number: int) -> int:
        link = self.plan.links[number]
        return int(link["b"] if link["a"] == node else link["a"])

    def _route(self, node: int, to: int, links: list[int]) -> Iterator[str]:
        """What `ip route` is told; without a link packets are dropped, as in the simulator."""
        chosen = links[:1] if self._one_way() else links
        host = self.plan.nodes[node]["kind"] != "router" and not self.nodes
        metrics = _route_metrics(self.plan) if host else ""
        nexthop = "nexthop " if len(chosen) > 1 else ""
        for name, bits in ((address, 32), (address6, 128))[: 1 + carries_ipv6(self.plan)]:
            ways = [f"{nexthop}via {name(self._peer(node, number))} dev e{number} onlink" for number in chosen]
            kind, how = ("", f" src {name(node)} {metrics}{' '.join(ways)}") if ways else ("blackhole ", "")
            yield f"{kind}{name(to)}/{bits}{how}"

    def _reroutes(self) -> list[tuple[float, str]]:
        """When routes change, and the script that changes them."""
        return [(at, "".join(self._reroute(routes))) for at, routes in self.plan.values["reroutes"]]

    def _reroute(self, routes: list[dict[str, Any]]) -> Iterator[str]:
        for node, of in itertools.groupby(routes, lambda route: int(route["at"])):
            lines = [f"route replace {line}\n" for row in of for line in self._route(node, row["to"], row["links"])]
            yield f"ip -n {self.space(node)} -batch - <<'END'\n{''.join(lines)}END\n"

    def _one_way(self) -> bool:
        return bool(self.plan.written.get("routing", {}).get("ecmp") == "off")


def _first(plan: Plan, key: str) -> Any:
    """A parameter that is the same for all schemes, or `None`."""
    return next((found for scheme in plan.schemes if (found := plan.parameters(scheme).get(key)) is not None), None)


def _settings(plan: Plan) -> Mapping[str, object]:
    """What hosts are told of TCP."""
    room = SOCKET_BYTES
    if (window := _first(plan, "receive_window")) is not None:
        # Half of the room is the window's (tcp_adv_win_scale), at most.
        room = max(int(2 * parse("bytes", window)), 4096)
    # As the simulator has it: DCTCP asks for ECN itself, the others if they are told.
    ecn = any(plan.parameters(scheme).get("ecn") is True for scheme in plan.schemes)
    found: dict[str, object] = {
        "net/ipv4/tcp_ecn": int(ecn),
        # A run must not know what the one before it has measured.
        "net/ipv4/tcp_no_metrics_save": 1,
        "net/ipv4/tcp_rmem": f"4096 {min(131072, room)} {room}",
        "net/ipv4/tcp_wmem": f"4096 65536 {SOCKET_BYTES}",
    }
    names = {"sack": "tcp_sack", "timestamps": "tcp_timestamps", "max_retries": "tcp_retries2"}
    names |= {"syn_retries": "tcp_syn_retries", "dup_thresh": "tcp_reordering"}
    for key, name in names.items():
        if (value := _first(plan, key)) is not None:
            found[f"net/ipv4/{name}"] = int(value)
    return found


def _route_metrics(plan: Plan) -> str:
    """What hosts' routes are told of TCP."""
    parts = []
    if (window := _first(plan, "initial_window")) is not None:
        parts.append(f"initcwnd {int(window)}")
    if (least := _first(plan, "min_rto")) is not None:
        parts.append(f"rto_min {max(round(parse('seconds', least) * 1e3), 1)}ms")
    if _first(plan, "delayed_ack") in (False, 1):
        parts.append("quickack 1")
    return "".join(f"{part} " for part in parts)
