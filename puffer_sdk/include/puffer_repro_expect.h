/* puffer_repro_expect.h -- what a repro program looks for: one function for each expectation.
 * Included by puffer_repro.h, where the table of them stands. Each ends the program with
 * REPRO_FAIL when it does not find what should hold, and returns otherwise.
 */
#pragma once

//------------------------------------------------------------------------------------
// Expectations about values: looked at after the reset and after each step
//------------------------------------------------------------------------------------
REPRO_FN void repro_look_return(ReproBatch* b) { (void)b; }

REPRO_FN void repro_look_values(ReproBatch* b) {
    ReproSpan s = repro_span(b);
    const char* e = repro_it.expect;
    REPRO_EACH(s, agent, element, i) {
        if (!repro_told(b, s.array, repro_it.env, agent)) continue;
        double value = repro_value(b, repro_it.env, s.array, (size_t)i);
        const char* called = repro_called(s, agent, element);
        if (strcmp(e, "finite") == 0 && !isfinite(value))
            REPRO_FAIL(REPRO_FAILED, "%s is %s, expected a finite number", called,
                       isnan(value) ? "nan"
                       : value > 0  ? "inf"
                                    : "-inf");
        if (strcmp(e, "within") == 0 && !(value >= repro_it.low && value <= repro_it.high))
            REPRO_FAIL(REPRO_FAILED, "%s is %g, expected a value within [%g, %g]", called, value,
                       repro_it.low, repro_it.high);
        if (strcmp(e, "zero-or-one") == 0 && value != 0.0 && value != 1.0)
            REPRO_FAIL(REPRO_FAILED, "%s is %g, expected 0 or 1", called, value);
        if (strcmp(e, "with-terminal") == 0 && value == 1.0
            && b->rows[repro_it.env].terminals[i] == 0.0f)
            REPRO_FAIL(REPRO_FAILED, "%s is 1 and its terminal 0, expected both to be 1", called);
    }
}

REPRO_FN bool repro_acts(const ReproBatch* b, int agent) {
    bool any = false;
    for (int k = 0; k < repro_desc.mask_size; k++)
        any |= b->rows[repro_it.env].action_mask[agent * repro_desc.mask_size + k] != 0;
    return any && repro_has(b, repro_it.env, agent);
}

// Whether an agent waits for one that may act
REPRO_FN bool repro_waits(const ReproBatch* b, int agent) {
    bool any = false;
    for (int other = 0; other < b->count[repro_it.env]; other++) any |= repro_acts(b, other);
    return any && !repro_acts(b, agent);
}

REPRO_FN void repro_look_legal(ReproBatch* b) {
    ReproSpan s = repro_span(b);
    for (int agent = s.agent; agent < s.agents; agent++) {
        bool legal = !repro_has(b, repro_it.env, agent) || repro_waits(b, agent);
        for (int k = s.first; k <= s.last; k++)
            legal |= repro_value(b, repro_it.env, s.array, s.each * (size_t)agent + (size_t)k) != 0;
        if (!legal)
            REPRO_FAIL(REPRO_FAILED,
                       "%s and all of its head are 0, expected one action to be legal",
                       repro_called(s, agent, s.first));
    }
}

// As many agents as the env has rows, or with max_agents at most as many; rows never change
REPRO_FN void repro_look_count(ReproBatch* b) {
    const Env* env = (const Env*)repro_api->env_struct(b->vec, repro_it.env);
    int rows = b->count[repro_it.env];
#ifdef PUFFER_HAS_MAX_AGENTS
    if (env->max_agents != rows)
        REPRO_FAIL(REPRO_FAILED, "max_agents is %d, expected %d as after init", env->max_agents,
                   rows);
    if (env->num_agents < 0 || env->num_agents > rows)
        REPRO_FAIL(REPRO_FAILED, "num_agents is %d, expected 0 to %d (max_agents)", env->num_agents,
                   rows);
#else
    if (env->num_agents != rows)
        REPRO_FAIL(REPRO_FAILED, "num_agents is %d, expected %d as after init", env->num_agents,
                   rows);
#endif
}

// A block of flags that is set and never cleared moves in one direction within an episode
REPRO_FN void repro_look_let_go(ReproBatch* b) {
    static double* start;
    static bool fresh = true;
    ReproSpan s = repro_span(b);
    size_t cells = s.each * (size_t)b->count[repro_it.env];
    if (!start) start = (double*)calloc(cells, sizeof *start);
    for (int agent = s.agent; agent < s.agents; agent++) {
        int rose = 0, fell = 0, which = s.first;
        if (!repro_has(b, repro_it.env, agent)) continue;
        for (int k = s.first; k <= s.last; k++) {
            size_t i = s.each * (size_t)agent + (size_t)k;
            double value = repro_value(b, repro_it.env, s.array, i);
            if (fresh) start[i] = value;
            rose += value > start[i];
            fell += value < start[i];
            which = value != start[i] ? k : which;
        }
        if (rose + fell > 1 && (rose == 0 || fell == 0))
            REPRO_FAIL(REPRO_FAILED,
                       "%s and others before it were set and never cleared, expected "
                       "only what holds now",
                       repro_called(s, agent, which));
    }
    fresh = repro_any_ended(b, repro_it.env) || repro_watch.step == 0;
    for (size_t i = 0; fresh && i < cells; i++) start[i] = repro_value(b, repro_it.env, s.array, i);
    fresh = false;
}

// On other steps the element is the word, scaled and shifted; after an ending it must be, too
REPRO_FN void repro_look_shown(ReproBatch* b) {
    ReproSpan s = repro_span(b);
    const char* base = (const char*)repro_api->env_struct(b->vec, repro_it.env);
    if (repro_last != PUFFER_STEP || !repro_ended(b, repro_it.env)
        || !repro_has(b, repro_it.env, s.agent))
        return;
    if (repro_it.pointer >= 0) memcpy(&base, base + repro_it.pointer, sizeof base);
    float real;
    int32_t whole;
    memcpy(&real, base + repro_it.offset, 4);
    memcpy(&whole, base + repro_it.offset, 4);
    double word = repro_it.is_float ? (double)real : (double)whole;
    double expected = repro_it.scale * word + repro_it.shift;
    double value = repro_value(b, repro_it.env, s.array,
                               s.each * (size_t)s.agent + (size_t)s.first);
    if (!(fabs(value - expected) <= 1e-4 * (1.0 + fabs(value))))
        REPRO_FAIL(REPRO_FAILED,
                   "%s is %g and shows the episode that is over, expected %g: %s is "
                   "%g by now",
                   repro_called(s, s.agent, s.first), value, expected,
                   repro_it.field ? repro_it.field : "the state", word);
}

REPRO_FN void repro_look_logged(ReproBatch* b) {
    static unsigned char* ended;
    double log[PUFFER_MAX_LOG];
    static double entries;
    int env = repro_it.env, all = 1, any = 0;
    if (!ended) ended = (unsigned char*)calloc((size_t)b->count[env], 1);
    for (int i = 0; i < b->count[env]; i++) {
        ended[i] |= repro_agent_ended(b, env, i) && repro_watch.step > 0;
        all &= ended[i] || !b->had[env][i];
        any |= ended[i];
    }
    entries += repro_api->collect_log(b->vec, env, 1, log);
    if (all && any && entries == 0.0)
        REPRO_FAIL(REPRO_FAILED, "an episode of every agent has ended, and log.n is still 0");
}

// The log's field against steps and rewards counted here. With several agents the sum, the mean
// and one agent's are all right, over all of them or over those whose episode ended
REPRO_FN void repro_look_log(ReproBatch* b) {
    static double *steps, *paid;    // of each agent, since its episode began
    const PufferBuffers* rows = &b->rows[repro_it.env];
    int agents = b->count[repro_it.env], ended = 0, present = 0;
    bool is_length = strcmp(repro_it.field, "episode_length") == 0, matches = false;
    bool stepped = repro_last == PUFFER_STEP;
    double log[PUFFER_MAX_LOG], sum = 0.0, ended_sum = 0.0, logged = NAN;
    if (!steps) {
        steps = (double*)calloc((size_t)agents, sizeof *steps);
        paid = (double*)calloc((size_t)agents, sizeof *paid);
    }
    double n = repro_api->collect_log(b->vec, repro_it.env, 1, log);
    for (int i = 0; n > 0.0 && i < repro_desc.num_logs; i++)
        if (strcmp(repro_desc.log_names[i], repro_it.field) == 0) logged = log[i];
#define REPRO_IS(value) (fabs(logged - (value)) <= 1e-3 + 1e-3 * fabs(value))
    for (int i = 0; i < agents; i++) {
        bool had = b->had[repro_it.env][i];
        if (!had) steps[i] = paid[i] = 0.0;
        if (!had) continue;
        present++;
        steps[i] += stepped;
        paid[i] += stepped ? rows->rewards[i] : 0.0;
        double counted = is_length ? steps[i] : paid[i];
        bool over = repro_agent_ended(b, repro_it.env, i);
        matches |= REPRO_IS(counted);
        sum += counted;
        ended_sum += over ? counted : 0.0;
        ended += over;
        if (over || !stepped) steps[i] = paid[i] = 0.0;
    }
    matches |= REPRO_IS(sum / (present ? present : 1)) || (ended && REPRO_IS(ended_sum / ended));
    if (!is_length) matches |= REPRO_IS(sum) || REPRO_IS(ended_sum);    // steps do not add up
    if (!isnan(logged) && ended && !matches)
        REPRO_FAIL(REPRO_FAILED, "the log's %s is %g, expected %g", repro_it.field, logged,
                   ended_sum / ended);
}

//------------------------------------------------------------------------------------
// Expectations about resets. A word of the env struct that has the same value after each
// c_reset, and others in between, tells a new episode: a tick, a score, a place to start
//------------------------------------------------------------------------------------
enum { REPRO_WORDS = 1 << 12, REPRO_RESETS = 16, REPRO_STILL = 2000 };
typedef struct ReproHome {
    uint32_t value[REPRO_WORDS];
    bool fixed[REPRO_WORDS], moves[REPRO_WORDS];
} ReproHome;
static ReproHome repro_home;
static int repro_words;    // of the struct, then of the observations
static uint64_t repro_rng;
static bool repro_away[REPRO_WORDS], repro_resets_draw = true;

REPRO_FN bool repro_is_state(size_t at) {    // not the log, the generator or a buffer's address
#define REPRO_OUTSIDE(field)                                                                       \
    (at + 4 <= offsetof(Env, field) || at >= offsetof(Env, field) + sizeof(((Env*)0)->field))
#ifndef PUFFER_NO_RNG
    if (!REPRO_OUTSIDE(rng)) return false;
#endif
#ifdef PUFFER_AGENTS
    return REPRO_OUTSIDE(log) && REPRO_OUTSIDE(agents);
#else
    return REPRO_OUTSIDE(log) && REPRO_OUTSIDE(observations) && REPRO_OUTSIDE(actions)
           && REPRO_OUTSIDE(rewards) && REPRO_OUTSIDE(terminals);
#endif
}

REPRO_FN uint32_t repro_word(const ReproBatch* b, int i) {
    size_t words = sizeof(Env) / 4;
    uint32_t value = 0;
    const char* env = (const char*)repro_api->env_struct(b->vec, repro_it.env);
    if ((size_t)i < words) memcpy(&value, env + 4 * i, 4);
    else {
        size_t width = repro_desc.obs_dtype ? 4 : 1;
        int agent = (int)(((size_t)i - words) / (size_t)repro_desc.obs_size);
        if (!repro_has(b, repro_it.env, agent)) return 0;
        memcpy(&value, (char*)b->rows[repro_it.env].observations + width * ((size_t)i - words),
               width);
    }
    return value;
}

REPRO_FN uint64_t repro_rng_of(const ReproBatch* b) {
#ifdef PUFFER_NO_RNG
    return (void)b, 0;
#else
    return ((const Env*)repro_api->env_struct(b->vec, repro_it.env))->rng;
#endif
}

REPRO_FN void repro_learn_home(void) {    // in an env of its own
    ReproBatch b = repro_open();
    int struct_words = (int)(sizeof(Env) / 4), K = repro_desc.num_atns;
    int64_t all = struct_words + (int64_t)repro_desc.obs_size * b.count[repro_it.env];
    repro_words = all < REPRO_WORDS ? (int)all : REPRO_WORDS;
    memset(repro_home.fixed, 1, sizeof repro_home.fixed);
    float* actions = (float*)calloc((size_t)repro_it.width + 1, 4);
    for (int r = 0; r < REPRO_RESETS; r++) {
        uint64_t before = repro_rng_of(&b);
        repro_reset(&b);
        repro_resets_draw &= repro_rng_of(&b) != before;
        for (int i = 0; i < repro_words; i++) {
            uint32_t value = repro_word(&b, i);
            if (r == 0) repro_home.value[i] = value;
            repro_home.fixed[i] &= value == repro_home.value[i]
                                   && (i >= struct_words || repro_is_state(4 * (size_t)i));
        }
        for (int k = 0; k < 1 + 7 * r % 24; k++) {
            for (int i = 0; i < repro_it.width; i++) {
                int size = repro_desc.act_sizes[i % K];
                uint32_t bits = puffer_mix((uint64_t)(r * 64 + k), (uint64_t)i);
                actions[i] = size == 1 ? (float)(bits % 201) / 100.0f - 1.0f
                                       : (float)(bits % (uint32_t)size);
            }
            repro_act(&b, actions);
            repro_step(&b, 0);
            for (int i = 0; i < repro_words; i++)
                repro_home.moves[i] |= repro_word(&b, i) != repro_home.value[i];
        }
    }
    free(actions);
    repro_close(&b);
}

// Of the words that were away from home before the step: how many, and how many came home
REPRO_FN void repro_homecoming(const ReproBatch* b, int* were, int* came) {
    int struct_words = (int)(sizeof(Env) / 4), from = 0, to = 0;
    for (int i = 0; i < struct_words && i < repro_words; i++)
        if (repro_home.fixed[i] && repro_home.moves[i]) to = struct_words;
    if (!to) {
        from = struct_words;
        to = repro_words;
    }    // the observations have to do
    *were = *came = 0;
    for (int i = from; i < to && i < repro_words; i++)
        if (repro_home.fixed[i] && repro_home.moves[i] && repro_away[i]) {
            *were += 1;
            *came += repro_word(b, i) == repro_home.value[i];
        }
}

static int repro_resets;    // calls of c_reset for that env: the program is built to count them
void __cyg_profile_func_enter(void* function, void* caller) __attribute__((no_instrument_function));
void __cyg_profile_func_exit(void* function, void* caller) __attribute__((no_instrument_function));
void __cyg_profile_func_enter(void* function, void* caller) {
    (void)caller;
    repro_resets += function == (void*)c_reset && repro_watch.env == repro_it.env;
}
void __cyg_profile_func_exit(void* function, void* caller) {
    (void)function;
    (void)caller;
}

REPRO_FN void repro_look_reset(ReproBatch* b) {
    static int resets;
    static unsigned char* over;    // agents whose episode has ended since the last reset
    bool hidden = strcmp(repro_it.expect, "reset") != 0, stepped = repro_last == PUFFER_STEP;
    bool by_call = strcmp(repro_it.expect, "terminal") == 0;
    int were, came, agents = b->count[repro_it.env];
    bool drew = repro_rng_of(b) != repro_rng, called = repro_resets != resets;
    if (!over) over = (unsigned char*)calloc((size_t)agents, 1);
    for (int i = 0; i < agents; i++) over[i] |= repro_agent_ended(b, repro_it.env, i);
    repro_homecoming(b, &were, &came);
    bool begun = called || (!by_call && were >= 3 && came == were);
    if (stepped && !hidden && repro_ended(b, repro_it.env) && !called && were > 0 && came == 0
        && !(repro_resets_draw && drew))
        REPRO_FAIL(REPRO_FAILED, "every agent's episode has ended, and nothing of the state has "
                                 "begun anew, expected c_reset(env) in c_step");
    for (int i = 0; stepped && hidden && begun && i < agents; i++)
        if (!over[i] && b->had[repro_it.env][i])
            REPRO_FAIL(REPRO_FAILED, "a new episode has begun, and agent %d had no terminal", i);
    if (begun || !stepped) memset(over, 0, (size_t)agents);
    for (int i = 0; i < repro_words; i++) repro_away[i] = repro_word(b, i) != repro_home.value[i];
    repro_rng = repro_rng_of(b);
    resets = repro_resets;
}

REPRO_FN void repro_copy_told(const ReproBatch* b, int array, char* out) {    // others as zeros
    size_t each = repro_bytes(array);
    const char* rows = (const char*)repro_array(b, repro_it.env, array);
    for (int i = 0; each && i < b->count[repro_it.env]; i++, out += each, rows += each) {
        if (repro_told(b, array, repro_it.env, i)) memcpy(out, rows, each);
        else memset(out, 0, each);
    }
}

REPRO_FN void repro_look_goes_on(ReproBatch* b) {
    static unsigned char *over, *seen;
    static int still;
    int env = repro_it.env, all = 1;
    size_t size = repro_bytes(REPRO_OBS) * (size_t)b->count[env];
    if (!over) {
        over = (unsigned char*)calloc((size_t)b->count[env], 1);
        seen = (unsigned char*)calloc(size, 1);
    }
    for (int i = 0; i < b->count[env]; i++) {
        bool had = b->had[env][i], has = repro_has(b, env, i);
        over[i] = (over[i] && (had || !has))
                  || (repro_watch.step > 0 && (repro_agent_ended(b, env, i) || !(had || has)));
        all &= over[i];
    }
    char* shown = (char*)malloc(size);
    repro_copy_told(b, REPRO_OBS, shown);
    bool same = memcmp(seen, shown, size) == 0 && !repro_any_ended(b, env)
                && repro_rng_of(b) == repro_rng;
    still = same && all ? still + 1 : 0;
    memcpy(seen, shown, size);
    free(shown);
    repro_rng = repro_rng_of(b);
    if (still >= REPRO_STILL)
        REPRO_FAIL(REPRO_FAILED,
                   "every agent's episode has ended, and nothing has changed for %d "
                   "steps, expected a new episode",
                   still);
}

REPRO_FN void repro_play(void (*look)(ReproBatch*)) {
    if (look == repro_look_reset) repro_learn_home();
    ReproBatch b = repro_open();
    repro_watch.step = 0;
    repro_reset(&b);
    look(&b);
    for (ReproWalk w = {0}; repro_next(&w);) {
        if (w.actions) {
            repro_act(&b, w.actions);
            repro_step(&b, 0);
        } else repro_reset(&b);
        look(&b);
    }
    repro_close(&b);
}

//------------------------------------------------------------------------------------
// Twins: two envs that differ in nothing but what lay in their buffers. Where each still
// holds its own filling, nothing was written
//------------------------------------------------------------------------------------
REPRO_FN void repro_fill(ReproBatch* b, int array, int twin) {
    static const uint32_t nans[2] = {0x7FC50000u, 0x7FCA0000u};
    size_t bytes = repro_bytes(array) * (size_t)b->count[repro_it.env];
    char* at = (char*)repro_array(b, repro_it.env, array);
    if (array == REPRO_OBS && !repro_desc.obs_dtype) memset(at, twin ? 0xA5 : 0x5A, bytes);
    else
        for (size_t i = 0; i < bytes; i += 4) memcpy(at + i, &nans[twin], 4);
}

REPRO_FN bool repro_differs(const ReproBatch* x, const ReproBatch* y, int array, size_t i) {
    size_t width = array == REPRO_OBS && !repro_desc.obs_dtype ? 1 : 4;
    return memcmp((char*)repro_array(x, repro_it.env, array) + width * i,
                  (char*)repro_array(y, repro_it.env, array) + width * i, width)
           != 0;
}

REPRO_FN void repro_determined(void) {    // observations, by c_reset
    ReproBatch x = repro_open(), y = repro_open();
    ReproSpan s = repro_span(&x);
    ReproWalk w = {0};
    repro_watch.step = 0;
    do {
        if (w.actions) {
            repro_act(&x, w.actions);
            repro_act(&y, w.actions);
            repro_step(&x, 0);
            repro_step(&y, 0);
            continue;
        }
        repro_fill(&x, REPRO_OBS, 0);
        repro_fill(&y, REPRO_OBS, 1);
        repro_reset(&x);
        repro_reset(&y);
        REPRO_EACH(s, agent, element, i)
            if (repro_has(&x, repro_it.env, agent) && repro_differs(&x, &y, s.array, (size_t)i))
                REPRO_FAIL(REPRO_FAILED,
                           "c_reset left %s as it was, expected a value that does "
                           "not depend on what the buffer held",
                           repro_called(s, agent, element));
    } while (repro_next(&w));
    repro_close(&x);
    repro_close(&y);
}

REPRO_FN void repro_written(void) {    // by each step, or by those that end the episode
    ReproBatch x = repro_open(), y = repro_open();
    ReproSpan s = repro_span(&x);
    size_t bytes = repro_bytes(s.array) * (size_t)x.count[repro_it.env];
    size_t width = s.array == REPRO_OBS && !repro_desc.obs_dtype ? 1 : 4;
    char *ox = (char*)malloc(bytes + 1), *oy = (char*)malloc(bytes + 1);
    char* at_x = (char*)repro_array(&x, repro_it.env, s.array);
    char* at_y = (char*)repro_array(&y, repro_it.env, s.array);
    bool at_ends = strcmp(repro_it.expect, "written-on-end") == 0;
    repro_watch.step = 0;
    repro_reset(&x);
    repro_reset(&y);
    for (ReproWalk w = {0}; repro_next(&w);) {
        if (!w.actions) {
            repro_reset(&x);
            repro_reset(&y);
            continue;
        }
        memcpy(ox, at_x, bytes);
        memcpy(oy, at_y, bytes);
        repro_fill(&x, s.array, 0);
        repro_fill(&y, s.array, 1);
        repro_act(&x, w.actions);
        repro_act(&y, w.actions);
        repro_step(&x, s.array == REPRO_OBS ? 0 : PUFFER_KEEP_REWARDS);
        repro_step(&y, s.array == REPRO_OBS ? 0 : PUFFER_KEEP_REWARDS);
        bool ends = s.array == REPRO_OBS && repro_ended(&x, repro_it.env);
        REPRO_EACH(s, agent, element, i)
            if ((!at_ends || ends) && repro_told(&x, s.array, repro_it.env, agent)
                && repro_differs(&x, &y, s.array, (size_t)i))
                REPRO_FAIL(REPRO_FAILED,
                           "c_step left %s as it was%s, expected a value of this "
                           "step",
                           repro_called(s, agent, element),
                           at_ends ? ", although the episode has ended" : "");
        for (size_t i = 0; i < bytes / width; i++)    // what was not written stays as it was
            if (repro_differs(&x, &y, s.array, i)) {
                memcpy(at_x + width * i, ox + width * i, width);
                memcpy(at_y + width * i, oy + width * i, width);
            }
    }
    repro_close(&x);
    repro_close(&y);
    free(ox);
    free(oy);
}

//------------------------------------------------------------------------------------
// The same run told twice: both must give the same rows
//------------------------------------------------------------------------------------
enum { REPRO_ALL, REPRO_ALONE, REPRO_REVERSED, REPRO_THREADS };

// What an uninitialised local variable will hold
REPRO_FN void __attribute__((noinline)) repro_soil_stack(void) {
    volatile char dirt[2048];
    memset((char*)dirt, repro_shift ? 0xB5 : 0x4A, sizeof dirt);
    __asm__ volatile("" : : "r"(dirt) : "memory");
}

REPRO_FN size_t repro_record_size(const ReproBatch* b) {
    size_t bytes = 0;
    for (int a = 0; a < REPRO_ACTIONS; a++) bytes += repro_bytes(a);
    return bytes * (size_t)b->count[repro_it.env];
}

typedef struct ReproRecord {
    ReproBatch* b;
    char* rows;
    bool compare;
} ReproRecord;

REPRO_FN void repro_record(ReproRecord* r, int64_t moment) {
    size_t size = repro_record_size(r->b), at = 0;
    char* out = r->rows + size * (size_t)moment;
    for (int a = 0; a < REPRO_ACTIONS; a++) {
        size_t each = repro_bytes(a), width = repro_is_byte(a) ? 1 : 4;
        size_t bytes = each * (size_t)r->b->count[repro_it.env];
        char* now = (char*)malloc(bytes + 1);
        repro_copy_told(r->b, a, now);
        for (size_t i = 0; r->compare && i < bytes; i += width) {
            if (memcmp(out + at + i, now + i, width) == 0) continue;
            ReproSpan s = {.array = a};
            float one;
            if (width == 4) memcpy(&one, out + at + i, 4);
            else one = (float)((unsigned char*)out)[at + i];
            float other = width == 4 ? 0.0f : (float)(unsigned char)now[i];
            if (width == 4) memcpy(&other, now + i, 4);
            REPRO_FAIL(REPRO_FAILED, "%s is %.9g in one run and %.9g in another, expected the same",
                       repro_called(s, (int)(i / each), (int)(i % each / width)), (double)one,
                       (double)other);
        }
        if (!r->compare && bytes) memcpy(out + at, now, bytes);
        free(now);
        at += bytes;
    }
}

REPRO_FN void repro_advance(ReproBatch* b, int how, bool reset) {
    repro_last = reset ? PUFFER_RESET : PUFFER_STEP;
    repro_soil_stack();
    for (int k = 0; k < (how == REPRO_ALL ? 1 : b->envs); k++) {
        int e = how == REPRO_REVERSED ? b->envs - 1 - k : k, n = how == REPRO_ALL ? b->envs : 1;
        if (how == REPRO_ALONE && e != repro_it.env) continue;
        if (!reset) repro_note(b, e, e + n);
        if (reset) repro_api->reset(b->vec, e, n, &repro_watch);
        else repro_api->step(b->vec, e, n, 0, &repro_watch);
        if (reset) repro_note(b, e, e + n);
    }
}

REPRO_FN void repro_tell(char* rows, bool compare, int how) {
    void* volatile displaced = repro_shift ? malloc(100003) : NULL;
    ReproBatch b = repro_open();
    ReproRecord record = {&b, rows, compare};
    int64_t moment = 0;
    repro_watch.step = 0;
    repro_advance(&b, how, true);
    repro_record(&record, moment++);
    for (ReproWalk w = {0}; repro_next(&w);) {
        if (w.actions) repro_act(&b, w.actions);
        repro_advance(&b, how, !w.actions);
        repro_record(&record, moment++);
    }
    repro_close(&b);
    free(displaced);
}

// Two threads play one half of the envs each, from the first step to the last
typedef struct ReproWorker {
    ReproRecord* record;
    int from, to;
} ReproWorker;

REPRO_FN void* repro_work(void* data) {
    ReproWorker* w = (ReproWorker*)data;
    ReproBatch* b = w->record->b;
    PufferWatch own = {0};
    bool watched = repro_it.env >= w->from && repro_it.env < w->to;
    int64_t moment = 1;
    repro_api->reset(b->vec, w->from, w->to - w->from, &own);
    repro_note(b, w->from, w->to);
    if (watched) repro_record(w->record, 0);
    for (ReproWalk walk = {.quiet = !watched}; repro_next(&walk);) {
        if (walk.actions) {
            repro_act_range(b, walk.actions, w->from, w->to);
            repro_note(b, w->from, w->to);
            repro_api->step(b->vec, w->from, w->to - w->from, 0, &own);
        } else {
            repro_api->reset(b->vec, w->from, w->to - w->from, &own);
            repro_note(b, w->from, w->to);
        }
        if (watched) repro_record(w->record, moment++);
    }
    return NULL;
}

REPRO_FN void repro_tell_on_threads(char* rows) {
    ReproBatch b = repro_open();
    ReproRecord record = {&b, rows, true};
    ReproWorker work[2] = {{&record, 0, b.envs / 2}, {&record, b.envs / 2, b.envs}};
    pthread_t other;
    repro_watch.step = 0;
    pthread_create(&other, NULL, repro_work, &work[1]);
    repro_work(&work[0]);
    pthread_join(other, NULL);
    repro_close(&b);
}

REPRO_FN void repro_same(void) {
    const char* e = repro_it.expect;
    ReproBatch b = repro_open();
    size_t moments = 1;
    for (ReproWalk w = {0}; repro_next(&w);) moments++;
    size_t size = repro_record_size(&b) * moments;
    int how = strcmp(e, "same-alone") == 0          ? REPRO_ALONE
              : strcmp(e, "same-in-any-order") == 0 ? REPRO_REVERSED
              : strcmp(e, "same-on-threads") == 0   ? REPRO_THREADS
                                                    : REPRO_ALL;
    repro_free(&b);    // never reset: nothing to close
    char* rows = (char*)mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (rows == (char*)MAP_FAILED) REPRO_FAIL(REPRO_UNABLE, "not enough memory");
    if (strcmp(e, "same-again") == 0) repro_tell(rows, false, REPRO_ALL);
    else {    // in a process of its own: static variables begin anew
        pid_t child = fork();
        if (child == 0) {
            repro_tell(rows, false, REPRO_ALL);
            _exit(0);
        }
        int status = 1;
        waitpid(child, &status, 0);
        if (status != 0) REPRO_FAIL(REPRO_UNABLE, "the first run did not come to its end");
    }
    repro_shift = strcmp(e, "same-again") == 0 || strcmp(e, "same-in-another-process") == 0;
#ifdef __GLIBC__
    if (strcmp(e, "same-in-another-process") == 0) mallopt(M_PERTURB, 165);
#endif
    for (int round = 0; how == REPRO_THREADS && round < 10; round++)
        repro_tell_on_threads(rows);    // ThreadSanitizer sees a race before it is lost
    if (how != REPRO_THREADS) repro_tell(rows, true, how);
}

//------------------------------------------------------------------------------------
// Memory: what init, c_reset and c_step allocate, c_close frees
//------------------------------------------------------------------------------------
#ifdef REPRO_SANITIZED
size_t __sanitizer_get_current_allocated_bytes(void);
REPRO_FN size_t repro_live(void) { return __sanitizer_get_current_allocated_bytes(); }
#elif defined(__APPLE__)
REPRO_FN size_t repro_live(void) {
    malloc_statistics_t found;
    malloc_zone_statistics(NULL, &found);
    return found.size_in_use;
}
#else
REPRO_FN size_t repro_live(void) { return mallinfo2().uordblks; }
#endif

REPRO_FN void repro_freed(void) {
    repro_play(repro_look_return);    // the first time also fills the C library's caches
    size_t before = repro_live();
    repro_num_regions = 0;
    repro_play(repro_look_return);
    size_t after = repro_live();
    if (after > before)
        REPRO_FAIL(REPRO_FAILED, "%zu bytes were allocated and not freed by c_close",
                   after - before);
}

REPRO_FN void repro_steady(void) {    // reset after reset, without c_close
    enum { ROUNDS = 8 };
    ReproBatch b = repro_open();
    size_t before = 0;
    repro_watch.step = 0;
    for (int round = 0; round < ROUNDS; round++) {
        if (round == ROUNDS / 2) before = repro_live();
        repro_reset(&b);
        for (ReproWalk w = {0}; repro_next(&w);) {
            if (w.actions) {
                repro_act(&b, w.actions);
                repro_step(&b, 0);
            } else repro_reset(&b);
        }
    }
    size_t after = repro_live();
    if (after > before)
        REPRO_FAIL(REPRO_FAILED, "%zu bytes more are in use after %d more resets", after - before,
                   ROUNDS / 2);
    repro_close(&b);
}
