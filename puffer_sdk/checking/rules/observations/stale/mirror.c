/* mirror.c -- elements of the observation that show a word of the state, and when they do not.
 *
 * Many elements are a word of the env's state, scaled and shifted: x / WIDTH, tick / 200. Such a
 * relation is learned from play. Where the word then moves and the element keeps what it showed
 * before, that element was not written; where it does so on the step that ends an episode, the
 * observation still shows the episode that is over. A word that c_reset does not set tells that only
 * if the element shows what it was before.
 */
#include "harness.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_CELLS = 512,
    MAX_LEARN = 2048,
    MAX_MIRROR_WORDS = 2048,
    DISTINCT = 6,
    STUCK = 8,
    MAX_CHOICES = 3
};

typedef struct Mirror {    // element = a x word + b; b has the episode's whole story
    int word;              // -1: shows no word of the state
    bool is_float;         // the word is a float, else an int
    double a, b;
    float usual;    // the element's most frequent value
} Mirror;

typedef struct Look {            // what came of one element
    int64_t seen, frozen;        // steps; those on which it kept its value though the word moved
    int64_t astray;              // steps on which it showed something else altogether
    int64_t ends, ends_old;      // endings; those after which it does not show the word
    int64_t ends_before;         // of these: those after which it shows the word of before
    int64_t off, ends_off;       // steps, endings: the usual value, or 0, though the word differs
    int64_t alone, alone_old;    // the agent's own endings after which it goes on; the same of them
    int64_t step;                // of the first fault
    int env, stuck;              // values in `held`: different values that it stuck at
    float held[STUCK], value, expected;
} Look;

typedef struct Samples {
    int count, cells, words;
    float* obs;         // (count, cells), by sample_value
    bool* held;         // (count, cells) it was the same one step before
    uint32_t* state;    // (count, words)
} Samples;

static double word_value(uint32_t bits, bool is_float) {
    if (is_float) {
        float value;
        memcpy(&value, &bits, 4);
        return isfinite(value) && (value == 0.0f || fabsf(value) > 1e-20f) ? value : NAN;
    }
    return (double)(int32_t)bits;
}

static float cell_value(const Batch* b, int env, int cell) {
    return (float)element_of(b->rows[env].observations, (size_t)cell);
}

static bool shows(const Mirror* m, uint32_t bits, float value) {
    double expected = m->a * word_value(bits, m->is_float) + m->b;
    return fabs(expected - (double)value) <= 1e-4 * (1.0 + fabs((double)value));
}

static float sample_value(const Samples* s, int sample, int cell) {
    return s->obs[(size_t)sample * (size_t)s->cells + (size_t)cell];
}

// The value that an element has most often (by halves: the majority's, if there is one). That
// it is there says little: a relation has to hold for the others
static float usual_value(const Samples* s, int cell) {
    float usual = 0.0f;
    int lead = 0;
    for (int k = 0; k < s->count; k++) {
        float value = sample_value(s, k, cell);
        if (isnan(value)) {
            continue;    // no agent was there
        }
        if (lead == 0) {
            usual = value;
        }
        lead += value == usual ? 1 : -1;
    }
    return usual;
}

typedef struct Fit {          // samples of one element
    int telling;              // not the usual value
    int matches, distinct;    // that lie on the line; different values among these
    int excused;              // that do not, but had not been written either
} Fit;

static Fit try_fit(const Samples* s, int cell, const Mirror* m, float usual, int stride) {
    float seen[DISTINCT];
    Fit f = {0, 0, 0, 0};
    for (int k = 0; k < s->count; k += stride) {
        float value = sample_value(s, k, cell);
        if (value == usual || isnan(value)) {
            continue;
        }
        f.telling++;
        if (shows(m, s->state[(size_t)k * (size_t)s->words + (size_t)m->word], value)) {
            f.matches++;
            int i = 0;
            while (i < f.distinct && seen[i] != value) {
                i++;
            }
            if (i == f.distinct && i < DISTINCT) {
                seen[f.distinct++] = value;
            }
        } else {
            f.excused += s->held[(size_t)k * (size_t)s->cells + (size_t)cell];
        }
    }
    return f;
}

// The line through two samples of (word, element), if there is one
static bool fit(const Samples* s, int cell, Mirror* m, int try) {
    size_t i = (size_t)(mix((uint64_t)(2 * try)) % (uint64_t)s->count);
    size_t j = (size_t)(mix((uint64_t)(2 * try + 1)) % (uint64_t)s->count);
    double x = word_value(s->state[i * (size_t)s->words + (size_t)m->word], m->is_float);
    double y = word_value(s->state[j * (size_t)s->words + (size_t)m->word], m->is_float);
    double u = (double)s->obs[i * (size_t)s->cells + (size_t)cell];
    double v = (double)s->obs[j * (size_t)s->cells + (size_t)cell];
    if (!(fabs(x - y) > 1e-9) || u == v || !isfinite(u) || !isfinite(v)) {
        return false;
    }
    m->a = (u - v) / (x - y);
    m->b = u - m->a * x;
    return isfinite(m->a) && fabs(m->a) < 1e6;
}

static Mirror learn_cell(const Samples* s, int cell, const bool* moves) {
    Mirror best = {.word = -1};
    int most = 0, stride = 1 + s->count / 64;
    float usual = usual_value(s, cell);
    for (int w = 0; w < s->words; w++) {
        for (int is_float = 0; moves[w] && is_float < 2; is_float++) {
            Mirror m = {.word = w, .is_float = is_float != 0};
            for (int try = 0; try < 12; try++) {
                if (!fit(s, cell, &m, try + 12 * cell)
                    || (desc.obs_dtype != PUFFER_F32 && fabs(m.a) != 1.0)) {
                    continue;    // whole numbers are coarse: any few values lie on some line
                }
                Fit few = try_fit(s, cell, &m, usual, stride);
                if (2 * few.matches < few.telling) {
                    continue;
                }
                Fit all = try_fit(s, cell, &m, usual, 1);
                if (all.telling >= 48 && all.distinct == DISTINCT && all.matches > most
                    && 10 * all.matches >= 6 * all.telling
                    && 100 * (all.matches + all.excused) >= 97 * all.telling) {
                    most = all.matches;
                    best = m;
                    best.usual = usual;
                }
                break;
            }
        }
    }
    return best;
}

static bool row_is_blank(const Batch* b, int env, int agent) {
    for (int i = 0; i < desc.obs_size; i++) {
        if (cell_value(b, env, agent * desc.obs_size + i) != 0.0f) {
            return false;
        }
    }
    return true;
}

typedef struct Watcher {    // everything that the experiment keeps
    Batch b;
    State* states;               // (E) read alike: same words in every env
    int agents, cells, words;    // of each env; words that may be mirrored
    size_t all;                  // words of a state
    uint32_t *state, *before;    // (E, all) now and one step ago
    float* held;                 // (E, cells) the elements one step ago
    unsigned char* pending;      // (E, cells) at the agent's own ending, one step ago
    bool* waits;                 // (all agents) dead, until all of its env have ended
    bool* moves;                 // (words) changed while samples were taken
    Samples samples;
    Mirror* mirrors;    // (cells)
    Look* looks;        // (cells)
} Watcher;

static Watcher watcher_open(void) {
    Watcher w = {.b = batch_open(PACKED)};
    const Batch* b = &w.b;
    size_t envs = (size_t)b->envs;
    bool alike = true;
    batch_reset(&w.b, -1);
    w.states = calloc(envs, sizeof *w.states);
    w.agents = b->count[0];
    for (int e = 0; e < b->envs; e++) {
        w.states[e] = state_open(b, e);
        alike = alike && w.states[e].words == w.states[0].words && b->count[e] == b->count[0];
        w.agents = b->count[e] < w.agents ? b->count[e] : w.agents;
    }
    for (int e = 0; e < b->envs && !alike; e++) {    // then only their structs
        w.states[e].words = w.states[e].struct_words;
        w.states[e].blocks = 0;
    }
    w.all = w.states[0].words;
    w.words = w.all < MAX_MIRROR_WORDS ? (int)w.all : MAX_MIRROR_WORDS;
    w.cells = w.agents * desc.obs_size < MAX_CELLS ? w.agents * desc.obs_size : MAX_CELLS;
    w.state = calloc(w.all * envs, 4);
    w.before = calloc(w.all * envs, 4);
    w.held = calloc((size_t)w.cells * envs, sizeof *w.held);
    w.pending = calloc((size_t)w.cells * envs, 1);
    w.waits = calloc((size_t)b->agents, sizeof *w.waits);
    w.moves = calloc((size_t)w.words, sizeof *w.moves);
    w.mirrors = calloc((size_t)w.cells, sizeof *w.mirrors);
    w.looks = calloc((size_t)w.cells, sizeof *w.looks);
    w.samples = (Samples){.cells = w.cells,
                          .words = w.words,
                          .obs = malloc((size_t)MAX_LEARN * (size_t)w.cells * 4),
                          .held = malloc((size_t)MAX_LEARN * (size_t)w.cells),
                          .state = malloc((size_t)MAX_LEARN * (size_t)w.words * 4)};
    return w;
}

static void take_sample(Watcher* w, int env) {
    Samples* s = &w->samples;
    const uint32_t* state = w->state + w->all * (size_t)env;
    const float* held = w->held + (size_t)w->cells * (size_t)env;
    size_t row = (size_t)s->count * (size_t)w->words, cell = (size_t)s->count * (size_t)w->cells;
    for (int i = 0; i < w->words; i++) {
        s->state[row + (size_t)i] = state[i];
        w->moves[i] = w->moves[i] || (s->count && state[i] != s->state[i]);
    }
    for (int c = 0; c < w->cells; c++) {
        bool is = has_agent(&w->b, env, c / desc.obs_size);
        s->obs[cell + (size_t)c] = is ? cell_value(&w->b, env, c) : NAN;
        s->held[cell + (size_t)c] = s->obs[cell + (size_t)c] == held[c];
    }
    s->count++;
}

enum { NOT_PENDING, TRUE_THEN, OLD_THEN };

// An agent's own ending counts only if the next step shows the word: else it may be dead, and wait
static void look_at_own(Watcher* w, int env, int agent, bool own) {
    const uint32_t* state = w->state + w->all * (size_t)env;
    int from = agent * desc.obs_size, to = from + desc.obs_size;
    for (int c = from; c < to && c < w->cells; c++) {
        const Mirror* m = &w->mirrors[c];
        unsigned char* pending = &w->pending[(size_t)w->cells * (size_t)env + (size_t)c];
        float value = cell_value(&w->b, env, c);
        bool good = m->word >= 0 && shows(m, state[m->word], value);
        Look* l = &w->looks[c];
        if (*pending != NOT_PENDING && good && !own) {
            l->alone++;
            l->alone_old += *pending == OLD_THEN;
        }
        *pending = m->word < 0 || !own ? NOT_PENDING : good ? TRUE_THEN : OLD_THEN;
        if (*pending == OLD_THEN && l->alone_old == 0 && l->frozen == 0 && l->ends_old == 0) {
            l->step = watch.step;
            l->env = env;
            l->value = value;
            l->expected = (float)(m->a * word_value(state[m->word], m->is_float) + m->b);
        }
    }
}

// Whether it shows another word by the same line, now and one step ago: what is shown was chosen
// anew, such as the pipe that is next. Where many words would do, one of them does by accident
static bool shows_another(const Watcher* w, const Mirror* m, const uint32_t* state,
                          const uint32_t* before, float value) {
    int others = 0;
    for (int i = 0; i < w->words && others <= MAX_CHOICES; i++) {
        others += i != m->word && w->moves[i] && state[i] == before[i] && shows(m, state[i], value);
    }
    return others > 0 && others <= MAX_CHOICES;
}

static void look(const Watcher* w, int cell, int env, bool ended) {
    const Mirror* m = &w->mirrors[cell];
    Look* l = &w->looks[cell];
    const uint32_t* state = w->state + w->all * (size_t)env;
    const uint32_t* state_before = w->before + w->all * (size_t)env;
    uint32_t bits = state[m->word], bits_before = state_before[m->word];
    float value = cell_value(&w->b, env, cell);
    float before = w->held[(size_t)w->cells * (size_t)env + (size_t)cell];
    double expected = m->a * word_value(bits, m->is_float) + m->b;
    double earlier = m->a * word_value(bits_before, m->is_float) + m->b;
    bool bad = !shows(m, bits, value), first = false;
    bool off = bad && (value == m->usual || value == 0.0f);    // 0: nothing is there
    if (ended) {
        l->ends++;
        l->ends_old += bad;
        l->ends_before += bad && shows(m, bits_before, value);
        l->ends_off += off;
        first = bad && l->ends_old == 1 && l->frozen == 0;
    } else {
        l->seen++;
        l->off += off;
        if (bad && value == before && fabs(expected - earlier) > 1e-3 * (1.0 + fabs(expected))
            && !shows_another(w, m, state, state_before, value)) {
            first = l->frozen++ == 0 && l->ends_old == 0;
            int i = 0;
            while (i < l->stuck && l->held[i] != value) {
                i++;
            }
            if (i == l->stuck && i < STUCK) {
                l->held[l->stuck++] = value;
            }
        } else {
            l->astray += bad && value != before;
        }
    }
    if (first) {
        l->step = watch.step;
        l->env = env;
        l->value = value;
        l->expected = (float)expected;
    }
}

// ended: every agent's episode; any: some agent's
static void look_at(Watcher* w, int env, bool ended, bool any) {
    for (int agent = 0; agent * desc.obs_size < w->cells; agent++) {
        bool own = agent_ended(&w->b, env, agent);
        if (!has_agent(&w->b, env, agent) || !had_agent(&w->b, env, agent)) {
            continue;
        }
        bool waits = w->waits[w->b.first[env] + agent];
        look_at_own(w, env, agent, own && !ended && !row_is_blank(&w->b, env, agent));
        if ((waits && !ended) || ((own || ended) && row_is_blank(&w->b, env, agent))
            || (any && !ended)) {
            continue;
        }
        int from = agent * desc.obs_size, to = from + desc.obs_size;
        for (int c = from; c < to && c < w->cells; c++) {
            if (w->mirrors[c].word >= 0) {
                look(w, c, env, ended);
            }
        }
    }
}

static void remember(Watcher* w, int env, bool ended) {
    for (int i = 0; i < w->b.count[env]; i++) {
        bool* waits = &w->waits[w->b.first[env] + i];
        bool came = has_agent(&w->b, env, i) && !had_agent(&w->b, env, i);
        *waits = !ended && !came && (*waits || agent_ended(&w->b, env, i));
    }
    for (int c = 0; c < w->cells; c++) {
        w->held[(size_t)w->cells * (size_t)env + (size_t)c] = cell_value(&w->b, env, c);
    }
    memcpy(w->before + w->all * (size_t)env, w->state + w->all * (size_t)env, w->all * 4);
}

static void report_mirrors(Watcher* w) {
    for (int c = 0; c < w->cells; c++) {
        Look* l = &w->looks[c];
        const Mirror* m = &w->mirrors[c];
        bool partly = 100 * l->off > l->seen;    // it shows the word only while something is there
        if (m->word >= 0 && l->ends_old > l->ends_before
            && !reset_sets(&w->b, &w->states[0], (size_t)m->word)) {
            l->ends_old = l->ends_before;
        }
        int64_t old = l->ends_old - (partly ? l->ends_off : 0);
        if (m->word < 0 || (l->frozen == 0 && old == 0 && l->alone_old == 0)
            || 100 * l->astray > 3 * l->seen) {
            continue;
        }
        StatePlace place = state_place(&w->states[0], (size_t)m->word);
        fact(mirror, .agent = c / desc.obs_size, .element = c % desc.obs_size, .word = place,
             .seen = l->seen, .frozen = l->frozen, .stuck = l->stuck, .ends = l->ends,
             .ends_old = old, .alone = l->alone, .alone_old = l->alone_old, .step = l->step,
             .env = l->env, .value = l->value, .expected = l->expected, .scale = m->a,
             .shift = m->b, .is_float = m->is_float);
    }
}

void experiment_mirror(void) {
    Watcher w = watcher_open();
    Batch* b = &w.b;
    int64_t learning = options.steps / 4;
    int stride = 1 + (int)(learning * b->envs / MAX_LEARN);
    for (int64_t t = 1; t <= options.steps; t++) {
        batch_tick(b, t);
        for (int e = 0; e < b->envs; e++) {
            bool ended = env_ended(b, e), any = any_ended(b, e);
            state_read(&w.states[e], b, e, w.state + w.all * (size_t)e);
            if (t > learning) {
                look_at(&w, e, ended, any);
            } else if (!any && t % stride == 0 && w.samples.count < MAX_LEARN) {
                take_sample(&w, e);
            }
            remember(&w, e, ended);
        }
        for (int c = 0; t == learning && c < w.cells; c++) {
            w.mirrors[c] = w.samples.count >= 64 ? learn_cell(&w.samples, c, w.moves)
                                                 : (Mirror){.word = -1};
        }
    }
    report_mirrors(&w);
    batch_close(b);
}
