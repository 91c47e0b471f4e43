/* episode_stats.c -- what a long run pays, when its episodes end, and what the env logs about both.
 *
 * Rewards are summed per agent over three windows: since the agent's own last terminal, since
 * the env's last round (all of its agents have ended), and since its last log entry. An entry
 * (log.n grew) is compared with each CONVENTION that an author may follow; the rules decide
 * what a mismatch means.
 */
#include "run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OWN, ROUND, ENTRY, NUM_WINDOWS };    // where a sum of rewards begins

enum {    // what a logged value may mean, per entry
    ENDED_MEAN,
    ENDED_MEAN_ROUND,    // mean over the agents that end on this step
    ALL,
    ALL_MEAN,    // all agents since the last entry
    ALL_PER_ENTRY,
    ENDED,
    ENDED_ROUND,    // sum over the agents that end on this step
    MOST,           // the best agent, or the longest episode
    AGENT_0,
    AGENTS = 8,    // one agent: the first eight are tried
    CONVENTIONS = AGENT_0 + AGENTS
};

enum { MOST_SKIP = 16 };    // frames in a step, where lengths are counted in frames

typedef struct Account {           // one agent
    double paid[NUM_WINDOWS];      // sum of rewards
    int64_t since[NUM_WINDOWS];    // the step before the window
    int64_t event;                 // its last reward or terminal, in ticks of random play
    int64_t event_step;
    int64_t there;                   // the last step that the row had an agent on
    bool over, ended, ever, dead;    // in this round; on this step; at all; its last event
    bool here;                       // in this round
} Account;

typedef struct Match {    // one convention
    int64_t count;        // entries that it explains
    int64_t step;         // the first that it does not
    int env;
    double logged, measured;
} Match;

typedef struct Entries {    // of one logged quantity
    int64_t judged;
    Match match[CONVENTIONS];
    int64_t skip[MOST_SKIP + 1];    // lengths that are k frames a step
    double low, high;               // logged
    double lag_low, lag_high;       // measured - logged, where they are not the same
} Entries;

typedef struct Envelope {         // one env
    const char* at;               // its struct
    double absolute;              // sum of |reward| since the last entry
    int64_t since, rounds;        // step of the last entry
    double parts;                 // entries since any agent's last ending
    int64_t random;               // ticks of random play so far
    int64_t event, event_step;    // its last reward or terminal
    bool ever;
} Envelope;

struct Ledger {
    const Batch* b;
    Account* accounts;    // (all agents)
    int* first;           // (E) of each env
    Envelope* envs;       // (E)
    int64_t lived, rewards, terminals, truncations, rounds, entries, goals;
    int64_t gained, even, lost;    // endings whose last reward was above 0, 0, below 0
    int64_t later, running;        // goals after other entries of the episode; with its sums so far
    Sighting first_running;
    double logged;
    Sighting odd_reward, wide_reward, odd_terminal, odd_truncation, lone_truncation, wide_perf,
        empty_mask, odd_alive, odd_agents, odd_rows, odd_log;
    int64_t odd_field;    // of Log, where odd_log was seen first: a number of floats
    Sample paid, returns, lengths;
    Entries ret, length;
    Omitted* omitted;
    Logged* values;
    bool lockstep;    // all agents of all envs end together, after equal times
    int64_t lock_ends, lock_length, lock_last;
    int64_t gap, env_gap;    // the longest silence that came to an end
    int64_t early, late;     // rewards and terminals in the first and the second half
};

Ledger* ledger_open(const Batch* b) {
    Ledger* l = calloc(1, sizeof *l);
    l->b = b;
    l->accounts = calloc((size_t)b->agents, sizeof *l->accounts);
    l->first = calloc((size_t)b->envs, sizeof *l->first);
    l->envs = calloc((size_t)b->envs, sizeof *l->envs);
    int agents = 0;
    for (int e = 0; e < b->envs; e++) {
        l->first[e] = agents;
        agents += b->count[e];
        l->envs[e].at = env_struct(b, e);
    }
    l->omitted = omitted_open(b);
    l->values = logged_open(b);
    l->paid = sample_open();
    l->returns = sample_open();
    l->lengths = sample_open();
    l->lockstep = true;
    l->ret.low = l->length.low = INFINITY;
    l->ret.high = l->length.high = -INFINITY;
    l->length.lag_low = INFINITY;
    l->length.lag_high = -INFINITY;
    return l;
}

//------------------------------------------------------------------------------------
// One step of one agent
//------------------------------------------------------------------------------------
static void pay(Ledger* l, Account* a, int e, int agent, float reward) {
    l->rewards++;
    if (!isfinite(reward)) {
        sight(&l->odd_reward, e, agent, reward);
        return;
    }
    if (fabsf(reward) > 5.0f) {
        sight(&l->wide_reward, e, agent, reward);
    }
    sample_add(&l->paid, reward);
    for (int w = 0; w < NUM_WINDOWS; w++) {
        a->paid[w] += reward;
    }
    l->envs[e].absolute += fabsf(reward);
}

static void check_flags(Ledger* l, const PufferBuffers* rows, int e, int agent) {
    float terminal = rows->terminals[agent];
    if (terminal != 0.0f && terminal != 1.0f) {
        sight(&l->odd_terminal, e, agent, terminal);
    }
    if (rows->truncations && rows->truncations[agent] != 0.0f) {
        l->truncations += rows->truncations[agent] == 1.0f;
        if (rows->truncations[agent] != 1.0f) {
            sight(&l->odd_truncation, e, agent, rows->truncations[agent]);
        } else if (terminal == 0.0f) {
            sight(&l->lone_truncation, e, agent, terminal);
        }
    }
}

static bool may_act(const PufferBuffers* rows, int agent) {
    const unsigned char* mask = rows->action_mask + (size_t)agent * (size_t)desc.mask_size;
    for (int k = 0; k < desc.mask_size; k++) {
        if (mask[k]) {
            return true;
        }
    }
    return false;
}

// Whether an agent waits for one that may act
static bool waits(const Ledger* l, const PufferBuffers* rows, int e, int agent) {
    for (int other = 0; !may_act(rows, agent) && other < l->b->count[e]; other++) {
        if (has_agent(l->b, e, other) && may_act(rows, other)) {
            return true;
        }
    }
    return false;
}

// A head of which every action is forbidden
static void check_mask(Ledger* l, const PufferBuffers* rows, int e, int agent) {
    const unsigned char* mask = rows->action_mask + (size_t)agent * (size_t)desc.mask_size;
    if (waits(l, rows, e, agent)) {
        return;
    }
    for (int h = 0; h < desc.num_atns; mask += desc.act_sizes[h++]) {
        int legal = desc.act_sizes[h] == 1;
        for (int k = 0; k < desc.act_sizes[h] && !legal; k++) {
            legal = mask[k] != 0;
        }
        if (!legal) {
            sight(&l->empty_mask, e, agent, (float)h);
        }
    }
}

static void check_row(Ledger* l, const PufferBuffers* rows, int e, int agent) {
    if (desc.mask_size > 0 && has_agent(l->b, e, agent)) {
        check_mask(l, rows, e, agent);
    }
    if (rows->alive && rows->alive[agent] > 1) {
        sight(&l->odd_alive, e, agent, rows->alive[agent]);
    }
}

// num_agents is the number of rows, or with max_agents any number up to that
static void check_counts(Ledger* l, int e) {
    int rows = l->b->count[e], agents = int_at(l->b, e, layout.agents);
    bool any = layout.max_agents != (size_t)-1;
    if (any ? agents < 0 || agents > rows : agents != rows) {
        sight(&l->odd_agents, e, -1, (float)agents);
    }
    if (any && int_at(l->b, e, layout.max_agents) != rows) {
        sight(&l->odd_rows, e, -1, (float)int_at(l->b, e, layout.max_agents));
    }
}

static void be_there(Ledger* l, Account* a) {
    if (a->there != watch.step - 1) {    // it has come
        a->paid[OWN] = 0.0;
        a->since[OWN] = watch.step - 1;
    }
    a->there = watch.step;
    a->here = true;
    l->lived++;
}

static void note_event(Ledger* l, Account* a, Envelope* env, bool terminal) {
    l->early += 2 * watch.step <= options.steps;
    l->late += 2 * watch.step > options.steps;
    if (a->ever && env->random - a->event > l->gap) {
        l->gap = env->random - a->event;
    }
    if (env->random - env->event > l->env_gap) {
        l->env_gap = env->random - env->event;
    }
    a->event = env->event = env->random;
    a->event_step = env->event_step = watch.step;
    a->ever = env->ever = true;
    a->dead = terminal;
}

//------------------------------------------------------------------------------------
// A log entry
//------------------------------------------------------------------------------------
// What each convention expects; how: the rewards paid, or (length) steps
static void expect(const Ledger* l, int e, double n, bool length, double* out) {
    const Account* a = &l->accounts[l->first[e]];
    int agents = l->b->count[e], ended = 0, present = 0;
    double value[NUM_WINDOWS], own = 0.0, round = 0.0, all = 0.0, most = -INFINITY;
    for (int i = 0; i < CONVENTIONS; i++) {
        out[i] = NAN;
    }
    for (int i = 0; i < agents; i++) {
        if (a[i].there <= a[i].since[ENTRY]) {
            continue;    // nobody was there
        }
        present++;
        for (int w = 0; w < NUM_WINDOWS; w++) {
            value[w] = length ? (double)(watch.step - a[i].since[w]) : a[i].paid[w];
        }
        ended += a[i].ended;
        own += a[i].ended ? value[OWN] : 0.0;
        round += a[i].ended ? value[ROUND] : 0.0;
        all += value[ENTRY];
        most = value[OWN] > most && (a[i].ended || !length) ? value[OWN] : most;
        if (i < AGENTS && agents > 1 && n < agents) {
            out[AGENT_0 + i] = value[ENTRY];
        }
    }
    out[ENDED_MEAN] = own / ended;
    out[ENDED_MEAN_ROUND] = round / ended;
    out[ALL_MEAN] = all / present;
    out[MOST] = n < agents || agents == 1 ? most : NAN;    // an entry each is about no single one
    if (!length) {                                         // lengths of agents do not add up
        out[ALL] = all;
        out[ALL_PER_ENTRY] = all / n;
        out[ENDED] = own;
        out[ENDED_ROUND] = round;
    }
}

static void compare_entry(Entries* s, const Ledger* l, int e, double logged, double n,
                          bool length) {
    double expected[CONVENTIONS];
    const Envelope* env = &l->envs[e];
    double steps = (double)(watch.step - env->since);
    double slack = length ? 1e-3 + 1e-6 * steps : (1e-4 + 1e-7 * steps) * env->absolute + 1e-6;
    expect(l, e, n, length, expected);
    s->judged++;
    s->low = logged < s->low ? logged : s->low;
    s->high = logged > s->high ? logged : s->high;
    for (int c = 0; c < CONVENTIONS; c++) {
        Match* m = &s->match[c];
        if (fabs(logged - expected[c]) <= slack) {
            m->count++;
        } else if (m->step == 0) {
            *m = (Match){m->count, watch.step, e, logged, expected[c]};
        }
    }
    double lag = rint(1000.0 * (expected[ENDED_MEAN] - logged)) / 1000.0;
    if (fabs(lag) > slack) {
        s->lag_low = lag < s->lag_low ? lag : s->lag_low;
        s->lag_high = lag > s->lag_high ? lag : s->lag_high;
    }
    for (int k = 2; length && k <= MOST_SKIP; k++) {    // what is left of a step, too, where it
        s->skip[k] += logged < k * (expected[ENDED_MEAN] + 1.0) - slack    // plays on after c_reset
                      && logged > k * (expected[ENDED_MEAN] - 1.0) + slack;
    }
}

// Of an episode that has had an entry for each agent: is it of the time since the last one, or of
// all so far? Looked at where all agents began together
static void compare_goal(Ledger* l, int e, float length) {
    const Account* a = &l->accounts[l->first[e]];
    int agents = l->b->count[e];
    bool together = true;
    for (int i = 1; i < agents; i++) {
        together = together && a[i].since[OWN] == a->since[OWN];
    }
    if (together && l->envs[e].parts >= agents) {
        l->later++;
        if (fabsf(length - (float)(watch.step - a->since[OWN])) < 0.5f) {
            l->running++;
            sight(&l->first_running, e, 0, length);
        }
    }
}

static void read_log(Ledger* l, int e, bool any_ended) {
    char* at = env_struct(l->b, e) + layout.log;
    size_t count = layout.log_size / sizeof(float);
    float log[PUFFER_MAX_LOG + 1];
    if (count > PUFFER_MAX_LOG + 1) {
        count = PUFFER_MAX_LOG + 1;
    }
    memcpy(log, at, count * sizeof(float));
    float n;
    memcpy(&n, env_struct(l->b, e) + layout.log_n, sizeof n);
    memset(at, 0, layout.log_size);    // as collect_log does
    l->entries++;
    l->logged += n;
    l->goals += !any_ended;
    logged_entry(l->values, e, log, count, n);
    int perf = options.log_perf, ret = options.log_return, length = options.log_length;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(log[i])) {
            l->odd_field = l->odd_log.count ? l->odd_field : (int64_t)i;
            sight(&l->odd_log, e, 0, log[i]);
        }
    }
    if (perf >= 0 && isfinite(log[perf])) {
        float mean = log[perf] / n;
        if (!(mean >= -1e-4f && mean <= 1.0001f)) {
            sight(&l->wide_perf, e, 0, mean);
        }
    }
    if (any_ended && n > 0.0f) {
        if (ret >= 0 && isfinite(l->envs[e].absolute)) {
            compare_entry(&l->ret, l, e, log[ret] / n, n, false);
        }
        if (length >= 0) {
            compare_entry(&l->length, l, e, log[length] / n, n, true);
        }
    }
    if (!any_ended && n > 0.0f && length >= 0) {
        compare_goal(l, e, log[length] / n);
    }
    l->envs[e].parts += n;
    l->envs[e].since = watch.step;
    l->envs[e].absolute = 0.0;
    for (int i = 0; i < l->b->count[e]; i++) {
        l->accounts[l->first[e] + i].paid[ENTRY] = 0.0;
        l->accounts[l->first[e] + i].since[ENTRY] = watch.step;
    }
}

//------------------------------------------------------------------------------------
// Endings
//------------------------------------------------------------------------------------
static void begin_windows(Ledger* l, int e) {
    Account* a = &l->accounts[l->first[e]];
    bool round = true;
    for (int i = 0; i < l->b->count[e]; i++) {
        if (a[i].ended) {
            sample_add(&l->returns, a[i].paid[OWN]);
            sample_add(&l->lengths, (double)(watch.step - a[i].since[OWN]));
            a[i].paid[OWN] = 0.0;
            a[i].since[OWN] = watch.step;
            a[i].over = true;
            a[i].ended = false;
        }
        round = round && (a[i].over || !a[i].here);
    }
    for (int i = 0; round && i < l->b->count[e]; i++) {
        a[i].paid[ROUND] = 0.0;
        a[i].since[ROUND] = watch.step;
        a[i].over = a[i].here = false;
    }
    l->rounds += round;
    l->envs[e].rounds += round;
}

static void compare_endings(Ledger* l, int ended, int lived) {
    if (ended == 0 || !l->lockstep) {
        return;
    }
    int64_t length = watch.step - l->lock_last;
    l->lockstep = ended == lived && (l->lock_ends == 0 || length == l->lock_length);
    l->lock_ends++;
    l->lock_length = length;
    l->lock_last = watch.step;
}

void ledger_step(Ledger* l) {
    int all_ended = 0;
    int64_t lived = l->lived;
    for (int e = 0; e < l->b->envs; e++) {
        const PufferBuffers* rows = &l->b->rows[e];
        Envelope* env = &l->envs[e];
        Account* a = &l->accounts[l->first[e]];
        int ended = 0, there = 0;
        double paid = 0.0;
        env->random += plays_at_random(e, watch.step);
        check_counts(l, e);
        for (int agent = 0; agent < l->b->count[e]; agent++) {
            check_row(l, rows, e, agent);
            if (!had_agent(l->b, e, agent)) {
                continue;
            }
            float reward = rows->rewards[agent], terminal = rows->terminals[agent];
            bool over = agent_ended(l->b, e, agent);
            be_there(l, &a[agent]);
            there++;
            paid += reward;
            if (reward != 0.0f) {
                pay(l, &a[agent], e, agent, reward);
            }
            if (terminal != 0.0f || rows->truncations) {
                check_flags(l, rows, e, agent);
            }
            if (reward != 0.0f || over) {
                note_event(l, &a[agent], env, over);
            }
            l->terminals += over && (terminal == 0.0f || terminal == 1.0f);
            a[agent].ended = over;
            ended += over;
            l->gained += over && reward > 0.0f;
            l->even += over && reward == 0.0f;
            l->lost += over && reward < 0.0f;
        }
        float n;
        omitted_step(l->omitted, l->b, e, ended, there, paid);
        memcpy(&n, env->at + layout.log_n, sizeof n);
        if (n != 0.0f) {
            read_log(l, e, ended > 0);
        }
        env->parts = ended > 0 ? 0.0 : env->parts;
        logged_step(l->values, l->b, e);
        if (ended > 0) {
            begin_windows(l, e);
        }
        all_ended += ended;
    }
    compare_endings(l, all_ended, (int)(l->lived - lived));
}

//------------------------------------------------------------------------------------
// The end of the run
//------------------------------------------------------------------------------------
// Convention `best` explains most entries; what it does not explain first
static void report_entries(const char* name, const Entries* s) {
    int best = 0, skip = 0;
    for (int c = 1; c < CONVENTIONS; c++) {
        best = s->match[c].count > s->match[best].count ? c : best;
    }
    for (int k = MOST_SKIP; k >= 2; k--) {
        skip = s->judged > 0 && s->skip[k] == s->judged ? k : skip;
    }
    const Match* m = &s->match[best];
    if (s->judged > 0 && isfinite(m->logged) && isfinite(m->measured) && isfinite(s->low)
        && isfinite(s->high)) {
        fact(entries, .name = name, .judged = s->judged, .matched = m->count, .skip = skip,
             .lag = s->lag_low == s->lag_high ? s->lag_low : 0.0, .low = s->low, .high = s->high,
             .env = m->env, .step = m->step, .logged = m->logged, .measured = m->measured);
    }
}

// Silences that last to the end, in ticks of random play: far longer than any that came to an
// end; or, where events have all but ceased, through the whole second half
static void report_silence(const Ledger* l) {
    int64_t worst = -1, stuck = 0, step = 0;
    int at_env = 0, at_agent = -1;
    bool ceased = l->terminals == 0 && l->early >= 20 && 20 * l->late <= l->early;
    for (int e = 0; e < l->b->envs; e++) {
        const Envelope* env = &l->envs[e];
        int64_t quiet = env->random - env->event;
        bool whole = env->ever && quiet >= 1024 && quiet > 8 * (l->env_gap + 16);
        for (int i = 0; i < l->b->count[e]; i++) {
            const Account* a = &l->accounts[l->first[e] + i];
            if (a->there == 0) {
                continue;
            }
            quiet = env->random - a->event;
            bool alone = a->ever && !a->dead && quiet >= 1024 && quiet > 8 * (l->gap + 16);
            bool with_all = ceased && a->ever && quiet >= 1024 && 2 * a->event_step < options.steps;
            if (!whole && !alone && !with_all) {
                continue;
            }
            stuck++;
            if (quiet > worst) {
                worst = quiet;
                at_env = e;
                at_agent = i;
                step = a->ever ? a->event_step : env->event_step;
            }
        }
    }
    fact(silence, .stuck = stuck, .agents = l->b->agents, .env = at_env, .agent = at_agent,
         .step = step, .steps = options.steps - step, .early = l->early, .late = l->late,
         .ceased = ceased);
}

void ledger_close(Ledger* l, FILE* samples) {
    report_sighting(reward_not_finite, 0, &l->odd_reward);
    report_sighting(reward_scale, 0, &l->wide_reward);
    report_sighting(mask_empty, 0, &l->empty_mask);
    report_sighting(terminal_value, 0, &l->odd_terminal);
    report_sighting(truncation_value, 0, &l->odd_truncation);
    report_sighting(truncation_alone, 0, &l->lone_truncation);
    report_sighting(alive_value, 0, &l->odd_alive);
    report_sighting(agents_count, 0, &l->odd_agents);
    report_sighting(rows_count, 0, &l->odd_rows);
    report_sighting(log_range, 0, &l->wide_perf);
    report_sighting(log_not_finite, l->odd_field, &l->odd_log);
    sample_close(&l->paid, "reward", samples);
    sample_close(&l->returns, "return", samples);
    sample_close(&l->lengths, "length", samples);
    report_entries("episode_return", &l->ret);
    report_entries("episode_length", &l->length);
    report_silence(l);
    omitted_close(l->omitted, l->b);
    logged_close(l->values);
    fact(goals, .later = l->later, .running = l->running, .env = l->first_running.env,
         .step = l->first_running.step);
    fact(finishes, .gained = l->gained, .even = l->even, .lost = l->lost);
    fact(lockstep, .locked = l->lockstep && l->lock_ends > 0, .ends = l->lock_ends,
         .length = l->lock_length, .envs = l->b->envs);
    fact(run, .envs = l->b->envs, .agents = l->b->agents, .steps = options.steps * l->b->envs,
         .lived = l->lived, .rewards = l->rewards, .terminals = l->terminals,
         .truncations = l->truncations, .logged = l->logged, .rounds = l->rounds,
         .entries = l->entries, .goals = l->goals);
    free(l->accounts);
    free(l->first);
    free(l->envs);
    free(l);
}
