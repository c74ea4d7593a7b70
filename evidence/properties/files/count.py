"""Counts what is in files of networks and traffic, by libraries or regular expressions and never by Midpath's readers.

    python evidence/properties/files/count.py FOLDER

Writes the column `counts` of files.csv again, for those files that are there as FOLDER/SOURCE/PATH. It wants NetworkX
and PyYAML. A link is a link both ways: two directions are one, parallel links are several.
"""

import csv
import itertools
import json
import re
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import networkx as nx
import yaml  # type: ignore[import-untyped]

TABLE = Path(__file__).with_name("files.csv")
Counts = dict[str, float]


def both_ways(edges: Iterable[tuple[Any, Any]]) -> int:
    """Links of a graph of directions: the opposite of an edge, if there is one, is the same link."""
    directed = Counter(edges)
    pairs = {tuple(sorted(map(str, edge))): edge for edge in directed}
    return sum((directed[a, b] + 1) // 2 if a == b else max(directed[a, b], directed[b, a]) for a, b in pairs.values())


def graph(found: nx.Graph) -> Counts:
    """By NetworkX."""
    edges = list(found.edges())
    return {"nodes": len(found), "links": both_ways(edges) if found.is_directed() else len(edges)}


def speed(value: Callable[[str], str | None]) -> float:
    """The Topology Zoo's LinkSpeedRaw, else LinkSpeed in its units, else that of an OC-n of SONET (ANSI T1.105)."""
    if raw := value("LinkSpeedRaw"):
        return float(raw)
    if (number := value("LinkSpeed")) and (unit := value("LinkSpeedUnits")):
        return float(number) * {"T": 1e12, "G": 1e9, "M": 1e6, "K": 1e3}[unit]
    carrier = re.match(r"OC-(\d+)", value("LinkType") or "")
    return 51.84e6 * float(carrier[1]) if carrier else 0.0


def graphml(path: Path) -> Counts:
    """By NetworkX, with speeds."""
    found = nx.read_graphml(path)
    speeds = [speed(data.get) for _, _, data in found.edges(data=True)]
    return graph(found) | {"total": 2 * sum(speeds)}


def value_of(edge: str, key: str) -> str | None:
    """A value of GML, without its quotes."""
    found = re.search(rf'\b{key} "?([^\s"]+)', edge)
    return found[1] if found else None


def gml(path: Path) -> Counts:
    """By the brackets: NetworkX refuses the Zoo's repeated keys."""
    text = path.read_text(encoding="utf-8")
    edges = re.findall(r"^\s*edge \[(.*?)^\s*\]", text, re.M | re.S)
    speeds = [speed(partial(value_of, edge)) for edge in edges]
    return {"nodes": len(re.findall(r"^\s*node \[", text, re.M)), "links": len(edges), "total": 2 * sum(speeds)}


def node_link(path: Path) -> Counts:
    """topohub's."""
    return graph(nx.node_link_graph(json.loads(path.read_text()), edges="edges"))


def cch(path: Path) -> Counts:
    """Rocketfuel's own routers, and each pair of them that lists the other, or one itself."""
    rows = re.findall(r"^(\d+) @.*?->(.*?)(?:=\S*)?\s+r(\d+)\s*$", path.read_text(errors="replace"), re.M)
    own = {uid for uid, _, radius in rows if radius == "0"}
    pairs = {
        frozenset((uid, peer))
        for uid, near, _ in rows
        if uid in own
        for peer in re.findall(r"<(\d+)>", near)
        if peer in own
    }
    return {"nodes": len(own), "links": len(pairs)}


def rocketfuel(path: Path) -> Counts:
    """Weights and latencies: both directions are one link."""
    rows = [line.split()[:2] for line in path.read_text().splitlines() if line.strip()]
    return {"nodes": len({end for row in rows for end in row}), "links": len({frozenset(row) for row in rows})}


def section(text: str, name: str) -> list[str]:
    """Lines of a section of SNDlib's native text."""
    body = re.search(rf"^{name} \(\n(.*?)^\)", text, re.M | re.S)
    return [line for line in body[1].splitlines() if line.strip() and not line.strip().startswith("#")] if body else []


def unit_of(text: str) -> float | None:
    """SNDlib's unit in bits per second."""
    found = re.search(r"\bunit\b\W*([A-Z]+)", text)
    return {"KBITPERSEC": 1e3, "MBITPERSEC": 1e6, "GBITPERSEC": 1e9}.get(found[1]) if found else None


def capacity(installed: float, modules: list[float]) -> float:
    """What is installed, else the only module that may be."""
    return modules[0] if installed == 0 and len(modules) == 1 else installed


def sndlib_links(path: Path) -> Counts:
    """SNDlib's native text; without a unit there are no capacities."""
    text = path.read_text(encoding="latin-1")
    total = 0.0
    for link in section(text, "LINKS"):
        ends, modules = link.rsplit("(", 1)
        installed = float(ends.split(")")[1].split()[0])
        total += capacity(installed, [float(n) for n in modules.rstrip(" )").split()[::2]])
    counts = {"nodes": len(section(text, "NODES")), "links": len(section(text, "LINKS"))}
    return counts | {"total": 2 * total * (unit_of(text) or 0)}


def sndlib_demands(path: Path) -> Counts:
    """Demands of the native text, in bits per second where there is a unit."""
    text = path.read_text(encoding="latin-1")
    amounts = [float(line.split(")")[1].split()[1]) for line in section(text, "DEMANDS")]
    return demands(amounts, unit_of(text) or 1)


def demands(amounts: list[float], unit: float = 1, to_itself: int = 0) -> Counts:
    """Those above zero."""
    above = [amount for amount in amounts if amount > 0]
    return {"demands": len(above), "to itself": to_itself, "total": sum(above) * unit}


def spaced(path: Path) -> tuple[ET.Element, Callable[[ET.Element, str], list[ET.Element]]]:
    """The root of an XML file, and a search in its namespace."""
    root = ET.parse(path).getroot()
    space = root.tag.rpartition("}")[0] + root.tag.rpartition("}")[1]
    return root, lambda node, name: node.findall(f".//{space}{name}")


def sndlib_xml_links(path: Path) -> Counts:
    """SNDlib's XML."""
    root, find = spaced(path)
    total = 0.0
    for link in find(root, "link"):
        parts = {name: [float(find(m, "capacity")[0].text or 0) for m in find(link, name)] for name in MODULES}
        total += capacity(sum(parts[MODULES[0]]), parts[MODULES[1]])
    unit = unit_of(path.read_text(encoding="latin-1")) or 0
    return {"nodes": len(find(root, "node")), "links": len(find(root, "link")), "total": 2 * total * unit}


MODULES = ("preInstalledModule", "addModule")


def sndlib_xml_demands(path: Path) -> Counts:
    """Demands of SNDlib's XML."""
    root, find = spaced(path)
    amounts = [float(value.text or 0) for value in find(root, "demandValue")]
    return demands(amounts, unit_of(path.read_text(encoding="latin-1")) or 1)


def sndlib_json_links(path: Path) -> Counts:
    """SNDlib's native text turned into JSON, which has no unit."""
    found = json.loads(path.read_text())
    return {"nodes": len(found["nodes"]), "links": len(found["links"]), "total": 0}


def sndlib_json_demands(path: Path) -> Counts:
    """Demands of the same."""
    return demands([d["demand_value"] for d in json.loads(path.read_text())["demands"]])


def topohub_demands(path: Path) -> Counts:
    """By sender and receiver."""
    rows = json.loads(path.read_text())["graph"]["demands"]
    return demands([float(amount) for row in rows.values() for amount in row.values()])


def repetita(path: Path) -> Counts:
    """Lines after the headings; bandwidth is in kbit/s and stands in each direction."""
    nodes, edges = path.read_text().split("EDGES")
    rows = [line.split() for line in edges.splitlines()[2:] if line.strip()]
    total = sum(float(row[4]) for row in rows) * 1e3
    return {
        "nodes": len(nodes.split("\n\n")[0].splitlines()) - 2,
        "links": both_ways((r[1], r[2]) for r in rows),
        "total": total,
    }


def repetita_demands(path: Path) -> Counts:
    """Lines after the headings, in kbit/s."""
    rows = [line.split() for line in path.read_text().splitlines()[2:] if line.strip()]
    itself = [row for row in rows if row[1] == row[2]]
    return demands([float(row[3]) for row in rows if row[1] != row[2]], 1e3, len(itself))


def containerlab(path: Path) -> Counts:
    """Nodes of the topology, and links of which both ends are one of them."""
    found = yaml.safe_load(path.read_text())["topology"]
    ends = [
        [e.split(":")[0] if isinstance(e, str) else e["node"] for e in link.get("endpoints", ["outside"])]
        for link in found.get("links") or []
    ]
    return {"nodes": len(found["nodes"]), "links": sum(set(pair) <= set(found["nodes"]) for pair in ends)}


def as_relationships(path: Path) -> Counts:
    """Each line is a link."""
    rows = re.findall(r"^(\d+)\|(\d+)\|-?\d", path.read_text(), re.M)
    return {"nodes": len({end for row in rows for end in row}), "links": len(rows)}


def brite(path: Path) -> Counts:
    """What the first line says; bandwidth in Mbps."""
    text = path.read_text()
    nodes, links = map(int, re.findall(r"\d+", text.splitlines()[0]))
    rows = [line.split() for line in text.split("Edges:")[1].splitlines()[1:] if line.strip()]
    return {"nodes": nodes, "links": links, "total": 2e6 * sum(float(row[5]) for row in rows)}


def hpcc(path: Path) -> Counts:
    """What the first line says, and that many rates of the links behind the switches."""
    words = path.read_text().split()
    head = path.read_text().splitlines()[0].split()
    nodes, switches, links = int(head[0]), int(head[1]), int(head[2 if len(head) == 3 else 3])
    rates = words[len(head) + switches :][2 : 5 * links : 5]
    units = {"Gbps": 1e9, "Mbps": 1e6, "": 1}
    total = sum(float(rate.rstrip("GMbps")) * units[rate.lstrip(".0123456789")] for rate in rates)
    return {"nodes": nodes, "links": links, "total": 2 * total}


def hpcc_flows(path: Path) -> Counts:
    """As many lines as the first one says."""
    lines = path.read_text().splitlines()
    rows = [line.split() for line in lines[1:] if line.strip()][: int(lines[0])]
    return {"flows": len(rows), "total": sum(int(row[4]) for row in rows)}


def htsim(path: Path) -> Counts:
    """By the ports: each link has one above and one below, and as many switches as the tier below has ports for."""
    rows = [line.split() for line in path.read_text().lower().splitlines() if line.strip() and line[0] != "#"]
    cut = [i for i, row in enumerate(rows) if row[0] == "tier"] + [len(rows)]
    head = {row[0]: int(row[1]) for row in rows[: cut[0]]}
    tiers = [{r[0]: int(r[1]) for r in rows[a:b]} for a, b in itertools.pairwise(cut)]
    below, nodes, links, total = head["nodes"], head["nodes"], 0, 0.0
    for tier in tiers:
        switches = below // tier["radix_down"]
        links, total = links + below, total + 2e9 * below * tier["downlink_speed_gbps"]
        nodes, below = nodes + switches, switches * tier.get("radix_up", 0)
    return {"nodes": nodes, "links": links, "total": total}


def htsim_flows(path: Path) -> Counts:
    """Lines with an arrow."""
    sizes = [int(n) for n in re.findall(r"^\d+->\d+.* size (\d+)", path.read_text(), re.M)]
    return {"flows": len(sizes), "total": sum(sizes)}


def sizes(path: Path, unit: float = 1) -> Counts:
    """Different sizes in lines of two or three numbers; the last size. Shares have to end at 1 or 100 %."""
    rows = [re.split(r"[\s,]+", line.strip()) for line in path.read_text().splitlines()]
    rows = [row for row in rows if len(row) > 1]
    if float(rows[-1][-1]) not in (1, 100):
        return {f"no distribution: shares end at {rows[-1][-1]},": 0}
    return {"sizes": len({float(row[0]) for row in rows}), "total": float(rows[-1][0]) * unit}


KINDS: dict[str, tuple[str, Callable[[Path], Counts]]] = {
    "GraphML": ("topology", graphml),
    "GML": ("topology", gml),
    "topohub": ("topology", node_link),
    "topohub, demands": ("matrix", topohub_demands),
    "Rocketfuel map": ("topology", cch),
    "Rocketfuel weights": ("topology", rocketfuel),
    "Rocketfuel latencies": ("topology", rocketfuel),
    "SNDlib native": ("topology", sndlib_links),
    "SNDlib native, demands": ("matrix", sndlib_demands),
    "SNDlib XML": ("topology", sndlib_xml_links),
    "SNDlib XML, demands": ("matrix", sndlib_xml_demands),
    "SNDlib JSON": ("topology", sndlib_json_links),
    "SNDlib JSON, demands": ("matrix", sndlib_json_demands),
    "Repetita": ("topology", repetita),
    "Repetita, demands": ("matrix", repetita_demands),
    "containerlab": ("topology", containerlab),
    "AS relationships": ("topology", as_relationships),
    "BRITE": ("topology", brite),
    "HPCC": ("topology", hpcc),
    "HPCC, flows": ("list", hpcc_flows),
    "htsim .topo": ("topology", htsim),
    "htsim .cm": ("list", htsim_flows),
    "sizes": ("sizes", sizes),
    "sizes in packets": ("sizes:1460", lambda path: sizes(path, 1460)),
}


def said(counts: Counts) -> str:
    """As one text, with amounts to six digits."""
    return ", ".join(
        f"{name} {value:.5e}" if name == "total" else f"{name} {value}"
        for name, value in counts.items()
        if value or name != "to itself"
    )


def main() -> None:
    """Counts again."""
    folder = Path(sys.argv[1])
    rows = list(csv.DictReader(TABLE.read_text().splitlines()))
    for row in rows:
        path = folder / row["source"] / row["path"]
        if path.is_file():
            row["counts"] = said(KINDS[row["kind"]][1](path))
    with TABLE.open("w", newline="") as out:
        table = csv.DictWriter(out, rows[0].keys(), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


if __name__ == "__main__":
    main()
