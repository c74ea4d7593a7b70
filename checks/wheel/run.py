"""Tries a built wheel as somebody does who has nothing else: an empty environment, an empty folder, no compiler.

    python checks/wheel/run.py > checks/wheel/RESULTS.md   builds the wheel, and tries it on each Python that is here
    python checks/wheel/run.py --dist dist                 takes the wheel for this machine out of a folder
    python checks/wheel/run.py --network                   also installs without pip's cache, and validates CITATION.cff

Exit code 1 if something fails.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import built

ROOT = Path(__file__).parents[2]
BIN = "Scripts" if os.name == "nt" else "bin"
MINORS = range(11, 16)
SHORT = ["--set", "stop='1 s'"]
COMPARED = ["--schemes", "cubic,cubic+rpm", "--seeds", "2", "--out", "compared", *SHORT]
# What a wheel must bring, by where it lies in the environment.
INSTALLED = [
    "share/man/man1/midpath.1",
    "share/bash-completion/completions/midpath",
    "share/zsh/site-functions/_midpath",
    "share/fish/vendor_completions.d/midpath.fish",
]
IN_WHEEL = ["/licenses/LICENSE", "/licenses/THIRD_PARTY.txt", "/sboms/"]
# A controller in Python needs no compiler.
PLUGIN = "import midpath\nclass Mine(midpath.Controller):\n    def on_ack(self, ack):\n        self.window += 10\n"
PARTS = ["pyarrow", "numpy", "scipy", "pandas", "networkx"]
HEAD = """# The wheel, where nothing else is

Written by `python checks/wheel/run.py`. {wheel}:
{size:.1f} MB, {unpacked:.1f} MB installed. {machine}, load average {load:.0f} when it began.
"""


@dataclass
class Tried:
    """What one Python made of the wheel."""

    python: str
    wrong: list[str] = field(default_factory=list)
    done: int = 0


def pythons() -> Iterator[str]:
    """Each Python from 3.11 on that is here and runs."""
    for minor in MINORS:
        # On Windows none is called python3.11.
        named = [sys.executable] if sys.version_info[1] == minor else []
        named += [shutil.which(f"python3.{minor}") or ""]
        named += [str(path) for path in Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python")]
        for name in filter(None, named):
            if subprocess.run([name, "-c", "import venv"], capture_output=True, check=False).returncode == 0:
                yield name
                break


def environment() -> dict[str, str]:
    """Without the repository, and without a compiler in reach."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CARGO", "MIDPATH"))}
    return kept | {"PATH": os.defpath}


class Place:
    """An empty environment in an empty folder."""

    def __init__(self, python: str, folder: Path) -> None:
        self.folder, self.env = folder, folder / "env"
        subprocess.run([python, "-m", "venv", self.env], check=True)
        self.work = folder / "work"
        self.work.mkdir()

    def pip(self, *arguments: str) -> None:
        """Installs."""
        command = [str(self.env / BIN / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*command, *arguments], check=True, stdout=sys.stderr, cwd=self.folder)

    def midpath(self, *arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        """The command, as it is installed."""
        command = [str(self.env / BIN / "midpath"), *arguments]
        return subprocess.run(
            command,
            input=given,
            cwd=self.work,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )

    def megabytes(self, *below: str) -> float:
        """What is on the disk."""
        files = {path for part in below or ("",) for path in self.env.rglob(f"{part}*/**/*" if part else "*")}
        return sum(path.stat().st_size for path in files if path.is_file() and not path.is_symlink()) / 1e6


def steps(place: Place) -> Iterator[tuple[str, bool, str]]:
    """What is tried: a name, whether it went well, what was printed."""

    def step(name: str, *arguments: str, given: str | None = None, has: str = "") -> tuple[str, bool, str]:
        done = place.midpath(*arguments, given=given)
        return name, done.returncode == 0 and has in done.stdout, done.stdout + done.stderr

    yield step("version", "--version", has="midpath ")
    example = place.midpath("example", "abilene").stdout
    yield step("example | compare -", "compare", "-", *COMPARED, given=example, has="results in compared")
    yield step("report", "report", "compared")
    report = place.work / "compared" / "report.html"
    whole = report.is_file() and "plotly" in report.read_text(encoding="utf-8")
    yield "the report has its assets", whole, ""
    yield step("cite", "cite", "compared", has="@software{midpath,")
    for network in ("abilene", "geant", "nobel-germany"):
        yield step(f"topo {network}", "topo", network)
    yield step("new scheme", "new", "scheme", "mine")
    yield "its template is whole", (place.work / "mine" / "src" / "lib.rs").is_file(), ""
    (place.work / "mine.py").write_text(PLUGIN, encoding="utf-8")
    plugin = ("--schemes", "mine,newreno", "--plugin", "mine.py", "--no-ideal", *SHORT)
    yield step("compare --plugin", "compare", "-", *plugin, given=example, has="mine")
    yield step("paper table", "paper", "table", has="claims of the paper hold")
    yield step(
        "paper reproduce", "paper", "reproduce", "fcp/figure13", "--quick", "--out", "again", has="beside the recorded"
    )
    yield step("schema", "schema", has="urn:midpath:scenario")
    for name in INSTALLED:
        yield f"{name} is installed", (place.env / name).is_file(), ""


def try_wheel(wheel: Path, python: str) -> Tried:
    """All steps on one Python."""
    version = subprocess.run([python, "-V"], check=True, capture_output=True, text=True).stdout.split()[1]
    tried = Tried(version)
    with tempfile.TemporaryDirectory(prefix="midpath-dist-") as name:
        place = Place(python, Path(name))
        place.pip(f"{wheel}[analysis]")
        for label, well, said in steps(place):
            tried.done += 1
            if not well:
                tried.wrong.append(f"{label}: {said.strip()[-300:]}")
    return tried


def first_comparison(wheel: Path, extra: str, fresh: bool) -> tuple[float, float, list[float]]:
    """Seconds from nothing to a table: of a run, or with `analysis` of a comparison; MB on the disk, and of what."""
    with tempfile.TemporaryDirectory(prefix="midpath-first-") as name:
        start = time.monotonic()
        place = Place(sys.executable, Path(name))
        place.pip(*(["--no-cache-dir"] if fresh else []), f"{wheel}{extra}")
        example = place.midpath("example", "dumbbell").stdout
        command = ["compare", "-", "--schemes", "cubic,dctcp", "--seeds", "2"] if extra else ["run", "-"]
        done = place.midpath(*command, *SHORT, given=example)
        if done.returncode:
            raise SystemExit(done.stderr)
        return time.monotonic() - start, place.megabytes(), [place.megabytes(part) for part in PARTS]


def wheel_of(folder: Path | None, work: Path) -> Path:
    """The wheel for this machine: built, or the one that pip would take."""
    if folder is None:
        return built.wheel(work)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-index", "--find-links", str(folder.resolve()), "--only-binary", ":all:", "--dest", str(work)]
    subprocess.run([*command, "midpath"], check=True, stdout=sys.stderr)
    (wheel,) = work.glob("*.whl")
    return wheel


def named_places(wheel: zipfile.ZipFile) -> Iterator[str]:
    """Members that name the folder of this checkout, or somebody's home."""
    places = [f"{place}{os.sep}".encode() for place in (ROOT, Path.home())]
    for name in wheel.namelist():
        data = wheel.read(name)
        if any(place in data for place in places):
            yield name


def main() -> int:
    """Prints what RESULTS.md holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dist", type=Path)
    parser.add_argument("--network", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="midpath-wheel-") as name:
        wheel = wheel_of(given.dist, Path(name))
        with zipfile.ZipFile(wheel) as opened:
            names = opened.namelist()
            places = list(named_places(opened))
            unpacked = sum(entry.file_size for entry in opened.infolist()) / 1e6
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
        machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
        print(
            HEAD.format(
                wheel=wheel.name, size=wheel.stat().st_size / 1e6, unpacked=unpacked, machine=machine, load=load
            )
        )
        missing = [part for part in IN_WHEEL if not any(part in entry for entry in names)]
        print(
            f"Licence, licences of others, SBOM: {'missing: ' + ', '.join(missing) if missing else 'in the wheel'}.\n"
        )
        if places:
            print(f"This machine's folders are named in: {', '.join(places)}.\n")
        failed = bool(missing or places)
        count = 0
        print("| Python | steps | went well | wrong |\n|---|---|---|---|")
        for python in pythons():
            tried = try_wheel(wheel, python)
            count += 1
            failed |= bool(tried.wrong)
            wrong = "; ".join(tried.wrong).replace("\n", " ").replace("|", "\\|") or "–"
            print(f"| {tried.python} | {tried.done} | {tried.done - len(tried.wrong)} | {wrong} |", flush=True)
        failed |= not count
        print("\n## From nothing to the first table\n")
        heads = ["install", "seconds", "MB on disk", *PARTS]
        print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
        for extra in ("", "[analysis]"):
            seconds, megabytes, parts = first_comparison(wheel, extra, given.network)
            cells = [f"`midpath{extra}`", f"{seconds:.0f}", f"{megabytes:.0f}", *(f"{part:.0f}" for part in parts)]
            print(f"| {' | '.join(cells)} |", flush=True)
        from_where = "the registry" if given.network else "pip's cache"
        print(f"\nA new environment, installation from {from_where}, a run; with `[analysis]` 2 schemes × 2 seeds.")
        if given.network:
            failed |= not citation_is_valid(Path(name))
    return int(failed)


def citation_is_valid(folder: Path) -> bool:
    """What cffconvert says of CITATION.cff, in an environment of its own: it wants old packages."""
    subprocess.run([sys.executable, "-m", "venv", folder / "cff"], check=True)
    python = folder / "cff" / BIN / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "cffconvert"], check=True, stdout=sys.stderr)
    done = subprocess.run(
        [folder / "cff" / BIN / "cffconvert", "--validate", "-i", ROOT / "CITATION.cff"],
        capture_output=True,
        text=True,
        check=False,
    )
    print(f"\n`cffconvert --validate`: {done.stdout.strip() or done.stderr.strip()}")
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
