// math_functions.h -- which functions of math.h there are on a GPU, for math.h and program_begin.h.
// PUFFER_ONE and PUFFER_TWO say what a function of one or two numbers becomes. With
// PUFFER_MATH_WRAPPED the others are written by hand.
// clang-format off
PUFFER_ONE(acos) PUFFER_ONE(asin) PUFFER_ONE(atan) PUFFER_ONE(acosh) PUFFER_ONE(asinh)
PUFFER_ONE(atanh) PUFFER_ONE(cos) PUFFER_ONE(sin) PUFFER_ONE(tan) PUFFER_ONE(cosh)
PUFFER_ONE(sinh) PUFFER_ONE(tanh) PUFFER_ONE(exp) PUFFER_ONE(exp2) PUFFER_ONE(expm1)
PUFFER_ONE(log) PUFFER_ONE(log10) PUFFER_ONE(log2) PUFFER_ONE(log1p) PUFFER_ONE(logb)
PUFFER_ONE(sqrt) PUFFER_ONE(cbrt) PUFFER_ONE(ceil) PUFFER_ONE(floor) PUFFER_ONE(trunc)
PUFFER_ONE(round) PUFFER_ONE(rint) PUFFER_ONE(nearbyint) PUFFER_ONE(fabs) PUFFER_ONE(erf)
PUFFER_ONE(erfc) PUFFER_ONE(tgamma) PUFFER_ONE(lgamma)
PUFFER_TWO(atan2) PUFFER_TWO(pow) PUFFER_TWO(hypot) PUFFER_TWO(fmod) PUFFER_TWO(remainder)
PUFFER_TWO(copysign) PUFFER_TWO(fmax) PUFFER_TWO(fmin) PUFFER_TWO(fdim) PUFFER_TWO(nextafter)
// clang-format on
#undef PUFFER_ONE
#undef PUFFER_TWO
#ifndef PUFFER_MATH_WRAPPED
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
#endif
