// math.h -- for environments on a GPU. What is float there is float here, double double
#pragma once
#define PUFFER_ONE(name) double name(double); float name##f(float);
#define PUFFER_TWO(name) double name(double, double); float name##f(float, float);
PUFFER_ONE(acos) PUFFER_ONE(asin) PUFFER_ONE(atan) PUFFER_ONE(acosh) PUFFER_ONE(asinh)
PUFFER_ONE(atanh) PUFFER_ONE(cos) PUFFER_ONE(sin) PUFFER_ONE(tan) PUFFER_ONE(cosh)
PUFFER_ONE(sinh) PUFFER_ONE(tanh) PUFFER_ONE(exp) PUFFER_ONE(exp2) PUFFER_ONE(expm1)
PUFFER_ONE(log) PUFFER_ONE(log10) PUFFER_ONE(log2) PUFFER_ONE(log1p) PUFFER_ONE(logb)
PUFFER_ONE(sqrt) PUFFER_ONE(cbrt) PUFFER_ONE(ceil) PUFFER_ONE(floor) PUFFER_ONE(trunc)
PUFFER_ONE(round) PUFFER_ONE(rint) PUFFER_ONE(nearbyint) PUFFER_ONE(fabs) PUFFER_ONE(erf)
PUFFER_ONE(erfc) PUFFER_ONE(tgamma) PUFFER_ONE(lgamma)
PUFFER_TWO(atan2) PUFFER_TWO(pow) PUFFER_TWO(hypot) PUFFER_TWO(fmod) PUFFER_TWO(remainder)
PUFFER_TWO(copysign) PUFFER_TWO(fmax) PUFFER_TWO(fmin) PUFFER_TWO(fdim) PUFFER_TWO(nextafter)
#undef PUFFER_ONE
#undef PUFFER_TWO
double fma(double, double, double);
float fmaf(float, float, float);
double ldexp(double, int);
float ldexpf(float, int);
double scalbn(double, int);
float scalbnf(float, int);
double frexp(double, int*);
float frexpf(float, int*);
double modf(double, double*);
float modff(float, float*);
long lround(double);
long lroundf(float);
long lrint(double);
long lrintf(float);
long long llround(double);
long long llroundf(float);
long long llrint(double);
long long llrintf(float);
int ilogb(double);
int ilogbf(float);
void sincos(double, double*, double*);
void sincosf(float, float*, float*);
int puffer_isnan(double);
int puffer_isinf(double);
int puffer_isfinite(double);
int puffer_signbit(double);
#define isnan(x) puffer_isnan((double)(x))
#define isinf(x) puffer_isinf((double)(x))
#define isfinite(x) puffer_isfinite((double)(x))
#define signbit(x) puffer_signbit((double)(x))
#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))
#define HUGE_VALF (__builtin_inff())
#define HUGE_VAL ((double)__builtin_inff())
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
