/* puffer_prelude.h -- comes before every line of an environment that is compiled for a GPU.
 *
 * The headers of this folder stand in for the C library's. They only declare: what is declared
 * plainly is defined in program_begin.h, and what is PUFFER_NOT_HERE is refused, with these words,
 * where the simulation calls it. Drawing code may call it: that is not compiled.
 */
#pragma once
#include "../puffer_final.h"

#define PUFFER_NOT_HERE(why) __attribute__((annotate("puffer: " why)))
#define PUFFER_NO_FILES      PUFFER_NOT_HERE("there are no files on a GPU")
#define PUFFER_NO_TEXTS      PUFFER_NOT_HERE("a GPU formats no text")
#define PUFFER_NO_CLOCK      PUFFER_NOT_HERE("a GPU has no clock, and chance comes from env->rng")
#define PUFFER_NO_SYSTEM     PUFFER_NOT_HERE("a GPU has no operating system")

int puffer_random_value(int lo, int hi);    // raylib's GetRandomValue
