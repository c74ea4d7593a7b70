# %% [markdown]
# # INRPP's figure 5 by hand
#
# The paper draws backpressure in three steps. The cache before the slow link fills and pushes back (A). The router
# before it stores what it may no longer send, until its own cache is full, too (B). Then the next one (C). Here are
# these caches, from a run.

# %%
import matplotlib.pyplot as plt

import midpath

LINE = """
title = "INRPP: backpressure, hop by hop"
stop = "2.4 s"
scheme = "inrpp"

[topology]
nodes = [{ name = "source", kind = "host" }, { name = "sink", kind = "host" }]
links = [
    { a = "source", b = "r0", rate = "100 Mbps", delay = "2 ms" },
    { a = "r0", b = "r1", rate = "100 Mbps", delay = "2 ms" },
    { a = "r1", b = "r2", rate = "100 Mbps", delay = "2 ms" },
    { a = "r2", b = "r3", rate = "50 Mbps", delay = "2 ms" },
    { a = "r3", b = "sink", rate = "100 Mbps", delay = "2 ms" },
]

[schemes.inrpp]
cache = "1.2 MB"
high = "1 MB"

[[flow]]
from = "source"
to = "sink"
size = "10 MB"
start = "0.2 s"

[measure]
series = true
interval = "5 ms"
"""
result = midpath.run(LINE)
series = result.series.to_pandas()

# %% [markdown]
# 100 Mbps come in and 50 Mbps leave: 1 MB is full after 8 × 1 MB / 50 Mbps = 160 ms. Each cache takes as long.

# %%
PORTS = ["r2>r3", "r1>r2", "r0>r1"]
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
full = {}
for step, port in zip("ABC", PORTS, strict=True):
    stored = series[(series.entity == f"port:{port}") & (series.metric == "cache_bytes")]
    axes.plot(stored.time_s, stored.value / 1e6, label=f"{step}: {port}")
    above = stored[stored.value >= 1e6]
    full[port] = round(float(above.time_s.min()), 3)
axes.axhline(1.0, color="0.6", linestyle=":")
axes.set(xlabel="time (s)", ylabel="stored (MB)")
axes.legend()
full

# %% [markdown]
# No packet was lost on the way, and the flow took what 50 Mbps need:

# %%
result.flows.to_pandas()[["fct_s", "ideal_fct_s", "lost_packets", "retransmitted_packets"]]
