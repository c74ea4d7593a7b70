"""The suite that stacks are held to (`stacks/runner/src/suite.rs`), for seven of them and four of Linux's TCPs.

    python evidence/peers/stacks/suite.py --out DIR        # builds stacks/, writes SUITE.md

The bounds stand in the suite beside the RFC that each is from, and were there before the first run. Linux runs in
virtual time (`midpath lab kernel`), for some minutes; its runs that are in DIR are not made again.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from pathlib import Path

from midpath import markdown
from midpath.lab import stacktest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PAGE = HERE / "SUITE.md"
SCHEMES = ("quinn", "quinn-midpath-cubic", "quinn-midpath-bbr", "smoltcp", "str0m", "cubic", "bbr")
# Linux's in user mode, by the names of ours.
LINUX = ("cubic", "newreno", "bbr", "dctcp")
COLUMNS = (*SCHEMES, *(f"Linux-{scheme}" for scheme in LINUX))
LINE = re.compile(r"^(not ok|ok) \d+ - (\S+) (\S+): (.*)$")


def main() -> None:
    """Runs the suite and writes its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    subprocess.run(["cargo", "build", "-q", "--release", "-p", "stack-runner"], cwd=ROOT / "stacks", check=True)
    runner = stacktest.runner()
    said = subprocess.run([runner, "test", *SCHEMES], capture_output=True, text=True, check=False).stdout
    given = stacktest.measured(list(LINUX), out)
    said += subprocess.run([runner, "judge"], input=given, capture_output=True, text=True, check=False).stdout
    found: dict[str, dict[str, str]] = {}
    for line in said.splitlines():
        if one := LINE.match(line):
            verdict, scheme, case, figures = one.groups()
            figures = figures.split(", from ")[0].replace("# SKIP it has no ECN", "no ECN")
            figures = figures.replace("inf s", "not in 60 s")
            found.setdefault(case, {})[scheme] = f"**{figures}**" if verdict == "not ok" else figures
    rows = ([case, *(cells[scheme] for scheme in COLUMNS)] for case, cells in found.items())
    text = [
        "# What stacks are held to",
        "Written by `python evidence/peers/stacks/suite.py`; bold misses its bound. Bounds and the RFCs that they "
        "are from are in `stacks/runner/src/suite.rs`; `stacks scenario CASE SCHEME` prints the scenario of a row.",
        markdown.table(["case", *(f"`{scheme}`" for scheme in COLUMNS)], rows),
        "smoltcp 0.12 sends the receiver's whole window at once (see [RESULTS.md](RESULTS.md)): in `slow-start` that "
        "is sooner than the bound, elsewhere most of it overflows the queue. In captures of `fills` a timeout sends "
        "the whole window again, about 1 MB into a queue of 50 kB; 54 to 61 kB get through, and the next timeout "
        "comes .7 to 1 s later. 2 MB take more than 30 of them.",
        "`str0m` is a video at nine tenths of WebRTC's estimate, and ends half a second after its last packet; it "
        "has no ECN. The estimate begins at 300 kbps, so that 2 MB take 3.8 s (`slow-start`, `fills`, `ecn-"
        "bleached`, `ack-thinning`), and is 20 Mbps at most (`rtt-20us`). What an outage takes is not repeated, so "
        "that it ends before the bound (`outage`). By its own log and series, in `rtt-spikes` the delay controller "
        "halves the estimate after 1.1 s, and it grows by 8 % a second from there, as in `rate-up` until a probe "
        "finds 10 Mbps after 12 s; in `rate-down` and after 20 s in `rate-up` losses take it to .4 Mbps. In `idle` "
        "probes of 46 kB, sent in silence, overflow the queue of 30 kB.",
        "`Linux-…` is Linux 6.1 in user mode, in virtual time, with its defaults; our TCPs and these are asked for "
        "ECN in `ce` and `ecn-bleached`. In `mtu-down` captures show one ICMP message at .95 s, that 1,280 bytes "
        "fit (RFC 1191), and packets of 1,280 bytes from then on; in the simulator nobody answers. `path-change`: "
        "DCTCP's ports mark early, so that its window is 19 packets when the path fails. Half of that grows by one "
        "per round trip of 120 ms, to 47 at the end, where 100 would fill the path (our DCTCP: 6.6 s).",
        "`mtu-down`: our TCPs have no RFC 4821; from .85 s on captures show only repeats of 1,500 bytes, which the "
        "path of 1,280 drops. quinn goes back to 1,200. `ack-thinning`: quinn's 117 packets sent again are its slow "
        "start's, which overshoots the queue: without thinning, in `fills`, there are 103. `idle`: under our BBR "
        "quinn, which paces by window and round trip, lost 12 of 464 packets at 29.6 of 30 kB; in our TCP BBR paces by "
        "its own rate and lost none. `ack-thinning` at first lost packets of handshakes, too, and measured their "
        "timeouts (25 s); now ACKs alone are dropped, and the bound is the same.",
    ]
    PAGE.write_text("\n\n".join(text) + "\n")


if __name__ == "__main__":
    main()
