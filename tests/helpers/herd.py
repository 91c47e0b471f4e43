"""`herd`, a variable number of agents: with max_agents, with `alive`, or with both.

    folder = write_herd(tmp_path, KINDS["both"])
    with open_vec(folder) as vec: ...
"""
from __future__ import annotations

from puffer_sdk.env import build
from puffer_sdk.env.job import EnvJob
from puffer_sdk.env.vec import VecEnv
from puffer_sdk.settings import config

# Agents join and leave with num_agents (0 to `most`), or are marked in `alive`, or both. What no
# agent owns is filled with NaN, which would spoil whatever read it
HEADER = """#pragma once
#include <math.h>
#include <stdlib.h>
#define OBS_SIZE 3
#define ACT_SIZES {3}
typedef struct Log { float score; float episode_return; float n; } Log;
typedef struct Herd {
    Log log;
    float *observations, *actions, *rewards, *terminals;
    @FIELDS@
    unsigned int rng;
    int num_agents, most, tick;
    float x[16];
} Herd;
static int chance(Herd* env, int of) {
    env->rng = env->rng * 1664525u + 1013904223u;
    return (int)((env->rng >> 16) % (unsigned int)of);
}
void init(Herd* env) { @INIT@ }
static int lives(Herd* env, int i) { return @LIVES@; }
static void observe(Herd* env) {
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < 3; j++)
            env->observations[3 * i + j] = lives(env, i) ? env->x[i] * (float)j : NAN;
}
static void join(Herd* env) {
    @JOIN@
}
void c_reset(Herd* env) {
    for (int i = 0; i < 16; i++) env->x[i] = 0.1f * (float)chance(env, 10);
    env->tick = 0;
    join(env);
    observe(env);
}
void c_step(Herd* env) {
    env->tick++;
    for (int i = 0; i < ROWS; i++) {
        int id = (int)env->actions[i];
        env->rewards[i] = lives(env, i) ? (id == (env->x[i] > 0.5f) ? 1.0f : 0.0f) : NAN;
        env->terminals[i] = 0.0f;
        if (lives(env, i)) env->log.score += env->rewards[i];
        else if (id != 0) abort();     // nobody acts here
    }
    for (int i = 0; i < 16; i++) env->x[i] = 0.1f * (float)chance(env, 10);
    join(env);
    if (env->tick % 7 == 0) {
        env->log.n += 1.0f;
        for (int i = 0; i < ROWS; i++) env->terminals[i] = 1.0f;
    }
    observe(env);
}
void c_render(Herd* env) { (void)env; }
void c_close(Herd* env) { (void)env; }
"""
MAX = {"@FIELDS@": "int max_agents;", "@LIVES@": "i < env->num_agents", "ROWS": "env->max_agents",
       "@INIT@": "if (env->max_agents < env->most) env->max_agents = env->most;",
       "@JOIN@": "env->num_agents = chance(env, env->most + 1);"}
ALIVE = {"@FIELDS@": "unsigned char* alive;", "@LIVES@": "env->alive[i]", "ROWS": "env->num_agents",
         "@INIT@": "env->num_agents = env->most;",
         "@JOIN@": "for (int i = 0; i < env->most; i++) "
                   "env->alive[i] = (unsigned char)chance(env, 2);"}
BOTH = {**MAX, "@FIELDS@": "int max_agents; unsigned char* alive;",
        "@LIVES@": "i < env->num_agents && env->alive[i]",
        "@JOIN@": MAX["@JOIN@"] + ALIVE["@JOIN@"]}
KINDS = {"max_agents": MAX, "alive": ALIVE, "both": BOTH}


def write_herd(folder, kind):
    folder = folder / "herd"
    folder.mkdir()
    text = HEADER
    for name, value in kind.items():
        text = text.replace(name, value)
    (folder / "herd.h").write_text(text)
    (folder / "herd.ini").write_text(
        "[base]\nenv_name = herd\n[env]\nmost = 6\n[vec]\ntotal_agents = 48\n"
        "[policy]\nhidden_size = 16\nnum_layers = 1\n"
        "[train]\nhorizon = 8\nminibatch_size = 96\ntotal_timesteps = 7680\n")
    return folder


def open_vec(folder, settings=None, **options):
    built = build.build(folder)
    resolved = config.resolve(folder, settings or {}, spec=built.spec)
    return VecEnv(EnvJob.of(built, resolved).open(), env_settings=resolved.env,
                  **{"total_agents": 48, "seed": 3, **options})
