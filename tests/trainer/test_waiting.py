"""Games of turns: an agent whose mask is all zeros waits, and learns as one player would.

That player's steps hold the others' moves.

Duel is a game of two players, Solo what one of them sees of it.
"""
import numpy as np
import pytest
from helpers.native_fixtures import PATHS, distance, make_native, make_reference, run
from helpers.ppo_fixtures import one_thread  # noqa: F401   a fixture

from puffer_sdk.base.errors import RunError
from puffer_sdk.training.reference import formulas

MOVES, GAMES = 10, 6
OF_ROLLOUT = ("obs", "values", "log_probs", "rewards", "ended", "truncated", "actions")


class Solo:
    """The winner makes `moves` moves and gets 1 for the last one; the loser -1 for the reply to its
    last one. Each move costs a little. What is seen depends on nothing but the moves made."""

    players = 1

    def __init__(self, moves=MOVES, prize=1.0):
        n = self.players * GAMES
        self.moves, self.prize, self.num_agents, self.num_envs = moves, prize, n, GAMES
        self.obs_size, self.act_sizes = 4, (3,)
        self.observations = np.zeros((n, 4), np.float32)
        self.actions = np.zeros((n, 1), np.float32)
        self.rewards, self.terminals, self.truncations = np.zeros((3, n), np.float32)
        self.action_mask = np.ones((n, 3), np.uint8)

    def reset(self):
        self.made = np.zeros(self.num_agents, int)
        self.look()

    def step(self):
        self.made += 1
        over = self.made == self.moves
        self.rewards[:] = over * self.prize - self.made / 64
        self.terminals[:] = over
        self.made[over] = 0
        self.look()

    def look(self):
        self.observations[:] = np.sin(np.add.outer(3.0 * self.made, np.arange(4)))
        self.action_mask[:] = 1
        self.action_mask[:, 2] = self.made % 2


class Duel(Solo):
    """Two players of each game move in turn; the first wins with its last move."""

    players = 2

    def step(self):
        turn = self.action_mask.any(1)
        self.made += turn
        over = np.repeat(self.made[::2] == self.moves, 2)
        self.rewards[:] = np.where(turn, -self.made / 64, 0)
        self.rewards[::2] += over[::2]
        self.rewards[1::2] -= over[1::2]
        self.terminals[:] = over
        self.made[over] = 0
        self.first = ~turn.reshape(-1, 2)[:, 0] | over[::2]
        self.look()

    def look(self):
        super().look()
        first = getattr(self, "first", np.ones(GAMES, bool))
        self.observations[1::2][first] = self.observations[::2][~first] = 99    # nobody looks
        self.action_mask[1::2][first] = self.action_mask[::2][~first] = 0


@pytest.fixture(params=[*PATHS, "torch"])
def learned(request):
    """A rollout of a vec, with the advantages of its first minibatch, from weights of a seed."""
    def made(vec, horizon):
        sizes = dict(horizon=horizon, minibatch_size=horizon * vec.num_agents, prio_alpha=0.0,
                     gamma=0.9, gae_lambda=0.8, replay_ratio=1.0, learning_rate=0.0)
        if request.param == "torch":
            trainer = make_reference(vec=vec, **sizes)
            weights(trainer)
            trainer.rollout()
            found = formulas.advantages(
                trainer.rewards, trainer.values, trainer.bootstrap, trainer.ended,
                trainer.truncated, trainer.values * 0 + 1, 0.9, 0.8, 1.0, 1.0, live=trainer.live)
            return {"advantages": found.numpy(), "live": trainer.live,
                    **{name: getattr(trainer, name).numpy() for name in OF_ROLLOUT}}
        trainer = make_native(vec=vec, path=request.param, **sizes)
        weights(trainer)
        run(trainer, 1)
        return {name: array.copy() for name, array in trainer.rollout_tensors.items()}
    return made


def weights(trainer):
    tensors, random = trainer.state_tensors(), np.random.default_rng(0)
    for name in ("encoder", "layers.0", "decoder"):
        tensors[name] = random.normal(size=tensors[name].shape).astype(np.float32) / 4
    trainer.load_state_tensors(tensors)


@pytest.mark.parametrize("player, moves, prize", [(0, MOVES, 1.0), (1, MOVES - 1, -1.0)])
def test_an_end_reaches_the_first_move_as_in_a_game_of_one_player(learned, player, moves, prize):
    """Bit for bit: values, memory, and what of the prize reaches the first of ten moves."""
    duel, solo = learned(Duel(), 2 * MOVES - 1), learned(Solo(moves, prize), moves)
    for name in (*OF_ROLLOUT, "advantages"):
        if name in ("actions", "log_probs"):        # drawn with the numbers of other ticks
            continue
        np.testing.assert_array_equal(duel[name][player::2, :moves], solo[name], err_msg=name)
        assert not duel[name][player::2, moves:].any()
    assert np.asarray(duel["live"])[player::2].sum(1).tolist() == [moves] * GAMES
    nothing = learned(Solo(moves, 0.0), moves)
    assert np.sign(solo["advantages"][0, 0] - nothing["advantages"][0, 0]) == prize


def test_where_the_rollout_ends_before_its_turn_a_moves_own_value_stands_in(learned):
    """After tick 4 the first player has made two moves and waits for the second to make its own."""
    rows = learned(Duel(), 3)
    last, value = rows["advantages"][0, 1], rows["values"][0, 1]
    assert distance(last, np.float32(-2 / 64 + 0.9 * value - value)) < 1e-6


def test_alone_nobody_waits(learned):
    """Where an env has one agent, nobody else could make its mask another one."""
    vec = Solo()
    vec.look = lambda: vec.action_mask.fill(0)
    with pytest.raises(RunError, match="agent 0 has no legal action in head 0"):
        learned(vec, 4)
