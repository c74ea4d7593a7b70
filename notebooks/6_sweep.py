# %% [markdown]
# # A sweep on a cluster
#
# A sweep is a scenario at many points, in a store. What is in the store is not run again, wherever it was run.

# %%
import midpath

POINTS = {"queue.limit": ["5 ms", "20 ms", "80 ms"], "topology.bottleneck.delay": ["5 ms", "25 ms"]}
scenario = midpath.Scenario.from_dict(
    {
        "stop": "8 s",
        "topology": {
            "generate": "dumbbell",
            "pairs": 2,
            "bottleneck": {"rate": "20 Mbps", "delay": "5 ms"},
            "access": {"rate": "1 Gbps", "delay": "1 ms"},
        },
        "queue": {"limit": "5 ms"},
        "flow": [{"from": f"s{n}", "to": f"d{n}", "size": "4 MB"} for n in range(2)],
    }
)
swept = midpath.sweep(scenario, POINTS, schemes=["cubic", "bbr"], ideal=False, jobs=1, out="store")
table = swept.to_pandas()
table.pivot_table(index=["topology.bottleneck.delay", "queue.limit"], columns="scheme", values="afct_s").round(2)

# %% [markdown]
# The same on the workers of a Dask scheduler, `cluster="tcp://scheduler:8786"`, or as jobs of Slurm,
# `slurm=midpath.run.slurm.Slurm(…)`: the store is the same, and so is the table. Here all is there, so the first
# that is said of the second sweep is that all is done:

# %%
ran = []
midpath.sweep(scenario, POINTS, schemes=["cubic", "bbr"], ideal=False, jobs=1, out="store", on_progress=ran.append)
ran[0]
