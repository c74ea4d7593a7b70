"""A model of RPM for the test vectors: RFC 8289's pseudo-code and the rules of README.md, written from these alone.

Time is in nanoseconds, exact: the control law's square roots are decimals of 50 digits.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from decimal import Decimal, localcontext

# How far a decision must lie from where it would change, so that implementations may round.
SCHEDULE_MARGIN_NS = 1_000
AGE_MARGIN_NS = 4_000_000

ACE = {"AE", "CWR", "ECE"}
GRANTS = ({"CWR"}, {"CWR", "ECE"}, {"AE"}, {"AE", "CWR"})


class TooCloseError(Exception):
    """A decision lies so close to its limit that rounding would decide it."""


@dataclass(frozen=True)
class Params:
    """The parameters of a port."""

    aqm: str = "codel"
    target_ns: int = 5_000_000
    interval_ns: int = 100_000_000
    mtu_bytes: int = 1500
    mode: str = "rpm"
    registers: str = "guarded"
    aggregate: bool = False
    register_max: int = 65_535
    age_ns: int = 1_000_000_000
    # Of vectors that have none the numbers of packets say nothing.
    window_mib: int = 0


def apart(a: int, b: int) -> int:
    """How far a is ahead of b, or behind it if that is less: round a circle of 2^11 places of 2 MiB."""
    ahead = (a - b) % 2**11
    return ahead if ahead < 2**10 else ahead - 2**11


def over_root(interval_ns: int, count: int) -> Decimal:
    """§5.3: interval / sqrt(count)."""
    with localcontext() as context:
        context.prec = 50
        return Decimal(interval_ns) / Decimal(count).sqrt()


def has_come(now_ns: Decimal | int, due_ns: Decimal | int) -> bool:
    """Whether `now` has reached the schedule."""
    if abs(now_ns - due_ns) < SCHEDULE_MARGIN_NS:
        raise TooCloseError
    return now_ns >= due_ns


@dataclass(frozen=True)
class Leaving:
    """A packet at the moment that it leaves the queue."""

    sojourn: int
    behind: int
    droppable: bool


class Codel:
    """RFC 8289, §5.1 to §5.6, over packets that leave a queue one after the other.

    The RFC's `deque` calls `dodequeue` for each packet that it looks at. Here it is a generator: it is sent the packet
    that `dodequeue` would have taken, and yields whether that one is signalled. So the loops stay the RFC's.
    """

    def __init__(self, params: Params) -> None:
        self.params = params
        self.first_above = 0
        self.drop_next: Decimal = Decimal(0)
        self.count = 0
        self.lastcount = 0
        self.dropping = False
        self.now = 0
        self.run = self._run()
        next(self.run)

    def signals(self, now: int, packet: Leaving) -> bool:
        """Whether this packet is signalled."""
        self.now = now
        return self.run.send(packet)

    def near(self, now: int) -> bool:
        """Whether a packet that left now would meet the schedule, the present one or that after a drop."""
        after = self.drop_next + over_root(self.params.interval_ns, max(self.count, 1))
        return any(abs(now - due) < SCHEDULE_MARGIN_NS for due in (self.drop_next, after))

    def _control_law(self, t: Decimal | int, count: int) -> Decimal:
        return t + over_root(self.params.interval_ns, count)

    def _ok_to_drop(self, packet: Leaving) -> bool:
        """The end of `dodequeue`."""
        if packet.sojourn < self.params.target_ns or packet.behind <= self.params.mtu_bytes:
            self.first_above = 0
            return False
        if self.first_above == 0:
            self.first_above = self.now + self.params.interval_ns
            return False
        return self.now >= self.first_above

    def _run(self):
        packet = yield False
        while True:
            packet = yield from self._deque(packet)

    def _deque(self, packet: Leaving):
        """`deque`, with its last `return` turned into "not signalled, and the next packet please"."""
        ok = self._ok_to_drop(packet)
        if self.dropping:
            if not ok:
                self.dropping = False
            while self.dropping and has_come(self.now, self.drop_next):
                self.count += 1
                if not packet.droppable:
                    # A mark: the packet leaves.
                    self.drop_next = self._control_law(self.drop_next, self.count)
                    return (yield True)
                packet = yield True
                ok = self._ok_to_drop(packet)
                if not ok:
                    self.dropping = False
                else:
                    self.drop_next = self._control_law(self.drop_next, self.count)
        elif ok:
            marked = not packet.droppable
            self.dropping = True
            delta = self.count - self.lastcount
            self.count = 1
            recent = self.now - self.drop_next < 16 * self.params.interval_ns
            if delta > 1 and recent:
                self.count = delta
            self.drop_next = self._control_law(self.now, self.count)
            self.lastcount = self.count
            if marked:
                return (yield True)
            packet = yield True
            self._ok_to_drop(packet)
        return (yield False)


class Dataplane:
    """CoDel on a P4 switch: README.md, "Which packets are chosen"."""

    def __init__(self, params: Params) -> None:
        self.params = params
        self.above = False
        self.next: Decimal = Decimal(0)
        self.count = 0

    def near(self, now: int) -> bool:
        """Whether now is where the answer changes: at the schedule, and half a turn of the clock away from it."""
        back = (now - self.next) % 2**31
        return self.above and min(back, 2**31 - back) < SCHEDULE_MARGIN_NS

    def signals(self, now: int, packet: Leaving) -> bool:
        """Whether this packet is signalled."""
        if packet.sojourn < self.params.target_ns:
            self.above = False
            return False
        if not self.above:
            self.above, self.count = True, 1
            self.next = (now + Decimal(self.params.interval_ns)) % 2**32
            return False
        if self.near(now):
            raise TooCloseError
        back = (now - self.next) % 2**32
        if back >= 2**31:
            return False
        self.count += 1
        self.next = (self.next + over_root(self.params.interval_ns, self.count)) % 2**32
        return True


class Step:
    """A threshold on the sojourn."""

    def __init__(self, params: Params) -> None:
        self.params = params

    def near(self, _now: int) -> bool:
        """There is no schedule."""
        return False

    def signals(self, _now: int, packet: Leaving) -> bool:
        """Whether this packet is signalled."""
        return packet.sojourn > self.params.target_ns


AQMS = {"codel": Codel, "codel-dataplane": Dataplane, "step": Step}


@dataclass
class Place:
    """A register and who has it."""

    owner: str | None = None
    seen: int = 0
    count: int = 0
    accecn: bool = False
    fallen: bool = False
    ect: bool = False
    acked: int | None = None
    agreed: int = 0

    def give_to(self, owner: str, now: int) -> None:
        """Another flow's from now on."""
        self.owner, self.seen, self.count, self.acked = owner, now, 0, None
        self.accecn = self.fallen = self.ect = False
        self.agreed = 0


@dataclass
class Port:
    """One port of a router under RPM."""

    params: Params
    places: dict[str, int]
    table: dict[int, Place] = field(default_factory=dict)
    port_count: int = 0
    port_seen: int = 0
    # Bytes that the last packet has left behind in the queue.
    behind: int = 0

    def __post_init__(self) -> None:
        self.aqm = AQMS[self.params.aqm](self.params)

    def answer(self, event: dict) -> dict:
        """What an event must give."""
        self.now = event["t"]
        self.flow = event["flow"]
        self.place = self.table.setdefault(self.places[self.flow], Place())
        self.flags = set(event.get("flags", "").split())
        self.seq, self.ack = event.get("seq", 0), event.get("ack", 0)
        answer = self._out(event) if event["dir"] == "out" else self._in()
        answer["register"] = self.port_count if self.params.aggregate else self.place.count
        return answer

    # -- out ---------------------------------------------------------------------------------------------------------

    def _out(self, event: dict) -> dict:
        p = self.params
        self.behind = event["behind"]
        not_ect = event["ecn"] == "not-ect"
        packet = Leaving(event["sojourn"], event["behind"], not_ect and p.aqm != "step")
        signal = p.mode != "off" and self.aqm.signals(self.now, packet)
        tcp, registers = event["tcp"], p.mode in ("rpm", "both")
        if tcp and registers:
            if "SYN" in self.flags:
                self._syn(inbound=False)
            elif p.aggregate and not not_ect and self.place.owner == self.flow:
                self.place.ect = True
        if not signal:
            return {"signal": False, "verdict": "pass"}
        if event["ecn"] == "ce":
            return {"signal": True, "verdict": "pass"}
        if not_ect:
            return {"signal": True, "verdict": "drop" if packet.droppable else "pass"}
        if tcp and self.flags & {"SYN", "RST"}:
            return {"signal": True, "verdict": "pass"}
        if not registers or not tcp or "AE" in self.flags:
            return {"signal": True, "verdict": "mark"}
        counted = self._count()
        has_it = counted in ("counted", "saturated") and p.mode == "rpm"
        return {"signal": True, "verdict": "pass" if has_it else "mark", "counted": counted}

    def _count(self) -> str:
        """Algorithm 1, lines 2 to 5, if the flow may."""
        p = self.params
        if p.registers == "guarded":
            refused = self._refused()
            if refused:
                return refused
        if p.aggregate:
            if p.registers == "guarded" and self.port_count and self._older(self.port_seen):
                self.port_count = 0
            if self.port_count == 0:
                self.port_seen = self.now
            if self.port_count == p.register_max:
                return "saturated"
            self.port_count += 1
            return "counted"
        if self.place.count == p.register_max:
            return "saturated"
        self.place.count += 1
        return "counted"

    def _refused(self) -> str | None:
        place = self.place
        if place.owner != self.flow:
            if self._owned():
                return "collision"
            place.give_to(self.flow, self.now)
            place.fallen = True
            return "no-acks"
        if place.accecn:
            return "accecn"
        if place.fallen or not self._owned():
            if not place.fallen:
                place.count = 0
            place.fallen = True
            place.seen = self.now
            return "no-acks"
        if self._is_strange(self.seq):
            return "strange"
        return None

    # -- in ----------------------------------------------------------------------------------------------------------

    def _in(self) -> dict:
        p, place = self.params, self.place
        if p.mode not in ("rpm", "both") or "RST" in self.flags:
            return {"ece": False}
        if "SYN" in self.flags:
            self._syn(inbound=True)
            return {"ece": False}
        understands = "AE" not in self.flags
        if p.registers == "guarded":
            understands = self._came_back()
            if p.aggregate:
                understands = understands and place.ect
        if not understands or "ACK" not in self.flags:
            return {"ece": False}
        if p.aggregate:
            self.port_seen = self.now
            self.port_count = self._still_queued(self.port_count)
            had = self.port_count > 0
            self.port_count -= had
        else:
            place.count = self._still_queued(place.count)
            had = place.count > 0
            place.count -= had
        return {"ece": had}

    def _still_queued(self, count: int) -> int:
        """Guarded: one signal, and one for each 2 KiB that wait."""
        return min(count, 1 + self.behind // 2048) if self.params.registers == "guarded" else count

    def _came_back(self) -> bool:
        """The flow's register is its own; whether ECE means ECE to it."""
        place = self.place
        if place.owner != self.flow:
            if self._owned():
                return False
            place.give_to(self.flow, self.now)
        elif "ACK" in self.flags and self._is_strange(self.ack):
            if self._is_sure():
                return False
            place.count = 0
        elif not self._owned():
            place.count = 0
        place.seen, place.fallen = self.now, False
        self._learn()
        if "AE" in self.flags:
            place.accecn = True
        if place.accecn:
            place.count = 0
        return not place.accecn

    # -- both --------------------------------------------------------------------------------------------------------

    def _syn(self, *, inbound: bool) -> None:
        if self.params.registers == "plain":
            return
        place = self.place
        answer = "ACK" in self.flags
        ace = self.flags & ACE
        accecn = ace in GRANTS if answer else ace == ACE
        if place.owner == self.flow:
            if self._is_sure():
                return
            if not answer:
                place.count = 0
            place.accecn, place.ect, place.acked, place.agreed = accecn, False, None, 0
            if inbound:
                place.seen, place.fallen = self.now, False
                self._learn()
        elif not self._owned() and (accecn or (answer and inbound)):
            place.give_to(self.flow, self.now)
            place.accecn = accecn
            if inbound:
                self._learn()

    def _learn(self) -> None:
        place, at = self.place, self.ack // 2**21
        if "ACK" not in self.flags:
            return
        if place.acked is None or self._is_strange(self.ack):
            place.acked, place.agreed = at, 1
            return
        place.agreed = min(place.agreed + 1, 3)
        if apart(at, place.acked):
            place.acked += 1 if apart(at, place.acked) > 0 else -1

    def _is_strange(self, number: int) -> bool:
        """Whether the packet does not lie in the flow's window."""
        window = self.params.window_mib
        return (
            bool(window) and self.place.acked is not None and 2 * abs(apart(number // 2**21, self.place.acked)) > window
        )

    def _is_sure(self) -> bool:
        """Whether three ACKs of the flow have agreed, and one came in the last quarter of `age`."""
        place, quarter = self.place, self.params.age_ns // 4
        if not self.params.window_mib or place.agreed < 3 or place.fallen:
            return False
        if abs(self.now - place.seen - quarter) < AGE_MARGIN_NS:
            raise TooCloseError
        return self.now - place.seen < quarter

    def _owned(self) -> bool:
        return self.place.owner is not None and not self._older(self.place.seen)

    def _older(self, seen: int) -> bool:
        if abs(self.now - seen - self.params.age_ns) < AGE_MARGIN_NS:
            raise TooCloseError
        return self.now - seen > self.params.age_ns


@dataclass
class Queue:
    """A link of constant rate behind a queue that refuses what does not fit; for arrivals that look like traffic."""

    rate_bps: int
    limit_bytes: int
    waiting: deque = field(default_factory=deque)
    held_bytes: int = 0

    def offer(self, t: int, size: int, packet: dict) -> None:
        """A packet arrives."""
        if self.held_bytes + size <= self.limit_bytes:
            self.waiting.append((t, size, packet))
            self.held_bytes += size

    def take(self, now: int) -> dict:
        """The packet at the head leaves."""
        t, size, packet = self.waiting.popleft()
        self.held_bytes -= size
        return packet | {"t": now, "sojourn": now - t, "behind": self.held_bytes, "bytes": size}
