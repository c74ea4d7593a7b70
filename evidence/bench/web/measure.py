"""Measures the simulator in a browser tab: bytes, seconds, packet-hops a second; what is the same as natively, and what
is refused. Writes RESULTS.md beside this file.

    make web && python evidence/bench/web/measure.py

Needs Node and Chromium. Speed is by processor time of a run from text to tables, the best of three.
"""

from __future__ import annotations

import base64
import functools
import gzip
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = Path(__file__).with_name("RESULTS.md")
WASM = ROOT / "target/web/midpath.wasm"
WASM_PACKED = "midpath.wasm.gz"
RUNNER = ROOT / "tests/python/web_run.mjs"
ROUNDS = 3
ROWS = [
    *(("dumbbell", scheme) for scheme in ("newreno", "cubic")),
    *(("abilene", scheme) for scheme in ("newreno", "dctcp", "fcp", "mircc", "inrpp")),
    *(("incast", "dctcp"), ("link_failure", "cubic"), ("rpm_forward_marking", "cubic")),
]
# What the report and the replay add to what the page loads before the first table.
LATER = ("plotly-basic.min.js.gz", "page.html", "report.js", "replay.html", "replay.css", "replay.js", "offline.js")

sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "evidence/lab/report-looks"), str(ROOT / "tests/python")]

import play_files  # noqa: E402
from chromium import Page  # noqa: E402

import test_web  # noqa: E402
from midpath import _midpath  # noqa: E402


def text_of(example: str) -> str:
    return (ROOT / f"examples/{example}.toml").read_text(encoding="utf-8")


def native(example: str, scheme: str) -> tuple[int, float]:
    """Packet-hops, and processor seconds of the best run here."""
    runs = [timed(text_of(example), scheme) for _ in range(ROUNDS)]
    return runs[0][0], min(seconds for _, seconds in runs)


def timed(text: str, scheme: str) -> tuple[int, float]:
    began = time.process_time()
    run = _midpath.run(text, "", scheme=scheme, seed=None, threads=1)[0]
    return json.loads(run)["packet_hops"], time.process_time() - began


def in_node(rows: list[tuple[str, str]]) -> list[tuple[float, int]]:
    """Processor seconds of the best run of each, and bytes of memory."""
    asked = [{"ask": "run", "text": text_of(one), "scheme": scheme} for one, scheme in rows] * ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        command = [shutil.which("node") or "node", str(RUNNER), str(WASM), folder]
        done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    count = len(rows)
    return [(min(one["ms"] for one in said[i::count]) / 1e3, said[i]["memory"]) for i in range(count)]


def packed(name: str, folder: Path) -> int:
    """Bytes on the wire, from a server that packs texts."""
    content = (folder / name).read_bytes()
    return len(content) if name.endswith(".gz") else len(gzip.compress(content, 9))


@contextmanager
def served(folder: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/index.html"
        server.shutdown()


def first_table(folder: Path) -> list[tuple[str, float, float, float]]:
    """Milliseconds from the start of the page to its paint, to being ready, and of a click until the table is there."""
    found = []
    with served(folder) as address, Page(folder / "index.html") as page:
        for visit in ("first visit", "second visit"):
            page.ask("Page.navigate", url="about:blank")
            page.ask("Page.navigate", url=address + "?example=dumbbell")
            until(page, "'ready' in document.documentElement.dataset")
            paint, ready = (
                float(page.run(script))
                for script in (
                    "performance.getEntriesByType('paint')[0].startTime",
                    "document.documentElement.dataset.ready",
                )
            )
            began = float(page.run("document.getElementById('run').click(), performance.now()"))
            until(page, "'table' in document.documentElement.dataset")
            found.append((visit, paint, ready, float(page.run("document.documentElement.dataset.table")) - began))
    return found


def same_as_native() -> tuple[int, int]:
    """How many scenarios give the bytes that they give here, of how many."""
    listed = test_web.cases()
    with tempfile.TemporaryDirectory() as made:
        answers = test_web.ask([{"ask": "run", **request} for _, request in listed], Path(made))
    same = [test_web.is_native(one, *answer) for (_, one), answer in zip(listed, answers, strict=True)]
    return sum(same), len(same)


TROUBLE = "document.getElementById('trouble').textContent"
MARKUP = "<img src=x onerror=document.title='taken'>"


def linked(text: str) -> str:
    """A link that holds a scenario, whatever its length."""
    squeezed = zlib.compressobj(9, wbits=-15)
    held = squeezed.compress(json.dumps({"text": text, "schemes": ["newreno"]}).encode()) + squeezed.flush()
    return "#s=" + base64.urlsafe_b64encode(held).decode().rstrip("=")


def refused(folder: Path) -> list[tuple[str, float, str]]:
    """What does not fit, or is hostile: seconds until the page answers, and what it says."""
    endless = test_web.ONE_LINK.replace('"2 s"', '"100000 s"').replace('until = "1 s"', 'until = "100000 s"')
    links = {
        "more flows than a gigabyte holds": linked(test_web.too_large()),
        "a run without end": linked(endless),
        "a link of a megabyte": "#s=" + "A" * 1_000_000,
        "a link of 20 kB that unfolds to 20 MB": linked(" " * 20_000_000),
        "no link of ours": "#s=%%%",
        "markup as a title": linked(f'title = "{MARKUP}"\n{test_web.ONE_LINK}'),
    }
    return [answered(folder, name, link) for name, link in links.items()]


def answered(folder: Path, name: str, link: str) -> tuple[str, float, str]:
    with served(folder) as address, Page(folder / "index.html") as page:
        page.ask("Page.navigate", url=address + link)
        until(page, "'ready' in document.documentElement.dataset")
        began = time.monotonic()
        if not page.run(TROUBLE):
            page.run("document.getElementById('run').click()")
            until(page, f"{TROUBLE} || 'table' in document.documentElement.dataset")
        seconds = time.monotonic() - began
        said = page.run(TROUBLE) or page.run("document.getElementById('said').textContent")
        title = page.run("document.title")
        return name, seconds, f"{said}" if title == "Playground · Midpath" else f"the page is called {title}"


def until(page: Page, condition: str) -> None:
    for _ in range(1200):
        try:
            if page.run(f"Boolean({condition})"):
                return
        except RuntimeError:
            pass
        time.sleep(0.1)
    raise RuntimeError(f"never: {condition}")


def main() -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        play_files.put(folder)
        first = [file.name for file in folder.iterdir() if file.name not in LATER]
        groups = {"before the first table": first, "of these the simulator": [WASM_PACKED], "report and replay": LATER}
        sizes = [(name, sum(packed(file, folder) for file in files)) for name, files in groups.items()]
        rounds = [first_table(folder) for _ in range(ROUNDS)]
        times = [min(visits, key=lambda one: one[2] + one[3]) for visits in zip(*rounds, strict=True)]
        answers = refused(folder)
    same, compared = same_as_native()
    tab = in_node(ROWS)
    speeds = [native(*row) for row in ROWS]
    load = f"{os.getloadavg()[0]:.0f} on {os.cpu_count()} cores"
    lines = [
        "# In a browser tab",
        "",
        f"Written by `evidence/bench/web/measure.py`; load of the machine: {load}.",
        "",
        "| bytes on the wire | MB |",
        "|---|--:|",
    ]
    lines += [f"| {name} | {size / 1e6:.2f} |" for name, size in sizes]
    lines += [
        "",
        f"Seconds in Chromium, from a server on the same machine; `dumbbell.toml`, three seeds, best of {ROUNDS}.",
        "",
    ]
    lines += ["| | first paint | ready | from the click to the table | in all |", "|---|--:|--:|--:|--:|"]
    lines += [
        f"| {visit} | {paint / 1e3:.2f} | {ready / 1e3:.2f} | {table / 1e3:.2f} | {(ready + table) / 1e3:.2f} |"
        for visit, paint, ready, table in times
    ]
    lines += [
        "",
        f"Million packet-hops a processor second, from text to tables, best of {ROUNDS}; memory in Node.",
        "",
    ]
    lines += [
        "| example | scheme | packet-hops | native | WebAssembly | share | memory, MB |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for (example, scheme), (hops, here), (there, memory) in zip(ROWS, speeds, tab, strict=True):
        speeds_ = f"{hops / here / 1e6:.1f} | {hops / there / 1e6:.1f} | {here / there:.0%}"
        lines.append(f"| {example} | {scheme} | {hops:,} | {speeds_} | {memory / 1e6:.0f} |")
    lines += ["", f"{same} of {compared} scenarios give the bytes that they give natively (tests/python/test_web.py)."]
    lines += ["", "What does not fit a tab, and links that nobody means well:", ""]
    lines += ["| opened, and run where it can be | seconds | what the page says |", "|---|--:|---|"]
    lines += [f"| {name} | {seconds:.1f} | {' '.join(said.split())} |" for name, seconds, said in answers]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
