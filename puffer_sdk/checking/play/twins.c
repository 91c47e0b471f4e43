/* twins.c -- a second batch in the very state of a first one, in a process of its own.
 *
 * An env may hold tables of hundreds of megabytes. Where the plan says so (options.twins), what
 * batch_twin gives is a fork of this process, which shares all the pages that nobody writes. It
 * steps and resets by our orders, into rows that both processes see; its structs are copied here
 * after each order, and back before the next. Elsewhere a twin is a batch like the first one.
 */
#define _GNU_SOURCE
#include "harness.h"
#include "system.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <signal.h>
#include <unistd.h>

enum { STEP, RESET, SEED, CALL, END };

typedef struct Order {
    int what, env, flags;
    uint32_t seed;
    int64_t step;
    void (*call)(Batch* batch, int env);
} Order;

struct Process {
    Order* order;     // shared
    int ask, told;    // pipes
    pid_t child;
};

static char* shown_struct(const Batch* b, int env) {
    return b->twin->structs + b->twin->bytes * (size_t)env;
}

static void copy_structs(const Batch* b, bool here) {
    for (int e = 0; e < b->envs; e++) {
        char *own = api->env_struct(b->vec, e), *shown = shown_struct(b, e);
        memcpy(here ? shown : own, here ? own : shown, b->twin->bytes);
    }
}

static void carry_out(Batch* b, const Order* order) {    // with b->twin NULL: here
    watch.step = order->step;
    switch (order->what) {
    case STEP: batch_step(b, order->env, order->flags); break;
    case RESET: batch_reset(b, order->env); break;
    case SEED: batch_seed(b, order->env, order->seed); break;
    default: order->call(b, order->env);
    }
}

static void serve(Batch* b) {
    char byte;
    end_with_parent();
    start_watchdog();
    for (int e = 0; e < b->envs; e++) {
        api->bind(b->vec, e, &b->rows[e]);
    }
    Batch own = *b;
    own.twin = NULL;
    copy_structs(b, true);
    while (TEMP_FAILURE_RETRY(write(b->twin->process->told, "", 1)) == 1
           && TEMP_FAILURE_RETRY(read(b->twin->process->ask, &byte, 1)) == 1
           && b->twin->process->order->what != END) {
        copy_structs(b, false);
        carry_out(&own, b->twin->process->order);
        copy_structs(b, true);
    }
    finished = true;
    _exit(0);
}

static void await(const Batch* b) {
    char byte;
    if (TEMP_FAILURE_RETRY(read(b->twin->process->told, &byte, 1)) != 1) {
        finished = true;    // it has ended, and has said why
        _exit(99);
    }
}

static void give_order(Batch* b, Order order) {
    order.step = watch.step;
    *b->twin->process->order = order;
    if (TEMP_FAILURE_RETRY(write(b->twin->process->ask, "", 1)) != 1) {
        finished = true;
        _exit(99);
    }
    await(b);
}

static void step_there(Batch* b, int env, int flags) {
    give_order(b, (Order){.what = STEP, .env = env, .flags = flags});
}

static void reset_there(Batch* b, int env) { give_order(b, (Order){.what = RESET, .env = env}); }

static void seed_there(Batch* b, int env, uint32_t seed) {
    give_order(b, (Order){.what = SEED, .env = env, .seed = seed});
}

static void close_there(Batch* b) {
    b->twin->process->order->what = END;
    bool asked = TEMP_FAILURE_RETRY(write(b->twin->process->ask, "", 1)) == 1;
    if (!asked) {
        kill(b->twin->process->child, SIGKILL);
    }
    close(b->twin->process->ask);
    close(b->twin->process->told);
    wait_for(b->twin->process->child);
    free(b->twin->process);
    free(b->twin);
}

void batch_call(Batch* b, void (*call)(Batch* batch, int env), int env) {
    if (b->twin) {
        give_order(b, (Order){.what = CALL, .env = env, .call = call});
    } else {
        call(b, env);
    }
}

static void* other(const Batch* of, const Batch* b, int array, void* row) {
    return row ? (char*)b->block[array] + ((char*)row - (char*)of->block[array]) : NULL;
}

static void* copied(const void* from, size_t bytes) { return memcpy(malloc(bytes), from, bytes); }

Batch batch_twin(const Batch* of) {
    if (!options.twins) {
        return batch_open(PACKED);
    }
    Batch b = *of;
    size_t envs = (size_t)b.envs;
    b.first = copied(of->first, envs * sizeof *b.first);
    b.count = copied(of->count, envs * sizeof *b.count);
    b.had = calloc((size_t)b.agents, sizeof *b.had);
    b.rows = copied(of->rows, envs * sizeof *b.rows);
    for (int a = 0; a < NUM_ARRAYS; a++) {
        if (of->block[a]) {
            b.block[a] = shared_rows(b.bytes[a]);
            if (!b.block[a]) {
                fail("not enough shared memory for a second batch");
            }
            memcpy(b.block[a], of->block[a], b.bytes[a]);
            loan_add(array_names[a], b.block[a], b.bytes[a]);
        }
    }
    for (int e = 0; e < b.envs; e++) {
        PufferBuffers* r = &b.rows[e];
        r->observations = other(of, &b, OBSERVATIONS, r->observations);
        r->actions = other(of, &b, ACTIONS, r->actions);
        r->rewards = other(of, &b, REWARDS, r->rewards);
        r->terminals = other(of, &b, TERMINALS, r->terminals);
        r->truncations = other(of, &b, TRUNCATIONS, r->truncations);
        r->action_mask = other(of, &b, MASK, r->action_mask);
        r->alive = other(of, &b, ALIVE, r->alive);
    }
    int ask[2], told[2];
    b.twin = calloc(1, sizeof *b.twin);
    *b.twin = (Twin){.bytes = (size_t)api->env_struct_size(),
                     .step = step_there,
                     .reset = reset_there,
                     .seed = seed_there,
                     .close = close_there,
                     .process = calloc(1, sizeof(struct Process))};
    b.twin->process->order = shared(sizeof *b.twin->process->order);
    b.twin->structs = shared(b.twin->bytes * envs);
    if (pipe(ask) || pipe(told) || (b.twin->process->child = fork()) < 0) {
        fail("not enough processes for the checker");
    }
    if (b.twin->process->child == 0) {
        close(ask[1]);
        close(told[0]);
        b.twin->process->ask = ask[0];
        b.twin->process->told = told[1];
        serve(&b);
    }
    close(ask[0]);
    close(told[1]);
    b.twin->process->ask = ask[1];
    b.twin->process->told = told[0];
    await(&b);
    return b;
}
