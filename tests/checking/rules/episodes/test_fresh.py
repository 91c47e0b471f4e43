"""What an old env keeps: the fields that make an episode differ, and no others."""
from __future__ import annotations

import pytest
from helpers.short_or_long import some_or_all

from puffer_sdk.checking.collect.c.source import read
from puffer_sdk.checking.core.fact_kinds import NotFreshFact, OldWordsFact

FIELDS = ("    int tick;\n", "    int tick, door, hidden, seen, level;\n    float board[40];\n"
          "    int* far;\n")
ZERO = "    for (int i = 0; i < 2 * env->num_agents; i++) env->observations[i] = 0;\n"


@pytest.mark.parametrize("at_reset, at_step, kept", some_or_all([
    ("    env->door = env->hidden;\n", "env->hidden++; env->seen++;", {"hidden"}),
    ("    env->door = env->hidden + env->level; env->level = 0;\n",
     "env->hidden++; env->level += 2;", {"hidden", "level"}),
    ("    env->door = (int)env->board[31];\n", "for (int i = 0; i < 40; i++) env->board[i] += i;",
     {"board[31]"}),
    ("    env->door = env->tick;\n", "env->seen++;", {"tick"}),
    ("    static int count;\n    env->door = count++;\n", "env->seen++;", set()),
    ("    env->door = env->hidden;\n", "env->hidden = (env->hidden + 1) % 2;", {"hidden"}),
    ("    env->door = env->hidden;\n", "env->hidden = (env->hidden + 1) % 4;", {"hidden"})],
    0, 2, 4, 5))
def test_the_fields_that_make_the_difference(probe, play, at_reset, at_step, kept):
    """Not those that c_reset sets from them, and not those that change and are never read."""
    env = probe(FIELDS, ("    env->tick = 0;\n" + ZERO, at_reset + "    env->tick = 0;\n"
                         "    env->observations[0] = env->door;\n"
                         "    env->observations[1] = 0;\n"),
                ("    env->tick++;\n    for", f"    env->tick++;\n    {at_step}\n    for"))
    found = play(env, "fresh", envs=2, steps=64)
    assert found.first(NotFreshFact)
    old, places = found.first(OldWordsFact), read.read(env).layout
    assert {places.path_at(offset) for _, offset in old.words} == kept and old.known


def test_a_search_that_the_env_does_not_survive_says_nothing(probe, play):
    env = probe(FIELDS, ("    env->tick = 0;\n" + ZERO,
                         "    if (!env->hidden && env->far) abort();\n"
                         "    env->door = env->hidden;\n    env->tick = 0;\n"
                         "    env->observations[0] = env->door;\n"
                         "    env->observations[1] = 0;\n"),
                ("#include <stdbool.h>", "#include <stdbool.h>\n#include <stdlib.h>"),
                ("    env->tick++;\n    for", "    env->tick++;\n    env->hidden++;\n"
                                                "    env->far = &env->seen;\n    for"))
    old = play(env, "fresh", envs=2, steps=64).first(OldWordsFact)
    assert (old.words, old.known) == ([], 0)


@pytest.mark.parametrize("steps, kept", [(64, {"board[31]"}), (32, set())])
def test_a_search_that_comes_to_no_end_says_nothing(probe, play, steps, kept):
    """A late difference takes long plays: with few steps there are eleven of them."""
    env = probe(FIELDS, ("    env->tick = 0;\n", "    env->door = (int)env->board[31];\n"
                         "    env->tick = 0;\n"),
                ("    env->tick++;\n    for", "    env->tick++;\n    for (int i = 0; i < 40; i++) "
                 "env->board[i] += i;\n    for"),
                ("env->observations[2 * a + 1] = env->actions[a];",
                 "env->observations[2 * a + 1] = env->tick > 90 ? env->door : 0;"),
                ini="[env]\nlimit = 200\n")
    old, places = play(env, "fresh", envs=2, steps=steps).first(OldWordsFact), read.read(env).layout
    assert {places.path_at(offset) for _, offset in old.words} == kept and old.known == bool(kept)


def test_a_reset_that_sets_everything(probe, play):
    assert not play(probe(), "fresh", envs=2, steps=64).first(NotFreshFact)
