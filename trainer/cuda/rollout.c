/* rollout.c -- T ticks of all agents, a slice of them at a time.
 *
 * While the GPU infers one slice, the pool steps the envs of another. A tick of a slice is one
 * captured graph: observations and what the last actions caused go there, actions come back. The
 * host waits once for each slice and tick. Faults are read at the end: until then an env gets 0 for
 * an action that is not finite.
 *
 * Envs on the GPU step after the network, in the same graph; then the host waits only at the end of
 * a rollout.
 *
 * Final observations are kept until the end of the rollout, in slots of their agents. Then the
 * network is run once for each slot that some agent of a slice has filled: not at all, mostly. */
#include "internal.h"
#include <stdio.h>
#include <string.h>

// ---- the GPU's share of a tick ----------------------------------------------------------------

// From slice->wide or narrow to slice->out. state: of the slice's first agent
static void network_calls(Stream* stream, Slice* slice, float* state) {
    const Rank* rank = slice->rank;
    const PufferTrainer* trainer = rank->trainer;
    int R = trainer->R, H = trainer->H, L = trainer->L;
    const uint8_t* waits = rank->waits ? rank->waits + (slice->first_row - rank->first_row) : NULL;
    stream_multiply(stream, rank->tick.encode, 1.0f, operand(slice->wide, slice->narrow),
                    layer_weights(rank, 0, 1), 0.0f, NULL, slice->x);
    if (trainer->narrow)
        EACH(stream, floats_narrow, (int64_t)R * H, FloatsNarrowArgs, .count = R * H, .x = slice->x,
             .narrow = slice->x_narrow);
    for (int l = 0; l < L; l++) {
        stream_multiply(stream, rank->tick.layer, 1.0f, operand(slice->x, slice->x_narrow),
                        layer_weights(rank, 1 + l, 1), 0.0f, NULL, slice->products);
        EACH(stream, gates_step, (int64_t)R * H, GatesStepArgs, .tick = slice->there.tick,
             .rows = R, .H = H, .T = trainer->config.horizon, .lds = L * H,
             .products = slice->products, .x = slice->x, .state = state + (int64_t)l * H,
             .waits = waits, .out = slice->x, .narrow = slice->x_narrow);
    }
    stream_multiply(stream, rank->tick.decode, 1.0f, operand(slice->x, slice->x_narrow),
                    layer_weights(rank, 1 + L, 1), 0.0f, NULL, slice->out);
}

// From observations to actions; at T only to a value
static void act_calls(Rank* rank, Stream* stream, void* about) {
    const PufferTrainer* trainer = rank->trainer;
    const PufferTrainerConfig* config = &trainer->config;
    Slice* slice = about;
    Rollout* out = &rank->rollouts[trainer->turn];
    int R = trainer->R, H = trainer->H, L = trainer->L, T = config->horizon;
    int32_t first = slice->first_row - rank->first_row;
    int64_t widest = (int64_t)L * H > trainer->ldw ? (int64_t)L * H : trainer->ldw;
    const KeptFinalObs* kept_final_obs = &rank->kept_final_obs;
    if (config->has_final_obs)
        EACH(stream, final_obs_keep, R * widest, FinalObsKeepArgs, .tick = slice->there.tick,
             .rows = R, .first = first, .N = trainer->N, .T = T, .D = trainer->D, .size = L * H,
             .slots = trainer->final_slots, .obs_dtype = config->obs_dtype,
             .final_obs = slice->final_obs, .truncations = slice->there.truncations,
             .has_final = slice->there.has_final, .live = out->live, .ended = out->ended,
             .moves = rank->moves, .counts = kept_final_obs->counts, .state = rank->state,
             .kept_obs = kept_final_obs->obs, .kept_state = kept_final_obs->state,
             .kept_ticks = kept_final_obs->ticks);
    EACH(stream, tick_begin, R * widest, TickBeginArgs, .tick = slice->there.tick, .rows = R,
         .first = first, .T = T, .D = trainer->D, .size = L * H, .obs_dtype = config->obs_dtype,
         .reset_state = config->reset_state, .obs = slice->obs, .rewards = slice->there.rewards,
         .terminals = slice->there.terminals, .truncations = slice->there.truncations,
         .has_final = slice->there.has_final, .alive = slice->there.alive, .live = out->live,
         .A = trainer->A, .mask = slice->there.mask, .moves = rank->moves, .waits = rank->waits,
         .slots = trainer->final_slots, .counts = kept_final_obs->counts, .state = rank->state,
         .state0 = out->state0, .stored_obs = out->obs, .stored_rewards = out->rewards,
         .ended = out->ended, .truncated = out->truncated, .ldw = trainer->ldw, .wide = slice->wide,
         .narrow = slice->narrow, .fault = slice->fault);
    network_calls(stream, slice, rank->state + (int64_t)first * L * H);
    EACH(stream, heads_sample, R, HeadsSampleArgs, .tick = slice->there.tick,
         .heads = rank->heads_there, .rows = R, .first = first, .T = T, .ldo = trainer->ldo,
         .out = slice->out, .mask = slice->there.mask, .alive = slice->there.alive,
         .waits = rank->waits, .moves = rank->moves,
         .first_agent = (uint32_t)(config->first_agent + slice->first_row),
         .logstd = rank->acting + trainer->vectors, .actions = slice->actions,
         .stored_actions = out->actions, .logprobs = out->logprobs, .values = out->values,
         .stored_masks = out->masks, .live = out->live, .bootstrap = out->bootstrap,
         .fault = slice->fault);
}

static void tick_calls(Rank* rank, Stream* stream, void* about) {
    const PufferTrainer* trainer = rank->trainer;
    Slice* slice = about;
    stream_upload(stream, slice->there.tick, slice->here.tick, slice->inbox_bytes);
    stream_upload(stream, slice->obs, slice->obs_from, obs_bytes(trainer, trainer->R));
    act_calls(rank, stream, slice);
    stream_download(stream, slice->actions_to, slice->actions,
                    sizeof(float) * (size_t)trainer->R * (size_t)trainer->K);
}

static void play_calls(Rank* rank, Stream* stream, void* about) {
    Slice* slice = about;
    act_calls(rank, stream, slice);
    envs_step(slice);
    EACH(stream, tick_next, 1, TickNextArgs, .tick = slice->there.tick);
}

// The values of one slot, after tick T: no state moves any more
static void value_slot(Slice* slice, int slot) {
    Rank* rank = slice->rank;
    const PufferTrainer* trainer = rank->trainer;
    const KeptFinalObs* kept_final_obs = &rank->kept_final_obs;
    Stream* stream = slice->stream;
    int32_t R = trainer->R, first = slice->first_row - rank->first_row;
    int64_t ldw = trainer->ldw, kept = (int64_t)slot * trainer->N;
    EACH(stream, obs_gather, R * ldw, ObsGatherArgs, .S = R, .T = 1, .D = trainer->D,
         .ldw = trainer->ldw, .obs_dtype = trainer->config.obs_dtype,
         .obs = (const char*)kept_final_obs->obs + obs_bytes(trainer, kept + first),
         .wide = slice->wide, .narrow = slice->narrow);
    network_calls(stream, slice, kept_final_obs->state + (kept + first) * trainer->L * trainer->H);
    EACH(stream, final_values_store, R, FinalValuesStoreArgs, .rows = R, .first = first,
         .T = trainer->config.horizon, .A = trainer->A, .ldo = trainer->ldo, .slot = slot,
         .out = slice->out, .counts = kept_final_obs->counts, .ticks = kept_final_obs->ticks + kept,
         .final_values = rank->rollouts[trainer->turn].final_values, .fault = slice->fault);
}

// ---- the host's share -------------------------------------------------------------------------

static const uint8_t* env_obs(const PufferTrainer* trainer, int64_t row) {
    return (const uint8_t*)trainer->envs.observations + obs_bytes(trainer, row);
}

// Rows of the slice whose env has just moved; [first, first + rows) of all agents
static void hand_over(PufferTrainer* trainer, Slice* slice, int64_t first, int64_t rows) {
    const PufferTrainerEnvs* envs = &trainer->envs;
    int64_t at = first - slice->first_row;
    size_t bytes = sizeof(float) * (size_t)rows;
    memcpy(slice->here.rewards + at, envs->rewards + first, bytes);
    memcpy(slice->here.terminals + at, envs->terminals + first, bytes);
    memcpy(slice->here.truncations + at, envs->truncations + first, bytes);
    if (slice->here.mask)
        memcpy(slice->here.mask + at * trainer->A, envs->action_mask + first * trainer->A,
               (size_t)(rows * trainer->A));
    if (slice->here.has_final)
        memcpy(slice->here.has_final + at, envs->has_final + first, (size_t)rows);
    if (slice->here.alive) memcpy(slice->here.alive + at, envs->alive + first, (size_t)rows);
    if (trainer->direct) return;
    size_t row = (size_t)(env_obs(trainer, 1) - env_obs(trainer, 0));
    memcpy((uint8_t*)slice->obs_copy + (size_t)at * row, env_obs(trainer, first),
           (size_t)rows * row);
}

typedef struct {
    PufferTrainer* trainer;
    Slice* slice;
    int t;
    int32_t parts;
} Step;

static void step_part(void* about, int32_t item, int32_t worker) {
    Step* step = about;
    PufferTrainer* trainer = step->trainer;
    const Slice* slice = step->slice;
    const int64_t* first_row = trainer->envs.first_row;
    int first = slice->first_env + (int)((int64_t)slice->envs * item / step->parts);
    int last = slice->first_env + (int)((int64_t)slice->envs * (item + 1) / step->parts);
    if (last == first) return;
    Worker* clock = &trainer->workers[worker];
    clock->since = clock_now();
    PufferWatch* watch = &trainer->envs.watches[worker];
    watch->step = trainer->envs.ticks + step->t + 1;
    trainer->envs.api->step(trainer->envs.vec, first, last - first, 0, watch);
    mark(clock, PHASE_ENV);
    hand_over(trainer, step->slice, first_row[first], first_row[last] - first_row[first]);
    mark(clock, PHASE_HAND_OVER);
}

static void step_slice(PufferTrainer* trainer, Slice* slice, int t) {
    int32_t most = 2 * trainer->config.threads;
    Step step = {trainer, slice, t,
                 trainer->envs.whole_steps ? 1
                 : slice->envs < most      ? slice->envs
                                           : most};
    if (!trainer->direct)
        memcpy(trainer->envs.actions + (int64_t)slice->first_row * trainer->K, slice->actions_copy,
               sizeof(float) * (size_t)trainer->R * (size_t)trainer->K);
    pool_run(trainer->pool, step_part, &step, step.parts);
    trainer->workers[0].since = clock_now();
}

static CudaTick tick_at(const PufferTrainer* trainer, int t) {
    return (CudaTick){
        .seed = trainer->config.seed, .t = t, .step = (uint64_t)(trainer->tick_number + t)};
}

// Of this slice, the final observations that the last step brought: few rows, or many neighbours.
// The envs' memory stays as it is until their next step, before which the stream is waited for
static void upload_finals(const PufferTrainer* trainer, Slice* slice) {
    const Inbox* inbox = &slice->here;
    const char* from = (const char*)trainer->envs.final_observations;
    for (int64_t row = 0, end; row < trainer->R; row = end + 1) {
        for (end = row; end < trainer->R; end++)
            if (inbox->truncations[end] == 0.0f || !inbox->has_final[end]) break;
        if (end == row) continue;
        stream_upload(slice->stream, (char*)slice->final_obs + obs_bytes(trainer, row),
                      from + obs_bytes(trainer, slice->first_row + row),
                      obs_bytes(trainer, end - row));
    }
}

static void begin_tick(PufferTrainer* trainer, Slice* slice, int t) {
    *slice->here.tick = tick_at(trainer, t);
    if (t && slice->final_obs) upload_finals(trainer, slice);
    run_recorded(slice->rank, slice->stream, &slice->ticks[trainer->turn], tick_calls, slice);
    mark(&trainer->workers[0], PHASE_LAUNCH);
}

static int32_t await_actions(PufferTrainer* trainer, Slice* slice) {
    int32_t failed = stream_wait(slice->stream);
    mark(&trainer->workers[0], PHASE_AWAIT);
    return failed;
}

// Before its first tick
static void clear_slice(Slice* slice) {
    const Rank* rank = slice->rank;
    stream_after(slice->stream, rank->weights_ready);
    stream_fill(slice->stream, slice->fault, 0xff, sizeof *slice->fault);
    size_t first = (size_t)(slice->first_row - rank->first_row),
           bytes = sizeof(int32_t) * (size_t)rank->trainer->R;
    if (slice->final_obs) stream_fill(slice->stream, rank->kept_final_obs.counts + first, 0, bytes);
    if (rank->moves) stream_fill(slice->stream, rank->moves + first, 0, bytes);
}

// After its last tick: what the host reads of it
static void fetch_slice(Slice* slice) {
    const Rank* rank = slice->rank;
    int32_t first = slice->first_row - rank->first_row;
    stream_download(slice->stream, slice->fault_here, slice->fault, sizeof *slice->fault);
    if (slice->final_obs)
        stream_download(slice->stream, rank->kept_final_obs.counts_here + first,
                        rank->kept_final_obs.counts + first,
                        sizeof(int32_t) * (size_t)rank->trainer->R);
}

// Launches the passes for what the slots of a slice keep, and says how many
static int32_t value_slots(Slice* slice) {
    const Rank* rank = slice->rank;
    const int32_t* counts = rank->kept_final_obs.counts_here + (slice->first_row - rank->first_row);
    int32_t most = 0;
    for (int32_t row = 0; row < rank->trainer->R; row++)
        if (counts[row] > most) most = counts[row];
    for (int32_t slot = 0; slot < most; slot++) value_slot(slice, slot);
    return most;
}

// Of all slices, whose streams are idle. The host waits once more for those that kept something
static int32_t value_finals(PufferTrainer* trainer) {
    int32_t passes[MAX_SLICES], failed = 0;
    if (!trainer->config.has_final_obs) return 0;
    for (int i = 0; i < trainer->config.num_buffers; i++) {
        Slice* slice = &trainer->all_slices[i];
        passes[i] = value_slots(slice);
        if (passes[i]) fetch_slice(slice);
    }
    for (int i = 0; i < trainer->config.num_buffers; i++)
        if (passes[i]) failed |= await_actions(trainer, &trainer->all_slices[i]);
    return failed;
}

static void begin_slice(PufferTrainer* trainer, Slice* slice) {
    trainer->workers[0].since = clock_now();
    clear_slice(slice);
    hand_over(trainer, slice, slice->first_row, trainer->R);
    mark(&trainer->workers[0], PHASE_HAND_OVER);
    begin_tick(trainer, slice, 0);
}

static int32_t run_ticks(PufferTrainer* trainer) {
    int T = trainer->config.horizon, count = trainer->config.num_buffers;
    for (int i = 0; i < count; i++) begin_slice(trainer, &trainer->all_slices[i]);
    for (int t = 0; t < T; t++)
        for (int i = 0; i < count; i++) {
            Slice* slice = &trainer->all_slices[i];
            if (await_actions(trainer, slice)) return -1;
            step_slice(trainer, slice, t);
            begin_tick(trainer, slice, t + 1);
        }
    for (int i = 0; i < count; i++) {
        Slice* slice = &trainer->all_slices[i];
        fetch_slice(slice);
        if (await_actions(trainer, slice)) return -1;
    }
    return value_finals(trainer);
}

// ---- envs on the GPU --------------------------------------------------------------------------

static void play_tick(PufferTrainer* trainer, Slice* slice, int t) {
    Rank* rank = slice->rank;
    int last = t == trainer->config.horizon, turn = trainer->turn;
    if (t == 0) stream_upload(slice->stream, slice->there.tick, rank->first_tick, sizeof(CudaTick));
    run_recorded(rank, slice->stream, last ? &slice->lasts[turn] : &slice->ticks[turn],
                 last ? act_calls : play_calls, slice);
}

// One wait for all slices of a rank
static int32_t await_slices(Rank* rank) {
    Slice* first = rank->slices;
    for (Slice* slice = first + 1; slice < first + rank->trainer->slices; slice++) {
        stream_mark(slice->stream, slice->played);
        stream_after(first->stream, slice->played);
    }
    return stream_wait(first->stream);
}

static int32_t play_ticks(PufferTrainer* trainer) {
    int T = trainer->config.horizon, count = trainer->config.num_buffers;
    trainer->workers[0].since = clock_now();
    EACH_RANK(trainer, rank) *rank->first_tick = tick_at(trainer, 0);
    for (int i = 0; i < count; i++) clear_slice(&trainer->all_slices[i]);
    for (int t = 0; t <= T; t++)
        for (int i = 0; i < count; i++) play_tick(trainer, &trainer->all_slices[i], t);
    for (int i = 0; i < count; i++) {
        Slice* slice = &trainer->all_slices[i];
        fetch_slice(slice);
        envs_collect(slice);
    }
    mark(&trainer->workers[0], PHASE_LAUNCH);
    int32_t failed = 0;
    envs_watch(trainer, PUFFER_STEP);
    EACH_RANK(trainer, rank) failed |= await_slices(rank);
    envs_watch(trainer, PUFFER_IDLE);
    mark(&trainer->workers[0], PHASE_AWAIT);
    return failed ? failed : value_finals(trainer);
}

// ---- what went wrong --------------------------------------------------------------------------

// The env's current observation, or NULL
static const uint8_t* obs_now(PufferTrainer* trainer, int64_t row) {
    if (!trainer->playing) return env_obs(trainer, row);
    Slice* slice = &trainer->all_slices[row / trainer->R];
    stream_download(slice->stream, slice->obs_copy, slice->obs, obs_bytes(trainer, trainer->R));
    if (stream_wait(slice->stream)) return NULL;
    return (const uint8_t*)slice->obs_copy + obs_bytes(trainer, row % trainer->R);
}

// The final observation of tick t, or NULL. Slots are filled in the order of ticks
static const uint8_t* final_obs(PufferTrainer* trainer, int64_t row, int t) {
    const float* truncated = trainer->rollout_here.truncated + row * trainer->config.horizon;
    Slice* slice = &trainer->all_slices[row / trainer->R];
    const Rank* rank = slice->rank;
    int64_t kept = row - rank->first_row;
    for (int before = 0; before < t; before++)
        if (truncated[before] == TRUNCATED_WITH_VALUE) kept += trainer->N;
    stream_download(slice->stream, slice->obs_copy,
                    (const char*)rank->kept_final_obs.obs + obs_bytes(trainer, kept),
                    obs_bytes(trainer, 1));
    return stream_wait(slice->stream) ? NULL : slice->obs_copy;
}

// The row that tick t of an agent filled, which is none of the first t where it waited: the first
// that is bad in this way
static int64_t bad_place(const PufferTrainer* trainer, int64_t row, int t, int32_t kind) {
    const Rollout* here = &trainer->rollout_here;
    int64_t T = trainer->config.horizon, at = row * T;
    for (; here->masks && t < T && at < row * T + t; at++)
        if (kind == CUDA_BAD_MASK
                ? empty_head(&trainer->heads, here->masks + at * trainer->A) < trainer->K
            : kind == CUDA_BAD_REWARD ? here->rewards[at] - here->rewards[at] != 0.0f
                                      : here->values[at] - here->values[at] != 0.0f)
            return at;
    return row * T + t;
}

static int32_t explain(PufferTrainer* trainer, CudaFault fault, Error* error) {
    int T = trainer->config.horizon, t = (int)(fault >> 40), A = trainer->A;
    int64_t row = (int64_t)(fault >> 8 & 0xffffffffu);
    int64_t size = (int64_t)trainer->L * trainer->H;
    if (everything_fetch(trainer, trainer->turn, error)) return -1;
    const Rollout* here = &trainer->rollout_here;
    int64_t at = bad_place(trainer, row, t, (int32_t)(fault & 0xff));
    const uint8_t* stored = (const uint8_t*)here->obs + obs_bytes(trainer, at);
    int32_t kind = (int32_t)(fault & 0xff), final = kind == CUDA_BAD_FINAL;
    BadRow bad = {.kind = final ? BAD_OUTPUT : kind,
                  .final = final,
                  .row = row,
                  .tick = trainer->tick_number + t,
                  .obs = final   ? final_obs(trainer, row, t)
                         : t < T ? stored
                                 : obs_now(trainer, row),
                  .mask = here->masks && t < T ? here->masks + at * A : NULL,
                  .reward = t < T ? here->rewards[at] : 0.0f,
                  .state = trainer->state_here + row * size,
                  .state_size = size};
    return fault_rollout(&trainer->tensors, &trainer->config, &trainer->heads, &bad, error);
}

static int32_t check_faults(PufferTrainer* trainer, Error* error) {
    CudaFault least = ~(CudaFault)0;
    for (int i = 0; i < trainer->config.num_buffers; i++) {
        const Slice* slice = &trainer->all_slices[i];
        CudaFault fault = *slice->fault_here;    // its row is one of the rank's
        if (fault == ~(CudaFault)0) continue;
        fault += (CudaFault)slice->rank->first_row << 8;
        if (fault < least) least = fault;
    }
    return least == ~(CudaFault)0 ? 0 : explain(trainer, least, error);
}

// ---- the two calls ----------------------------------------------------------------------------

static void zero_state(PufferTrainer* trainer) {
    EACH_RANK(trainer, rank) {
        stream_fill(rank->stream, rank->state, 0,
                    sizeof(float) * (size_t)trainer->N * (size_t)trainer->L * (size_t)trainer->H);
        stream_mark(rank->stream, rank->weights_ready);
    }
}

int32_t slices_attach(PufferTrainer* trainer, Error* error) {
    const PufferTrainerEnvs* envs = &trainer->envs;
    int32_t N = trainer->config.agents, count = trainer->config.num_buffers;
    if (envs->first_row[envs->num_envs] != N)
        return fail(error, "the envs have %lld agents, the trainer was made for %d",
                    (long long)envs->first_row[envs->num_envs], N);
    if (envs->whole_steps && count > 1)
        return fail(error, "envs that step all at once are one slice, not %d", count);
    trainer->direct = envs->block && !envs->program
                      && device_pin(trainer->ranks->device, envs->block, (size_t)envs->block_bytes)
                             == 0;
    for (int32_t i = 0; i < count; i++) {
        Slice* slice = &trainer->all_slices[i];
        slice->first_env = 0;
        slice->envs = envs->num_envs;
        if (count > 1) envs->api->slice(envs->vec, i, &slice->first_env, &slice->envs);
        int64_t first = envs->first_row[slice->first_env];
        int64_t rows = envs->first_row[slice->first_env + slice->envs] - first;
        if (first != (int64_t)i * trainer->R || rows != trainer->R)
            return fail(error, "slice %d of %d has %lld agents from %lld on, not %d from %lld on",
                        i, count, (long long)rows, (long long)first, trainer->R,
                        (long long)i * trainer->R);
        slice->first_row = (int32_t)first;
        slice->obs_from = trainer->direct ? (const void*)env_obs(trainer, first) : slice->obs_copy;
        slice->actions_to = trainer->direct ? envs->actions + first * trainer->K
                                            : slice->actions_copy;
        for (int turn = 0; turn < 2; turn++) {    // the envs' addresses changed
            graph_free(slice->ticks[turn].graph);
            graph_free(slice->lasts[turn].graph);
            slice->ticks[turn] = slice->lasts[turn] = (Recorded){0};
        }
    }
    zero_state(trainer);
    return ranks_wait(trainer, error);
}

// An env on the GPU reports a failure without its step
static const char* rollout_name(const PufferTrainer* trainer, char text[64]) {
    long long before = (long long)trainer->envs.ticks;
    snprintf(text, 64, "step %lld to %lld", before + 1, before + trainer->config.horizon);
    return text;
}

int32_t puffer_trainer_rollout(PufferTrainer* trainer, Error* error) {
    double began = seconds_now();
    char when[64];
    if (!trainer->envs.vec) return fail(error, "no envs are attached");
    if (weights_upload(trainer, error)) return -1;
    trainer->rollout_fetched = trainer->passed_on = 0;
    if (trainer->acts_anew && trainer->config.async)
        EACH_RANK(trainer, rank) keep_acting(rank);
    trainer->acts_anew = 0;
    trainer->tick_number = trainer->counters.global_step / trainer->config.agents;
    device_range(trainer->ranks->device, "rollout");
    int32_t failed = trainer->playing ? play_ticks(trainer) : run_ticks(trainer);
    device_range(trainer->ranks->device, NULL);
    if (failed) return device_failed(trainer, error);
    if (trainer->playing && envs_check(trainer, 1, rollout_name(trainer, when), error)) return -1;
    if (check_faults(trainer, error)) return -1;
    if (trainer->playing) envs_add_logs(trainer);
    trainer->envs.ticks += trainer->config.horizon;
    trainer->counters.global_step += (int64_t)trainer->config.agents * trainer->config.horizon;
    trainer->rollout_seconds += seconds_now() - began;
    return 0;
}

void puffer_trainer_reset_state(PufferTrainer* trainer) { zero_state(trainer); }
