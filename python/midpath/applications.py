"""Figures by application: clients, pages, videos, jobs; over several runs of a scheme, their means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean
from typing import Any, NamedTuple

from midpath.palette import name
from midpath.result import Result
from midpath.units import quantity


class ApplicationTable(NamedTuple):
    """A table of texts; the first column names the client or job, the second the scheme."""

    title: str
    heads: tuple[str, ...]
    rows: list[tuple[str, ...]]


CLIENTS = ("Client", "Scheme", "Requests ended", "Per second", "Mean", "p50", "p99", "p99.9", "Deadline missed")
PAGES = ("Pages", "Scheme", "Loads ended", "TTFB", "Page load time", "p50", "p99", "Maximum", "Deadline missed")
VIDEOS = ("Videos", "Scheme", "Views ended", "Startup", "Stalls", "Stalled", "Switches", "Bitrate")
JOBS = ("Job", "Scheme", "Iterations ended", "Mean", "p99", "Maximum", "Bus bandwidth", "Straggler's link")


def application_tables(runs: Mapping[str, Sequence[Result]]) -> Iterator[ApplicationTable]:
    """Of what there is, tables of clients, pages, videos and jobs, with a row for each scheme."""
    kinds = (("clients", CLIENTS, _client), ("pages", PAGES, _page), ("videos", VIDEOS, _video), ("jobs", JOBS, _job))
    for key, heads, row in kinds:
        # Variants may have other clients: a row is of those that a scheme's runs have.
        of_schemes = {
            scheme: list(zip(*(run.run.get(key) or [] for run in of_one), strict=False))
            for scheme, of_one in runs.items()
        }
        count = max((len(entries) for entries in of_schemes.values()), default=0)
        rows = [
            (str(entries[i][0]["group"]), name(scheme), *row(entries[i]))
            for i in range(count)
            for scheme, entries in of_schemes.items()
            if i < len(entries)
        ]
        if rows:
            yield ApplicationTable(key.capitalize(), heads, rows)


def _mean(kind: str, entries: Sequence[Mapping[str, Any]], key: str) -> str:
    found = [entry[key] for entry in entries if entry[key] is not None]
    return quantity(kind, mean(found)) if found else "–"


def _ended(entries: Sequence[Mapping[str, Any]], of: str) -> str:
    done, all_of_them = (sum(entry[key] for entry in entries) for key in ("completed", of))
    return f"{done:,} of {all_of_them:,}"


def _missed(entries: Sequence[Mapping[str, Any]]) -> str:
    missed = [entry["missed"] for entry in entries if entry["missed"] is not None]
    return f"{sum(missed):,}" if missed else "–"


def _client(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield _ended(entries, "requests")
    per_s = [entry["per_s"] for entry in entries if entry["per_s"] is not None]
    yield f"{mean(per_s):,.1f}" if per_s else "–"
    for key in ("mean_s", "p50_s", "p99_s", "p999_s"):
        yield _mean("seconds", entries, key)
    yield _missed(entries)


def _page(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield _ended(entries, "loads")
    for key in ("ttfb_mean_s", "mean_s", "p50_s", "p99_s", "max_s"):
        yield _mean("seconds", entries, key)
    yield _missed(entries)


def _video(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield _ended(entries, "views")
    yield _mean("seconds", entries, "startup_mean_s")
    yield f"{sum(entry['stalls'] for entry in entries):,}"
    yield quantity("seconds", sum(entry["stalled_s"] for entry in entries))
    yield f"{sum(entry['switches'] for entry in entries):,}"
    yield _mean("bps", entries, "bitrate_mean_bps")


def _job(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield _ended(entries, "iterations")
    for key in ("mean_s", "p99_s", "max_s"):
        yield _mean("seconds", entries, key)
    yield _mean("bps", entries, "bus_bandwidth_bps")
    slowest = max((entry for entry in entries if entry["slowest"]), key=lambda entry: entry["max_s"], default=None)
    yield slowest["slowest"]["link"] or "–" if slowest else "–"
