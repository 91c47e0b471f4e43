/* facts.h -- writing facts: a struct for each kind of facts.def, and fact() to write one.
 *
 *     fact(head, .head = 0, .width = 5);      // {"fact": "head", "head": 0, "width": 5}
 *     report(hang, .seconds = 10);            // with phase, env, step, seed and stack
 *
 * A field that is left out is 0, an empty text or an empty list.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "puffer_abi.h"

enum { MAX_STACK = 48 };

typedef struct StatePlace {    // where a word of an env's state lies
    int pointer;               // byte of the struct where its block's pointer is; -1 = none
    int offset;                // bytes from the block's start, or the struct's
} StatePlace;

typedef struct Stack {    // return addresses, innermost first
    int depth;
    void* frames[MAX_STACK];
} Stack;

// clang-format off
#define FACT(kind)         struct fact_##kind {
#define INT(name)          int64_t name;
#define REAL(name, format) double name;
#define VALUE(name)        float name;
#define TEXT(name)         const char* name;
#define HEX(name)          uint64_t name;
#define PLACE(name)        StatePlace name;
#define LIST(name, type)   const char* name;
#define STACK(name)        Stack name;
#define IF(name)
#define FI
#define END(kind)          }; void write_##kind(const struct fact_##kind* fact);
// clang-format on
#include "facts.def"
#undef FACT
#undef INT
#undef REAL
#undef VALUE
#undef TEXT
#undef HEX
#undef PLACE
#undef LIST
#undef STACK
#undef IF
#undef FI
#undef END

#define fact(kind, ...) write_##kind(&(struct fact_##kind){__VA_ARGS__})
// A fact about the env's current call
#define report(kind, ...)                                                                          \
    fact(kind, .phase = phase_name(watch.phase), .env = watch.env, .step = watch.step,             \
         .seed = watch.seed, .stack = stack_here(), __VA_ARGS__)

extern volatile bool finished;            // the last fact was written
void refuse(const PufferError* error);    // the env cannot be made
void fail(const char* text);              // the harness cannot go on: not the env's fault
void finish(void);                        // the last fact; ends the process
void silence_facts(void);                 // in a fork: none of its facts are written
const char* phase_name(int phase);
Stack stack_here(void);
