/* vecenv_changes.h -- envs that go on with other settings. Included by vecenv.h.
 *
 * An env that was given other settings plays on until every agent that lives has ended an episode.
 * Inside the step that ended the last one it is made anew, and so is one that is reset: a new init,
 * with a seed that follows from the one before. So it depends on nobody else, thread or batch, when
 * that is and what comes of it. Who is then in the middle of a later episode is cut off.
 */
#pragma once
#include <sched.h>

typedef struct PufferChange {
    PufferSettings settings;    // of the next world. The items are ours, their texts the caller's
    PufferRange* ranges;        // [count] what each world draws; 0: one world, once
    char (*texts)[32];          // [count] of numbers that were drawn
    int32_t count;
    bool waits;                // not yet made anew since it was asked for
    unsigned char* awaited;    // [rows] 1: this agent's ending is awaited
} PufferChange;

static void puffer_drop_change(PufferVec* vec, int32_t e) {
    PufferChange* change = vec->changes ? vec->changes[e] : NULL;
    if (!change) return;
    vec->changes[e] = NULL;
    free((void*)change->settings.items);
    free(change->ranges);
    free(change->texts);
    free(change->awaited);
    free(change);
}

#ifdef MY_VEC_INIT
static int32_t puffer_change(PufferVec* vec, int32_t first, int32_t count,
                             const PufferSettings* settings, const PufferRange* ranges,
                             int32_t num_ranges, PufferError* error) {
    (void)vec, (void)first, (void)count, (void)settings, (void)ranges, (void)num_ranges;
    puffer_refuse(error, PUFFER_FAILED, "my_vec_init makes all envs at once");
    return -1;
}
#else
static void puffer_await_all(PufferVec* vec, int32_t e) {
    int32_t rows = vec->first_row[e + 1] - vec->first_row[e];
    for (int32_t i = 0; i < rows; i++)
        vec->changes[e]->awaited[i] = !vec->alive[e] || vec->alive[e][i];
}

static void* puffer_keep_items(const void* from, int32_t count, size_t size) {
    void* to = calloc(count > 0 ? (size_t)count : 1, size);
    if (to && count > 0) memcpy(to, from, (size_t)count * size);
    return to;
}

static int32_t puffer_change(PufferVec* vec, int32_t first, int32_t count,
                             const PufferSettings* settings, const PufferRange* ranges,
                             int32_t num_ranges, PufferError* error) {
    if (!vec->changes)
        vec->changes = (PufferChange**)calloc((size_t)vec->num_envs, sizeof(PufferChange*));
    for (int32_t e = first; vec->changes && e < first + count; e++) {
        size_t rows = (size_t)(vec->first_row[e + 1] - vec->first_row[e]);
        puffer_drop_change(vec, e);
        PufferChange* change = vec->changes[e] = (PufferChange*)calloc(1, sizeof(PufferChange));
        if (!change) break;
        change->settings.items = (const PufferSetting*)puffer_keep_items(
            settings->items, settings->count, sizeof(PufferSetting));
        change->ranges = (PufferRange*)puffer_keep_items(ranges, num_ranges, sizeof(PufferRange));
        change->texts = (char(*)[32])calloc((size_t)num_ranges + 1, 32);
        change->awaited = (unsigned char*)calloc(rows, 1);
        change->settings.count = settings->count;
        change->count = num_ranges;
        change->waits = true;
        if (!change->settings.items || !change->ranges || !change->texts || !change->awaited) {
            puffer_drop_change(vec, e);
            break;
        }
        puffer_await_all(vec, e);
        if (e == first + count - 1) return 0;
    }
    puffer_refuse(error, PUFFER_NO_MEMORY, "no room for other settings");
    return -1;
}

// What this world is played with, in the settings of its change
static void puffer_draw(PufferChange* change, uint32_t seed) {
    PufferSetting* items = (PufferSetting*)change->settings.items;
    for (int32_t r = 0; r < change->count; r++) {
        const PufferRange* range = &change->ranges[r];
        uint64_t dice = puffer_mix(seed, (uint64_t)r + 1);
        PufferSetting drawn = {range->key, 0.0, change->texts[r]};
        if (range->num_choices > 0)
            drawn = range->choices[dice * (uint64_t)range->num_choices >> 32];
        else if (range->whole)
            drawn.value = range->low
                          + (double)(dice * (uint64_t)(range->high - range->low + 1) >> 32);
        else drawn.value = range->low + (range->high - range->low) * ((double)dice / 4294967296.0);
        if (!range->num_choices) snprintf(change->texts[r], 32, "%.9g", drawn.value);
        for (int32_t i = 0; i < change->settings.count; i++)
            if (strcmp(items[i].key, range->key) == 0) items[i] = drawn;
    }
}

// An init may set what all envs share: one at a time
static char puffer_turning;

static int32_t puffer_renew_alone(PufferVec* vec, int32_t e, PufferWatch* watch) {
    PufferChange* change = vec->changes[e];
    uint32_t seed = puffer_mix(vec->env_seeds[e], 0);
    PufferError error;
    puffer_draw(change, seed);
    while (__atomic_test_and_set(&puffer_turning, __ATOMIC_ACQUIRE)) sched_yield();
    Log log = vec->envs[e].log;    // of episodes that nobody has collected yet
    int32_t failed = puffer_renew(vec, e, &change->settings, seed, 0, watch, &error);
    if (!failed) vec->envs[e].log = log;
    else if (!vec->failed) vec->fault = error;
    vec->failed |= failed != 0;
    __atomic_clear(&puffer_turning, __ATOMIC_RELEASE);
    return failed;
}

// The env anew, in its first episode. Its rewards and endings stay: they are of the one before.
// False: the old one plays on
static bool puffer_begin_anew(PufferVec* vec, int32_t e, int32_t phase, PufferWatch* watch) {
    PufferWatch spare = {0, 0, 0, 0, 0};
    size_t size = sizeof(float) * (size_t)(vec->first_row[e + 1] - vec->first_row[e]);
    float* kept = (float*)malloc(3 * size);
    if (!kept) return false;
    bool good = puffer_renew_alone(vec, e, watch) == 0;
    puffer_enter(watch, &spare, phase, vec->seed);
    puffer_at(vec, e, watch);
    if (good) {
        memcpy(kept, vec->rewards[e], size);
        memcpy(kept + size / sizeof(float), vec->terminals[e], size);
        if (vec->truncations[e]) memcpy(kept + 2 * size / sizeof(float), vec->truncations[e], size);
#ifdef PUFFER_OBSERVE    // nobody asks for the end of an episode that was not played
        PufferVec* stepping = puffer_stepping;
        puffer_stepping = NULL;
        c_reset(&vec->envs[e]);
        puffer_stepping = stepping;
#else
        c_reset(&vec->envs[e]);
#endif
        memcpy(vec->rewards[e], kept, size);
        memcpy(vec->terminals[e], kept + size / sizeof(float), size);
        if (vec->truncations[e]) memcpy(vec->truncations[e], kept + 2 * size / sizeof(float), size);
        puffer_give_rows(vec, e);
        puffer_read_mask(vec, e);
        puffer_note_alive(vec, e);
    }
    free(kept);
    if (good && vec->changes[e]->count > 0) {
        vec->changes[e]->waits = false;
        puffer_await_all(vec, e);
    } else puffer_drop_change(vec, e);
    return good;
}

// Who is in the middle of an episode is cut off: its observation is the final one
static void puffer_cut(PufferVec* vec, int32_t e) {
    int32_t rows = vec->first_row[e + 1] - vec->first_row[e];
    for (int32_t i = 0; i < rows; i++) {
        if (vec->terminals[e][i] != 0.0f || (vec->alive[e] && !vec->alive[e][i])) continue;
        vec->terminals[e][i] = 1.0f;
#ifdef PUFFER_HAS_TRUNCATIONS
        vec->truncations[e][i] = 1.0f;
#endif
#if defined(PUFFER_FINALS) && defined(PUFFER_HAS_TRUNCATIONS)
        size_t bytes = (size_t)vec->obs_size * obs_element_size();
        if (!vec->has_final[e] || puffer_is_narrow) continue;
        memcpy(vec->finals[e] + (size_t)i * bytes,
               (const char*)PUFFER_OF(&vec->envs[e], observations) + (size_t)i * bytes, bytes);
        if (!vec->has_final[e][i]) vec->has_final[e][i] = 1;    // else it says who has looked
#endif
    }
}

// After a step of an env with other settings to come
static void puffer_turn(PufferVec* vec, int32_t e, PufferWatch* watch) {
    PufferChange* change = vec->changes[e];
    int32_t rows = vec->first_row[e + 1] - vec->first_row[e], left = 0;
    for (int32_t i = 0; i < rows; i++) {
        bool over = vec->terminals[e][i] != 0.0f || (vec->alive[e] && !vec->alive[e][i]);
#ifdef PUFFER_HAS_TRUNCATIONS
        over |= vec->truncations[e][i] != 0.0f;
#endif
        if (over) change->awaited[i] = 0;
        left += change->awaited[i];
    }
    if (left) return;
    puffer_cut(vec, e);
    puffer_begin_anew(vec, e, PUFFER_STEP, watch);
}
#endif

// Envs that wait for a world with other settings; -1 with the first error where one could not begin
static int32_t puffer_waiting(const PufferVec* vec, PufferError* error) {
    int32_t waiting = 0;
    if (vec->failed) {
        *error = vec->fault;
        return -1;
    }
    for (int32_t e = 0; vec->changes && e < vec->num_envs; e++)
        waiting += vec->changes[e] && vec->changes[e]->waits;
    return waiting;
}
