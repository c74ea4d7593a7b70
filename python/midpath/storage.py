"""Atomic writing of directories."""

import json
import os
import shutil
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from midpath.errors import OutputError


def write_directory(path: Path, marker: str, fill: Callable[[Path], None], begun: Path | None = None) -> None:
    """Lets `fill` write into a new directory beside `path`, then puts it in the place of `path`.

    An existing directory is replaced only if it is empty or holds `marker`: then it is a result of ours. `begun` is
    what of the new result is there already.
    """
    require_replaceable(path, marker, begun)
    with naming(path):
        fixed, work = stays(path), workplace(path)
        try:
            new = work / "new"
            new.mkdir()
            fill(new)
            if fixed:
                _move_into(path, new, marker, work)
                return
            if path.exists():
                path.rename(work / "old")
            new.rename(path)
        finally:
            shutil.rmtree(work, ignore_errors=True)


def workplace(path: Path) -> Path:
    """A new hidden directory from which what is written there can be moved to `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path if stays(path) else path.parent))


def stays(path: Path) -> bool:
    """Whether a directory cannot be renamed: something is mounted there, or what it lies in is not ours to write."""
    return path.is_dir() and (path.is_mount() or not os.access(path.parent, os.W_OK))


def _move_into(path: Path, new: Path, marker: str, work: Path) -> None:
    """Puts what is in `new` in the place of what is in `path`. Without its marker a directory is no result: that goes
    first and comes last.
    """
    (path / marker).unlink(missing_ok=True)
    for old in path.iterdir():
        if old != work:
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    for entry in sorted(new.iterdir(), key=lambda entry: entry.name == marker):
        entry.rename(path / entry.name)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Puts `path` into errors of the system that do not say which file they are about, such as a full disk's."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise OSError(error.errno, f"cannot write {error.filename or path}: {reason}") from None


def require_replaceable(path: Path, marker: str, begun: Path | None = None) -> None:
    """Raises `OutputError` if writing a result to `path` would destroy something that is not one, and not `begun`."""
    if not path.exists() and not path.is_symlink():
        return
    if not path.is_dir():
        raise OutputError(f"{path} exists and is not a directory")
    if any(entry != begun for entry in path.iterdir()) and not (path / marker).is_file():
        raise OutputError(f"{path} exists and holds no {marker}: choose another directory for the result")


def write_text(path: Path, text: str) -> None:
    """Writes a text file whole or not at all."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, data: bytes) -> None:
    """Writes a file whole or not at all."""
    with naming(path):
        _write(path, data)


def require_file(path: Path) -> None:
    """Raises `OutputError` unless `path` is free or a regular file: a device would be replaced by one."""
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is not a regular file: choose another path")


def _write(path: Path, data: bytes) -> None:
    require_file(path)
    # What a link leads to is written, and not the link.
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        # mkstemp makes files for the user alone; a result is as readable as any other file.
        os.chmod(name, 0o666 & ~_umask())  # noqa: PTH101
        os.replace(name, path)  # noqa: PTH105
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def to_json(value: Any, levels: int | None = None) -> str:
    """JSON as we write it everywhere: readable, and an error rather than a NaN.

    Objects have a line for each key, down to this many levels if they are said; then lists have one line.
    """
    told = json.JSONEncoder(indent=2 if levels is None else None, ensure_ascii=False, allow_nan=False).encode
    if not levels or not value or not isinstance(value, dict):
        return told(value)
    lines = (f"{told(key)}: {to_json(one, levels - 1)}" for key, one in value.items())
    return "{\n" + textwrap.indent(",\n".join(lines), "  ") + "\n}"


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise OutputError(f"{path.parent} is not a result: it has no {path.name}") from None
    except (OSError, ValueError) as error:
        raise OutputError(f"cannot read {path}: {error}") from None
    if not isinstance(value, dict):
        raise OutputError(f"{path} is not a JSON object")
    return value


def _umask() -> int:
    # The only way to read the umask is to set it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
