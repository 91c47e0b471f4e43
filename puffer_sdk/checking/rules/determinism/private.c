/* private.c -- does one agent's observation show what another agent hides?
 *
 * private=AGENT:POINTER:OFFSET:BYTES,... says where: in the struct (POINTER -1), or in the block
 * that the pointer at byte POINTER of the struct leads to. At many moments that memory gets the
 * value that the same agent of another env holds there. If the rest of the state is the same one
 * step later, the other agents must see no difference. If it is not, the secret took part in the
 * game, like a card that is played, and the moment does not count.
 */
#define _GNU_SOURCE
#include "harness.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_SECRETS = 256 };

typedef struct Secret {
    int agent, pointer, offset, bytes;
    int64_t tests, leaks;
    int64_t step;
    int env, seer, element;    // of the first leak: who saw it, and where
} Secret;

static char* secret_bytes(const Batch* b, int env, const Secret* s) {
    char* base = env_struct(b, env);
    if (s->pointer >= 0) {
        memcpy(&base, base + s->pointer, sizeof base);
    }
    return base ? base + s->offset : NULL;
}

static int parse_secrets(Secret* secrets) {
    int count = 0;
    const char* text = options.private;
    while (text && *text && count < MAX_SECRETS) {
        Secret* s = &secrets[count];
        *s = (Secret){.step = -1};
        if (sscanf(text, "%d:%d:%d:%d", &s->agent, &s->pointer, &s->offset, &s->bytes) != 4) {
            break;
        }
        count++;
        text = strchr(text, ',');
        text += text != NULL;
    }
    return count;
}

// The observations of env after one step, with the secret exchanged or not, and after them a
// hash of the state without it
static bool look_ahead(Batch* b, int env, const Secret* s, const char* other, char* out) {
    bool good = false;
    if (in_fork(&good)) {
        size_t bytes = row_bytes(OBSERVATIONS) * (size_t)b->count[env];
        char* mine = secret_bytes(b, env, s);
        State state = state_open(b, env);
        uint32_t* words = calloc(state.words, 4);
        if (other) {
            memcpy(mine, other, (size_t)s->bytes);
        }
        batch_step(b, env, 0);
        copy_told(b, env, OBSERVATIONS, out);
        memset(mine, 0, (size_t)s->bytes);
        state_read(&state, b, env, words);
        uint64_t hash = hash_bytes(1, words, 4 * state.words);
        memcpy(out + bytes, &hash, sizeof hash);
        _exit(0);
    }
    return good;
}

static void test_secret(Batch* b, int env, Secret* s, char* plain, char* exchanged) {
    int neighbour = (env + 1) % b->envs;
    const char* mine = secret_bytes(b, env, s);
    const char* other = secret_bytes(b, neighbour, s);
    size_t bytes = row_bytes(OBSERVATIONS) * (size_t)b->count[env];
    if (s->agent >= b->count[env] || s->agent >= b->count[neighbour] || !mine || !other
        || memcmp(mine, other, (size_t)s->bytes) == 0 || !look_ahead(b, env, s, NULL, plain)
        || !look_ahead(b, env, s, other, exchanged)
        || memcmp(plain + bytes, exchanged + bytes, sizeof(uint64_t)) != 0) {
        return;
    }
    size_t row = row_bytes(OBSERVATIONS), width = row / (size_t)desc.obs_size;
    s->tests++;
    for (int seer = 0; seer < b->count[env]; seer++) {
        const char* x = plain + row * (size_t)seer;
        const char* y = exchanged + row * (size_t)seer;
        if (seer == s->agent || memcmp(x, y, row) == 0) {
            continue;
        }
        if (s->leaks++ == 0) {
            size_t i = 0;
            while (memcmp(x + width * i, y + width * i, width) == 0) {
                i++;
            }
            s->step = watch.step;
            s->env = env;
            s->seer = seer;
            s->element = (int)i;
        }
        break;
    }
}

void experiment_private(void) {
    Secret secrets[MAX_SECRETS];
    int count = parse_secrets(secrets);
    Batch b = batch_open(PACKED);
    size_t most = row_bytes(OBSERVATIONS) * (size_t)b.agents + sizeof(uint64_t);    // of any env
    char* plain = shared(most);
    char* exchanged = shared(most);
    batch_reset(&b, -1);
    int64_t t = 0;
    for (int64_t forks = 0, sample = 0; count > 0 && forks < options.steps; sample++) {
        batch_play(&b, &t, 1 + (int64_t)(mix((uint64_t)sample) % 16));
        watch.step = t + 1;
        batch_act(&b, -1, t + 1);
        for (int k = 0; k < count; k++, forks += 2) {
            test_secret(&b, (int)(sample % b.envs), &secrets[k], plain, exchanged);
        }
    }
    for (int k = 0; k < count; k++) {
        const Secret* s = &secrets[k];
        fact(secret, .index = k, .agent = s->agent, .tests = s->tests, .leaks = s->leaks,
             .step = s->step, .env = s->env, .seer = s->seer, .element = s->element);
    }
    batch_close(&b);
}
