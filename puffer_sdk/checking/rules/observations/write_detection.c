/* write_detection.c -- experiments on two batches that differ only in what lay in their buffers.
 *
 * Same seed, same actions. One twin's buffers are filled with pattern A, the other's with B.
 * Where both twins still hold their own pattern, nothing was written; where they differ in
 * another way, what was written depends on what lay there before.
 */
#include "harness.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint32_t float_pattern[2] = {0x7FC50000u, 0x7FCA0000u};    // NaNs, also as bf16
static const unsigned char byte_pattern[2] = {0x5A, 0xA5};

enum { WRITTEN, UNTOUCHED, DERIVED };

static void fill(void* memory, size_t bytes, bool is_word, int twin) {
    if (!is_word) {
        memset(memory, byte_pattern[twin], bytes);
        return;
    }
    for (size_t i = 0; i < bytes / 4; i++) {
        memcpy((char*)memory + 4 * i, &float_pattern[twin], 4);
    }
}

static void fill_observations(Batch* b, int env, int twin) {
    fill(b->rows[env].observations, row_bytes(OBSERVATIONS) * (size_t)b->count[env],
         desc.obs_dtype != PUFFER_U8, twin);
}

static int state_of(const void* x, const void* y, size_t i, bool is_word) {
    if (!is_word) {
        unsigned char a = ((const unsigned char*)x)[i], b = ((const unsigned char*)y)[i];
        return a == b                                         ? WRITTEN
               : a == byte_pattern[0] && b == byte_pattern[1] ? UNTOUCHED
                                                              : DERIVED;
    }
    uint32_t a, b;
    memcpy(&a, (const char*)x + 4 * i, 4);
    memcpy(&b, (const char*)y + 4 * i, 4);
    return a == b ? WRITTEN : a == float_pattern[0] && b == float_pattern[1] ? UNTOUCHED : DERIVED;
}

static int obs_state(const Batch* x, const Batch* y, int env, size_t i) {
    return state_of(x->rows[env].observations, y->rows[env].observations, i,
                    desc.obs_dtype != PUFFER_U8);
}

static size_t cells_of(const Batch* b) {    // agents of the largest env x D
    int most = 0;
    for (int e = 0; e < b->envs; e++) {
        most = b->count[e] > most ? b->count[e] : most;
    }
    return (size_t)most * (size_t)desc.obs_size;
}

// Elements are reported one by one for options.told agents. In a crowd the others are counted
// together with these, as those of other envs are: else there would be millions of facts
static size_t told_agents(size_t agents) {
    size_t most = (size_t)options.told;
    return most && most < agents ? most : agents;
}

static size_t told_as(size_t i, size_t agents) {
    size_t D = (size_t)desc.obs_size;
    return i / D % told_agents(agents) * D + i % D;
}

static void step_twins(Batch* x, Batch* y, int64_t t, int flags) {
    watch.step = t;
    batch_act(x, -1, t);
    copy_actions(x, y);
    batch_step(x, -1, flags);
    batch_step(y, -1, flags);
}

//------------------------------------------------------------------------------------
// poison: before each reset. What c_reset leaves, and whether a step ever writes it
//------------------------------------------------------------------------------------
enum { ROUNDS = 4 };

static void report_left(size_t cells, const unsigned char* left, const unsigned char* touched,
                        const unsigned char* derived, const int* where) {
    size_t D = (size_t)desc.obs_size;
    for (size_t i = 0; i < cells; i++) {
        if (left[i] || derived[i]) {
            fact(left, .agent = i / D, .element = i % D, .env = where[i], .touched = touched[i],
                 .derived = !left[i]);
        }
    }
}

// Elements of one env that still wait for a step that writes them
static size_t settle(const Batch* x, const Batch* y, int e, unsigned char* pending,
                     unsigned char* touched, size_t agents) {
    size_t D = (size_t)desc.obs_size, waiting = 0;
    for (int agent = 0; agent < x->count[e]; agent++) {
        bool there = has_agent(x, e, agent);
        for (size_t i = D * (size_t)agent; i < D * (size_t)(agent + 1); i++) {
            if (!pending[i]) {
                continue;
            }
            if (there && obs_state(x, y, e, i) != UNTOUCHED) {
                pending[i] = 0;
                touched[told_as(i, agents)] = 1;
            }
            waiting += pending[i];
        }
    }
    return waiting;
}

void experiment_poison(void) {
    Batch x = batch_open(PACKED), y = batch_twin(&x);
    size_t cells = cells_of(&x), D = (size_t)desc.obs_size, agents = cells / D;
    size_t told = told_agents(agents) * D;
    unsigned char* left = calloc(told, 1);       // by c_reset, in some env and round
    unsigned char* touched = calloc(told, 1);    // by c_reset or a step, in some env
    unsigned char* derived = calloc(told, 1);
    int* where = calloc(told, sizeof *where);    // env of the first time
    unsigned char* pending = malloc(cells * (size_t)x.envs);

    for (int round = 0; round < ROUNDS; round++) {
        for (int e = 0; e < x.envs; e++) {
            fill_observations(&x, e, 0);
            fill_observations(&y, e, 1);
        }
        watch.step = round * options.steps;
        batch_reset(&x, -1);
        batch_reset(&y, -1);
        size_t waiting = 0;
        memset(pending, 0, cells * (size_t)x.envs);
        for (int e = 0; e < x.envs; e++) {
            bool there = false;
            for (size_t i = 0; i < D * (size_t)x.count[e]; i++) {
                there = i % D == 0 ? has_agent(&x, e, (int)(i / D)) : there;
                if (!there) {
                    continue;
                }
                int state = obs_state(&x, &y, e, i);
                size_t as = told_as(i, agents);
                if (state == WRITTEN) {
                    touched[as] = 1;
                    continue;
                }
                if (!left[as] && !derived[as]) {
                    where[as] = e;
                }
                left[as] |= state == UNTOUCHED;
                derived[as] |= state == DERIVED;
                pending[cells * (size_t)e + i] = state == UNTOUCHED;
                waiting += state == UNTOUCHED;
            }
        }
        for (int64_t t = 1; waiting > 0 && t <= options.steps; t++) {
            step_twins(&x, &y, round * options.steps + t, 0);
            waiting = 0;
            for (int e = 0; e < x.envs; e++) {
                waiting += settle(&x, &y, e, pending + cells * (size_t)e, touched, agents);
            }
        }
        // The next reset comes mid-episode; a slow env has fewer steps in all
        for (int64_t t = 1; t <= (options.steps < 40 ? options.steps : 40); t++) {
            step_twins(&x, &y, (round + 1) * options.steps + t, 0);
        }
    }
    report_left(told, left, touched, derived, where);
    batch_close(&x);
    batch_close(&y);
}

//------------------------------------------------------------------------------------
// stale: rewards, terminals and truncations are filled before each step
//------------------------------------------------------------------------------------
typedef struct Stale {
    int64_t count, total, step;
    int env, agent;
} Stale;

void experiment_stale(void) {
    Batch x = batch_open(PACKED), y = batch_twin(&x);
    const int arrays[] = {REWARDS, TERMINALS, TRUNCATIONS};
    Stale stale[NUM_ARRAYS] = {0};
    batch_reset(&x, -1);
    batch_reset(&y, -1);
    for (int64_t t = 1; t <= options.steps; t++) {
        for (int e = 0; e < x.envs; e++) {
            for (int k = 0; k < 3; k++) {
                size_t bytes = row_bytes(arrays[k]) * (size_t)x.count[e];
                fill(array_of(&x.rows[e], arrays[k]), bytes, true, 0);
                fill(array_of(&y.rows[e], arrays[k]), bytes, true, 1);
            }
        }
        step_twins(&x, &y, t, PUFFER_KEEP_REWARDS);
        for (int e = 0; e < x.envs; e++) {
            for (int k = 0; k < 3; k++) {
                int a = arrays[k];
                for (int i = 0; row_bytes(a) > 0 && i < x.count[e]; i++) {
                    if (!is_told(&x, a, e, i)) {
                        continue;
                    }
                    stale[a].total++;
                    if (state_of(array_of(&x.rows[e], a), array_of(&y.rows[e], a), (size_t)i,
                                 true)
                        != UNTOUCHED) {    // NaN + reward is the same NaN
                        continue;
                    }
                    if (stale[a].count++ == 0) {
                        stale[a].step = t;
                        stale[a].env = e;
                        stale[a].agent = i;
                    }
                }
            }
        }
    }
    for (int k = 0; k < 3; k++) {
        const Stale* s = &stale[arrays[k]];
        fact(stale, .array = array_names[arrays[k]], .count = s->count, .total = s->total,
             .step = s->step, .env = s->env, .agent = s->agent);
    }
    batch_close(&x);
    batch_close(&y);
}

//------------------------------------------------------------------------------------
// rewrite: observations are filled before each step, to see which elements a step writes;
// and a third batch, which is not filled, shows how their values develop within an episode
//------------------------------------------------------------------------------------
typedef struct Cell {           // one element of one agent, over all envs
    int64_t seen, written;      // steps on which its row was (partly) written; and it, too
    int64_t changed;            // in the third batch
    bool reverted;              // it came back to a value that it had before
    bool fell, rose, varied;    // went down; went up; had more than two values
    int64_t filled, emptied;    // went from 0 to something else; to 0
    int64_t held, retold;       // kept what was set; and a step on c_reset's row shows it, too
} Cell;

typedef struct Past {
    double start, last, before;
    int distinct;
} Past;    // of an episode

static double value_of(const Batch* b, int env, size_t i) {
    return element_of(b->rows[env].observations, i);
}

static void follow(Cell* c, Past* p, double value, bool fresh) {
    if (fresh) {
        *p = (Past){value, value, value, 1};
    } else if (value != p->last) {
        c->changed++;
        c->filled += p->last == 0.0;
        c->emptied += value == 0.0;
        c->fell |= value < p->last;
        c->rose |= value > p->last;
        c->reverted |= p->distinct > 1 && (value == p->start || value == p->before);
        p->before = p->last;
        p->last = value;
        c->varied |= ++p->distinct > 2;
    }
}

// Words of the state that count steps: a change of only these is no move of the game
static bool* learn_counters(void) {
    enum { STEPS = 256 };
    Batch b = batch_open(PACKED);
    batch_reset(&b, -1);
    State state = state_open(&b, 0);
    size_t words = state.words;
    int* up = calloc(words, sizeof *up);
    int* down = calloc(words, sizeof *down);
    int* other = calloc(words, sizeof *other);
    uint32_t* old = calloc(words, sizeof *old);
    uint32_t* new = calloc(words, sizeof *new);
    int seen = 0;
    for (int t = 1; t <= STEPS; t++) {
        state_read(&state, &b, 0, old);
        batch_tick(&b, t);
        state_read(&state, &b, 0, new);
        bool any = any_ended(&b, 0);
        for (size_t w = 0; !any && w < words; w++) {
            int32_t i = (int32_t)old[w], j = (int32_t) new[w];
            float f, g;
            memcpy(&f, &i, 4);
            memcpy(&g, &j, 4);
            up[w] += j == i + 1 || g == f + 1.0f;
            down[w] += j == i - 1 || g == f - 1.0f;
            other[w] += j != i && j != i + 1 && j != i - 1 && g != f + 1.0f && g != f - 1.0f;
        }
        seen += !any;
    }
    bool* counts = calloc(words, 1);
    for (size_t w = 0; w < words; w++) {
        int most = up[w] > down[w] ? up[w] : down[w];
        counts[w] = 10 * most > 9 * seen && other[w] + up[w] + down[w] - most < seen / 20 + 1;
    }
    batch_close(&b);
    free(up);
    free(down);
    free(other);
    free(old);
    free(new);
    return counts;
}

// counts: of env 0's state; another env's may be larger
static bool moved(const State* state, const uint32_t* old, const uint32_t* new, const bool* counts,
                  size_t known) {
    for (size_t w = 0; w < state->words; w++) {
        bool is_game = w >= state->struct_words || is_state(w);
        if (is_game && !(w < known && counts[w]) && old[w] != new[w]) {
            return true;
        }
    }
    return false;
}

typedef struct RowCount {          // one agent's row, over all envs
    int64_t steps, blank, full;    // on which nothing of it was written; all of it
    int64_t partly;                // some of it
    int64_t blank_moved;           // nothing of any agent, although the game had moved
    int64_t tried, shown;          // of these (row 0 for all); where later rows show what moved
    int64_t calm, calm_changed;    // third batch: steps without a terminal of its own; it changed
    int64_t ends, blank_ends;      // steps that ended all agents' episodes; nothing written then
    int64_t came, blank_came;      // steps on which an agent came; nothing written then
    int64_t own, blank_own;        // steps that ended its episode and not all others'; nothing
    int64_t resumed;               // written then, but on the next step
    int64_t step;
    int env;
} RowCount;

static size_t count_written(const Batch* x, const Batch* y, int e, int agent) {
    size_t D = (size_t)desc.obs_size, written = 0;
    for (size_t i = D * (size_t)agent; i < D * (size_t)(agent + 1); i++) {
        written += obs_state(x, y, e, i) == WRITTEN;
    }
    return written;
}

// True: the game had moved, and nothing of any row was written
static bool compare_rows(const Batch* x, const Batch* y, int e, bool was_moved, int64_t t,
                         Cell* cells, RowCount* rows, size_t agents) {
    size_t D = (size_t)desc.obs_size;
    size_t total = 0;
    for (int agent = 0; agent < x->count[e]; agent++) {
        total += has_agent(x, e, agent) ? count_written(x, y, e, agent) : 0;
    }
    for (int agent = 0; agent < x->count[e]; agent++) {
        RowCount* r = &rows[agent];
        size_t base = D * (size_t)agent, written = count_written(x, y, e, agent);
        if (!has_agent(x, e, agent)) {
            continue;
        }
        r->steps++;
        r->blank += written == 0;
        r->full += written == D;
        r->partly += written > 0 && written < D;
        if (total == 0 && was_moved && r->blank_moved++ == 0) {
            r->step = t;
            r->env = e;
        }
        Cell* c = &cells[told_as(base, agents)];
        for (size_t i = 0; written > 0 && i < D; i++, c++) {
            c->seen++;
            c->written += obs_state(x, y, e, base + i) == WRITTEN;
        }
    }
    return total == 0 && was_moved;
}

// What moved on the last step is put back, or not; then the game goes on
static uint64_t later_rows(Batch* x, int e, const State* s, const uint32_t* old, const bool* counts,
                           size_t known, bool back, int64_t t) {
    enum { LATER = 48 };
    char* base = env_struct(x, e);
    for (size_t w = 0; back && w < s->struct_words; w++) {
        if (is_state(w) && !(w < known && counts[w])) {
            memcpy(base + 4 * w, &old[w], 4);
        }
    }
    const uint32_t* block = old + s->struct_words;
    for (int i = 0; i < s->blocks; block += s->block[i++].words) {
        uintptr_t at;
        memcpy(&at, base + s->block[i].pointer, sizeof at);
        if (back && at == s->block[i].address) {
            memcpy((void*)at, block, 4 * s->block[i].words);
        }
    }
    uint64_t hash = 1;
    for (int64_t k = 1; k <= LATER; k++) {
        fill_observations(x, e, 0);
        watch.step = t + k;
        batch_act(x, e, t + k);
        batch_step(x, e, 0);
        hash = hash_array(x, e, OBSERVATIONS, hash);
    }
    return hash;
}

// Two ways to one observation: had the step moved nothing, would later rows be others? If not, they
// are a function of what stayed, and the one that was not written is as true as before
static void try_without_move(Batch* x, int e, const State* s, const uint32_t* old,
                             const bool* counts, size_t known, int64_t t, uint64_t* answers,
                             RowCount* all) {
    bool good[2] = {false, false};
    for (int back = 0; back < 2; back++) {
        if (in_fork(&good[back])) {
            answers[back] = later_rows(x, e, s, old, counts, known, back, t);
            _exit(0);
        }
    }
    if (good[0] && good[1]) {
        all->tried++;
        all->shown += answers[0] != answers[1];
    }
}

//------------------------------------------------------------------------------------
// Two ways to one state: a step that begins with the rows that c_reset left, in place of those of
// the step before. An element that has been set since then, and that such a step sets as well, is
// no old value but follows from the state
//------------------------------------------------------------------------------------
typedef struct Anew {
    char *first, *openings;    // rows of all envs, as the first c_reset left them; as each
    char *before, *answer;     // episode began. Rows of one env, before and after
    int env, tries;            // that is tried on this step, -1 = none; how often one was
    bool good;                 // the step came to its end
} Anew;

static Anew* anew;    // of the third batch, whose process it is shared with

static size_t rows_bytes(const Batch* z, int e) {
    return row_bytes(OBSERVATIONS) * (size_t)z->count[e];
}

static char* rows_of(char* rows, const Batch* z, int e) {
    return rows + row_bytes(OBSERVATIONS) * (size_t)z->first[e];
}

static void anew_make(int agents) {    // before that batch is opened
    size_t bytes = row_bytes(OBSERVATIONS) * (size_t)agents;
    anew = shared(sizeof *anew);
    *anew = (Anew){calloc(bytes, 1), shared(bytes), calloc(bytes, 1), shared(bytes), -1, 0, false};
}

static void anew_open(const Batch* z) {    // once it was reset
    for (int e = 0; e < z->envs; e++) {
        memcpy(rows_of(anew->first, z, e), z->rows[e].observations, rows_bytes(z, e));
    }
}

static void step_anew(Batch* z, int e) {
    bool good = false;
    if (in_fork(&good)) {
        memcpy(z->rows[e].observations, rows_of(anew->openings, z, e), rows_bytes(z, e));
        batch_step(z, e, 0);
        memcpy(anew->answer, z->rows[e].observations, rows_bytes(z, e));
        _exit(0);
    }
    anew->good = good;
}

// Before the third batch's step t, which its actions are ready for
static void try_anew(Anew* a, Batch* z, int64_t t, const RowCount* rows) {
    enum { MANY = 64, EVERY = 8 };    // after many tries, on every eighth step: slow envs play few
    a->env = -1;
    bool partly = false;
    for (int agent = 0; agent < z->count[0]; agent++) {
        partly |= rows[agent].partly > 0;
    }
    if (!partly || (a->tries >= MANY && t % EVERY != 0)) {
        return;
    }
    int e = a->tries++ % z->envs;
    memcpy(a->before, z->rows[e].observations, rows_bytes(z, e));
    batch_call(z, step_anew, e);
    a->env = a->good ? e : -1;
}

// After it
static void compare_anew(const Anew* a, const Batch* z, Cell* cells, size_t agents) {
    int e = a->env;
    if (e < 0 || any_ended(z, e)) {
        return;
    }
    const char *opening = rows_of(a->openings, z, e), *first = rows_of(a->first, z, e);
    for (size_t i = 0; i < (size_t)desc.obs_size * (size_t)z->count[e]; i++) {
        double value = value_of(z, e, i);
        if (value == element_of(a->before, i) && value != element_of(opening, i)
            && value != element_of(first, i)) {    // where a reset is late, that is the opening
            Cell* c = &cells[told_as(i, agents)];
            c->held++;
            c->retold += element_of(a->answer, i) == value;
        }
    }
}

// In the third batch: rows that change while their agents' episodes go on
static void compare_calm(const Batch* z, int e, char* held, RowCount* rows) {
    size_t bytes = row_bytes(OBSERVATIONS);
    const char* row = z->rows[e].observations;
    for (int agent = 0; agent < z->count[e]; agent++, row += bytes, held += bytes) {
        if (has_agent(z, e, agent) && had_agent(z, e, agent)
            && z->rows[e].terminals[agent] == 0.0f) {
            rows[agent].calm++;
            rows[agent].calm_changed += memcmp(row, held, bytes) != 0;
        }
        memcpy(held, row, bytes);
    }
}

// On a step that ends every agent's episode, the observation has to open the next one
static void compare_ends(const Batch* x, const Batch* y, int e, RowCount* rows) {
    for (int agent = 0; agent < x->count[e]; agent++) {
        if (has_agent(x, e, agent)) {
            rows[agent].ends++;
            rows[agent].blank_ends += count_written(x, y, e, agent) == 0;
        }
    }
}

// So has the one of a step on which an agent comes
static void compare_arrivals(const Batch* x, const Batch* y, int e, RowCount* rows) {
    for (int agent = 0; agent < x->count[e]; agent++) {
        if (has_agent(x, e, agent) && !had_agent(x, e, agent)) {
            rows[agent].came++;
            rows[agent].blank_came += count_written(x, y, e, agent) == 0;
        }
    }
}

// And that of a step that ended this agent's episode alone, if the agent plays on at once. after:
// (all rows of e) its last step was such a one
static void compare_own_ends(const Batch* x, const Batch* y, int e, RowCount* rows, bool* after) {
    for (int agent = 0; agent < x->count[e]; agent++) {
        bool blank = count_written(x, y, e, agent) == 0;
        bool own = has_agent(x, e, agent) && agent_ended(x, e, agent) && !env_ended(x, e);
        rows[agent].resumed += after[agent] && !own && !blank;
        rows[agent].own += own;
        rows[agent].blank_own += own && blank;
        after[agent] = own && blank;
    }
}

static void report_cells(const Cell* cells, const RowCount* rows, size_t agents) {
    size_t D = (size_t)desc.obs_size;
    for (size_t i = 0; i < told_agents(agents) * D; i++) {
        const Cell* c = &cells[i];
        if (c->written < c->seen || i == 0) {
            fact(cell, .agent = i / D, .element = i % D, .seen = c->seen, .written = c->written,
                 .changed = c->changed, .reverted = c->reverted, .fell = c->fell, .rose = c->rose,
                 .varied = c->varied, .held = c->held, .retold = c->retold, .filled = c->filled,
                 .emptied = c->emptied);
        }
    }
    for (size_t i = 0; i < agents; i++) {
        const RowCount* r = &rows[i];
        fact(row, .agent = i, .steps = r->steps, .blank = r->blank, .full = r->full,
             .blank_moved = r->blank_moved, .tried = r->tried, .shown = r->shown, .step = r->step,
             .env = r->env, .ends = r->ends, .blank_ends = r->blank_ends, .came = r->came,
             .blank_came = r->blank_came, .own = r->own, .blank_own = r->blank_own,
             .resumed = r->resumed, .calm = r->calm, .calm_changed = r->calm_changed);
    }
}

// fresh: the env's last step ended all its episodes
static void follow_rows(const Batch* z, int e, bool fresh, Cell* cells, Past* past, size_t agents) {
    size_t D = (size_t)desc.obs_size;
    for (int agent = 0; agent < z->count[e]; agent++) {
        if (!has_agent(z, e, agent)) {
            continue;
        }
        bool begins = fresh || !had_agent(z, e, agent);
        Cell* c = &cells[told_as(D * (size_t)agent, agents)];
        for (size_t i = D * (size_t)agent; i < D * (size_t)(agent + 1); i++) {
            follow(c++, &past[i], value_of(z, e, i), begins);
        }
    }
}

void experiment_rewrite(void) {
    bool* counts = learn_counters();
    Batch x = batch_open(PACKED), y = batch_twin(&x);
    anew_make(x.agents);
    Batch z = batch_twin(&x);
    size_t count = cells_of(&x), D = (size_t)desc.obs_size, agents = count / D;
    Cell* cells = calloc(told_agents(agents) * D, sizeof *cells);
    Past* past = calloc(count * (size_t)x.envs, sizeof *past);
    RowCount* rows = calloc(agents, sizeof *rows);
    State* states = calloc((size_t)x.envs, sizeof *states);
    uint32_t** old = calloc((size_t)x.envs, sizeof *old);
    bool* fresh = calloc((size_t)x.envs, 1);
    char* held = calloc((size_t)z.agents, row_bytes(OBSERVATIONS));
    bool* after = calloc((size_t)x.agents, sizeof *after);
    batch_reset(&x, -1);
    batch_reset(&y, -1);
    batch_reset(&z, -1);
    size_t most = 0;
    for (int e = 0; e < x.envs; e++) {
        states[e] = state_open(&x, e);
        old[e] = calloc(states[e].words, 4);
        most = states[e].words > most ? states[e].words : most;
    }
    uint32_t* new = calloc(most, sizeof *new);
    memset(fresh, 1, (size_t)x.envs);
    uint64_t* answers = shared(2 * sizeof *answers);
    int64_t blank = 0;
    anew_open(&z);
    for (int64_t t = 0; t <= options.steps; t++) {
        for (int e = 0; e < z.envs; e++) {
            follow_rows(&z, e, fresh[e], cells, past + count * (size_t)e, agents);
            if (fresh[e]) {
                memcpy(rows_of(anew->openings, &z, e), z.rows[e].observations, rows_bytes(&z, e));
            }
        }
        if (t == options.steps) {
            break;
        }
        for (int e = 0; e < x.envs; e++) {
            fill_observations(&x, e, 0);
            fill_observations(&y, e, 1);
            state_read(&states[e], &x, e, old[e]);
        }
        watch.step = t + 1;
        batch_act(&z, -1, t + 1);
        copy_actions(&z, &x);
        copy_actions(&z, &y);
        batch_step(&x, -1, 0);
        batch_step(&y, -1, 0);
        try_anew(anew, &z, t + 1, rows);
        batch_step(&z, -1, 0);
        compare_anew(anew, &z, cells, agents);
        for (int e = 0; e < x.envs; e++) {
            bool any = any_ended(&x, e) || any_ended(&z, e);
            fresh[e] = env_ended(&z, e);
            compare_arrivals(&x, &y, e, rows);
            compare_own_ends(&x, &y, e, rows, after + x.first[e]);
            compare_calm(&z, e, held + row_bytes(OBSERVATIONS) * (size_t)z.first[e], rows);
            if (!any) {
                state_read(&states[e], &x, e, new);
                size_t known = states[0].words;
                bool was_moved = moved(&states[e], old[e], new, counts, known);
                if (compare_rows(&x, &y, e, was_moved, t + 1, cells, rows, agents)
                    && (blank & (blank + 1)) == 0) {    // the first, second, fourth, eighth, ...
                    try_without_move(&x, e, &states[e], old[e], counts, known, t + 1, answers,
                                     &rows[0]);
                }
                blank = 0;
                for (size_t i = 0; i < agents; i++) {
                    blank = rows[i].blank_moved > blank ? rows[i].blank_moved : blank;
                }
            } else if (env_ended(&x, e) && env_ended(&z, e)) {
                compare_ends(&x, &y, e, rows);
            }
        }
    }
    report_cells(cells, rows, agents);
    fact(rewritten, .steps = options.steps * x.envs);
    batch_close(&x);
    batch_close(&y);
    batch_close(&z);
}
