"""The sets of items that there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from midpath.errors import UsageError, no_such
from midpath.evaluate import bbr, rfc7928, rfc8867, rfc9331, rfc9743
from midpath.evaluate.items import Item


@dataclass(frozen=True)
class Suite:
    """Items with a common source."""

    title: str
    items: Sequence[Item]


SUITES = {
    "rfc9743": Suite("RFC 9743", rfc9743.ITEMS),
    "bbr": Suite("draft-ietf-ccwg-bbr, test cases", bbr.ITEMS),
    "rfc8867": Suite("RFC 8867", rfc8867.ITEMS),
    "rfc9331": Suite("RFC 9331, the Prague requirements", rfc9331.ITEMS),
    "rfc7928": Suite("RFC 7928", rfc7928.ITEMS),
}
DEFAULT, QUEUES = "rfc9743", "rfc7928"


def chosen(suite: str, names: Sequence[str] | None) -> list[Item]:
    """The items that were asked for, in the suite's order."""
    if suite not in SUITES:
        raise UsageError(no_such("suite", suite, SUITES))
    known = SUITES[suite].items
    for name in names or ():
        if not any(_is_of(item, name) for item in known):
            raise UsageError(no_such("item", name, [item.name for item in known]))
    return [item for item in known if not names or any(_is_of(item, name) for name in names)]


def _is_of(item: Item, name: str) -> bool:
    return item.name == name or item.name.startswith(f"{name}.")
