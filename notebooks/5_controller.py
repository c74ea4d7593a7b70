# %% [markdown]
# # A controller in Python
#
# An idea: fall by less at a loss where round trips are short, for then the queue was short, too. A class, and it is a
# scheme.

# %%
import matplotlib.pyplot as plt

import midpath


class Careful(midpath.Controller):
    """NewReno, whose fall depends on how much of the round trip was queueing."""

    deepest: float = 0.5  # what is left of the window at a loss behind a long queue

    def on_open(self, opening):
        self.rtt = self.shortest = opening.srtt_s

    def on_delivery(self, ack):
        if ack.rtt_s is not None:
            self.rtt = ack.rtt_s
            self.shortest = min(self.shortest, ack.rtt_s)

    def on_ack(self, ack):
        if self.in_slow_start:
            self.window += ack.acked
        else:
            self.window += self.mss * ack.acked / self.window

    def on_loss(self, loss):
        return max(self.shortest / self.rtt, self.deepest) * loss.flight


# %%
SCENARIO = {
    "stop": "20 s",
    "topology": {
        "generate": "dumbbell",
        "pairs": 1,
        "bottleneck": {"rate": "20 Mbps", "delay": "15 ms"},
        "access": {"rate": "1 Gbps", "delay": "1 ms"},
    },
    "queue": {"limit": "10 ms"},
    "measure": {"series": True},
    "flow": [{"from": "s0", "to": "d0"}],
}
found = midpath.compare(SCENARIO, ["newreno", "careful"], ideal=False, controllers=[Careful])
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for scheme in found.schemes:
    series = found.of(scheme)[0].series.to_pandas()
    window = series[series.metric == "cwnd_bytes"]
    axes.plot(window.time_s, window.value / 1448, label=scheme)
axes.set(xlabel="time (s)", ylabel="window (packets)")
axes.legend()
{scheme: round(found.of(scheme)[0].flows["goodput_bps"][0].as_py() / 1e6, 2) for scheme in found.schemes}

# %% [markdown]
# A mistake ends the run, and says where and when:


# %%
class Wrong(Careful):
    """Forgets to return."""

    def on_loss(self, loss):
        self.window /= 2


try:
    midpath.run(SCENARIO, scheme="wrong", controllers=[Wrong])
except midpath.ControllerError as error:
    print(error)
