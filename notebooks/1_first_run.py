# %% [markdown]
# # First run
#
# Two flows share one slow link. What does each get, and how long does a packet wait?

# %%
import midpath

SCENARIO = """
title = "Two flows, 10 Mbps"
stop = "10 s"

[topology]
generate = "dumbbell"
pairs = 2
bottleneck = { rate = "10 Mbps", delay = "10 ms" }
access = { rate = "100 Mbps", delay = "1 ms" }

[queue]
limit = "100 ms"

[[flow]]
from = "s0"
to = "d0"

[[flow]]
from = "s1"
to = "d1"
start = "2 s"
size = "2 MB"
"""
result = midpath.run(SCENARIO, scheme="cubic")
result.flows.to_pandas()[["src", "dst", "start_s", "fct_s", "goodput_bps"]]

# %% [markdown]
# A result has a table of flows, one of ports, and figures of the whole run. The port `r0` → `r1` is the slow link's.

# %%
ports = result.ports.to_pandas()
ports.loc[ports.utilisation.idxmax(), ["node", "peer", "utilisation", "drops_queue", "delay_mean_s", "delay_max_s"]]

# %% [markdown]
# Another scheme is another name. `compare` runs several on the same flows, beside a fluid ideal.

# %%
midpath.compare(SCENARIO, ["cubic", "newreno", "bbr"])
