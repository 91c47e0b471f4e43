/* system.c -- what Linux and macOS do by other calls. macOS's have been compiled, and never run. */
#define _GNU_SOURCE
#include "system.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#include <mach/mach.h>
#include <malloc/malloc.h>
#include <spawn.h>
#include <sys/ucontext.h>
extern char** environ;
#else
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#endif

size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

#ifdef __APPLE__

double system_seconds(bool of_cpu) {
    clockid_t which = of_cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
    return 1e-9 * (double)clock_gettime_nsec_np(which);
}

bool wait_until(pthread_cond_t* change, pthread_mutex_t* lock, double end) {
    double left = end - system_seconds(false);
    struct timespec wait = {(time_t)left, (long)(1e9 * (left - (double)(time_t)left))};
    return left > 0 && pthread_cond_timedwait_relative_np(change, lock, &wait) != ETIMEDOUT;
}

// No signal tells of a parent's end: the watchdog's tick looks
static pid_t parent;

void end_with_parent(void) { parent = getppid(); }

void end_if_orphaned(void) {
    if (parent && getppid() != parent) {
        _exit(0);
    }
}

void fix_addresses(char** words) {
    enum { DISABLE_ASLR = 0x0100 };    // as lldb does: no header of the system names it
    char path[4096];
    uint32_t size = sizeof path;
    if (getenv("PUFFER_FIXED_ADDRESSES") || _NSGetExecutablePath(path, &size) != 0) {
        return;
    }
    setenv("PUFFER_FIXED_ADDRESSES", "1", 1);
    posix_spawnattr_t how;
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETEXEC | DISABLE_ASLR);
    posix_spawn(NULL, path, NULL, &how, words, environ);    // returns where it could not
}

Fault fault_of(const void* context) {
    const struct __darwin_mcontext64* machine = ((const ucontext_t*)context)->uc_mcontext;
#ifdef __aarch64__
    bool write = machine->__es.__esr >> 26 == 0x24 && (machine->__es.__esr >> 6 & 1);
    return (Fault){arm_thread_state64_get_pc(machine->__ss), write};
#else
    return (Fault){machine->__ss.__rip, (machine->__es.__err & 2) != 0};
#endif
}

int64_t resident_bytes(void) {
    struct mach_task_basic_info info;
    mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
    kern_return_t told = task_info(mach_task_self(), MACH_TASK_BASIC_INFO, (task_info_t)&info,
                                   &count);
    return told == KERN_SUCCESS ? (int64_t)info.resident_size : 0;
}

Heap find_heap(void) { return (Heap){1, UINTPTR_MAX}; }

size_t block_bytes(Heap heap, uintptr_t at) {
    (void)heap;
    return malloc_size((const void*)at);    // 0 for what malloc has not given
}

#else

double system_seconds(bool of_cpu) {
    struct timespec t;
    syscall(SYS_clock_gettime, of_cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool wait_until(pthread_cond_t* change, pthread_mutex_t* lock, double end) {
    struct timespec until = {(time_t)end, (long)(1e9 * (end - (double)(time_t)end))};
    return pthread_cond_clockwait(change, lock, CLOCK_MONOTONIC, &until) != ETIMEDOUT;
}

void end_with_parent(void) { prctl(PR_SET_PDEATHSIG, SIGKILL); }

void end_if_orphaned(void) {}    // the signal comes by itself

void fix_addresses(char** words) {
    int persona = personality(0xFFFFFFFF);
    if (persona != -1 && !(persona & ADDR_NO_RANDOMIZE)
        && personality((unsigned long)persona | ADDR_NO_RANDOMIZE) != -1) {
        execv("/proc/self/exe", words);
    }
}

#ifdef __aarch64__
// The kernel's record of the fault is one of those behind the registers
static int was_write(const mcontext_t* machine) {
    enum { ESR = 0x45535201, DATA_ABORT = 0x24 };
    struct {
        uint32_t magic, size;
        uint64_t value;
    } record;
    for (size_t at = 0; at + sizeof record <= sizeof machine->__reserved; at += record.size) {
        memcpy(&record, machine->__reserved + at, sizeof record);
        if (record.magic == ESR) {
            return record.value >> 26 == DATA_ABORT ? (int)(record.value >> 6 & 1) : -1;
        }
        if (!record.magic || !record.size) {
            break;
        }
    }
    return -1;
}
#endif

Fault fault_of(const void* context) {
    const mcontext_t* machine = &((const ucontext_t*)context)->uc_mcontext;
#if defined(__x86_64__)
    return (Fault){(unsigned long long)machine->gregs[REG_RIP], (machine->gregs[REG_ERR] & 2) != 0};
#elif defined(__aarch64__)
    return (Fault){machine->pc, was_write(machine)};
#else
    (void)machine;
    return (Fault){0, -1};
#endif
}

int64_t resident_bytes(void) {
    long all = 0, pages = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%ld %ld", &all, &pages) != 2) {
        pages = 0;
    }
    if (file) {
        fclose(file);
    }
    return (int64_t)pages * (int64_t)page_bytes();
}

Heap find_heap(void) {
    Heap heap = {0, 0};
    FILE* maps = fopen("/proc/self/maps", "r");
    char line[512];
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long long from, to;
        if (strstr(line, "[heap]") && sscanf(line, "%llx-%llx", &from, &to) == 2) {
            heap = (Heap){(uintptr_t)from, (uintptr_t)to};
        }
    }
    if (maps) {
        fclose(maps);
    }
    return heap;
}

// By glibc's header before the block
size_t block_bytes(Heap heap, uintptr_t at) {
    if (at % 16 != 0 || at < heap.low + 16 || at + 24 > heap.high) {
        return 0;
    }
    size_t header;
    memcpy(&header, (const char*)at - sizeof header, sizeof header);
    size_t bytes = header & ~(size_t)7;
    return bytes < 32 || bytes > heap.high - at ? 0 : bytes - 8;
}

#endif
