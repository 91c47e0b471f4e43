"""Self-play in the native trainer: who plays which row, what is learned, what a resume keeps."""
import json
import shutil

import numpy as np
import pytest
from helpers.places import SPECIMENS
from helpers.short_or_long import some_or_all
from helpers.small_trainer import SMALL
from helpers.turns import write_turns

import puffer_sdk
from puffer_sdk.base.errors import UsageError
from puffer_sdk.scoring.facing import sides_of
from puffer_sdk.settings.table import Selfplay
from puffer_sdk.training import checkpoint
from puffer_sdk.training.native.actor import NativeActor
from puffer_sdk.training.native.self_play_ppo import opponents_of
from puffer_sdk.training.opponent_pool import OpponentPool, rivals_in

AGENTS, HORIZON = 48, 8
SELF_PLAY = {**SMALL, "train.device": "cpu", "train.minibatch_size": 64, "train.replay_ratio": 1,
             "policy.hidden_size": 16, "policy.num_layers": 2, "selfplay.enabled": True,
             "train.total_timesteps": AGENTS * HORIZON * 40, "vec.num_policies": 3,
             "vec.hist_policy_percent": 0.7, "selfplay.snapshot_interval": AGENTS * HORIZON * 4,
             "selfplay.opp_timeout_steps": AGENTS * HORIZON * 3, "selfplay.choice": "uniform"}


@pytest.fixture(scope="module")
def duel(tmp_path_factory):
    """The specimen; and one with a continuous head for the aim, whose width is each policy's own,
    in which the two end their episodes at different ticks."""
    home = tmp_path_factory.mktemp("duels")
    shutil.copytree(SPECIMENS / "duel", home / "duel", ignore=shutil.ignore_patterns("build"))
    text = (home / "duel/duel.h").read_text()
    swap = ("#define ACT_SIZES {3, 8}", "#define ACT_SIZES {3, 1}"), (
        "(int)env->actions[2 * i + 1]) % 8", "(int)(8 + 2 * env->actions[2 * i + 1])) % 8"), (
        "env->terminals[i] = 0;", "env->terminals[i] = env->tick % (5 + 2 * i) == 0;")
    for old, new in swap:
        assert old in text
        text = text.replace(old, new)
    write(home / "aims", text)
    write_turns(home / "turns")
    shutil.copytree(SPECIMENS / "correct/battle", home / "battle")
    with (home / "battle/battle.h").open("a") as header:
        header.write("// puffer: teams 2 x 3\n")
    return home


def write(folder, text):
    folder.mkdir()
    (folder / f"{folder.name}.h").write_text(text)
    (folder / f"{folder.name}.ini").write_text("[env]\n")


def make(folder, **settings):
    vec = puffer_sdk.make(folder, num_envs=AGENTS // (6 if folder.name == "battle" else 2))
    return puffer_sdk.Trainer(vec, {**SELF_PLAY, **settings})


class Simulation:
    """The rollouts of a trainer anew: an actor for each policy plays all rows, tick by tick."""

    def __init__(self, trainer):
        vec, self.ppo = trainer.vec, trainer._trainer
        self.side, self.envs = sides_of(vec), vec.num_envs
        players = len(self.ppo.opponents.players)
        self.actors = [NativeActor(self.ppo.parameters, trainer.config, np.float32, 6,
                                   vec.act_sizes, trainer.config.train.seed, AGENTS, threads=1)
                       for _ in range(1 + players)]
        self.over, self.won = np.zeros(AGENTS, bool), np.zeros(AGENTS)
        self.playing = None

    def rollout(self):
        """The trainer's, then ours: actions (N, T, K) and results (players, 3)."""
        own, tick = self.ppo.state_tensors(), self.ppo.global_step // AGENTS
        self.ppo.rollout()
        if self.playing is None:
            self.playing = self.ppo._next.copy()
        for actor, member in zip(self.actors, [None, *self.ppo.opponents.players]):
            actor.load_weights(member.weights if member else own)
            actor.tick = tick
        rows = self.ppo.rollout_tensors
        actions = np.empty_like(rows["actions"])
        results = np.zeros((len(self.actors) - 1, 3), int)
        for t in range(HORIZON):
            for who, actor in enumerate(self.actors):
                mine = self.playing == who
                actions[mine, t] = actor.act(np.ascontiguousarray(rows["obs"][:, t]))[mine]
            self.over |= rows["ended"][:, t] != 0
            self.won += rows["rewards"][:, t]
            self.forget(rows["ended"][:, t])
            for env in range(self.envs):
                self.turn(slice(2 * env, 2 * env + 2), results)
        return actions, results

    def turn(self, two, results):
        if not self.over[two].all():
            return
        if other := self.playing[two].max():
            ours, theirs = (self.won[two][self.side[two] == side][0] for side in (0, 1))
            results[other - 1, 1 + int(ours > theirs) - int(ours < theirs)] += 1
        changed = np.zeros(AGENTS, np.float32)
        changed[two] = self.playing[two] != self.ppo._next[two]
        self.playing[two] = self.ppo._next[two]
        self.over[two], self.won[two] = False, 0
        self.forget(changed)

    def forget(self, rows):
        for actor in self.actors:
            actor.ended(rows)


@pytest.mark.parametrize("env", ["duel", "aims"])
def test_each_row_is_played_by_its_policy_from_game_to_game(env, duel):
    """As actors of their own play it, from the same observations; and results are those games'."""
    with make(duel / env) as trainer:
        again, games, met = Simulation(trainer), 0, set()
        for _ in range(14):
            actions, results = again.rollout()
            np.testing.assert_array_equal(again.ppo.rollout_tensors["actions"], actions)
            np.testing.assert_array_equal(again.ppo._rows["playing"], again.playing)
            np.testing.assert_array_equal(again.ppo._results, results)
            games += results.sum()
            met |= {each.number for each in again.ppo.opponents.players if each}
            again.ppo.update()
        assert games > 30 and len(met) > 2


@pytest.mark.parametrize("env", ["duel", "turns", "battle"])
def test_opponents_with_the_learners_weights_change_no_rollout(env, duel):
    """Of turns too, and of agents that come and go: the pool's first weights are the learner's."""
    found = []
    for enabled in (False, True):
        with make(duel / env, **{"selfplay.enabled": enabled, "train.learning_rate": 0,
                                 "selfplay.opp_timeout_steps": 0}) as trainer:
            for _ in range(9):
                trainer.rollout()
                rows = {name: array.copy()
                        for name, array in trainer._trainer.rollout_tensors.items()
                        if not name.endswith(("_now", "advantages"))}
                trainer.update()
            found.append(rows)
    others = trainer._trainer._rows["playing"] != 0
    assert found[0]["values"].any() and others.any()
    for name, array in found[0].items():
        mine = np.s_[~others] if name in ("bootstrap", "final_values") else np.s_[:]
        np.testing.assert_array_equal(found[1][name][mine], array[mine], name)


def test_only_rows_of_the_learner_are_learned_from(duel):
    """What the others' rows hold changes no weight, and no number of the update."""
    found = []
    for scribbled in (False, True):
        with make(duel / "duel", **{"train.prio_alpha": 0.8, "train.reward_clip": 0.5}) as trainer:
            for _ in range(3):
                trainer.rollout()
                rows = trainer._trainer.rollout_tensors
                others = trainer._trainer._rows["playing"] != 0
                assert 0 < others.sum() < AGENTS
                for name in ("obs", "rewards", "values", "log_probs") * scribbled:
                    rows[name][others] = 7
                metrics = dict(trainer.update())
            found.append((trainer._trainer.state_tensors(), metrics))
    for name, tensor in found[0][0].items():
        np.testing.assert_array_equal(found[1][0][name], tensor, name)
    assert found[0][1] == found[1][1]


def test_threads_and_blocks_change_no_bit(duel):
    found = []
    for threads in (1, 3):
        with make(duel / "duel", **{"vec.num_threads": threads}) as trainer:
            for _ in range(6):
                trainer.rollout()
                trainer.update()
            found.append(checkpoint.checksum(trainer._trainer.state_tensors()))
    assert found[0] == found[1]


def elo(folder):
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["selfplay/elo"] for line in lines]


def test_a_resumed_run_keeps_the_pool_and_who_plays_whom(duel, monkeypatch):
    """From the middle of games: the same bytes as a run that was not stopped, ratings too."""
    monkeypatch.chdir(duel)
    settings = {**SELF_PLAY, "vec.total_agents": AGENTS, "base.checkpoint_interval": 5,
                "train.total_timesteps": AGENTS * HORIZON * 16, "eval.episodes": 4}
    first = puffer_sdk.train("duel", settings)
    *_, middle, last = sorted((first.folder / "checkpoints").iterdir())
    past, whole = checkpoint.load(middle), checkpoint.load(last).facts["checksum"]
    assert past.facts["replay"] and past.tensors["carried.won"].any()
    assert len(past.tensors["selfplay.members"]) > 2
    assert not any(name.startswith("selfplay.")
                   for name in checkpoint.load(first.folder / "best.safetensors").tensors)
    ratings = elo(first.folder)
    last.unlink()
    puffer_sdk.train("duel", resume=first.folder.name)
    assert checkpoint.load(last).facts["checksum"] == whole and elo(first.folder) == ratings
    assert len(set(ratings)) > 8


@pytest.mark.parametrize("env", ["turns", "pettingzoo:pettingzoo.classic.tictactoe_v3"])
def test_a_game_of_turns_is_resumed_in_its_middle(env, duel, tmp_path, monkeypatch):
    """Bit for bit, with players that wait, whose state is not zero. The budget of its evaluations
    is less than a pair of games."""
    monkeypatch.chdir(duel)
    settings = {**SMALL, "train.device": "cpu", "train.horizon": 7, "train.minibatch_size": 56,
                "vec.total_agents": 16, "base.checkpoint_interval": 2, "eval.episodes": 4,
                "train.total_timesteps": 16 * 7 * 5}
    first = puffer_sdk.train(env, settings, runs_dir=tmp_path)
    *_, middle, last = sorted((first.folder / "checkpoints").iterdir())
    past, whole = checkpoint.load(middle), checkpoint.load(last).facts["checksum"]
    assert past.facts["replay"] and past.tensors["carried.state"].any(axis=(1, 2)).sum() > 8
    last.unlink()
    puffer_sdk.train(env, resume=first.folder.name, runs_dir=tmp_path)
    assert checkpoint.load(last).facts["checksum"] == whole


@pytest.mark.parametrize("seed", some_or_all(range(1, 6), 0))
def test_it_beats_its_earlier_weights_and_random_play(seed, duel):
    """The last weights those of the first eighth, in the whole interval. The claim is of games
    against random play, c_bot, and the weights of an eighth, a quarter and half of the run."""
    run = puffer_sdk.train(duel / "duel", {
        **SELF_PLAY, "train.seed": seed, "vec.total_agents": 128, "train.horizon": 16,
        "train.minibatch_size": 512, "train.replay_ratio": 8, "policy.num_layers": 1,
        "train.total_timesteps": 2**17, "base.checkpoint_interval": 8, "eval.episodes": 8,
        "selfplay.snapshot_interval": 2**13, "selfplay.opp_timeout_steps": 2**11,
        "selfplay.choice": "skill"}, runs_dir=duel / f"runs{seed}")
    first, *_, last = sorted((run.folder / "checkpoints").iterdir())
    assert int(first.stem) == 2**14
    pairings = puffer_sdk.match(duel / "duel", [last, first, "random"], games=300).pairings
    assert [each.low > 0.5 for each in pairings[:2]] == [True, True], pairings
    tensors = checkpoint.load(last).tensors
    rivals = [row for row in tensors["selfplay.members"] if row[3] == 2]
    assert [int(step) for _, step, *_ in rivals] == [2**14, 2**15, 2**16]
    claim = json.loads((run.folder / "run.json").read_text())["evaluation"]
    assert claim["trained"]["opponent"] == "random, scripted and earlier"
    for weights, path in zip(rivals_in(tensors), [first], strict=False):
        kept = checkpoint.load(path).tensors
        for name, array in weights.items():
            np.testing.assert_array_equal(array, kept[name], name)


def test_a_header_without_a_scripted_player_is_judged_by_the_others(duel, tmp_path):
    text = (duel / "duel/duel.h").read_text()
    start, end = text.index("void c_bot"), text.index("void c_step")
    write(tmp_path / "boxers", (text[:start] + text[end:]).replace("Duel", "Boxers"))
    run = puffer_sdk.train(tmp_path / "boxers", {
        **SELF_PLAY, "train.total_timesteps": AGENTS * HORIZON * 8, "eval.episodes": 8},
        runs_dir=tmp_path)
    claim = json.loads((run.folder / "run.json").read_text())["evaluation"]
    assert claim["trained"]["opponent"].startswith("random")
    assert "scripted" not in claim["trained"]["opponent"]


@pytest.mark.parametrize("settings, said", [
    ({"train.device": "cuda"}, "self-play needs the native trainer on the CPU"),
    ({"train.backend": "torch"}, "self-play needs the native trainer on the CPU"),
    ({"vec.num_policies": 1}, "no opponent would play"),
    ({"vec.num_policies": 20}, "there are fewer envs than opponents")])
def test_where_it_cannot_be(settings, said, duel):
    with pytest.raises(UsageError, match=said), make(duel / "duel", **settings) as trainer:
        trainer.rollout()


def test_an_env_of_one_side_has_no_opponents():
    with pytest.raises(UsageError, match="no side for an opponent"), puffer_sdk.Trainer(
            puffer_sdk.make(SPECIMENS / "corridor", num_envs=AGENTS), SELF_PLAY) as trainer:
        trainer.rollout()


def test_opponents_sit_on_either_side_in_the_last_envs(duel):
    with puffer_sdk.make(duel / "duel", num_envs=20) as vec:
        vec.reset()
        seats = opponents_of(vec, 2, 0.4).reshape(20, 2)
    assert (seats[:12] == -1).all()
    assert seats[12:].tolist() == [[-1, 0], [0, -1]] * 2 + [[-1, 1], [1, -1]] * 2


# ---- the pool -----------------------------------------------------------------------------------

def pool_of(seats=1, **settings):
    pool = OpponentPool(Selfplay(**{"snapshot_interval": 10, "opp_timeout_steps": 0,
                                    "min_games": 4, **settings}), seats, 1000)
    pool.begin(0, {"w": np.zeros(1, np.float32)})
    return pool


def played(pool, won, lost):
    results = np.zeros((len(pool.players), 3), int)
    results[pool.seats[0].active] = lost, 0, won
    return pool.rate(results)


def test_an_opponent_that_is_beaten_gives_way_and_the_winner_joins():
    pool = pool_of(snapshot_interval=0)
    assert played(pool, 3, 0)["selfplay/win_rate"] == 1 and pool.elo == 8 == -pool.pool[0].elo
    pool.turn(5, {"w": np.ones(1)}, set())
    assert len(pool.pool) == 1              # three games say little
    played(pool, 1, 0)
    pool.turn(6, {"w": np.ones(1)}, {1})
    assert len(pool.pool) == 1              # an env still plays its last game against player 1's
    pool.turn(7, {"w": np.ones(1)}, set())
    assert [each.step for each in pool.pool] == [0, 7] and pool.pool[1].elo == pool.elo
    assert pool.seats[0].opponent.step == 7 and pool.seats[0].games == 0


def test_an_opponent_leaves_after_its_time():
    pool = pool_of(opp_timeout_steps=30, choice="newest")
    for step in range(10, 50, 10):
        pool.turn(step, {"w": np.full(1, step)}, set())
        assert pool.seats[0].since == 30 * (step >= 30)
    assert pool.seats[0].opponent.step == 30 and pool.seats[0].opponent.weights["w"] == 30


def test_the_pool_thins_its_older_half_and_keeps_the_first():
    pool = pool_of(max_size=4)
    for step in range(10, 200, 10):
        pool.turn(step, {"w": np.zeros(1)}, set())
        steps = [each.step for each in pool.pool]
        assert len(steps) <= 4 and steps[0] == 0 and steps[-1] == step and steps == sorted(steps)


def test_skill_prefers_who_wins():
    """And the loser is met now and then."""
    met = {}
    for choice in ("skill", "uniform"):
        pool = pool_of(choice=choice)
        pool.turn(10, {"w": np.ones(1)}, set())
        pool.seats[0].players = [None, None]
        pool.pool[1].elo, pool.pool[0].elo = 300, -300
        met[choice] = [pool.choose().step for _ in range(400)].count(10) / 400
    assert 0.93 < met["skill"] < 1 and 0.4 < met["uniform"] < 0.6
