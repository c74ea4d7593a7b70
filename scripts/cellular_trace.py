"""Writes a made-up cellular trace in mahimahi's format: a line, in milliseconds, for each 1500 bytes that may go.

    python scripts/cellular_trace.py > examples/links/cellular.trace
    python scripts/cellular_trace.py --csv > python/midpath/matrix/rows/cellular.csv # the same walk, as steps

The rate moves as a geometric random walk every 100 ms, between 0.5 and 20 Mbps around 6 Mbps, with outages of 0.4 to
1.2 s. This is what measured traces look like (Winstein and others, Sprout, 2013, figure 1), and it is none of them.
"""

import math
import random
import sys

SECONDS = 20
BIN_MS = 100
MEAN_MBPS, LEAST_MBPS, MOST_MBPS = 6.0, 0.5, 20.0
OUTAGES = 2
# A schedule has no rate of zero: of an outage, a packet in a quarter of a second.
OUT_MBPS = 0.05


def rates(draw: random.Random) -> list[float]:
    """The rate in Mbps of each 100 ms."""
    log, all_rates = math.log(MEAN_MBPS), []
    for _ in range(SECONDS * 1000 // BIN_MS):
        # Drawn back to the mean, so that it does not drift away.
        log += 0.05 * (math.log(MEAN_MBPS) - log) + draw.gauss(0, 0.25)
        log = min(max(log, math.log(LEAST_MBPS)), math.log(MOST_MBPS))
        all_rates.append(math.exp(log))
    for outage in range(OUTAGES):
        first = (2 * outage + 1) * len(all_rates) // (2 * OUTAGES) + draw.randrange(20)
        for i in range(first, first + draw.randrange(4, 12)):
            all_rates[i] = 0.0
    return all_rates


def main() -> None:
    """Prints the trace, or its rates."""
    draw = random.Random(1)
    if "--csv" in sys.argv[1:]:
        print("at,rate")
        for i, rate in enumerate(rates(draw)):
            print(f"{i * BIN_MS / 1000:g} s,{rate or OUT_MBPS:.3f} Mbps")
        return
    bits = 0.0
    for i, rate in enumerate(rates(draw)):
        for ms in range(i * BIN_MS + 1, (i + 1) * BIN_MS + 1):
            bits += rate * 1e3
            while bits >= 12_000:
                bits -= 12_000
                print(ms)


if __name__ == "__main__":
    main()
