/* unlogged_endings.c -- endings that the log leaves out, in a long run.
 *
 * Looked at are steps that end the episodes of all agents of an env. One that leaves log.n as it was
 * may belong to an entry that comes later (a life of several), or be left out: then the next entry
 * tells of its own episode only. If the sums grew and n did not, the sums are divided by too little.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "run.h"

typedef struct Book {    // of one env
    int agents;          // where its purses begin
    char* log;           // as it was after the last step, n among it
    int64_t ended;       // the last ending but this one; of the last entry
    int64_t entered;
    double since_ending, since_entry;    // rewards paid
    bool skipped;                        // an ending since the last entry left none
} Book;

typedef struct Purse {        // of one agent
    double paid;              // since its last ending
    int64_t entered, left;    // its endings: that made an entry of it; without an entry
} Purse;

struct Omitted {
    Book* books;      // (E)
    Purse* purses;    // (agents of all envs)
    int64_t theirs, others;
    int64_t endings, partial, unlogged, summed;    // partial: of some agents only
    int64_t elsewhere;                             // steps without an ending that moved the sums
    int64_t after, own, all;                       // entries after an ending that left none
    int64_t step;
    int env;
};

Omitted* omitted_open(const Batch* b) {
    Omitted* o = calloc(1, sizeof *o);
    o->books = calloc((size_t)b->envs, sizeof *o->books);
    int agents = 0;
    for (int e = 0; e < b->envs; e++) {
        o->books[e].log = calloc(layout.log_size, 1);
        memcpy(o->books[e].log, env_struct(b, e) + layout.log, layout.log_size);
        o->books[e].agents = agents;
        agents += b->count[e];
    }
    o->purses = calloc((size_t)agents, sizeof *o->purses);
    return o;
}

static bool is_near(double logged, double measured) {
    return fabs(logged - measured) <= 1e-3 + 1e-4 * fabs(measured);
}

// An entry of a single episode, and one of all since the last entry, by length or by return
static void judge_entry(Omitted* o, const Book* k, const char* log, double n, int ended) {
    int at = options.log_length >= 0 ? options.log_length : options.log_return;
    if (at < 0 || (n != 1.0 && (options.log_length < 0 || n != ended))) {
        return;    // of all that ended, lengths alone have a mean that is each one's
    }
    float sum;
    memcpy(&sum, log + sizeof(float) * (size_t)at, sizeof sum);
    double logged = sum / n;
    bool length = options.log_length >= 0;
    double own = length ? (double)(watch.step - k->ended) : k->since_ending;
    double all = length ? (double)(watch.step - k->entered) : k->since_entry;
    o->after++;
    o->own += is_near(logged, own) && !is_near(logged, all);
    o->all += is_near(logged, all);
}

// Agents that end one by one: is an entry of just those that ended?
static void note_ended(Omitted* o, const Batch* b, int env, int ended, float n, const char* log) {
    Purse* purses = o->purses + o->books[env].agents;
    double theirs = 0.0;
    for (int i = 0; i < b->count[env]; i++) {
        purses[i].paid += had_agent(b, env, i) ? b->rows[env].rewards[i] : 0.0f;
        theirs += had_agent(b, env, i) && agent_ended(b, env, i) ? purses[i].paid : 0.0;
    }
    bool own = n == (float)ended && options.log_return >= 0 && theirs != 0.0;
    if (n != 0.0f && theirs != 0.0) {
        float sum = 0.0f;
        memcpy(&sum, log + sizeof sum * (size_t)(own ? options.log_return : 0), sizeof sum);
        own = own && is_near((double)sum, theirs);
        o->theirs += own;
        o->others += !own;
    }
    for (int i = 0; ended > 0 && i < b->count[env]; i++) {
        if (had_agent(b, env, i) && agent_ended(b, env, i)) {
            purses[i].entered += own;
            purses[i].left += n == 0.0f;
            purses[i].paid = 0.0;
        }
    }
}

void omitted_step(Omitted* o, const Batch* b, int env, int ended, int lived, double paid) {
    Book* k = &o->books[env];
    const char* log = env_struct(b, env) + layout.log;
    bool moved = memcmp(log, k->log, layout.log_size) != 0, over = ended > 0 && ended == lived;
    float n = 0.0f;
    k->since_ending += paid;
    k->since_entry += paid;
    if (moved) {
        memcpy(&n, env_struct(b, env) + layout.log_n, sizeof n);
    }
    note_ended(o, b, env, ended, n, log);
    o->endings += over;
    o->partial += ended > 0 && !over;
    if (over && n == 0.0f) {
        o->unlogged++;
        o->summed += moved;
        k->skipped = true;
        if (o->unlogged == 1) {
            o->step = watch.step;
            o->env = env;
        }
    } else if (moved && !over) {
        o->elsewhere++;
    } else if (over && k->skipped) {
        judge_entry(o, k, log, n, ended);
    }
    if (n != 0.0f) {    // the ledger clears it
        memset(k->log, 0, layout.log_size);
        k->entered = watch.step;
        k->since_entry = 0.0;
        k->skipped = false;
    } else if (moved) {
        memcpy(k->log, log, layout.log_size);
    }
    if (ended > 0) {
        k->ended = watch.step;
        k->since_ending = 0.0;
    }
}

void omitted_close(Omitted* o, const Batch* b) {
    int64_t left = 0;
    const Book* last = &o->books[b->envs - 1];
    for (int i = 0; i < last->agents + b->count[b->envs - 1]; i++) {
        left += o->purses[i].entered > 0 ? o->purses[i].left : 0;
    }
    fact(omitted, .endings = o->endings, .partial = o->partial, .unlogged = o->unlogged,
         .summed = o->summed, .elsewhere = o->elsewhere, .after = o->after, .own = o->own,
         .all = o->all, .theirs = o->theirs, .others = o->others, .left = left, .step = o->step,
         .env = o->env);
    for (int e = 0; e < b->envs; e++) {
        free(o->books[e].log);
    }
    free(o->books);
    free(o->purses);
    free(o);
}
