/* heads.cuh -- what the heads make of logits: sampling, and the PPO loss with its gradient.
 *
 * A thread takes a row through all heads. Steps and their order are those of cpu/heads.h. */
#pragma once
#include "common.cuh"

typedef struct HeadRow {    // one head of one row
    const float* logits;
    const uint8_t* mask;    // of these logits, or NULL
    int width, logstd_index;
} HeadRow;

KERNEL_INLINE HeadRow head_row(const Heads* heads, int head, const float* out,
                               const uint8_t* mask) {
    int column = heads->column[head];
    HeadRow row = {out + column, NULL, heads->width[head], heads->logstd_index[head]};
    if (mask && row.logstd_index < 0)
        row.mask = mask + column;    // a continuous head is always legal
    return row;
}

KERNEL_INLINE F head_logit(const HeadRow* row, int j) {
    return row->mask && !row->mask[j] ? f_set(ILLEGAL_LOGIT) : row->logits[j];
}

KERNEL_INLINE F head_most(const HeadRow* row) {
    F most = head_logit(row, 0);
    for (int j = 1; j < row->width; j++) most = f_max(most, head_logit(row, j));
    return most;
}

KERNEL_INLINE int head_legal(const HeadRow* row) {
    int any = !row->mask;
    for (int j = 0; row->mask && j < row->width; j++) any |= row->mask[j];
    return any;
}

KERNEL_INLINE float head_logstd(float logstd) {
    return logstd < LOGSTD_MIN ? LOGSTD_MIN : logstd > LOGSTD_MAX ? LOGSTD_MAX : logstd;
}

// log N(action; mean, e^logstd), from distance = (action - mean) / e^logstd
KERNEL_INLINE F head_gaussian(F distance, F logstd) {
    return f_set(0.0f) - (f_set(0.5f) * distance * distance + logstd + f_set(HALF_LOG_2PI));
}

// ---- sampling ---------------------------------------------------------------------------------

typedef struct {
    F action, logprob;
} HeadChoice;

KERNEL_INLINE HeadChoice choose_value(const HeadRow* row, float logstd, PhiloxBlock luck,
                                      int greedy) {
    HeadChoice out;
    logstd = head_logstd(logstd);
    F mean = row->logits[0];    // Box-Muller; 1 - u is never 0
    F radius2 = f_set(-2.0f) * f_log(f_set(1.0f) - philox_unit(luck.word[0]));
    F noise = sqrtf(radius2) * f_cos_turns(philox_unit(luck.word[1]));
    out.action = greedy ? mean : f_fma(f_exp(logstd), noise, mean);
    out.logprob = head_gaussian((out.action - mean) * f_exp(-logstd), logstd);
    return out;
}

// The action is the number of partial sums <= u * total: never one of probability 0
KERNEL_INLINE HeadChoice choose_action(const HeadRow* row, PhiloxBlock luck, int greedy) {
    F most = head_most(row), total = f_set(0.0f), sum = f_set(0.0f);
    int action = 0;
    for (int j = 0; j < row->width; j++) total = total + f_exp(head_logit(row, j) - most);
    F bound = philox_unit(luck.word[0]) * total;
    if (greedy)
        while (action < row->width - 1 && head_logit(row, action) != most) action++;
    else
        for (int j = 0; j < row->width; j++) {
            sum = sum + f_exp(head_logit(row, j) - most);
            action += f_le(sum, bound);
        }
    if (action >= row->width) action = row->width - 1;    // logits that are not finite
    HeadChoice out = {(F)action, head_logit(row, action) - most - f_log(total)};
    return out;
}

// A row that holds no move
KERNEL_INLINE void clear_place(const HeadsSampleArgs* a, int64_t at) {
    int K = a->heads->count, A = a->heads->outputs;
    for (int head = 0; head < K; head++) a->stored_actions[at * K + head] = 0.0f;
    a->logprobs[at] = a->values[at] = a->live[at] = 0.0f;
    for (int j = 0; a->mask && a->stored_masks && j < A; j++) a->stored_masks[at * A + j] = 1;
}

// After tick T: there are no ticks for the rows that are left. Where the agent waits, nobody knows
// what its last move leads to: the value that it had itself stands in
KERNEL_INLINE void close_rows(const HeadsSampleArgs* a, int64_t agent) {
    int64_t at = agent * a->T + a->moves[agent];
    if (a->waits[agent]) a->bootstrap[agent] = a->moves[agent] ? a->values[at - 1] : 0.0f;
    for (; at < (agent + 1) * a->T; at++) clear_place(a, at);
}

// An agent that does not act: absent, or waiting
KERNEL_INLINE void rest_row(const HeadsSampleArgs* a, uint32_t row, int64_t at, int waits) {
    int K = a->heads->count;
    int64_t agent = (int64_t)a->first + row;
    if (a->tick->t == a->T) {
        a->bootstrap[agent] = 0.0f;
        if (a->moves) close_rows(a, agent);
        return;
    }
    for (int head = 0; head < K; head++) a->actions[(int64_t)row * K + head] = 0.0f;
    if (waits) return;
    clear_place(a, at);
    if (a->moves) a->moves[agent]++;
}

CUDA_KERNEL(heads_sample, HeadsSampleArgs) {
    const Heads* heads = a.heads;
    int t = a.tick->t, greedy = a.tick->greedy, K = heads->count, A = heads->outputs;
    CUDA_EACH(row, a.rows) {
        const float* out = a.out + (int64_t)row * a.ldo;
        const uint8_t* mask = a.mask ? a.mask + (int64_t)row * A : NULL;
        int64_t agent = (int64_t)a.first + row;
        int64_t at = agent * a.T + (a.moves ? a.moves[agent] : t);
        int kind = 0, waits = a.waits && a.waits[agent];
        F joint = f_set(0.0f);
        if (waits || (a.alive && !a.alive[row])) {
            rest_row(&a, row, at, waits);
            continue;
        }
        for (int j = t < a.T ? 0 : A; j <= A; j++)
            if (is_bad(out[j])) kind = CUDA_BAD_OUTPUT;
        if (t == a.T) {
            a.bootstrap[agent] = out[A];
            if (a.moves) close_rows(&a, agent);
            if (kind) note_fault(a.fault, t, (int)agent, kind);
            continue;
        }
        for (int head = 0; head < K; head++) {
            HeadRow mine = head_row(heads, head, out, mask);
            PhiloxBlock luck = philox_block(a.tick->seed, PHILOX_ACTION, a.first_agent + row,
                                            a.tick->step, (uint32_t)head);
            HeadChoice choice = mine.logstd_index < 0
                                    ? choose_action(&mine, luck, greedy)
                                    : choose_value(&mine, a.logstd[mine.logstd_index], luck,
                                                   greedy);
            if (!head_legal(&mine)) kind = CUDA_BAD_MASK;
            joint = joint + choice.logprob;
            a.actions[(int64_t)row * K + head] = is_bad(choice.action) ? 0.0f : choice.action;
            a.stored_actions[at * K + head] = choice.action;
        }
        if (is_bad(joint) && !kind) kind = CUDA_BAD_OUTPUT;
        if (kind) note_fault(a.fault, t, (int)agent, kind);
        a.logprobs[at] = joint;
        a.values[at] = out[A];
        if (a.live) a.live[at] = 1.0f;
        for (int j = 0; mask && a.stored_masks && j < A; j++) a.stored_masks[at * A + j] = mask[j];
        if (a.moves) a.moves[agent]++;
    }
}

// ---- loss -------------------------------------------------------------------------------------

typedef struct HeadMeasure {    // of a discrete head
    F most, inverse, log_total;
    F minus;    // the entropy, negative
} HeadMeasure;

KERNEL_INLINE HeadMeasure measure_head(const HeadRow* row) {
    HeadMeasure out = {head_most(row), f_set(0.0f), f_set(0.0f), f_set(0.0f)};
    F total = f_set(0.0f);
    for (int j = 0; j < row->width; j++) total = total + f_exp(head_logit(row, j) - out.most);
    out.inverse = f_set(1.0f) / total;
    out.log_total = f_log(total);
    for (int j = 0; j < row->width; j++) {
        F logit = head_logit(row, j) - out.most;
        out.minus = f_fma(f_exp(logit) * out.inverse, logit - out.log_total, out.minus);
    }
    return out;
}

// d loss / d logit of a discrete head, to dout or narrow from `at` on
KERNEL_INLINE void spread_head(const HeadsLossArgs* a, const HeadRow* row, const HeadMeasure* head,
                               float action, F by_logprob, F by_entropy, int64_t at) {
    for (int j = 0; j < row->width; j++) {
        F logit = head_logit(row, j) - head->most, chance = f_exp(logit) * head->inverse;
        F uncertain = chance * (head->minus - (logit - head->log_total));
        F taken = action == (float)j ? f_set(1.0f) : f_set(0.0f);
        write_operand(a->dout, a->narrow, at + j,
                      f_fma(by_entropy, uncertain, by_logprob * (taken - chance)));
    }
}

// Row r of the minibatch, which had no agent
KERNEL_INLINE void rest_loss(const HeadsLossArgs* a, uint32_t r, int64_t at,
                             float terms[KERNEL_LOSSES]) {
    int dims = a->heads->continuous;
    for (int j = 0; j < a->ldo; j++)
        write_operand(a->dout, a->narrow, (int64_t)r * a->ldo + j, 0.0f);
    for (int dim = 0; dim < dims; dim++) a->slopes[(int64_t)r * dims + dim] = 0.0f;
    for (int i = 0; i < KERNEL_LOSSES; i++) terms[i] = 0.0f;
    if (a->repeated[r / (uint32_t)a->T] || a->results->stop) return;
    a->values_now[at] = 0.0f;
    a->ratio_now[at] = 1.0f;
}

// Row r of the minibatch: its terms of the sums, and every gradient of it
KERNEL_INLINE void row_loss(const HeadsLossArgs* a, uint32_t r, float terms[KERNEL_LOSSES]) {
    const Heads* heads = a->heads;
    uint32_t s = r / (uint32_t)a->T, t = r % (uint32_t)a->T;
    int K = heads->count, A = heads->outputs, last = K - 1;
    int64_t at = (int64_t)a->rows[s] * a->T + t, place = (int64_t)r * a->ldo;
    const float *out = a->out + place, *actions = a->actions + at * K;
    const uint8_t* mask = a->masks ? a->masks + at * A : NULL;
    F logprob = f_set(0.0f), entropy = f_set(0.0f), one = f_set(1.0f);
    float scale = 1.0f / (float)a->results->live;
    HeadMeasure measured = {one, one, one, one};
    if (a->live && a->live[at] == 0.0f) {
        rest_loss(a, r, at, terms);
        return;
    }

    for (int head = 0; head < K; head++) {
        HeadRow row = head_row(heads, head, out, mask);
        if (row.logstd_index < 0) {
            measured = measure_head(&row);
            F taken = f_set(0.0f);
            for (int j = 0; j < row.width; j++)
                if (actions[head] == (float)j)
                    taken = head_logit(&row, j) - measured.most - measured.log_total;
            logprob = logprob + taken;
            entropy = entropy - measured.minus;
            continue;
        }
        float logstd = head_logstd(a->logstd[row.logstd_index]);
        F distance = (actions[head] - row.logits[0]) * f_exp(-logstd);
        logprob = logprob + head_gaussian(distance, logstd);
        entropy = entropy + f_set(logstd + HALF_LOG_2PI + 0.5f);
    }

    F log_ratio = logprob - a->logprobs[at];
    F ratio = f_select(f_lt(log_ratio, f_set(88.0f)), f_exp(log_ratio), f_set(INFINITY));
    F advantage = a->importance[s] * ((a->advantages[at] - a->results->mean) * a->results->scale);
    LossTerm policy = f_policy_loss(advantage, ratio, a->clip_coef);
    LossTerm error = f_value_loss(out[A], a->values[at], a->returns[at], a->vf_clip_coef);
    F by_logprob = policy.slope * scale, by_entropy = f_set(-a->schedule->ent_coef * scale);
    if (!a->repeated[s] && !a->results->stop) {
        a->values_now[at] = out[A];
        a->ratio_now[at] = ratio;
    }

    for (int head = last; head >= 0; head--) {    // the last one is measured already
        HeadRow row = head_row(heads, head, out, mask);
        int64_t to = place + heads->column[head];
        if (row.logstd_index < 0) {
            if (head < last) measured = measure_head(&row);
            spread_head(a, &row, &measured, actions[head], by_logprob, by_entropy, to);
            continue;
        }
        float raw = a->logstd[row.logstd_index], logstd = head_logstd(raw);
        F narrow = f_exp(-logstd), distance = (actions[head] - row.logits[0]) * narrow;
        F slope = f_fma(by_logprob, distance * distance - one, by_entropy);
        int passes = raw >= LOGSTD_MIN && raw <= LOGSTD_MAX;    // a clamp passes nothing on beyond
        a->slopes[(int64_t)r * heads->continuous + row.logstd_index] = passes ? slope : f_set(0.0f);
        write_operand(a->dout, a->narrow, to, by_logprob * (distance * narrow));
    }
    write_operand(a->dout, a->narrow, place + A, error.slope * f_set(a->vf_coef * scale));
    for (int j = A + 1; j < a->ldo; j++) write_operand(a->dout, a->narrow, place + j, 0.0f);

    F moved = f_max(ratio - one, one - ratio);
    terms[0] = policy.loss;
    terms[1] = error.loss;
    terms[2] = entropy;
    terms[3] = f_set(0.0f) - log_ratio;
    terms[4] = ratio - one - log_ratio;
    terms[5] = f_select(f_le(moved, a->clip_coef), f_set(0.0f), one);
}

#define LOSS_LANES 8    // of the sums over a part

CUDA_KERNEL(heads_loss, HeadsLossArgs) {
    CUDA_SHARED(float, terms, [CUDA_ROWS][KERNEL_LOSSES]);
    CUDA_SHARED(double, lanes, [KERNEL_LOSSES * LOSS_LANES]);
    int rows = a.S * a.T, parts = (rows + CUDA_ROWS - 1) / CUDA_ROWS, dims = a.heads->continuous;
    CUDA_BLOCKS(part, parts) {
        int first = part * CUDA_ROWS, here = rows - first < CUDA_ROWS ? rows - first : CUDA_ROWS;
        CUDA_PHASE(thread)
            CUDA_SHARE(i, thread, here) row_loss(&a, (uint32_t)(first + i), terms[i]);
        CUDA_PHASE(thread) {
            CUDA_SHARE(i, thread, KERNEL_LOSSES * LOSS_LANES) {
                double sum = 0.0;
                for (int row = i / KERNEL_LOSSES; row < here; row += LOSS_LANES)
                    sum += (double)terms[row][i % KERNEL_LOSSES];
                lanes[i] = sum;
            }
            CUDA_SHARE(dim, thread, dims) {
                double sum = 0.0;
                for (int row = first; row < first + here; row++)
                    sum += (double)a.slopes[(int64_t)row * dims + dim];
                a.dlogstd_parts[(int64_t)part * dims + dim] = sum;
            }
        }
        CUDA_PHASE(thread) {
            CUDA_SHARE(i, thread, KERNEL_LOSSES) {
                double sum = 0.0;
                for (int lane = 0; lane < LOSS_LANES; lane++)
                    sum += lanes[lane * KERNEL_LOSSES + i];
                a.parts[(int64_t)part * KERNEL_LOSSES + i] = sum;
            }
        }
    }
}
