#!/usr/bin/env python
"""Runs every malformed scenario in a process of its own, under 8 GB and 60 s, and judges what came of it.

    python evidence/properties/malformed/run.py [WORD]

With WORD, only the cases whose section or name has it.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cases import Case, every, write

MEMORY = 8 << 30
SECONDS = 60


def run(case: Case) -> tuple[int | None, str]:
    """Exit code and what was said; no code if it did not end."""
    command = [sys.executable, "-m", "midpath", "run", "s.toml"]
    with tempfile.TemporaryDirectory() as folder:
        write(case, Path(folder))
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, check=False, timeout=SECONDS, preexec_fn=_limit
            )
        except subprocess.TimeoutExpired:
            return None, ""
    return done.returncode, done.stderr


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def fault(case: Case, code: int | None, said: str) -> str | None:
    """What is wrong with the end of a run; `None` if it is one clear error."""
    if code is None:
        return "did not end"
    if code != 2:
        return f"exit code {code}"
    found = re.fullmatch(r"midpath: s\.toml:(?:(\d+):)? (?:(\S+): )?(.*)\n", said)
    if found is None:
        return "not one line"
    line, key, message = found.groups()
    if (key or "") != case.key:
        return f"names another key than {case.key}"
    if case.says not in message:
        return f"does not say {case.says!r}"
    written = re.search(rf"\b{re.escape(re.split(r'[.[]', case.key)[0])}\b", case.text)
    return "names no line" if line is None and written else None


def main(word: str = "") -> int:
    """Prints each case that does not end as it should, and how many there are of each sort."""
    cases = [case for case in every() if word in f"{case.section}: {case.name}"]
    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(run, cases))
    faults = [
        (case, why, said) for case, (code, said) in zip(cases, ends, strict=True) if (why := fault(case, code, said))
    ]
    for case, why, said in faults:
        print(f"{case.section}: {case.name}: {why}: {said.strip()[-300:]}")
    sections = Counter(case.section for case in cases)
    print(", ".join(f"{section} {count}" for section, count in sections.items()))
    print(f"{len(cases)} malformed scenarios, {len(faults)} that do not end in one clear error")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
