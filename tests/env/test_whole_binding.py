"""An environment that is one binding.c: its functions stand below vecenv.h."""
import numpy as np
import pytest

import puffer_sdk
from puffer_sdk.env import header

BINDING = """\
#include <stdint.h>
#include <stdlib.h>
typedef struct { float steps; float n; } StrollLog;
typedef struct {
    StrollLog log;
    uint8_t* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int at;
} Stroll;

#define OBS_SIZE 1
#define NUM_ATNS 1
#define ACT_SIZES {2}
#define OBS_TENSOR_T ByteTensor
#define Env Stroll
#define Log StrollLog
void c_reset(Env* env);
void c_step(Env* env);
void c_render(Env* env);
void c_close(Env* env);
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    (void)kwargs;
    env->num_agents = 1;
}

void my_log(Log* log, Dict* out) { dict_set(out, "steps", log->steps); }

static void look(Env* env) { env->observations[0] = (uint8_t)env->at; }

void c_reset(Env* env) {
    env->at = 3;
    look(env);
}

void c_step(Env* env) {
    env->at += (int)env->actions[0];
    env->terminals[0] = env->at == 5;
    if (env->at == 5) {
        env->log.steps += 2;
        env->log.n++;
        c_reset(env);
    }
    look(env);
}

void c_render(Env* env) { (void)env; }
void c_close(Env* env) { (void)env; }
"""


@pytest.fixture
def stroll(tmp_path):
    folder = tmp_path / "stroll"
    folder.mkdir()
    (folder / "binding.c").write_text(BINDING)
    return folder


def test_it_plays(stroll):
    with puffer_sdk.make(stroll, num_envs=2) as vec:
        assert vec.reset().tolist() == [[3], [3]]
        seen = [(int(vec.step(np.ones((2, 1)))[0][0, 0]), int(vec.terminals[0])) for _ in range(3)]
        assert seen == [(4, 0), (3, 1), (4, 0)]
        assert vec.log()["steps"] == 2


def test_nothing_looks_once_more_for_a_c_reset_that_vecenv_calls_by_its_name(stroll):
    spec = header.read(stroll)
    assert (spec.final_obs, spec.no_final_obs) == (None, "c_reset is defined below vecenv.h")
    assert [field.name for field in spec.log_fields] == ["steps", "n"]
