"""train, eval, profile, runs and config on Python environments, through the command line."""
import json
import shutil
import signal

import numpy as np
import pytest
from helpers.places import SPECIMENS
from helpers.playground import wait_until
from helpers.short_or_long import long_only, some_or_all

import puffer_sdk
from puffer_sdk.base.errors import UsageError
from puffer_sdk.interop.python_envs import env_source
from puffer_sdk.training import checkpoint

pytest_plugins = ["helpers.playground_fixtures"]

GAMES = SPECIMENS / "python_envs" / "games.py"
SMALL = {"train.horizon": 16, "train.minibatch_size": 128, "vec.total_agents": 16,
         "policy.hidden_size": 16, "train.total_timesteps": 16 * 16 * 6}


@pytest.fixture
def here(tmp_path, monkeypatch):
    shutil.copy(GAMES, tmp_path / "games.py")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def state_of(saved) -> dict[str, bytes]:
    """Every tensor of a checkpoint: weights, and what the optimiser remembers."""
    tensors = checkpoint.load(saved).tensors
    assert {"encoder", "layers.0", "decoder", "muon.encoder"} <= {*tensors}
    return {name: tensor.tobytes() for name, tensor in tensors.items()}


def weights(run) -> dict[str, bytes]:
    return state_of(run.checkpoint)


@pytest.mark.long
def test_workers_and_pace_change_no_bit_of_what_is_learned(here):
    """0, 1, 2 and 4 workers, in step or each at its own pace: the same weights. Short: three."""
    runs = [puffer_sdk.train("gymnasium:CartPole-v1", {
        **SMALL, "vec.num_workers": workers, "vec.free_running": free, "vec.num_threads": threads})
        for workers, free, threads in some_or_all([
            (0, 0, 1), (1, 0, 2), (2, 0, 1), (4, 0, 2), (2, 1, 1), (4, 1, 2)], 0, 2, 5)]
    assert all(weights(run) == weights(runs[0]) for run in runs[1:])
    assert runs[0].metrics["window/episode_return"] > 5
    assert len({run.metrics["window/episode_return"] for run in runs}) == 1


@pytest.mark.parametrize(("name", "more"), some_or_all([
    ("Guess", {}), ("Walkers", {}), ("Guessers", {}), ("together", {"env.kind": "Guess"})], 2))
def test_masks_and_agents_train_through_every_pace(here, name, more):
    settings = {**SMALL, "vec.total_agents": 24, "train.minibatch_size": 192, **more}
    runs = [puffer_sdk.train(f"games.py:{name}", {**settings, "vec.free_running": free})
            for free in (0, 1)]
    assert weights(runs[0]) == weights(runs[1])


@pytest.mark.parametrize(("name", "more"), some_or_all([
    ("Told", {}), ("together", {"env.kind": "Told", "env.mode": "SameStep"})], 0))
def test_numbers_of_infos_arrive_in_metrics(here, name, more):
    run = puffer_sdk.train(f"games.py:{name}", {**SMALL, "env.length": 4, **more})
    lines = (run.folder / "metrics.jsonl").read_text().splitlines()
    row = json.loads(lines[-1])
    assert row["env/pace"] == row["env/episode_length"] == 4 and row["env/_hidden"] == 0.5
    assert 0 < row["env/levers"] < 2 and 0 <= row["env/won"] <= 1
    assert "env/begun" not in row and "env/text" not in row


def test_guess_is_learned(here):
    """The right number is in the observation: from chance among four, 2 of 8, to nearly always."""
    result = puffer_sdk.train("games.py:Guess", {"train.total_timesteps": 40_000,
                                                 "policy.hidden_size": 32})
    assert result.reached["episode_return"] > 6


def test_a_run_that_was_stopped_ends_with_the_same_bytes(here, start, cli):
    words = [word for name, value in {**SMALL, "train.total_timesteps": 16 * 16 * 40}.items()
             for word in (f"--{name.replace('_', '-')}", value)]
    whole = puffer_sdk.train("games.py:Count", {**SMALL, "train.total_timesteps": 16 * 16 * 40})
    command = start("train", "games.py:Count", *words, "--env.slow", 0.001, cwd=here)
    saved = here / "runs" / "games" / "Count" / "0002" / "checkpoints"
    wait_until(lambda: saved.is_dir() and any(saved.iterdir()), seconds=60)
    command.send_signal(signal.SIGINT)
    out, err = command.communicate(timeout=60)
    assert command.returncode == 130, err
    resumed = cli("train", "games.py:Count", "--resume", "--env.slow", 0, cwd=here)
    assert resumed.returncode == 0, resumed.stderr
    last = sorted(saved.glob("*.safetensors"))[-1]
    assert checkpoint.load(last).step == whole.steps
    assert state_of(last) == weights(whole)


@long_only
def test_the_road_of_a_gymnasium_environment(here, cli):
    """train, runs, eval, profile, config: each says where it is and what comes next."""
    words = [word for name, value in SMALL.items()
             for word in (f"--{name.replace('_', '-')}", value)]
    trained = cli("train", "gymnasium:CartPole-v1", *words, cwd=here)
    assert trained.returncode == 0, trained.stderr
    assert "runs/gymnasium/CartPole-v1/0001" in trained.stdout
    assert "next     puffer-sdk eval gymnasium:CartPole-v1" in trained.stdout
    listed = cli("runs", cwd=here)
    assert "gymnasium:CartPole-v1" in listed.stdout or "return" in listed.stdout
    rows = json.loads(cli("runs", "--format", "json", cwd=here).stdout)["runs"]
    assert [row["env"] for row in rows] == ["gymnasium:CartPole-v1"]
    found = cli("eval", "gymnasium:CartPole-v1", "--eval.episodes", 8, "--format", "json", cwd=here)
    scores = json.loads(found.stdout)["policies"]
    assert {*scores} == {"trained", "random", "idle"}
    assert scores["idle"]["mean"]["episode_length"] < 12
    profiled = cli("profile", "gymnasium:CartPole-v1", "--seconds", 0.5, *words, cwd=here)
    assert "rollout: environments" in profiled.stdout, profiled.stderr
    shown = cli("config", "gymnasium:CartPole-v1", "--vec.num-workers", 3, cwd=here)
    assert "num_workers" in shown.stdout and "4 floats" in shown.stdout and "2 ids" in shown.stdout
    spec = json.loads((here / "runs/gymnasium/CartPole-v1/0001/spec.json").read_text())
    assert spec["obs_size"] == 4 and spec["act_sizes"] == [2] and "gymnasium" in spec["packages"]


@long_only
@pytest.mark.parametrize(("name", "folder", "length"), some_or_all([
    ("pettingzoo:pettingzoo.classic.rps_v2", "pettingzoo/pettingzoo.classic.rps_v2", 15),
    ("games:short", "games/short", 2)], 0),
    ids=some_or_all(["pettingzoo:MODULE", "MODULE:FUNCTION"], 0))
def test_every_kind_of_name_trains(here, cli, name, folder, length):
    """Rock, paper, scissors of PettingZoo; a function of a module in the current folder."""
    words = [word for key, value in SMALL.items()
             for word in (f"--{key.replace('_', '-')}", value)]
    trained = cli("train", name, *words, cwd=here)
    assert trained.returncode == 0, trained.stderr
    assert f"runs/{folder}/0001" in trained.stdout
    saved = here / "runs" / folder / "0001"
    rows = [json.loads(line) for line in (saved / "metrics.jsonl").read_text().splitlines()]
    assert rows[-1]["step"] == SMALL["train.total_timesteps"]
    assert rows[-1]["env/episode_length"] == length
    assert json.loads((saved / "spec.json").read_text())["act_sizes"] == [3]
    found = cli("eval", name, "--eval.episodes", 8, "--format", "json", cwd=here)
    assert found.returncode == 0, found.stderr
    scores = json.loads(found.stdout)["policies"]
    assert scores["trained"]["mean"]["episode_length"] == length


@long_only
def test_keywords_keep_their_types_through_a_resume(here):
    """--env.KEY is a Python value; the run's config.ini holds it so that it comes back."""
    given = {"env.length": "4", "env.fault": "", "env.slow": "0.0"}
    run = puffer_sdk.train("games.py:Count", {**SMALL, **given})
    source = env_source.find("games.py:Count")
    config = source.resolve(ini=run.folder / "config.ini")
    assert dict(config.env) == {"length": 4, "fault": "", "slow": 0.0}
    assert [type(value) for value in config.env.values()] == [int, str, float]
    assert run.reached["episode_length"] == 4


@long_only
def test_rewards_are_scaled_for_the_trainer_and_logged_as_they_are(here):
    """The factor is measured by random play: Count earns 0, 1 or 2 a step, 5 steps an episode."""
    returns = []
    with puffer_sdk.wrap("games.py:Count", 4, workers=1, seed=1, reward_scale=0.25) as envs:
        envs.reset()
        for _ in range(5):
            assert envs.step([0, 1, 2, 2])[1].tolist() == [0, 0.25, 0.5, 0.5]
        assert envs.log()["episode_return"] == (0 + 5 + 10 + 10) / 4
    prepared = env_source.find("games.py:Count").prepare({"train.gamma": 0.5}).with_sizes()
    rng, total = np.random.default_rng(0), []
    for _ in range(4000):
        value = 0.0
        for _ in range(5):
            value = value * 0.5 + rng.integers(3)
            total += [value**2] if value else []
    assert prepared.config.vec.reward_scale == pytest.approx(np.mean(total)**-0.5, rel=0.1)
    assert prepared.with_sizes() is prepared
    for scale in (0, 0.01):
        run = puffer_sdk.train("games.py:Count", {**SMALL, "vec.reward_scale": scale})
        config = env_source.find("games.py:Count").resolve(ini=run.folder / "config.ini")
        assert config.vec.reward_scale == 0.01 if scale else 0.2 < config.vec.reward_scale < 0.8
        returns.append(run.reached["episode_return"])
    assert all(1 < value < 10 for value in returns)


@pytest.mark.parametrize(("high", "given", "scale"), some_or_all([
    (255, None, 1 / 64), (5, None, 1), (255, 1, 1), (5, 0.5, 0.5)], 0, 2))
def test_large_numbers_are_scaled(here, high, given, scale):
    """Otherwise the first policy is certain of what it knows nothing about."""
    settings = {"env.high": high, **({} if given is None else {"train.obs_scale": given})}
    config = env_source.find("games.py:Bytes").prepare(settings).with_sizes().config
    assert float(config.train.obs_scale) == scale and config.vec.reward_scale == 1


@long_only
@pytest.mark.parametrize("backend", some_or_all(["native", "torch"], 0))
def test_training_goes_as_if_observations_were_multiplied(here, backend):
    """To the bit, for a power of two: momentum and the norm of gradients too. The weights take
    observations as they are."""
    more = {**SMALL, "vec.reward_scale": 1, "train.max_grad_norm": 0.3, "train.device": "cpu",
            "train.backend": backend}
    plain, loud = (checkpoint.load(puffer_sdk.train(f"games.py:{name}", {
        **more, "train.obs_scale": scale}).checkpoint).tensors
        for name, scale in (("Count", 1), ("Loud", 0.25)))
    assert np.array_equal(4 * loud["encoder"], plain["encoder"])
    assert all(np.array_equal(loud[name], plain[name]) for name in (
        "layers.0", "decoder", "muon.encoder", "muon.layers.0", "muon.decoder"))


@long_only
def test_rows_of_many_large_numbers_are_learned_from(here):
    """Without it, the policy is certain of one action after a few updates, and stays so."""
    settings = {"train.total_timesteps": 30_000, "policy.hidden_size": 32}
    run = puffer_sdk.train("games.py:Glyphs", settings)
    config = env_source.find("games.py:Glyphs").resolve(ini=run.folder / "config.ini")
    assert float(config.train.obs_scale) == 2.0**-10
    assert run.reached["episode_return"] > 6
    without = puffer_sdk.train("games.py:Glyphs", {**settings, "train.obs_scale": 1})
    assert without.reached["episode_return"] < 4


def test_settings_come_from_an_ini_beside_the_runs(here):
    (here / "gymnasium").mkdir()
    (here / "gymnasium" / "CartPole-v1.ini").write_text("[train]\nlearning_rate = 0.5\n")
    other = here / "other.ini"
    other.write_text("[train]\nlearning_rate = 0.25\n[env]\nsutton_barto_reward = true\n")
    source = env_source.find("gymnasium:CartPole-v1")
    assert source.resolve().train.learning_rate == 0.5
    config = source.resolve({"train.gamma": 0.5}, ini=other)
    assert (config.train.learning_rate, config.train.gamma) == (0.25, 0.5)
    assert config.env["sutton_barto_reward"] is True


@long_only
def test_a_file_lies_over_the_own_ini_but_not_under_what_a_run_saved(here):
    """--config for both; a run goes on with the bytes of one whose ini has gained no key."""
    (here / "games").mkdir()
    own, over = here / "games" / "Count.ini", here / "over.ini"
    own.write_text("[env]\nslow = 0.0\n[base]\ncheckpoint_interval = 2\n")
    over.write_text("".join(f"[{name}]\n" + "".join(
        f"{full.partition('.')[2]} = {value}\n" for full, value in SMALL.items()
        if full.startswith(name)) for name in ("train", "vec", "policy")))
    found = env_source.find("games.py:Count", over).resolve()
    assert found.env == {"slow": 0.0} and found.vec.total_agents == 16
    assert found.origin["env.slow"] == "Count.ini:2"
    assert found.origin["vec.total_agents"].startswith("over.ini:")
    whole = puffer_sdk.train("games.py:Count", ini=over)
    cut = whole.folder.with_name("0002")
    shutil.copytree(whole.folder, cut)
    for path in sorted((cut / "checkpoints").glob("*.safetensors"))[1:]:
        path.unlink()
    own.write_text(own.read_text().replace("[env]\n", "[env]\nlength = 3\n"))
    resumed = puffer_sdk.train("games.py:Count", resume="latest")
    assert resumed.folder == cut and weights(resumed) == weights(whole)
    assert env_source.find("games.py:Count", over).resolve().env == {"length": 3, "slow": 0.0}


@pytest.mark.parametrize(("name", "place"), [
    ("gymnasium:CartPole-v1", "gymnasium/CartPole-v1"),
    ("gymnasium:ALE/Pong-v5", "gymnasium/ALE/Pong-v5"),
    ("pettingzoo:zoo.pistonball_v6", "pettingzoo/zoo.pistonball_v6"),
    ("games.py:Count", "games/Count"), ("some/where/games.py:Count", "games/Count"),
    ("my.module:make", "my.module/make")])
def test_runs_lie_under_the_name(here, name, place):
    assert env_source.find(name).runs_dir() == here / "runs" / place


@long_only
def test_agents_fill_whole_environments(here):
    """Where nobody says how many: about as many as the steps allow, in whole environments."""
    prepared = env_source.find("games.py:Walkers").prepare()
    assert prepared.config.vec.total_agents == 33
    with pytest.raises(UsageError, match="not a multiple of the agents"):
        puffer_sdk.train("games.py:Walkers", {**SMALL, "vec.total_agents": 16})


@long_only
def test_an_error_of_the_environment_ends_the_command_with_its_traceback(here, cli):
    failed = cli("train", "games.py:Count", "--env.fault", "raise", cwd=here)
    assert failed.returncode == 4
    assert "the environment raised ValueError in step: no such lever" in failed.stderr
    assert "games.py" in failed.stderr and "env 0, seed" in failed.stderr
    missing = cli("train", "gymnasium:NoSuch-v0", cwd=here)
    assert missing.returncode == 2 and "Gymnasium has no environment" in missing.stderr
    gpu = cli("train", "games.py:Count", "--vec.device", "cuda", "--train.device", "cuda", cwd=here)
    assert gpu.returncode == 2, gpu.stderr


def test_a_policy_of_a_run_acts_in_a_wrap(here):
    run = puffer_sdk.train("gymnasium:CartPole-v1", SMALL)
    policy = puffer_sdk.Policy.load(run.folder)
    with puffer_sdk.wrap("gymnasium:CartPole-v1", 4, workers=1) as envs:
        envs.reset()
        for _ in range(20):
            actions = policy.act(envs.observations)
            assert {*np.unique(actions)} <= {0, 1}
            envs.step(actions)
            policy.ended(envs.terminals)


@long_only
def test_a_recording_is_what_the_environment_draws(here, cli):
    """Pictures come from render(); the frame rate from its metadata."""
    from PIL import Image

    made = cli("eval", "games.py:Count", "--baselines", "--gif", "count.gif", "--grid", "1x2",
               "--episodes", 2, "--eval.episodes", 8, cwd=here)
    assert made.returncode == 0 and "at 10 fps" in made.stdout, made.stderr
    with Image.open(here / "count.gif") as gif:
        frame = np.asarray(gif.convert("RGB"))
        assert gif.n_frames >= 9 and (frame[:, :, 1] > 150).any()
    plain = cli("eval", "games.py:Guess", "--baselines", "--gif", "no.gif", cwd=here)
    assert plain.returncode == 2 and "no render mode rgb_array" in plain.stderr
    assert not (here / "no.gif").exists()


@long_only
def test_the_referee_trains_on_the_same_rows(here):
    """The PyTorch trainer steps the vec from Python: it meets the same episodes."""
    runs = [puffer_sdk.train("gymnasium:CartPole-v1", {**SMALL, "train.backend": backend,
                                                       "train.device": "cpu"})
            for backend in ("native", "torch")]
    first, second = (run.metrics for run in runs)
    assert first["window/n"] == second["window/n"] > 10
    assert second["window/episode_return"] == pytest.approx(first["window/episode_return"])
