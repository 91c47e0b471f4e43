/* hidden_resets.c -- a long run in which c_step calls c_reset, and no terminal says so.
 *
 * Envs are stepped one by one, so that a call belongs to an env. An entry that is made on such a
 * step is held against the one before: where it is larger by what was paid, or by how many steps
 * were made, since that reset, the sum was not set back. Whether the step that resets belongs to the
 * old episode or to the new one is up to the author: both are tried.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "harness.h"

enum { RESETS = 512 };    // after which the run ends
enum { RETURN, LENGTH, QUANTITIES };
enum { TOTAL, MEAN, FIRST, WHOSE };    // rewards: of all agents, their mean, of agent 0
enum { WAYS = 2 * WHOSE };             // and whether the step that resets is of the new episode

typedef struct Episode {    // of one env, from one call of c_reset to the next
    int64_t steps;
    double paid[WHOSE];           // the step that called c_reset included
    double late[WHOSE];           // of these, on that step
    double absolute;              // sizes of all rewards
    bool entered;                 // its end made an entry
    double logged[QUANTITIES];    // by that
} Episode;

typedef struct Way {        // one reading of what an entry holds
    int64_t grown, back;    // entries of the last one's value and the episode's; of its own alone
    int64_t step;
    int env;
    double logged, measured;    // the first that has grown; the episode's own
} Way;

typedef struct Kept {    // entries of one quantity that tell
    int64_t judged;
    Way way[WAYS];
} Kept;

static void count(Way* w, int env, double logged, double last, double own, double slack) {
    bool grows = fabs(logged - last - own) <= slack;
    w->back += fabs(logged - own) <= slack;
    if (grows && w->grown++ == 0) {
        w->step = watch.step;
        w->env = env;
        w->logged = logged;
        w->measured = own;
    }
}

static void judge_return(Kept* k, int env, const Episode* last, const Episode* now) {
    double slack = 1e-4 + 1e-3 * (last->absolute + now->absolute);
    if (!isfinite(slack) || fabs(last->paid[TOTAL]) <= 8.0 * slack) {
        return;    // too little was paid to tell
    }
    k->judged++;
    for (int w = 0; w < WAYS; w++) {
        int whose = w / 2;
        double own = now->paid[whose] + (w % 2 ? last->late[whose] - now->late[whose] : 0.0);
        count(&k->way[w], env, now->logged[RETURN], last->logged[RETURN], own, slack);
    }
}

static void judge_length(Kept* k, int env, const Episode* last, const Episode* now) {
    if (last->steps > 4) {
        k->judged++;
        count(&k->way[0], env, now->logged[LENGTH], last->logged[LENGTH], (double)now->steps,
              1.001);
    }
}

static bool read_entry(const Batch* b, int env, Episode* now) {    // as collect_log does
    float n;
    memcpy(&n, env_struct(b, env) + layout.log_n, sizeof n);
    if (!(n > 0.0f)) {
        return false;
    }
    float* log = (float*)(env_struct(b, env) + layout.log);
    now->logged[RETURN] = options.log_return >= 0 ? log[options.log_return] / n : NAN;
    now->logged[LENGTH] = options.log_length >= 0 ? log[options.log_length] / n : NAN;
    memset(log, 0, layout.log_size);
    return true;
}

// After a step of this env. Returns the last agent whose episode goes on, or -1
static int add_step(const Batch* b, int env, Episode* now) {
    int open = -1, agents = b->count[env];
    memset(now->late, 0, sizeof now->late);
    for (int i = 0; i < agents; i++) {
        double reward = had_agent(b, env, i) ? (double)b->rows[env].rewards[i] : 0.0;
        now->late[TOTAL] += reward;
        now->late[MEAN] += reward / agents;
        now->late[FIRST] += i == 0 ? reward : 0.0;
        now->absolute += fabs(reward);
        open = had_agent(b, env, i) && !agent_ended(b, env, i) ? i : open;
    }
    for (int w = 0; w < WHOSE; w++) {
        now->paid[w] += now->late[w];
    }
    now->steps++;
    return open;
}

void experiment_hidden(void) {
    Batch b = batch_open(PACKED);
    batch_reset(&b, -1);
    Episode* last = calloc((size_t)b.envs, sizeof *last);
    Episode* now = calloc((size_t)b.envs, sizeof *now);
    Kept kept[QUANTITIES] = {{0}};
    const char* names[QUANTITIES] = {"episode_return", "episode_length"};
    int64_t resets = 0, hidden = 0, step = -1;
    int env = -1, agent = -1;
    for (int64_t t = 1; t <= options.steps && resets < RESETS; t++) {
        watch.step = t;
        batch_act(&b, -1, t);
        for (int e = 0; e < b.envs; e++) {
            int before = begun[0];
            batch_step(&b, e, 0);
            int open = add_step(&b, e, &now[e]);
            bool entered = read_entry(&b, e, &now[e]);
            if (begun[0] == before) {
                continue;
            }
            now[e].entered = entered;
            if (entered && last[e].entered) {
                judge_return(&kept[RETURN], e, &last[e], &now[e]);
                judge_length(&kept[LENGTH], e, &last[e], &now[e]);
            }
            last[e] = now[e];
            now[e] = (Episode){0};
            resets++;
            if (open >= 0 && hidden++ == 0) {
                step = t;
                env = e;
                agent = open;
            }
        }
    }
    for (int q = 0; q < QUANTITIES; q++) {
        const Way *best = kept[q].way, *back = kept[q].way;
        for (const Way* w = best + 1; w < kept[q].way + WAYS; w++) {
            best = w->grown > best->grown ? w : best;
            back = w->back > back->back ? w : back;
        }
        fact(grown, .name = names[q], .judged = kept[q].judged, .grown = best->grown,
             .back = back->back, .step = best->step, .env = best->env, .logged = best->logged,
             .measured = best->measured);
    }
    fact(restarts, .by = 0, .restarts = resets, .hidden = hidden, .step = step, .env = env,
         .agent = agent);
    free(last);
    free(now);
    batch_close(&b);
}
