// errno.h -- for environments on a GPU
#pragma once
#include <stddef.h>
int* puffer_errno(void) PUFFER_NOT_HERE("errno comes from an operating system");
#define errno  (*puffer_errno())
#define ENOENT 2
#define EINTR  4
#define ENOMEM 12
#define EEXIST 17
#define EINVAL 22
