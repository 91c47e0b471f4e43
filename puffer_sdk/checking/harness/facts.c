/* facts.c -- writing facts down, and staying alive long enough to do so.
 *
 * A fact is appended with open/write/close, so that it survives a crash in the next
 * instruction, an env that closes descriptors, and one that changes directory.
 */
#define _GNU_SOURCE
#include "harness.h"
#include <execinfo.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

typedef struct Region {             // an array between two guards
    int array, env;
    char *start, *low, *high;       // rows; mapped memory with its guards
    size_t bytes;
} Region;

enum { MAX_REGIONS = 512, MAX_STACK = 48, FACT_BYTES = 8192 };
static Region regions[MAX_REGIONS];
static int num_regions;
static volatile bool finished;
static bool hushed;                 // a fork: its end is an answer, not a fact

const char* const array_names[NUM_ARRAYS] = {
    "observations", "actions", "rewards", "terminals", "truncations", "action_mask"};

static void append(const char* text, size_t size) {
    if (hushed) {
        return;
    }
    int file = open(options.facts, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0) {
        return;
    }
    while (size > 0) {
        ssize_t done = write(file, text, size);
        if (done <= 0) {
            break;
        }
        text += done;
        size -= (size_t)done;
    }
    close(file);
}

void fact(const char* format, ...) {
    char text[FACT_BYTES];
    va_list list;
    va_start(list, format);
    int size = vsnprintf(text, sizeof text - 1, format, list);
    va_end(list);
    if (size < 0 || size >= (int)sizeof text - 1) {
        return;
    }
    text[size] = '\n';
    append(text, (size_t)size + 1);
}

void fail(const char* text) {
    char safe[PUFFER_ERROR_SIZE * 2];
    size_t used = 0;
    for (const char* c = text; *c && used + 8 < sizeof safe; c++) {
        if (*c == '"' || *c == '\\') {
            safe[used++] = '\\';
        }
        if (*c == '\n') {
            safe[used++] = '\\';
            safe[used++] = 'n';
        } else if ((unsigned char)*c >= 32) {
            safe[used++] = *c;
        }
    }
    safe[used] = 0;
    fact("{\"fact\": \"failed\", \"text\": \"%s\"}", safe);
    finished = true;
    _exit(3);
}

double now(void) {
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);    // ours is not the env's clock
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void add_region(int array, int env, char* start, size_t bytes, char* low, char* high) {
    if (num_regions < MAX_REGIONS) {
        regions[num_regions++] = (Region){array, env, start, low, high, bytes};
    }
}

static const char* phase_name(void) {
    static const char* const names[] = {"idle", "init", "reset", "step", "close", "render"};
    return watch.phase >= 0 && watch.phase < 6 ? names[watch.phase] : "idle";
}

// What happened to the env, where in the run, and the stack as addresses
void report(const char* what, const char* extra) {
    void* frames[MAX_STACK];
    report_stack(what, extra, frames, backtrace(frames, MAX_STACK));
}

void report_stack(const char* what, const char* extra, void* const* frames, int depth) {
    char stack[MAX_STACK * 24] = "";
    size_t used = 0;
    for (int i = 0; i < depth; i++) {
        used += (size_t)snprintf(stack + used, sizeof stack - used, "%s\"%p\"",
                                 i ? ", " : "", frames[i]);
    }
    fact("{\"fact\": \"%s\", \"phase\": \"%s\", \"env\": %lld, \"step\": %lld, "
         "\"seed\": %lld%s, \"stack\": [%s]}",
         what, phase_name(), (long long)watch.env, (long long)watch.step,
         (long long)watch.seed, extra, stack);
}

typedef struct Fault { unsigned long long pc; int write; } Fault;     // write -1: unknown

static Fault fault_of(void* context) {
#if defined(__x86_64__)
    mcontext_t* machine = &((ucontext_t*)context)->uc_mcontext;
    return (Fault){(unsigned long long)machine->gregs[REG_RIP], (machine->gregs[REG_ERR] & 2) != 0};
#else
    (void)context;
    return (Fault){0, -1};
#endif
}

static void on_crash(int signal_number, siginfo_t* info, void* context) {
    char* at = info->si_addr;
    char extra[512];
    Fault fault = fault_of(context);
    if (actions_fault(at, fault.pc)) {
        return;
    }
    int used = snprintf(extra, sizeof extra, ", \"signal\": %d, \"address\": %llu, "
                        "\"pc\": \"0x%llx\"", signal_number,
                        (unsigned long long)(uintptr_t)at, fault.pc);
    for (int i = 0; i < num_regions && signal_number != SIGABRT; i++) {
        Region* r = &regions[i];
        if (at >= r->low && at < r->high) {
            long long past = at >= r->start + r->bytes ? at - (r->start + (long long)r->bytes)
                                                       : at - r->start;
            snprintf(extra + used, sizeof extra - (size_t)used,
                     ", \"array\": \"%s\", \"owner\": %d, \"past\": %lld, \"bytes\": %zu, "
                     "\"write\": %d",
                     array_names[r->array], r->env, past, r->bytes, fault.write);
            break;
        }
    }
    finished = true;
    report(signal_number == SIGABRT ? "abort" : "crash", extra);
    _exit(99);
}

static void on_exit_call(void) {
    if (!finished) {
        finished = true;
        report("exit", "");
        _exit(98);
    }
}

static double cpu_seconds(void) {
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// The full patience is for the first process that hangs. Once it was seen to, the others need
// not wait as long: a third of a second of computing, or three seconds of whatever else
static bool is_hanging(double wall, double cpu) {
    enum { SLOW = 3 };
    bool early = wall > 0.3 && options.hung && access(options.hung, F_OK) == 0;
    return wall > options.hang || (early && (cpu > 0.3 || wall > SLOW));
}

static void on_tick(int signal_number) {
    static int32_t pulse;
    static double since, cpu_since;
    (void)signal_number;
    double time = now(), cpu = cpu_seconds();
    if (since == 0.0 || pulse != watch.pulse || watch.phase == PUFFER_IDLE) {
        pulse = watch.pulse;
        since = time;
        cpu_since = cpu;
    } else if (is_hanging(time - since, cpu - cpu_since)) {
        char extra[64];
        snprintf(extra, sizeof extra, ", \"seconds\": %g", options.hang);
        finished = true;
        report("hang", extra);
        _exit(97);
    }
}

// The sanitizers call these before they print: where in the run it happened
void __asan_on_error(void) { report("asan", ""); }
void __ubsan_on_report(void) { report("ubsan", ""); }

static void start_watchdog(void) {
    struct itimerval every = {{0, 100000}, {0, 100000}};
    setitimer(ITIMER_REAL, &every, NULL);
}

// MemorySanitizer calls this before it ends the process; AddressSanitizer's is left alone
void __msan_check_mem_is_initialized(const volatile void*, size_t) __attribute__((weak));
void __sanitizer_set_death_callback(void (*)(void)) __attribute__((weak));
static void on_msan(void) { report("msan", ""); }

void guard_against_env(void) {
    if (__msan_check_mem_is_initialized && __sanitizer_set_death_callback) {
        __sanitizer_set_death_callback(on_msan);
    }
    void* warm[4];
    backtrace(warm, 4);             // loads the unwinder now, not inside a signal handler
    prctl(PR_SET_PDEATHSIG, SIGKILL);

    static char stack[1 << 17];     // a handler needs its own: the env's may be used up
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&other, NULL);
    struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) {
        sigaction(crashes[i], &action, NULL);
    }
    atexit(on_exit_call);

    struct rlimit files = {256u << 20, 256u << 20}, core = {0, 0};
    setrlimit(RLIMIT_FSIZE, &files);
    setrlimit(RLIMIT_CORE, &core);
    if (options.memory) {
        struct rlimit memory = {options.memory, options.memory};
        setrlimit(RLIMIT_AS, &memory);
    }
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);

    struct sigaction tick = {.sa_handler = on_tick, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigaction(SIGALRM, &tick, NULL);
    start_watchdog();
}

void hush(void) {
    hushed = true;
    start_watchdog();               // timers are not inherited
}

void finish(void) {
    finished = true;
    fact("{\"fact\": \"end\"}");
    _exit(0);
}

//------------------------------------------------------------------------------------
// Clocks and entropy that an env might use. They stand still within a run and move
// between runs (shift), so that a game which depends on them is caught every time
//------------------------------------------------------------------------------------
static const time_t epoch = 1700000000;

time_t time(time_t* out) {
    time_t value = epoch + 7919 * options.shift;
    if (out) {
        *out = value;
    }
    return value;
}

clock_t clock(void) {
    return (clock_t)(1000 + 7919 * options.shift);
}

int gettimeofday(struct timeval* out, void* zone) {
    (void)zone;
    out->tv_sec = time(NULL);
    out->tv_usec = 7919 * options.shift;
    return 0;
}

int clock_gettime(clockid_t id, struct timespec* out) {
    (void)id;
    out->tv_sec = time(NULL);
    out->tv_nsec = 7919 * options.shift;
    return 0;
}

ssize_t getrandom(void* out, size_t size, unsigned int flags) {
    static uint64_t calls;
    (void)flags;
    for (size_t i = 0; i < size; i++) {
        ((unsigned char*)out)[i] = (unsigned char)mix(++calls + 7919u * (uint64_t)options.shift);
    }
    return (ssize_t)size;
}

int getentropy(void* out, size_t size) {
    getrandom(out, size, 0);
    return 0;
}
