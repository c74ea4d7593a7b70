"""What `midpath evaluate --beside` compares with that is no scheme: an evaluation, another build, a revision's code."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from midpath.errors import UsageError
from midpath.evaluate.found import MARKER, Evaluation, load_evaluation

# What the command exits with after an evaluation.
EVALUATED = (0, 1)


def before(other: str, words: Sequence[str], code: Sequence[Path]) -> Evaluation | None:
    """The evaluation in a folder, or what another version says to the same `words`; none if it is neither.

    A version is a program, or a git revision of the files with controllers in Python.
    """
    if (Path(other) / MARKER).is_file():
        return load_evaluation(other)
    if Path(other).is_file() and os.access(other, os.X_OK):
        return _evaluated([str(Path(other).absolute()), *words, *_with(code)])
    if not code or (commit := _commit(other, code[0])) is None:
        return None
    if crates := [path for path in code if path.is_dir()]:
        raise UsageError(f"--beside {other}: {crates[0]} is a crate; evaluate its earlier version with --out DIR first")
    with TemporaryDirectory(prefix="midpath-beside-") as folder:
        old = [_at(commit, path, Path(folder) / str(number)) for number, path in enumerate(code)]
        return _evaluated([sys.executable, "-m", "midpath", *words, *_with(old)])


def _with(code: Sequence[Path]) -> list[str]:
    return [word for path in code for word in ("--with", str(path.absolute()))]


def _evaluated(command: Sequence[str]) -> Evaluation:
    with TemporaryDirectory(prefix="midpath-beside-") as out:
        done = subprocess.run([*command, "--out", out], capture_output=True, text=True, check=False)
        if done.returncode not in EVALUATED or not (Path(out) / MARKER).is_file():
            said = [line for line in done.stderr.splitlines() if line.strip()]
            raise UsageError(f"--beside: {said[-1] if said else f'{command[0]} exits with {done.returncode}'}")
        return load_evaluation(out)


def _commit(revision: str, path: Path) -> str | None:
    """The commit that a revision is, in the repository of a file."""
    return _git(path, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")


def _at(commit: str, path: Path, folder: Path) -> Path:
    """A file as it was, in a folder, with what was beside it: it may import that."""
    # `./`: from the file's own folder on.
    words = ["git", "-C", str(path.absolute().parent), "archive", "--format=tar", commit, "."]
    done = subprocess.run(words, capture_output=True, check=False)
    if done.returncode == 0:
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            archive.extractall(folder, filter="data")
    if not (folder / path.name).is_file():
        raise UsageError(f"--beside: {path} is not in {commit[:12]}")
    return folder / path.name


def _git(path: Path, *words: str) -> str | None:
    try:
        command = ["git", "-C", str(path.absolute().parent), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
