/* puffer_os.h -- what environments expect of PufferLib's header of this name, on Linux and macOS
 *
 *   <pthread.h>, <time.h>, <unistd.h>, <stdio.h>
 *   puffer_aligned_alloc(alignment, size)    memory for puffer_aligned_free; NULL where there is none
 *   puffer_resident_kb()                     memory that the process uses, in KiB; 0 if not known
 */
#ifndef PUFFER_OS_H
#define PUFFER_OS_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach/mach.h>
#endif

static inline void* puffer_aligned_alloc(size_t alignment, size_t size) {
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static inline void puffer_aligned_free(void* block) { free(block); }

#ifdef __APPLE__
static inline long puffer_resident_kb(void) {
    struct mach_task_basic_info info;
    mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
    if (task_info(mach_task_self(), MACH_TASK_BASIC_INFO, (task_info_t)&info, &count)) return 0;
    return (long)(info.resident_size / 1024);
}
#else
static inline long puffer_resident_kb(void) {    // the second number of statm, in pages
    long pages = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    if (!file) return 0;
    if (fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}
#endif

#endif
