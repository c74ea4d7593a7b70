"""A scenario in the laboratory: on a kernel's TCP, or on Midpath's nodes, with a result in the simulator's format."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from midpath.citing import sources
from midpath.compare.comparison import Comparison
from midpath.errors import UsageError
from midpath.lab import budget, clients, keys, programs, qdiscs
from midpath.lab import nodes as midpath_nodes
from midpath.lab.congestion import KERNEL, OURS, allowed, controls
from midpath.lab.gather import result
from midpath.lab.guest import Guest
from midpath.lab.machine import Tools, describe_kernel, program, version
from midpath.lab.network import LEAST_MTU, Network, carries_ipv6
from midpath.lab.nodes import Nodes
from midpath.lab.plan import Plan, asked, plan
from midpath.lab.router import Routers, arguments, rpm_ports
from midpath.result import MARKER, Result, load
from midpath.run.whole import run_directory
from midpath.scenario import Scenario
from midpath.schemes import remember

# How long after its end a run may take to say what it has measured.
PATIENCE_S = 60
# A run whose frames left later than this (99th percentile), or that lost any for want of time, says nothing of TCP.
# Fixed before the first run; a tenth of the shortest round trip of the scenarios in evidence/lab.
LATEST_US = 1000
# The same of nodes' wake-ups, which they count by doublings; as evidence/lab/overlay/compare has it.
LATEST_WAKE_UP_US = 1024
# Told after each run: its scheme and seed, how many are done, how many there are.
Told = Callable[[str, int, int, int], None]


@dataclass(frozen=True)
class Laboratory:
    """What runs need."""

    midpath_lab: str
    # What this machine can do in real time; in virtual time nothing is too much.
    budget: budget.Budget | None
    # Hosts hand over super-frames, as they would to a network card.
    whole: bool = False
    # User-mode Linux in place of this machine's kernel, and the discipline of routers' queues there.
    linux: Path | None = None
    qdisc: str | None = None
    # Midpath's nodes: for all schemes, or where the kernel has not the scenario's.
    nodes: bool = False
    # Where it is not on the path nor built.
    daemon: str | None = None

    @classmethod
    def of(cls, tools: Tools) -> Laboratory:
        """In real time with these programs, at any speed: what is late is told."""
        return cls(tools.midpath_lab, None, daemon=tools.midpathd)

    @property
    def midpathd(self) -> str:
        """What nodes are, and RPM's routers have."""
        return program("midpathd", self.daemon)

    def prepare(self, scenario: Scenario, given: Sequence[programs.Program] = ()) -> Plan:
        """As the function."""
        # What programs send is a kernel's.
        nodes = None if self.linux or given or clients.network(scenario) is not scenario else self.nodes
        found = prepare(scenario, self.midpath_lab, given, nodes=nodes)
        if self.linux and rpm_ports(found):
            raise keys.refused(found, "deploy", "is not possible in user-mode Linux, which has no eBPF")
        return found


def prepare(
    scenario: Scenario, midpath_lab: str, given: Sequence[programs.Program] = (), *, nodes: bool | None = False
) -> Plan:
    """The plan, with these programs, if the laboratory can do it; else `ScenarioError` names the key. Nothing is built.

    With `nodes` Midpath's nodes run it whatever its scheme is; with `None` a kernel does.
    """
    asking = clients.asked(scenario) if not given else None
    found = plan(clients.network(scenario), midpath_lab, given or (asking.programs(Path()) if asking else ()))
    programs.check(found)
    by_nodes = nodes is not None and (nodes or midpath_nodes.has_to(found))
    keys.refuse(replace(found, scenario=scenario), nodes=by_nodes)
    for place in () if by_nodes else rpm_ports(found):
        arguments(found, place)
    budget.check_size(found)
    return replace(found, by_nodes=by_nodes)


@dataclass(frozen=True)
class Case:
    """Scenarios that are compared under a name, one for each seed; a title, where it is no scheme's own."""

    name: str
    scenario: Callable[[int], Scenario]
    title: str | None = None

    def called(self, made: Result) -> Result:
        """A result of it under its name."""
        if self.title is not None:
            made.run["schemes"][self.name] = {"title": self.title}
            made.run["scheme"] = self.name
            remember(made.run)
        return made


def cases(scenario: Scenario, schemes: Sequence[str]) -> list[Case]:
    """A scenario under several schemes."""

    def under(scheme: str) -> Case:
        return Case(scheme, lambda seed: scenario.with_(scheme=scheme, seed=seed))

    return [under(scheme) for scheme in schemes]


def run(scenario: Scenario, laboratory: Laboratory, given: Sequence[programs.Program] = ()) -> Result:
    """Runs it once, with these programs at its hosts: in real time, or in a guest."""
    if (asking := clients.asked(scenario)) is None:
        return _run(scenario, laboratory, given)
    with asking.at_work() as folder:
        made = _run(scenario, laboratory, [*given, *asking.programs(folder)])
        made = asking.add(made, folder)
    made.run["scenario"] = scenario.effective_text()
    return made


def _run(scenario: Scenario, laboratory: Laboratory, given: Sequence[programs.Program]) -> Result:
    found = laboratory.prepare(scenario, given)
    carry = _inside if laboratory.linux else _by_nodes if found.by_nodes else _here
    ran, captures, more = carry(found, laboratory)
    made = result(found, ran, captures)
    made.run["machine"] = describe_kernel() | more
    made.run["warnings"] = warnings(found, ran, made)
    made.run["source"] = scenario.file_name
    made.run["cites"] = sources(made.run)
    if scenario.variant is not None:
        made.run["variant"] = scenario.variant
    return made


Ran = tuple[dict[str, Any], dict[str, bytes], dict[str, Any]]


def _order(found: Plan, names: dict[str, str]) -> dict[str, Any]:
    order = {"controls": names, "paced": paced(found), "patience_s": budget.LONGEST_S}
    return asked(found.scenario, for_programs=bool(found.programs)) | order


def _here(found: Plan, laboratory: Laboratory) -> Ran:
    """On this machine's kernel."""
    if laboratory.budget is not None:
        budget.check_budget(found, laboratory.budget)
    with built(found, laboratory) as lab, tempfile.TemporaryDirectory() as files:
        ran = lab.carry_out(files)
        more = {"midpathd": version(laboratory.midpathd)} if lab.routers.at else {}
        return ran, {path.name: path.read_bytes() for path in Path(files).iterdir()}, more


@dataclass(frozen=True)
class Built:
    """A plan's namespaces, with RPM at its ports."""

    plan: Plan
    midpath_lab: str
    network: Network
    routers: Routers
    order: dict[str, Any]

    def carry_out(self, files: str | None = None) -> dict[str, Any]:
        """Runs it once."""
        order = self.order | {"files": files, "kernel_queues": self.routers.ways}
        stop, command = self.plan.values["stop_s"], [self.midpath_lab, "run"]
        if not self.plan.programs:
            return self.routers.together(carry_out(order, command, stop))
        with tempfile.TemporaryDirectory() as folder, programs.shown(self.plan, Path(str(files))):
            names = Path(folder) / "hosts"
            names.write_text(programs.names(self.plan))
            order |= programs.order(self.plan, Path(str(files))) | {"names": str(names)}
            return self.routers.together(carry_out(order, programs.alone(names, *command), stop))


@contextmanager
def built(found: Plan, laboratory: Laboratory, more: Sequence[str] = ()) -> Iterator[Built]:
    """A plan on this machine's kernel, until the block ends; `more` is what RPM's routers are asked for besides."""
    midpathd = laboratory.midpathd if rpm_ports(found) else ""
    with (
        controls(found.schemes, laboratory.midpath_lab, "scheme") as names,
        Network(found, whole=laboratory.whole) as network,
        Routers(found, network, midpathd, more) as routers,
        allowed(names[own]) if (own := found.scheme_of_programs) else nullcontext(),
    ):
        if own:
            network.default_control(names[own])
        yield Built(found, laboratory.midpath_lab, network, routers, _order(found, names) | network.paths())


def _by_nodes(found: Plan, laboratory: Laboratory) -> Ran:
    """On Midpath's nodes."""
    midpathd = laboratory.midpathd
    if laboratory.budget is not None:
        budget.check_budget(found, laboratory.budget, nodes=True)
    with Network(found, whole=laboratory.whole, nodes=True) as network, Nodes(found, network, midpathd) as nodes:
        order = _order(found, {}) | network.paths() | {"lines": nodes.lines()}
        ran = carry_out(order, [laboratory.midpath_lab, "run"], found.values["stop_s"], nodes.start)
        said = nodes.status()
    return midpath_nodes.together(ran, said, found), {}, {"midpathd": version(midpathd)}


def _inside(found: Plan, laboratory: Laboratory) -> Ran:
    """In user-mode Linux, which has all congestion controls."""
    assert laboratory.linux is not None
    guest = Guest(found, laboratory.linux, laboratory.qdisc, whole=laboratory.whole)
    if own := found.scheme_of_programs:
        guest.default_control(KERNEL[own])
    order = _order(found, {scheme: KERNEL[scheme] for scheme in found.schemes})
    ran, captures = guest.carry_out(order, laboratory.midpath_lab)
    check_flows(ran)
    more = {"kernel": ran["guest"], "time": "virtual", "queues": qdiscs.said(found, guest.queues)}
    return ran, captures, more


def paced(found: Plan) -> list[str]:
    """Schemes whose packets are spaced out."""
    return [scheme for scheme in found.schemes if found.parameters(scheme).get("pacing") is True]


def carry_out(
    order: dict[str, Any], command: list[str], stop_s: float | None, between: Callable[[], None] | None = None
) -> dict[str, Any]:
    """Starts links and flows, and waits for what they say; `between` the two others have to be ready."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    said = json.dumps(order) + "\n"
    try:
        if between is not None:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(said)
            process.stdin.flush()
            if process.stdout.readline():
                between()
            said = "begin\n"
        out, err = process.communicate(said, timeout=(budget.LONGEST_S if stop_s is None else stop_s) + PATIENCE_S)
    except BaseException:
        process.kill()
        process.wait()
        raise
    if process.returncode != 0:
        raise OSError(f"the laboratory failed: {' '.join(err.split()).removeprefix('midpath-lab: ')}")
    ran: dict[str, Any] = json.loads(out.splitlines()[-1])
    check_flows(ran)
    return ran


def check_flows(ran: dict[str, Any]) -> None:
    """Raises `OSError` if none came about."""
    failed = [flow["error"] for flow in ran["flows"] if flow["error"]]
    if failed and len(failed) == len(ran["flows"]):
        raise OSError(f"cannot open any flow: {failed[0]}")


def warnings(found: Plan, ran: dict[str, Any], made: Result) -> list[dict[str, Any]]:
    """What is to be known beside the figures."""
    failed = [flow["error"] for flow in ran["flows"] if flow["error"]]
    unlike = "bbr" in found.schemes and not found.by_nodes
    said = [
        ("bbr", "the kernel's BBR is version 1, the simulator's 3" if unlike else None),
        ("", f"{len(failed):,} of {len(ran['flows']):,} flows failed: {failed[0]}" if failed else None),
        *(("", message) for message in of_programs(found, ran)),
        ("", why if (why := invalid(made)) is None else f"this run is not valid for TCP: {why}"),
    ]
    return [
        {"scheme": scheme, "message": message, "count": 0, "ports": []}
        for scheme, message in said
        if message is not None
    ]


def of_programs(found: Plan, ran: dict[str, Any]) -> Iterator[str]:
    """What programs could not be given."""
    if not found.programs:
        return
    if not ran["names"]:
        yield "hosts' names are not in /etc/hosts, where this machine lets nobody mount; use MIDPATH_ADDRESS_…"
    if not carries_ipv6(found):
        yield f"there is no IPv6: a link's MTU is below {LEAST_MTU:,} bytes"
    used, own = {row["tcp"] for row in ran["programs"]} - {None}, found.scheme_of_programs
    if own and (other := used - {KERNEL[own], OURS}):
        yield f"programs' TCP is this machine's, {min(other)}: it does not let a namespace choose {own}"
    if ran["others"]:
        yield f"{ran['others']:,} packets are of conversations beyond the first that are told apart"


def invalid(made: Result) -> str | None:
    """Why a run says nothing of TCP, if it does not."""
    emulator = made.run["emulator"]
    late = emulator["late_us"]["p99"] or 0
    if emulator["missed"] or emulator["refused"]:
        return f"{emulator['missed'] + emulator['refused']:,} frames were lost because this machine was too slow"
    if late > LATEST_US:
        return f"1 % of frames left at least {late:,} µs late"
    woken = made.run.get("nodes", {}).get("late_us", {}).get("p99") or 0
    if woken > LATEST_WAKE_UP_US:
        return f"1 % of a node's wake-ups were at least {woken:,} µs late"
    return None


def there(place: Path, scenario: Scenario) -> Result | None:
    """The run that a folder has, if it is of this scenario and seed. Others would be different, as machines are."""
    if not (place / MARKER).is_file():
        return None
    found = load(place)
    same = found.run.get("scenario") == scenario.effective_text() and scenario.seed in (None, found.seed)
    return found if same else None


def kept(place: Path, scenario: Scenario, laboratory: Laboratory) -> Result:
    """The same, or a new run that is kept there."""
    if (found := there(place, scenario)) is not None:
        return found
    made = run(scenario, laboratory)
    made.save(place)
    return made


def compare(
    given: Sequence[Case],
    seeds: Sequence[int],
    laboratory: Laboratory,
    *,
    out: Path | None = None,
    resume: bool = False,
    told: Told | None = None,
) -> Comparison:
    """Several schemes on the same flows, seed by seed: what the machine does meanwhile then hits all alike.

    With `resume`, runs that `out` has are taken from there.
    """
    if not given:
        raise UsageError("--schemes is empty")
    results: dict[tuple[str, int], Result] = {}
    for seed in seeds:
        for case in given:
            scenario, place = case.scenario(seed), out and run_directory(out, case.name, seed)
            one = there(place, scenario) if place and resume else None
            if one is None:
                one = case.called(run(scenario, laboratory))
                if place:
                    one.save(place)
            results[case.name, seed] = one
            if told is not None:
                told(case.name, seed, len(results), len(seeds) * len(given))
    first = given[0].scenario(seeds[0])
    found = Comparison(first.effective_text(), first.file_name, [case.name for case in given], list(seeds), results)
    if out is not None:
        found.save(out)
    return found


def footnote(found: Comparison) -> str:
    """What the runs were made on, and how late they were."""
    return note(list(found.results.values()))


def note(runs: Sequence[Result]) -> str:
    """The same of these."""
    machine, loads = runs[0].run["machine"], [float(one.run["machine"]["load_average"].split()[0]) for one in runs]
    late = [one.run["emulator"]["late_us"] for one in runs]
    p50, p99 = (max(one[key] or 0 for one in late) for key in ("p50", "p99"))
    bad = [why for one in runs if (why := invalid(one)) is not None]
    wrong = f"; {len(bad)} of {len(runs)} runs are invalid: {bad[0]}" if bad else ""
    late_by = f"frames late by {p50} µs (p50), {p99} µs (p99) in the worst run{wrong}"
    if machine.get("time") == "virtual":
        queues = sorted(set(machine["queues"].values()))
        ports = f"; queues of routers: {', '.join(queues)}" if queues else ""
        return f"virtual time; user-mode Linux {machine['kernel']}{ports}; {late_by}"
    by_nodes = [one.run["nodes"]["late_us"]["p99"] or 0 for one in runs if "nodes" in one.run]
    if by_nodes:
        late_by = f"nodes woken late by {max(by_nodes)} µs (p99); {late_by}"
    daemon = f"{machine['midpathd']}, " if "midpathd" in machine else ""
    return (
        f"real time; kernel {machine['kernel']}, {machine['cpus']} CPUs, {daemon}"
        f"load average {min(loads):.1f}–{max(loads):.1f}; {late_by}"
    )
