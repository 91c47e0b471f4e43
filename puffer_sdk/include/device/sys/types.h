// sys/types.h -- for environments on a GPU
#pragma once
#include <stdint.h>
#include <time.h>
typedef long ssize_t;
typedef long off_t;
typedef int pid_t;
typedef unsigned int uint;
