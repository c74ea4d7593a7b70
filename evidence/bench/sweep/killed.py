"""Ten thousand short runs, killed twice on the way: wall time, memory, and whether anything ran twice or was lost.

python evidence/bench/sweep/killed.py STORE [DASK]

With DASK the runs go to two workers of a Dask cluster that is started here, in processes. Memory is then that of the
sweep, and of all processes: sweep, scheduler and workers.
"""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

KILLED_AT = (3000, 7000)
LIMITS = [f"{limit}ms" for limit in range(2, 52, 2)]
LOADS = [f"{load} %" for load in range(30, 110, 10)]
SWEEP = [
    "examples/buffers.toml", "--set", 'workload.0.until="500 ms"', "--vary", f"queue.limit={','.join(LIMITS)}",
    "--vary", f"workload.0.arrivals.load={','.join(LOADS)}", "--schemes", "newreno,cubic,dctcp,rcp", "--seeds", "10",
]  # fmt: skip


def records(store):
    """The runs that are in the store, with the time at which each was written."""
    return {path.stem: path.stat().st_mtime_ns for path in store.glob("runs/*/*.json")}


def tree(pid):
    """A process and all that it has started."""
    found = [pid]
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in path.read_text().split():
            found += tree(int(child))
    return found


def resident(pid):
    """Bytes of memory that a process has, and the most that it ever had."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return [int(line.split()[1]) * 1024 for key in ("VmRSS", "VmHWM") for line in lines if line.startswith(key)]


class Watch(threading.Thread):
    """Looks at the memory of a process and of all processes below another, ten times a second."""

    def __init__(self, pid, root):
        super().__init__(daemon=True)
        self.pid, self.root, self.own, self.all, self.done = pid, root, 0, 0, threading.Event()

    def run(self):
        """Until it is told to stop."""
        while not self.done.wait(0.1):
            try:
                sizes = {pid: resident(pid) for pid in tree(self.root)}
            except OSError:
                continue  # one of them has just ended
            self.own = max([self.own, *sizes.get(self.pid, [])])
            self.all = max(self.all, sum(size[0] for size in sizes.values() if size))


def part(store, goal, cluster):
    """Sweeps until there are `goal` runs, and kills; without a goal to the end."""
    more = ["--cluster", cluster] if cluster else ["--jobs", "2"]
    command = [sys.executable, "-m", "midpath", "sweep", *SWEEP, *more, "--out", str(store)]
    begun, before = time.monotonic(), records(store)
    process = subprocess.Popen(command)
    watch = Watch(process.pid, os.getpid() if cluster else process.pid)
    watch.start()
    first = None
    while process.poll() is None:
        count = sum(1 for _ in store.glob("runs/*/*.json")) if goal or first is None else 0
        first = first or (time.monotonic() - begun if count > len(before) else None)
        if goal and count >= goal:
            process.kill()
        time.sleep(0.2)
    wall = time.monotonic() - begun
    watch.done.set()
    after = records(store)
    again = sum(after.get(key) != at for key, at in before.items())
    print(
        f"{'killed' if goal else f'ended with exit code {process.returncode}'} after {wall:.1f} s with "
        f"{len(after):,} runs, {len(after) - len(before):,} of them new (the first after {first or 0:.1f} s), "
        f"{again} run again or lost; "
        f"most memory: {watch.own / 1e6:.0f} MB itself, {watch.all / 1e6:.0f} MB with its workers",
        flush=True,
    )
    return wall


def main():
    """Three parts, on one store."""
    store, *dask = sys.argv[1:]
    path = Path(store)
    if path.exists():
        sys.exit(f"{store} exists")
    if dask:
        from distributed import LocalCluster  # noqa: PLC0415 - only for this

        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs="ERROR") as cluster:
            sweep(path, cluster.scheduler_address)
    else:
        sweep(path, None)


def sweep(path, cluster):
    """The whole, and once more when nothing is missing."""
    walls = [part(path, goal, cluster) for goal in (*KILLED_AT, None)]
    print(f"together {sum(walls):.1f} s; once more, with nothing missing:")
    part(path, None, cluster)
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    print(f"the store: {size / 1e6:.1f} MB; load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
