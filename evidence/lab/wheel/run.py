"""Tries a built wheel as somebody does who has nothing else: an empty environment, an empty folder, no compiler.

    python evidence/lab/wheel/run.py > evidence/lab/wheel/RESULTS.md   builds it (`make dist`), tries each Python
    python evidence/lab/wheel/run.py --dist dist                 takes the wheel for this machine out of a folder
    python evidence/lab/wheel/run.py --network                   also without pip's cache; validates CITATION.cff

Exit code 1 if something fails.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[3]
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
# What a release has wheels for, by their names.
SYSTEMS = {
    "Linux x86_64": r"manylinux.*x86_64",
    "Linux aarch64": r"manylinux.*aarch64",
    "musl x86_64": r"musllinux.*x86_64",
    "musl aarch64": r"musllinux.*aarch64",
    "macOS arm64": r"macosx.*arm64",
    "macOS x86_64": r"macosx.*x86_64",
    "Windows x86_64": r"win_amd64",
}
# A controller in Python needs no compiler.
PLUGIN = "import midpath\nclass Mine(midpath.Controller):\n    def on_ack(self, ack):\n        self.window += 10\n"
PARTS = ["midpath", "pyarrow", "numpy", "scipy", "pandas", "networkx", "pip"]
HEAD = """# The wheel, where nothing else is

Written by `python evidence/lab/wheel/run.py`. {wheel}:
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
        """Installs, or downloads."""
        command = [str(self.env / BIN / "python"), "-m", "pip", *arguments, "--quiet", "--disable-pip-version-check"]
        subprocess.run(command, check=True, capture_output=True, text=True, cwd=self.folder)

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
    plugin = ("--schemes", "mine,newreno", "--with", "mine.py", "--no-ideal", *SHORT)
    yield step("compare --with", "compare", "-", *plugin, given=example, has="mine")
    yield step("paper table", "paper", "table", has="claims of the paper hold")
    yield step(
        "paper reproduce", "paper", "reproduce", "fcp/figure13", "--quick", "--out", "again", has="beside the recorded"
    )
    recorded = ("--trace", "from=0.5s,for=20ms", "--out", "traced")
    yield step("run --trace", "run", "-", *recorded, *SHORT, given=example, has="result in traced")
    yield step("replay", "replay", "traced", has="replay.html")
    replay = place.work / "traced" / "replay.html"
    # Of an empty record it is 34 kB.
    yield "the replay has packets", replay.is_file() and replay.stat().st_size > 60_000, ""
    yield step("schema", "schema", has="Midpath scenario, format")
    for name in INSTALLED:
        yield f"{name} is installed", (place.env / name).is_file(), ""


def said_last(failed: subprocess.CalledProcessError) -> str:
    """The last line of what a command printed."""
    return (failed.stderr or failed.stdout or "nothing").strip().splitlines()[-1]


def try_wheel(wheel: Path, python: str) -> Tried:
    """All steps on one Python."""
    version = subprocess.run([python, "-V"], check=True, capture_output=True, text=True).stdout.split()[1]
    tried = Tried(version)
    with tempfile.TemporaryDirectory(prefix="midpath-dist-") as name:
        place = Place(python, Path(name))
        try:
            place.pip("install", "--no-compile", "--only-binary", ":all:", f"{wheel}[analysis]")
        except subprocess.CalledProcessError as failed:
            return Tried(version, [f"no installation without a compiler: {said_last(failed)}"], 1)
        for label, well, said in steps(place):
            tried.done += 1
            if not well:
                tried.wrong.append(f"{label}: {said.strip()[-300:]}")
    return tried


@dataclass
class First:
    """From nothing to a first table: of a run, or with `analysis` of a comparison."""

    installed_s: float
    whole_s: float
    downloaded_mb: float
    disk_mb: float
    parts_mb: list[float]


def first_table(wheel: Path, extra: str, fresh: bool) -> First:
    """A new environment, the installation, a scenario that ships as it is."""
    with tempfile.TemporaryDirectory(prefix="midpath-first-") as name:
        start = time.monotonic()
        place = Place(sys.executable, Path(name))
        place.pip("install", *(["--no-cache-dir"] if fresh else []), f"{wheel}{extra}")
        installed_s = time.monotonic() - start
        example = place.midpath("example", "dumbbell").stdout
        command = ["compare", "-", "--schemes", "cubic,dctcp", "--seeds", "2"] if extra else ["run", "-"]
        done = place.midpath(*command, given=example)
        whole_s = time.monotonic() - start
        if done.returncode or "AFCT" not in done.stdout or "did not end" in done.stderr:
            raise SystemExit(done.stdout + done.stderr)
        disk_mb, parts_mb = place.megabytes(), [place.megabytes(part) for part in PARTS]
        place.pip("download", "--dest", f"{name}/files", f"{wheel}{extra}")
        downloaded_mb = sum(file.stat().st_size for file in Path(name, "files").iterdir()) / 1e6
        return First(installed_s, whole_s, downloaded_mb, disk_mb, parts_mb)


def wheel_of(folder: Path | None, work: Path) -> Path:
    """The wheel for this machine: built, or the one that pip would take."""
    if folder is None:
        command = [sys.executable, str(ROOT / "scripts" / "dist.py"), rust_host(), "--no-crates", "--out", str(work)]
    else:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--no-index", "--find-links", str(folder.resolve()), "--only-binary", ":all:", "--dest", str(work)]
        command += ["midpath"]
    subprocess.run(command, check=True, stdout=sys.stderr)
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
        found: list[str] = []
        print("| Python | steps | went well | wrong |\n|---|---|---|---|")
        for python in pythons():
            tried = try_wheel(wheel, python)
            found.append(tried.python.rpartition(".")[0])
            failed |= bool(tried.wrong)
            wrong = "; ".join(tried.wrong).replace("\n", " ").replace("|", "\\|") or "–"
            print(f"| {tried.python} | {tried.done} | {tried.done - len(tried.wrong)} | {wrong} |", flush=True)
        failed |= not found
        print(f"\nNot tried: {', '.join(untried(found, wheel.name))}.")
        print_first(wheel, given.network)
        if given.network:
            failed |= not citation_is_valid(Path(name))
    return int(failed)


def print_first(wheel: Path, fresh: bool) -> None:
    """What it takes, without and with `analysis`."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    print("\n## From nothing to the first table\n")
    heads = ["", "MB to download", "seconds to install", "and to the table", "MB on disk", *PARTS]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for extra in ("", "[analysis]"):
        first = first_table(wheel, extra, fresh)
        sizes = [first.disk_mb, *first.parts_mb]
        cells = [f"`midpath{extra}`", f"{first.downloaded_mb:.0f}", f"{first.installed_s:.0f}"]
        cells += [f"{first.whole_s:.0f}", *(f"{size:.0f}" for size in sizes)]
        print(f"| {' | '.join(cells)} |", flush=True)
    from_where = "the registry" if fresh else "pip's cache"
    print(
        f"\nA new environment, installation from {from_where}, `midpath example dumbbell` (three flows of 10 MB) "
        "and its run; with `[analysis]` a comparison of 2 schemes × 2 seeds and the ideal. Packages: MB on disk. "
        f"Load average {load:.0f} when it began."
    )


def untried(found: list[str], wheel: str) -> Iterator[str]:
    """The Pythons and systems that are not here."""
    yield from (f"Python 3.{minor}" for minor in MINORS if f"3.{minor}" not in found)
    yield from (system for system, pattern in SYSTEMS.items() if not re.search(pattern, wheel))


def rust_host() -> str:
    """The target that this machine is."""
    about = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    return about.partition("host: ")[2].split()[0]


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
