"""Every limit of a rule, from both sides: facts with this much of it are a finding, with that much
they are none."""
from __future__ import annotations

import ast
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.rule_facts import fact, facts_of

from puffer_sdk.checking import rules
from puffer_sdk.checking.collect.c.source.layout import Scalar
from puffer_sdk.checking.collect.c.source.sites import Site
from puffer_sdk.checking.collect.python.python_facts import Part
from puffer_sdk.checking.core import often, registry
from puffer_sdk.checking.core.facts import Facts
from puffer_sdk.checking.core.registry import NotTested
from puffer_sdk.checking.rules.python_envs import endings, numbers
from puffer_sdk.env.obs_spec import ObsField, ObsSpec

HOME = Path(rules.__path__[0])
# what is shown, or how numbers are compared, and no limit of a fault
SHOWN = {("determinism/determinism", "FIELDS"), ("memory/survival", "INIT"),
         ("memory/memory", "NEAR"),
         ("rewards/rewards", "TELLING"), ("observations/constant/still", "SHOWN"),
         ("training/speed", "MILLISECOND"), ("training/learning", "RARE"),
         ("observations/twice/obs_duplicate", "CLOSE"),
         ("observations/twice/obs_duplicate", "MOST"), ("python_envs/numbers", "ROUNDING"),
         ("python_envs/numbers", "LISTED")}


def game(**experiments: list) -> Facts:
    """Of a header without anything remarkable."""
    facts = facts_of(**experiments)
    facts.source = SimpleNamespace(
        reach=lambda *roots, without=(): [], stepping=list, files={}, layout=None,
        clears_observations=lambda: False, shows_what_stays=lambda: False,
        integer_divisions=list, changes_of=lambda element: [],
        literal_stores=set, assigned_logs=list, cleared_logs=list, computed_logs=set)
    facts.spec = SimpleNamespace(functions={}, macro_lines={}, struct="Dock", log_fields=(),
                                 has_max_agents=False, binding=None, act_widths=None,
                                 is_narrow=False,
                                 header=SimpleNamespace(name="dock.h"))
    facts.config = SimpleNamespace(train=SimpleNamespace(horizon=64), env={})
    facts.shape.dtype, facts.shape.mask = "u8", 5
    return facts


def opened(**experiments: list) -> Facts:
    """Whose c_reset calls rand()."""
    facts = game(**experiments)
    call = SimpleNamespace(writes=False, name="rand")
    facts.source.reach = lambda *roots, without=(): [SimpleNamespace(nodes=[call])]
    return facts


def effect(tested=100, moved=90, others=0, horizon=64, far=0, same=(), rates=(0.9,) * 4):
    reach = [fact("reach", tested=tested, moved=moved)]
    if others:
        reach.append(fact("reach", agent=1, tested=30, moved=others))
    facts = game(effect=[fact("effect", width=4, values=4, rates=list(rates), same=list(same)),
                         *reach], effect_far=[fact("reach", moved=far)])
    facts.config.train.horizon = horizon
    return facts


def of_rows(**fields):
    return game(poison=[], rewrite=[fact("row", env=0, **{"agent": 0, "steps": 100, **fields}),
                                    fact("row", agent=1, steps=100, full=100, calm=1000,
                                         calm_changed=900)])


def of_cells(count=2, seen=64, held=0, retold=0):
    cells = [fact("cell", element=k, seen=seen, written=9, changed=4, held=held, retold=retold)
             for k in range(count)]
    facts = game(poison=[], rewrite=cells)
    facts.shape.obs_size = count
    return facts


def sampled(rows: np.ndarray, parts=(), agents=None, steps=20_000, **experiments) -> Facts:
    """A long run of which this is a sample."""
    facts = game(run=[fact("run", steps=steps, rewards=9)], poison=[], **experiments)
    facts.shape.obs_size, facts.shape.dtype = rows.shape[1], "f32"
    facts.statistics = SimpleNamespace(low=rows.min(axis=0), high=rows.max(axis=0), rows=rows,
                                       agents=agents)
    facts.row = ObsSpec(rows.shape[1], tuple(parts))
    return facts


def drawn(rows: int, columns: int, values: int = 0) -> np.ndarray:
    draw = np.random.default_rng(1)
    found = draw.random((rows, columns))
    return np.floor(found * values) if values else found


def named(count: int, **more) -> list[ObsField]:
    return [ObsField(f"OBS_{k}", k, 1, None, None, "dock.h", k, **more) for k in range(count)]


def twice(rows: int, values: int = 0) -> Facts:
    table = drawn(rows, 2, values)
    table[:, 1] = table[:, 0]
    return sampled(table, named(2))


def each_twice(rows: int) -> Facts:
    """Agent 0 sees numbers 0 to 2 again as 3 to 5, agent 1 as 5 to 3."""
    table, agents = drawn(4 * rows, 6), np.arange(4 * rows) % 2
    table, agents = table[:2 * rows], agents[:2 * rows]
    for agent, order in ((0, (3, 4, 5)), (1, (5, 4, 3))):
        table[np.ix_(agents == agent, order)] = table[agents == agent][:, :3]
    table = np.concatenate([table] * 2) if len(table) < 500 else table
    agents = np.concatenate([agents] * 2)[:len(table)]
    return sampled(table, named(6), agents)


def things(seen: int) -> Facts:
    """A list of two things: one is there in so many rows of 300, and never differs."""
    table = np.zeros((300, 4))
    table[:seen, 0] = 1
    table[:, 2], table[:, 3] = 1, np.arange(300)
    return sampled(table, [ObsField("OBS_MATES", 0, 4, None, None, "dock.h", 1, "list", (2, 2),
                                mask=0)])


def slots(apart: float = 0.0, count: int = 3, stride: int = 2) -> Facts:
    """Slots of two numbers, of which the last is empty, and no part of a row has bounds."""
    table = np.zeros((100, count * stride))
    table[1:, :-stride] = 1 + apart * (np.arange((count - 1) * stride) >= stride)
    table[1::2, :-stride] *= 0.5
    return sampled(table, rewrite=[fact("row", steps=100, full=100)])


def counted(kind: str, goes: str, **fields) -> Facts:
    facts = game(audit=[fact("site", **fields)])
    facts.sites = [Site(kind, "dock.h", 7, 0, 5, 2, "int", "env->rng", goes, "rng")]
    return facts


def secret(tests: int) -> Facts:
    facts = game(private=[fact("secret", tests=tests, leaks=9)])
    facts.shape.env_agents = 2
    facts.source.files = {"dock.h": "typedef struct Hand {\n    int card;   // puffer: private\n"}
    hands = SimpleNamespace(path="hands", count=2)
    facts.layout = SimpleNamespace(pointees={}, scalars=[
        Scalar(f"hands[{agent}].card", 4 * agent, 4, "int", (hands,)) for agent in range(2)])
    return facts


def of_moments(moments: list[dict]) -> Facts:
    """Facts of one action: at any moment, and right behind c_reset."""
    return game(masks=[fact("mask_truth", start=k, action=1, value=1, **fields)
                       for k, fields in enumerate(moments)])


def of_mask(**fields) -> Facts:
    rest = {"legal_acts": 90, "forbidden_idle": 60, "twin": 0, "twin_acts": 60, "twin_wrong": 90}
    return game(masks=[fact("mask_byte", action=0, legal_acts=150),
                       fact("mask_byte", action=1, value=1, **{**rest, **fields})])


def entries(judged: int, wrong: int) -> Facts:
    return game(run=[fact("run", terminals=judged, entries=judged, rounds=9),
                     fact("entries", name="episode_return", judged=judged, matched=judged - wrong,
                          high=1.0)], audit=[fact("endings", endings=9, called=9)])


def circle(distinct: int) -> Facts:
    facts = game(run=[fact("circle", rounds=9, jumps=9, changes=90, usually=90,
                           distinct=distinct)])
    copies = SimpleNamespace(name="memcpy", node=SimpleNamespace(
        children=[None], arguments=[None]))
    facts.source.reach = lambda *roots: [SimpleNamespace(library_calls=[copies])]
    facts.source.stores = lambda function: []
    facts.source.leads_to = lambda *asked: True         # bytes that nobody counts
    facts.statistics = None
    return facts


def scale(largest: float, dtype: str = "f32") -> Facts:
    facts = game(run=[fact("obs_scale", value=largest, largest=largest)])
    facts.shape.dtype = dtype
    return facts


def crossed(times: int = 90, own: int = 0, kind: str = "any", ends=(), **choices) -> Facts:
    """Of two agents: the row of each answers so often to the other, so often to its own."""
    answers = [fact("answer", agent=agent, row=row, tested=100,
                    **{kind: own if row == agent else times})
               for agent in range(2) for row in range(2)]
    facts = game(crossed=[*answers, *ends, fact("crossed", **choices)])
    facts.shape.env_agents = 2
    return facts


def lone(jump: float = 9.0, calm: float = 1.0) -> Facts:
    """Two agents of which each one's terminal stands where the other's should."""
    return crossed(own=90, ends=[
        fact("lone_end", agent=agent, row=row, ends=40, jumps=40, usual=1.0,
             jump=calm if row == agent else jump) for agent in range(2) for row in range(2)])


def alike(*found) -> Facts:
    """Of two agents that are declared to be alike."""
    facts = game(places=list(found))
    facts.shape.env_agents = 2
    facts.source.files = {"dock.h": "// puffer: players 2 alike"}
    return facts


def paid(t: float = 9.0, apart: float = 0.5) -> Facts:
    return alike(fact("place", what="reward", mean=apart, scale=1.0, t=t))


# (file, limit) -> detector, its facts by an amount, an amount that is a finding, one that is none
TABLE = {
    ("determinism/secrets", "ENOUGH"): ("PUF506/agent-leak", secret, 12, 11),
    ("determinism/seeds/copied", "SHARE"): (
        "PUF502/copied", lambda n: counted("copy", "generator", count=40, again=n), 10, 9),
    ("determinism/seeds/one_opening", "TESTS"): (
        "PUF502/one-opening", lambda n: opened(again=[fact("again", tests=n, same=n, by_seed=9)]),
        24, 23),
    ("episodes/alike/not_alike", "LEVEL"): ("PUF410/rewards", paid, 6.0, 5.9),
    ("episodes/alike/not_alike", "SHARE"): (
        "PUF410/rewards", lambda n: paid(apart=n), 0.25, 0.24),
    ("episodes/alike/prizes", "ENDINGS"): (
        "PUF410/prizes", lambda n: alike(fact("prize", both=90, alone=n)), 12, 11),
    ("episodes/alike/ties", "TIES"): (
        "PUF410/ties", lambda n: alike(fact("tie", first=n)), 12, 11),
    ("episodes/alike/same_view", "MOMENTS"): (
        "PUF410/same-view", lambda n: alike(fact("same_view", told=n)), 12, 11),
    ("episodes/crossed/rows_crossed", "MOMENTS"): ("PUF409/actions", crossed, 12, 11),
    ("episodes/crossed/rewards", "SELDOM"): (
        "PUF409/rewards", lambda n: crossed(times=80, own=n, kind="paid"), 4, 5),
    ("episodes/crossed/terminals", "JUMP"): ("PUF409/terminals", lone, 3.1, 3.0),
    ("episodes/crossed/terminals", "CALM"): (
        "PUF409/terminals", lambda n: lone(calm=n), 1.4, 1.5),
    ("episodes/crossed/nobody", "SHARE"): (
        "PUF409/nobody", lambda n: crossed(0, 90, paid=200, nobody=n, empty=99), 20, 19),
    ("episodes/episodes", "HORIZONS"): (
        "PUF403/lockstep", lambda n: game(audit=[fact("endings", endings=9, called=9)], run=[
            fact("lockstep", locked=1, ends=9, length=n, envs=4)]), 129, 128),
    ("episodes/at_once/lost_openings", "SHARE"): (
        "PUF408/lost-openings", lambda n: game(openings=[
            fact("openings", tests=200, lost=n, tries=9)]), 20, 19),
    ("logs/mismatch/episode_sums", "RARE"): (
        "PUF422/sums", lambda n: entries(1000, n), 21, 20),
    ("logs/mismatch/omitted", "AGENTS"): ("PUF422/left-out", lambda n: game(run=[
        fact("run", terminals=99, entries=99, rounds=9),
        fact("omitted", partial=90, theirs=n, left=30)]), 12, 11),
    ("masks/ignored/action_ignored", "ENOUGH"): (
        "PUF411/head", lambda n: effect(tested=n, moved=0), 40, 39),
    ("masks/ignored/action_ignored", "AHEAD"): (
        "PUF411/late", lambda n: effect(moved=0, far=9, horizon=n), 64, 65),
    ("masks/ignored/ignored_agents", "OFTEN"): (
        "PUF411/agents", lambda n: effect(tested=30, moved=0, others=n), 16, 15),
    ("masks/ignored/ignored_values", "CHANCE"): (
        "PUF411/values", lambda n: effect(same=[[0, 1, n]], rates=(0.1, 0.1, 0.1, 0.1)), 72, 68),
    ("masks/ignored/ignored_values", "SELDOM"): (
        "PUF411/values", lambda n: effect(same=[[0, 1, 99]], moved=n), 26, 25),
    ("masks/mismatch/mask_mismatch", "MOMENTS"): (
        "PUF413/one-legal", lambda n: of_mask(legal_acts=0, forbidden_acts=n, forbidden_idle=0),
        20, 19),
    ("masks/mismatch/misplaced", "WRONG"): (
        "PUF413/misplaced", lambda n: game(masks=[
            fact("mask_byte", action=0, legal_acts=150),
            fact("mask_byte", action=1, value=1, legal_acts=150 - n, legal_idle=n - 20,
                 forbidden_acts=20, twin=2, twin_acts=75, twin_idle=75),
            fact("mask_byte", action=2, value=2, legal_acts=110, forbidden_acts=40)]), 30, 29),
    ("masks/mismatch/of_the_start", "SELDOM"): (
        "PUF413/of-the-start", lambda n: of_moments(
            [{"legal_acts": 9, "legal_idle": 20, "forbidden_acts": 20},
             {"legal_acts": 300, "legal_idle": n, "forbidden_idle": 100}]), 20, 21),
    ("masks/mismatch/stale", "LATER"): (
        "PUF413/stale", lambda n: of_moments(
            [{"legal_idle": 20, "forbidden_acts": 20, "late_idle": 20, "late_acts": 20,
              "spoiled": n}]), 10, 11),
    ("observations/constant/obs_constant", "STEPS"): (
        "PUF305/whole", lambda n: sampled(np.full((9, 2), 3.0), steps=n), 10_000, 9_999),
    ("observations/constant/same_things", "SEEN"): ("PUF305/same-things", things, 100, 99),
    ("observations/constant/still", "ALIKE"): ("PUF305/still", slots, 0.8, 0.05),
    ("observations/constant/still", "SLOTS"): (
        "PUF305/still", lambda n: slots(count=n), 2, 3),
    ("observations/constant/still", "NUMBERS"): (
        "PUF305/still", lambda n: slots(count=5, stride=n), 1, 4),
    ("observations/observations", "HUGE"): ("PUF304/obs-scale", scale, 1000.0, 999.0),
    ("observations/observations", "INT_HUGE"): (
        "PUF304/obs-scale", lambda n: scale(n, "i32"), 16_777_216, 16_777_215),
    ("observations/observations", "TINY"): (
        "PUF304/obs-scale", lambda n: sampled(np.array([[0.0], [n]])), 1e-38, 2e-38),
    ("observations/stale/behind_the_state", "STUCK"): (
        "PUF302/behind-the-state", lambda n: game(poison=[], mirror=[
            fact("mirror", seen=900, frozen=30, stuck=n)]), 4, 3),
    ("observations/stale/behind_the_state", "FROZEN"): (
        "PUF302/behind-the-state", lambda n: game(poison=[], mirror=[
            fact("mirror", seen=900, frozen=n, stuck=9)]), 359, 360),
    ("observations/stale/old_opening", "TELLS"): (
        "PUF302/old-opening", lambda n: game(poison=[], audit=[
            fact("opening", tells=n, old=n), fact("endings", endings=9, called=9)]), 2, 1),
    ("observations/stale/never_cleared", "FEW"): (
        "PUF302/never-cleared", of_cells, 32, 33),
    ("observations/stale/silent_rows", "STEPS"): (
        "PUF302/silent-rows", lambda n: of_rows(steps=n, blank=n), 64, 63),
    ("observations/stale/silent_rows", "CALM"): (
        "PUF302/silent-rows", lambda n: of_rows(calm=n), 256, 255),
    ("observations/stale/silent_rows", "SELDOM"): (
        "PUF302/silent-rows", lambda n: of_rows(calm=1000, calm_changed=n), 1, 2),
    ("observations/stale/silent_rows", "OFTEN"): (
        "PUF302/silent-rows", lambda n: game(poison=[], rewrite=[
            fact("row", steps=9, calm=1000), fact("row", agent=1, calm=1000, calm_changed=n)]),
        301, 300),
    ("observations/stale/writes", "SEEN"): (
        "PUF302/never-cleared", lambda n: of_cells(seen=n), 32, 31),
    ("observations/stale/writes", "RETOLD"): (
        "PUF302/never-cleared", lambda n: of_cells(count=1 + 1, held=n, retold=n), 7, 8),
    ("observations/twice/obs_duplicate", "ROWS"): ("PUF308/same-number", twice, 500, 499),
    ("observations/twice/obs_duplicate", "VALUES"): (
        "PUF308/same-number", lambda n: twice(600, n), 8, 7),
    ("observations/twice/of_each_agent", "OF_AGENT"): (
        "PUF308/of-each-agent", each_twice, 300, 299),
    ("observations/wrap/circle", "DISTINCT"): ("PUF307/circle", circle, 8, 7),
    ("rewards/rewards", "STEPS"): (
        "PUF314/reward-absent", lambda n: game(run=[fact("run", steps=n)]), 50_000, 49_999),
    ("training/speed", "FACTOR"): (
        "PUF601/slow-step", lambda n: game(probe=[fact("cost", seconds=n * 1e-6, yardstick=1e-6)]),
        101, 100),
    ("training/speed", "SECONDS"): (
        "PUF601/slow-step", lambda n: game(probe=[fact("cost", seconds=n, yardstick=1e-9)]),
        2.1e-5, 2e-5),
}


# -- environments in Python ------------------------------------------------------------------------


def episode(length: int = 9, **more) -> SimpleNamespace:
    return SimpleNamespace(**{"length": length, "terminated": True, "truncated": False,
                              "both": False, "cut": False, "stale_first": False,
                              "stale_last": False, "as_before": False, "rewards": np.zeros(length),
                              **more})


def played(rows: np.ndarray | None = None, episodes=None, shape=None, dtype="float32", **more):
    """A play that showed these rows, and nothing else that is odd."""
    rows = np.array([[0.0], [1.0]]) if rows is None else rows
    size = rows.shape[1]
    play = {"low": rows.min(axis=0), "high": rows.max(axis=0),
            "episodes": [episode()] if episodes is None else episodes, "steps": 5000,
            "moves": 0, "changes": 0, "still": [], "moving": False, "timed": [],
            "quiet_actions": False, "printed": 0, "slept": 0, "opened": [], "outside": [],
            "grown": {}, "flags": np.zeros(size, bool), "wraps": np.zeros(0), "smooth": None,
            "reward": (0.0, 1.0), "reward_step": 1, "nonzero": 9, "terminals": 0,
            "truncations": 0}
    part = Part("", "Box", 0, shape or (size,), dtype, None, None)
    facts = {"play": SimpleNamespace(**{**play, **{key: more.pop(key) for key in play
                                                   if key in more}}),
             "shape": SimpleNamespace(leaves=[part], sizes=[3], agents=[], parallel=False),
             "at": lambda what: {}, "compared": {}, "oddities": {}, "long": None, "effects": []}
    return SimpleNamespace(**{**facts, **more})


def held(columns: int, of: int) -> np.ndarray:
    """Rows of which the last so many numbers never change from 0, behind two times as many."""
    rows = np.zeros((2, of))
    rows[1, :of - columns] = 1.0
    return rows


def frames(apart: float) -> np.ndarray:
    """Slots of three numbers of which the second reaches so much further, and an empty one."""
    slot = np.array([1.0, 5.0, 20.0])
    return np.stack([np.zeros(9), np.concatenate([slot, slot * (1 + apart), np.zeros(3)])])


def bytes_that_wrap(high: int = 200, smooth: int = 90):
    rows = np.array([[0.0], [high]])
    return played(rows, dtype="uint8", wraps=np.array([9]), smooth=np.array([smooth]))


def sums(length: int = 9, kinds: int = 1, last: float = 2.0):
    steps = np.resize(np.arange(1, kinds + 1, dtype=float), length - 1)
    rewards = 1 + np.concatenate([[0.0], np.cumsum(steps)])
    if last != 2.0:
        rewards = np.linspace(1, last, length)
    return played(episodes=[episode(length, rewards=rewards)] * 5)


def in_effect(moments: int):
    again = SimpleNamespace(difference=None)
    return played(compared={"again": again}, effects=[SimpleNamespace(
        head=0, value=None, agent="", moments=moments, differs=False)])


def long(longest: int = 0, steps: int = 0):
    return SimpleNamespace(endings=0, longest=longest, steps=steps, nonzero=0)


E = "python_envs/endings"
N = "python_envs/numbers"
PYTHON = {
    (E, "ENDLESS"): (endings.never_ends, lambda n: played(long=long(longest=n)), 10_000, 9_999),
    (E, "ENDINGS"): (endings.kinds_of_endings,
                     lambda n: played(episodes=[episode(both=True)] * n), 5, 4),
    (E, "LIMIT"): (endings.kinds_of_endings,
                   lambda n: played(episodes=[episode(n)] * 9), 20, 19),
    (E, "MOVES"): (endings.stale, lambda n: played(still=["a"], moves=n), 50, 49),
    (E, "PRINTED"): (endings.beyond_the_game, lambda n: played(printed=n), 625, 624),
    (E, "GROWN"): (endings.beyond_the_game,
                   lambda n: played(grown={"seen": (0, n)}, episodes=[episode()] * 20), 20, 19),
    (N, "OBS_LARGE"): (numbers.scale, lambda n: played(np.array([[0.0], [n]])), 51.0, 50.0),
    (N, "OBS_HUGE"): (numbers.scale, lambda n: played(np.array([[0.0], [n]])), 1000.0, 999.0),
    (N, "REWARD_LARGE"): (numbers.rewards,
                          lambda n: played(episodes=[episode()], reward=(0.0, n)), 101.0, 100.0),
    (N, "ENOUGH"): (numbers.constant, lambda n: played(np.zeros((2, 2)), steps=n), 400, 399),
    (N, "EPISODES"): (numbers.constant, lambda n: played(
        np.zeros((2, 2)), steps=9, episodes=[episode()] * n), 3, 2),
    (N, "MANY"): (numbers.constant, lambda n: played(held(1, 9), steps=n), 2000, 1999),
    (N, "REWARDLESS"): (numbers.no_reward,
                        lambda n: played(nonzero=0, long=long(steps=n)), 30_000, 29_999),
    (N, "MOMENTS"): (numbers.ignored, in_effect, 40, 39),
    (N, "SLOTS"): (numbers.constant, lambda n: played(held(n, 9)), 2, 3),
    (N, "SMOOTH"): (numbers.wraps, lambda n: bytes_that_wrap(smooth=n), 72, 71),
    (N, "HALF_A_BYTE"): (numbers.wraps, lambda n: bytes_that_wrap(high=n), 129, 128),
    (N, "REWARDS"): (numbers.rewards, lambda n: sums(length=n), 8, 7),
    (N, "KINDS"): (numbers.rewards, lambda n: sums(length=30, kinds=n), 4, 5),
    (N, "GROWTH"): (numbers.rewards, lambda n: sums(last=n), 2.1, 1.9)}


@pytest.mark.parametrize("limit", PYTHON, ids="-".join)
def test_a_limit_of_python_environments_from_both_sides(limit):
    judge, facts_with, told, silent = PYTHON[limit]

    def found(amount) -> list[str]:
        try:
            return [finding.severity for finding in judge(facts_with(amount))]
        except NotTested:
            return []

    assert found(told) != found(silent)
    assert found(told)


@pytest.mark.parametrize("apart, told", [(0.5, ["6-8"]), (0.1, [])])
def test_an_empty_slot_behind_slots_of_like_bounds_is_not_reported(apart, told):
    assert [str(one.element) for one in numbers.constant(played(frames(apart)))] == told


def test_no_reward_in_the_only_play_there_was():
    (finding,) = numbers.no_reward(played(nonzero=0, steps=30_000, terminals=7))
    assert "with 7 endings" in finding.message and finding.seen_in == "play"


@pytest.mark.parametrize("count, told", [(10, ["PUF321"]), (9, [])])
def test_ten_endings_tell_that_episodes_have_one_step(count, told):
    facts = played(episodes=[episode(9)] + [episode(1)] * (count - 1))
    assert [one.code for one in endings.kinds_of_endings(facts)] == told


@pytest.mark.parametrize("columns, told", [
    ("flag 0 x", []), ("x 0 flag", []), ("y flag 0 x", []), ("x 0 flag y", []),     # a class
    ("flag y 0 x", ["2"]), ("x 0 y flag", ["1"]), ("x 1 y", []), ("x 0 y", ["1"])])
def test_a_number_beside_flags_is_a_class_that_did_not_occur(columns, told):
    words = columns.split()
    rows = np.array([[float(word) if word.isdigit() else end * (word == "flag" or 0.5)
                      for word in words] for end in (0.0, 1.0)])
    facts = played(rows, flags=np.isin(words, ("flag", "0", "1")))
    assert [str(one.element) for one in numbers.constant(facts)] == told


# -- all of them -----------------------------------------------------------------------------------


def limits() -> set[tuple[str, str]]:
    """Numbers that modules of rules name."""
    found = set()
    for path in sorted(HOME.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.Assign):
                continue
            (target,) = node.targets
            pairs = zip(target.elts, node.value.elts) if isinstance(target, ast.Tuple) and \
                isinstance(node.value, ast.Tuple) else [(target, node.value)]
            found |= {(str(path.relative_to(HOME).with_suffix("")), name.id)
                      for name, value in pairs if isinstance(name, ast.Name)
                      and isinstance(value, ast.Constant) and type(value.value) in (int, float)}
    return found


def severities(key: str, facts: Facts) -> list[str]:
    code, _, name = key.partition("/")
    rule = registry.load()[code]
    (one,) = (each for each in rule.detectors if each.name == name)
    try:
        return [finding.severity for finding in one.function(facts)]
    except NotTested:
        return []


@pytest.mark.parametrize("limit", TABLE, ids="-".join)
def test_a_limit_from_both_sides(limit):
    key, facts_with, told, silent = TABLE[limit]
    assert severities(key, facts_with(told)) != severities(key, facts_with(silent))
    assert severities(key, facts_with(told))


def test_every_limit_is_in_the_table():
    """What is a limit has a name, and is tried from both sides."""
    assert limits() - SHOWN == {*TABLE, *PYTHON}


def test_no_limit_stands_without_a_name():
    """Numbers that something is compared with, or multiplied by for that, but for 0 and 1."""
    wrong = []
    for path in sorted(HOME.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Compare):
                continue
            sides = [node.left, *node.comparators]
            if any(isinstance(side, ast.Call) and getattr(side.func, "id", "") == "len"
                   for side in sides):
                continue
            for side in sides:
                parts = [side.left, side.right] if isinstance(side, ast.BinOp) and isinstance(
                    side.op, ast.Mult) else [side]
                wrong += [f"{path.name}:{part.lineno}: {part.value}" for part in parts
                          if isinstance(part, ast.Constant) and type(part.value) in (int, float)
                          and part.value not in (0, 1)]
    assert wrong == []


@pytest.mark.parametrize("count, of, words", [
    (2, 3, {"half"}), (3, 3, {"enough", "most", "half"}), (3, 6, {"enough", "half"}),
    (3, 7, {"enough"}), (90, 100, {"enough", "most", "half"}), (89, 100, {"enough", "half"})])
def test_the_words_for_how_often(count, of, words):
    said = {"enough": often.enough(count), "most": often.most(count, of),
            "half": often.half(count, of)}
    assert {word for word, holds in said.items() if holds} == words
