"""Repeated runs of every congestion control and mode."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from midpath.compare.comparison import Comparison
from midpath.lab.collect import result, scheme_name
from midpath.lab.congestion import controls
from midpath.lab.experiment import Experiment, command, measure, to_dict
from midpath.lab.machine import Tools, require
from midpath.lab.testbed import Testbed
from midpath.result import Result
from midpath.run.whole import run_directory

# Told after each run: its scheme and repeat, how many are done, how many there are.
Told = Callable[[str, int, int, int], None]


def compare(
    experiment: Experiment,
    wanted: Sequence[str],
    modes: Sequence[str],
    repeats: int,
    tools: Tools,
    *,
    out: Path | None = None,
    told: Told | None = None,
) -> Comparison:
    """Runs everything, mode after mode within a repeat: what the machine does meanwhile then hits all alike."""
    require()
    experiment.check()
    seeds = list(range(1, repeats + 1))
    pairs = [(control, mode) for control in wanted for mode in modes]
    results: dict[tuple[str, int], Result] = {}
    with controls(list(wanted), tools.midpath_lab) as names, Testbed(experiment.delays, tools) as bed:
        for seed in seeds:
            for control, mode in pairs:
                scheme = scheme_name(control, mode)
                measured = measure(bed, experiment, names[control], mode, seed, tools)
                one = result(experiment, control, mode, seed, measured)
                one.run["command"] = command(experiment, wanted, modes, repeats)
                results[scheme, seed] = one
                if out is not None:
                    results[scheme, seed].save(run_directory(out, scheme, seed))
                if told is not None:
                    told(scheme, seed, len(results), len(pairs) * repeats)
        bed.stop_wire()
        for one in results.values():
            one.run["wire"] = bed.wire_report | {"by": "netem" if bed.by_netem else "midpath-lab wire"}
    schemes = [scheme_name(control, mode) for control, mode in pairs]
    found = Comparison(json.dumps(to_dict(experiment), indent=2), None, schemes, seeds, results)
    if out is not None:
        found.save(out)
    return found
