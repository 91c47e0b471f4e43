/* forks.c -- plays on from one moment in several ways. Each way is a fork of this process, so
 * that the whole state of an env (struct, heap, statics) is the same at the start.
 */
#define _GNU_SOURCE
#include "harness.h"
#include "system.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

void* shared(size_t bytes) {
    void* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        fail("not enough memory for the checker");
    }
    return memory;
}

enum { MAX_SHARED = 64 };
static struct {
    void* start;
    size_t bytes;
} rows[MAX_SHARED];
static int num_rows;

void* shared_rows(size_t bytes) {
    if (num_rows == MAX_SHARED) {
        return NULL;
    }
    rows[num_rows].bytes = bytes;
    return rows[num_rows++].start = shared(bytes);
}

// In a fork: from now on, what it writes there is its own
static void part_rows(void) {
    for (; num_rows > 0; num_rows--) {
        void* start = rows[num_rows - 1].start;
        size_t bytes = rows[num_rows - 1].bytes;
        void* copy = malloc(bytes);
        memcpy(copy, start, bytes);
        if (mmap(start, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                 0)
            == MAP_FAILED) {
            _exit(1);
        }
        memcpy(start, copy, bytes);
        free(copy);
    }
}

int wait_for(pid_t child) {
    int status = 1;
    TEMP_FAILURE_RETRY(waitpid(child, &status, 0));    // our own watchdog's ticks interrupt it
    return status;
}

bool in_fork(bool* good) {
    pid_t child = fork();
    if (child == 0) {
        silence_facts();
        start_watchdog();
        part_rows();
        return true;
    }
    int status = child > 0 ? wait_for(child) : 1;
    *good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return false;
}

//------------------------------------------------------------------------------------
// effect: from many moments on, one agent holds each value of one head, and plays on as it would
// have: a turn may show only once something is done in the new direction. What follows?
//------------------------------------------------------------------------------------
enum { MAX_VALUES = 48, MAX_AGENTS = 64, HELD = 48, AHEAD = 64, SETTLED = 64 };    // moments

static int values_of(int head) {    // continuous: -1, 0, 1
    int width = desc.act_sizes[head];
    return width == 1 ? 3 : width < MAX_VALUES ? width : MAX_VALUES;
}

static float value_at(int head, int k) {
    return desc.act_sizes[head] == 1 ? (float)(k - 1) : (float)k;
}

static bool is_allowed(const Batch* b, int env, int agent, int head, int value) {
    int offset = value;
    for (int h = 0; h < head; h++) {
        offset += desc.act_sizes[h];
    }
    return desc.mask_size == 0 || desc.act_sizes[head] == 1 || offset >= desc.mask_size
           || b->rows[env].action_mask[agent * desc.mask_size + offset];
}

typedef struct Effect {                      // of one head
    int64_t tested[MAX_VALUES];              // moments at which this value was tried
    bool differs[MAX_VALUES][MAX_VALUES];    // two values led to different rows at some moment
    int64_t both[MAX_VALUES][MAX_VALUES];    // moments at which both were tried: a mask may allow
                                             // one of them at a time only
    int64_t by_agent[MAX_AGENTS], moved[MAX_AGENTS];    // moments; those where anything differed
    int64_t pairs[MAX_VALUES], apart[MAX_VALUES];       // with another value at a moment; of them
                                                        // those that led to different rows
} Effect;

static void try_values(Batch* b, int env, int agent, int head, int64_t t, uint64_t* answers,
                       Effect* effect) {
    int count = values_of(head);
    int64_t steps = options.ahead ? options.ahead : AHEAD;
    bool good[MAX_VALUES] = {0};
    bool any = false;
    for (int k = 0; k < count; k++) {
        if (!is_allowed(b, env, agent, head, k)) {
            continue;
        }
        if (in_fork(&good[k])) {
            uint64_t hash = 1;
            for (int64_t ahead = 0; ahead < steps; ahead++) {
                batch_act(b, env, t + ahead);
                bool can = has_agent(b, env, agent) && is_allowed(b, env, agent, head, k);
                if (ahead == 0 || (ahead < HELD && can)) {
                    b->rows[env].actions[agent * desc.num_atns + head] = value_at(head, k);
                }
                watch.step = t + ahead;
                batch_step(b, env, 0);
                hash = hash_rows(b, env, hash);
            }
            answers[k] = hash;
            _exit(0);
        }
        effect->tested[k] += good[k];
    }
    for (int k = 0; k < count; k++) {
        for (int j = 0; good[k] && j < k; j++) {
            bool differ = good[j] && answers[j] != answers[k];
            effect->both[k][j] += good[j];
            effect->pairs[j] += good[j];
            effect->pairs[k] += good[j];
            effect->apart[j] += differ;
            effect->apart[k] += differ;
            if (differ) {
                effect->differs[k][j] = effect->differs[j][k] = any = true;
            }
        }
    }
    if (agent < MAX_AGENTS) {
        effect->by_agent[agent]++;
        effect->moved[agent] += any;
    }
}

static void report_effect(int head, const Effect* effect, int agents) {
    char same[2048] = "", never[512] = "", rates[1024] = "";
    size_t told = 0;
    size_t used = 0, more = 0;
    int count = values_of(head);
    for (int k = 0; k < count; k++) {
        told += (size_t)snprintf(rates + told, sizeof rates - told, "%s%.4f", told ? ", " : "",
                                 (double)effect->apart[k] / (double)(effect->pairs[k] + 1));
        if (effect->tested[k] == 0 && more + 32 < sizeof never) {
            more += (size_t)snprintf(never + more, sizeof never - more, "%s%g", more ? ", " : "",
                                     (double)value_at(head, k));
        }
        int like = -1;    // the value that it equals at the most moments; the first of those
        for (int j = 0; j < k; j++) {
            bool more = like < 0 || effect->both[k][j] > effect->both[k][like];
            like = !effect->differs[k][j] && more ? j : like;
        }
        if (like >= 0 && used + 64 < sizeof same) {
            used += (size_t)snprintf(same + used, sizeof same - used, "%s[%g, %g, %lld]",
                                     used ? ", " : "", (double)value_at(head, like),
                                     (double)value_at(head, k), (long long)effect->both[k][like]);
        }
    }
    fact(effect, .head = head, .width = desc.act_sizes[head], .values = count, .same = same,
         .never = never, .rates = rates);
    for (int i = 0; i < agents && i < MAX_AGENTS; i++) {
        fact(reach, .head = head, .agent = i, .tested = effect->by_agent[i],
             .moved = effect->moved[i]);
    }
}

// Further moments cannot change what is said: every value of every head led elsewhere than each
// other one, and every agent moved something
static bool is_settled(const Effect* effects, int agents) {
    for (int head = 0; head < desc.num_atns; head++) {
        const Effect* effect = &effects[head];
        int64_t moments = 0;
        for (int k = 0; k < values_of(head); k++) {
            for (int j = 0; j < k; j++) {
                if (!effect->differs[k][j]) {
                    return false;
                }
            }
        }
        for (int i = 0; i < agents && i < MAX_AGENTS; i++) {
            moments += effect->by_agent[i];
            if (effect->moved[i] == 0) {
                return false;
            }
        }
        if (moments < SETTLED) {
            return false;
        }
    }
    return true;
}

// Row `at`, or the next one that has an agent; -1 = none has
static int agent_from(const Batch* b, int env, int at) {
    for (int k = 0; k < b->count[env]; k++) {
        int agent = (at + k) % b->count[env];
        if (has_agent(b, env, agent)) {
            return agent;
        }
    }
    return -1;
}

void experiment_effect(void) {    // steps: forks in all
    Batch b = batch_open(PACKED);
    batch_reset(&b, -1);
    uint64_t* answers = shared(sizeof *answers * MAX_VALUES);
    Effect* effects = calloc((size_t)desc.num_atns, sizeof *effects);
    int64_t forks = 0, t = 0;
    for (int sample = 0; forks < options.steps && !is_settled(effects, b.count[0]); sample++) {
        batch_play(&b, &t, 1 + (int64_t)(mix((uint64_t)sample) % 32));
        int env = sample % b.envs, agent = agent_from(&b, env, sample / b.envs);
        if (agent < 0) {    // nobody is there
            forks++;
            continue;
        }
        for (int head = 0; head < desc.num_atns; head++) {
            try_values(&b, env, agent, head, t + 1, answers, &effects[head]);
            forks += values_of(head);
        }
    }
    for (int head = 0; head < desc.num_atns; head++) {
        report_effect(head, &effects[head], b.count[0]);
    }
    batch_close(&b);
}

//------------------------------------------------------------------------------------
// reseed: the generator is given other seeds just before a step that ends an episode. Where
// the new episodes differ and a c_reset would show it, so must the observation after the step
//------------------------------------------------------------------------------------
enum { SEEDS = 4, MOMENTS = 40 };

typedef struct Answer {
    uint64_t seen, state;
    bool ended;
} Answer;

static Answer answer_of(const Batch* b, int env) {
    uint64_t state = 1;
    for (size_t w = 0; w < layout.size / 4; w++) {
        if (is_state(w)) {
            state = hash_bytes(state, env_struct(b, env) + 4 * w, 4);
        }
    }
    return (Answer){hash_array(b, env, OBSERVATIONS, 1), state, env_ended(b, env)};
}

static bool same_in_all(const Answer* answers, bool seen) {
    for (int k = 1; k < SEEDS; k++) {
        if (seen ? answers[k].seen != answers[0].seen : answers[k].state != answers[0].state) {
            return false;
        }
    }
    return true;
}

void experiment_reseed(void) {
    typedef struct Moment {
        int64_t step;
        int env;
    } Moment;
    Moment moments[MOMENTS];
    int found = 0;
    Batch b = batch_open(PACKED);    // a first run, to know on which steps episodes end
    batch_reset(&b, -1);
    for (int64_t t = 1; t <= options.steps && found < MOMENTS; t++) {
        batch_tick(&b, t);
        for (int e = 0; e < b.envs && found < MOMENTS; e++) {
            if (env_ended(&b, e)) {
                moments[found++] = (Moment){t, e};
            }
        }
    }
    batch_close(&b);

    Answer* answers = shared(2 * SEEDS * sizeof *answers);    // of the step; of c_reset
    int told = 0, blind = 0;
    int64_t step = -1;
    int env = -1;
    b = batch_open(PACKED);
    batch_reset(&b, -1);
    for (int64_t t = 1, next = 0; next < found; t++) {
        watch.step = t;
        batch_act(&b, -1, t);
        for (; next < found && moments[next].step == t; next++) {
            int e = moments[next].env;
            bool all_good = true;
            for (int k = 0; k < 2 * SEEDS; k++) {
                bool good = false;
                if (in_fork(&good)) {
                    batch_seed(&b, e, (uint32_t)mix((uint64_t)(k % SEEDS) + 77));
                    if (k < SEEDS) {
                        batch_step(&b, e, 0);
                    } else {
                        batch_reset(&b, e);
                    }
                    answers[k] = answer_of(&b, e);
                    _exit(0);
                }
                all_good = all_good && good && (k >= SEEDS || answers[k].ended);
            }
            if (!all_good || same_in_all(answers, false)) {
                continue;    // the new episode owes nothing to chance
            }
            bool reset_tells = !same_in_all(answers + SEEDS, true);
            told += reset_tells;
            if (reset_tells && same_in_all(answers, true) && blind++ == 0) {
                step = t;
                env = e;
            }
        }
        batch_step(&b, -1, 0);
    }
    fact(reseeded, .told = told, .blind = blind, .step = step, .env = env);
    batch_close(&b);
}

//------------------------------------------------------------------------------------
// openings: right after c_reset, one step with each value of each head, and with random ones, from
// a seed of its own each time. Do all of them end the episode, with the same rewards?
//------------------------------------------------------------------------------------
enum { MORE_TRIES = 8 };    // with random actions, as values of heads may go together

typedef struct FirstStep {
    uint64_t rewards, opening;    // opening: of the one from another seed
    bool ended;
} FirstStep;

static uint64_t opening_of(const Batch* b, int env) {
    Answer answer = answer_of(b, env);
    return mix(answer.seen ^ mix(answer.state));
}

static void try_opening(Batch* b, int env, int64_t opening, int k, FirstStep* answer) {
    batch_seed(b, env, (uint32_t)mix((uint64_t)k + 77));
    batch_act(b, env, 4096 * opening + k);
    for (int head = 0; head < desc.num_atns; head++) {
        for (int agent = 0; k < values_of(head) && agent < b->count[env]; agent++) {
            if (has_agent(b, env, agent) && is_allowed(b, env, agent, head, k)) {
                b->rows[env].actions[agent * desc.num_atns + head] = value_at(head, k);
            }
        }
    }
    watch.step = 1;
    batch_step(b, env, 0);
    *answer = (FirstStep){hash_array(b, env, REWARDS, 1), 0, env_ended(b, env)};
}

void experiment_openings(void) {    // steps: openings
    Batch b = batch_open(PACKED);
    FirstStep* answers = shared(3 * sizeof *answers);    // of the first try; this one; another seed
    int tries = MORE_TRIES, at = -1;
    for (int head = 0; head < desc.num_atns; head++) {
        tries = tries < values_of(head) + MORE_TRIES ? values_of(head) + MORE_TRIES : tries;
    }
    int64_t tests = 0, lost = 0, fixed = 0;
    for (int64_t opening = 0; opening < options.steps; opening++) {
        int e = (int)(opening % b.envs);
        watch.step = 0;
        bool same = true, other = false;
        if (in_fork(&other)) {
            batch_seed(&b, e, (uint32_t)mix((uint64_t)opening + 177));
            batch_reset(&b, e);
            answers[2].opening = opening_of(&b, e);
            _exit(0);
        }
        batch_reset(&b, e);
        bool is_fixed = other && answers[2].opening == opening_of(&b, e);
        int done = 0;
        for (; done < tries && same; done++) {
            bool good = false;
            FirstStep* answer = &answers[done > 0];
            if (in_fork(&good)) {
                try_opening(&b, e, opening, done, answer);
                _exit(0);
            }
            same = good && answer->ended && answer->rewards == answers[0].rewards;
        }
        tests++;
        fixed += same && is_fixed;
        at = same && lost == 0 ? e : at;
        lost += same;
    }
    fact(openings, .tests = tests, .lost = lost, .fixed = fixed, .tries = tries, .env = at);
    batch_close(&b);
}
