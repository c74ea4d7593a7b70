"""External congestion controllers: a class that sets a TCP's window or rate.

class Aimd(midpath.Controller):
    increase: float = 1.0

    def on_ack(self, ack):
        self.window += self.increase * self.mss * ack.acked / self.window

    def on_loss(self, loss):
        return self.window / 2

midpath.run("examples/dumbbell.toml", scheme="aimd", controllers=[Aimd])

`docs/python-controller.md` walks through it, and goes on to Rust.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, Protocol

from midpath.controller.own_code import Code, code_of
from midpath.errors import UsageError
from midpath.extension import _midpath


class Opening(Protocol):
    """What a controller is told when its connection is open."""

    now_s: float
    srtt_s: float
    """The first round-trip time; zero if nobody has measured it."""
    overhead: int
    """Bytes of headers on a packet with payload: a rate counts them, samples do not."""
    sack: bool
    """Whether the receiver reports by SACK."""
    seed: int
    """Of the run's seed and the flow, for `random.Random`: the one source of randomness."""


class Ack(Protocol):
    """What one acknowledgement has told the sender. Bytes are of payload."""

    now_s: float
    acked: int
    """Bytes by which it moved what is acknowledged up to a point."""
    delivered: int
    """Bytes that it reports for the first time, also by SACK."""
    una: int
    """The first byte not acknowledged, after it."""
    nxt: int
    """The next byte to send."""
    rtt_s: float | None
    """The round-trip time that it measured."""
    srtt_s: float
    """The smoothed round-trip time."""
    ece: bool
    """Whether it reports marks on a connection that has ECN."""
    marks: int
    """Packets that it reports as marked."""
    marked: int
    """Bytes in those."""
    after_rto: bool
    """Whether the sender still repairs what a timeout gave up."""


class Congestion(Protocol):
    """What has happened where a controller is asked for a lower threshold."""

    now_s: float
    flight: int
    """Bytes sent and not acknowledged (RFC 5681, §2)."""
    ecn_reduced: bool
    """Whether ECN has lowered the window already for this window of data."""


class Sample(Protocol):
    """What the newest packet tells of the path that an ACK reports for the first time. Bytes are of payload."""

    total: int
    """Bytes delivered so far."""
    prior: int
    """The same when the packet was sent."""
    delivered: int
    """The difference: what was delivered meanwhile."""
    interval_s: float
    """In what time: between the two ACKs or the two sendings, whichever is longer."""
    rtt_s: float | None
    """The packet's round trip, unless it was repeated and nothing says which one has arrived."""
    app_limited: bool
    """The application was what limited the sender when it was sent."""
    in_flight: int
    """Bytes in flight when it had been sent."""
    pipe: int
    """Bytes in flight now."""
    lost: int
    """Bytes that were taken for lost between its sending and now."""
    newly_lost: int
    """Bytes that this ACK has made so."""
    window_limited: bool
    """The window has been full at some time since it was sent."""


class Lost(Protocol):
    """A packet that is taken for lost. Bytes are of payload."""

    now_s: float
    size: int
    in_flight: int
    """Bytes in flight when it had been sent, itself included."""
    lost: int
    """Bytes that have been taken for lost since it was sent, itself included."""
    total: int
    """Bytes delivered so far."""
    app_limited: bool
    """The application was what limited the sender when it was sent."""
    follows: bool
    """Whether it follows directly on the packet that was lost before it."""


class Controller(_midpath.Control):
    """A congestion controller. Each flow gets an instance; write the methods that yours needs, the others cost nothing.

    The sender finds and repairs losses, and asks for decisions alone. Bytes are of payload, times in seconds.

    A class attribute with an annotation and a default (`increase: float = 1.0`) is a parameter: `[schemes.NAME]` sets
    it, and sweeps vary it, beside the parameters that all TCPs share.
    """

    name: ClassVar[str] = ""
    """The scheme's name; by default the class's own, in small letters with hyphens."""
    samples: ClassVar[bool] = False
    """Whether `on_sample` and `on_lost` are called."""
    own_window: ClassVar[bool] = False
    """Whether it alone moves the window: no fast recovery or slow start does, and what `on_loss` and `on_timeout`
    return is the window."""
    paced: ClassVar[bool] = False
    """Whether packets are paced whatever the scenario says."""
    ecn: ClassVar[str] = "off"
    """Unless the scenario says otherwise: off, classic (RFC 3168) or accurate (RFC 9768)."""
    echo: ClassVar[str] = "until-cwr"
    """How receivers echo marks where they don't count them: until-cwr (RFC 3168) or exact (RFC 8257)."""
    codepoints: ClassVar[tuple[str, str]] = ("ect0", "not-ect")
    """What new and repeated data say on a connection with ECN: not-ect, ect0 or ect1."""
    initial_window: ClassVar[int | None] = None
    """Segments to start with, if not as the scenario's TCPs."""
    gauges: ClassVar[Mapping[str, str]] = {}
    """Attributes to record over time, and what they mean. A name's end is its unit: _s, _bps, _bytes, _ratio."""

    def on_open(self, opening: Opening) -> None:
        """Called when the connection is open, before data leave."""

    def on_delivery(self, ack: Ack) -> None:
        """Called for each ACK that reports anything new or any marks, before all else."""

    def on_ack(self, ack: Ack) -> None:
        """Called when an ACK moved what is acknowledged, outside fast recovery, without marks, while the window was
        what limited the sender."""

    def on_unlimited_ack(self, ack: Ack) -> None:
        """Called instead when the application or the receiver limited the sender. It sets no window."""

    def on_loss(self, loss: Congestion) -> float:
        """Called when duplicate ACKs have shown a loss, once per window of data: returns the new threshold.

        By default half of what is in flight (RFC 5681).
        """
        raise NotImplementedError  # the simulator does not call what a class has not written

    def on_timeout(self, loss: Congestion) -> float:
        """Called when the retransmission timer expired for the first time on some data: returns the new threshold.

        By default half of what is in flight (RFC 5681).
        """
        raise NotImplementedError

    def on_ecn(self, loss: Congestion) -> float:
        """Called when marks were reported, once per window of data: returns the new threshold, which is the new window,
        too.

        By default half of the window (RFC 3168).
        """
        raise NotImplementedError

    def on_recovered(self, now_s: float) -> None:
        """Called when fast recovery or the repair after a timeout is over; the window has been set."""

    def on_sample(self, ack: Ack, sample: Sample) -> None:
        """Called last of all on an ACK that reports data for the first time."""

    def on_lost(self, lost: Lost) -> None:
        """Called for each packet that is taken for lost, before what follows from that."""

    def on_restart(self, now_s: float) -> None:
        """Called just before data leave while none are in flight, after the application had nothing to send.

        After more than a timeout, without `own_window`, the window is the restart window (RFC 5681, section 4.1)."""


Controllers = Mapping[str, type[Controller]] | Iterable[type[Controller]]
"""Classes, by the names that scenarios give them, or under their own."""

# Pairs, so that a scenario stays a value that can be compared.
Named = tuple[tuple[str, type[Controller]], ...]
# The same as it is sent to other processes: names, code, and classes' names in it.
Packed = tuple[tuple[str, Code, str], ...]

HOOKS = tuple(name for name in vars(Controller) if name.startswith("on_"))
# What a controller sets or reads, and does not define.
STATE = ("window", "threshold", "rate", "quantum", "mss", "in_slow_start")
NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
UNITS = ("s", "bps", "bytes", "ratio")


def named(controllers: Controllers) -> Named:
    """The classes under their names, checked."""
    pairs = controllers.items() if isinstance(controllers, Mapping) else ((_own_name(c), c) for c in controllers)
    found = tuple((name, _checked(name, cls)) for name, cls in pairs)
    ours = json.loads(_midpath.schemes()) if found else {}
    for name in {name for name, _ in found}:
        if sum(name == other for other, _ in found) > 1:
            raise UsageError(f"two controllers are named {name!r}: give one another name")
        if name in ours:
            raise UsageError(f"there is a scheme {name!r} already: give the controller another name")
    return found


def load(path: Path) -> list[type[Controller]]:
    """The controllers that a file of Python defines. This runs the file, and what it imports from beside it."""
    if not path.is_file():
        raise UsageError(f"{path} is not a Python file with a controller")
    if path.suffix != ".py":
        raise UsageError(f"{path} is not a Python file: its name must end in .py")
    try:
        module = Code.read(path).load()
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
    found = [cls for cls in vars(module).values() if _is_own(cls, module.__name__)]
    if not found:
        raise UsageError(f"{path} defines no midpath.Controller")
    return found


def files_of(controllers: Named) -> list[str]:
    """The names of the files that they are from."""
    return list(dict.fromkeys(code.file for _, cls in controllers if (code := code_of(cls))))


def loading(files: Sequence[str]) -> tuple[str, str]:
    """In a printed line of Python: what is imported, and the controllers of these files, if there are any."""
    if not files:
        return "import midpath", ""
    loaded = ", ".join(f"*load(pathlib.Path({file!r}))" for file in files)
    return "import midpath; import pathlib; from midpath.controller import load", f"[{loaded}]"


def with_options(files: Sequence[str]) -> list[str]:
    """In a printed command: the options that load the controllers of these files."""
    return [word for file in files for word in ("--with", file)]


def packed(controllers: Named) -> Packed:
    """Controllers as other processes are sent them."""
    return tuple((name, _code(name, cls), cls.__qualname__) for name, cls in controllers)


def unpacked(controllers: Packed) -> Named:
    """The classes that were sent."""
    return tuple((name, attrgetter(qualname)(code.load())) for name, code, qualname in controllers)


def _code(name: str, cls: type[Controller]) -> Code:
    found = code_of(cls)
    if found is None:
        why = "is not in its own module, so its code has no hash and other processes cannot load it"
        raise UsageError(f"{name}: {cls.__qualname__} {why}; put it into a file, and load that (--with FILE)")
    return found


def told(controllers: Named) -> dict[str, dict[str, Any]] | None:
    """What the simulator is told of them."""
    return {name: _said(name, cls) for name, cls in controllers} or None


def origins(controllers: Named) -> dict[str, dict[str, Any]]:
    """What a run says of them: the class, its file, and the SHA-256 of that and of what it imports from beside it."""
    return {name: _origin(cls) for name, cls in controllers}


def parameters(cls: type[Controller]) -> dict[str, Any]:
    """A class's parameters with their defaults."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if issubclass(base, Controller) and base is not Controller:
            notes = inspect.get_annotations(base)
            keys = [k for k, note in notes.items() if k in vars(base) and "ClassVar" not in str(note)]
            found |= {key: getattr(cls, key) for key in keys if not hasattr(Controller, key)}
    return found


def _said(name: str, cls: type[Controller]) -> dict[str, Any]:
    summary = (inspect.getdoc(cls) or "").strip().split("\n\n")[0].replace("\n", " ")
    return {
        "make": _maker(cls),
        "hooks": {hook for hook in HOOKS if getattr(cls, hook) is not getattr(Controller, hook)},
        "parameters": json.dumps(parameters(cls)),
        "samples": bool(cls.samples),
        "own_window": bool(cls.own_window),
        "paced": bool(cls.paced),
        "ecn": cls.ecn,
        "echo": cls.echo,
        "codepoints": tuple(cls.codepoints),
        "initial_window": cls.initial_window,
        "gauges": [(gauge, _unit(gauge), meaning) for gauge, meaning in cls.gauges.items()],
        "title": name,
        "summary": summary if cls.__doc__ != Controller.__doc__ else "",
    }


def _maker(cls: type[Controller]) -> Any:
    def make(values: str) -> Controller:
        made = cls.__new__(cls)
        for key, value in json.loads(values).items():
            setattr(made, key, value)
        # After the parameters, which it may read.
        cls.__init__(made)
        return made

    return make


def _checked(name: str, cls: type[Controller]) -> type[Controller]:
    if not inspect.isclass(cls) or not issubclass(cls, Controller):
        raise UsageError(f"{name!r}: {cls!r:.80} is not a class that extends midpath.Controller")
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not a scheme name: lower-case letters, digits, - and _, starting with a letter")
    for key in STATE:
        if getattr(cls, key) is not getattr(Controller, key):
            raise UsageError(f"{cls.__name__}.{key} is set, not defined: self.{key} = …")
    unknown = [key for key in dir(cls) if key.startswith("on_") and key not in HOOKS]
    if unknown:
        raise UsageError(f"{cls.__name__}.{unknown[0]} is not a hook; hooks are {', '.join(HOOKS)}")
    if cls.own_window and (cls.on_loss is Controller.on_loss or cls.on_timeout is Controller.on_timeout):
        raise UsageError(f"{cls.__name__} sets own_window: it needs on_loss and on_timeout, which return the window")
    wants = [hook for hook in ("on_sample", "on_lost") if hook in vars(cls)]
    if wants and not cls.samples:
        raise UsageError(f"{cls.__name__}.{wants[0]} is called only with samples = True")
    for key, value in parameters(cls).items():
        if not isinstance(value, (bool, int, float, str)):
            raise UsageError(
                f"{cls.__name__}.{key} is a parameter: it must be a number, a string or a bool, not {value!r}"
            )
    return cls


def _own_name(cls: type[Controller]) -> str:
    own = cls.__name__ if inspect.isclass(cls) else str(cls)
    return getattr(cls, "name", "") or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", own).lower()


def _is_own(cls: Any, module: str) -> bool:
    named_private = getattr(cls, "__name__", "_").startswith("_")
    return inspect.isclass(cls) and issubclass(cls, Controller) and cls.__module__ == module and not named_private


def _unit(gauge: str) -> str:
    return end if (end := gauge.rpartition("_")[2]) in UNITS else "count"


def _origin(cls: type[Controller]) -> dict[str, Any]:
    code = code_of(cls)
    if code is None:
        return {"class": cls.__qualname__, "file": None, "sha256": None}
    imports = dict(code.digests)
    found = {"class": cls.__qualname__, "file": code.file, "sha256": imports.pop(code.file)}
    return found | ({"imports": imports} if imports else {})
