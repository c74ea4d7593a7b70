"""How large should a buffer be? The same transfers through buffers from 3 ms of the bottleneck upwards."""

import midpath

base = midpath.Scenario.from_toml("examples/dumbbell.toml")

print("buffer   newreno    cubic")
for limit in ("3 ms", "10 ms", "30 ms", "100 ms"):
    times = [
        midpath.run(base.with_(scheme=scheme, changes={"queue.limit": limit})).summary["afct_s"]
        for scheme in ("newreno", "cubic")
    ]
    print(f"{limit:>6}  {times[0]:6.2f} s  {times[1]:6.2f} s")
