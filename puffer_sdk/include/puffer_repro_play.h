/* puffer_repro_play.h -- the envs of a repro program, their rows, and the script that is played.
 * Included by puffer_repro.h. In: the Repro. Out: batches that are reset and stepped.
 */
#pragma once

//------------------------------------------------------------------------------------
// What is played, and what to say when it goes wrong
//------------------------------------------------------------------------------------
enum {
    REPRO_FAILED = 1,
    REPRO_UNABLE = 2,
    REPRO_RACE = 94,
    REPRO_UNDEFINED,
    REPRO_ASAN,
    REPRO_HANG,
    REPRO_EXIT,
    REPRO_SIGNAL
};
enum {
    REPRO_OBS,
    REPRO_REWARDS,
    REPRO_TERMINALS,
    REPRO_TRUNCATIONS,
    REPRO_MASK,
    REPRO_ALIVE,
    REPRO_ACTIONS,
    REPRO_ARRAYS
};
enum { REPRO_GUARD = 1 << 20 };
static const char* const repro_names[REPRO_ARRAYS] = {
    "observations", "rewards", "terminals", "truncations", "action_mask", "alive", "actions"};
static const char* const repro_one[REPRO_ARRAYS] = {
    "observation", "reward", "terminal", "truncation", "action_mask", "alive", "action"};

typedef struct ReproBatch {
    PufferVec* vec;
    int envs;
    PufferBuffers* rows;
    int* count;
    unsigned char** had;    // [envs] rows that had an agent before the last step
} ReproBatch;
typedef struct ReproWalk {
    int row, done, step;
    const float* actions;
    bool quiet;
} ReproWalk;
typedef struct ReproRegion {
    char *start, *low, *high;
    size_t bytes;
    int array;
} ReproRegion;

static Repro repro_it;    // the finding
static const PufferApi* repro_api;
static PufferDescription repro_desc;
static PufferWatch repro_watch;
static PufferSettings repro_env_settings, repro_vec_settings;
static volatile bool repro_over;    // from here on, an exit is ours
static ReproRegion repro_regions[256];
static int repro_num_regions;
static int repro_last;     // the last call: PUFFER_RESET, PUFFER_STEP or PUFFER_CLOSE
static int repro_shift;    // moves clocks, heap and stack: the game may not notice

static struct {           // the row that is wrong
    const char* array;    // NULL = none
    int agent, element;
    bool outside;    // something beyond the env's own rows of the array was touched
} repro_wrong = {NULL, -1, -1, false};

// Nothing of ours outlives the process that started it, which PUFFER_REPRO_PARENT names
REPRO_FN void repro_end_with_parent(void) {
    const char* parent = getenv("PUFFER_REPRO_PARENT");
    if (!parent) return;
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#else
    repro_parent = getppid();
#endif
    if (getppid() != (pid_t)atoi(parent)) _exit(REPRO_UNABLE);    // it ended before that line
}

REPRO_FN const char* repro_phase(int phase) {
    static const char* const names[] = {"idle", "init", "c_reset", "c_step", "c_close", "c_render"};
    return names[phase >= 0 && phase < 6 ? phase : 0];
}

#define REPRO_PHASE repro_phase(repro_watch.phase)

// One line for people, on stderr; for programs, one of JSON in the file that PUFFER_REPRO_RESULT
// names. By write(2): it works inside a signal handler and after the env has closed stderr
REPRO_FN void repro_say(const char* format, ...) {
    const char* path = getenv("PUFFER_REPRO_RESULT");
    char text[400], line[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    for (char* c = text; *c; c++)    // names and errors of the env may hold anything
        *c = (unsigned char)*c < 32 || *c == '"' || *c == '\\' ? '\'' : *c;
    int size = snprintf(line, sizeof line, "%s, step %lld: %s\n", repro_it.code,
                        (long long)repro_watch.step, text);
    bool told = write(2, line, (size_t)size) == size, inside = repro_watch.phase != PUFFER_IDLE;
    if (inside && !repro_wrong.outside) repro_wrong.array = NULL;    // seen before, and right
    bool row = repro_wrong.array != NULL;
    size = snprintf(
        line, sizeof line,
        "{\"code\": \"%s\", \"step\": %lld, \"text\": \"%s\", \"phase\": \"%s\", "
        "\"array\": \"%s\", \"env\": %d, \"agent\": %d, \"element\": %d, "
        "\"outside\": %d, \"low\": %.17g, \"high\": %.17g}\n",
        repro_it.code, (long long)repro_watch.step, text,
        repro_phase(inside ? repro_watch.phase : repro_last), row ? repro_wrong.array : "",
        repro_it.env, row && repro_wrong.agent >= 0 ? repro_wrong.agent : repro_it.agent,
        row ? repro_wrong.element : -1, row && repro_wrong.outside, fmax(repro_it.low, -DBL_MAX),
        fmin(repro_it.high, DBL_MAX));    // JSON has no infinity
    int file = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    if (file >= 0) told &= write(file, line, (size_t)size) == size && close(file) == 0;
    (void)told;    // where nobody listens, the status is left
}

#define REPRO_FAIL(status, ...)                                                                    \
    do {                                                                                           \
        repro_over = true;                                                                         \
        repro_say(__VA_ARGS__);                                                                    \
        _exit(status);                                                                             \
    } while (0)

REPRO_FN size_t repro_bytes(int array) {    // of one agent; 0 = the env has no such array
    switch (array) {
    case REPRO_OBS: return (size_t)repro_desc.obs_size * (repro_desc.obs_dtype ? 4 : 1);
    case REPRO_ACTIONS: return (size_t)repro_desc.num_atns * 4;
    case REPRO_TRUNCATIONS: return repro_desc.has_truncations ? 4 : 0;
    case REPRO_MASK: return (size_t)repro_desc.mask_size;
    case REPRO_ALIVE: return repro_desc.has_alive ? 1 : 0;
    default: return 4;
    }
}

REPRO_FN void* repro_array(const ReproBatch* b, int env, int array) {
    const PufferBuffers* r = &b->rows[env];
    void* all[REPRO_ARRAYS] = {r->observations, r->rewards, r->terminals, r->truncations,
                               r->action_mask,  r->alive,   r->actions};
    return all[array];
}

REPRO_FN bool repro_is_byte(int array) {
    return array == REPRO_MASK || array == REPRO_ALIVE
           || (array == REPRO_OBS && !repro_desc.obs_dtype);
}

REPRO_FN double repro_value(const ReproBatch* b, int env, int array, size_t i) {
    const void* at = repro_array(b, env, array);
    if (array == REPRO_OBS && repro_desc.obs_dtype == PUFFER_I32) return ((const int32_t*)at)[i];
    return repro_is_byte(array) ? ((const unsigned char*)at)[i] : (double)((const float*)at)[i];
}

// `bytes` that touch an unmapped page, so that a write beside them cannot stay unseen
REPRO_FN char* repro_allocate(int array, size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = (bytes + page - 1) / page * page;
    char* low = (char*)mmap(NULL, inner + 2 * REPRO_GUARD, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (low == (char*)MAP_FAILED) REPRO_FAIL(REPRO_UNABLE, "not enough memory");
    char* high = low + inner + 2 * REPRO_GUARD;
    mprotect(low, REPRO_GUARD, PROT_NONE);
    mprotect(high - REPRO_GUARD, REPRO_GUARD, PROT_NONE);
    bool before = repro_it.guard && strcmp(repro_it.guard, "low") == 0;
    char* start = before ? low + REPRO_GUARD : high - REPRO_GUARD - bytes;
    if (repro_num_regions < 256)
        repro_regions[repro_num_regions++] = (ReproRegion){start, low, high, bytes, array};
    return start;
}

REPRO_FN ReproBatch repro_open(void) {
    ReproBatch b = {0};
    PufferError error = {0};
    static int asked;    // once: what a hand-written my_init allocates for the answer stays
    int agents = repro_it.total_agents ? repro_it.total_agents : asked;
    if (agents == 0)
        agents = asked = repro_api->agents_per_env(&repro_env_settings, &repro_watch, &error);
    // The seed of env e is a hash of seed + (e + 1) x this number: so env 0 becomes env `seat`
    uint64_t seed = repro_it.seed + (uint64_t)repro_it.seat * 0x9E3779B97F4A7C15ull;
    b.vec = agents < 1 ? NULL
                       : repro_api->create(&repro_env_settings, &repro_vec_settings, agents, 1,
                                           seed, NULL, &repro_watch, &error);
    if (!b.vec) REPRO_FAIL(REPRO_UNABLE, "cannot create the environment: %s", error.text);
    b.envs = repro_api->num_envs(b.vec);
    if (repro_it.env >= b.envs) REPRO_FAIL(REPRO_UNABLE, "there is no env %d", repro_it.env);
    b.rows = (PufferBuffers*)calloc((size_t)b.envs, sizeof *b.rows);
    b.count = (int*)calloc((size_t)b.envs, sizeof *b.count);
    b.had = (unsigned char**)calloc((size_t)b.envs, sizeof *b.had);
    char* block[REPRO_ARRAYS] = {0};    // a binding that steps all envs wants them adjacent
    for (int a = 0; repro_desc.whole_steps && a < REPRO_ARRAYS; a++)
        if (repro_bytes(a)) block[a] = repro_allocate(a, repro_bytes(a) * (size_t)agents);
    for (int e = 0; e < b.envs; e++) {
        int first;
        char* at[REPRO_ARRAYS] = {0};
        repro_api->rows(b.vec, e, &first, &b.count[e]);
        for (int a = 0; a < REPRO_ARRAYS; a++) {
            size_t each = repro_bytes(a);
            if (each)
                at[a] = block[a] ? block[a] + each * (size_t)first
                                 : repro_allocate(a, each * (size_t)b.count[e]);
        }
        b.rows[e] = (PufferBuffers){at[REPRO_OBS],
                                    (float*)at[REPRO_ACTIONS],
                                    (float*)at[REPRO_REWARDS],
                                    (float*)at[REPRO_TERMINALS],
                                    (float*)at[REPRO_TRUNCATIONS],
                                    (unsigned char*)at[REPRO_MASK]};
        b.rows[e].alive = (unsigned char*)at[REPRO_ALIVE];
        b.had[e] = (unsigned char*)calloc((size_t)b.count[e], 1);
        repro_api->bind(b.vec, e, &b.rows[e]);
    }
    return b;
}

REPRO_FN void repro_free(ReproBatch* b) {    // without closing the envs
    for (int e = 0; e < b->envs; e++) free(b->had[e]);
    free(b->had);
    free(b->rows);
    free(b->count);
}

// With a variable number of agents, the observation after a step belongs to the active ones
REPRO_FN bool repro_has(const ReproBatch* b, int env, int agent) {
    const unsigned char* alive = b->rows[env].alive;
    return agent < ((const Env*)repro_api->env_struct(b->vec, env))->num_agents
           && (!alive || alive[agent]);
}

// The reward and the terminal of a step, to those that were there before it
REPRO_FN void repro_note(ReproBatch* b, int from, int to) {
    for (int e = from; e < to; e++)
        for (int i = 0; i < b->count[e]; i++) b->had[e][i] = repro_has(b, e, i);
}

REPRO_FN bool repro_told(const ReproBatch* b, int array, int env, int agent) {
    if (array == REPRO_OBS || array == REPRO_MASK) return repro_has(b, env, agent);
    return array == REPRO_ALIVE || b->had[env][agent];
}

REPRO_FN void repro_close(ReproBatch* b) {
    repro_last = PUFFER_CLOSE;
    repro_api->destroy(b->vec, &repro_watch);
    repro_free(b);
}

REPRO_FN void repro_reset(ReproBatch* b) {
    repro_last = PUFFER_RESET;
    repro_api->reset(b->vec, 0, b->envs, &repro_watch);
    repro_note(b, 0, b->envs);
}

REPRO_FN void repro_step(ReproBatch* b, int flags) {
    repro_last = PUFFER_STEP;
    repro_note(b, 0, b->envs);
    repro_api->step(b->vec, 0, b->envs, flags, &repro_watch);
}

// The next step of the script, or false. actions: of this step; NULL = a reset
REPRO_FN bool repro_next(ReproWalk* w) {
    size_t stride = sizeof(int) + 4 * (size_t)repro_it.width;
    while (w->row < repro_it.rows) {
        const char* row = (const char*)repro_it.script + stride * (size_t)w->row;
        int steps;
        memcpy(&steps, row, sizeof steps);
        if (w->done < (steps > 0 ? steps : 1)) {
            w->done++;
            w->step += steps > 0;
            w->actions = steps > 0 ? (const float*)(const void*)(row + sizeof(int)) : NULL;
            if (!w->quiet) repro_watch.step = w->step;
            return true;
        }
        w->row++;
        w->done = 0;
    }
    return false;
}

// The nearest allowed action at or after this one, where the env masks actions
REPRO_FN float repro_masked(const unsigned char* mask, int head, float action) {
    int size = repro_desc.act_sizes[head], offset = 0;
    for (int h = 0; h < head; h++) offset += repro_desc.act_sizes[h];
    if (!mask || size == 1 || offset + size > repro_desc.mask_size) return action;
    for (int k = 0; k < size; k++) {
        int candidate = ((int)action + k) % size;
        if (mask[offset + candidate]) return (float)candidate;
    }
    return action;
}

// The script holds the actions of the env that is watched (the others get 0), or of all envs
REPRO_FN void repro_act_range(ReproBatch* b, const float* actions, int from, int to) {
    int K = repro_desc.num_atns;
    bool own = repro_it.width == b->count[repro_it.env] * K;
    for (int e = 0, at = 0; e < to; at += own ? 0 : b->count[e] * K, e++) {
        for (int i = 0; e >= from && i < b->count[e] * K; i++) {
            bool has = own ? e == repro_it.env : at + i < repro_it.width;
            const unsigned char* mask = b->rows[e].action_mask;
            float action = repro_masked(mask ? mask + i / K * repro_desc.mask_size : NULL, i % K,
                                        has ? actions[at + i] : 0.0f);
            bool acts = !repro_desc.has_alive || repro_has(b, e, i / K);
            b->rows[e].actions[i] = acts ? action : 0.0f;
        }
    }
}

REPRO_FN void repro_act(ReproBatch* b, const float* actions) {
    repro_act_range(b, actions, 0, b->envs);
}

REPRO_FN bool repro_agent_ended(const ReproBatch* b, int env, int agent) {
    return b->had[env][agent]
           && (b->rows[env].terminals[agent] != 0.0f || !repro_has(b, env, agent));
}

// For every agent of the env. With a variable number of agents, rows that ended have an agent again,
// because the last agent may leave without a reset
REPRO_FN bool repro_ended(const ReproBatch* b, int env) {
    int had = 0, has = 0, ended = 0, stayed = 0, rows = b->count[env];
    for (int i = 0; i < rows; i++) {
        bool was = b->had[env][i], is = repro_has(b, env, i);
        had += was;
        has += is;
        stayed += was && is;
        ended += was && b->rows[env].terminals[i] != 0.0f;
    }
    if (!repro_desc.has_alive) return ended == rows;
    return ended == had && stayed > 0 && (had > 1 || has == rows);
}

REPRO_FN bool repro_any_ended(const ReproBatch* b, int env) {
    for (int i = 0; i < b->count[env]; i++)
        if (repro_agent_ended(b, env, i)) return true;
    return false;
}

// What is looked at: elements first..last of each agent's part of the array
typedef struct ReproSpan {
    int array;
    size_t each;
    int agent, agents, first, last;
} ReproSpan;

REPRO_FN ReproSpan repro_span(const ReproBatch* b) {
    ReproSpan s = {.agents = b->count[repro_it.env], .each = 1};
    for (int a = 0; a < REPRO_ARRAYS; a++)
        if (repro_it.array && strcmp(repro_it.array, repro_names[a]) == 0) s.array = a;
    if (s.array == REPRO_OBS) {
        s.each = (size_t)repro_desc.obs_size;
        s.first = repro_it.first;
        s.last = repro_it.last < 0 || repro_it.last >= repro_desc.obs_size ? repro_desc.obs_size - 1
                                                                           : repro_it.last;
    }
    s.agent = repro_it.agent < 0 ? 0 : repro_it.agent;
    if (repro_it.agent >= 0 && s.agent < s.agents) s.agents = s.agent + 1;
    return s;
}

#define REPRO_EACH(s, agent_, element_, i_)                                                        \
    for (int agent_ = (s).agent; agent_ < (s).agents; agent_++)                                    \
        for (int element_ = (s).first, i_ = (int)(s).each * agent_ + element_;                     \
             element_ <= (s).last; element_++, i_++)

REPRO_FN const char* repro_called(ReproSpan s, int agent, int element) {    // "reward of agent 0"
    static char text[64];
    repro_wrong.array = repro_names[s.array];
    repro_wrong.agent = agent;
    repro_wrong.element = s.array == REPRO_OBS ? element : -1;
    if (s.array == REPRO_OBS)
        snprintf(text, sizeof text, "observation %d of agent %d", element, agent);
    else snprintf(text, sizeof text, "%s of agent %d", repro_one[s.array], agent);
    return text;
}
