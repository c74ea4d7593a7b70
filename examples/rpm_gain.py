"""How much marking gain do senders stand? The fluid models of RPM's analysis beside the packet simulator.

Draws the stability region and one run beside the models into out/ (needs the extra `plots`).
"""

from pathlib import Path as File

import numpy as np

import midpath
from midpath.analysis.rpm import Equilibrium, Path, Start, eta_true, measured, trajectory
from midpath.analysis.rpm.model import Trajectory
from midpath.analysis.rpm.plots import plot_beside, plot_region

FLOWS, TARGET = 20, 20.0
PROPAGATION, TO_BOTTLENECK = 0.03, 0.005
SETTLED, STEP, END = 10.0, 30.0, 40.0  # the start is over; the bottleneck becomes slower; the run ends


def link(mbps: float) -> Path:
    """The scenario's path without its queue; forward marking, so d_s is the whole round trip."""
    return Path(PROPAGATION, PROPAGATION, mbps * 1e6 / 8 / 1500, forward_s=TO_BOTTLENECK, flows=FLOWS)


def run(slope: float, seed: int = 1) -> Trajectory:
    """The scenario with a slope per packet of RED's p_b: 3 % are reached 3 % / slope packets above the target."""
    base = midpath.Scenario.from_toml("examples/rpm_forward_marking.toml")
    limit = f"{round(TARGET + 0.03 / slope)} packets"
    result = midpath.run(base.with_(seed=seed, changes={"queue.max": limit}))
    return measured(result, port="r0>r1", flows=range(FLOWS))


def between(found: Trajectory, begin: float, end: float, shift: float = 0.0) -> Trajectory:
    """A part of a trajectory, with times counted from `shift`."""
    chosen = (found.time_s >= begin) & (found.time_s < end)
    columns = (found.rate, found.window, found.queue)
    return Trajectory(found.time_s[chosen] - shift, *(column[chosen] for column in columns))


print("gain/limit: paper  self-clocked   queue: model  simulator ± deviation   smallest")
for slope in (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3):
    gain = 2 * slope  # RED spaces its marks evenly: 1/p_b becomes 1/(2 p_b) on average
    path = link(100).settled(gain, TARGET)
    limits = [gain / eta_true(path, model).gain for model in ("paper", "self-clocked")]
    queue = between(run(slope), SETTLED, STEP).queue
    expected = TARGET + Equilibrium.of(path, gain).excess
    shown = f"{expected:18.0f}  {queue.mean():9.0f} ± {queue.std():<9.0f}  {queue.min():11.0f}"
    print(f"{limits[0]:17.2f}  {limits[1]:12.2f}  {shown}")

slope = 3e-5
gain = 2 * slope
before, after = link(100).settled(gain, TARGET), link(80).settled(gain, TARGET)
start = Start.at_rest(before, gain, TARGET)
models = {
    "paper's model": trajectory(after, gain, duration_s=END - STEP, target=TARGET, start=start),
    "self-clocked": trajectory(after, gain, duration_s=END - STEP, target=TARGET, start=start, model="self-clocked"),
}
runs = [between(run(slope, seed), STEP, END, STEP) for seed in range(1, 6)]
means = [np.mean([getattr(one, name) for one in runs], axis=0) for name in ("rate", "window", "queue")]
mean = Trajectory(runs[0].time_s, *means)
folder = File("out")
folder.mkdir(exist_ok=True)
plot_beside(models, mean, run_name="packet simulator, mean of 5 runs").savefig(folder / "rpm-beside.png", dpi=85)
plot_region(Path(0.04, 0.02, 1000.0)).savefig(folder / "rpm-region.png", dpi=85)
