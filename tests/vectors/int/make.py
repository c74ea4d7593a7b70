"""HPCC's and PowerTCP's windows on the same telemetry, computed by other hands.

`python tests/vectors/int/make.py` writes `windows.csv`, which the Rust tests of both schemes read.

Both laws are written here as their authors have them, in rates. HPCC's is that of `RdmaHw::UpdateRateHp` (the
artefact at 9f4be2a). PowerTCP's is algorithm 1 of its paper (NSDI 2022) with the least current of `UpdateRatePower`
(the artefact at 6ddb4a4), which has a target of 95 % and a cwnd_old that changes once per round trip besides.
Nothing of the Rust code is used.
"""

import itertools
import random
from pathlib import Path

PLACE = Path(__file__).with_name("windows.csv")
RATES = (100e9, 25e9, 50e9)  # bits/s, a port each
BASE_RTT = 12_000  # ns
ETA, MAX_STAGE, N = 0.95, 5, 100
GAMMA = 0.9
MSS = 100
ROWS = 400
ROUND = 9  # ACKs in a round trip


def telemetry(seed: int) -> list[list[tuple[int, int, int]]]:
    """For each ACK and port: bytes that wait, bytes sent so far, time in ns."""
    rng = random.Random(seed)
    waits, sent, now, rows = [0.0] * 3, [0.0] * 3, [1000, 3000, 5000], []
    for _ in range(ROWS + 1):
        gap = rng.choice((40, 320, 900, 5000, 20_000))
        for i, rate in enumerate(RATES):
            able = rate / 8e9 * gap
            comes = able * rng.uniform(0, 1.8) * max(0.2, 1 - waits[i] / 60_000)
            goes = min(able, waits[i] + comes)
            waits[i], sent[i], now[i] = waits[i] + comes - goes, sent[i] + goes, now[i] + gap
        rows.append([(int(w), int(s), t) for w, s, t in zip(waits, sent, now, strict=True)])
    return rows


class Hpcc:
    """UpdateRateHp for one aggregate rate: u, m_curRate, m_incStage; m_max_rate is the slowest link."""

    def __init__(self) -> None:
        self.u, self.stage = 0.0, 0
        self.max_rate = min(RATES)
        self.increase = self.max_rate * (1 - ETA) / N
        self.current = self.max_rate / 2

    def window(self, before, after, first) -> float:
        most, taken = 0.0, 0.0
        for (q0, s0, t0), (q1, s1, t1), line in zip(before, after, RATES, strict=True):
            tau = t1 - t0
            tx = (s1 - s0) * 8 / (tau * 1e-9)
            u = tx / line + min(q0, q1) * self.max_rate / line / (self.max_rate * BASE_RTT * 1e-9 / 8)
            if u > most:
                most, taken = u, tau
        taken = min(taken, BASE_RTT)
        self.u = (self.u * (BASE_RTT - taken) + most * taken) / BASE_RTT
        over = self.u / ETA
        if over >= 1 or self.stage >= MAX_STAGE:
            rate, stage = self.current / over + self.increase, 0
        else:
            rate, stage = self.current + self.increase, self.stage + 1
        rate = min(max(rate, MSS * 8 / (BASE_RTT * 1e-9)), self.max_rate)
        if first:
            self.current, self.stage = rate, stage
        return rate * BASE_RTT * 1e-9 / 8


class PowerTcp:
    """Algorithm 1: power is current (what arrives) times voltage (what waits and a BDP)."""

    def __init__(self) -> None:
        tau = BASE_RTT * 1e-9
        self.smooth, self.beta = 1.0, min(RATES) / 8 * tau / N
        self.most = min(RATES) / 8 * tau + self.beta
        self.cwnd = min(RATES) / 8 * tau / 2
        self.sent = [self.cwnd] * ROUND

    def window(self, before, after) -> float:
        tau, norm, taken = BASE_RTT * 1e-9, 0.0, 0.0
        for (q0, s0, t0), (q1, s1, t1), line in zip(before, after, RATES, strict=True):
            dt, b = (t1 - t0) * 1e-9, line / 8
            current = max((q1 - q0) / dt + (s1 - s0) / dt, b / 2)  # the artefact's least
            voltage = q1 + b * tau
            power = current * voltage / (b * b * tau)
            if power > norm:
                norm, taken = power, dt
        taken = min(taken, tau)
        self.smooth = (self.smooth * (tau - taken) + norm * taken) / tau
        self.cwnd = GAMMA * (self.sent[-ROUND] / self.smooth + self.beta) + (1 - GAMMA) * self.cwnd
        self.cwnd = min(max(self.cwnd, MSS), self.most)
        self.sent.append(self.cwnd)
        return self.cwnd


def rows() -> list[list[object]]:
    table = telemetry(7)
    hpcc, power, found = Hpcc(), PowerTcp(), []
    for i, (before, after) in enumerate(itertools.pairwise(table)):
        first = i % ROUND == 0
        windows = [hpcc.window(before, after, first), power.window(before, after)]
        found.append([int(first), *(n for port in after for n in port), *(f"{w:.3f}" for w in windows)])
    start = [0, *(n for port in table[0] for n in port), "", ""]
    return [start, *found]


def text() -> str:
    names = [f"{what}{i}" for i in range(3) for what in ("queue", "sent", "time_ns")]
    lines = [",".join(map(str, row)) for row in [["first", *names, "hpcc_bytes", "powertcp_bytes"], *rows()]]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PLACE.write_text(text(), encoding="utf-8")
