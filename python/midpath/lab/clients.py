"""`[[client]]` in the laboratory: programs ask and answer over sockets, with what the simulator draws."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from midpath.lab import programs
from midpath.lab.programs import Program
from midpath.result import Result
from midpath.run import run as simulate
from midpath.scenario import Scenario
from midpath.tables import schema
from midpath.units import parse

APPLICATION = Path(__file__).with_name("application.py")
# So much longer draws more requests than a network of another speed has time for. Ours.
LONGER = 4
# Of a request, as the program writes it: the number of its exchange, and where the reply goes.
LEAST_REQUEST = 6


@dataclass(frozen=True)
class Request:
    """Of a client's group: its number there, its host and server, and its deadline."""

    group: str
    number: int
    host: str
    server: str
    deadline: float | None


@dataclass(frozen=True)
class Clients:
    """What programs are told, and what their exchanges are, by number."""

    plan: dict[str, Any]
    requests: tuple[Request, ...]

    def programs(self, folder: Path) -> list[Program]:
        """A server at each host that is asked, and a program at each that asks; the plan is in this folder."""
        command = [sys.executable, str(APPLICATION)]
        told = str(folder / "clients.json")
        servers, hosts = (dict.fromkeys(getattr(one, key) for one in self.requests) for key in ("server", "host"))
        serving = [Program(server, (*command, "serve", told), serves=True) for server in servers]
        return serving + [Program(host, (*command, "ask", host, told)) for host in hosts]

    @contextmanager
    def at_work(self) -> Iterator[Path]:
        """A folder for programs, with what they are told."""
        with TemporaryDirectory() as name:
            folder = Path(name)
            told = self.plan | {"answers": name}
            (folder / "clients.json").write_text(json.dumps(told), encoding="utf-8")
            yield folder

    def add(self, made: Result, folder: Path) -> Result:
        """The result with what the programs have written: the table `requests`, and `clients`."""
        rows = []
        for row in made.run["programs"]:
            if str(APPLICATION) not in row["command"]:
                continue
            if programs.failed(row):
                raise OSError(f"a client's program at {row['host']} failed: {row['ending']}")
            answers = folder / f"{row['host']}.json"
            for number, start, took in [] if row["serves"] else json.loads(answers.read_text(encoding="utf-8")):
                rows.append(self._row(row["host"], int(number), row["started_s"] + start, took))
        rows.sort(key=lambda row: (row["client"], row["request"]))
        groups = dict.fromkeys(one.group for one in self.requests)
        made.run["clients"] = [summed_up(group, [row for row in rows if row["client"] == group]) for group in groups]
        return replace(made, tables={**made.tables, "requests": pa.Table.from_pylist(rows, schema("requests"))})

    def _row(self, host: str, number: int, start: float, took: float | None) -> dict[str, Any]:
        own = self.requests[number]
        late = own.deadline is not None and took is not None and took > own.deadline
        return {
            "client": own.group,
            "request": own.number,
            "src": host,
            "flow": None,
            "start_s": start,
            "completion_s": took,
            "missed": late,
            "attempts": 1,
            "failed": False,
            "completed": took is not None,
        }


def summed_up(group: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """As the simulator's `clients`."""
    took = [row["completion_s"] for row in rows if row["completed"]]
    ends = [row["start_s"] + row["completion_s"] for row in rows if row["completed"]]
    quantiles = {"p50_s": 0.5, "p99_s": 0.99, "p999_s": 0.999}
    return {
        "group": group,
        "requests": len(rows),
        "completed": len(took),
        "mean_s": float(np.mean(took)) if took else None,
        **{key: float(np.quantile(took, q)) if took else None for key, q in quantiles.items()},
        "max_s": max(took, default=None),
        "per_s": len(took) / (max(ends) - min(row["start_s"] for row in rows)) if took else None,
        "missed": sum(row["missed"] for row in rows),
        "failed": 0,
        "attempts": len(rows),
    }


def network(scenario: Scenario) -> Scenario:
    """The scenario without its clients."""
    values = scenario.to_dict()
    if not values.pop("client", None):
        return scenario
    return Scenario(Scenario.from_dict(values).text, scenario.base_dir, scenario.source, scenario.scheme, scenario.seed)


def asked(scenario: Scenario) -> Clients | None:
    """What its clients ask for, if it has any: as the simulator draws it."""
    values = scenario.to_dict()
    if not values.get("client"):
        return None
    return _drawn(scenario.effective_text(), scenario.base_dir, scenario.source, scenario.scheme, scenario.seed)


@lru_cache(maxsize=256)
def _drawn(text: str, base_dir: Path, source: str | None, scheme: str | None, seed: int | None) -> Clients:
    """Simulated once: a plan is asked for it, and the run."""
    scenario = Scenario(text, base_dir, source, scheme, seed)
    values = scenario.to_dict()
    clients, stop = values["client"], values.get("stop")
    longer = scenario if stop is None else scenario.with_(changes={"stop": f"{LONGER * parse('seconds', stop)} s"})
    drawn = simulate(longer)
    flows, table = drawn.flows.to_pylist(), drawn.tables["requests"].to_pylist()
    exchanges: list[tuple[int, int, float, str, float]] = []
    requests: list[Request] = []
    loops: dict[str, list[tuple[float, list[int]]]] = {}
    for index, client in enumerate(clients):
        group = client.get("group", f"client{index}")
        deadline = parse("seconds", client["deadline"]) if "deadline" in client else None
        rows = {row["request"]: row for row in table if row["client"] == group}
        for own in loops_of(client, max(rows, default=-1) + 1):
            begun = [rows[number] for number in own if number in rows]
            for row, after in zip(begun, [*begun[1:], None], strict=True):
                request, reply = flows[row["flow"]], flows[row["flow"] + 1]
                if row is begun[0]:
                    loops.setdefault(row["src"], []).append((row["start_s"], []))
                if reply["start_s"] is None or row["completion_s"] is None:
                    break
                service = reply["start_s"] - request["start_s"] - request["fct_s"]
                think = 0.0 if after is None else after["start_s"] - row["start_s"] - row["completion_s"]
                loops[row["src"]][-1][1].append(len(exchanges))
                size = max(int(request["size_bytes"]), LEAST_REQUEST)
                exchanges.append((size, int(reply["size_bytes"]), max(service, 0.0), request["dst"], max(think, 0.0)))
                requests.append(Request(group, row["request"], row["src"], request["dst"], deadline))
    plan = {
        "exchanges": exchanges,
        "loops": loops,
        "new": all(client.get("connections", "new") == "new" for client in clients),
        "stop": None if stop is None else parse("seconds", stop),
    }
    return Clients(plan, tuple(requests))


def loops_of(client: dict[str, Any], begun: int) -> Iterator[list[int]]:
    """The numbers of the requests of each loop: of one host after the other, whose loops share its requests."""
    each, concurrency = client["requests"], client.get("concurrency", 1)
    first = 0
    while first < begun:
        for number in range(concurrency):
            own = each // concurrency + (number < each % concurrency)
            yield list(range(first, first + own))
            first += own
