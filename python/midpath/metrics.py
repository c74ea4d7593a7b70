"""The figures of a comparison, shared by table, JSON and report."""

from dataclasses import dataclass

# The scheme that is none: the fluid ideal on the same topology, paths and flows.
IDEAL = "ideal"


@dataclass(frozen=True)
class Metric:
    """A figure of a run's summary; a headline stands in the table of a comparison."""

    key: str
    label: str
    kind: str
    better: str | None
    about: str
    headline: bool = True


METRICS = (
    Metric("afct_s", "AFCT", "seconds", "lower", "Mean flow completion time, over completed flows"),
    Metric(
        "afct_bound_s",
        "AFCT bound",
        "seconds",
        None,
        "Lower bound of the AFCT with these flows: shortest first on each link that they must cross",
        headline=False,  # the same for all schemes, and far below them in a mesh
    ),
    Metric("fct_p50_s", "FCT p50", "seconds", "lower", "Median flow completion time"),
    Metric("fct_p99_s", "FCT p99", "seconds", "lower", "99th percentile of flow completion times"),
    Metric("slowdown_mean", "Slowdown", "times", "lower", "Mean of FCT over the FCT on an unloaded path"),
    Metric("slowdown_p99", "Slowdown p99", "times", "lower", "99th percentile of the slowdown", headline=False),
    Metric("jain_goodput", "Jain", "index", "higher", "Jain's fairness index over the flows' goodput"),
    Metric("goodput_total_bps", "Goodput", "bps", "higher", "Bytes delivered to receivers, all flows, per time"),
    Metric("utilisation_max", "Busiest link", "ratio", None, "Utilisation of the most used port"),
    Metric("loss_ratio", "Loss", "ratio", "lower", "Share of sent packets dropped or corrupted"),
    Metric(
        "queue_max_bytes",
        "Memory",
        "bytes",
        None,
        "Largest queue at a port of the network: the memory that the port needed",
    ),
    Metric(
        "queue_delay_mean_s", "Queue delay", "seconds", "lower", "Mean time a packet waited in a queue", headline=False
    ),
    Metric("queue_delay_p99_s", "Queue delay p99", "seconds", "lower", "99th percentile of that time"),
)

BY_KEY = {metric.key: metric for metric in METRICS}
