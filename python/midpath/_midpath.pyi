"""The compiled simulator (crates/python). Private: use the functions of `midpath`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

Buffers = dict[str, tuple[Any, ...]]
ProgressCallback = Callable[[dict[str, Any]], bool | None]

def run(
    text: str,
    base_dir: Path,
    *,
    scheme: str | None = None,
    seed: int | None = None,
    threads: int = 1,
    wire: bool = False,
    progress: ProgressCallback | None = None,
    policies: dict[str, Callable[[], Callable[..., list[float]]]] | None = None,
) -> tuple[str, dict[str, Buffers], dict[str, bytes]]: ...
def check(text: str, base_dir: Path, *, scheme: str | None = None, seed: int | None = None) -> None: ...
def describe_scenario(text: str, base_dir: Path) -> str: ...
def describe_file(path: Path, *, format: str | None = None, radius: int = 0) -> str: ...
def describe_builtin(name: str) -> str: ...
def schema() -> str: ...
def sources() -> dict[str, str]: ...
def version() -> str: ...
