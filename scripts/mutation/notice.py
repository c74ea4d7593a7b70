"""Which tests notice a mutant: those that reach it run, the fastest first, until one fails."""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

# Of a batch of tests: what it may take at most, and beyond what it takes without a mutant. Ours: a mutant that makes a
# test ten times as long is one that does not end.
MOST, TIMES = 10.0, 10.0
MEMORY = 6 << 30
BATCH = 1.0
# Of a test: in longer ones a mutant takes too much of the time. Ours.
LONGEST = 30.0


@dataclass(frozen=True)
class Test:
    """A test, how many seconds of CPU it takes without a mutant, and the mutants that it reaches."""

    program: str
    name: str
    seconds: float
    reached: frozenset[int]
    source: str = ""
    """The digest of the files that it may stand in."""

    @property
    def id(self) -> str:
        """Its program and name."""
        return f"{self.program} {self.name}"


@dataclass
class Fate:
    """What became of a mutant."""

    killed_by: str | None
    reached_by: int
    """How many tests reach it."""
    ran: int


@dataclass
class Runner:
    """Test programs, and what is known of their tests."""

    programs: dict[str, Path]
    folder: Path
    """The copy of the project."""
    tests: list[Test] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)
    """Tests that fail without a mutant, or take too long, with their sources: they are left out."""
    killers: Counter = field(default_factory=Counter)
    sound: dict[str, bool] = field(default_factory=dict)
    """Whether a test that has killed passes without a mutant: it may have been learned of another version."""

    def learn(self, say: Callable[[str], None]) -> None:
        """Runs each test alone, without a mutant, but those that are known and stand where nothing has changed."""
        known = {test.id: test for test in self.tests}
        known_broken, self.tests, self.broken = self.broken, [], {}
        fresh = []
        for program in self.programs:
            for name in self.names(program):
                key, source = f"{program} {name}", self.source(program, name)
                if key in known and known[key].source == source:
                    self.tests.append(known[key])
                elif known_broken.get(key) == source:
                    self.broken[key] = source
                else:
                    fresh.append((program, name, source))
        for position, (program, name, source) in enumerate(fresh):
            if position % 200 == 0:
                say(f"{position} of {len(fresh)} tests looked at")
            self.look_at(program, name, source)

    def source(self, program: str, name: str) -> str:
        """The digest of the files in a program's crate that have a function of the test's name."""
        return functions_of(self.crate(program)).get(name.rsplit("::", 1)[-1], "")

    def crate(self, program: str) -> Path:
        """The folder of a program's crate, in whichever house it is."""
        [manifest] = self.folder.glob(f"*/{Path(program).parent}/Cargo.toml")
        return manifest.parent

    def names(self, program: str) -> list[str]:
        """The tests of a program, nightly ones too. What is ignored for want of a tool fails, and is left out."""
        listed = subprocess.run([self.programs[program], "--list"], capture_output=True, text=True, check=True)
        return sorted(line.removesuffix(": test") for line in listed.stdout.splitlines() if line.endswith(": test"))

    def look_at(self, program: str, name: str, source: str = "") -> None:
        """Runs one test alone: how long it takes, and what it reaches."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "reached"
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            passed = self.run(program, [name], LONGEST, MIDPATH_REACHED=str(file))
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            if not passed:
                self.broken[f"{program} {name}"] = source
                return
            reached = frozenset(map(int, file.read_text().split())) if file.exists() else frozenset()
        self.tests.append(Test(program, name, seconds, reached, source))

    def run(self, program: str, names: list[str], limit: float, **more: str) -> bool:
        """Whether tests pass within a limit on CPU time."""
        return self.failing(program, names, limit, **more) is None

    def failing(self, program: str, names: list[str], limit: float, **more: str) -> str | None:
        """The first test that says that it fails; an empty name if something else stops them."""

        def bound() -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 1))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        try:
            done = subprocess.run(
                [self.programs[program], "--exact", "--include-ignored", "--test-threads=1", *names],
                cwd=self.crate(program),
                env=os.environ
                | {"PROPTEST_RNG_SEED": "1", "RUST_BACKTRACE": "0", "PROPTEST_MAX_SHRINK_ITERS": "0"}
                # A mutant's failure is no case to keep.
                | {"PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1"}
                | more,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                preexec_fn=bound,
                timeout=60 + 20 * limit,  # the machine may be busy, or the test wait for ever
                check=False,
            )
        except subprocess.TimeoutExpired:
            return ""
        if done.returncode == 0:
            return None
        said = re.search(rb"^test (\S+)(?: - should panic)? \.\.\. FAILED", done.stdout, re.MULTILINE)
        return said[1].decode() if said else ""

    def judge(self, number: int, most: float, counts: Callable[[Test], bool] | None = None) -> Fate:
        """Runs tests that count with a mutant on, of at most some seconds in all, until one fails."""
        reaching = [test for test in self.tests if number in test.reached and (counts is None or counts(test))]
        # Whoever has killed many is asked first among the quick ones.
        reaching.sort(key=lambda test: test.seconds / (1 + self.killers[test.program, test.name]))
        ran, spent = 0, 0.0
        for batch in batches(reaching):
            seconds = sum(test.seconds for test in batch)
            if spent + seconds > most and ran:
                break
            names = [test.name for test in batch]
            failing = self.failing(batch[0].program, names, MOST + TIMES * seconds, MIDPATH_MUTANT=str(number))
            if failing is not None:
                # Where no test says that it fails, one of them stops the program or does not end.
                killer = self.killer([test for test in batch if failing in ("", test.name)], number)
                if killer is not None:
                    return Fate(killer, len(reaching), ran)
            ran, spent = ran + len(batch), spent + seconds
        return Fate(None, len(reaching), ran)

    def killer(self, batch: list[Test], number: int) -> str | None:
        """A test of a batch that fails with a mutant on, and passes without."""
        for test in batch:
            fails = len(batch) == 1 or not self.run(
                test.program, [test.name], MOST + TIMES * test.seconds, MIDPATH_MUTANT=str(number)
            )
            if fails and self.is_sound(test):
                self.killers[test.program, test.name] += 1
                return test.id
        return None

    def is_sound(self, test: Test) -> bool:
        """Whether a test passes without a mutant."""
        if test.id not in self.sound:
            self.sound[test.id] = self.run(test.program, [test.name], MOST + TIMES * test.seconds)
        return self.sound[test.id]

    def save(self, path: Path, mutants: str) -> None:
        """Keeps what was learned; `mutants` is the digest of what numbers stand for."""
        tests = [asdict(test) | {"reached": sorted(test.reached)} for test in self.tests]
        path.write_text(json.dumps({"mutants": mutants, "tests": tests, "broken": self.broken}), encoding="utf-8")

    def load(self, path: Path, mutants: str) -> None:
        """Takes what was learned before, if numbers stand for the same mutants."""
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        if kept.get("mutants") == mutants:
            self.broken = kept["broken"]
            self.tests = [Test(**test | {"reached": frozenset(test["reached"])}) for test in kept["tests"]]


@cache
def functions_of(crate: Path) -> dict[str, str]:
    """By the name of each function in a crate: the digest of the files that have one of this name."""
    found: dict[str, hashlib._Hash] = {}
    for path in sorted(crate.rglob("*.rs")):
        text = path.read_text(encoding="utf-8")
        for name in sorted(set(re.findall(r"\bfn (\w+)", text))):
            found.setdefault(name, hashlib.sha256()).update(text.encode())
    return {name: digest.hexdigest()[:16] for name, digest in found.items()}


def batches(tests: list[Test]) -> Iterator[list[Test]]:
    """Tests in their order, short ones of one program together. A long one, or a full batch, comes after all that were
    before it: a program with few tests waits for none with many.
    """
    waiting: dict[str, list[Test]] = {}
    for test in tests:
        batch = waiting.get(test.program, [])
        if test.seconds > BATCH or sum(other.seconds for other in batch) + test.seconds > BATCH:
            yield from waiting.values()
            waiting = {}
        waiting.setdefault(test.program, []).append(test)
    yield from waiting.values()
