"""The report's figures of what ports and flows say over time."""

import itertools
import json

import numpy as np
import pyarrow as pa
import pytest

import browser
import midpath
from conftest import ROOT
from midpath.palette import tints
from midpath.report import html, path
from midpath.report.gauges import gauges
from midpath.report.model import model_of
from midpath.report.path import state_timeline
from midpath.report.tracks import label, series_by_entity, thin
from midpath.schemes import shipped
from test_report import TEXT, data_of, needs_browser

TIMES = np.arange(1, 101) * 0.1
CHAIN = ["s0", "r0", "r1", "r2", "d0"]


def steps(*changes):
    """A value that changes at given times; points end intervals, as in the table."""
    values = np.zeros(TIMES.size)
    for time, value in changes:
        values[time + 1e-9 < TIMES] = value
    return values


def with_series(result, tracks, paths=(), scheme="inrpp"):
    """The same result, with other series."""
    rows = [(entity, metric, values) for (entity, metric), values in tracks.items()]
    series = pa.table(
        {
            "time_s": np.tile(TIMES, len(rows)),
            "entity": [entity for entity, _, _ in rows for _ in TIMES],
            "metric": [metric for _, metric, _ in rows for _ in TIMES],
            "value": np.concatenate([values for _, _, values in rows]) if rows else np.array([]),
        }
    )
    run = result.run | {"scheme": scheme, "paths": list(paths)}
    return midpath.Result(run, result.tables | {"series": series})


def port(name, states, cache=0.0, closed=0.0):
    """The series of an INRPP port."""
    entity = f"port:{name}"
    return {
        (entity, "state"): states,
        (entity, "cache_bytes"): np.full(TIMES.size, cache) * (states > 0),
        (entity, "closed_loop"): np.full(TIMES.size, closed) * (TIMES > 2.05),
        (entity, "cache_high_bytes"): np.full(TIMES.size, 1e6),
        (entity, "cache_low_bytes"): np.full(TIMES.size, 5e5),
    }


@pytest.fixture
def pressed(made_up):
    """Backpressure that moves from r2's port to r1's; nothing happens at r0's and r2>d0 isn't recorded."""
    tracks = (
        port("r1>r2", steps((1, 1), (2, 2), (5, 3), (6, 0)), cache=1e6)
        | port("r0>r1", steps((3, 1), (4, 2), (6, 0)), cache=8e5, closed=1.0)
        | port("s0>r0", steps())
    )
    paths = [{"flow": 0, "nodes": CHAIN}, {"flow": 3, "nodes": CHAIN}]
    return with_series(midpath.run(TEXT), tracks, paths)


def bands(figure, state, key="flow:0"):
    """When each lane, from the top, was in a state."""
    data = figure.variants[key]["data"]
    lanes = len(figure.variants[key]["layout"]["annotations"])
    tone = "several" if state < 0 else shipped()["inrpp"].ports["state"].states[state].tone
    found = [trace for trace in data if trace["meta"].get("tint") == f"tone:{tone}"]
    if not found:
        return {}
    stretches = {}
    for begin, end, y in zip(found[0]["x"][::3], found[0]["x"][1::3], found[0]["y"][::3], strict=True):
        stretches.setdefault(lanes - 1 - int(y), []).append((begin, end))
    return stretches


def test_lanes_are_in_the_order_of_the_path(pressed):
    figure = state_timeline(model_of(pressed))
    names = [mark["text"] for mark in figure.variants["flow:0"]["layout"]["annotations"]]
    assert names == ["<b>r0 → r1</b>", "<b>r1 → r2</b>"]
    assert figure.options["flow:0"] == "s0 → d0 (flows 0, 3)"
    assert figure.notes["flow:0"] == (
        "Nothing happened at s0 → r0. Not recorded (measure.ports says how many are): r2 → d0."
    )


def test_bands_say_when(pressed):
    figure = state_timeline(model_of(pressed))
    assert bands(figure, 2) == {0: [(4.0, 6.0)], 1: [(2.0, 5.0)]}
    assert bands(figure, 3) == {1: [(5.0, 6.0)]}
    assert bands(figure, 0) == {0: [(0.0, 3.0), (6.0, 10.0)], 1: [(0.0, 1.0), (6.0, 10.0)]}
    assert [text for _, text in figure.keys[:4]] == [
        "Push", "Store-and-Detour", "Backpressure", "Disable-Backpressure",
    ]  # fmt: skip


def test_thresholds_are_where_the_cache_is_as_full(pressed):
    figure = state_timeline(model_of(pressed))
    layout = figure.variants["flow:0"]["layout"]
    # The lower lane comes first.
    assert layout["yaxis"]["ticktext"][0] == "S<sub>high</sub> 1.00\N{NO-BREAK SPACE}MB"
    # Its cache is at S_high while it is not empty.
    area = next(trace for trace in figure.variants["flow:0"]["data"] if trace.get("fill"))
    assert max(area["y"]) == pytest.approx(layout["yaxis"]["tickvals"][0], abs=1e-4)
    assert area["text"][30] == "Backpressure, 1.00\N{NO-BREAK SPACE}MB"


def test_caches_far_below_the_threshold_share_a_scale(made_up):
    tracks = port("r0>r1", steps((1, 1), (2, 0)), cache=2e4) | port("r1>r2", steps((1, 1), (2, 0)), cache=1e5)
    tracks |= port("r2>r3", steps((1, 1), (2, 0)), cache=9e5)
    nodes = ["r0", "r1", "r2", "r3"]
    figure = state_timeline(model_of(with_series(midpath.run(TEXT), tracks, [{"flow": 0, "nodes": nodes}])))
    areas = [max(trace["y"]) for trace in figure.variants["flow:0"]["data"] if trace.get("fill")]
    assert (areas[2] - 2) / (areas[1] - 1) == pytest.approx(0.2, rel=1e-3)
    layout = figure.variants["flow:0"]["layout"]
    nbsp = "\N{NO-BREAK SPACE}"
    assert layout["yaxis"]["ticktext"][2:] == [f"100{nbsp}kB"] * 2
    assert len(layout["shapes"]) == 2
    assert figure.notes["flow:0"] == "Without dashed lines, because S_high is far above: r0 → r1, r1 → r2."


def test_points_of_several_states_are_not_taken_for_one(made_up):
    # The mean of Push and Disable-Backpressure, 1.5, is neither Store-and-Detour nor Backpressure.
    result = with_series(
        midpath.run(TEXT), port("r0>r1", steps((1, 1.5), (2, 0))), [{"flow": 0, "nodes": ["r0", "r1"]}]
    )
    figure = state_timeline(model_of(result))
    assert bands(figure, -1) == {0: [(1.0, 2.0)]}
    assert bands(figure, 1) == bands(figure, 2) == {}
    assert "several within one point" in dict(figure.keys).values()


def test_many_ports_stay_few_lanes(made_up):
    nodes = [f"r{index}" for index in range(31)]
    tracks = {}
    for index, (a, b) in enumerate(itertools.pairwise(nodes)):
        tracks |= port(f"{a}>{b}", steps((1, 2), (1 + index / 10, 0)), cache=1e6)
    paths = [{"flow": index, "nodes": nodes[index:]} for index in range(12)]
    figure = state_timeline(model_of(with_series(midpath.run(TEXT), tracks, paths)))
    assert len(figure.variants) == path.MOST_PATHS
    assert "4 more paths are not drawn" in figure.note
    for state in figure.variants.values():
        names = [mark["text"] for mark in state["layout"]["annotations"]]
        assert len(names) == path.MOST_LANES
        assert names == [f"<b>r{index} → r{index + 1}</b>" for index in range(22, 30)]
    assert "Less happened at" in figure.notes["flow:0"]
    assert len(json.dumps(figure.to_json())) < 1_000_000


def test_ports_that_press_off_the_paths_are_found(pressed):
    off = {**pressed.run, "paths": [{"flow": 0, "nodes": ["s0", "r0"]}]}
    figure = state_timeline(model_of(midpath.Result(off, pressed.tables)))
    names = [mark["text"] for mark in figure.variants["everywhere"]["layout"]["annotations"]]
    assert names == ["<b>r1 → r2</b>", "<b>r0 → r1</b>"]


def test_without_paths_there_is_no_such_figure(pressed):
    older = {key: value for key, value in pressed.run.items() if key != "paths"}
    tables = {**pressed.tables, "series": pressed.tables["series"].slice(0, 0)}
    assert state_timeline(model_of(midpath.Result(older, tables))) is None
    html(midpath.Result(older, pressed.tables))


def test_other_schemes_states_are_numbers(made_up):
    result = with_series(midpath.run(TEXT), {("port:a>b", "state"): steps((1, 2))}, scheme="mine")
    assert state_timeline(model_of(result)) is None
    assert list(gauges(model_of(result)).options.values()) == ["state"]


def test_gauges_of_one_scheme_share_a_plot(made_up):
    tracks = {
        (f"port:a>{name}", "price"): steps((1, size * 1e-6)) for name, size in zip("bcdefghi", range(8), strict=True)
    }
    tracks |= {("flow:0", "budget"): steps((2, 1.0)), ("flow:0", "goodput_bps"): steps((2, 1e6))}
    figure = gauges(model_of(with_series(midpath.run(TEXT), tracks, scheme="fcp")))
    assert list(figure.options.values()) == ["price", "budget", "goodput"]
    prices = figure.variants["port/price"]
    # At a>b the price never changed, and one is more than can be told apart.
    assert [trace["name"] for trace in prices["data"]] == [f"a → {name}" for name in "ihgfed"]
    assert "the 6 of 7 ports where it moves most; at 1 more it never changed." in figure.notes["port/price"]
    assert prices["layout"]["yaxis"]["title"]["text"] == "price (10⁻⁶ $/B)"
    assert max(prices["data"][0]["y"]) == pytest.approx(7.0)
    budget = figure.variants["flow/budget"]
    assert budget["layout"]["yaxis"]["title"]["text"] == "budget ($/s)"
    assert "never" not in figure.notes["flow/budget"]


def test_gauges_of_several_schemes_have_a_line_each(made_up):
    found = midpath.compare(TEXT, ["cubic", "newreno"])
    for pair, result in list(found.results.items()):
        tracks = {("flow:0", "cwnd_bytes"): steps((1, 5e4))}
        tracks |= {("flow:0", "alpha"): steps((1, 0.5))} if pair[0] == "cubic" else {}
        found.results[pair] = with_series(result, tracks, scheme=pair[0])
    figure = gauges(model_of(found))
    assert list(figure.options.values()) == ["alpha (CUBIC)", "cwnd: flow 0"]
    state = figure.variants["flow/cwnd_bytes/flow:0"]
    assert figure.notes["flow/cwnd_bytes/flow:0"] == "cwnd_bytes, a line per scheme."
    assert {trace["meta"]["scheme"] for trace in state["data"]} >= {"cubic", "newreno"}


def test_what_never_changes_is_named_not_drawn(made_up):
    tracks = {
        ("port:a>b", "forged"): steps(),
        ("port:a>b", "price"): steps((1, 1.0)),
        ("port:a>b", "queue_bytes"): steps((1, 1.0)),
    }
    figure = gauges(model_of(with_series(midpath.run(TEXT), tracks)))
    assert list(figure.variants) == ["port/price"]
    assert "Never changed, so not drawn: forged." in figure.note
    assert gauges(model_of(with_series(midpath.run(TEXT), {}))) is None


def test_every_tint_has_a_colour(pressed):
    embedded = data_of(html(pressed))
    used = {
        trace["meta"].get("tint")
        for f in embedded["figures"].values()
        for v in f["variants"].values()
        for trace in v["data"]
    }
    assert used - {None} <= embedded["tints"].keys() == tints().keys()


def test_tracks_are_found_by_entity_and_metric(pressed):
    tracks = series_by_entity(pressed.series.to_pandas())
    times, values = tracks["port:r1>r2", "state"]
    assert times.tolist() == TIMES.tolist()
    assert values.tolist() == steps((1, 1), (2, 2), (5, 3), (6, 0)).tolist()
    assert label("port:r1>r2") == "r1 → r2"
    assert label("flow:3") == "flow 3"


def test_thinning_keeps_the_mean():
    times, values = thin(TIMES, steps((5, 2)), 10)
    assert times.size == 10
    assert values.mean() == pytest.approx(1.0)


def test_simulator_says_which_way_flows_go():
    result = midpath.run(ROOT / "examples/inrpp_detour.toml")
    assert result.run["paths"][1] == {"flow": 1, "nodes": ["s1", "r4", "r0", "r2", "r3", "d1"]}
    figure = state_timeline(model_of(result))
    names = [mark["text"] for mark in figure.variants["flow:0"]["layout"]["annotations"]]
    assert names == ["<b>s0 → r4</b>", "<b>r4 → r0</b>", "<b>r0 → r2</b>"]
    # Backpressure is first at the bottleneck, then at the hop before it.
    pressing = bands(figure, 2)
    assert pressing[2][0][0] < pressing[1][0][0]
    assert 0 not in pressing


def test_example_of_backpressure_walks_up_and_is_cancelled_downwards():
    result = midpath.run(ROOT / "examples/inrpp_backpressure.toml")
    figure = state_timeline(model_of(result))
    names = [mark["text"] for mark in figure.variants["flow:0"]["layout"]["annotations"]]
    assert names == ["<b>source → r0</b>", "<b>r0 → r1</b>", "<b>r1 → r2</b>", "<b>r2 → r3</b>"]
    # Once each, and nested: begun from below, ended from above.
    (((first, last),), ((second, later),), ((third, soon),)) = (bands(figure, 2)[lane] for lane in (3, 2, 1))
    assert first < second < third < soon < later < last
    assert [stretch[0][0] for stretch in bands(figure, 3).values()] == [soon, later, last]
    assert result.summary["lost_packets"] == 0


@needs_browser
def test_browser_draws_paths_and_gauges(pressed, tmp_path):
    page = pressed.report(tmp_path / "report.html")
    dom = browser.look(page, "--dump-dom")
    for words in ("r1 → r2</b>", "Disable-Backpressure", "thin line: slowed down by the next hop"):
        assert words in dom.replace("font-weight:bold", "") or words.replace("</b>", "</tspan>") in dom
    assert 'id="plot-gauges"' in dom
    assert dom.count('class="main-svg"') >= 7


def test_paths_on_a_map_are_named_by_place(pressed):
    nodes = ["h4", "Denver", "Houston", "h9"]
    tracks = port("Denver>Houston", steps((1, 1), (2, 2)), cache=1e6)
    paths = [{"flow": 2, "nodes": nodes}, {"flow": 5, "nodes": nodes[1:3]}]
    figure = state_timeline(model_of(with_series(pressed, tracks, paths)))
    assert {*figure.options.values()} == {"Denver → Houston (h4 → h9, flow 2)", "Denver → Houston (flow 5)"}
