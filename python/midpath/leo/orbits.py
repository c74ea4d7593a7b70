"""Positions of satellites by SGP4, from elements of the real ones or of a shell (Walker's delta pattern)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from midpath.errors import UsageError
from midpath.leo.positions import AXIS_KM, Positions, on_earth

# km³/s², as WGS 72, which SGP4's elements go by.
GRAVITY = 398_600.8
SHELL = re.compile(r"(\d+)x(\d+):([\d.]+):([\d.]+)(?::(\d+))?")
# Days from 1949-12-31, SGP4's epoch, in Julian days.
EPOCH = 2_433_281.5
MINUTE, DAY = 60.0, 86_400.0


def _sgp4() -> Any:
    try:
        from sgp4 import api, propagation  # noqa: PLC0415 # an extra
    except ImportError:
        raise UsageError("orbits need sgp4: pip install 'midpath[leo]'; a CSV of positions does not") from None
    return api, propagation


def tle(
    file: str | Path, ground: Mapping[str, tuple[float, float, float]], *, start: str, seconds: float, step: float = 1
) -> Positions:
    """Of a file of two-line elements, each with a line that names its satellite or without."""
    api, _ = _sgp4()
    lines = [line.rstrip() for line in Path(file).read_text(encoding="utf-8").splitlines() if line.strip()]
    found: dict[str, Any] = {}
    for i, line in enumerate(lines):
        if not (line.startswith("1 ") and i + 1 < len(lines) and lines[i + 1].startswith("2 ")):
            continue
        satellite = api.Satrec.twoline2rv(line, lines[i + 1])
        named = i > 0 and not lines[i - 1].startswith("2 ")
        found["-".join(lines[i - 1].split()) if named else f"sat{satellite.satnum}"] = satellite
    if not found:
        raise UsageError(f"{file}: no elements; a satellite has two lines, which begin with 1 and 2")
    return _flown(found, ground, start, seconds, step)


def shell(
    text: str, ground: Mapping[str, tuple[float, float, float]], *, start: str, seconds: float, step: float = 1
) -> Positions:
    """Of a shell, `PLANESxEACH:INCLINATION:ALTITUDE[:PHASE]` in degrees and km; `PHASE` is Walker's F."""
    api, _ = _sgp4()
    read = SHELL.fullmatch(text)
    if read is None:
        raise UsageError(f"{text!r} is no shell; write PLANESxEACH:INCLINATION:ALTITUDE, such as 72x22:53:550")
    planes, each, phase = int(read[1]), int(read[2]), int(read[5] or 0)
    inclination, altitude = float(read[3]), float(read[4])
    if not (0 < planes * each <= 20_000 and 160 <= altitude <= 2000 and 0 < inclination < 180):
        raise UsageError(f"{text!r}: at most 20,000 satellites, 160 to 2,000 km high, inclined by 0 to 180 degrees")
    days, fraction = _julian(start)
    mean_motion = math.sqrt(GRAVITY / (AXIS_KM + altitude) ** 3) * MINUTE
    found: dict[str, Any] = {}
    for plane in range(planes):
        for k in range(each):
            anomaly = 2 * math.pi * (k / each + phase * plane / (planes * each))
            satellite = api.Satrec()
            satellite.sgp4init(
                api.WGS72, "i", len(found) % 99_999, days + fraction - EPOCH, 0.0, 0.0, 0.0, 0.0001, 0.0,
                math.radians(inclination), anomaly % (2 * math.pi), mean_motion, 2 * math.pi * plane / planes,
            )  # fmt: skip
            found[f"p{plane}s{k}"] = satellite
    return _flown(found, ground, start, seconds, step)


def _julian(start: str) -> tuple[float, float]:
    api, _ = _sgp4()
    try:
        at = datetime.fromisoformat(start)
    except ValueError:
        raise UsageError(f"{start!r} is no time; write it in UTC, such as 2026-01-01T00:00:00") from None
    at = at.astimezone(UTC) if at.tzinfo else at
    whole, part = api.jday(at.year, at.month, at.day, at.hour, at.minute, at.second + at.microsecond / 1e6)
    return float(whole), float(part)


def _flown(
    satellites: Mapping[str, Any],
    ground: Mapping[str, tuple[float, float, float]],
    start: str,
    seconds: float,
    step: float,
) -> Positions:
    """Turned by Greenwich's mean sidereal time into the Earth's frame; its poles' motion, of metres, is left out."""
    api, propagation = _sgp4()
    if not (step > 0 and seconds >= step):
        raise UsageError("a flight lasts at least one step, which is above zero")
    whole, part = _julian(start)
    times = np.arange(0, seconds + step / 2, step)
    days, parts = np.full(times.shape, whole), part + times / DAY
    errors, flown, _ = api.SatrecArray(list(satellites.values())).sgp4(days, parts)
    if errors.any():
        name = list(satellites)[int(np.argwhere(errors)[0][0])]
        raise UsageError(f"{name} has no orbit at {start}; its elements may be too old")
    angle = np.array([propagation.gstime(day) for day in days + parts])
    x, y = flown[..., 0], flown[..., 1]
    turned = np.stack([x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle), flown[..., 2]], -1)
    still = np.broadcast_to(np.array([on_earth(*place) for place in ground.values()]).reshape(-1, 3),
                            (len(times), len(ground), 3))  # fmt: skip
    return Positions(times, [*ground, *satellites], np.concatenate([still, turned.transpose(1, 0, 2)], axis=1))


def grounds(texts: list[str]) -> dict[str, tuple[float, float, float]]:
    """Of `NAME,LAT,LON[,ALT]`."""
    return dict(_ground(text) for text in texts)


def _ground(text: str) -> tuple[str, tuple[float, float, float]]:
    name, *numbers = text.split(",")
    try:
        lat, lon, alt = ([float(one) for one in numbers] + [0.0])[:3]
    except ValueError:
        raise UsageError(f"{text!r} is no place; write NAME,LAT,LON, such as home,47.4,8.5") from None
    if not (name and -90 <= lat <= 90 and -180 <= lon <= 360 and -1 <= alt < 10):
        raise UsageError(f"{text!r} is no place on Earth; write NAME,LAT,LON in degrees")
    return name, (lat, lon, alt)
