/* env_program.h -- the kernels of an environment that is compiled for a GPU.
 *
 * The program is one file: the author's header, the binding, then these kernels. Each
 * takes one EnvsArgs by value; a thread is an env, number first + blockIdx.x * blockDim.x +
 * threadIdx.x, and threads past first + count do nothing. On the emulated device the program is a
 * shared library whose functions of the same names take (const EnvsArgs*, blocks, threads).
 *
 *     puffer_envs_facts   one thread: fills facts
 *     puffer_envs_start   zeroed struct, rng, num_agents, settings, my_init, buffers,
 *                         c_reset, clear; alive is 1 where the env does not say otherwise
 *     puffer_envs_step    clears rewards, terminals, truncations and has_final of the env's rows,
 *                         then c_step, which fills in final_observations and alive
 *     puffer_envs_log     logs[env] gets the env's Log as doubles, and the Log is cleared
 *     puffer_envs_close   c_close
 *
 * Envs from the faulty one on are not called any more.
 * On the emulated device there is also void puffer_envs_heap(uint64_t bytes): what malloc of this
 * program may take in all; without a call, what the machine has.
 */
#pragma once
#include <stdint.h>

#define ENV_KEY_SIZE 64

typedef struct EnvSetting {    // one key of [env]
    char key[ENV_KEY_SIZE];
    double value;
} EnvSetting;

typedef struct EnvFacts {
    int64_t env_bytes;    // sizeof(Env)
    int32_t obs_bytes;    // of one element
    int32_t num_atns, mask_size, has_truncations, has_final_obs, has_alive;
    int32_t log_fields;     // floats in a Log, n the last
    int32_t recurses;       // 1: functions call themselves, so a thread's stack has no known size
    int64_t spare_bytes;    // of each of EnvsArgs' spares; 0: none is needed
} EnvFacts;

enum {                      // what went wrong in an env
    ENV_MISSING_KEY = 1,    // my_init asked for a key that [env] lacks
    ENV_AGENTS,             // num_agents, or max_agents, differs from the host's
    ENV_SIZES,              // OBS_SIZE is another
    ENV_MEMORY,             // malloc had nothing left
    ENV_ABORT               // assert, abort or exit
};

typedef uint64_t EnvFault;    // env << 8 | what; the least is kept; ~0: none

typedef struct EnvsArgs {
    int32_t first, count;    // envs
    int32_t obs_size;        // D
    int32_t settings_count;
    void* envs;                    // (num_envs) structs
    uint32_t* rand_states;         // [num_envs] before start: seeds. Also behind rand()
    const int64_t* first_row;      // [num_envs + 1]
    void* observations;            // (N, D), and all agents' rows in each of these
    float* actions;                // (N, K)
    float* rewards;                // (N)
    float* terminals;              // (N)
    float* truncations;            // (N)
    uint8_t* action_mask;          // (N, A), or NULL
    void* final_observations;      // (N, D) what a truncated episode ended with, where
    uint8_t* has_final;            // (N) is 1. NULL where has_final_obs is 0
    uint8_t* alive;                // (N) 0: no agent now. NULL where has_alive is 0
    void* spares;                  // (num_envs) room for a copy of each struct, or NULL
    uint8_t* spare_marks;          // (N, A + 1) and of its agents' action_mask and alive, or NULL
    const EnvSetting* settings;    // [settings_count]
    double* logs;                  // (num_envs, log_fields)
    EnvFacts* facts;
    EnvFault* fault;
} EnvsArgs;
