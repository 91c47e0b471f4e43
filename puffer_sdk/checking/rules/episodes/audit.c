/* audit.c -- does the state begin anew when an episode ends?
 *
 * A `home` word of the state (the struct and the heap blocks it points to: state.c) has the same
 * value after every c_reset, and other values between resets (a tick, a score, a start position).
 * An ending was not a reset if no home word returned to its value and no random number was drawn,
 * although every c_reset draws one. Where the library reports its calls, a call of c_reset inside
 * c_step answers the question: where one was ever seen, no word is asked when a new episode began,
 * as an array that observe() fills anew comes home, too. A function that does c_reset's whole work
 * counts like it where every home word came home.
 *
 * Some home words are no measure of an ending: where c_reset seeds a game's own generator, and
 * another function begins the episodes in play, a place drawn at random is one. So where endings
 * seem to reset nothing, they are looked at once more by the words that most endings bring home.
 */
#include "harness.h"
#include <stdlib.h>
#include <string.h>

enum {
    MAX_WORDS = 1 << 12,
    OFTEN = 16,
    ENOUGH = 3
};    // OFTEN: options.repeat where a reset is no slow one

static size_t element_count(const Batch* b, int env) {
    size_t count = (size_t)desc.obs_size * (size_t)b->count[env];
    return count < MAX_WORDS ? count : MAX_WORDS;
}

static bool is_empty(const Batch* b, int env, size_t i) {
    return desc.has_alive && !has_agent(b, env, (int)(i / (size_t)desc.obs_size));
}

static uint32_t element(const Batch* b, int env, size_t i) {    // 0 where nobody is
    if (is_empty(b, env, i)) {
        return 0;
    }
    if (desc.obs_dtype == PUFFER_U8) {
        return ((const unsigned char*)b->rows[env].observations)[i];
    }
    uint32_t bits;
    memcpy(&bits, (const char*)b->rows[env].observations + 4 * i, 4);
    return bits;
}

typedef struct Words {    // of one env: its state, then its observations in words of one element
    State state;
    size_t words, all;    // of the state; observations included
    uint32_t* now;        // (all) as they were read last
} Words;

static void read_words(const Batch* b, int env, Words* w) {
    state_read(&w->state, b, env, w->now);
    for (size_t i = w->words; i < w->all; i++) {
        w->now[i] = element(b, env, i - w->words);
    }
}

typedef struct Home {    // what c_reset always brings back, of one env
    uint32_t* value;
    bool* fixed;    // the same after every reset
    bool* moves;    // and another value between resets
} Home;

typedef struct Range {    // of an element of the observation, over all envs
    double low, high;     // after c_reset
    int64_t left;         // endings before which it was outside of these
    int64_t stayed;       // of these, those after which it still was
} Range;

typedef struct Habit {     // of a word of the state, at endings over all envs
    int64_t away, came;    // before which it was away from home; of these, those that brought it
} Habit;

typedef struct Homecoming {    // of home words, over one step
    int were, came, left;      // away before it; of these, now at home; at home before, now away
} Homecoming;

// only: of these words, NULL: of all
static Homecoming count_homecomings(const uint32_t* now, const Home* home, const bool* away,
                                    size_t from, size_t to, const bool* only) {
    Homecoming count = {0, 0, 0};
    for (size_t i = from; i < to; i++) {
        if (home->fixed[i] && home->moves[i] && (only == NULL || only[i])) {
            bool is_home = now[i] == home->value[i];
            count.were += away[i];
            count.came += away[i] && is_home;
            count.left += !away[i] && !is_home;
        }
    }
    return count;
}

typedef struct Restarts {     // steps that began a new episode, endings or not
    int64_t count, hidden;    // hidden: some agent's episode had not ended
    int64_t step;             // of the first hidden one
    int env, agent, by;       // by: of `beginnings`, -1 = told by words
} Restarts;

enum { BY_CALL, BY_WORDS, WAYS };    // how a new episode is told: by calls of `beginnings`

typedef struct Audit {        // counts over all envs
    int64_t endings;          // steps that ended the episode of every agent of the env
    int64_t stayed;           // after which no home word had gone home
    int64_t kept;             // of these, without a random number drawn
    int64_t stayed_next;      // of `stayed`, those whose next step was an ending, too
    int64_t late;             // endings whose next step called c_reset
    int64_t late_played;      // of these, those whose next step went on from there
    int64_t grown;            // of `stayed`, logged with the ticks of episodes before
    int64_t part;             // steps that ended the episode of some agents
    int64_t resets, draws;    // calls of c_reset, and those that drew a number
    int64_t plain, noisy;     // other steps, and those that drew a random number
    int64_t frozen;           // agents all ended, and then nothing changed for long
    int64_t called;           // endings on which c_step called c_reset
    Restarts restarts[WAYS];
    int64_t step;    // of the first one that stayed
    int64_t late_step;
    int env, late_env;
    Range* ranges;    // (elements of env 0)
    size_t elements;
    Habit* habits;    // (habit_count) of the words that all envs have
    size_t habit_count;
    const bool* telling;    // (habit_count) words that tell a reset; NULL: all do
} Audit;

static double seen_value(const Batch* b, int env, size_t i) {
    return element_of(b->rows[env].observations, i);
}

static bool is_outside(const Range* r, double value) {
    double margin = 0.1 * (r->high - r->low) + 1e-6;
    bool known = r->low <= r->high;    // an agent was there after some c_reset
    return known && (value < r->low - margin || value > r->high + margin);
}

// So that a reward other than 0 is one that the call itself has paid: puffer_forget of probes.h
static void clear_rewards(Batch* b, int env) {
    for (int e = env < 0 ? 0 : env; e < (env < 0 ? b->envs : env + 1); e++) {
        memset(b->rows[e].rewards, 0, row_bytes(REWARDS) * (size_t)b->count[e]);
    }
}

static void reset_audited(Batch* b, int env) {
    clear_rewards(b, env);
    batch_reset(b, env);
}

static void step_audited(Batch* b, int env) {
    clear_rewards(b, env);
    batch_step(b, env, 0);
}

// By what c_reset has just shown
static void widen_ranges(const Batch* b, int e, Range* ranges, size_t elements) {
    for (size_t i = 0; i < elements && i < element_count(b, e); i++) {
        if (is_empty(b, e, i)) {
            continue;
        }
        double value = seen_value(b, e, i);
        ranges[i].low = value < ranges[i].low ? value : ranges[i].low;
        ranges[i].high = value > ranges[i].high ? value : ranges[i].high;
    }
}

static int64_t learn_home(Batch* b, int e, Home* home, Words* w, Audit* a) {
    int64_t t = 0;
    for (int r = 0; r < options.repeat; r++) {
        uint64_t before = rng_of(b, e);
        watch.step = t;
        reset_audited(b, e);
        if (options.repeat < OFTEN) {
            widen_ranges(b, e, a->ranges, a->elements);
        }
        a->resets++;
        a->draws += rng_of(b, e) != before;
        read_words(b, e, w);
        for (size_t i = 0; i < w->all; i++) {
            if (r == 0) {
                home->value[i] = w->now[i];
            }
            home->fixed[i] = home->fixed[i] && w->now[i] == home->value[i]
                             && (i >= w->state.struct_words || is_state(i));
        }
        int length = 1 + (int)(mix((uint64_t)(r * b->envs + e)) % 24);
        for (int k = 0; k < length; k++) {
            watch.step = ++t;
            batch_act(b, e, t);
            step_audited(b, e);
            read_words(b, e, w);
            for (size_t i = 0; i < w->all; i++) {
                home->moves[i] = home->moves[i] || w->now[i] != home->value[i];
            }
        }
    }
    watch.step = t;
    reset_audited(b, e);
    read_words(b, e, w);
    return t;
}

static double logged_length(Batch* b, int e) {    // of the one episode just logged, or -1
    double log[PUFFER_MAX_LOG];
    double n = api->collect_log(b->vec, e, 1, log);
    for (int i = 0; n == 1.0 && i < desc.num_logs; i++) {
        if (strcmp(desc.log_names[i], "episode_length") == 0) {
            return log[i];
        }
    }
    return -1.0;
}

static uint64_t hash_seen(const Batch* b, int e) { return hash_array(b, e, OBSERVATIONS, 1); }

// A new episode began on this step: had every agent's episode ended, now or before?
static void note_restart(const Batch* b, int e, int by, bool* over, Restarts* r) {
    r->count++;
    for (int i = 0; i < b->count[e]; i++) {
        if (!over[i] && had_agent(b, e, i)) {
            if (r->hidden++ == 0) {
                r->step = watch.step;
                r->env = e;
                r->agent = i;
                r->by = by;
            }
            break;
        }
    }
    memset(over, 0, (size_t)b->count[e]);
}

typedef struct Track {    // one env, from step to step
    Home home;
    Words words;
    bool has_home;       // in the state; else the observations have to do
    bool* away;          // (all) away from home before the step
    bool* far;           // elements that no c_reset ever shows so
    bool* over;          // agents whose episode ended
    bool* gone[WAYS];    // the same, until a new episode begins
    int64_t t, since, since_reset, still;
    uint64_t seen;
    bool stayed_before, not_begun;    // the step before was an ending, and no new episode began
} Track;

typedef struct Step {              // what happened on one step
    int by;                        // of `beginnings`: which of them began an episode; -1: none
    bool called, drew;             // one did; a random number was drawn
    bool ended, some, all_over;    // every agent ended; some did; all have, now or before
} Step;

static Track track_open(Batch* b, int e, Audit* a) {
    State state = state_open(b, e);
    size_t words = state.words, all = words + element_count(b, e), agents = (size_t)b->count[e];
    Track k = {.home = {calloc(all, 4), malloc(all), calloc(all, 1)},
               .words = {state, words, all, calloc(all, 4)},
               .away = calloc(all, 1),
               .far = calloc(a->elements + 1, 1),
               .over = calloc(agents, 1),
               .gone = {calloc(agents, 1), calloc(agents, 1)}};
    memset(k.home.fixed, 1, all);
    k.t = learn_home(b, e, &k.home, &k.words, a);
    for (size_t i = 0; i < words; i++) {
        k.has_home = k.has_home || (k.home.fixed[i] && k.home.moves[i]);
    }
    logged_length(b, e);
    return k;
}

static void track_close(Track* k) {
    free(k->words.now);
    free(k->home.value);
    free(k->home.fixed);
    free(k->home.moves);
    free(k->away);
    free(k->far);
    free(k->over);
    free(k->gone[BY_CALL]);
    free(k->gone[BY_WORDS]);
}

// c_reset, or what does its whole work and has brought all home
static int what_began(const int* entered, Homecoming in) {
    bool home = in.were > 0 && in.came == in.were && in.left == 0;
    for (int k = 0; k < MAX_BEGINNINGS; k++) {
        if (begun[k] != entered[k] && (k == 0 || home)) {
            return k;
        }
    }
    return -1;
}

static Step track_step(Batch* b, int e, Track* k, const Audit* a, Homecoming* in) {
    uint64_t before = rng_of(b, e);
    const Words* w = &k->words;
    for (size_t i = 0; i < w->all; i++) {
        k->away[i] = k->home.fixed[i] && k->home.moves[i] && w->now[i] != k->home.value[i];
    }
    for (size_t i = 0; i < a->elements && i < w->all - w->words; i++) {
        k->far[i] = !is_empty(b, e, i) && is_outside(&a->ranges[i], seen_value(b, e, i));
    }
    int entered[MAX_BEGINNINGS];
    memcpy(entered, (const void*)begun, sizeof entered);
    watch.step = ++k->t;
    batch_act(b, e, k->t);
    step_audited(b, e);
    read_words(b, e, &k->words);
    *in = count_homecomings(w->now, &k->home, k->away, 0, w->words, NULL);
    k->since++;
    k->since_reset++;
    Step s = {.by = what_began(entered, *in),
              .drew = rng_of(b, e) != before,
              .ended = env_ended(b, e),
              .all_over = true};
    s.called = s.by >= 0;
    for (int i = 0; i < b->count[e]; i++) {
        bool end = agent_ended(b, e, i), had = had_agent(b, e, i), has = has_agent(b, e, i);
        bool came = has && !had;
        s.some = s.some || end;
        k->over[i] = (k->over[i] && !came) || end || !(had || has);
        for (int way = 0; way < WAYS; way++) {
            k->gone[way][i] = (k->gone[way][i] && !came) || end;
        }
        s.all_over = s.all_over && k->over[i];
    }
    return s;
}

// Agents all ended, and nothing has changed for long: nothing will happen any more
static void note_frozen(const Batch* b, int e, Track* k, const Step* s, Audit* a) {
    enum { LONG = 2000 };
    uint64_t seen = hash_seen(b, e);
    k->still = seen == k->seen && !s->drew && !s->some ? k->still + 1 : 0;
    k->seen = seen;
    if (s->all_over && k->still == LONG) {
        a->frozen++;
        if (a->step < 0) {
            a->step = k->t - LONG;
            a->env = e;
        }
    }
    if (s->drew) {
        memset(k->over, 0, (size_t)b->count[e]);
    }
}

static void audit_step(Batch* b, int e, Track* k, Audit* a) {
    Homecoming in;
    Step s = track_step(b, e, k, a, &in);
    a->stayed_next += k->stayed_before && s.ended;
    const Words* w = &k->words;
    if (k->not_begun && !s.ended && s.called) {
        if (a->late++ == 0) {
            a->late_step = k->t - 1;
            a->late_env = e;
        }
        a->late_played += in.came < in.were || in.left > 0;
    }
    k->stayed_before = k->not_begun = false;
    note_frozen(b, e, k, &s, a);
    Homecoming seen = count_homecomings(w->now, &k->home, k->away, w->words, w->all, NULL);
    // All went home, and none set out: a score that counts from now on goes on with its game
    if (in.were >= 3 && in.came == in.were && in.left == 0) {
        note_restart(b, e, -1, k->gone[BY_WORDS], &a->restarts[BY_WORDS]);
    }
    if (s.called) {
        note_restart(b, e, s.by, k->gone[BY_CALL], &a->restarts[BY_CALL]);
    }
    if (!s.ended) {
        a->part += s.some;
        a->plain++;
        a->noisy += s.drew;
        return;
    }
    a->endings++;
    a->called += s.called;
    k->not_begun = !s.called && in.came < in.were;
    for (size_t i = 0; (s.called || in.came > 0) && i < a->elements && i < w->all - w->words; i++) {
        bool far = k->far[i] && !is_empty(b, e, i);
        a->ranges[i].left += far;
        a->ranges[i].stayed += far && is_outside(&a->ranges[i], seen_value(b, e, i));
    }
    double length = logged_length(b, e);
    for (size_t i = 0; i < a->habit_count; i++) {
        a->habits[i].away += k->away[i];
        a->habits[i].came += k->away[i] && w->now[i] == k->home.value[i];
    }
    Homecoming told = a->telling ? count_homecomings(w->now, &k->home, k->away, 0, a->habit_count,
                                                     a->telling)
                                 : in;
    bool stayed = k->has_home ? told.were > 0 && told.came == 0
                              : seen.were > 0 && 2 * seen.came < seen.were;
    if (!s.called && stayed) {
        k->stayed_before = true;
        a->stayed++;
        a->kept += !s.drew;
        a->grown += k->since_reset > k->since && length == (double)k->since_reset;
        if (a->step < 0) {
            a->step = k->t;
            a->env = e;
        }
    } else {
        k->since_reset = 0;
    }
    k->since = 0;
}

static void audit_env(Batch* b, int e, Audit* a) {
    Track k = track_open(b, e, a);
    for (int64_t i = 0; i < options.steps; i++) {
        audit_step(b, e, &k, a);
    }
    track_close(&k);
}

// What c_reset shows, element by element
static void learn_ranges(Batch* b, Range* ranges, size_t elements) {
    for (size_t i = 0; i < elements; i++) {
        ranges[i] = (Range){1e300, -1e300, 0, 0};
    }
    // Where a reset is slow, those of learn_home have to do for the rest
    int rounds = options.repeat >= OFTEN ? 2 * options.repeat : options.repeat;
    for (int r = 0; r < rounds; r++) {
        reset_audited(b, -1);
        for (int e = 0; e < b->envs; e++) {
            widen_ranges(b, e, ranges, elements);
        }
    }
}

// All envs of a new batch. telling: (count) words that tell a reset; NULL: all do
static Audit audit(Batch* b, const bool* telling) {
    Audit a = {.step = -1, .env = -1, .elements = element_count(b, 0), .telling = telling};
    a.ranges = calloc(a.elements, sizeof *a.ranges);
    learn_ranges(b, a.ranges, a.elements);
    a.habit_count = state_open(b, 0).words;
    for (int e = 1; e < b->envs; e++) {
        size_t words = state_open(b, e).words;
        a.habit_count = words < a.habit_count ? words : a.habit_count;
    }
    a.habits = calloc(a.habit_count, sizeof *a.habits);
    for (int e = 0; e < b->envs; e++) {
        audit_env(b, e, &a);
    }
    return a;
}

// Words that most endings bring home, where there are some; else NULL
static bool* find_telling(const Audit* a) {
    bool* telling = calloc(a->habit_count, 1);
    bool any = false;
    for (size_t i = 0; i < a->habit_count; i++) {
        const Habit* h = &a->habits[i];
        telling[i] = h->away >= ENOUGH && 2 * h->came >= h->away;
        any = any || telling[i];
    }
    return any ? telling : NULL;
}

// Words that c_reset always brings to one value, and that no ending ever did
static int count_unlike(const Audit* a) {
    int unlike = 0;
    for (size_t i = 0; i < a->habit_count; i++) {
        unlike += a->habits[i].away >= ENOUGH && a->habits[i].came == 0;
    }
    return unlike;
}

void experiment_audit(void) {
    Batch b = batch_open(PACKED);
    Audit a = audit(&b, NULL);
    bool* telling = a.stayed >= ENOUGH ? find_telling(&a) : NULL;
    if (telling) {
        batch_close(&b);
        b = batch_open(PACKED);
        a = audit(&b, telling);
    }
    int tells = 0, old = 0;    // elements that tell an old episode from a new one
    for (size_t i = 0; i < a.elements; i++) {
        if (a.ranges[i].left >= 3) {
            bool is_old = 10 * a.ranges[i].stayed >= 9 * a.ranges[i].left;
            tells++;
            old += is_old;
        }
    }
    fact(endings, .endings = a.endings, .kept = a.kept, .stayed = a.stayed,
         .stayed_next = a.stayed_next, .late = a.late, .late_played = a.late_played,
         .late_step = a.late_step, .late_env = a.late_env, .grown = a.grown, .part = a.part,
         .resets = a.resets, .draws = a.draws, .plain = a.plain, .noisy = a.noisy,
         .frozen = a.frozen, .called = a.called, .unlike = count_unlike(&a), .env = a.env,
         .step = a.step);
    const Restarts* r = &a.restarts[a.restarts[BY_CALL].count ? BY_CALL : BY_WORDS];
    fact(restarts, .by = r->by, .restarts = r->count, .hidden = r->hidden, .step = r->step,
         .env = r->env, .agent = r->agent);
    fact(opening, .tells = tells, .old = old);
    batch_close(&b);
}
