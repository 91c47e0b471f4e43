// ctype.h -- for environments on a GPU
#pragma once
int isdigit(int);
int isalpha(int);
int isalnum(int);
int isspace(int);
int isupper(int);
int islower(int);
int isxdigit(int);
int isprint(int);
int ispunct(int);
int toupper(int);
int tolower(int);
