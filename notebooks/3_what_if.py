# %% [markdown]
# # An operator's what-if
#
# Five towns, one ring. Which helps more: twice the rate on the busiest link, or shorter queues that mark?

# %%
import midpath

RING = """
title = "A ring of five towns"
stop = "6 s"

[topology]
hosts = { per_node = 1, rate = "1 Gbps", delay = "1 ms" }
nodes = [
    { name = "A", kind = "router", population = 400e3 },
    { name = "B", kind = "router", population = 200e3 },
    { name = "C", kind = "router", population = 100e3 },
    { name = "D", kind = "router", population = 100e3 },
    { name = "E", kind = "router", population = 50e3 },
]
links = [
    { a = "A", b = "B", rate = "100 Mbps", delay = "2 ms" },
    { a = "B", b = "C", rate = "100 Mbps", delay = "2 ms" },
    { a = "C", b = "D", rate = "100 Mbps", delay = "2 ms" },
    { a = "D", b = "E", rate = "100 Mbps", delay = "2 ms" },
    { a = "E", b = "A", rate = "100 Mbps", delay = "2 ms" },
]

[queue]
limit = "50 ms"

[schemes.cubic]
ecn = true

[[workload]]
arrivals = { kind = "poisson", load = "90 %", load_of = "200 Mbps" }
sizes = { kind = "exponential", mean = "200 kB" }
matrix = { kind = "gravity", by = "population" }
until = "2 s"

[variants.today]

[variants.upgrade]
"topology.links[0].rate" = "200 Mbps"

[variants.marking]
queue.kind = "codel"
"""
found = midpath.compare_variants(RING, ["cubic"], seeds=3, ideal=False)
found

# %% [markdown]
# Three seeds, the same flows in each variant. Differences that are not significant are marked:

# %%
print(*found.verdict(), sep="\n")

# %% [markdown]
# And if a link fails? Each in turn is taken down; the table begins with what hurts most.

# %%
today = midpath.Scenario.from_toml(RING).with_variant("today")
failures = midpath.failures(today, ["cubic"], out="failures")
print(*failures.verdict(), sep="\n")
