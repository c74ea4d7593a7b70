"""A matrix as text: RESULTS.md, and the parts that pages quote."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from midpath.entries import CLASSES, ENDS, MIDPATH, QUEUES, Entry
from midpath.markdown import head, line
from midpath.matrix.found import TIMES, Matrix, Verdict
from midpath.matrix.rows import PAIRS, Row
from midpath.units import digits, listed, quantity

# Of each row, a column of the table: a figure, its head and its kind. Without a head: what times are compared with.
SHOWN = (
    ("fct_mean_s", "mean", "seconds"),
    ("mean_ratio", "", "times"),
    ("fct_p99_s", "p99", "seconds"),
    ("p99_ratio", "", "times"),
    ("wait_p99_s", "p99 wait", "seconds"),
    ("loss", "loss", "ratio"),
    ("jain", "Jain", "index"),
    ("use", "use", "ratio"),
)
NUMBER = re.compile(r"\d[\d.,]*")
# A warning begins with ports, as many as there are.
PORTS = re.compile(r" at [^:]*: ")


def title(name: str) -> str:
    """A column as people write it."""
    return Entry(name).title


def percent(share: float) -> str:
    """`38 %`."""
    return f"{100 * share:.0f} %"


def said(found: Verdict) -> str:
    """A verdict in words: who is better than the other side, and by how much."""
    if found.sides is None:
        return "–"
    if found.winner is None:
        return "undecided"
    kind, name, saved = found.winner
    side = "mid-path" if kind == MIDPATH else "ends"
    return f"{f'**{side}**' if found.told else side}: {title(name)}, {percent(saved)} sooner"


def verdicts(matrix: Matrix) -> Iterator[str]:
    """A line for each row: the best of each class, and who is better."""
    yield head(["situation", *(f"{kind}, best" for kind in CLASSES), *TIMES.values()])
    for row in matrix.rows:
        yield line([row.title, *verdict(matrix, row)])


def verdict(matrix: Matrix, row: Row) -> list[str]:
    """Of a row: the best of each class, and who is better in each of `TIMES`."""
    both = [matrix.verdict(row.name, figure) for figure in TIMES]
    best = both[0].best
    cells = (f"{title(best[kind][0])} {digits(best[kind][1])}" if kind in best else "–" for kind in CLASSES)
    return [*cells, *(said(one) for one in both)]


def deployment(matrix: Matrix) -> Iterator[str]:
    """Of the rows about hosts, where there are any: what those that deploy a scheme have of it, and the others."""
    rows = [row for row in matrix.rows if row.deployed is not None]
    if not rows:
        return
    yield "\n## Part of the hosts\n"
    yield "Mean completion times over the ideal's, of the hosts that run a scheme (*they*) and of the others, which run"
    yield "CUBIC. Routers have what the scheme needs.\n"
    columns = [(row, key, who) for row in rows for key, who in _groups(row)]
    heads = (f"{row.title.lower()}: {who}" if row.deployed != PAIRS else row.title.lower() for row, _, who in columns)
    yield head(["", *heads])
    for one in matrix.entries:
        yield line([one.title, *(_mean(matrix, row, one, key, "times") for row, key, _ in columns)])


def _groups(row: Row) -> list[tuple[str, str]]:
    """The figures of a row about hosts, and whose they are: without others there is one."""
    both = [("deployed_ratio", "they"), ("cubic_ratio", "CUBIC")]
    return both if row.deployed != PAIRS else both[:1]


def results(matrix: Matrix) -> Iterator[str]:
    """RESULTS.md."""
    yield "# The matrix: every scheme in every situation, at equal memory\n"
    yield f"Midpath {matrix.version}, {seeds(matrix)}, written by"
    yield f"`{command(matrix)}`. Each run is a line of `runs.csv`."
    yield from ABOUT
    yield from verdicts(matrix)
    yield from deployment(matrix)
    for row in matrix.rows:
        yield from of_row(matrix, row)


def command(matrix: Matrix) -> str:
    """The command that gives this matrix."""
    quick = " --quick" if matrix.small else ""
    return f"midpath matrix{quick} --seeds {len(matrix.seeds)} --out DIR"


def seeds(matrix: Matrix) -> str:
    """Which seeds: `seeds 1 to 5`."""
    return "seed 1" if len(matrix.seeds) == 1 else f"seeds 1 to {len(matrix.seeds)}"


ABOUT = (
    "",
    f"Three classes: *{ENDS}* are {CLASSES[ENDS]}; *{QUEUES}* are {CLASSES[QUEUES]}; under",
    f"*{MIDPATH}*, {CLASSES[MIDPATH]}. All ports of a row hold as many bytes in all under every scheme. Figures:",
    "",
    "- **mean, p99**: of the flows' completion times. A flow that did not end counts with the time that it had; the",
    "  figure is then behind `>`. Ratios are to the fluid ideal with the same flows and seed, which is no bound.",
    "  Of an application: of its requests, pages, iterations or packets, over the same alone in the network under",
    "  CUBIC; of collectives, over what their bytes take at the rate of the hosts' links.",
    "- **p99 wait**: 99th percentile of a packet's wait at the router's port where that is longest, of the ports that",
    "  carried a hundredth of the busiest's packets.",
    "- **Jain**: Jain's index of each flow's rate over the rate that the ideal gives it.",
    "- **use**: of the router's port that is used most, until the last flow has ended.",
    "",
    "Intervals are of 95 %, Student's t over the seeds. *Sooner* is said where the best of one side is better than",
    "the best of the other: ratios seed by seed, at 95 %. The best of several is so by luck, too: bold is what is",
    "better than every one of the other side at 95 % for all columns of the row together (Bonferroni).",
    "\n## Where mid-path help pays\n",
    "Numbers behind names are the mean completion time over the ideal's, or an application's over that alone.\n",
)


def of_row(matrix: Matrix, row: Row) -> Iterator[str]:
    """A row's part of the page."""
    yield f"\n## {row.title} (`{row.name}`)\n"
    yield f"{row.about[0].upper()}{row.about[1:]}.\n"
    ran = matrix.ran(row.name)
    if ran:
        yield head(["", "class", *(label or row.reference for _, label, _ in SHOWN)])
    for one in ran:
        yield line([one.title, one.kind, *(_mean(matrix, row, one, key, kind) for key, _, kind in SHOWN)])
    notes = matrix.notes[row.name]
    memory = {note["memory"] for note in notes.values() if note["memory"]}
    if memory:
        yield f"\nMemory of the port that has most: {listed(sorted(quantity('bytes', one) for one in memory))}."
    yield from _not_apart(matrix, row, ran)
    for one in matrix.entries:
        note = notes[one.name]
        if note["error"]:
            yield f"- {one.title} cannot be run: {note['error']}"
        if not note["error"] and one not in ran:
            yield f"- {one.title}: the application was not served."
        if note["same_as"]:
            other = title(note["same_as"][0])
            yield f"- {one.title} is the same flow by flow as {other}: what tells them apart did nothing."
    yield from _warnings(matrix, row)


def _not_apart(matrix: Matrix, row: Row, ran: Sequence[Entry]) -> Iterator[str]:
    if len(ran) < 2 or len(matrix.seeds) < 2:
        return
    means = {one.name: found.mean for one in ran if (found := matrix.estimate(row.name, one.name, "mean_ratio"))}
    first = min(means, key=lambda one: means[one])
    like = [
        title(one) for one in means if one != first and not matrix.apart(row.name, one, first, "mean_ratio", len(ran))
    ]
    yield f"\nNot told apart from {title(first)}, whose mean is least: {listed(like) if like else 'none'}.\n"


def _warnings(matrix: Matrix, row: Row) -> Iterator[str]:
    """What runs warned of, a sentence once, with who."""
    said_by: dict[str, list[str]] = {}
    first: dict[str, str] = {}
    for one in matrix.entries:
        for text in matrix.notes[row.name][one.name]["warnings"]:
            message = PORTS.sub(": ", text, count=1).partition(": ")[2] or text
            key = NUMBER.sub("0", message)
            first.setdefault(key, message)
            names = said_by.setdefault(key, [])
            if one.title not in names:
                names.append(one.title)
    for key, names in said_by.items():
        like = ", and others like it" if key != first[key] else ""
        yield f"- {listed(names)}: {first[key]}{like}."


def _mean(matrix: Matrix, row: Row, one: Entry, key: str, kind: str) -> str:
    found = matrix.estimate(row.name, one.name, key)
    if found is None:
        return "–"
    text = quantity(kind, found.mean, found.ci95) if kind != "times" else digits(found.mean)
    if kind == "times" and found.ci95 is not None:
        text += f" ± {digits(found.ci95)}"
    return (
        f"> {text}"
        if kind in ("seconds", "times") and key != "wait_p99_s" and matrix.unended(row.name, one.name)
        else text
    )
