/* probes.c -- reports what went through the places that the library was told to look at. */
#define _GNU_SOURCE
#include "probes.h"
#include <dlfcn.h>
#include "harness.h"

static const PufferSite* sites;
static int count;

void sites_open(void* library) {
    const int* found = dlsym(library, "puffer_check_site_count");
    sites = dlsym(library, "puffer_check_sites");
    count = found && sites ? *found : 0;
}

void sites_report(void) {
    for (int i = 0; i < count; i++) {
        const PufferSite* s = &sites[i];
        fact(site, .site = i, .count = s->count, .outside = s->outside, .first = s->first,
             .zeros = s->zeros, .ones = s->ones, .inexact = s->inexact, .nearly = s->nearly,
             .beyond = s->beyond, .low = s->low, .high = s->high, .again = s->again);
    }
}
