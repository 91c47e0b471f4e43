/* puffer_repro.h -- plays one finding of `puffer-sdk check` again. Included by repro_PUFnnn.c
 *
 *     #include "../binding.c"                  // the environment, as a library of many
 *     #include "puffer_repro.h"
 *
 *     REPRO_SCRIPT(2) = {                      // how many steps, {the actions of each}
 *         {304, {0, 0}},
 *         {RESET},                             // c_reset instead of c_step
 *         {1, {2, 1}},
 *     };
 *
 *     REPRO(.code = "PUF303", .seed = 42,
 *           .expect = "finite", .array = "observations", .agent = 0, .first = 4, .last = 4)
 *
 * The program creates the environment, resets it, plays the script, and looks after each step.
 * It ends with status 0 when nothing is wrong any more. Otherwise it says what it saw
 *
 *     PUF303, step 305: observation 4 of agent 0 is nan, expected a finite number
 *
 * and ends with 1 (or 95 to 99: a sanitizer, a hang, an exit, a signal). 2: it could not play.
 * The same as one line of JSON goes into the file that PUFFER_REPRO_RESULT names.
 * Each env's rows lie between unmapped pages, and clocks stand still, as they do in `check`.
 */
#pragma once
#include <fcntl.h>
#include <float.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <malloc.h>
#include <sys/prctl.h>
#elif defined(__APPLE__)
#include <malloc/malloc.h>
#endif

// The sanitizers watch the environment; this file would only take longer to compile
#define REPRO_FN                                                                                   \
    static __attribute__((no_sanitize("address", "undefined", "thread"), no_instrument_function))
#if defined(__SANITIZE_ADDRESS__)
#define REPRO_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define REPRO_SANITIZED
#endif
#endif

#ifndef NAN
#define NAN __builtin_nanf("")
#endif

// To compile this takes longer than to play it, and nothing stands behind it
#if defined(__clang__)
#pragma clang optimize off
#elif defined(__GNUC__)
#pragma GCC optimize("O0")
#endif

enum { RESET = 0 };    // in the place of a row's number of steps

static pid_t repro_parent;    // macOS sends no signal at its end: the ticks look

typedef struct Repro {
    const char* code;                 // the rule's
    const char* expect;               // what should hold: one of repro_expectations, below
    const char* array;                // "observations", "rewards", "terminals", "truncations"
    int agent;                        // of the env; -1 = each of them
    int first, last;                  // elements of its observation; last -1 = to the end
    double low, high;                 // for "within"
    int pointer, offset, is_float;    // for "shown": a word of the state, behind a pointer or -1
    double scale, shift;              // and what shows it: scale x word + shift
    uint64_t seed;                    // of the run
    int seat;                         // the env had this place in the run: alone it plays the same
    int env;                          // the one that is watched, among the envs made here
    int total_agents;                 // of all envs made here; 0 = one env
    const char* guard;                // "low": the unmapped page lies before the rows, not behind
    double patience;                  // seconds that one call may take
    const char* field;                // of the log, for "log"; of the struct, for "shown"
    const PufferSetting* settings;    // [env], ends with a NULL key
    const PufferSetting* vec;         // [vec], likewise; NULL = nothing
    const void* script;               // rows of { int steps; float actions[width]; }
    int rows, width;
} Repro;

#define REPRO_SCRIPT(width_)                                                                       \
    enum { repro_width = (width_) };                                                               \
    static const struct {                                                                          \
        int steps;                                                                                 \
        float actions[width_];                                                                     \
    } repro_script[]

#define REPRO(...)                                                                                 \
    int main(void) {                                                                               \
        static const Repro repro = {.script = repro_script,                                        \
                                    .width = repro_width,                                          \
                                    .rows = (int)(sizeof repro_script / sizeof repro_script[0]),   \
                                    __VA_ARGS__};                                                  \
        return repro_main(&repro);                                                                 \
    }

#include "puffer_repro_play.h"
#include "puffer_repro_expect.h"

//------------------------------------------------------------------------------------
// The table of expectations
//------------------------------------------------------------------------------------
static const struct {
    const char* name;
    void (*look)(ReproBatch*);
    void (*play)(void);
} repro_expectations[] = {
    {"return", repro_look_return, NULL},    // no sanitizer, guard page, exit or hang
    {"finite", repro_look_values, NULL},
    {"within", repro_look_values, NULL},    // [low, high]
    {"zero-or-one", repro_look_values, NULL},
    {"with-terminal", repro_look_values, NULL},       // a truncation never comes alone
    {"one-legal", repro_look_legal, NULL},            // a mask leaves one of these actions
    {"count", repro_look_count, NULL},                // num_agents is one that the rows allow
    {"let-go", repro_look_let_go, NULL},              // flags that are set are cleared again
    {"shown", repro_look_shown, NULL},                // after an ending, the new state is observed
    {"reset", repro_look_reset, NULL},                // after an ending the state begins anew
    {"terminal", repro_look_reset, NULL},             // c_step never calls c_reset without one
    {"terminal-by-state", repro_look_reset, NULL},    // the state never begins anew without one
    {"goes-on", repro_look_goes_on, NULL},            // after all have ended, something happens
    {"logged", repro_look_logged, NULL},              // endings make log.n grow
    {"log", repro_look_log, NULL},                    // field is what was counted
    {"determined", NULL, repro_determined},           // by c_reset, whatever the buffer held
    {"written", NULL, repro_written},                 // by each step
    {"written-on-end", NULL, repro_written},          // by each step that ends the episode
    {"same-again", NULL, repro_same},                 // a second run in this process
    {"same-in-another-process", NULL, repro_same},
    {"same-alone", NULL, repro_same},    // the env in a batch, and the only one stepped
    {"same-in-any-order", NULL, repro_same},
    {"same-on-threads", NULL, repro_same},
    {"freed", NULL, repro_freed},      // by c_close
    {"steady", NULL, repro_steady},    // resets do not gather memory
};

//------------------------------------------------------------------------------------
// Crashes, hangs and exits
//------------------------------------------------------------------------------------
static struct sigaction repro_former[NSIG];

REPRO_FN void repro_on_crash(int number, siginfo_t* info, void* context) {
    (void)context;
    const char* at = (const char*)info->si_addr;
    const char* what = number == SIGABRT
                           ? "called abort() (an assert that failed, or a damaged heap)"
                       : number == SIGFPE ? "divided by zero"
                                          : "touched memory that is not there";
    char text[128];
    for (int i = 0; i < repro_num_regions && number != SIGABRT && number != SIGFPE; i++) {
        const ReproRegion* r = &repro_regions[i];
        if (at < r->low || at >= r->high) continue;
        bool behind = at >= r->start + r->bytes;
        long long distance = behind ? at - (r->start + r->bytes) : r->start - at;
        char far[32] = "just";
        if (distance > 1) snprintf(far, sizeof far, "%lld bytes", distance);
        snprintf(text, sizeof text, "went outside this env's own %s, %s %s", repro_names[r->array],
                 far, behind ? "behind the end" : "before the start");
        what = text;
        repro_wrong.array = repro_names[r->array];
        repro_wrong.agent = -1;
        repro_wrong.outside = true;
    }
    repro_say("%s %s", REPRO_PHASE, what);
    repro_over = true;
#ifdef REPRO_SANITIZED
    if (number != SIGABRT) {    // again, for AddressSanitizer to show the stack
        sigaction(number, &repro_former[number], NULL);
        return;
    }
#endif
    _exit(REPRO_SIGNAL);
}

REPRO_FN void repro_on_exit(void) {
    if (!repro_over) REPRO_FAIL(REPRO_EXIT, "%s ended the process", REPRO_PHASE);
}

REPRO_FN void repro_on_tick(int number) {
    static int32_t pulse;
    static int ticks;
    (void)number;
    if (repro_parent && getppid() != repro_parent) _exit(REPRO_UNABLE);
    bool idle = pulse != repro_watch.pulse || repro_watch.phase == PUFFER_IDLE;
    ticks = idle ? 0 : ticks + 1;
    pulse = repro_watch.pulse;
    if (0.05 * ticks > repro_it.patience)
        REPRO_FAIL(REPRO_HANG, "%s did not return within %g seconds", REPRO_PHASE,
                   repro_it.patience);
}

#ifdef REPRO_SANITIZED
void __asan_on_error(void);
void __asan_on_error(void) {
    if (!repro_over) repro_say("AddressSanitizer stops %s", REPRO_PHASE);
    repro_over = true;
}
void __ubsan_on_report(void);
void __ubsan_on_report(void) {
    if (!repro_over) repro_say("%s relies on undefined behaviour", REPRO_PHASE);
    repro_over = true;
}
const char* __asan_default_options(void);
const char* __asan_default_options(void) {
    return "detect_leaks=0:exitcode=96:detect_stack_use_after_return=1:allocator_may_return_null=1";
}
const char* __ubsan_default_options(void);
const char* __ubsan_default_options(void) {
    return "print_stacktrace=1:halt_on_error=1:exitcode=95";
}
#elif defined(__SANITIZE_THREAD__)
const char* __tsan_default_options(void);
void __tsan_on_report(void* report);
void __tsan_on_report(void* report) {
    (void)report;
    if (!repro_over)
        repro_say("two threads race for the same memory, expected envs that share none");
    repro_over = true;
}
const char* __tsan_default_options(void) { return "halt_on_error=1:exitcode=94"; }
#endif

REPRO_FN void repro_guard_against_env(void) {
    static char stack[1 << 16];
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction crash = {.sa_sigaction = repro_on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct sigaction tick = {.sa_handler = repro_on_tick, .sa_flags = SA_RESTART | SA_ONSTACK};
    const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    sigaltstack(&other, NULL);
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        sigaction(crashes[i], &crash, &repro_former[crashes[i]]);
    sigaction(SIGALRM, &tick, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 50000}, {0, 50000}}, NULL);
    atexit(repro_on_exit);
}

REPRO_FN PufferSetting repro_setting(const char* key, const char* text) {
    PufferSetting setting = {strdup(key), strtod(text, NULL), strdup(text)};
    return setting;
}

// `check` tries many scripts on one program: then everything comes from this file, as
// "key value" lines, and at last "script rows width" and the rows as numbers
REPRO_FN void repro_read(const char* path) {
    static PufferSetting settings[256], vec[256];
    static char texts[8][64];
    FILE* file = fopen(path, "r");
    char key[64], value[128];
    int used = 0, num_settings = 0, num_vec = 0;
    if (!file) REPRO_FAIL(REPRO_UNABLE, "cannot read %s", path);
    while (fscanf(file, "%63s %127[^\n]", key, value) == 2) {
#define REPRO_TEXT(name)                                                                           \
    else if (strcmp(key, #name) == 0 && used < 8) repro_it.name = strncpy(texts[used++], value, 63)
#define REPRO_NUMBER(name)                                                                         \
    else if (strcmp(key, #name) == 0) repro_it.name = (__typeof__(repro_it.name))strtod(value, NULL)
        if (strncmp(key, "set.", 4) == 0 && num_settings < 255)
            settings[num_settings++] = repro_setting(key + 4, value);
        else if (strncmp(key, "vec.", 4) == 0 && num_vec < 255)
            vec[num_vec++] = repro_setting(key + 4, value);
        else if (strcmp(key, "seed") == 0) repro_it.seed = strtoull(value, NULL, 10);
        REPRO_TEXT(expect);
        REPRO_TEXT(array);
        REPRO_TEXT(guard);
        REPRO_TEXT(field);
        REPRO_NUMBER(agent);
        REPRO_NUMBER(first);
        REPRO_NUMBER(last);
        REPRO_NUMBER(low);
        REPRO_NUMBER(high);
        REPRO_NUMBER(seat);
        REPRO_NUMBER(env);
        REPRO_NUMBER(total_agents);
        REPRO_NUMBER(patience);
        REPRO_NUMBER(width);
        REPRO_NUMBER(pointer);
        REPRO_NUMBER(offset);
        REPRO_NUMBER(is_float);
        REPRO_NUMBER(scale);
        REPRO_NUMBER(shift);
        else if (strcmp(key, "script") == 0) {
            repro_it.rows = atoi(value);
            break;
        }
    }
    char* rows = (char*)calloc((size_t)repro_it.rows + 1, 4 + 4 * (size_t)repro_it.width);
    repro_it.script = rows;
    for (int r = 0; r < repro_it.rows; r++) {
        int steps = 0;
        if (fscanf(file, "%d", &steps) != 1) break;
        memcpy(rows, &steps, 4);
        rows += 4;
        for (int i = 0; i < repro_it.width; i++, rows += 4) {
            float action = 0.0f;
            if (steps > 0 && fscanf(file, "%f", &action) != 1) break;
            memcpy(rows, &action, 4);
        }
    }
    fclose(file);
    repro_it.settings = settings;
    repro_it.vec = vec;
}

REPRO_FN PufferSettings repro_count(const PufferSetting* items) {
    PufferSettings all = {items, 0};
    while (items && items[all.count].key) all.count++;
    return all;
}

REPRO_FN int repro_main(const Repro* given) {
    PufferError error = {0};
    const char* path = getenv("PUFFER_REPRO_SCRIPT");
    repro_it = *given;
    repro_end_with_parent();
    if (path) repro_read(path);
    if (repro_it.patience <= 0.0) repro_it.patience = 10.0;
    repro_env_settings = repro_count(repro_it.settings);
    repro_vec_settings = repro_count(repro_it.vec);
    repro_api = puffer_api();
    repro_guard_against_env();
    repro_watch.phase = PUFFER_INIT;
    if (repro_api->describe(&repro_env_settings, &repro_desc, &error) != 0)
        REPRO_FAIL(REPRO_UNABLE, "cannot describe the environment: %s", error.text);
    repro_watch.phase = PUFFER_IDLE;
    for (size_t i = 0; i < sizeof repro_expectations / sizeof *repro_expectations; i++) {
        if (strcmp(repro_expectations[i].name, repro_it.expect) != 0) continue;
        if (repro_expectations[i].play) repro_expectations[i].play();
        else repro_play(repro_expectations[i].look);
        repro_over = true;
        printf("%s: not seen any more in %lld steps\n", repro_it.code, (long long)repro_watch.step);
        fflush(stdout);
        _exit(0);
    }
    REPRO_FAIL(REPRO_UNABLE, "there is no expectation called '%s'", repro_it.expect);
    return REPRO_UNABLE;
}

//------------------------------------------------------------------------------------
// Clocks and entropy stand still; in runs that must not differ by them, clocks run
//------------------------------------------------------------------------------------
static double repro_seconds(void) {
    static uint64_t looks;
    static double passed;
    if (repro_shift) passed += (double)(puffer_mix(++looks, 0) % 1000) / 1000;
    return 7919 * repro_shift + passed;
}

time_t time(time_t* out) {
    time_t value = 1700000000 + (time_t)repro_seconds();
    if (out) *out = value;
    return value;
}

clock_t clock(void) { return (clock_t)(1000 + CLOCKS_PER_SEC * repro_seconds()); }

int gettimeofday(struct timeval* out, void* zone) {
    (void)zone;
    double passed = repro_seconds();
    out->tv_sec = 1700000000 + (time_t)passed;
    out->tv_usec = (suseconds_t)(1e6 * (passed - (double)(time_t)passed));
    return 0;
}

int clock_gettime(clockid_t id, struct timespec* out) {
    (void)id;
    double passed = repro_seconds();
    out->tv_sec = 1700000000 + (time_t)passed;
    out->tv_nsec = (long)(1e9 * (passed - (double)(time_t)passed));
    return 0;
}

// raylib's
__attribute__((weak)) double GetTime(void) { return repro_seconds(); }
__attribute__((weak)) float GetFrameTime(void) {
    double before = repro_seconds();
    return (float)(repro_seconds() - before);
}

ssize_t getrandom(void* out, size_t size, unsigned int flags) {
    static uint64_t calls;
    (void)flags;
    for (size_t i = 0; i < size; i++)
        ((unsigned char*)out)[i] = (unsigned char)puffer_mix(++calls, (uint64_t)repro_shift);
    return (ssize_t)size;
}

int getentropy(void* out, size_t size) {
    getrandom(out, size, 0);
    return 0;
}
