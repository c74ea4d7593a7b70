"""Follows a page to the letter: writes the files that it shows, runs its commands, compares what they print.

    python scripts/follow.py docs/tutorial.md            fails where a command prints something else
    python scripts/follow.py docs/tutorial.md --write    puts what is printed now, and new pictures; what the page
                                                         omits stays omitted
    python scripts/follow.py … --limit 3600              gives each command so many seconds; 300 unless said
    python scripts/follow.py … --times                   prints how long each command took, in seconds
    python scripts/follow.py … --folder DIR              works in DIR, which stays, and in none that goes

A block with a title (```toml title="idea.toml") is a file, or goes to the end of one ("idea.toml (at its end)"). A
block of `console` has commands behind `$ `, and below each what it prints; a line `…` stands for any lines. All happens
in one folder, which begins empty.
"""

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"!\[[^\]]*\]\((images/[^)]+)\)")
OMITTED = "…"
AT_ITS_END = " (at its end)"
# Where the page's reader works; stands in for the folder that we work in.
READERS_FOLDER = "/home/you/idea"
# How long a command may take, in seconds.
LIMIT = 300
# What depends on the machine, and is never compared.
MACHINE = re.compile(r"simulated in .+ packet-hops/s")


@dataclass(frozen=True)
class Command:
    """One command of a page, and what the page says that it prints."""

    text: str
    printed: str


def commands(block: str) -> list[Command]:
    """The commands of a `console` block."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    heads = [re.match(r"(?:.*\\\n)*.*\n", part).group() for part in parts]
    return [Command(head.rstrip("\n"), part[len(head) :]) for head, part in zip(heads, parts, strict=True)]


def same(said: str, printed: str) -> bool:
    """Whether a command printed what the page says, but for the machine's numbers and spaces at line ends."""
    pattern = "".join(
        r"(?:.*\n)*" if line == OMITTED else re.escape(line) + r"\n" for line in _plain(said).splitlines()
    )
    return re.fullmatch(pattern, _plain(printed)) is not None


def _plain(text: str) -> str:
    lines = MACHINE.sub("simulated", text).splitlines()
    return "".join(line.rstrip() + "\n" for line in lines)


def put(folder: Path, title: str, body: str) -> None:
    """A file that a page shows, or what the page puts at the end of one."""
    path = folder / title.removesuffix(AT_ITS_END)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a" if title.endswith(AT_ITS_END) else "w", encoding="utf-8") as file:
        file.write(body)


def execute(command: str, folder: Path, limit: int) -> str:
    """What a command prints; raises if it fails."""
    # `midpath` and `python` are those that run this script.
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=limit
    )
    if done.returncode:
        raise RuntimeError(f"{command}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout.replace(str(folder), READERS_FOLDER)


def follow(
    page: Path, folder: Path, limit: int = LIMIT, took: Callable[[str, float], None] | None = None
) -> tuple[str, list[str]]:
    """The page with what its commands print now, and a message for each that prints something else.

    `took` is told how many seconds each command took.
    """
    text, wrong = page.read_text(encoding="utf-8"), []

    def act(found: re.Match[str]) -> str:
        language, title, body = found.groups()
        if title:
            put(folder, title, body)
        if language != "console":
            return found[0]
        shown = []
        for command in commands(body):
            start = time.monotonic()
            printed = execute(command.text, folder, limit)
            if took:
                took(command.text, time.monotonic() - start)
            fits = same(command.printed, printed)
            if not fits:
                wrong.append(f"$ {command.text}\nthe page says\n{command.printed}\nprinted is\n{printed}")
            shown.append(f"$ {command.text}\n{command.printed if fits else abridged(command.printed, printed)}")
        return f"```console\n{''.join(shown)}```"

    return BLOCK.sub(act, text), wrong


def abridged(said: str, printed: str) -> str:
    """What is printed, less what the page omits: of its lines those that the page's are most like, in the same order.

    Where that is not what the command prints, all that it does.
    """
    kept, rest = [], printed.splitlines()
    for line in said.splitlines():
        if line == OMITTED:
            kept.append(line)
            continue
        likeness = [difflib.SequenceMatcher(None, _words(line), _words(one)).ratio() for one in rest]
        if not likeness:
            break
        best = likeness.index(max(likeness))
        kept.append(rest[best].rstrip())
        rest = rest[best + 1 :]
    shorter = "".join(line + "\n" for line in kept)
    return shorter if same(shorter, printed) else "".join(line.rstrip() + "\n" for line in printed.splitlines())


def _words(line: str) -> list[str]:
    """Its words, with one for all numbers."""
    return re.sub(r"[\d.,]*\d", "#", line).split()


def keep_pictures(page: Path, folder: Path) -> None:
    """Copies the pictures that the page shows, and that following it has drawn."""
    for shown in PICTURE.findall(page.read_text(encoding="utf-8")):
        drawn = folder / Path(shown).name
        if drawn.is_file():
            shutil.copyfile(drawn, page.parent / shown)


def _tell(command: str, seconds: float) -> None:
    print(f"{seconds:.1f}\t{' '.join(command.split())}", flush=True)


def main() -> int:
    """Follows a page, and writes it again if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--limit", type=int, default=LIMIT)
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    with nullcontext(asked.folder) if asked.folder else tempfile.TemporaryDirectory() as name:
        text, wrong = follow(asked.page, Path(name), asked.limit, _tell if asked.times else None)
        if asked.write:
            asked.page.write_text(text, encoding="utf-8")
            keep_pictures(asked.page, Path(name))
            return 0
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
