/* rollout.c -- T ticks of all agents into the rollout buffers, then the value of what comes next.
 *
 * An agent whose mask is all zeros waits: its state stays, it has no row of this tick, and what the
 * tick brings is added to the row of its move before. So a row is a move, and a game of turns has
 * the rows that it would have for one player whose steps hold the others' moves.
 *
 * Agents are cut into blocks of whole envs. Free: a worker takes a block through all its ticks,
 * env code included, so no worker waits for another. Lockstep, where envs cannot be stepped one by
 * one or are too few: all workers infer, then all step, tick by tick. Rows are independent, so the
 * cut changes no bit. */
#include "internal.h"
#include <string.h>

#define LOCKSTEP_PRODUCTS 1e7    // multiply-adds of a tick: a tenth of a millisecond
#define BATCH_ROWS        16     // fewer rows cost the network more than they take

// ---- one tick of a few rows -------------------------------------------------------------------

static const uint8_t* obs_row(const PufferTrainer* trainer, int64_t row) {
    return (const uint8_t*)trainer->envs.observations + row * obs_row_size(&trainer->policy);
}

// Keeps the first fault that a worker finds; read when all are done
static void report(PufferTrainer* trainer, int kind, int64_t row, int64_t tick) {
    int32_t fine = FINE;
    if (!__atomic_compare_exchange_n(&trainer->bad_kind, &fine, kind, 0, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED))
        return;
    trainer->bad_tick = tick;
    trainer->bad_row = (int32_t)row;
}

// With the widths of this policy's continuous heads
static int sample_rows(PufferTrainer* trainer, Workspace* work, const Policy* policy, int64_t first,
                       int rows, const uint8_t* mask, int greedy, int64_t tick, float* actions) {
    SampleArgs args = {.rows = rows,
                       .heads = &policy->heads,
                       .out = work->out,
                       .ldo = policy->A_padded,
                       .logstd = policy->logstd,
                       .mask = mask,
                       .seed = trainer->config.seed,
                       .step = (uint64_t)tick,
                       .greedy = greedy,
                       .first_agent = (uint32_t)(trainer->config.first_agent + first),
                       .columns = work->columns,
                       .ld = trainer->columns_ld,
                       .actions = actions,
                       .logprobs = work->sampled,
                       .values = work->sampled + BLOCK_ROWS};
    for (int r = 0; mask && r < rows; r++)
        if (empty_head(&policy->heads, mask + (int64_t)r * policy->A) < policy->K) {
            report(trainer, BAD_MASK, first + r, tick);
            return -1;
        }
    int bad = policy->kernels->sample(&args);
    if (bad >= 0) report(trainer, BAD_OUTPUT, first + bad, tick);
    return bad >= 0 ? -1 : 0;
}

// Others' rows with their own widths. log-probabilities of these rows are of no use
static int sample_for_all(PufferTrainer* trainer, Workspace* work, int64_t first, int rows,
                          const uint8_t* mask, int64_t tick, float* actions) {
    const int32_t* playing = trainer->policy.heads.continuous ? players(trainer, first) : NULL;
    int64_t K = trainer->policy.K;
    size_t bytes = sizeof(float) * (size_t)K;
    for (int r = 0, seen = 0; playing && r < rows; r++, seen = 0) {
        for (int i = 0; i < r; i++) seen |= playing[i] == playing[r];
        if (seen || !playing[r]) continue;
        if (sample_rows(trainer, work, policy_of(trainer, playing[r]), first, rows, mask, 0, tick,
                        actions))
            return -1;
        for (int i = r; i < rows; i++)
            if (playing[i] == playing[r]) memcpy(work->actions + i * K, actions + i * K, bytes);
    }
    if (sample_rows(trainer, work, &trainer->policy, first, rows, mask, 0, tick, actions))
        return -1;
    for (int r = 0; playing && r < rows; r++)
        if (playing[r]) memcpy(actions + r * K, work->actions + r * K, bytes);
    return 0;
}

static int is_alive(const PufferTrainer* trainer, int64_t row) {
    return !trainer->config.has_alive || trainer->envs.alive[row];
}

enum { ACTS, WAITS, ABSENT };    // what an agent does on a tick

// Of these rows, and how many do not act. mask (rows, A), alive [rows]: or NULL
static int find_idle(int rows, int A, const uint8_t* mask, const uint8_t* alive,
                     uint8_t idle[BLOCK_ROWS]) {
    int count = 0;
    for (int r = 0; r < rows; r++) {
        idle[r] = ACTS;
        if (mask && mask_waits(mask + (int64_t)r * A, A)) idle[r] = WAITS;
        if (alive && !alive[r]) idle[r] = ABSENT;
        count += idle[r] != ACTS;
    }
    return count;
}

// Row of obs (N, D) and the state of its agent become number `place` of work->some
static void take_row(const PufferTrainer* trainer, Workspace* work, int place, int64_t row,
                     const uint8_t* obs) {
    const Policy* policy = &trainer->policy;
    int64_t row_size = obs_row_size(policy), size = (int64_t)policy->L * policy->H_padded;
    work->some[place] = (int32_t)row;
    memcpy(work->some_obs + place * row_size, obs + row * row_size, (size_t)row_size);
    memcpy(work->some_state + place * size, trainer->state + row * size,
           sizeof(float) * (size_t)size);
}

// policy_step of those rows that act, of obs (N, D), each by the policy that plays it. Without
// `moves`, others' rows are left out. work->out: as of all rows, zeros for those that are left out
static void step_acting(PufferTrainer* trainer, Workspace* work, int64_t first, int rows,
                        const uint8_t* obs, const uint8_t* idle, int moves) {
    int64_t size = (int64_t)trainer->policy.L * trainer->policy.H_padded;
    int64_t outputs = trainer->policy.A_padded;
    const int32_t* playing = players(trainer, first);
    uint8_t done[BLOCK_ROWS];
    for (int r = 0; r < rows; r++) done[r] = idle[r] != ACTS || (!moves && playing && playing[r]);
    memset(work->some_out, 0, sizeof(float) * (size_t)(rows * outputs));
    for (int begin = 0; begin < rows; begin++) {
        int32_t count = 0, player = playing ? playing[begin] : 0;
        for (int r = begin; r < rows; r++) {
            if (done[r] || (playing && playing[r] != player)) continue;
            take_row(trainer, work, count++, first + r, obs);
            done[r] = 1;
        }
        if (!count) continue;
        policy_step(policy_of(trainer, player), work, count, work->some_obs, work->some_state,
                    moves ? work->some_state : NULL);
        for (int i = 0; i < count; i++) {
            memcpy(work->some_out + (work->some[i] - first) * outputs, work->out + i * outputs,
                   sizeof(float) * (size_t)outputs);
            if (moves)
                memcpy(trainer->state + work->some[i] * size, work->some_state + i * size,
                       sizeof(float) * (size_t)size);
        }
    }
    memcpy(work->out, work->some_out, sizeof(float) * (size_t)(rows * outputs));
}

// The masks of these rows; where nobody acts all is legal
static const uint8_t* masks_acting(const PufferTrainer* trainer, Workspace* work, int rows,
                                   const uint8_t* mask, const uint8_t* idle) {
    size_t A = (size_t)trainer->policy.A;
    memcpy(work->mask, mask, (size_t)rows * A);
    for (int r = 0; r < rows; r++)
        if (idle[r] != ACTS) memset(work->mask + (size_t)r * A, 1, A);
    return work->mask;
}

// The next row of an agent: its place among all
static int64_t next_place(const PufferTrainer* trainer, int64_t row, int t) {
    return row * trainer->config.horizon + (trainer->moves ? trainer->moves[row] : t);
}

// The row of its last move, after tick t; -1 where it has only waited since the rollout began
static int64_t last_place(const PufferTrainer* trainer, int64_t row, int t) {
    int64_t moves = trainer->moves ? trainer->moves[row] : t + 1;
    return moves ? row * trainer->config.horizon + moves - 1 : -1;
}

// Whether there was an agent when tick t began: where the last row is its own, or it waited
static int has_lived(const PufferTrainer* trainer, int64_t row, int t) {
    int64_t last = last_place(trainer, row, t);
    return last < 0 || !trainer->rollout.live || trainer->rollout.live[last] != 0.0f;
}

// After tick T: there are no ticks for the rows that are left. Where the agent waits, nobody knows
// what its last move leads to: the value that it had itself stands in
static void close_rows(PufferTrainer* trainer, int64_t row, int waits) {
    Rollout* out = &trainer->rollout;
    int64_t T = trainer->config.horizon, K = trainer->policy.K, A = trainer->policy.A;
    int64_t at = next_place(trainer, row, 0), last = last_place(trainer, row, 0);
    size_t left = (size_t)((row + 1) * T - at), size = (size_t)obs_row_size(&trainer->policy);
    if (waits && last >= 0) out->bootstrap[row] = out->values[last];
    memset((uint8_t*)out->obs + (size_t)at * size, 0, left * size);
    memset(out->masks + at * A, 1, left * (size_t)A);
    memset(out->actions + at * K, 0, sizeof(float) * left * (size_t)K);
    float* zeros[] = {out->logprobs, out->values,    out->rewards,
                      out->ended,    out->truncated, out->live};
    for (size_t i = 0; i < sizeof zeros / sizeof *zeros; i++)
        memset(zeros[i] + at, 0, sizeof(float) * left);
}

// Observe and act. At t = T only the value is wanted: no state moves, no number is drawn
static int infer(PufferTrainer* trainer, Workspace* work, int64_t first, int rows, int t) {
    const Policy* policy = &trainer->policy;
    Rollout* out = &trainer->rollout;
    int T = trainer->config.horizon, K = policy->K, A = policy->A;
    int64_t row_size = obs_row_size(policy);
    float* state = trainer->state + first * policy->L * policy->H_padded;
    const uint8_t* obs = obs_row(trainer, first);
    uint8_t idle[BLOCK_ROWS];    // they act with zeros; rows without an agent see zeros
    const uint8_t* mask = out->masks ? trainer->envs.action_mask + first * A : NULL;
    int resting = find_idle(rows, A, trainer->moves ? mask : NULL,
                            trainer->config.has_alive ? trainer->envs.alive + first : NULL, idle);
    for (int r = 0; t < T && r < rows; r++) {
        uint8_t* to = (uint8_t*)out->obs + next_place(trainer, first + r, t) * row_size;
        if (idle[r] == ACTS) memcpy(to, obs + r * row_size, (size_t)row_size);
        else if (idle[r] == ABSENT) memset(to, 0, (size_t)row_size);
    }
    mark(work, PHASE_COPY);
    const int32_t* playing = players(trainer, first);
    int others = 0;
    for (int r = 0; playing && r < rows; r++) others |= playing[r] != 0;
    if (resting || others)
        step_acting(trainer, work, first, rows, trainer->envs.observations, idle, t < T);
    else policy_step(policy, work, rows, obs, state, t < T ? state : NULL);
    if (t == T) {
        for (int r = 0; r < rows; r++) {
            float value = work->out[(int64_t)r * policy->A_padded + A];
            out->bootstrap[first + r] = value;
            if (trainer->moves) close_rows(trainer, first + r, idle[r] == WAITS);
            if (!(value - value == 0.0f)) {
                report(trainer, BAD_OUTPUT, first + r, trainer->tick + t);
                return -1;
            }
        }
        return 0;
    }
    if (mask && resting) mask = masks_acting(trainer, work, rows, mask, idle);
    float* actions = trainer->envs.actions + first * K;
    if (sample_for_all(trainer, work, first, rows, mask, trainer->tick + t, actions)) return -1;
    for (int r = 0; r < rows; r++) {
        int64_t place = next_place(trainer, first + r, t);
        if (idle[r] != ACTS) {
            work->sampled[r] = 0.0f;
            memset(actions + (int64_t)r * K, 0, sizeof(float) * (size_t)K);
        }
        if (out->played)
            memcpy(out->played + ((first + r) * T + t) * K, actions + (int64_t)r * K,
                   sizeof(float) * (size_t)K);
        if (idle[r] == WAITS) continue;
        if (out->live) out->live[place] = (float)(idle[r] == ACTS);
        if (trainer->moves) {    // what the ticks until the next move bring is added up
            out->rewards[place] = out->ended[place] = out->truncated[place] = 0.0f;
            trainer->moves[first + r]++;
        }
        out->logprobs[place] = work->sampled[r];
        out->values[place] = work->sampled[BLOCK_ROWS + r];
        memcpy(out->actions + place * K, actions + (int64_t)r * K, sizeof(float) * (size_t)K);
        if (mask) memcpy(out->masks + place * A, mask + (int64_t)r * A, (size_t)A);
    }
    mark(work, PHASE_SAMPLE);
    return 0;
}

// V of the final observations of the `count` rows in work->some
static int value_finals(PufferTrainer* trainer, Workspace* work, int count, int t) {
    const Policy* policy = &trainer->policy;
    policy_step(policy, work, count, work->some_obs, work->some_state, NULL);
    for (int i = 0; i < count; i++) {
        int64_t row = work->some[i], place = last_place(trainer, row, t);
        float value = work->out[(int64_t)i * policy->A_padded + policy->A];
        trainer->rollout.final_values[place] = value;
        trainer->rollout.truncated[place] = TRUNCATED_WITH_VALUE;
        if (value - value == 0.0f) continue;
        trainer->bad_final = 1;
        report(trainer, BAD_OUTPUT, row, trainer->tick + t);
        return -1;
    }
    return 0;
}

// Whether tick t ended an episode. Who lives no more has come to an end
static int is_over(const PufferTrainer* trainer, int64_t row, int t) {
    const PufferTrainerEnvs* envs = &trainer->envs;
    return envs->terminals[row] != 0.0f || envs->truncations[row] != 0.0f
           || !has_lived(trainer, row, t) || !is_alive(trainer, row);
}

// The state of those whose episode tick t ended is zeroed, and the one that a first move begins from
static void forget(PufferTrainer* trainer, int64_t first, int rows, int t) {
    int64_t size = (int64_t)trainer->policy.L * trainer->policy.H_padded;
    size_t bytes = sizeof(float) * (size_t)size;
    for (int64_t row = first; row < first + rows; row++) {
        if (!is_over(trainer, row, t)) continue;
        memset(trainer->state + row * size, 0, bytes);
        if (last_place(trainer, row, t) < 0) memset(trainer->rollout.state0 + row * size, 0, bytes);
    }
}

// What tick t caused, and the values of the final observations that it brought. Who did not live has
// got nothing; nor has a move whose episode was over, for what comes until the next one
static int store(PufferTrainer* trainer, Workspace* work, int64_t first, int rows, int t) {
    const PufferTrainerEnvs* envs = &trainer->envs;
    Rollout* out = &trainer->rollout;
    int count = 0;
    for (int64_t row = first; row < first + rows; row++) {
        int64_t last = last_place(trainer, row, t);
        int lived = has_lived(trainer, row, t), cut = lived && envs->truncations[row] != 0.0f;
        float reward = lived ? envs->rewards[row] : 0.0f;
        if (!(reward - reward == 0.0f)) {
            report(trainer, BAD_REWARD, row, trainer->tick + t);
            return -1;
        }
        if (trainer->envs.games) game_note(trainer, row, reward, lived, is_over(trainer, row, t));
        if (trainer->moves && (last < 0 || out->ended[last] != 0.0f)) continue;
        out->rewards[last] = trainer->moves ? out->rewards[last] + reward : reward;
        out->ended[last] = (float)is_over(trainer, row, t);
        out->truncated[last] = (float)cut;
        if (!cut || !out->final_values || !envs->has_final[row] || !learns(trainer, row)) continue;
        take_row(trainer, work, count++, row, envs->final_observations);
        if (count < BLOCK_ROWS) continue;
        if (value_finals(trainer, work, count, t)) return -1;
        count = 0;
    }
    if (count && value_finals(trainer, work, count, t)) return -1;
    forget(trainer, first, rows, t);
    games_turn(trainer, first, rows);
    mark(work, PHASE_STORE);
    return 0;
}

static void step_envs(PufferTrainer* trainer, int worker, int first_env, int envs, int t) {
    PufferWatch* watch = &trainer->envs.watches[worker];
    watch->step = trainer->envs.ticks + t + 1;
    trainer->envs.api->step(trainer->envs.vec, first_env, envs, 0, watch);
    mark(&trainer->work[worker], PHASE_ENV);
}

static int infer_block(PufferTrainer* trainer, int worker, const Block* block, int t) {
    for (int done = 0; done < block->rows; done += BLOCK_ROWS) {
        int rows = block->rows - done < BLOCK_ROWS ? block->rows - done : BLOCK_ROWS;
        if (infer(trainer, &trainer->work[worker], block->first_row + done, rows, t)) return -1;
    }
    return 0;
}

// ---- all ticks --------------------------------------------------------------------------------

static void begin_block(PufferTrainer* trainer, const Block* block) {
    int64_t size = (int64_t)trainer->policy.L * trainer->policy.H_padded;
    size_t bytes = sizeof(float) * (size_t)(size * block->rows);
    float* state = trainer->state + block->first_row * size;
    if (trainer->config.reset_state) memset(state, 0, bytes);
    memcpy(trainer->rollout.state0 + block->first_row * size, state, bytes);
    if (trainer->moves)
        memset(trainer->moves + block->first_row, 0, sizeof(int32_t) * (size_t)block->rows);
}

static int stopped(const PufferTrainer* trainer) {
    return __atomic_load_n(&trainer->bad_kind, __ATOMIC_RELAXED) != FINE;
}

static void run_block(void* about, int32_t item, int32_t worker) {
    PufferTrainer* trainer = about;
    const Block* block = &trainer->blocks[item];
    Workspace* work = &trainer->work[worker];
    int T = trainer->config.horizon;
    work->since = clock_now();
    begin_block(trainer, block);
    for (int t = 0; t <= T && !stopped(trainer); t++) {
        if (infer_block(trainer, worker, block, t) || t == T) break;
        step_envs(trainer, worker, block->first_env, block->envs, t);
        store(trainer, work, block->first_row, block->rows, t);
    }
}

typedef struct {
    PufferTrainer* trainer;
    int t;
} Tick;

static void infer_item(void* about, int32_t item, int32_t worker) {
    Tick* tick = about;
    tick->trainer->work[worker].since = clock_now();
    if (tick->t == 0) begin_block(tick->trainer, &tick->trainer->blocks[item]);
    infer_block(tick->trainer, worker, &tick->trainer->blocks[item], tick->t);
}

// How many workers step envs at a time
static int32_t step_parts(const PufferTrainer* trainer) {
    int32_t envs = trainer->envs.whole_steps ? 1 : trainer->envs.num_envs;
    return envs < trainer->config.threads ? envs : trainer->config.threads;
}

static void step_item(void* about, int32_t item, int32_t worker) {
    Tick* tick = about;
    PufferTrainer* trainer = tick->trainer;
    int64_t envs = trainer->envs.num_envs, parts = step_parts(trainer);
    int first = (int)(envs * item / parts), last = (int)(envs * (item + 1) / parts);
    trainer->work[worker].since = clock_now();
    if (last > first) step_envs(trainer, worker, first, last - first, tick->t);
}

static void run_lockstep(PufferTrainer* trainer) {
    int T = trainer->config.horizon;
    for (int t = 0; t <= T && !stopped(trainer); t++) {
        Tick tick = {trainer, t};
        pool_run(trainer->pool, infer_item, &tick, trainer->block_count);
        if (t == T || stopped(trainer)) break;
        pool_run(trainer->pool, step_item, &tick, step_parts(trainer));
        trainer->work[0].since = clock_now();
        store(trainer, &trainer->work[0], 0, trainer->config.agents, t);
    }
}

// ---- what went wrong --------------------------------------------------------------------------

static int32_t explain(PufferTrainer* trainer, const void* obs, const uint8_t* masks,
                       Error* error) {
    const Policy* policy = &trainer->policy;
    int64_t row = trainer->bad_row, size = (int64_t)policy->L * policy->H_padded;
    int64_t row_bytes = obs_row_size(policy);
    if (trainer->bad_final) obs = trainer->envs.final_observations;
    BadRow bad = {.kind = trainer->bad_kind,
                  .final = trainer->bad_final,
                  .row = row,
                  .tick = trainer->bad_tick,
                  .obs = (const uint8_t*)obs + row * row_bytes,
                  .mask = masks ? masks + row * policy->A : NULL,
                  .reward = trainer->envs.rewards ? trainer->envs.rewards[row] : 0.0f,
                  .state = trainer->state + row * size,
                  .state_size = size};
    return fault_rollout(&trainer->tensors, &trainer->config, &policy->heads, &bad, error);
}

// ---- the two ways to act ----------------------------------------------------------------------

int32_t rollout_plan(PufferTrainer* trainer, Error* error) {
    const PufferTrainerEnvs* envs = &trainer->envs;
    int32_t N = trainer->config.agents, threads = trainer->config.threads;
    if (envs->first_row[envs->num_envs] != N)
        return fail(error, "the envs have %lld agents, the trainer was made for %d",
                    (long long)envs->first_row[envs->num_envs], N);
    // Meeting twice a tick costs some ten microseconds: worth it where a tick takes many more
    const Policy* policy = &trainer->policy;
    double products = (double)N
                      * (seeing_products(policy) + 3.0 * policy->L * policy->H * policy->H);
    int pays = products > LOCKSTEP_PRODUCTS || trainer->config.block_agents > 0;
    int32_t wanted = trainer->config.block_agents;
    if (wanted < 1) {
        int32_t least = threads == 1 || pays || trainer->steps_are == CHEAP ? BATCH_ROWS : 1;
        wanted = N / (4 * threads);
        wanted = wanted > BLOCK_ROWS ? BLOCK_ROWS : wanted < least ? least : wanted;
    }
    trainer->block_rows = wanted;
    trainer->block_count = 0;
    for (int32_t env = 0; env < envs->num_envs && !envs->whole_steps;) {
        Block* block = &trainer->blocks[trainer->block_count++];
        block->first_env = env;
        block->first_row = (int32_t)envs->first_row[env];
        do env++;
        while (env < envs->num_envs && envs->first_row[env + 1] - block->first_row <= wanted);
        block->envs = env - block->first_env;
        block->rows = (int32_t)envs->first_row[env] - block->first_row;
    }
    trainer->lockstep = envs->whole_steps || (trainer->block_count < threads && pays);
    if (!trainer->lockstep) return 0;
    if (wanted > BLOCK_ROWS) wanted = BLOCK_ROWS;
    trainer->block_count = 0;
    for (int32_t row = 0; row < N; row += wanted) {
        Block* block = &trainer->blocks[trainer->block_count++];
        block->first_row = row;
        block->rows = N - row < wanted ? N - row : wanted;
    }
    return 0;
}

static uint64_t clock_ticks(const PufferTrainer* trainer, int first, int last) {
    uint64_t sum = 0;
    for (int w = 0; w < trainer->config.threads; w++)
        for (int phase = first; phase <= last; phase++) sum += trainer->work[w].ticks[phase];
    return sum;
}

// Few envs are cut small at first, so that slow ones keep all workers busy. Where the network
// takes longer than they do, it is better off with more rows at a time
static int32_t weigh_steps(PufferTrainer* trainer, Error* error) {
    uint64_t network = clock_ticks(trainer, PHASE_COPY, PHASE_SAMPLE);
    trainer->steps_are = clock_ticks(trainer, PHASE_ENV, PHASE_ENV) > network ? DEAR : CHEAP;
    return trainer->steps_are == CHEAP ? rollout_plan(trainer, error) : 0;
}

int32_t puffer_trainer_rollout(PufferTrainer* trainer, Error* error) {
    double began = seconds_now();
    if (!trainer->envs.vec) return fail(error, "no envs are attached");
    if (trainer->stale) policy_pack(trainer);
    games_begin(trainer);
    trainer->bad_kind = FINE;
    trainer->bad_final = 0;
    trainer->tick = trainer->counters.global_step / agents_of_all(&trainer->config);
    if (trainer->lockstep) run_lockstep(trainer);
    else pool_run(trainer->pool, run_block, trainer, trainer->block_count);
    if (trainer->bad_kind != FINE)
        return explain(trainer, trainer->envs.observations, trainer->envs.action_mask, error);
    trainer->envs.ticks += trainer->config.horizon;
    trainer->counters.global_step += agents_of_all(&trainer->config) * trainer->config.horizon;
    trainer->rollout_seconds += seconds_now() - began;
    return trainer->steps_are == UNKNOWN ? weigh_steps(trainer, error) : 0;
}

typedef struct {
    PufferTrainer* trainer;
    const uint8_t *obs, *mask;
    int32_t greedy;
    float *actions, *log_probs, *values;
} Act;

static void act_item(void* about, int32_t item, int32_t worker) {
    const Act* act = about;
    PufferTrainer* trainer = act->trainer;
    const Policy* policy = &trainer->policy;
    Workspace* work = &trainer->work[worker];
    int64_t first = (int64_t)item * BLOCK_ROWS, left = trainer->config.agents - first;
    int rows = left < BLOCK_ROWS ? (int)left : BLOCK_ROWS;
    float* state = trainer->state + first * policy->L * policy->H_padded;
    int64_t row_size = obs_row_size(policy);
    const uint8_t* mask = act->mask ? act->mask + first * policy->A : NULL;
    float* actions = act->actions + first * policy->K;
    uint8_t idle[BLOCK_ROWS];
    int resting = find_idle(rows, policy->A, trainer->config.has_waits ? mask : NULL, NULL, idle);
    work->since = clock_now();
    if (resting) {
        step_acting(trainer, work, first, rows, act->obs, idle, 1);
        mask = masks_acting(trainer, work, rows, mask, idle);
    } else {
        policy_step(policy, work, rows, act->obs + first * row_size, state, state);
    }
    if (sample_rows(trainer, work, policy, first, rows, mask, act->greedy, trainer->tick, actions))
        return;
    for (int r = 0; resting && r < rows; r++) {
        if (idle[r] == ACTS) continue;
        work->sampled[r] = 0.0f;
        memset(actions + (int64_t)r * policy->K, 0, sizeof(float) * (size_t)policy->K);
    }
    size_t bytes = sizeof(float) * (size_t)rows;
    if (act->log_probs) memcpy(act->log_probs + first, work->sampled, bytes);
    if (act->values) memcpy(act->values + first, work->sampled + BLOCK_ROWS, bytes);
    mark(work, PHASE_SAMPLE);
}

int32_t puffer_trainer_act(PufferTrainer* trainer, const void* obs, const unsigned char* mask,
                           int32_t greedy, float* actions, float* log_probs, float* values,
                           Error* error) {
    Act act = {trainer, obs, mask, greedy, actions, log_probs, values};
    if (trainer->stale) policy_pack(trainer);
    trainer->bad_kind = FINE;
    trainer->bad_final = 0;
    pool_run(trainer->pool, act_item, &act, (trainer->config.agents + BLOCK_ROWS - 1) / BLOCK_ROWS);
    if (trainer->bad_kind != FINE) return explain(trainer, obs, mask, error);
    trainer->tick++;
    return 0;
}

void puffer_trainer_ended(PufferTrainer* trainer, const float* terminals) {
    int64_t size = (int64_t)trainer->policy.L * trainer->policy.H_padded;
    for (int64_t row = 0; row < trainer->config.agents; row++)
        if (terminals[row] != 0.0f)
            memset(trainer->state + row * size, 0, sizeof(float) * (size_t)size);
}

void puffer_trainer_reset_state(PufferTrainer* trainer) {
    size_t size = (size_t)trainer->policy.L * (size_t)trainer->policy.H_padded;
    memset(trainer->state, 0, sizeof(float) * size * (size_t)trainer->config.agents);
}

void puffer_trainer_set_tick(PufferTrainer* trainer, int64_t tick) { trainer->tick = tick; }
