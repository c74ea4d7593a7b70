"""RPM at ports of a scenario: `midpathd rpm` in their routers' namespaces, and what it says of itself."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from typing import IO, Any

from midpath.errors import ScenarioError
from midpath.lab.network import Network
from midpath.lab.plan import Plan
from midpath.lab.spaces import enter
from midpath.units import parse

SCHEME = "rpm"
# How often a queue is looked at, in seconds.
SAMPLE_S = 0.1
# What a shaper counts of a full packet: Ethernet's header, too.
PACKET_BYTES, ETHERNET_BYTES = 1500, 14
# By kind and variant of the scenario's queue.
AQMS = {("codel", "rfc8289"): "codel", ("codel", "data-plane"): "codel-dataplane", ("delay-step", ""): "step"}
# Parameters of RPM, by midpathd's options.
PARAMS = {"mode": "--mode", "registers": "--registers", "size": "--flows"}

Look = dict[str, Any]
Add = Callable[[float, str, float], None]


class Router:
    """RPM on a device of a namespace, while the `with` block runs, and what it says of itself."""

    def __init__(self, space: str, midpathd: str, device: str, arguments: Sequence[str]) -> None:
        self.space, self.midpathd, self.device, self.arguments = space, midpathd, device, arguments
        # Who looks, and the file that it writes: a pipe that nobody reads is full after a few looks.
        self.watching: tuple[subprocess.Popen[bytes], IO[bytes]] | None = None

    def __enter__(self) -> Router:
        """Turns RPM on."""
        self._midpathd("up", *self.arguments)
        return self

    def __exit__(self, *_: object) -> None:
        """Turns it off."""
        self.stop_watching()
        self._midpathd("down")

    def _command(self, what: str, *more: str) -> list[str]:
        return enter(self.space, self.midpathd, "rpm", what, "--dev", self.device, *more)

    def _midpathd(self, what: str, *more: str) -> str:
        done = subprocess.run(self._command(what, *more), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise OSError(f"midpathd rpm {what}: {done.stderr.strip()}")
        return done.stdout

    def status(self) -> Look:
        """What it has counted."""
        found: Look = json.loads(self._midpathd("status", "--json"))["devices"][0]
        return found

    def watch(self) -> None:
        """Begins to look at the queue again and again."""
        command = self._command("status", "--json", "--watch", "--every", f"{SAMPLE_S * 1000:.0f}ms")
        looks = tempfile.TemporaryFile()  # noqa: SIM115 (`stop_watching` closes it)
        self.watching = (subprocess.Popen(command, stdout=looks), looks)

    def stop_watching(self) -> list[Look]:
        """What was seen since `watch`: `time_s` (since boot) and the status at each look."""
        if self.watching is None:
            return []
        process, looks = self.watching
        self.watching = None
        process.terminate()
        process.wait()
        with looks:
            looks.seek(0)
            # The last line may have been cut off.
            lines = [json.loads(line) for line in looks if line.endswith(b"}\n")]
        return [{"time_s": line["time_s"], **line["devices"][0]} for line in lines if line["devices"]]


@dataclass(frozen=True)
class Place:
    """A port at which a scenario deploys RPM: an end of a link."""

    link: int
    end: int
    node: str
    peer: str

    @property
    def way(self) -> int:
        """The direction, as `midpath-lab run` numbers them."""
        return 2 * self.link + self.end

    @property
    def device(self) -> str:
        """The node's device."""
        return f"e{self.link}"


def rpm_ports(plan: Plan) -> list[Place]:
    """Where RPM is deployed."""
    return [
        Place(number, end, *(plan.name(link[side]) for side in ("ab" if end == 0 else "ba")))
        for number, link in enumerate(plan.links)
        for end in (0, 1)
        if link["schemes"][end] == SCHEME
    ]


def arguments(plan: Plan, place: Place) -> list[str]:
    """What `midpathd rpm up` is asked for at a port; `ScenarioError` where it cannot do that."""
    rate = plan.links[place.link]["rates_bps"][place.end]
    found = ["--rate", f"{rate * (PACKET_BYTES + ETHERNET_BYTES) / PACKET_BYTES:.0f}bps"]
    (number, row), *others = [(n, row) for n, row in enumerate(plan.written["deploy"]) if row["scheme"] == SCHEME]
    queue = plan.written.get("queues", {}).get(row.get("queue"), {})

    def unsupported(key: str, message: str) -> ScenarioError:
        return ScenarioError(key, None, message, plan.scenario.source)

    if others:
        raise unsupported(f"deploy[{others[0][0]}]", "is not possible in the laboratory: one row has all ports of RPM")
    kind = queue.get("kind", "drop-tail")
    aqm = AQMS.get((kind, queue.get("variant", "rfc8289") if kind == "codel" else ""))
    if aqm is None or "limit" not in queue:
        raise unsupported(
            f"deploy[{number}].queue", "must name one of `queues`: codel or delay-step with a limit in time"
        )
    try:
        times = {key: parse("seconds", queue[key]) for key in ("limit", "target", "interval") if key in queue}
    except ValueError as error:
        raise unsupported(f"queues.{row['queue']}", str(error)) from None
    options = {"limit": "--buffer", "target": "--target", "interval": "--interval"}
    found += ["--aqm", aqm, *(word for key, s in times.items() for word in (options[key], f"{s * 1e6:.0f}us"))]
    params = row.get("params", {})
    found += [word for key, option in PARAMS.items() if key in params for word in (option, str(params[key]))]
    return [*found, "--aggregate"] if params.get("aggregate") else found


class Routers:
    """RPM at all its ports, while the `with` block runs."""

    def __init__(self, plan: Plan, network: Network, midpathd: str, more: Sequence[str] = ()) -> None:
        self.stack = ExitStack()
        self.at = {
            at: Router(network.space(plan.number(at.node)), midpathd, at.device, [*arguments(plan, at), *more])
            for at in rpm_ports(plan)
        }

    def __enter__(self) -> Routers:
        """Turns RPM on, and begins to look."""
        with self.stack:
            for router in self.at.values():
                self.stack.enter_context(router)
                router.watch()
            self.stack = self.stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Turns it off."""
        self.stack.close()

    @property
    def ways(self) -> list[int]:
        """Directions before which the kernel has the queue, as `midpath-lab run` wants them."""
        return [place.way for place in self.at]

    def together(self, ran: dict[str, Any]) -> dict[str, Any]:
        """What links and ends have measured, with what RPM knows of its ports."""
        found = {}
        for place, router in self.at.items():
            looks, name = router.stop_watching(), f"{place.node}>{place.peer}"
            found[name] = status = router.status()
            row = next(row for row in ran["ports"] if (row["node"], row["peer"]) == (place.node, place.peer))
            row.update(counted(status, row, looks, ran["simulated_s"]))
            entity = f"port:{name}"
            kept = [one for one in ran["series"] if one[1:3] != [entity, "queue_bytes"]]
            ran["series"] = [*kept, *series(entity, looks, ran["began_s"], ran["simulated_s"])]
        return ran | {"rpm": found} if found else ran


def counted(status: Look, row: dict[str, Any], looks: Sequence[Look], span: float) -> dict[str, Any]:
    """Columns of a port, where RPM knows better than the link behind it."""
    counters, sojourn = status["counters"], status["sojourn"]
    packets = counters["packets"]
    carried = counters["bytes"] - ETHERNET_BYTES * packets
    backlog = [look["queue"]["backlog_bytes"] for look in looks]
    waited = {key: _seconds(sojourn[f"{key}_ns"]) for key in ("p50", "p95", "p99")}
    waited["mean"] = _seconds(counters["sojourn_sum_ns"] / packets if packets else None)
    waited["max"] = _seconds(sojourn["histogram"][-1][1] if sojourn["histogram"] else None)
    return {
        "packets": packets,
        "bytes": carried,
        "utilisation": carried * 8 / (row["rate_bps"] * span) if span else 0.0,
        "drops_queue": status["queue"]["drops"],
        "drops_aqm": counters["dropped"],
        "marks": counters["marked_ce"],
        "marks_back": counters["marked_ece"],
        "signals": counters["signals"],
        "signal_wait_s": _seconds(status["signal_wait_ns"]),
        "queue_mean_bytes": sum(backlog) / len(backlog) if backlog else None,
        "queue_max_bytes": max(backlog, default=None),
    } | {f"delay_{key}_s": value for key, value in waited.items()}


def _seconds(ns: float | None) -> float | None:
    return None if ns is None else ns / 1e9


def series(entity: str, looks: Sequence[Look], began: float, span: float) -> Iterator[tuple[float, str, str, float]]:
    """What was seen of a port while the run lasted."""
    looks = [look | {"at": look["time_s"] - began} for look in looks if 0 <= look["time_s"] - began <= span]
    for look in looks:
        yield look["at"], entity, "queue_bytes", float(look["queue"]["backlog_bytes"])
        yield look["at"], entity, "registers_owned", float(look["registers"]["owned"])
    for before, after in pairwise(looks):
        had, has, took = before["counters"], after["counters"], after["at"] - before["at"]
        if took < SAMPLE_S / 10:
            continue
        if packets := has["packets"] - had["packets"]:
            yield after["at"], entity, "sojourn_s", (has["sojourn_sum_ns"] - had["sojourn_sum_ns"]) / packets / 1e9
        for metric in ("signals", "marked_ce", "marked_ece"):
            yield after["at"], entity, f"{metric}_per_s", (has[metric] - had[metric]) / took
