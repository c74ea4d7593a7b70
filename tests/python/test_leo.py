"""Satellites: positions, links that follow from them, and runs. Bounds were fixed before the first run."""

import functools
import importlib.util
import json
import math
import random
import tomllib

import numpy as np
import pytest

import midpath
from conftest import ROOT
from midpath import leo
from midpath.cli import main
from midpath.errors import UsageError

EARTH_KM, LIGHT_KM_S = 6371.0, 299_792.458


def place(lat, lon, alt):
    """On a sphere, in km."""
    lat, lon = math.radians(lat), math.radians(lon)
    r = EARTH_KM + alt
    return r * math.cos(lat) * math.cos(lon), r * math.cos(lat) * math.sin(lon), r * math.sin(lat)


def elevation(ground, satellite):
    """By the law of cosines, in degrees."""
    a, b, c = math.dist((0, 0, 0), ground), math.dist((0, 0, 0), satellite), math.dist(ground, satellite)
    return math.degrees(math.acos((a * a + c * c - b * b) / (2 * a * c))) - 90


def shell(rng, planes, each, inclination, altitude):
    """A Walker shell over an Earth that stands still: where each satellite is at a time."""
    r = EARTH_KM + altitude
    speed = math.sqrt(398_600.44 / r**3)
    turn, phase = rng.uniform(0, 360), rng.uniform(0, 360)

    def at(t):
        found = {}
        for p in range(planes):
            node = math.radians(turn + 360 * p / planes)
            for k in range(each):
                u = math.radians(phase + 360 * (k + p / planes) / each) + speed * t
                i = math.radians(inclination)
                x, y, z = math.cos(u), math.sin(u) * math.cos(i), math.sin(u) * math.sin(i)
                found[f"s{p}.{k}"] = tuple(
                    r * v for v in (x * math.cos(node) - y * math.sin(node), x * math.sin(node) + y * math.cos(node), z)
                )
        return found

    return at


def written(path, ground, moving, seconds, step):
    rows = ["at,node,x,y,z"]
    rows += [f",{name},{x!r},{y!r},{z!r}" for name, (x, y, z) in ground.items()]
    for t in np.arange(0, seconds + step / 2, step):
        rows += [f"{t},{name},{x!r},{y!r},{z!r}" for name, (x, y, z) in moving(float(t)).items()]
    path.write_text("\n".join(rows) + "\n")
    return path


@functools.cache
def parsed(scenario):
    return tomllib.loads(scenario)


def up_at(scenario, t):
    """Links that are up, and their delays in s, as the scenario says."""
    made = parsed(scenario)
    down = {frozenset(f["link"]) for f in made.get("fault", []) if secs(f["at"]) <= t < secs(f.get("until", "1e9 s"))}
    links = [link for link in made["topology"]["links"] if not link["b"].endswith("-host")]
    delays = {frozenset((link["a"], link["b"])): secs(link["delay"]) for link in links}
    for vary in made.get("vary", []):
        for one in vary["steps"]:
            if secs(one["at"]) <= t:
                delays[frozenset(vary["link"])] = secs(one["delay"])
    return {pair: delay for pair, delay in delays.items() if pair not in down}


def secs(text):
    number, unit = text.split()
    return float(number) * {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]


def test_a_pass_lasts_as_long_as_the_closed_form_says(tmp_path):
    """Overhead on a sphere that stands still: the arc over which the elevation is at least the least."""
    altitude, least = 550, 25
    r = EARTH_KM + altitude
    speed = math.sqrt(398_600.44 / r**3)
    arc = math.radians(90 - least) - math.asin(EARTH_KM / r * math.cos(math.radians(least)))

    def moving(t):
        return {"sat": place(0, math.degrees(speed * (t - 300)), altitude)}

    file = written(tmp_path / "one.csv", {"g": place(0, 0, 0)}, moving, 600, 1)
    text = leo.scenario(leo.read(file), elevation=least)
    pair = frozenset(("sat", "g"))
    up = [t for t in range(600) if pair in up_at(text, t)]
    assert abs(len(up) - 2 * arc / speed) <= 2, (len(up), 2 * arc / speed)
    assert abs(np.mean(up) - 300) <= 1
    assert up_at(text, 300)[pair] == pytest.approx(altitude / LIGHT_KM_S, abs=1e-7)


@pytest.mark.parametrize("seed", range(12))
def test_a_terminal_has_one_satellite_that_it_and_a_gateway_see(tmp_path, seed):
    """Family 1: a shell, bent pipes. Whatever is drawn: one link up, above the least elevation, at the right delay."""
    rng = random.Random(seed)
    moving = shell(rng, rng.randint(3, 8), rng.randint(6, 14), rng.uniform(40, 90), rng.uniform(500, 1500))
    lat, lon = rng.uniform(-50, 50), rng.uniform(-180, 180)
    ground = {"home": place(lat, lon, 0), "gate": place(lat + rng.uniform(-8, 8), lon + rng.uniform(-8, 8), 0.5)}
    file = written(tmp_path / "shell.csv", ground, moving, 90, 5)
    least = rng.choice((10, 25))
    try:
        text = leo.scenario(leo.read(file), elevation=least, gateways=["gate"], decide=15, gap=0.05)
    except UsageError as error:
        assert "sees no satellite" in str(error)
        return
    for t in np.arange(1, 90, 1.0):
        sampled, up = moving(5 * (t // 5)), up_at(text, t)
        seen = {name for name, at in sampled.items() if elevation(ground["gate"], at) >= least}
        own = [next(iter(pair - {"home"})) for pair in up if "home" in pair]
        assert len(own) <= 1
        for pair, delay in up.items():
            side = "home" if "home" in pair else "gate"
            satellite = next(iter(pair - {side}))
            assert elevation(ground[side], sampled[satellite]) >= least - 1e-6
            assert delay == pytest.approx(math.dist(ground[side], sampled[satellite]) / LIGHT_KM_S, abs=2e-7)
        assert set(own) <= seen
        # It has one whenever there is one, but for the gap of a handover.
        both = [name for name in seen if elevation(ground["home"], sampled[name]) >= least]
        assert own or not both or not up_at(text, t - 1) or t % 5 < 1


@pytest.mark.parametrize("seed", range(12))
def test_satellites_are_linked_while_they_are_near(tmp_path, seed):
    """Family 2: anything that moves anyhow, and links between satellites."""
    rng = random.Random(100 + seed)
    start = {f"u{i}": (rng.uniform(-40, 40), rng.uniform(-40, 40), rng.uniform(300, 2000)) for i in range(8)}
    drift = {name: (rng.uniform(-0.5, 0.5), rng.uniform(-0.5, 0.5), 0) for name in start}

    def moving(t):
        return {name: place(*(p + d * t for p, d in zip(start[name], drift[name], strict=True))) for name in start}

    ground = {"a": place(0, 0, 0), "b": place(10, 20, 0)}
    reach = rng.uniform(1500, 5000)
    try:
        text = leo.scenario(leo.read(written(tmp_path / "any.csv", ground, moving, 60, 2)), elevation=5, isl=reach)
    except UsageError as error:
        assert "sees no satellite" in str(error)
        return
    for t in range(1, 60, 3):
        sampled, up = moving(2 * (t // 2)), up_at(text, t)
        for one in start:
            for other in start:
                near = one < other and math.dist(sampled[one], sampled[other]) <= reach
                points = zip(sampled[one], sampled[other], strict=True)
                line = [[p + (q - p) * k / 100 for k in range(101)] for p, q in points]
                lowest = min(math.dist((0, 0, 0), point) for point in zip(*line, strict=True))
                if near and lowest > EARTH_KM + 81:
                    assert up[frozenset((one, other))] == pytest.approx(
                        math.dist(sampled[one], sampled[other]) / LIGHT_KM_S, abs=2e-7
                    )
                elif one < other and not near:
                    assert frozenset((one, other)) not in up
        assert all(sum(name in pair for pair in up) <= 1 for name in ground)


def test_datagrams_take_what_the_way_takes(tmp_path):
    """Through handovers: the same with threads, and each delay is that of two links at some time."""
    moving = shell(random.Random(3), 8, 16, 53, 600)
    ground = {"home": place(45, 8, 0), "gate": place(48, 11, 0)}
    file = written(tmp_path / "run.csv", ground, moving, 60, 1)
    made = leo.scenario(leo.read(file), elevation=15, gateways=["gate"], rate="100 Mbps", gap=0.03)
    made = made.split("[[flow]]")[0] + (
        '[[flow]]\nfrom = "gate-host"\nto = "home-host"\nscheme = "udp"\nstart = "1 s"\nrate = "80 kbps"\n'
    )
    result = midpath.run(made)
    again = midpath.run(made, threads=2)
    row = result.tables["datagrams"].to_pylist()[0]
    assert row == again.tables["datagrams"].to_pylist()[0]
    assert result.run["invariants"]["conserved"]
    ways = []
    for t in np.arange(1, 60, 1.0):
        up = up_at(made, t)
        own = [next(iter(pair - {"home"})) for pair in up if "home" in pair]
        ways += [up[frozenset(("home", s))] + up[frozenset(("gate", s))] for s in own if frozenset(("gate", s)) in up]
    own = 2 * 1000 * 8 / 100e6
    assert min(ways) <= row["delay_min_s"] <= min(ways) + own
    assert row["delay_p50_s"] <= max(ways) + own
    handovers = sum(event["kind"] == "link-down" for event in tomllib.loads(made)["fault"])
    assert handovers >= 2
    assert row["received_packets"] >= 0.9 * row["sent_packets"]


def test_angles_are_read_as_well(tmp_path):
    file = tmp_path / "angles.csv"
    file.write_text("at,node,lat,lon,alt\n,g,10,20,0\n0,s,11,21,600\n1,s,11.05,21,600\n")
    found = leo.read(file)
    assert found.names == ["g", "s"]
    # WGS 84's ellipsoid: at the equator's side of 10 degrees.
    assert np.linalg.norm(found.places[0, 0]) == pytest.approx(6377.5, abs=0.5)
    assert np.linalg.norm(found.places[0, 1] - found.places[0, 0]) == pytest.approx(math.dist(
        place(10, 20, 0), place(11, 21, 600)), rel=0.01)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("at,node,x,y\n", "line 1"),
        ("at,node,x,y,z\n0,a,1,2,far\n", "line 2"),
        ("at,node,x,y,z\n0,a,1,2,3\n1,b,1,2,3\n", "no position at 0 s"),
        ("at,node,x,y,z\n1,a,1,2,3\n0,a,1,2,3\n", "line 3"),
        ("at,node,x,y,z\n", "no positions"),
        ("at,node,x,y,z\n,g,6371,0,0\n0,s,-7000,0,0\n1,s,-7000,0,0\n", "sees no satellite"),
        ("at,node,x,y,z\n0,s,7000,0,0\n1,s,7000,0,0\n", "no node on the ground"),
        ("at,node,x,y,z\n,g,6371,0,0\n", "nothing moves"),
    ],
)
def test_bad_positions_are_said_with_their_line_and_a_cure(tmp_path, text, said):
    file = tmp_path / "bad.csv"
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        leo.scenario(leo.read(file))


needs_sgp4 = pytest.mark.skipif(
    importlib.util.find_spec("sgp4") is None, reason="needs sgp4: pip install 'midpath[leo]'"
)


@needs_sgp4
@pytest.mark.parametrize("named", [True, False], ids=["three lines", "two lines"])
def test_elements_are_flown_as_sgp4_s_authors_fly_them(tmp_path, named):
    """Vanguard 1 at its epoch: the first of Vallado's verification cases, before it is turned by the Earth's angle."""
    lines = [
        "1 00005U 58002B   00179.78495062  .00000023  00000-0  28098-4 0  4753",
        "2 00005  34.2682 348.7242 1859667 331.7664  19.3264 10.82419157413667",
    ]
    file = tmp_path / "vanguard.tle"
    file.write_text("\n".join([*(["VANGUARD 1"] if named else []), *lines]) + "\n")
    flown = leo.tle(file, {"home": (47.0, 8.0, 0.4)}, start="2000-06-27T18:50:19.733568", seconds=2, step=1)
    assert flown.names == ["home", "VANGUARD-1" if named else "sat5"]
    x, y, z = flown.places[0, 1]
    assert np.hypot(x, y) == pytest.approx(np.hypot(7022.46529266, 1400.08296755), abs=1e-3)
    assert z == pytest.approx(0.03995155, abs=1e-3)
    file.write_text("VANGUARD 1\n" + lines[0] + "\n")
    with pytest.raises(UsageError, match="two lines"):
        leo.tle(file, {}, start="2000-06-27T18:50:19", seconds=2)


@needs_sgp4
def test_a_shell_by_sgp4_is_at_its_height(tmp_path):
    ground = {"home": (47.0, 8.0, 0.4), "gate": (50.0, 9.0, 0.1)}
    made = leo.shell("72x22:53:550", ground, start="2026-01-01T00:00:00", seconds=30, step=10)
    heights = np.linalg.norm(made.places[:, 2:], axis=2) - 6378.137
    assert len(made.names) == 2 + 72 * 22
    assert np.abs(heights - 550).max() <= 30
    # As fast as Kepler says, less Earth's turn: at most 8 km/s.
    moved = np.linalg.norm(np.diff(made.places[:, 2:], axis=0), axis=2) / 10
    assert moved.min() >= 6.5
    assert moved.max() <= 8.1
    file = tmp_path / "shell.csv"
    leo.write(made, file)
    assert np.allclose(leo.read(file).places, made.places, atol=1e-3)
    assert json.dumps(tomllib.loads(leo.scenario(made, gateways=["gate"])))


def test_the_example_has_the_links_that_its_positions_say(capsys):
    """And so has the matrix' row, at other rates."""
    examples = ROOT / "examples/links"
    assert main(["leo", str(examples / "leo.csv"), "--gateway", "gate", "--gap", "0.05"]) == 0
    made = tomllib.loads(capsys.readouterr().out)
    for file in (examples / "leo.toml", ROOT / "python/midpath/matrix/rows/leo.toml"):
        shipped = tomllib.loads(file.read_text())
        assert [shipped[key] for key in ("fault", "vary", "routing")] == [
            made[key] for key in ("fault", "vary", "routing")
        ]
        delays, own = (
            {(link["a"], link["b"]): link["delay"] for link in one["topology"]["links"] if link["a"].startswith("p")}
            for one in (shipped, made)
        )
        assert delays == own
