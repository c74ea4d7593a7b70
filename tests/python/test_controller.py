"""Congestion controllers in Python: as a TCP's by name, and as good as Rust's packet by packet."""

import hashlib
import json
import random
from pathlib import Path
from typing import ClassVar

import pytest

import midpath
from midpath.controller import load, named, parameters
from midpath.errors import ControllerError, ScenarioError, UsageError

EXAMPLES = Path(__file__).parents[2] / "examples"
NEWRENO = EXAMPLES / "controllers" / "newreno.py"

SCENARIO = """
scheme = "newreno"
stop = "12 s"
[topology]
generate = "dumbbell"
pairs = 3
bottleneck = { rate = "8 Mbps", delay = "10 ms" }
access = { rate = "100 Mbps", delay = "1 ms" }
[queue]
limit = "25 packets"
[[flow]]
from = "s0"
to = "d0"
[[flow]]
from = "s1"
to = "d1"
start = "300 ms"
[[flow]]
from = "s2"
to = "d2"
start = "1 s"
size = "900 kB"
[measure]
series = true
pcap = [{ from = "s0", to = "r0" }, { from = "r0", to = "r1" }, { from = "r1", to = "r0" }]
"""

RED = '[queue]\nlimit = "25 packets"\nkind = "red"\nmin = "5 packets"\nmax = "20 packets"\n'
FAULT = '[[fault]]\nat = "3 s"\nuntil = "5 s"\nlink = ["r0", "r1"]\nkind = "link-down"\n'
# Of each: TCP's parameters, what stands in place of what, and which happenings it must have.
HAPPENINGS = {
    "losses": ("", {}, {"retransmitted_packets"}),
    "without-sack": ("sack = false", {}, {"retransmitted_packets"}),
    "a-link-that-corrupts": ("", {'"10 ms" }': '"10 ms", corruption = "1 %" }'}, {"retransmitted_packets"}),
    "timeouts": ("", {"[measure]": FAULT + "[measure]"}, {"retransmitted_packets", "timeouts"}),
    "classic-ecn": ("ecn = true", {'[queue]\nlimit = "25 packets"\n': RED}, {"marked_packets"}),
    "accurate-ecn": ('ecn = "accurate"', {'[queue]\nlimit = "25 packets"\n': RED}, {"marked_packets"}),
}


def in_text(scheme, parameters, changes):
    text = SCENARIO
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return f"{text}[schemes.{scheme}]\n{parameters}\n"


class Fixed(midpath.Controller):
    """A window of twenty packets."""

    segments: int = 20

    def on_open(self, opening):
        self.window = self.segments * self.mss

    def on_loss(self, loss):
        return self.segments * self.mss


def alone(**changes):
    return midpath.Scenario.from_toml(SCENARIO).with_(changes={"stop": "2 s", **changes})


@pytest.mark.parametrize("happening", HAPPENINGS)
def test_newreno_in_python_sends_the_packets_of_newreno_in_rust(happening):
    tcp, changes, wanted = HAPPENINGS[happening]
    (cls,) = load(NEWRENO)
    rust = midpath.run(in_text("newreno", tcp, changes))
    python = midpath.run(in_text(cls.name, tcp, changes), scheme=cls.name, controllers=[cls])
    flows = rust.flows.to_pandas()
    assert all(flows[key].sum() > 0 for key in wanted)
    # Captures have each packet's bytes and time, at a sender and on both ways of the bottleneck.
    assert rust.files and python.files == rust.files
    assert python.flows.drop(["scheme"]) == rust.flows.drop(["scheme"])
    assert python.series == rust.series


def test_a_controller_runs_by_its_name_and_twice_the_same():
    once, again = (midpath.run(alone(), scheme="fixed", controllers=[Fixed]) for _ in range(2))
    assert once.scheme == "fixed"
    assert once.flows == again.flows and once.series == again.series
    series = once.series.to_pandas()
    windows = series[(series.metric == "cwnd_bytes")].value
    assert windows.max() == 20 * 1448


def test_parameters_are_set_by_the_scenario_and_checked():
    assert parameters(Fixed) == {"segments": 20}
    text = SCENARIO + "[schemes.fixed]\nsegments = 4\ninitial_window = 2\n"
    series = midpath.run(text, scheme="fixed", controllers=[Fixed]).series.to_pandas()
    assert series[series.metric == "cwnd_bytes"].value.max() == 4 * 1448
    for key, message in (("segments = 0.5", "a whole number"), ("segment = 4", "is not a parameter here")):
        with pytest.raises(ScenarioError, match=message):
            midpath.run(SCENARIO + f"[schemes.fixed]\n{key}\n", scheme="fixed", controllers=[Fixed])


def test_flows_of_one_scenario_may_have_controllers_of_several_classes_beside_rusts():
    text = SCENARIO.replace('to = "d0"', 'to = "d0"\nscheme = "slow"', 1)
    result = midpath.run(text, controllers={"slow": Fixed, "unused": Fixed})
    assert result.flows.to_pandas().scheme.tolist() == ["slow", "newreno", "newreno"]


def test_samples_and_a_rate_of_its_own_fill_a_link_and_keep_its_queue_short():
    controllers = load(EXAMPLES / "controllers" / "pacer.py")
    one = midpath.Scenario.from_toml(EXAMPLES / "controllers" / "one_flow.toml")
    result = midpath.run(one, scheme="pacer", controllers=controllers)
    assert result.summary["utilisation_max"] > 0.9
    assert result.summary["queue_delay_p99_s"] < 0.03
    assert "payload_bps" in set(result.series["metric"].to_pylist())


def test_randomness_comes_from_the_seed_and_leaves_other_flows_alone():
    class Random(Fixed):
        seeds: ClassVar = []

        def on_open(self, opening):
            self.seeds.append(opening.seed)
            self.window = random.Random(opening.seed).randint(2, 40) * self.mss

    def seeds(seed):
        Random.seeds = []
        midpath.run(alone(), scheme="random", seed=seed, controllers=[Random])
        return Random.seeds

    assert seeds(1) == seeds(1) != seeds(2)
    assert len(set(seeds(1))) == 3


def failing(body, method="on_ack", **attributes):
    scope = {}
    exec(f"def {method}(self, *event):\n    {body}\n", scope)
    return type("Bad", (midpath.Controller,), {method: scope[method], **attributes})


@pytest.mark.parametrize(
    ("method", "body", "message"),
    [
        ("on_ack", "1 / 0", "ZeroDivisionError: division by zero"),
        ("on_ack", "self.window = float('nan')", "ValueError: window must be a number of bytes from 0 to 1.*, not NaN"),
        ("on_ack", "self.window = -1", "ValueError: window must be a number of bytes"),
        ("on_ack", "self.window = 'large'", "TypeError: window must be a number of bytes, not 'large'"),
        ("on_ack", "self.rate = float('inf')", "ValueError: rate must be a number of bits per second"),
        ("on_ack", "return self.window", "TypeError: on_ack sets self.window and returns nothing"),
        ("on_loss", "self.window /= 2", "TypeError: on_loss returns the new threshold in bytes, and sets none"),
        ("on_loss", "return float('nan')", "ValueError: the threshold that on_loss returns must be a number of bytes"),
        ("on_open", "self.nothing", "AttributeError: 'Bad' object has no attribute 'nothing'"),
        ("__init__", "raise OSError('no')", "OSError: no"),
    ],
)
def test_what_fails_says_where_when_and_why(method, body, message):
    with pytest.raises(ControllerError, match=f"^bad: {method} of flow [0-2] at [0-9.]+ s: {message}") as found:
        large = {"schemes.bad.initial_window": 200}
        midpath.run(alone(**large), scheme="bad", controllers=[failing(body, method)])
    assert isinstance(found.value.__cause__, Exception)
    assert found.value.now_s < 2


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"on_acks": print}, "on_acks is not a hook; hooks are on_open"),
        ({"window": 3}, "window is set, not defined"),
        ({"own_window": True}, "it needs on_loss and on_timeout"),
        ({"on_sample": print}, "called only with samples = True"),
        ({"name": "newreno"}, "there is a scheme 'newreno' already"),
        ({"name": "no name"}, "is not a scheme name"),
    ],
)
def test_a_class_that_could_not_work_is_refused_before_anything_runs(attributes, message):
    with pytest.raises(UsageError, match=message):
        named([type("Bad", (midpath.Controller,), attributes)])


def test_a_run_has_one_thread():
    with pytest.raises(UsageError, match="one thread"):
        midpath.run(alone(), scheme="fixed", controllers=[Fixed], threads=2)
    both = [midpath.run(alone(), scheme="fixed", controllers=[Fixed], threads=n).flows for n in (0, 1)]
    assert both[0] == both[1]


def test_the_command_takes_a_file_and_says_which(cli, tmp_path):
    file = EXAMPLES / "dumbbell.toml"
    found = cli("run", file, "--scheme", "newreno-in-python", "--with", NEWRENO, "--set", "stop='1 s'", "--json")
    assert found.code == 0, found.err
    run = json.loads(found.out)
    digest = hashlib.sha256(NEWRENO.read_bytes()).hexdigest()
    assert run["controllers"] == {"newreno-in-python": {"class": "NewReno", "file": "newreno.py", "sha256": digest}}
    assert cli("run", file, "--scheme", "newreno-in-python").code == 2
    bad = tmp_path / "bad.py"
    bad.write_text("import midpath\nclass Bad(midpath.Controller):\n    def on_ack(self, ack):\n        ack.no\n")
    failed = cli("run", file, "--scheme", "bad", "--with", bad, "--out", tmp_path / "out")
    assert failed.code == 2 and failed.err.count("\n") == 1
    assert "bad: on_ack of flow 0 at" in failed.err and "(bad.py, line 4)" in failed.err
    assert not (tmp_path / "out").exists()
    bad.write_text("import nothing_of_this_name\n")
    assert "cannot be loaded: ModuleNotFoundError" in cli("run", file, "--with", bad).err
    assert "is not a Python file" in cli("run", file, "--with", tmp_path / "none.py").err


def test_no_scenario_can_name_code(tmp_path):
    (tmp_path / "code.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    for line in ('plugin = "code.py"', 'controllers = ["code.py"]', '[schemes.newreno]\nplugin = "code.py"'):
        file = tmp_path / "scenario.toml"
        file.write_text(SCENARIO.replace("scheme =", f"{line}\nscheme =", 1) if "[" not in line else SCENARIO + line)
        with pytest.raises(ScenarioError):
            midpath.run(file)
    assert not (tmp_path / "ran").exists()


def test_a_comparison_runs_a_changed_controller_again(tmp_path):
    def cwnds(segments):
        cls = type("Fixed", (Fixed,), {"segments": segments})
        found = midpath.compare(
            alone(), ["fixed", "newreno"], ideal=False, out=tmp_path / "out", controllers={"fixed": cls}
        )
        series = found.of("fixed")[0].series.to_pandas()
        return series[series.metric == "cwnd_bytes"].value.max()

    assert (cwnds(20), cwnds(30)) == (20 * 1448, 30 * 1448)
