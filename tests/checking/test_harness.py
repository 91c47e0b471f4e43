"""The harness alone: single experiments of a few hundred steps, and what they write."""
from __future__ import annotations

import os
import subprocess

import numpy as np
import pytest

from puffer_sdk.checking.collect.c import driver
from puffer_sdk.checking.collect.c.source import read
from puffer_sdk.checking.core.fact_kinds import (
    EffectFact,
    LeakFact,
    OmittedFact,
    RowFact,
    RunFact,
    SecretFact,
)
from puffer_sdk.env import header
from puffer_sdk.settings import config

STEP = ("        env->observations[2 * a] = env->tick;\n"
        "        env->observations[2 * a + 1] = env->actions[a];\n")


def test_every_action_is_played_and_held_and_no_other(probe, play, tmp_path):
    """Of each head; one phase of 128 steps holds one value of one head."""
    env = probe(("#define ACT_SIZES {3}", "#define ACT_SIZES {3, 2}"))
    path = tmp_path / "actions.f32"
    play(env, "script", envs=2, steps=9 * 128, dump=path, dump_env=0)
    played = np.fromfile(path, np.float32).reshape(-1, 2)
    for head, width in enumerate((3, 2)):
        values = played[:, head]
        assert set(values) == set(range(width))
        begins = np.flatnonzero(np.diff(values, prepend=-1, append=-1))
        held = {values[begin] for begin, length in zip(begins, np.diff(begins)) if length >= 100}
        assert held == set(range(width))


@pytest.mark.parametrize("close, leaks", [("free(env->list);", set()), ("(void)env;", {"close"})])
def test_a_list_that_realloc_moves_is_one_block(probe, play, close, leaks):
    env = probe(("    int limit;\n", "    int limit, *list;\n"),
                ("    env->tick = 0;\n", "    env->tick = 0;\n    env->rng = env->rng * 5 + 1;\n"
                 "    env->list = realloc(env->list, 4 << (env->rng >> 29));\n"),
                ("c_close(Probe* env) { (void)env; }", f"c_close(Probe* env) {{ {close} }}"),
                ("#include <stdbool.h>", "#include <stdbool.h>\n#include <stdlib.h>"))
    found = play(env, "memory", envs=2, repeat=64, steps=64)
    assert {leak.how for leak in found.all(LeakFact)} == leaks


LISTS = (("    int limit;\n", "    int limit;\n    void* list;\n"),
         ("#include <stdbool.h>", "#include <stdbool.h>\n#include <stdlib.h>"))


@pytest.mark.parametrize("step, leaks", [
    # another call gets the block that was freed, at the same address
    ("void* first = malloc(40);\n    free(first);\n    env->list = malloc(40);\n"
     "    free(env->list);\n", set()),
    # only after an action, and before the first long play
    ("if (env->tick == 2 && env->actions[0] == 2) env->list = malloc(40);\n",
     {"close", "resets"})])
def test_blocks_of_steps_belong_to_the_call_that_made_them(probe, play, step, leaks):
    env = probe(*LISTS, ("    env->tick++;\n", f"    env->tick++;\n    {step}"))
    found = play(env, "memory", envs=4, repeat=64, steps=0)
    assert {leak.how for leak in found.all(LeakFact)} <= leaks
    assert bool(found.all(LeakFact)) == bool(leaks)


@pytest.mark.parametrize("status, timed_out, number", [
    (0, False, 0), (3, False, 0), (-11, False, 11), (-9, True, 0)])
def test_the_signal_that_ended_an_experiment(status, timed_out, number, tmp_path):
    """One that we ended for its time had none of its own."""
    (tmp_path / "errors").write_text("")
    outcome = driver.Runner._outcome(None, "run", tmp_path / "facts", tmp_path / "errors",
                                     tmp_path / "asan", status, timed_out)
    assert (outcome.signal, outcome.timed_out) == (number, timed_out)


@pytest.mark.parametrize("shown, seen", [("env->card", True), ("env->tick", False)])
def test_a_secret_is_told_by_the_first_who_saw_it(probe, play, shown, seen):
    """Not by the agent whose it is: that is the first one."""
    env = probe(("    int tick;\n", "    int tick, card;\n"),
                ("    env->tick = 0;\n", "    env->tick = 0;\n    env->rng = env->rng * 5 + 1;\n"
                 "    env->card = 10 + (int)(env->rng >> 28);\n"),
                (STEP, "        env->observations[2 * a] = a == 0 ? env->card : env->tick;\n"
                 f"        env->observations[2 * a + 1] = a == 0 ? env->card : {shown};\n"),
                ini="[env]\nlimit = 4\nnum_agents = 2\n")
    place = read.read(env).layout.find("card").offset
    (found,) = play(env, "private", agents=2, envs=2, steps=64, private=f"0:-1:{place}:4").all(
        SecretFact)
    assert found.tests > 3 and (found.leaks > found.tests / 2 if seen else found.leaks == 0)
    assert (found.seer, found.element) == ((1, 1) if seen else (0, 0))
    assert (found.step > 0) is seen


def test_an_experiment_whose_check_has_ended_does_not_begin(probe, play, monkeypatch):
    """As if check had ended before the program could ask to be told."""
    process = subprocess.Popen(["true"])
    process.wait()
    env = probe()
    spec, settings = header.read(env), config.resolve(env)
    monkeypatch.setattr(header, "read", lambda folder: spec)
    monkeypatch.setattr(config, "resolve", lambda *given: settings)
    monkeypatch.setattr(os, "getpid", lambda: process.pid)
    with pytest.raises(AssertionError):             # it says nothing, not even that it has ended
        play(env, "memory", envs=1, steps=64)
    monkeypatch.undo()
    play(env, "memory", envs=1, steps=64)


def test_a_step_that_moves_nothing_owes_no_observation(probe, play):
    """A count of steps is no move."""
    env = probe((STEP, "        if (env->actions[a] == 2) {\n"
                 "            env->limit = -1 - env->limit;\n"
                 "            env->observations[0] = env->observations[1] = env->limit;\n"
                 "        }\n"),
                ("env->tick == env->limit", "0"), ("env->tick >= env->limit", "0"))
    (row,) = play(env, "rewrite", envs=4, steps=200).all(RowFact)
    assert row.blank > 100 and row.full > 100 and row.blank_moved == 0


def test_few_of_many_forgotten_observations_are_played_on(probe, play):
    """The first, the second, the fourth, ...: each costs two forks of 48 steps."""
    env = probe((STEP, "        env->limit = -1 - env->limit;\n        if (env->tick % 2)\n"
                 "            env->observations[0] = env->observations[1] = env->limit;\n"),
                ("env->tick == env->limit", "0"), ("env->tick >= env->limit", "0"))
    (row,) = play(env, "rewrite", envs=2, steps=200).all(RowFact)
    assert row.blank_moved > 100 and 4 <= row.tried <= 10


def test_bytes_have_a_least_and_a_largest(probe, play, tmp_path):
    env = probe(("float* observations", "unsigned char* observations"))
    path = tmp_path / "run.samples"
    play(env, "run", envs=2, steps=64, samples=path)
    low, high = np.fromfile(path, np.float32, count=4).reshape(2, 2)
    assert low.tolist() == [0, 0] and high.tolist() == [3, 2]


MASKED = (("    float* terminals;\n", "    float* terminals;\n    unsigned char* action_mask;\n"),
          ("#define ACT_SIZES {3}", "#define ACT_SIZES {4}"),
          ("void c_reset(Probe* env) {\n",
           "static void mask(Probe* env) {\n"
           "    for (int i = 0; i < 4; i++) env->action_mask[i] = i / 2 == env->tick % 2;\n}\n\n"
           "void c_reset(Probe* env) {\n"),
          ("    env->tick = 0;\n", "    env->tick = 0;\n    mask(env);\n"),
          ("    env->tick++;\n", "    env->tick++;\n    mask(env);\n"))


@pytest.mark.parametrize("shown, alike", [("env->actions[a]", []),
                                          ("(int)env->actions[a] / 2", [[0, 1], [2, 3]])])
def test_actions_that_no_mask_allows_together_are_not_compared(probe, play, shown, alike):
    """Bids and then moves of one head: 0 and 1 on even ticks, 2 and 3 on the others."""
    env = probe(*MASKED, ("env->observations[2 * a + 1] = env->actions[a]",
                          f"env->observations[2 * a + 1] = {shown}"),
                ("env->rewards[a] += env->actions[a];", "env->rewards[a] = 0;"))
    (effect,) = play(env, "effect", envs=2, steps=400).all(EffectFact)
    assert [pair[:2] for pair in effect.same if pair[2] > 0] == alike
    assert not effect.never


LOSES = (("    float score;\n", "    float score;\n    float episode_length;\n"),
         ("    int tick;\n", "    int tick, total;\n"),
         ("env->terminals[a] += env->tick == env->limit;",
          "env->terminals[a] = env->tick == env->limit;"))


@pytest.mark.parametrize("entry, summed, own, all_of_them", [
    ("env->log.episode_length += env->tick; env->log.n += env->rng % 4 == 0;", True, 0, 40),
    ("if (env->rng % 4 == 0) { env->log.episode_length += env->tick; env->log.n += 1; }",
     False, 40, 0),
    ("env->total += env->tick; if (env->rng % 4 == 0) {\n"     # a game of several lives
     " env->log.episode_length += env->total; env->log.n += 1; env->total = 0; }", False, 0, 40)])
def test_endings_without_an_entry(probe, play, entry, summed, own, all_of_them):
    """One ending of four makes an entry."""
    env = probe(*LOSES, ("        env->log.score += env->tick;\n        env->log.n += 1;\n",
                         f"        env->rng += 1;\n        {entry}\n"))
    outcome = play(env, "run", envs=4, steps=700, log_length=1)
    assert outcome.first(RunFact).terminals == 700
    (found,) = outcome.all(OmittedFact)
    assert (found.endings, found.partial, found.elsewhere) == (700, 0, 0)
    assert 520 <= found.unlogged <= 530 and found.summed == (found.unlogged if summed else 0)
    assert found.after >= 160 and found.own >= 4 * own and found.all >= 4 * all_of_them
    assert min(found.own, found.all) == 0


ONE_BY_ONE = (("void c_reset", "void init(Probe* env) { env->num_agents = 2; }\nvoid c_reset"),
              ("    float score;\n", "    float score;\n    float episode_return;\n"),
              ("    int tick;\n", "    int tick, ends; float paid[2];\n"),
              ("env->rewards[a] += env->actions[a];",
               "env->rewards[a] = 1.0f + env->actions[a]; env->paid[a] += env->rewards[a];"),
              ("env->terminals[a] += env->tick == env->limit;",
               "env->terminals[a] = env->tick == 2 + a; if (env->terminals[a]) ENDS"))


@pytest.mark.parametrize("kept, left", [("1", 0), ("env->ends % 3 == 0", 936)])
def test_agents_that_end_one_by_one(probe, play, kept, left):
    """An entry of each ending, or of each third."""
    entry = (f"{{ env->ends++; if ({kept}) {{ env->log.episode_return += env->paid[a];"
             " env->log.n += 1; } env->paid[a] = 0.0f; }")
    env = probe(*ONE_BY_ONE, ("ENDS", entry), (
        "        env->log.score += env->tick;\n        env->log.n += 1;\n", ""))
    found = play(env, "run", envs=4, agents=2, steps=700, log_return=1).first(OmittedFact)
    assert found.partial and not found.others
    assert abs(found.left - left) <= 8 and abs(found.theirs + found.left - 1400) <= 8
