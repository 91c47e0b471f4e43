/* heads.h -- what the heads make of logits: sampling, and the PPO loss with its gradient.
 *
 * Rows are turned into lanes: columns[j] holds logit j of all rows, so heads of any width and any
 * mix of kinds are loops over registers. */

// (R, outputs) of out -> columns; rows beyond R are zero
static void to_columns(int rows, int outputs, const float* out, int ldo, float* columns, int ld) {
    int padded = (rows + KERNEL_ROWS - 1) / KERNEL_ROWS * KERNEL_ROWS;
    for (int j = 0; j < outputs; j++) {
        float* column = columns + (int64_t)j * ld;
        for (int r = 0; r < rows; r++) column[r] = out[(int64_t)r * ldo + j];
        for (int r = rows; r < padded; r++) column[r] = 0.0f;
    }
}

static void mask_columns(int rows, const Heads* heads, const uint8_t* mask, float* columns,
                         int ld) {
    for (int head = 0; head < heads->count; head++) {
        if (heads->logstd_index[head] >= 0) continue;    // a continuous head is always legal
        int first = heads->column[head], width = heads->width[head];
        for (int j = first; j < first + width; j++)
            for (int r = 0; r < rows; r++)
                if (!mask[(int64_t)r * heads->outputs + j])
                    columns[(int64_t)j * ld + r] = ILLEGAL_LOGIT;
    }
}

KERNEL_INLINE F column_max(const float* column, int width, int ld) {
    F most = f_load(column);
    for (int j = 1; j < width; j++) most = f_max(most, f_load(column + (int64_t)j * ld));
    return most;
}

KERNEL_INLINE float clamp_logstd(float x) {
    return x < LOGSTD_MIN ? LOGSTD_MIN : x > LOGSTD_MAX ? LOGSTD_MAX : x;
}

// log N(action; mean, e^logstd), from distance = (action - mean) / e^logstd
KERNEL_INLINE F gaussian_logprob(F distance, F logstd) {
    return f_set(0.0f) - (f_set(0.5f) * distance * distance + logstd + f_set(HALF_LOG_2PI));
}

// first: the numbers of this head for each row; uniforms, or normals for a continuous one
static void draw(const SampleArgs* a, int head, float* first, float* second) {
    int padded = (a->rows + KERNEL_ROWS - 1) / KERNEL_ROWS * KERNEL_ROWS;
    for (int r = 0; r < padded; r++) {
        PhiloxBlock block = philox_block(a->seed, PHILOX_ACTION, a->first_agent + (uint32_t)r,
                                         a->step, (uint32_t)head);
        first[r] = philox_unit(block.word[0]);
        second[r] = philox_unit(block.word[1]);
    }
    if (a->heads->logstd_index[head] < 0) return;
    for (int r = 0; r < padded; r += LANES) {    // Box-Muller; 1 - u is never 0
        F radius2 = f_set(-2.0f) * f_log(f_set(1.0f) - f_load(first + r));
        F radius = radius2, turns = f_cos_turns(f_load(second + r));
        float lane[LANES];
        f_store(lane, radius);
        for (int i = 0; i < LANES; i++) lane[i] = __builtin_sqrtf(lane[i]);
        f_store(first + r, f_load(lane) * turns);
    }
}

// The action is the number of partial sums <= u * total: never one of probability 0
KERNEL_INLINE F pick(const float* column, int width, int ld, F most, F total, F uniform) {
    F bound = uniform * total, sum = f_set(0.0f), action = f_set(0.0f), one = f_set(1.0f);
    for (int j = 0; j < width; j++) {
        sum = sum + f_exp(f_load(column + (int64_t)j * ld) - most);
        action = action + f_select(f_le(sum, bound), one, f_set(0.0f));
    }
    return action;
}

KERNEL_INLINE F likeliest(const float* column, int width, int ld, F most) {
    F action = f_set(0.0f);
    for (int j = width - 1; j >= 0; j--)
        action = f_select(f_eq(f_load(column + (int64_t)j * ld), most), f_set((float)j), action);
    return action;
}

// (action, its log-probability) of one head and LANES rows, at `column`
typedef struct {
    F action, logprob;
} Choice;

KERNEL_INLINE Choice choose(const SampleArgs* a, int head, const float* column,
                            const float* noise) {
    Choice out;
    int width = a->heads->width[head], dim = a->heads->logstd_index[head];
    if (dim >= 0) {
        float logstd = clamp_logstd(a->logstd[dim]);
        F scale = f_exp(f_set(logstd)), mean = f_load(column);
        out.action = a->greedy ? mean : f_fma(scale, f_load(noise), mean);
        F distance = (out.action - mean) * f_exp(f_set(-logstd));
        out.logprob = gaussian_logprob(distance, f_set(logstd));
        return out;
    }
    F most = column_max(column, width, a->ld), total = f_set(0.0f), taken = f_set(0.0f);
    for (int j = 0; j < width; j++)
        total = total + f_exp(f_load(column + (int64_t)j * a->ld) - most);
    out.action = a->greedy ? likeliest(column, width, a->ld, most)
                           : pick(column, width, a->ld, most, total, f_load(noise));
    for (int j = 0; j < width; j++)
        taken = f_select(f_eq(out.action, f_set((float)j)),
                         f_load(column + (int64_t)j * a->ld) - most, taken);
    out.logprob = taken - f_log(total);
    return out;
}

static int sample(const SampleArgs* a) {
    const Heads* heads = a->heads;
    int bad = -1, ld = a->ld, outputs = heads->outputs;
    float *first = a->columns + (int64_t)(outputs + 1) * ld, *second = a->logprobs;
    to_columns(a->rows, outputs + 1, a->out, a->ldo, a->columns, ld);
    for (int j = 0; j <= outputs; j++) {
        const float* column = a->columns + (int64_t)j * ld;
        F wrong = f_set(0.0f);    // 0 * x is not 0 for a NaN or an infinity
        for (int r = 0; r < a->rows; r += LANES) wrong = wrong + f_load(column + r) * f_set(0.0f);
        if (f_sum(wrong) == 0.0f) continue;
        for (int r = (bad < 0 ? a->rows : bad) - 1; r >= 0; r--)
            if (!(column[r] - column[r] == 0.0f)) bad = r;
    }
    if (bad >= 0) return bad;
    if (a->mask) mask_columns(a->rows, heads, a->mask, a->columns, ld);
    for (int r = 0; r < a->rows; r += LANES)
        f_store(a->values + r, f_load(a->columns + (int64_t)outputs * ld + r));

    float* joint = a->columns + (int64_t)outputs * ld;    // the values have left this column
    memset(joint, 0, sizeof(float) * (size_t)ld);
    for (int head = 0; head < heads->count; head++) {
        if (!a->greedy) draw(a, head, first, second);
        const float* column = a->columns + (int64_t)heads->column[head] * ld;
        for (int r = 0; r < a->rows; r += LANES) {
            Choice choice = choose(a, head, column + r, first + r);
            f_store(joint + r, f_load(joint + r) + choice.logprob);
            float lane[LANES];
            f_store(lane, choice.action);
            for (int i = 0; i < LANES && r + i < a->rows; i++)
                a->actions[(int64_t)(r + i) * heads->count + head] = lane[i];
        }
    }
    memcpy(a->logprobs, joint, sizeof(float) * (size_t)((a->rows + LANES - 1) / LANES * LANES));
    for (int r = 0; r < a->rows; r++)
        if (!(joint[r] - joint[r] == 0.0f)) return r;
    return -1;
}

// ---- loss -------------------------------------------------------------------------------------

// Of LANES rows, summed over heads
typedef struct {
    F logprob, entropy;
} LogprobEntropy;

// The action ids, or values, of LANES rows from row r on
KERNEL_INLINE F load_actions(const LossArgs* a, int head, int r) {
    float lane[LANES];
    for (int i = 0; i < LANES; i++)
        lane[i] = r + i < a->rows ? a->actions[(int64_t)(r + i) * a->heads->count + head] : 0.0f;
    return f_load(lane);
}

// One discrete head at row r: logits -> by_entropy, and by_logprob, their slopes
KERNEL_INLINE void discrete_logprob(int width, int ld, F action, float* by_entropy,
                                    float* by_logprob, LogprobEntropy* out) {
    F most = column_max(by_entropy, width, ld), total = f_set(0.0f), minus = f_set(0.0f);
    for (int j = 0; j < width; j++) {
        F logit = f_load(by_entropy + (int64_t)j * ld) - most, e = f_exp(logit);
        total = total + e;
        f_store(by_entropy + (int64_t)j * ld, logit);
        f_store(by_logprob + (int64_t)j * ld, e);
    }
    F inverse = f_set(1.0f) / total, log_total = f_log(total);
    for (int j = 0; j < width; j++) {
        F log_chance = f_load(by_entropy + (int64_t)j * ld) - log_total;
        minus = f_fma(f_load(by_logprob + (int64_t)j * ld) * inverse, log_chance, minus);
    }
    out->entropy = out->entropy - minus;
    for (int j = 0; j < width; j++) {
        M is_taken = f_eq(action, f_set((float)j));
        F chance = f_load(by_logprob + (int64_t)j * ld) * inverse;
        F log_chance = f_load(by_entropy + (int64_t)j * ld) - log_total;
        out->logprob = out->logprob + f_select(is_taken, log_chance, f_set(0.0f));
        f_store(by_entropy + (int64_t)j * ld, chance * (minus - log_chance));
        F taken = f_select(is_taken, f_set(1.0f), f_set(0.0f));
        f_store(by_logprob + (int64_t)j * ld, taken - chance);
    }
}

// All heads at row r. In: logits in columns. Out: d entropy / d logit there, and d logprob /
// d logit in scratch; for a continuous head the distance stays in columns
KERNEL_INLINE LogprobEntropy logprob_entropy(const LossArgs* a, int r) {
    const Heads* heads = a->heads;
    LogprobEntropy out = {f_set(0.0f), f_set(0.0f)};
    for (int head = 0; head < heads->count; head++) {
        int64_t place = (int64_t)heads->column[head] * a->ld + r;
        F action = load_actions(a, head, r);
        if (heads->logstd_index[head] < 0) {
            discrete_logprob(heads->width[head], a->ld, action, a->dcolumns + place,
                             a->scratch + place, &out);
            continue;
        }
        float logstd = clamp_logstd(a->logstd[heads->logstd_index[head]]);
        F narrow = f_exp(f_set(-logstd));
        F distance = (action - f_load(a->dcolumns + place)) * narrow;
        out.logprob = out.logprob + gaussian_logprob(distance, f_set(logstd));
        out.entropy = out.entropy + f_set(logstd + HALF_LOG_2PI + 0.5f);
        f_store(a->dcolumns + place, distance);
        f_store(a->scratch + place, distance * narrow);
    }
    return out;
}

// d loss / d logit, in place of what logprob_entropy left; and d loss / d logstd, added up
KERNEL_INLINE void spread(const LossArgs* a, int r, F valid, F by_logprob) {
    const Heads* heads = a->heads;
    F by_entropy = f_set(-a->ent_coef * a->scale) * valid, one = f_set(1.0f);
    for (int head = 0; head < heads->count; head++) {
        int64_t place = (int64_t)heads->column[head] * a->ld + r;
        int dim = heads->logstd_index[head];
        if (dim >= 0) {
            F distance = f_load(a->dcolumns + place);
            F slope = f_fma(by_logprob, distance * distance - one, by_entropy);
            float logstd = a->logstd[dim];    // a clamp passes nothing on beyond its bounds
            if (logstd >= LOGSTD_MIN && logstd <= LOGSTD_MAX) a->dlogstd[dim] += f_sum(slope);
            f_store(a->dcolumns + place, by_logprob * f_load(a->scratch + place));
            continue;
        }
        for (int j = 0; j < heads->width[head]; j++, place += a->ld)
            f_store(a->dcolumns + place, f_fma(by_entropy, f_load(a->dcolumns + place),
                                               by_logprob * f_load(a->scratch + place)));
    }
}

static void loss(const LossArgs* a) {
    int outputs = a->heads->outputs;
    float* value_column = a->dcolumns + (int64_t)outputs * a->ld;
    F sum[KERNEL_LOSSES], one = f_set(1.0f), zero = f_set(0.0f);
    to_columns(a->rows, outputs + 1, a->out, a->ldo, a->dcolumns, a->ld);
    if (a->mask) mask_columns(a->rows, a->heads, a->mask, a->dcolumns, a->ld);
    for (int i = 0; i < KERNEL_LOSSES; i++) sum[i] = zero;
    for (int r = 0; r < a->rows; r += LANES) {
        float lane[LANES];
        for (int i = 0; i < LANES; i++)
            lane[i] = r + i >= a->rows ? 0.0f : a->live ? a->live[r + i] : 1.0f;
        F valid = f_load(lane), value = f_load(value_column + r);
        M live = f_eq(valid, one);    // no padding after the last row, no row without an agent
        LogprobEntropy now = logprob_entropy(a, r);
        F log_ratio = f_select(live, now.logprob - f_load(a->logprob_old + r), zero);
        F ratio = f_select(f_lt(log_ratio, f_set(88.0f)), f_exp(log_ratio), f_set(INFINITY));
        LossTerm policy = f_policy_loss(f_select(live, f_load(a->advantage + r), zero), ratio,
                                        f_set(a->clip_coef));
        LossTerm error = f_value_loss(value, f_load(a->value_old + r), f_load(a->returns + r),
                                      f_set(a->vf_clip_coef));
        f_store(a->values + r, f_select(live, value, zero));
        f_store(a->ratio + r, ratio);
        spread(a, r, valid, policy.slope * f_set(a->scale));
        F slope = error.slope * f_set(a->vf_coef * a->scale);
        f_store(value_column + r, f_select(live, slope, zero));
        F moved = f_max(ratio - one, one - ratio);
        sum[0] = sum[0] + policy.loss;
        sum[1] = sum[1] + f_select(live, error.loss, zero);
        sum[2] = f_fma(now.entropy, valid, sum[2]);
        sum[3] = sum[3] - log_ratio;
        sum[4] = sum[4] + (ratio - one - log_ratio);
        sum[5] = sum[5] + f_select(f_le(moved, f_set(a->clip_coef)), zero, one);
    }
    for (int i = 0; i < KERNEL_LOSSES; i++) a->sums[i] += (double)f_sum(sum[i]);
}
