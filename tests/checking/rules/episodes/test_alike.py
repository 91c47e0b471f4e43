"""PUF410: agents that are declared to be alike; and games that are, or that do not say so."""
from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.check_fixtures import changed, short_check
from helpers.rule_facts import fact, facts_of
from helpers.short_or_long import long_only, short_or_long

from puffer_sdk.checking.collect.c import alike
from puffer_sdk.checking.core import registry, suppressions
from puffer_sdk.env.obs_spec import ObsSpec

FENCERS = Path(__file__).parent / "puf410_fencers"
MENDED = ("i == 0 ? -1.0f : 0.0f", "-1.0f")
WORD = "// puffer: players 2 alike"
SIDE = "float side = i == 0 ? 1.0f : -1.0f;\n        o[0] = side * env->x[i];"
PRIZE = "i == winner ? 1.0f : -1.0f"
ONE_END = (("float side = i == 0 ? 1.0f : -1.0f;", "float side = 1.0f;"),
           ("(0.7f + 0.2f * chance(env))", "0.9f"), (" && far[0] != far[1]", ""),
           ("env->sword = 0.4f * chance(env)", "env->sword = -0.75f + 0.05f * chance(env)"))
FAULTS = {
    "rewards": [((PRIZE, "i == winner ? 1.0f : i == 1 ? 0.0f : -1.0f"),),
                ((PRIZE, "i == winner ? 1.0f + (float)i : -1.0f"),)],
    "views": [(("o[0] = side * env", "o[0] = env"),),
              (("side * (env->sword - env->x[i])", "side * (env->sword - env->x[0])"),)],
    "prizes": [((PRIZE, "i == winner ? 1.0f : env->tick > 25 ? 0.0f : -1.0f"),)],
    "same-view": [((SIDE, "float side = 1.0f;\n        o[0] = env->x[0];"),
                   ("(env->sword - env->x[i])", "(env->sword - env->x[0])"),
                   ("(env->x[1 - i] - env->x[i])", "(env->x[1] - env->x[0])"),
                   ("env->speed[i];\n        o[4]", "env->speed[0];\n        o[4]"))],
    # both come from one end; of a tie the first one always wins, or chance decides
    "ties": [(*ONE_END, ("far[0] < far[1] ? 0 : 1", "far[0] <= far[1] ? 0 : 1"))],
    "": [(),
         (*ONE_END, ("far[0] < far[1] ? 0 : 1",
                     "far[0] == far[1] ? chance(env) < 0.0f : far[0] > far[1]")),
         # the number of the agent, for which no element of a mirrored view can stand
         (("o[4] = (float)env->tick / (float)env->limit", "o[4] = (float)i"),),
         # who is first to be looked at wins where both come at once
         (("far[0] != far[1]", "1"), ("far[0] < far[1] ? 0 : 1", "far[0] < 0.05f ? 0 : 1")),
         # both are shown the same, which does not tell who did what
         ((SIDE, "float side = 1.0f;\n        o[0] = env->sword;"),
          ("(env->sword - env->x[i])", "env->sword"),
          ("(env->x[1 - i] - env->x[i])", "env->sword"),
          ("env->speed[i];\n        o[4]", "env->sword;\n        o[4]"))],
}


def judged(found: list, text: str = WORD, agents: int = 2) -> list:
    facts = facts_of(agents=agents, places=found)
    facts.spec, facts.row = SimpleNamespace(functions={}), ObsSpec(5, ())
    facts.source.files = {"puf410_fencers.h": text}
    return list(registry.load()["PUF410"].look(facts))


@pytest.mark.long
@pytest.mark.parametrize("detector, changes", [
    (detector, changes) for detector, several in FAULTS.items()
    for changes in short_or_long(several[:1], several)])
def test_places_of_a_game_of_two(detector, changes, play, tmp_path):
    folder = changed(FENCERS, tmp_path, MENDED, *changes)
    text = (folder / "puf410_fencers.h").read_text()
    found = play(folder, "places", envs=64, agents=2, steps=1024).facts
    told = judged(found, text)
    assert [one.detector for one in told] == [detector] * bool(detector), told
    assert all((one.file, one.line) == ("puf410_fencers.h", 4) for one in told)
    assert judged(found, text.replace(WORD, "")) == []


@long_only
def test_nothing_is_said_of_fencers_who_are_mended(tmp_path):
    assert short_check(changed(FENCERS, tmp_path, MENDED)).findings == []


@pytest.mark.parametrize("found, says", [
    ([fact("place", agent=1, what="negative", mean=0.02, others=0.0, scale=0.01, t=9.0)],
     "agent 1 has a negative reward on 2.00% of steps, others on 0.00%"),
    ([fact("place", agent=1, what="element", element=3, mean=2.0, others=1.0, scale=1.0, t=9.0)],
     "element 3 is 2 on average for agent 1, and 1 for others"),
    ([fact("same_view", agent=0, other=1, moments=40, told=40)],
     "agents 0 and 1 are always shown the same"),
    ([fact("same_view", agent=0, other=1, moments=40, told=0)], ""),
    ([fact("tie", agent=0, other=1, first=30)],
     "agent 0 is paid more than agent 1 wherever both see the same and act alike"),
    ([fact("tie", agent=0, other=1, second=30)],
     "agent 1 is paid more than agent 0 wherever both see the same and act alike"),
    ([fact("tie", agent=0, other=1, first=30, second=1)], ""),
    ([fact("prize", won=1.0, both=50, alone=50)], "a win of 1 is not always a loss for the others"),
    ([fact("prize", won=1.0, both=50), fact("prize", won=0.5, alone=50)], ""),
    ([fact("place", agent=1, what="reward", mean=1.0, scale=1.0, t=4.0)], "")])
def test_what_is_said(found, says):
    assert [finding.message for finding in judged(found)] == [says] * bool(says)


def test_another_number_of_players_is_not_tested():
    with pytest.raises(registry.NotTested, match="2 players are declared to be alike"):
        judged([], agents=3)


@pytest.mark.parametrize("text, players", [
    (WORD, 2), ("int n;  // puffer: players 16 alike, and so are their views", 16),
    ("// puffer: players two alike", None), ("// players 2 alike", None)])
def test_the_word(text, players):
    said = alike.declared({"game.h": f"\n{text}\n"})
    assert (said and said.players) == players
    assert said is None or (said.file, said.line) == ("game.h", 2)


def test_the_word_is_understood():
    notes: list = []
    assert list(suppressions.read("game.h", WORD, notes)) == [] and notes == []
