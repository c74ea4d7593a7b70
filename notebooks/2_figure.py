# %% [markdown]
# # A figure for a paper
#
# How long do packets wait as buffers grow? One run for each size and scheme, one picture.

# %%
import matplotlib.pyplot as plt

import midpath

scenario = midpath.Scenario.from_dict(
    {
        "stop": "8 s",
        "topology": {
            "generate": "dumbbell",
            "pairs": 4,
            "bottleneck": {"rate": "20 Mbps", "delay": "10 ms"},
            "access": {"rate": "1 Gbps", "delay": "2 ms"},
        },
        "queue": {"limit": "10 ms"},
        "flow": [{"from": f"s{n}", "to": f"d{n}", "start": f"{100 * n} ms"} for n in range(4)],
    }
)
BUFFERS_MS = [5, 10, 20, 40, 80, 160]
SCHEMES = ["newreno", "cubic", "bbr"]
found = {
    scheme: [
        midpath.run(scenario.with_(scheme=scheme, changes={"queue.limit": f"{ms} ms"})).summary for ms in BUFFERS_MS
    ]
    for scheme in SCHEMES
}

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(7, 2.8), layout="constrained")
for scheme, runs in found.items():
    left.plot(BUFFERS_MS, [1e3 * run["queue_delay_p99_s"] for run in runs], marker="o", label=scheme)
    right.plot(BUFFERS_MS, [100 * run["utilisation_max"] for run in runs], marker="o", label=scheme)
left.set(xscale="log", yscale="log", xlabel="buffer (ms)", ylabel="queueing delay, p99 (ms)")
right.set(xscale="log", xlabel="buffer (ms)", ylabel="utilisation (%)")
right.legend()
figure.savefig("buffers.pdf")

# %% [markdown]
# `midpath cite` prints the BibTeX of what a stored run was made with; in Python a run names the keys.

# %%
midpath.run(scenario, scheme="bbr").run["cites"]
