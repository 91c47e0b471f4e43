// stdio.h -- for environments on a GPU. What is printed, to stderr too, comes out on stdout
#pragma once
#include <stdarg.h>
#include <stddef.h>
typedef struct PufferFile FILE;
#define stdin    ((FILE*)1)
#define stdout   ((FILE*)2)
#define stderr   ((FILE*)3)
#define EOF      (-1)
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
#define BUFSIZ   8192
int printf(const char*, ...);
int fprintf(FILE*, const char*, ...);
int puts(const char*);
int putchar(int);
int fputs(const char*, FILE*);
int fflush(FILE*);
void perror(const char*);
int sprintf(char*, const char*, ...) PUFFER_NO_TEXTS;
int snprintf(char*, size_t, const char*, ...) PUFFER_NO_TEXTS;
int vsnprintf(char*, size_t, const char*, va_list) PUFFER_NO_TEXTS;
int vprintf(const char*, va_list) PUFFER_NO_TEXTS;
int vfprintf(FILE*, const char*, va_list) PUFFER_NO_TEXTS;
int sscanf(const char*, const char*, ...) PUFFER_NO_TEXTS;
int scanf(const char*, ...) PUFFER_NO_FILES;
int fscanf(FILE*, const char*, ...) PUFFER_NO_FILES;
FILE* fopen(const char*, const char*) PUFFER_NO_FILES;
int fclose(FILE*) PUFFER_NO_FILES;
size_t fread(void*, size_t, size_t, FILE*) PUFFER_NO_FILES;
size_t fwrite(const void*, size_t, size_t, FILE*) PUFFER_NO_FILES;
char* fgets(char*, int, FILE*) PUFFER_NO_FILES;
int fgetc(FILE*) PUFFER_NO_FILES;
int getc(FILE*) PUFFER_NO_FILES;
int getchar(void) PUFFER_NO_FILES;
int fputc(int, FILE*) PUFFER_NO_FILES;
int fseek(FILE*, long, int) PUFFER_NO_FILES;
long ftell(FILE*) PUFFER_NO_FILES;
void rewind(FILE*) PUFFER_NO_FILES;
int feof(FILE*) PUFFER_NO_FILES;
int ferror(FILE*) PUFFER_NO_FILES;
int remove(const char*) PUFFER_NO_FILES;
int rename(const char*, const char*) PUFFER_NO_FILES;
int setvbuf(FILE*, char*, int, size_t) PUFFER_NO_FILES;
