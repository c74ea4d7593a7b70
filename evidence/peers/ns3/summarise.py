#!/usr/bin/env python3
# Copyright 2026 The Midpath developers
# SPDX-License-Identifier: Apache-2.0
"""Mean ± standard deviation of each number in JSON lines on standard input, as one Markdown row."""

import json
import statistics
import sys

KEYS = sys.argv[1:] or ["afct_s", "jain_goodput", "retransmitted", "drops", "timeouts", "marks", "fct_max_s"]


def spread(values: list[float]) -> str:
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.4g} ± {deviation:.2g}"


def main() -> None:
    runs = [json.loads(line) for line in sys.stdin if line.startswith("{")]
    print("| runs | " + " | ".join(KEYS) + " |")
    print(f"| {len(runs)} | " + " | ".join(spread([run[key] for run in runs]) for key in KEYS) + " |")


if __name__ == "__main__":
    main()
