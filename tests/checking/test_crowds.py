"""Time and memory of a check are bounded by the size of a row and of what an env holds."""
from __future__ import annotations

import threading
import time

import pytest
from helpers.short_or_long import long_only, some_or_all

from puffer_sdk.checking.check import check
from puffer_sdk.checking.collect.c import driver, variants
from puffer_sdk.checking.collect.c.driver import TOGETHER, Runner
from puffer_sdk.checking.collect.c.sizes import FEWEST, Sizes
from puffer_sdk.checking.core import facts

# Nobody writes element 2; c_reset leaves element 1 of every second sheep, which c_step writes
FLOCK = """#include <stdlib.h>
#define OBS_SIZE 3
#define NUM_ATNS 1
#define ACT_SIZES {2}
#define SHEEP 24
typedef struct Log { float perf, score, episode_return, episode_length, n; } Log;
typedef struct Flock {
    Log log;
    float* observations; // OBS_SIZE
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int tick, place[SHEEP];
} Flock;
void init(Flock* f) { f->num_agents = SHEEP; }
static void observe(Flock* f, int all) {
    for (int i = 0; i < SHEEP; i++) {
        f->observations[3 * i] = f->place[i] / 64.0f;
        if (all || i % 2 == 0) f->observations[3 * i + 1] = f->tick / 32.0f;
    }
}
void c_reset(Flock* f) {
    f->tick = 0;
    for (int i = 0; i < SHEEP; i++) f->place[i] = rand_r(&f->rng) % 32;
    observe(f, 0);
}
void c_step(Flock* f) {
    int over = ++f->tick == 32;
    for (int i = 0; i < SHEEP; i++) {
        f->place[i] += (int)f->actions[i];
        f->rewards[i] = f->actions[i];
        f->terminals[i] = over;
        f->log.score += f->rewards[i] / SHEEP;
        f->log.episode_return += f->rewards[i] / SHEEP;
    }
    if (over) {
        f->log.perf += 0.5f;
        f->log.episode_length += 32;
        f->log.n += 1;
        c_reset(f);
        return;
    }
    observe(f, 1);
}
void c_render(Flock* f) { (void)f; }
void c_close(Flock* f) { (void)f; }
"""


@pytest.mark.parametrize("told", some_or_all([facts.TOLD, 12], 1))
def test_of_a_crowd_few_agents_are_told_and_the_same_is_found(monkeypatch, tmp_path, told):
    """Elements of others count with theirs: 4 of 24 sheep are told."""
    monkeypatch.setattr(facts, "TOLD", told)
    folder = tmp_path / "flock"
    folder.mkdir()
    (folder / "flock.h").write_text(FLOCK)
    result = check(folder, prove=False, budget=0.05)
    found = {(one.code, one.element, one.severity) for one in result.findings
             if one.code in ("PUF301", "PUF302")}
    assert found == {("PUF301", 2, "error"), ("PUF302", 1, "error")}
    never = next(one for one in result.findings if one.code == "PUF301")
    assert never.agent is None                  # of every agent


TWINS = ("poison", "stale", "columns", "rewrite", "fresh")
WOLF = FLOCK.replace("    f->tick = 0;\n", "")      # an episode depends on those before it


def told_by_twins(folder, monkeypatch):
    """What experiments on two batches find, and how many processes they were."""
    seen = {}
    run = Runner.run

    def watched(self, name, *words, **options):
        outcome = run(self, name, *words, **options)
        if name in TWINS:
            seen[name] = [str(fact) for fact in outcome.facts if fact.kind != "loaded"]
            assert outcome.ended
        return outcome

    monkeypatch.setattr(Runner, "run", watched)
    result = check(folder, prove=False, budget=0.05)
    monkeypatch.setattr(Runner, "run", run)
    assert set(seen) == set(TWINS)
    return seen, [(one.code, one.element, one.line, one.message) for one in result.findings]


@pytest.mark.parametrize("text", some_or_all(
    [FLOCK, WOLF], 0), ids=some_or_all(["flock", "wolf"], 0))
def test_twins_that_share_large_tables_tell_the_same(monkeypatch, tmp_path, text):
    """Where an env holds much, the second batch is a fork of the first one."""
    folder = tmp_path / "flock"
    folder.mkdir()
    (folder / "flock.h").write_text(text)
    apart = told_by_twins(folder, monkeypatch)
    monkeypatch.setattr(driver, "TABLES", -1)
    assert told_by_twins(folder, monkeypatch) == apart


@long_only
def test_a_play_is_ended_by_what_it_computes_not_by_the_clock(monkeypatch, tmp_path):
    """With twice as many sheep, c_reset does not return: the play gets BRIEF seconds."""
    folder = tmp_path / "flock"
    folder.mkdir()
    text = FLOCK.replace("int tick, place", "int full, tick, place")
    (folder / "flock.h").write_text(text.replace(
        "    f->tick = 0;\n", "    while (f->full > 5) f->rng++;\n    f->tick = 0;\n"))
    (folder / "flock.ini").write_text("[env]\nfull = 4\n")
    ended = {}
    run = Runner.run

    def watched(self, name, *words, **options):
        outcome = run(self, name, *words, **options)
        ended[name] = outcome
        return outcome

    monkeypatch.setattr(Runner, "run", watched)
    check(folder, prove=False, budget=0.05)
    over = [one for name, one in ended.items() if "-full-" in name and one.timed_out]
    assert over and all(variants.BRIEF <= one.computed < 2 * variants.BRIEF for one in over)
    assert not any(one.timed_out for name, one in ended.items() if "-full-" not in name)


def test_the_least_number_of_steps_has_a_limit():
    """512 steps of a cheap env; of one whose step takes 2 ms, what fits into four times as long."""
    cheap = Sizes(1, 8, 32, 1e-6, 1e-6, 1e-6, 1.0)
    slow = Sizes(1024, 1 << 20, 1 << 20, 2e-3, 1e-3, 1e-3, 1.0)
    assert cheap.steps(8, 4096, 0.003, least=512) == 512
    assert slow.steps(2, 4096, 0.1, least=512) == 64
    assert slow.steps(2, 4096, 0.001, least=512) == FEWEST
    assert slow.steps(2, 4096, 4.0, least=512) == 512


def test_experiments_that_hold_much_wait_for_each_other(monkeypatch, tmp_path):
    runner = Runner(None, tmp_path, 0, {}, {}, 1.0, {})
    now, most = [0], [0]

    def one(*words, **more):
        now[0] += 1
        most[0] = max(most[0], now[0])
        time.sleep(0.05)
        now[0] -= 1

    monkeypatch.setattr(runner, "_run", one)
    for held, together in ((TOGETHER // 2, 2), (2 * TOGETHER, 1)):
        runner.leave_room(held)
        most[0] = 0
        threads = [threading.Thread(target=runner.run, args=("a", None, None, "run"))
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert most[0] == together
