"""A scenario's nodes as processes of `midpathd node`, one in each namespace, on the laboratory's lines.

Each port has the rate that the scenario gives its link, for packets of nodes. The underlying line is faster by the
overlay's headers and a little more, so that packets queue in nodes and not on lines.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import tomli_w

from midpath.errors import UsageError
from midpath.lab.clean import stem
from midpath.lab.congestion import KERNEL
from midpath.lab.network import Network, address
from midpath.lab.plan import Plan
from midpath.lab.spaces import enter

# The schemes that packets with bytes go by (docs/overlay.md), but for fixed-window, which is for tests.
SCHEMES = ("newreno", "cubic", "bbr", "dctcp", "prague", "rcp", "fcp", "inrpp")
# A packet of a node, at most, and what IP, UDP and the overlay put around it (net/node/src/overlay.rs).
PACKET, HEADERS = 1415, 65
WITH_HEADERS = (PACKET + HEADERS) / PACKET
# How much faster than the node's port a line is, and what has room in its queue. Ours: hellos and reports are a
# thousandth; and what is sent late and in a bunch is less than the queue of evidence/lab/overlay/compare.
HEADROOM, QUEUE_S = 1.03, 0.1
# Where flow 0 goes in and comes out, the next one a port further; below the ports that clients are given.
ENTRANCES, EXITS = 10_000, 20_000
PORT = 4700
# How long all nodes have to find their neighbours, and those the sizes that the lines carry.
PATIENCE_S = 30.0
# The keys of a scenario that a node's network has.
NETWORK = ("format", "scheme", "seed", "stop", "topology", "queue", "queues", "host_queue", "routing", "schemes")


class Nodes:
    """The processes, while the `with` block runs."""

    def __init__(self, plan: Plan, network: Network, midpathd: str) -> None:
        self.plan, self.network, self.midpathd = plan, network, midpathd
        # As namespaces: whoever cleans up finds it by its name.
        self.folder = Path(tempfile.mkdtemp(prefix=f"{stem()}-nodes-"))
        self.processes: dict[int, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Nodes:
        """Writes their configurations."""
        try:
            self._configure()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends them."""
        self.close()

    def close(self) -> None:
        """Ends them."""
        for process in self.processes.values():
            process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    @staticmethod
    def lines() -> dict[str, float]:
        """What the lines between them are like, and where flows go in and out, for `midpath-lab run`."""
        return {"faster": WITH_HEADERS * HEADROOM, "queue_s": QUEUE_S, "entrances": ENTRANCES, "exits": EXITS}

    def start(self) -> None:
        """Starts them, and waits until all have found their neighbours."""
        for node in range(len(self.plan.nodes)):
            # A laboratory whose master is killed ends, too.
            words = (self.midpathd, "node", "up", str(self._file(node)))
            command = ["setpriv", "--pdeathsig", "KILL", *enter(self.network.space(node), *words)]
            with self._file(node, "log").open("wb") as log:
                self.processes[node] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        until = time.monotonic() + PATIENCE_S
        for node, process in self.processes.items():
            while not self._is_up(node):
                if process.poll() is not None or time.monotonic() > until:
                    said = " ".join(self._file(node, "log").read_text(errors="replace").split())
                    why = "did not find its neighbours" if process.poll() is None else "has ended"
                    raise OSError(f"the laboratory failed: the node {self.plan.name(node)} {why}: {said}")
                time.sleep(0.05)

    def status(self) -> list[dict[str, Any]]:
        """What all of them have to say, in the order of the plan."""
        return [self._ask(node) for node in range(len(self.plan.nodes))]

    def _file(self, node: int, kind: str = "toml") -> Path:
        return self.folder / f"{node}.{kind}"

    def _ask(self, node: int) -> dict[str, Any]:
        with socket.socket(socket.AF_UNIX) as commands:
            commands.settimeout(10)
            commands.connect(str(self._file(node, "sock")))
            commands.sendall(b"status\n")
            answer = b""
            while piece := commands.recv(1 << 16):
                answer += piece
        said: dict[str, Any] = json.loads(answer)
        return said

    def _is_up(self, node: int) -> bool:
        with contextlib.suppress(OSError, ValueError):
            links = [port["link"] for port in self._ask(node)["ports"]]
            return all(link["up"] and link["largest_packet"] >= PACKET for link in links)
        return False

    def _configure(self) -> None:
        with (self.folder / "net.toml").open("wb") as file:
            tomli_w.dump(net(self.plan), file)
        keys = []
        for node in range(len(self.plan.nodes)):
            command = [self.midpathd, "node", "key", str(self._file(node, "key"))]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise UsageError(done.stderr.strip().removeprefix("midpathd: "))
            keys.append(done.stdout.strip())
        for node, values in enumerate(configurations(self.plan, keys)):
            with self._file(node).open("wb") as file:
                tomli_w.dump(values, file)


def has_to(plan: Plan) -> bool:
    """Whether the kernel has not the scheme, and nodes have it."""
    scheme = plan.values["scheme"]
    return scheme in SCHEMES and scheme not in KERNEL


def together(ran: dict[str, Any], said: list[dict[str, Any]], plan: Plan) -> dict[str, Any]:
    """What lines and ends have measured, with what nodes know: of ports they have the queues."""
    numbers = {plan.name(node): node for node in range(len(plan.nodes))}
    for row in ran["ports"]:
        port = said[numbers[row["node"]]]["ports"][row["port"]]
        drops, waited, line = port["drops"], port["waited_s"], row["bytes"]
        found = {
            "packets": port["packets"],
            "bytes": port["bytes"],
            "utilisation": row["utilisation"] * port["bytes"] / line if line else 0.0,
            "drops_queue": row["drops_queue"] + drops["queue"],
            "drops_aqm": drops["aqm"],
            "drops_fault": row["drops_fault"] + drops["fault"],
            "drops_policy": drops["policy"],
            "marks": port["marks"],
            "queue_mean_bytes": waited["bytes"] / ran["simulated_s"],
            "queue_max_bytes": port["queue"]["most_bytes"],
        }
        row.update(found | {f"delay_{key}_s": waited[key] for key in ("mean", "p50", "p95", "p99", "max")})
    late = {key: max((one["late_us"][key] or 0 for one in said), default=0) for key in ("p50", "p99")}
    sums = {key: sum(one["flows"][key] for one in said) for key in ("packets", "again", "timeouts")}
    # A node that is too busy loses its priority, for a second and longer each time.
    losses = sum(one["priority"]["losses"] or 0 for one in said)
    return ran | {"nodes": sums | {"late_us": late, "priority_losses": losses}}


def net(plan: Plan) -> dict[str, Any]:
    """The network that all nodes read: the scenario's, with its flows as they were drawn."""
    found = {key: plan.written[key] for key in NETWORK if key in plan.written}
    found |= {"scheme": plan.values["scheme"], "seed": plan.values["seed"]}
    topology = dict(found["topology"])
    if isinstance(topology.get("file"), str):
        topology["file"] = str((plan.scenario.base_dir / topology["file"]).resolve())
    found["topology"] = topology
    if found["scheme"] == "inrpp":
        tables = dict(found.get("schemes", {}))
        # Nodes take none that stands in everybody's sources.
        tables["inrpp"] = {"secret": secrets.token_hex(16)} | dict(tables.get("inrpp", {}))
        found["schemes"] = tables
    # What ports make of round trips and shares follows from them.
    found["flow"] = [
        {"from": plan.name(flow["from"]), "to": plan.name(flow["to"]), "start": f"{flow['start_s']!r} s"}
        | ({} if flow["size_bytes"] is None else {"size": f"{flow['size_bytes']} B"})
        | ({} if flow["stop_s"] is None else {"stop": f"{flow['stop_s']!r} s"})
        for flow in plan.flows
    ]
    return found


def configurations(plan: Plan, keys: list[str]) -> list[dict[str, Any]]:
    """Each node's configuration."""
    found: list[dict[str, Any]] = []
    for node in range(len(plan.nodes)):
        values = {"network": "net.toml", "node": plan.name(node), "key": f"{node}.key", "listen": f"0.0.0.0:{PORT}"}
        entrances = [number for number, flow in enumerate(plan.flows) if flow["from"] == node]
        forward = [
            {
                "listen": f"127.0.0.1:{ENTRANCES + number}",
                "exit": plan.name(plan.flows[number]["to"]),
                "to": f"127.0.0.1:{EXITS + number}",
            }
            for number in entrances
        ]
        exits = [f"127.0.0.1/32:{EXITS}-{EXITS + len(plan.flows)}"] if node in plan.hosts else []
        found.append(values | {"neighbour": [], "forward": forward, "exit": {"allow": exits}})
    for link in plan.links:
        for end, other, rate in (("a", "b", link["rates_bps"][0]), ("b", "a", link["rates_bps"][1])):
            neighbour = {
                "node": plan.name(link[other]),
                "key": keys[link[other]],
                "address": f"{address(link[other])}:{PORT}",
                "rate": f"{round(rate * WITH_HEADERS)} bps",
                # Nobody else is on the line, and the laboratory knows its rate.
                "dedicated": True,
            }
            found[link[end]]["neighbour"].append(neighbour)
    return found
