"""Random scenes held to bounds that were fixed before the first run: the command of all suites.

python evidence/properties SUITE --first 1 --scenarios 200 --keep FOLDER > PAGE
python evidence/properties SUITE --first 17 --scenarios 1 --show       # one again: its text, and what came out
python evidence/properties SUITE --help                                # what a scene is and what the bounds are
"""

from __future__ import annotations

import argparse
import importlib
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from harness import rows, suite_of

from midpath import __version__

# By name: the module, and the page that the suite writes.
SUITES = {
    "estimate": ("estimate.measure", "estimate/RESULTS.md"),
    "estimate-cut": ("estimate.cut", "estimate/CUT.md"),
    "transients": ("transients.suite", "transients/RESULTS.md"),
    "falls": ("transients.falls", "transients/FALLS.md"),
    "reordered": ("transients.reordered", "transients/REORDERED.md"),
    "balancers": ("transients.balancers", "transients/BALANCERS.md"),
    "sprayed": ("transients.sprayed", "transients/SPRAYED.md"),
    "fcp-edges": ("fcp.edges", "fcp/EDGES.md"),
    "fcp-ends": ("fcp.ends", "fcp/ENDS.md"),
    "fcp-groups": ("fcp.groups", "fcp/GROUPS.md"),
    "fcp-ablation": ("fcp.ablation", "fcp/ABLATION.md"),
    "fcp-optimum": ("fcp.optimum", "fcp/RESULTS.md"),
    "inrpp-edges": ("inrpp.edges", "inrpp/EDGES.md"),
    "inrpp-ablation": ("inrpp.ablation", "inrpp/ABLATION.md"),
    "inrpp-cheats": ("inrpp.non_cooperative", "inrpp/NON_COOPERATIVE.md"),
    "inrpp-timeouts": ("inrpp.first_timeout", "inrpp/FIRST_TIMEOUT.md"),
    "mircc": ("mircc.properties", "mircc/PROPERTIES.md"),
    "mircc-spread": ("mircc.spread", "mircc/SPREAD.md"),
    "mircc-losses": ("mircc.losses", "mircc/LOSSES.md"),
    "mircc-secondary": ("mircc.secondary", "mircc/SECONDARY.md"),
    "mircc-networks": ("mircc.networks", "mircc/NETWORKS.md"),
    "mircc-ablation": ("mircc.ablation", "mircc/ABLATION.md"),
    "ndn-timeouts": ("icn.timeouts", "icn/TIMEOUTS.md"),
    "rpm-falls": ("rpm.falls", "rpm/FALLS.md"),
    "scream": ("scream.calls", "scream/CALLS.md"),
}


def parser(name: str) -> argparse.ArgumentParser:
    """What a suite can be asked for."""
    module, page = SUITES[name]
    suite, doc = suite_of(module), importlib.import_module(module).__doc__
    said = f"{doc}\nWrites {page}."
    found = argparse.ArgumentParser(name, description=said, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--first", type=int, default=1)
    found.add_argument("--scenarios", type=int, default=suite.scenarios, help="how many of each family")
    found.add_argument("--of", type=_names, default=list(suite.families), help="families")
    found.add_argument("--schemes", type=_names, default=list(suite.schemes), help="what each scene is run with")
    found.set_defaults(module=module, set="", before=None)
    if suite.params:
        found.add_argument("--set", default="", help="lines for the scheme's section, as in a scenario")
    if suite.before:
        found.add_argument("--before", type=Path, help="a folder that another build kept, beside which it is judged")
    found.add_argument("--jobs", type=int, default=2)
    found.add_argument("--keep", type=Path, help="a folder of the runs that are done")
    found.add_argument("--show", action="store_true", help="print scenes' texts and what came of them")
    return found


def _names(text: str) -> list[str]:
    # A name may have a comma with a space behind it.
    return re.split(r",(?! )", text)


def asked_of(name: str, words: list[str]) -> argparse.Namespace:
    """What is asked of a suite."""
    suite, asked = suite_of(SUITES[name][0]), parser(name).parse_args(words)
    asked.numbers = range(asked.first, asked.first + asked.scenarios)
    base = [suite.base] if suite.base not in (None, *asked.schemes) else []
    asked.schemes = list(dict.fromkeys([*base, *asked.schemes]))
    return asked


def lines(name: str, asked: argparse.Namespace) -> Iterator[str]:
    """The suite's page."""
    suite = suite_of(SUITES[name][0])
    command = f"python evidence/properties {name} --first {asked.first} --scenarios {asked.scenarios}"
    command += f" --of {shlex.quote(','.join(asked.of))}" if asked.of != list(suite.families) else ""
    command += f" --schemes {shlex.quote(','.join(asked.schemes))}" if asked.schemes != list(suite.schemes) else ""
    command += f" --set {shlex.quote(asked.set)}" if asked.set else ""
    each = " of each family" if len(asked.of) > 1 else ""
    yield f"# {suite.title}\n"
    yield f"Midpath {__version__}, scenarios {asked.numbers[0]} to {asked.numbers[-1]}{each}, written by"
    yield f"`{command}`; `--help` says what a scenario is"
    yield "and what the bounds are, which were fixed before the first run.\n"
    if (Path(__file__).parent / SUITES[name][1]).with_name("EXPLAINED.md").exists():
        yield "Why bounds are missed, as far as it was looked for: [EXPLAINED.md](EXPLAINED.md).\n"
    yield from suite.page(list(rows(SUITES[name][0], asked)), asked)


def shown(name: str, asked: argparse.Namespace) -> Iterator[str]:
    """Scenes' texts, and what came of them."""
    suite, last = suite_of(SUITES[name][0]), None
    for row in rows(SUITES[name][0], asked):
        if row.scene is not last:
            yield str(suite.text(row.scene, asked.schemes[-1], asked.set))
        last = row.scene
        yield f"# {row.scheme or 'found'}: {row.found} {dict(row.missed) or ''}".rstrip()


def main(words: list[str]) -> int:
    """Prints the page, or scenes."""
    if not words or words[0] not in SUITES:
        print(__doc__, *(f"{name:16} {suite}" for name, (suite, _) in SUITES.items()), sep="\n")
        return 0 if words in ([], ["--help"]) else 2
    asked = asked_of(words[0], words[1:])
    for line in (shown if asked.show else lines)(words[0], asked):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
