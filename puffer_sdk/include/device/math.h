// math.h -- for environments on a GPU. What is float there is float here, double double
#pragma once
#define PUFFER_ONE(name)                                                                           \
    double name(double);                                                                           \
    float name##f(float);
#define PUFFER_TWO(name)                                                                           \
    double name(double, double);                                                                   \
    float name##f(float, float);
#include "math_functions.h"
int puffer_isnan(double);
int puffer_isinf(double);
int puffer_isfinite(double);
int puffer_signbit(double);
#define isnan(x)    puffer_isnan((double)(x))
#define isinf(x)    puffer_isinf((double)(x))
#define isfinite(x) puffer_isfinite((double)(x))
#define signbit(x)  puffer_signbit((double)(x))
#define INFINITY    (__builtin_inff())
#define NAN         (__builtin_nanf(""))
#define HUGE_VALF   (__builtin_inff())
#define HUGE_VAL    ((double)__builtin_inff())
#define M_E         2.7182818284590452354
#define M_LOG2E     1.4426950408889634074
#define M_LOG10E    0.43429448190325182765
#define M_LN2       0.69314718055994530942
#define M_LN10      2.30258509299404568402
#define M_PI        3.14159265358979323846
#define M_PI_2      1.57079632679489661923
#define M_PI_4      0.78539816339744830962
#define M_1_PI      0.31830988618379067154
#define M_2_PI      0.63661977236758134308
#define M_2_SQRTPI  1.12837916709551257390
#define M_SQRT2     1.41421356237309504880
#define M_SQRT1_2   0.70710678118654752440
