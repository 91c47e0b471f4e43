"""PUF409: what belongs to one agent stands in another's row; games in which it looks so."""
from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.check_fixtures import changed, short_check
from helpers.rule_facts import fact, facts_of
from helpers.short_or_long import long_only, short_or_long

from puffer_sdk.checking.collect.c.source import read
from puffer_sdk.checking.core import registry
from puffer_sdk.checking.core.facts import Facts

TRAMS = Path(__file__).parent / "puf409_trams"
MENDED = (("actions[i] - 1.0f", "actions[2 * i] - 1.0f"),
          ("actions[env->num_agents + i]", "actions[2 * i + 1]"))
NEXT = "((i + 1) % env->num_agents)"
LAST = "(env->num_agents - 1 - i)"
LATE = ("env->rewards[i] = reward;", "env->rewards[i] = wrecked ? 0.0f : reward;"), (
    "        } else if (--env", "        } else if (env->rewards[i] = env->all[i].absent == "
    "ABSENCE ? -1.0f : 0.0f,\n                   --env")
# other random numbers after a boost, for all trams: what is paid from then on proves nothing
CHANCE = (("me->x += me->speed;", "me->x += me->speed + 0.03f * chance(env);"),
          ("observe(env, i);\n    }\n}\n\nvoid c_render",
           "observe(env, i);\n        if (env->actions[2 * i + 1] > 0.0f) chance(env);\n"
           "    }\n}\n\nvoid c_render"))
FAULTS = {
    "actions": [(("[2 * i]", "[i]"), ("[2 * i + 1]", "[env->num_agents + i]")),
                (("[2 * i]", f"[2 * {NEXT}]"), ("[2 * i + 1]", f"[2 * {NEXT} + 1]")),
                (("[2 * i]", "[2 * (i ^ 1)]"), ("[2 * i + 1]", "[2 * (i ^ 1) + 1]"))],
    "rewards": [(("env->rewards[i] = reward", f"env->rewards[{NEXT}] = reward"),),
                (("env->rewards[i] = reward", f"env->rewards[{LAST}] = reward"),),
                (("env->rewards[i] = reward", f"env->rewards[{LAST}] = reward"), *CHANCE)],
    "views": [(("[i * OBS_SIZE]", f"[{NEXT} * OBS_SIZE]"),),
              (("[i * OBS_SIZE]", f"[{LAST} * OBS_SIZE]"),)],
    "terminals": [(("env->terminals[i] = 1", f"env->terminals[{NEXT}] = 1"),),
                  (("env->terminals[i] = 1", f"env->terminals[{LAST}] = 1"),)],
    "nobody": [LATE],
    "": [(), CHANCE, (("0.7f * me->speed", "0.7f * me->speed + 0.01f * env->all[0].speed"),),
         (("env->alive[i] = 0", "env->alive[i] = 1"),)],
}


@pytest.fixture
def judged(play, tmp_path):
    """judged(*changes of the mended trams) -> findings of PUF409"""
    def run(*changes: tuple[str, str]) -> list:
        folder = changed(TRAMS, tmp_path, *MENDED, *changes)
        outcome = play(folder, "crossed", envs=8, agents=4, steps=512)
        return spoken(outcome.facts, agents=4)
    return run


def spoken(crossed: list, agents: int = 2) -> list:
    facts: Facts = facts_of(agents=agents, crossed=crossed)
    facts.spec = SimpleNamespace(functions={})
    return list(registry.load()["PUF409"].look(facts))


@pytest.mark.long
@pytest.mark.parametrize("detector, changes", [
    (detector, changes) for detector, several in FAULTS.items()
    for changes in short_or_long(several[:1], several)])
def test_what_stands_in_another_row(detector, changes, judged):
    found = judged(*changes)
    assert [finding.detector for finding in found] == [detector] * bool(detector), found


@long_only
def test_nothing_is_said_of_trams_that_are_mended(tmp_path):
    """Each has its own episodes, and is gone for a while after them."""
    assert short_check(changed(TRAMS, tmp_path, *MENDED)).findings == []


def rows(agent: int, head: int = 0, tested: int = 100, **told: list[int]) -> list:
    """What each row answered to one head of one agent."""
    count = len(next(iter(told.values())))
    return [fact("answer", agent=agent, head=head, row=row, tested=tested,
                 **{"any": max(values[row] for values in told.values()),
                    **{kind: values[row] for kind, values in told.items()}})
            for row in range(count)]


@pytest.mark.parametrize("answers, says", [
    # each moves the other, or the next one of three
    ([*rows(0, any=[0, 90]), *rows(1, any=[90, 0])], "actions"),
    ([*rows(0, any=[0, 90, 3]), *rows(1, any=[0, 2, 90]), *rows(2, any=[90, 0, 0])], "actions"),
    # a speaker and a listener: no circle
    ([*rows(0, any=[0, 90]), *rows(1, any=[0, 90])], ""),
    ([*rows(0, any=[0, 90]), *rows(1, any=[90, 90])], ""),
    # a message that the other one sees, besides a move of their own
    ([*rows(0, any=[90, 0]), *rows(0, 1, any=[0, 90]),
      *rows(1, any=[0, 90]), *rows(1, 1, any=[90, 0])], ""),
    # ... and heads x agents: the second head of one, the first head of the other
    ([*rows(0, any=[90, 0]), *rows(0, 1, any=[0, 90]),
      *rows(1, any=[90, 0]), *rows(1, 1, any=[0, 90])], "actions"),
    # a message to all others
    ([*rows(0, any=[0, 90, 90]), *rows(1, any=[90, 0, 90]), *rows(2, any=[90, 90, 0])], ""),
    # who is hit pays, and may duck
    ([*rows(0, seen=[90, 90], paid=[11, 63]), *rows(1, seen=[90, 90], paid=[66, 11])], ""),
    ([*rows(0, seen=[90, 90], paid=[1, 63]), *rows(1, seen=[90, 90], paid=[66, 1])], "rewards"),
    # both heads together; three of each agent, and twelve in all
    ([*rows(0, seen=[90, 0], paid=[0, 4]), *rows(0, 1, seen=[90, 0], paid=[0, 4]),
      *rows(1, seen=[0, 90], paid=[4, 0])], "rewards"),
    ([*rows(0, seen=[90, 0], paid=[0, 4]), *rows(1, seen=[0, 90], paid=[4, 0])], ""),
    ([*rows(0, seen=[90, 0], paid=[0, 40]), *rows(1, seen=[0, 90], paid=[2, 0])], ""),
    # shown what the other does: a fault where nobody is paid for what the other does
    ([*rows(0, seen=[0, 90], paid=[60, 0]), *rows(1, seen=[90, 0], paid=[0, 60])], "views"),
    ([*rows(0, seen=[0, 90], paid=[60, 60]), *rows(1, seen=[90, 0], paid=[60, 60])], ""),
    # seldom: nothing can be said
    ([*rows(0, any=[0, 9]), *rows(1, any=[9, 0])], ""),
    ([*rows(0, tested=9, any=[0, 9]), *rows(1, tested=9, any=[9, 0])], None)])
def test_whose_rows_answer(answers, says):
    if says is None:
        with pytest.raises(registry.NotTested):
            spoken(answers)
        return
    assert [finding.detector for finding in spoken(answers)] == [says] * bool(says)


@pytest.mark.parametrize("theirs, own, says", [(4, 0, "views"), (2, 0, ""), (4, 1, "")])
def test_elements_that_only_the_other_one_changes(theirs, own, says):
    """Both are seen at all moments: a board that all see, each from a place."""
    answers = [*rows(0, seen=[90, 90], paid=[60, 0]), *rows(1, seen=[90, 90], paid=[0, 60])]
    views = [fact("view", agent=agent, row=1 - agent, theirs=theirs, own=own)
             for agent in range(2)]
    assert [f.detector for f in spoken(answers + views)] == [says] * bool(says)


@pytest.mark.parametrize("filled, says", [(40, "nobody"), (50, "")])
def test_what_always_lies_in_empty_rows_is_no_reward(filled, says):
    answers = [*rows(0, any=[90, 0]), *rows(1, any=[0, 90])]
    told = spoken([*answers, fact("crossed", paid=100, nobody=50, empty=100, filled=filled)])
    assert [finding.detector for finding in told] == [says] * bool(says)


@pytest.mark.parametrize("paid, says", [([5, 0], "observations"), ([0, 0], "agents x heads")])
def test_where_an_agent_is_paid_itself_its_view_is_crossed(paid, says):
    """It is moved by its own action, although only another row shows it."""
    answers = [*rows(0, any=[0, 90], paid=paid), *rows(1, any=[90, 0], paid=paid[::-1])]
    (finding,) = spoken(answers)
    assert finding.detector == "actions" and says in finding.hint


@pytest.mark.parametrize("array, text", [
    ("actions", "env->actions[2 * i]"), ("rewards", "env->rewards[i] = reward"),
    ("observations", "o[0] = me->x")])
def test_the_line_is_where_the_array_is_used(array, text, tmp_path):
    folder = changed(TRAMS, tmp_path, *MENDED)
    facts = facts_of()
    facts.source, facts.spec = read.read(folder), SimpleNamespace(functions={})
    lines = (folder / "puf409_trams.h").read_text().splitlines()
    assert text in lines[facts.at_row(array)["line"] - 1]


def test_a_game_of_one_agent_has_nothing_to_cross():
    assert spoken([], agents=1) == []
