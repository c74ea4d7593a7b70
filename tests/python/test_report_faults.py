"""Faults in the figures over time."""

import pytest

import midpath
from midpath.report import html
from midpath.report.faults import BAND, Fault, faults_of, marked, seconds
from midpath.report.model import model_of
from midpath.report.time import goodput
from test_report import data_of

NBSP = "\N{NO-BREAK SPACE}"
NETWORK = """
[topology]
generate = "dumbbell"
bottleneck = { rate = "10 Mbps", delay = "5 ms" }
access = { rate = "10 Mbps", delay = "1 ms" }
"""
FAULTS = """
[[flow]]
from = "s0"
to = "d0"
[[fault]]
at = "2 s"
kind = "rate"
link = ["r1", "r0"]
rate = "1 Mbps"
[[fault]]
at = "500 ms"
kind = "link-down"
link = ["r0", "r1"]
[[fault]]
at = "1.5 s"
kind = "link-up"
link = ["r1", "r0"]
[[fault]]
at = "2500 ms"
kind = "restart"
node = "r0"
[[fault]]
at = "2.75s"
kind = "link-down"
link = ["s0", "r0"]
until = "1 h"
[[fault]]
at = "20 s"
kind = "restart"
node = "r1"
"""
TEXT = f'stop = "3 s"\n{NETWORK}{FAULTS}'


@pytest.fixture(scope="module")
def model():
    return model_of(midpath.run(TEXT))


def test_what_goes_down_comes_back_when_the_scenario_says_so(model):
    assert faults_of(model) == [
        Fault("r0 – r1 is down", 0.5, 1.5),
        Fault("r1 – r0 changes to 1 Mbps", 2.0),
        Fault("r0 restarts", 2.5),
        # After the end of the run.
        Fault("s0 – r0 is down", 2.75, 3600.0),
    ]


def test_figures_over_time_have_bands_and_lines_and_others_do_not(model):
    figure = marked(goodput(model), faults_of(model))
    shapes = figure.variants[""]["layout"]["shapes"]
    assert [(s["type"], s["x0"], s["x1"]) for s in shapes] == [
        ("rect", 0.5, 1.5), ("line", 2.0, 2.0), ("line", 2.5, 2.5), ("rect", 2.75, 3600.0),
    ]  # fmt: skip
    assert f"Marked in grey: r0 – r1 is down from 500{NBSP}ms to 1.50{NBSP}s; r1 – r0 changes" in figure.note
    page = html(model.first)
    figures = data_of(page)["figures"]
    over_time = {key for key, one in figures.items() if BAND in str(one)}
    assert "goodput" in over_time and not over_time & {"fct", "size", "network"}


def test_many_faults_are_counted(model):
    many = [Fault(f"r{index} restarts", 0.01 * index) for index in range(100)]
    figure = marked(goodput(model), many)
    assert len(figure.variants[""]["layout"]["shapes"]) == 60
    assert figure.note.endswith("; and 96 more faults.")


def test_without_faults_nothing_changes(model):
    figure = goodput(model)
    assert marked(figure, []) is figure


@pytest.mark.parametrize(
    ("text", "value"),
    [("2 s", 2.0), ("1.5min", 90.0), ("1e3 us", 1e-3), ("1_000 ns", 1e-6), (" 3 seconds ", 3.0), ("5 µs", 5e-6)],
)
def test_times_are_read_as_the_simulator_reads_them(text, value):
    assert seconds(text) == pytest.approx(value)
    # A flow without end lasts as long as the simulator says that it is.
    run = midpath.run(f'stop = "{text}"\n{NETWORK}[[flow]]\nfrom = "s0"\nto = "d0"\nscheme = "udp"\nrate = "8 kbps"\n')
    assert run.run["simulated_s"] == pytest.approx(value)
