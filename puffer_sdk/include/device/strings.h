// strings.h -- for environments on a GPU
#pragma once
#include <stddef.h>
int strcasecmp(const char*, const char*);
int strncasecmp(const char*, const char*, size_t);
