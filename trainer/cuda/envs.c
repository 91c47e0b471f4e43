/* envs.c -- envs that play on the GPU.  a program, settings, seeds -> rows that a slice infers from
 *
 * A program is an env's C code as kernels (env_program.h). Each slice has copies of its own envs,
 * which read its actions and write its observations, rewards and masks where the network's kernels
 * expect them: nothing of a tick passes through the host. Faults and logs are downloaded at the end
 * of a rollout. */
#include "internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENV_THREADS 32    // of a block: envs diverge, small blocks spread over the GPU
#define NO_FAULT    (~(EnvFault)0)
#define MOST_STACK  ((size_t)64 << 10)    // bytes of a thread that recurses

static const char* const kernel_names[ENVS_KERNELS] = {ENVS_PREFIX "facts", ENVS_PREFIX "start",
                                                       ENVS_PREFIX "step", ENVS_PREFIX "log",
                                                       ENVS_PREFIX "close"};

// ---- the program -------------------------------------------------------------------------------

static int32_t open_program(Rank* rank, const char* path, Error* error) {
    char text[PUFFER_ERROR_SIZE];
    rank->program = program_open(rank->device, path, text);
    if (!rank->program) return fail_as(error, error_kind(device_fault(rank->device)), "%s", text);
    for (int i = 0; i < ENVS_KERNELS; i++) {
        rank->env_kernels[i] = program_kernel(rank->program, kernel_names[i]);
        if (rank->env_kernels[i] < 0)
            return fail(error, "the program has no kernel %s\t%s", kernel_names[i], path);
    }
    return 0;
}

// Once, unless the program changed
static int32_t open_programs(PufferTrainer* trainer, const char* path, Error* error) {
    if (trainer->program_path && !strcmp(trainer->program_path, path)) return 0;
    free(trainer->program_path);
    trainer->program_path = NULL;
    trainer->env_room = trainer->setting_room = 0;    // structs have another size
    EACH_RANK(trainer, rank)
        if (open_program(rank, path, error)) return -1;
    trainer->program_path = malloc(strlen(path) + 1);
    if (!trainer->program_path)
        return fail_as(error, PUFFER_TRAINER_OUT_OF_MEMORY,
                       "there is no memory for the program's path");
    memcpy(trainer->program_path, path, strlen(path) + 1);
    trainer->allocations++;
    return 0;
}

static int32_t read_facts(PufferTrainer* trainer, Error* error) {
    Rank* rank = trainer->ranks;
    EnvsArgs args = {.facts = rank->env_facts};
    stream_call(rank->stream, rank->program, rank->env_kernels[ENVS_FACTS], &args, sizeof args, 1,
                1);
    stream_download(rank->stream, &trainer->env_facts, rank->env_facts, sizeof(EnvFacts));
    return stream_wait(rank->stream) ? device_failed(trainer, error) : 0;
}

static int32_t check_facts(const PufferTrainer* trainer, Error* error) {
    const PufferTrainerConfig* config = &trainer->config;
    const EnvFacts* facts = &trainer->env_facts;
    const struct {
        const char* what;
        int32_t there, here;
    } all[] = {{"bytes of an observation's element", facts->obs_bytes,
                config->obs_dtype == PUFFER_U8 ? 1 : 4},
               {"heads", facts->num_atns, trainer->K},
               {"bytes of an action mask", facts->mask_size, config->has_masks ? trainer->A : 0},
               {"final observations of an episode", facts->has_final_obs, config->has_final_obs},
               {"bytes that say whether an agent lives", facts->has_alive, config->has_alive},
               {"floats of a Log", facts->log_fields, trainer->envs.api->log_fields()}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].there != all[i].here)
            return fail(error,
                        "the program for the GPU is of another environment: %d %s, not %d"
                        "\t%s",
                        all[i].there, all[i].what, all[i].here, trainer->program_path);
    return 0;
}

// ---- memory ------------------------------------------------------------------------------------

static void plan_copies(const PufferTrainer* trainer, Rank* rank, Copies* copies) {
    Arena *memory = &rank->env_memory, *pinned = &rank->env_pinned;
    int64_t room = trainer->env_room, fields = trainer->env_facts.log_fields;
    ARENA_ADD(memory, copies->structs, room * trainer->env_facts.env_bytes);
    copies->spares = NULL;
    copies->spare_marks = NULL;
    if (trainer->env_facts.spare_bytes) {
        ARENA_ADD(memory, copies->spares, room * trainer->env_facts.spare_bytes);
        if (trainer->env_facts.mask_size || trainer->env_facts.has_alive)
            ARENA_ADD(memory, copies->spare_marks,
                      trainer->R * (int64_t)(trainer->env_facts.mask_size + 1));
    }
    ARENA_ADD(memory, copies->rand_states, room);
    ARENA_ADD(memory, copies->first_row, room + 1);
    ARENA_ADD(memory, copies->logs, room * fields);
    ARENA_ADD(memory, copies->fault, 1);
    ARENA_ADD(pinned, copies->logs_here, room * fields);
    ARENA_ADD(pinned, copies->fault_here, 1);
}

// The device keeps an outgrown block until it is closed: so room grows by a quarter each time
static int32_t grown(int32_t room, int32_t needed) {
    int32_t more = room + room / 4;
    return room && more > needed ? more : needed;
}

static int32_t take_room(PufferTrainer* trainer, Error* error) {
    int32_t envs = 0, settings = trainer->envs.settings->count;
    for (int i = 0; i < trainer->config.num_buffers; i++)
        if (trainer->all_slices[i].envs > envs) envs = trainer->all_slices[i].envs;
    if (envs <= trainer->env_room && settings <= trainer->setting_room) return 0;
    trainer->env_room = envs > trainer->env_room ? grown(trainer->env_room, envs)
                                                 : trainer->env_room;
    trainer->setting_room = settings > trainer->setting_room ? settings : trainer->setting_room;
    EACH_RANK(trainer, rank) {
        Arena *memory = &rank->env_memory, *pinned = &rank->env_pinned;
        free(memory->spans);
        free(pinned->spans);
        *memory = *pinned = (Arena){0};
        for (int i = 0; i < trainer->slices; i++)
            plan_copies(trainer, rank, &rank->slices[i].copies);
        ARENA_ADD(memory, rank->env_settings, trainer->setting_room);
        if (rank == trainer->ranks)
            ARENA_ADD(pinned, trainer->log_sums, trainer->env_facts.log_fields);
        if (arena_take(rank, memory, device_memory, error)
            || arena_take(rank, pinned, device_pinned, error)) {
            trainer->env_room = 0;
            return -1;
        }
    }
    return 0;
}

// Of an eighth of the memory that is left
static void take_stack(PufferTrainer* trainer) {
    trainer->stack = 0;
    if (!trainer->env_facts.recurses) return;
    EACH_RANK(trainer, rank) {
        DeviceFacts facts;
        device_facts(rank->device, &facts);
        int64_t stack = device_stack(rank->device, MOST_STACK, (size_t)facts.unused / 8);
        if (rank == trainer->ranks || stack < trainer->stack) trainer->stack = stack;
    }
}

// ---- calls -------------------------------------------------------------------------------------

static void call(Slice* slice, int kernel) {
    const PufferTrainer* trainer = slice->rank->trainer;
    const Copies* copies = &slice->copies;
    const EnvsArgs args = {.first = 0,
                           .count = slice->envs,
                           .obs_size = trainer->D,
                           .settings_count = trainer->setting_count,
                           .envs = copies->structs,
                           .rand_states = copies->rand_states,
                           .first_row = copies->first_row,
                           .observations = slice->obs,
                           .actions = slice->actions,
                           .rewards = slice->there.rewards,
                           .terminals = slice->there.terminals,
                           .truncations = slice->there.truncations,
                           .action_mask = slice->there.mask,
                           .final_observations = slice->final_obs,
                           .has_final = slice->there.has_final,
                           .alive = slice->there.alive,
                           .spares = copies->spares,
                           .spare_marks = copies->spare_marks,
                           .settings = slice->rank->env_settings,
                           .logs = copies->logs,
                           .facts = slice->rank->env_facts,
                           .fault = copies->fault};
    stream_call(slice->stream, slice->rank->program, slice->rank->env_kernels[kernel], &args,
                sizeof args, (slice->envs + ENV_THREADS - 1) / ENV_THREADS, ENV_THREADS);
}

void envs_step(Slice* slice) { call(slice, ENVS_STEP); }

static void fetch_fault(Slice* slice) {
    stream_download(slice->stream, slice->copies.fault_here, slice->copies.fault, sizeof(EnvFault));
}

void envs_collect(Slice* slice) {
    const PufferTrainer* trainer = slice->rank->trainer;
    call(slice, ENVS_LOG);
    stream_download(slice->stream, slice->copies.logs_here, slice->copies.logs,
                    sizeof(double) * (size_t)slice->envs * (size_t)trainer->env_facts.log_fields);
    fetch_fault(slice);
}

// In the order of envs, as the CPU's are added: the same bits however they are cut into slices
void envs_add_logs(PufferTrainer* trainer) {
    int32_t fields = trainer->env_facts.log_fields;
    double* sums = trainer->log_sums;
    memset(sums, 0, sizeof *sums * (size_t)fields);
    for (int i = 0; i < trainer->config.num_buffers; i++) {
        const Slice* slice = &trainer->all_slices[i];
        const double* log = slice->copies.logs_here;
        for (int32_t e = 0; e < slice->envs; e++, log += fields)
            for (int32_t f = 0; f < fields; f++) sums[f] += log[f];
    }
    trainer->envs.api->add_log(trainer->envs.vec, sums);
}

// ---- faults ------------------------------------------------------------------------------------

// stepping: 1 in a rollout, 0 in init, reset and close
static int32_t explain(const PufferTrainer* trainer, int what, int stepping, const char* where,
                       Error* error) {
    if (what == ENV_MEMORY)
        return fail_as(error, stepping ? PUFFER_TRAINER_GPU_STEP_HEAP : PUFFER_TRAINER_GPU_ENV_HEAP,
                       "malloc on the GPU has no memory left: all environments share %lld MiB\t%s",
                       (long long)(trainer->heap >> 20), where);
    const char* text = "an environment on the GPU failed for an unknown reason";
    switch (what) {
    case ENV_MISSING_KEY: text = "an environment on the GPU reads a key that [env] lacks"; break;
    case ENV_AGENTS: text = "an environment's num_agents differs between GPU and CPU"; break;
    case ENV_SIZES: text = "an environment's OBS_SIZE differs between GPU and CPU"; break;
    case ENV_ABORT: text = "an environment on the GPU called assert, abort or exit"; break;
    }
    return fail_as(error, PUFFER_TRAINER_GPU_ENV_FAILED, "%s\t%s", text, where);
}

// The failed env with the lowest number: later ones may have stopped because of it
static int32_t find_fault(const PufferTrainer* trainer, int* what) {
    for (int i = 0; i < trainer->config.num_buffers; i++) {
        const Slice* slice = &trainer->all_slices[i];
        EnvFault fault = *slice->copies.fault_here;
        *what = (int)(fault & 0xff);
        if (fault != NO_FAULT) return slice->first_env + (int32_t)(fault >> 8);
    }
    return -1;
}

int32_t envs_check(const PufferTrainer* trainer, int stepping, const char* when, Error* error) {
    char where[128];
    int what;
    int32_t env = find_fault(trainer, &what);
    if (env < 0) return 0;
    snprintf(where, sizeof where, "env %d, seed %u, %s", env,
             trainer->envs.api->env_seed(trainer->envs.vec, env), when);
    return explain(trainer, what, stepping, where, error);
}

static int32_t await_faults(PufferTrainer* trainer, Error* error) {
    int32_t failed = 0;
    for (int i = 0; i < trainer->config.num_buffers; i++) {
        fetch_fault(&trainer->all_slices[i]);
        failed |= stream_wait(trainer->all_slices[i].stream);
    }
    return failed ? device_failed(trainer, error) : 0;
}

// For the watchdog: the env index is unknown
void envs_watch(PufferTrainer* trainer, int32_t phase) {
    PufferWatch* watch = trainer->envs.watches;
    watch->env = -1;
    watch->step = trainer->envs.ticks + 1;
    watch->pulse = watch->pulse + 1;
    watch->phase = phase;
}

// ---- beginning and end -------------------------------------------------------------------------

static int32_t upload_settings(PufferTrainer* trainer, Error* error) {
    const PufferSettings* given = trainer->envs.settings;
    size_t bytes = sizeof(EnvSetting) * (size_t)given->count;
    trainer->setting_count = given->count;
    EnvSetting* settings = calloc(1, bytes + 1);
    if (!settings)
        return fail_as(error, PUFFER_TRAINER_OUT_OF_MEMORY, "there is no memory for the settings");
    for (int32_t i = 0; i < given->count; i++) {
        if (strlen(given->items[i].key) >= ENV_KEY_SIZE) {
            free(settings);
            return fail(error, "a key of [env] is too long for the GPU: at most %d bytes\t%s",
                        ENV_KEY_SIZE - 1, given->items[i].key);
        }
        strcpy(settings[i].key, given->items[i].key);
        settings[i].value = given->items[i].value;
    }
    EACH_RANK(trainer, rank)
        if (bytes) stream_upload(rank->stream, rank->env_settings, settings, bytes);
    int32_t failed = ranks_wait(trainer, error);
    free(settings);
    return failed;
}

static int32_t start_slice(Slice* slice, Error* error) {
    const PufferTrainer* trainer = slice->rank->trainer;
    const PufferTrainerEnvs* envs = &trainer->envs;
    size_t count = (size_t)slice->envs;
    int64_t* first_row = malloc((count + 1) * sizeof *first_row + count * sizeof(uint32_t));
    if (!first_row)
        return fail_as(error, PUFFER_TRAINER_OUT_OF_MEMORY,
                       "there is no memory for the rows of %d envs", slice->envs);
    uint32_t* seeds = (uint32_t*)(first_row + count + 1);
    for (size_t e = 0; e <= count; e++)
        first_row[e] = envs->first_row[(size_t)slice->first_env + e] - slice->first_row;
    for (size_t e = 0; e < count; e++)
        seeds[e] = envs->api->env_seed(envs->vec, slice->first_env + (int32_t)e);
    Stream* stream = slice->stream;
    stream_upload(stream, slice->copies.first_row, first_row, (count + 1) * sizeof *first_row);
    stream_upload(stream, slice->copies.rand_states, seeds, count * sizeof *seeds);
    stream_fill(stream, slice->copies.fault, 0xff, sizeof(EnvFault));
    stream_fill(stream, slice->there.tick, 0, slice->inbox_bytes);
    stream_fill(stream, slice->actions, 0, sizeof(float) * (size_t)trainer->R * (size_t)trainer->K);
    call(slice, ENVS_START);
    int32_t failed = stream_wait(stream);
    free(first_row);
    return failed ? device_failed(trainer, error) : 0;
}

int32_t envs_start(PufferTrainer* trainer, Error* error) {
    const PufferTrainerEnvs* envs = &trainer->envs;
    if (envs->whole_steps)
        return fail_as(error, PUFFER_TRAINER_GPU_ENV_FAILED,
                       "envs that step all at once cannot play on the GPU\tMY_VEC_STEP");
    if (!envs->settings || !envs->api->log_fields || !envs->api->add_log)
        return fail(error, "envs on the GPU need settings, log_fields and add_log");
    if (open_programs(trainer, envs->program, error) || read_facts(trainer, error)
        || check_facts(trainer, error) || take_room(trainer, error)
        || upload_settings(trainer, error))
        return -1;
    take_stack(trainer);
    int32_t failed = 0;
    envs_watch(trainer, PUFFER_RESET);
    for (int i = 0; i < trainer->config.num_buffers && !failed; i++)
        failed = start_slice(&trainer->all_slices[i], error);
    failed = failed || await_faults(trainer, error);
    envs_watch(trainer, PUFFER_IDLE);
    if (failed || envs_check(trainer, 0, "in init or reset", error)) return -1;
    trainer->playing = 1;
    return 0;
}

// One that failed may be in the middle of anything: its c_close does not know that
int32_t envs_leave(PufferTrainer* trainer, Error* error) {
    if (!trainer->playing) return 0;
    char where[64];
    int what;
    trainer->playing = 0;
    if (find_fault(trainer, &what) >= 0) return 0;
    for (int i = 0; i < trainer->config.num_buffers; i++) call(&trainer->all_slices[i], ENVS_CLOSE);
    if (await_faults(trainer, error)) return -1;
    int32_t env = find_fault(trainer, &what);
    if (env < 0) return 0;
    snprintf(where, sizeof where, "env %d, in close", env);
    return explain(trainer, what, 0, where, error);
}
