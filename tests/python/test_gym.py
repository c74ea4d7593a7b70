"""A run as an environment of Gymnasium."""

import pickle
import threading

import pytest

np = pytest.importorskip("numpy")
gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install 'midpath[gym]'")

from gymnasium.utils.env_checker import check_env  # noqa: E402

import midpath  # noqa: E402
from conftest import ROOT  # noqa: E402
from midpath import gym  # noqa: E402
from midpath.errors import UsageError  # noqa: E402
from script import load  # noqa: E402

pytestmark = pytest.mark.nightly("python/midpath/gym.py", "python/midpath/controller/", "evidence/bench/gym/")

SCENARIO = """
stop = "3 s"
[topology]
generate = "dumbbell"
pairs = 2
bottleneck = { rate = "8 Mbps", delay = "10 ms" }
access = { rate = "100 Mbps", delay = "1 ms" }
[queue]
limit = "25 packets"
[[flow]]
from = "s0"
to = "d0"
scheme = "agent"
[[flow]]
from = "s1"
to = "d1"
rate = "2 Mbps"
"""


def action(log2):
    return np.array([log2], np.float32)


def episode(env, seed, actions):
    found = [env.reset(seed=seed)[0]]
    rewards = []
    for log2 in actions:
        observation, reward, terminated, truncated, _ = env.step(action(log2))
        found.append(observation)
        rewards.append(reward)
        if terminated or truncated:
            break
    return np.array(found), rewards


# Gymnasium finds our bounds, which are those of nature, wide.
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_gymnasium_finds_nothing_wrong_with_it():
    env = gym.Env(SCENARIO)
    check_env(env, skip_render_check=True)
    env.close()


def test_the_same_seed_and_actions_give_the_same_episode_to_the_end():
    env = gym.Env(SCENARIO)
    actions = [3 + n % 3 for n in range(100)]
    one, rewards = episode(env, 1, actions)
    other, again = episode(env, 1, actions)
    assert len(rewards) < 100 and rewards == again
    assert (one == other).all()
    assert env.result is not None
    assert env.result.flows["completed"].to_pylist()[0] is False


def test_what_it_observes_is_what_the_path_does():
    env = gym.Env(SCENARIO, interval_s=0.2)
    found, _ = episode(env, 1, [7] * 10)
    names = list(gym.OBSERVED)
    last = dict(zip(names, found[-2], strict=True))
    # 6 Mbps are left, with headers; 25 packets wait at most, behind a round trip of 22 ms.
    assert 5 < last["delivered_mbps"] < 6.2
    assert 0.022 < last["rtt_min_s"] < 0.03
    assert last["rtt_min_s"] < last["rtt_s"] < 0.08
    assert last["window_log2"] == 7
    assert last["lost_share"] > 0
    small, _ = episode(env, 1, [2] * 10)
    last = dict(zip(names, small[-2], strict=True))
    # 4 packets in a round trip.
    assert last["delivered_mbps"] == pytest.approx(4 * 1448 * 8e-6 / last["rtt_s"], rel=0.1)
    assert last["lost_share"] == 0


def test_an_episode_ends_with_the_flow_or_the_run():
    def last(text):
        env = gym.Env(text)
        env.reset(seed=1)
        while True:
            _, _, terminated, truncated, _ = env.step(action(5))
            if terminated or truncated:
                with pytest.raises(UsageError, match="call reset before step"):
                    env.step(action(5))
                return terminated, truncated

    assert last(SCENARIO) == (False, True)
    assert last(SCENARIO.replace('scheme = "agent"', 'scheme = "agent"\nsize = "200 kB"')) == (True, False)


def test_a_reset_in_the_middle_leaves_no_run_behind():
    env = gym.Env(SCENARIO)
    before = threading.active_count()
    for _ in range(5):
        env.reset(seed=1)
        env.step(action(4))
    env.close()
    assert threading.active_count() == before


def test_a_function_makes_the_scenario_of_each_seed():
    seeds = []

    def made(seed):
        seeds.append(seed)
        return SCENARIO.replace("8 Mbps", f"{8 + seed % 90} Mbps")

    env = gym.Env(made)
    _, info = env.reset(seed=7)
    assert seeds == [7] and info["seed"] == 7
    env.reset()
    env.reset()
    assert len(set(seeds)) == 3
    env.close()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            SCENARIO.replace('scheme = "agent"\n', "").replace('rate = "2 Mbps"\n', ""),
            "exactly one flow may have the scheme",
        ),
        (SCENARIO.replace('scheme = "agent"', 'scheme = "agent"\nstart = "4 s"'), "no flow of this scenario"),
    ],
)
def test_a_scenario_has_one_agent(text, message):
    env = gym.Env(text)
    with pytest.raises(UsageError, match=message):
        env.reset(seed=1)
        for _ in range(100):
            env.step(action(4))


def test_a_scenario_that_cannot_run_says_so():
    with pytest.raises(midpath.ScenarioError, match="stop"):
        gym.Env(SCENARIO.replace("3 s", "3 parsecs")).reset(seed=1)


def test_many_environments_have_a_process_each():
    envs = gym.vector(SCENARIO, 2, interval_s=0.2)
    try:
        first, _ = envs.reset(seed=[1, 2])
        assert first.shape == (2, len(gym.OBSERVED))
        observations, rewards, *_ = envs.step(np.array([[3.0], [7.0]], np.float32))
        assert rewards.shape == (2,)
        alone, _ = episode(gym.Env(SCENARIO, interval_s=0.2), 2, [7.0])
        assert (observations[1] == alone[1]).all()
    finally:
        envs.close()
    assert pickle.dumps(gym.Interval())


def test_the_hill_climber_writes_down_each_episode_and_goes_on(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    climb = load(ROOT / "evidence/bench" / "gym" / "climb.py")
    design = climb.Design("short", [101, 102], draws=1, trials=1, waits=True)
    for name, value in {"LEARNT_FROM": [1], "DESIGNS": [design], "CONSTANTS": [3.0, 6.0]}.items():
        monkeypatch.setattr(climb, name, value)
    run, begun = climb.episode, []
    monkeypatch.setattr(climb, "episode", lambda *which: begun.append(which) or run(*which))

    def table():
        climb.main(tmp_path, tmp_path)
        text = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
        return [line for line in text.splitlines() if line.startswith("|")]

    first = table()
    (store,) = tmp_path.glob("*.jsonl")
    lines = store.read_text(encoding="utf-8").splitlines()
    # Two constants and the weights of 0 on three seeds, a draw and a trial on one at least.
    assert len(begun) == len(lines) >= 3 * 3 + 2
    store.write_text("\n".join(lines[:-2]) + "\n", encoding="utf-8")
    begun.clear()
    assert table() == first and len(begun) == 2


def test_the_hill_climbers_weights_are_of_a_step_from_the_present_window():
    pytest.importorskip("matplotlib")
    climb = load(ROOT / "evidence/bench" / "gym" / "climb.py")
    # 8 packets in a shortest round trip of 10 ms, twice as long now.
    mbps = 8 * 1448 * 8 / 0.01 / 1e6
    seen = {"window_log2": 5.0, "rtt_s": 0.02, "rtt_min_s": 0.01, "lost_share": 0.25, "delivered_mbps": mbps}

    def steps(**changed):
        unit = [climb.Linear(tuple(float(n == m) for m in range(5)), waits=True) for n in range(5)]
        return [climb.window(one, seen | changed) - 5 for one in unit]

    assert climb.window(7.0, seen) == 7.0
    assert steps() == pytest.approx([1.0, 1.0, 0.25, 3 - 5, 0.5])
    assert steps(delivered_mbps=0.0)[3] == 0
    bounded = [climb.window(climb.Linear((one, 0.0, 0.0, 0.0, 0.0), True, bounded=True), seen) for one in (9.0, -9.0)]
    assert bounded == [climb.CONSTANTS[-1], climb.CONSTANTS[0]]
