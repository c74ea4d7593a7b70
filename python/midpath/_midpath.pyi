"""The compiled simulator (python/wheel). Private: use the functions of `midpath`."""

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
    controllers: dict[str, dict[str, Any]] | None = None,
    rows: Callable[[Buffers], None] | None = None,
) -> tuple[str, dict[str, Buffers], dict[str, bytes]]: ...
def measure(text: str, base_dir: Path, *, threads: int = 1, phase: Callable[[str], bool | None]) -> str | None: ...

class Counters:
    def __init__(self) -> None: ...
    def read(self) -> dict[str, tuple[int, int, int] | str]: ...

class NdnConsumer:
    def __init__(
        self,
        object: str,
        window: int,
        seed: int,
        key: bytes | None = None,
        certificate: bytes | None = None,
    ) -> None: ...
    def receive(self, seconds: float, data: bytes) -> None: ...
    def on_time(self, seconds: float) -> None: ...
    def next(self) -> float: ...
    def sends(self) -> bytes: ...
    def take(self) -> bytes: ...
    def is_done(self) -> bool: ...
    @property
    def again(self) -> int: ...
    @property
    def unverified(self) -> int: ...

class Control:
    """What a controller and its sender share."""

    window: float
    """Most bytes in flight. A fraction of a byte is kept."""
    threshold: float
    """Below this the window grows by slow start."""
    rate: float | None
    """With pacing: bits per second on the wire, headers included. None: a multiple of window and round-trip time."""
    quantum: int
    """With pacing: bytes on the wire that may leave together. One packet may, always."""
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    @property
    def mss(self) -> int:
        """Bytes of payload of a full packet."""
    @property
    def in_slow_start(self) -> bool:
        """Whether the window is below the threshold."""

def check(
    text: str,
    base_dir: Path,
    *,
    scheme: str | None = None,
    seed: int | None = None,
    controllers: dict[str, dict[str, Any]] | None = None,
    flows_optional: bool = False,
) -> None: ...
def check_scenario(
    text: str,
    base_dir: Path,
    *,
    scheme: str | None = None,
    seed: int | None = None,
    controllers: dict[str, dict[str, Any]] | None = None,
) -> str: ...
def check_file(path: Path) -> str: ...
def describe_scenario(text: str, base_dir: Path) -> str: ...
def network(text: str, base_dir: Path) -> str: ...
def pairs(
    text: str, base_dir: Path, *, seed: int | None = None, controllers: dict[str, dict[str, Any]] | None = None
) -> str: ...
def describe_file(path: Path, *, format: str | None = None, radius: int = 0) -> str: ...
def describe_builtin(name: str) -> str: ...
def schema() -> str: ...
def schemes() -> str: ...
def columns() -> str: ...
def sources() -> dict[str, str]: ...
def contract() -> int: ...
def version() -> str: ...
