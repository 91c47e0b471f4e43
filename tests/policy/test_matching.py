"""`match`, and `eval` against an opponent: who wins how often."""
import json
import shutil

import numpy as np
import pytest
from helpers.places import SPECIMENS

import puffer_sdk
from puffer_sdk.base.errors import UsageError
from puffer_sdk.policy.players import BOT, IDLE, POLICY, Contestant, trained_player
from puffer_sdk.scoring.baselines import random_player
from puffer_sdk.scoring.facing import facing
from puffer_sdk.settings import config
from puffer_sdk.training import checkpoint
from puffer_sdk.training.find_model import find_model

pytest_plugins = ["helpers.playground_fixtures"]
DUEL, TUG = SPECIMENS / "duel", SPECIMENS / "form5" / "tug"
FEW = {"train.total_timesteps": 20_000, "train.device": "cpu"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run of duel that has learned a little."""
    home = tmp_path_factory.mktemp("runs")
    puffer_sdk.train(DUEL, FEW, runs_dir=home)
    return home


@pytest.fixture(scope="module")
def with_bot(tmp_path_factory):
    """tug with PufferLib's self-play: policies 0 and 1, and with one agent a bot inside it, which
    makes each reward of the other -1 at level 2."""
    folder = shutil.copytree(TUG, tmp_path_factory.mktemp("form5") / "tug",
                             ignore=shutil.ignore_patterns("build"))
    path, text = folder / "tug.h", (folder / "tug.h").read_text()
    for old, new in (
            ('#include "pufferenv.h"\n', '#define PUF_HAS_BOT_POLICY\n#include "pufferenv.h"\n'),
            ("    int tick;\n", "    int tick;\n    int bot;\n"),
            ("typedef Env Tug;\n", "typedef Env Tug;\n"
             "static inline void puf_set_bot_policy(Env* env, int bot) { env->bot = bot; }\n"),
            ("env->num_agents = 2;", 'env->num_agents = (int)dict_get(kwargs, "num_agents");'),
            ("agents[i].policy = 0;", "agents[i].policy = i;"),
            ("= env->place[i] == 0 ? 1.0f : 0.0f;",
             "= env->bot == 2 ? -1.0f : env->place[i] == 0 ? 1.0f : 0.0f;")):
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    (folder / "tug.ini").write_text("[env]\nlength = 24\nedge = 4\nnum_agents = 2\n")
    return folder


def test_a_table_of_all_pairs():
    """bot:1 hits who stands still, as bot:0 does; idle steps aside each time."""
    result = puffer_sdk.match(DUEL, ["bot:1", "idle", "bot:0"], games=20)
    assert result.players == ("idle", "bot:1", "bot:0")     # who may play inside an env comes last
    assert [(each.first, each.second) for each in result.pairings] == [
        ("idle", "bot:1"), ("idle", "bot:0"), ("bot:1", "bot:0")]
    for each in result.pairings:
        assert each.games == 20 == each.wins + each.draws + each.losses
        assert each.low <= each.share <= each.high
        assert each.share == pytest.approx((each.wins + each.draws / 2) / each.games)
        assert each.first_return == -each.second_return
    assert result.pairings[0].share == 1
    assert (result.pairings[2].losses, result.pairings[2].length) == (0, 3)
    assert result.to_dict()["pairings"][0]["first"] == "idle"


def test_random_play_is_as_good_as_random_play():
    """The two draw from dice of their own, or every game were a draw."""
    [each] = puffer_sdk.match(DUEL, ["random", "random"], games=200).pairings
    assert each.low < 0.5 < each.high and each.draws < 40 and each.games == 200


def test_the_same_seeds_give_the_same_games(runs):
    one, again, other = (puffer_sdk.match(DUEL, ["best", "random"], settings, games=40,
                                          runs_dir=runs).pairings
                         for settings in ({}, {}, {"eval.seed": 7}))
    assert one == again != other


def test_a_policy_that_meets_itself_plays_as_one_that_has_all_rows(runs):
    """The likeliest actions, by each one's own recurrent state."""
    past = checkpoint.load(find_model(runs / "duel", "best"))
    make, resolved = trained_player(past, greedy=True), config.resolve(DUEL)
    played = []
    for player in (make, facing([make, make])):
        with puffer_sdk.make(DUEL, num_envs=8, seed=3) as vec:
            play = player(vec, resolved)
            vec.reset()
            played.append([])
            for _ in range(40):
                play(vec)
                played[-1].append(vec.actions.copy())
                vec.step()
    np.testing.assert_array_equal(*played)


def test_a_masked_agent_is_left_its_legal_actions(with_bot):
    """Tug masks the step over the edge: an illegal one would leave its player where it is."""
    resolved = config.resolve(with_bot)
    with puffer_sdk.make(with_bot, num_envs=16) as vec:
        play = facing([random_player, random_player])(vec, resolved)
        vec.reset()
        for _ in range(60):
            play(vec)
            assert np.take_along_axis(vec.action_mask, vec.actions.astype(int), 1).all()
            vec.step()


def test_an_opponent_inside_the_env(with_bot):
    [each] = puffer_sdk.match(with_bot, ["random", "bot:2"], {"env.num_agents": 1},
                              games=8).pairings
    assert (each.share, each.first_return) == (0, -24)
    [each] = puffer_sdk.match(with_bot, ["bot:1", "random"], {"env.num_agents": 1},
                              games=8).pairings
    assert each.first == "random" and each.share > 0.5
    with pytest.raises(UsageError, match="no scripted player"):
        puffer_sdk.match(with_bot, ["random", "bot:1"], games=2)
    with pytest.raises(UsageError, match="leaves no seat"):
        puffer_sdk.match(with_bot, ["random", "idle"], {"env.num_agents": 1}, games=2)


def test_a_game_of_pettingzoo(cli):
    done = cli("match", "pettingzoo:pettingzoo.classic.tictactoe_v3", "random", "idle",
               "--games", 20, "--format", "json")
    assert done.returncode == 0, done.stderr
    [each] = json.loads(done.stdout)["pairings"]
    assert each["games"] >= 20 and 0 < each["share"] < 1 and each["length"] <= 9


def test_eval_plays_against_an_opponent(runs):
    """By itself against random play: the header declares teams."""
    result = puffer_sdk.evaluate(DUEL, runs_dir=runs)
    assert result.opponent == "random" and set(result.scores) == {"trained", "random", "idle"}
    mean = result.scores["trained"].mean
    assert mean["episode_return"] == pytest.approx(-mean["opponent_return"])
    assert {"perf", "score"}.isdisjoint(mean) and 0 <= mean["win_rate"] <= 1
    beaten = puffer_sdk.evaluate(DUEL, model=None, opponent="bot:1").scores
    assert beaten["idle"].mean["win_rate"] == 1 and beaten["random"].mean["win_rate"] < 0.3
    alone = puffer_sdk.evaluate(DUEL, model=None, opponent="self")
    assert alone.opponent == "" and alone.scores["random"].zero_sum
    assert "win_rate" not in alone.scores["random"].mean


def test_a_run_claims_what_it_wins_against_random_play(runs):
    run = json.loads((runs / "duel/0001/run.json").read_text())["evaluation"]
    assert run["metric"] == "win_rate" and run["trained"]["opponent"] == "random"
    assert run["random"]["mean"]["win_rate"] == pytest.approx(0.5, abs=0.3)


@pytest.mark.parametrize(("text", "kind", "level"), [
    ("bot", BOT, 0), ("bot:12", BOT, 12), ("idle", IDLE, 0), ("bots", POLICY, 0), ("3", POLICY, 0)])
def test_names_of_contestants(text, kind, level, tmp_path):
    found = Contestant.named(text, lambda which: tmp_path / which)
    assert (found.kind, found.level) == (kind, level)
    assert (found.model is not None) == (kind == POLICY)


@pytest.mark.parametrize(("players", "games", "message"), [
    (["random"], 4, "between two players"), (["random", "self"], 4, "not of a match"),
    (["random", "idle"], 0, "a game or more"), (["random", "nobody"], 4, "no run")])
def test_what_is_no_match_is_refused(players, games, message, tmp_path):
    with pytest.raises(UsageError, match=message):
        puffer_sdk.match(DUEL, players, games=games, runs_dir=tmp_path)
