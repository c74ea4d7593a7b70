"""Translates `midpath run --trace` into keys of a scenario."""

from __future__ import annotations

from typing import Any

from midpath.errors import UsageError

LISTS = ("nodes", "flows")
KEYS = ("from", "for", "around", "before", *LISTS, "slowest", "events")
EXAMPLE = '--trace "from=4.2s,for=200ms,nodes=r1;r2,flows=3;7"'


def as_changes(text: str) -> dict[str, Any]:
    """`from=4.2s,flows=3;7` as changes of a scenario: `{"trace.from": "4.2s", "trace.flows": [3, 7]}`."""
    found: dict[str, Any] = {}
    for part in text.split(","):
        key, equals, value = (word.strip() for word in part.partition("="))
        if not equals or not value:
            raise UsageError(f"--trace {part.strip()!r:.40}: write KEY=VALUE, as in {EXAMPLE}")
        if key not in KEYS:
            raise UsageError(f"--trace {key!r:.40}: is not one of {', '.join(KEYS)}")
        if f"trace.{key}" in found:
            raise UsageError(f"--trace {key}: is given twice")
        found[f"trace.{key}"] = _value(key, value)
    return found


def _value(key: str, value: str) -> Any:
    if key in LISTS:
        names = [name.strip() for name in value.split(";") if name.strip()]
        return [_number(key, name) for name in names] if key == "flows" else names
    return _number(key, value) if key == "events" else value


def _number(key: str, text: str) -> int:
    if not text.isdecimal():
        raise UsageError(f"--trace {key}: {text!r:.40} is not a whole number")
    return int(text)
