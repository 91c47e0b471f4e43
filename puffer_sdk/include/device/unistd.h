// unistd.h -- for environments on a GPU
#pragma once
#include <stddef.h>
int usleep(unsigned int) PUFFER_NO_CLOCK;
unsigned int sleep(unsigned int) PUFFER_NO_CLOCK;
int access(const char*, int) PUFFER_NO_FILES;
int getpid(void) PUFFER_NO_SYSTEM;
char* getcwd(char*, size_t) PUFFER_NO_FILES;
#define F_OK 0
#define R_OK 4
