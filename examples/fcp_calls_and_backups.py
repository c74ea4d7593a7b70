"""Give my video calls twice the budget of my backups: an FCP policy, tried out cell by cell.

Run it whole (`python examples/fcp_calls_and_backups.py`), or cell by cell in an editor that knows `# %%`.
"""

# %% The scenario: one host with calls and backups, three colleagues, one uplink.
from pathlib import Path

import midpath

HERE = Path(__file__).resolve().parent if "__file__" in globals() else Path("examples")
FILE = HERE / "fcp_calls_and_backups.toml"
GROUPS = ["call", "backup", "colleagues"]


# %% Rates of the groups in Mbps, between two times.
def rates(result: midpath.Result, begin: float, end: float) -> dict[str, float]:
    series = result.series.to_pandas()
    span = series[(series.time_s > begin) & (series.time_s <= end)]
    means = span[span.metric == "goodput_bps"].groupby("entity", observed=True).value.mean() / 1e6
    return {group: float(means.get(f"group:{group}", 0.0)) for group in GROUPS}


def show(what: str, found: dict[str, float]) -> None:
    print(f"{what:44}" + "".join(f"{group:>12} {rate:5.1f}" for group, rate in found.items()))


# %% My quarter of the link is mine, however many flows I open; calls get two thirds of it while they last.
result = midpath.run(FILE)
before, during = rates(result, 2, 5), rates(result, 8, 15)
show("backups alone", before)
show("calls at twice the budget", during)

# %% Another weight is another line.
generous = midpath.Scenario.from_toml(FILE).with_(changes={"schemes.fcp.groups.call.weight": 8.0})
show("calls at eight times the budget", rates(midpath.run(generous), 8, 15))

# %% Backups that only take what nobody else wants.
background = midpath.Scenario.from_toml(FILE).with_(changes={"schemes.fcp.groups.backup.policy": "background"})
show("backups in the background", rates(midpath.run(background), 8, 15))

# %% A policy of one's own: the oldest backup first.
from midpath.policy import Group  # noqa: E402 - a cell of its own


def first_come(group: Group) -> list[float]:
    """Half to the oldest flow, half of the rest to the next, and so on."""
    return [group.budget * 0.5 ** (place + 1) for place in range(len(group.flows))]


own = midpath.Scenario.from_toml(FILE).with_(changes={"schemes.fcp.groups.backup.policy": "first-come"})
flows = midpath.run(own, policies={"first-come": first_come}).flows.to_pandas()
backups = flows[flows.group == "backup"].goodput_bps / 1e6
print("backups by a policy of one's own, Mbps:", ", ".join(f"{rate:.1f}" for rate in backups))
