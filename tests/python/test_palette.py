"""Looks of curves: the distance between any two, also to the colour-blind; the same from figure to figure."""

import itertools
import re

import numpy as np
import pytest

import browser
import midpath
from midpath import palette
from midpath.compare.runs import load_comparison
from midpath.errors import UsageError
from midpath.metrics import IDEAL
from midpath.palette import GREY, HUES, in_order, looks, set_styles
from midpath.plot.draw import MARKERS, strokes
from midpath.schemes import shipped
from test_report import data_of

# Björn Ottosson, "A perceptual color space for image processing" (2020).
TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
# Machado, Oliveira and Fernandes (2009), severity 1, in linear RGB.
EYES = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
# OKLab has black at 0 and white at 1; 0.02 is about what can be seen of two areas side by side. Lines are thin: five
# times that.
LEAST = 0.1
# WCAG 2.2, 1.4.11: graphical objects on what is beside them. `--card` of report.css.
CONTRAST, CARDS = 3.0, {"light": "#FFFFFF", "dark": "#151B23"}


def linear(colour):
    rgb = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def seen(colour, eyes="normal"):
    """OKLab of what these eyes see."""
    return TO_LAB @ np.cbrt(TO_LMS @ np.clip(EYES[eyes] @ linear(colour), 0, 1))


def brightness(colour):
    return float(linear(colour) @ (0.2126, 0.7152, 0.0722))


def test_the_distance_is_that_of_the_definition():
    # The examples of Ottosson's page, by way of sRGB: white, and pure red.
    assert seen("#FFFFFF") == pytest.approx([1, 0, 0], abs=1e-3)
    assert seen("#FF0000") == pytest.approx([0.628, 0.225, 0.126], abs=1e-3)
    # To a deuteranope red and a dark yellow are alike.
    assert np.linalg.norm(seen("#DC0019", "deuteranopia") - seen("#8C7700", "deuteranopia")) < 0.1


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("eyes", EYES)
def test_any_two_colours_are_far_apart_to_all_eyes(eyes, theme):
    colours = {name: getattr(look, theme) for name, look in (HUES | {"ideal": GREY}).items()}
    near = {
        (a, b): round(float(np.linalg.norm(seen(colours[a], eyes) - seen(colours[b], eyes))), 3)
        for a, b in itertools.combinations(colours, 2)
    }
    assert not {pair: apart for pair, apart in near.items() if apart < LEAST}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_lines_stand_out_from_the_card(theme):
    for look in (*HUES.values(), GREY):
        one, other = sorted((brightness(getattr(look, theme)), brightness(CARDS[theme])))
        assert (other + 0.05) / (one + 0.05) >= CONTRAST, look


def distinct(found):
    return all(len({look[part] for look in found}) == len(found) for part in ("light", "dark", "dash", "shape"))


def test_ten_curves_and_the_ideal_differ_by_colour_marker_and_dash():
    # Any ten of the schemes that ship: 200 draws, beside the tens in the catalogue's order.
    draw, names = np.random.default_rng(1), [*shipped()]
    tens = [list(draw.choice(names, 10, replace=False)) for _ in range(200)]
    for ten in [*tens, *(names[at : at + 10] for at in range(len(names) - 9))]:
        assert distinct(looks([*ten, IDEAL]).values()), ten
    assert distinct([vars(look) for look in in_order(10)])
    # Each of the dashes and markers is one in Matplotlib, too.
    every = [*HUES.values(), GREY]
    assert len({strokes(look.dash) for look in every}) == len({MARKERS[look.shape] for look in every}) == len(every)


def test_more_than_ten_are_still_told_apart():
    found = looks([*shipped(), *(f"mine{index}" for index in range(30))]).values()
    assert len({(look["light"], look["dash"], look["shape"]) for look in found}) == len(found)
    assert len({(look.light, look.dash) for look in in_order(100)}) == 100


def test_cubic_and_bbr_have_nothing_in_common():
    cubic, bbr = looks(["cubic", "bbr"]).values()
    assert all(cubic[part] != bbr[part] for part in cubic)


def test_a_scheme_looks_the_same_in_all_figures():
    names = [*shipped()]
    alone = {scheme: looks([scheme])[scheme] for scheme in names}
    # Ten schemes never change, whoever else is there and in whatever order they are named.
    fixed = {scheme for scheme in names if looks(names[:])[scheme] == alone[scheme]}
    assert {"cubic", "bbr", "newreno", "dctcp", "inrpp", "fcp", "mircc", "rpm", "hpcc", "mptcp"} <= fixed
    for scheme in fixed:
        assert looks([*reversed(names)])[scheme] == alone[scheme]
    # Of the others one changes only where a scheme of the figure has its look.
    for one, other in itertools.permutations(names, 2):
        if alone[one]["light"] != alone[other]["light"]:
            assert looks([one, other])[one] == alone[one]


def test_the_user_chooses():
    try:
        set_styles({"cubic": "teal", "bbr": "#804000"})
        found = looks(["hpcc", "bbr", "cubic"])
        assert found["cubic"]["light"] == HUES["teal"].light
        assert (found["bbr"]["light"], found["bbr"]["dark"], found["bbr"]["dash"]) == ("#804000",) * 2 + (
            HUES["brown"].dash,
        )
        assert found["hpcc"]["light"] != HUES["teal"].light, "the chosen one comes first"
        with pytest.raises(UsageError, match="cubic=pink: write #rrggbb, or one of blue, red"):
            set_styles({"cubic": "pink"})
        assert palette.preferred("cubic") == "teal", "what is refused changes nothing"
    finally:
        set_styles({})
    assert looks(["cubic"])["cubic"]["light"] == HUES["red"].light


TEXT = """
stop = "300 ms"
[topology]
generate = "dumbbell"
pairs = 2
bottleneck = { rate = "10 Mbps", delay = "5 ms" }
access = { rate = "100 Mbps", delay = "1 ms" }
[[workload]]
arrivals = { kind = "poisson", rate_per_s = 50.0 }
sizes = { kind = "fixed", size = "20 kB" }
flows = 10
"""
TEN = "cubic,bbr,newreno,dctcp,inrpp,fcp,mircc,swift,hpcc,mptcp"


@pytest.fixture(scope="module")
def ten(tmp_path_factory):
    path = tmp_path_factory.mktemp("ten") / "compared"
    midpath.compare(TEXT, TEN, ideal=False, out=path)
    return path


def test_commands_take_looks(cli, ten, tmp_path):
    page = tmp_path / "report.html"
    assert cli("report", ten, "--out", page, "--looks", "cubic=teal,bbr=#804000").code == 0
    found = data_of(page.read_text())["looks"]
    assert (found["cubic"]["light"], found["bbr"]["light"]) == (HUES["teal"].light, "#804000")
    figure = tmp_path / "f.svg"
    assert cli("plot", ten, "--figure", "fct", "--out", figure, "--looks", "cubic=#123456").code == 0
    assert "#123456" in figure.read_text()
    assert cli("plot", ten, "--figure", "fct", "--out", figure).code == 0
    assert "#123456" not in figure.read_text(), "a choice is of one command"
    for wrong in ("cubic", "cubic=pink"):
        answer = cli("plot", ten, "--figure", "fct", "--looks", wrong)
        assert answer.code == 2, wrong
        assert answer.err.startswith("midpath: "), wrong


def test_curves_of_a_plot_have_markers(cli, ten, tmp_path):
    figure = tmp_path / "f.svg"
    assert cli("plot", ten, "--figure", "fct", "--out", figure).code == 0
    # Matplotlib draws a marker once, and uses it at points and in the legend.
    used = re.findall(r'<use xlink:href="#(m\w+)"[^>]*style="fill: (#\w+)', figure.read_text())
    colours = {colour.upper() for _, colour in used}
    assert {look["light"] for look in looks(TEN.split(",")).values()} <= colours


@pytest.mark.nightly("python/midpath/report/", "python/midpath/palette.py")
@pytest.mark.skipif(browser.find() is None, reason="no Chromium on this machine to look at the report with")
def test_a_browser_draws_ten_markers_and_dashes(ten, tmp_path):
    page = load_comparison(ten).report(tmp_path / "report.html")
    dom = browser.look(page, "--dump-dom")
    names = TEN.split(",")
    legend = dom[dom.index('<nav class="legend"') : dom.index("</nav>")]
    assert len(set(re.findall(r"(?:polygon points=\"[^\"]+|circle r=\"4)", legend))) == 10
    assert len(set(re.findall(r'd="M-20 0H20"( stroke-dasharray="[^"]*")?', legend))) == 10
    # Each curve has points.
    points = {*re.findall(r'<path class="point"[^>]*fill: rgb\((\d+, \d+, \d+)\)', dom)}
    assert {
        ", ".join(str(int(look["light"][at : at + 2], 16)) for at in (1, 3, 5)) for look in looks(names).values()
    } <= points
