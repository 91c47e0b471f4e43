/* guard.c -- survives what the env does: signals, exits, hangs and limits become facts. */
#define _GNU_SOURCE
#include "harness.h"
#include "system.h"
#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

typedef struct Region {    // an array between two guards
    int array, env;
    char *start, *low, *high;    // rows; mapped memory with its guards
    size_t bytes;
} Region;

enum { MAX_REGIONS = 512 };
static Region regions[MAX_REGIONS];
static int num_regions;

void add_region(int array, int env, char* start, size_t bytes, char* low, char* high) {
    if (num_regions < MAX_REGIONS) {
        regions[num_regions++] = (Region){array, env, start, low, high, bytes};
    }
}

static void report_row(const Region* r, const char* at, Fault fault) {
    const char* end = r->start + r->bytes;
    report(crash, .signal = SIGSEGV, .address = (uint64_t)(uintptr_t)at, .pc = fault.pc,
           .array = array_names[r->array], .past = at >= end ? at - end : at - r->start,
           .bytes = (int64_t)r->bytes, .write = fault.write);
}

enum { MAX_FAULTS = 64 };
static struct {
    unsigned long long pc[MAX_FAULTS];    // instructions whose faults were reported
    int count;
    char* opened[MAX_FAULTS];    // pages of guards that may be touched until the env returns
    int open;
} passed;

// So that one run shows every row that is left: the instruction is tried again, and succeeds
static bool pass_guard(const Region* r, char* at, Fault fault) {
    char* page = (char*)((uintptr_t)at & ~(uintptr_t)(page_bytes() - 1));
    if (passed.open == MAX_FAULTS || mprotect(page, page_bytes(), PROT_READ | PROT_WRITE) != 0) {
        return false;
    }
    passed.opened[passed.open++] = page;
    for (int i = 0; i < passed.count; i++) {
        if (passed.pc[i] == fault.pc) {
            return true;
        }
    }
    if (passed.count == MAX_FAULTS) {
        return false;
    }
    passed.pc[passed.count++] = fault.pc;
    report_row(r, at, fault);
    return true;
}

void close_guards(void) {
    while (passed.open > 0) {
        char* page = passed.opened[--passed.open];
        memset(page, 0, page_bytes());
        mprotect(page, page_bytes(), PROT_NONE);
    }
}

static void on_crash(int signal_number, siginfo_t* info, void* context) {
    char* at = info->si_addr;
    uint64_t address = (uint64_t)(uintptr_t)at;
#ifdef SI_KERNEL
    if (signal_number == SIGSEGV && info->si_code == SI_KERNEL) {
        address = UINT64_MAX;    // x86 names none: it was not aligned, or beyond all memory
    }
#endif
    Fault fault = fault_of(context);
    if (actions_fault(at, fault.pc)) {
        return;
    }
    const Region* r = regions;
    while (r < regions + num_regions && (at < r->low || at >= r->high)) {
        r++;
    }
    bool in_guard = signal_number == SIGSEGV && r < regions + num_regions;
    if (in_guard && fault.write >= 0 && pass_guard(r, at, fault)) {
        return;
    }
    finished = true;
    if (signal_number == SIGABRT) {
        report(abort, .signal = signal_number, .address = address, .pc = fault.pc);
        _exit(99);
    }
    FenceFault heap;
    if (r == regions + num_regions && fence_fault(at, &heap)) {
        report(crash, .signal = signal_number, .address = address, .pc = fault.pc,
               .heap = heap.freed ? "freed" : "fenced", .heap_size = heap.size,
               .heap_past = heap.past, .heap_write = fault.write);
        _exit(99);
    }
    if (r == regions + num_regions) {
        report(crash, .signal = signal_number, .address = address, .pc = fault.pc);
        _exit(99);
    }
    report_row(r, at, fault);
    _exit(99);
}

static void on_exit_call(void) {
    if (!finished) {
        finished = true;
        report(exit);
        _exit(98);
    }
}

// Computing counts, not the load of the machine; one that computes next to nothing waits for ever.
// Only the first process that hangs waits for the whole of options.hang. After that the others
// wait 0.3 s of computing, or 3 s in all
static bool is_hanging(double wall, double cpu) {
    enum { SLOW = 3, LOADED = 20, INIT = 2 };    // INIT: also in rules/memory/survival.py
    double limit = options.hang;
    if (watch.phase == PUFFER_INIT) limit *= INIT * (options.slower > 1.0 ? options.slower : 1.0);
    bool early = wall > 0.3 && options.hung && access(options.hung, F_OK) == 0;
    bool waits = wall > limit && (cpu < 0.01 * wall || wall > LOADED * limit);
    return cpu > limit || waits || (early && (cpu > 0.3 || wall > SLOW));
}

// A moment in an endless loop may be one in what the loop calls: several tell them apart
static int told;

static void report_hang(void) {
    enum { MOMENTS = 4, APART = 13000 };    // microseconds
    finished = true;
    report(hang, .seconds = options.hang);
    if (++told == MOMENTS) {
        _exit(97);
    }
    struct itimerval next = {{0, APART}, {0, APART}};
    setitimer(ITIMER_REAL, &next, NULL);
}

static void on_tick(int signal_number) {
    static int32_t pulse;
    static double since, cpu_since;
    (void)signal_number;
    if (told > 0) {
        report_hang();
        return;
    }
    double time = now(), cpu = cpu_seconds();
    end_if_orphaned();
    if (since == 0.0 || pulse != watch.pulse || watch.phase == PUFFER_IDLE) {
        pulse = watch.pulse;
        since = time;
        cpu_since = cpu;
    } else if (is_hanging(time - since, cpu - cpu_since)) {
        report_hang();
    }
}

// The sanitizers call these before they print: where in the run it happened
void __asan_on_error(void) { report(asan); }
void __ubsan_on_report(void) { report(ubsan); }

void start_watchdog(void) {
    struct itimerval every = {{0, 100000}, {0, 100000}};
    setitimer(ITIMER_REAL, &every, NULL);
}

// MemorySanitizer calls this before it ends the process; AddressSanitizer's stays as it is
static void on_msan(void) { report(msan); }

void guard_against_env(void) {
    if (check_initialized_at) {
        __sanitizer_set_death_callback(on_msan);
    }
    void* warm[4];
    backtrace(warm, 4);    // loads the unwinder now, not inside a signal handler
    end_with_parent();
    if (options.parent && getppid() != options.parent) {
        _exit(0);    // it ended before the line above
    }

    static char stack[1 << 17];    // a handler needs its own: the env's may be used up
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
        // gaps between blocks and around rows are addresses without memory
        rlim_t space = (rlim_t)options.memory + (options.fences ? (rlim_t)1 << 30 : 0);
        struct rlimit memory = {space, space};
        setrlimit(RLIMIT_AS, &memory);
    }
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);

    struct sigaction tick = {.sa_handler = on_tick, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigaction(SIGALRM, &tick, NULL);
    start_watchdog();
}
