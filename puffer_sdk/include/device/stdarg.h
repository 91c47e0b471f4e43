// stdarg.h -- for environments on a GPU, where no function takes any number of arguments
#pragma once
typedef char* va_list;
void puffer_no_varargs(int) PUFFER_NOT_HERE("a GPU's functions have a fixed number of arguments");
#define va_start(list, last) puffer_no_varargs(0)
#define va_end(list)         puffer_no_varargs(0)
#define va_copy(to, from)    puffer_no_varargs(0)
#define va_arg(list, type)   (puffer_no_varargs(0), *(type*)0)
