"""PUF401 and 502 where another function than c_reset begins the episodes of play."""
from __future__ import annotations

import pytest
from helpers.check_fixtures import short_check
from helpers.short_or_long import some_or_all

GAME = """#pragma once
#define OBS_SIZE 2
#define ACT_SIZES {3}
typedef struct { float score, episode_return, episode_length, n; } Log;
typedef struct {
    Log log;
    float *observations, *actions, *rewards, *terminals;
    int num_agents;
    unsigned int rng, own;
    int place, goal, tick;
} Lift;
static int drawn(Lift* e) {
    e->own = e->own * 1664525u + 1013904223u;
    return (int)(e->own >> 16) % 8;
}
static void observe(Lift* e) {
    e->observations[0] = (float)e->place / 8.0f;
    e->observations[1] = (float)e->goal / 8.0f;
}
static void begin(Lift* e) {
    e->place = drawn(e);
    e->goal = drawn(e);
    e->tick = 0;
}
void c_reset(Lift* e) {         // the game's own generator begins at the seed of the env
    e->own = e->rng + 1u;
    begin(e);
    observe(e);
}
void c_step(Lift* e) {
    e->tick++;
    e->place += (int)e->actions[0] - 1;
    e->place = e->place < 0 ? 0 : e->place > 7 ? 7 : e->place;
    int there = e->place == e->goal;
    e->rewards[0] = (float)there;
    e->terminals[0] = there || e->tick == 32;
    if (e->terminals[0] > 0.0f) {
        e->log.score += (float)there;
        e->log.episode_return += (float)there;
        e->log.episode_length += (float)e->tick;
        e->log.n += 1.0f;
        BEGIN
    }
    observe(e);
}
void c_render(Lift* e) { (void)e; }
void c_close(Lift* e) { (void)e; }
"""


@pytest.mark.parametrize("line, found", some_or_all([
    pytest.param("begin(e);", False, id="resets"),      # some episodes last one step: tick was 0
    pytest.param("if (there) { begin(e); } else { e->tick = 31; }", True, id="out-of-time"),
    pytest.param("e->place = drawn(e);", True, id="never"),
    pytest.param("begin(e); e->tick = there ? 1 : 0;", True, id="count"),   # the count alone stays
], 0, 1, 3))
def test_words_that_endings_bring_home_tell_a_reset(line, found, tmp_path):
    folder = tmp_path / "lift"
    folder.mkdir()
    (folder / "lift.h").write_text(GAME.replace("BEGIN", line))
    told = {f.code for f in short_check(folder).findings}
    assert ("PUF401" in told) is found
    assert "PUF502" not in told         # c_reset puts the seed back, but play does not call it


def test_openings_of_c_reset_count_where_play_calls_it(tmp_path):
    folder = tmp_path / "lift"
    folder.mkdir()
    (folder / "lift.h").write_text(GAME.replace("BEGIN", "c_reset(e);"))
    assert [f.code for f in short_check(folder).findings] == ["PUF502"]
