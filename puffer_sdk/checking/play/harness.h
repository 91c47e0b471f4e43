/* harness.h -- the program that runs an environment for `check` and writes down what it sees.
 *
 *     harness EXPERIMENT library=PATH facts=PATH seed=0 agents=1 envs=8 steps=4096 set.size=11
 *
 * One process runs one experiment on one environment's library. It appends facts (facts.def) to
 * PATH, one JSON object a line; the rules (Python) decide what is a fault. The environment's
 * crashes, exits and hangs end this process and no other. It holds a raylib of zeros, and is
 * compiled once per machine and once more with sanitizers.
 *
 * In: puffer_abi.h. Out: facts. Sizes: E envs, A agents of an env, D obs_size, K heads.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "facts.h"
#include "puffer_abi.h"

enum { PACKED, REVERSED, GUARD_HIGH, GUARD_LOW };    // how a batch lays out its rows

enum { OBSERVATIONS, ACTIONS, REWARDS, TERMINALS, TRUNCATIONS, MASK, ALIVE, NUM_ARRAYS };
extern const char* const array_names[NUM_ARRAYS];

typedef struct Options {    // what the command line asked for
    const char* experiment;
    const char* library;                     // the environment, with puffer_check_layout in it
    const char* facts;                       // path; every fact is appended to it
    const char* hashes;                      // path of the trace, or NULL
    const char* dump;                        // path of one env's rows, or NULL
    const char* samples;                     // path of what a long run keeps, or NULL
    const char* bounds;                      // path of declared bounds, (2, D) floats, or NULL
    int log_perf, log_return, log_length;    // floats before these fields in Log; -1 = none
    uint64_t seed;
    int agents;       // A, of env 0; total agents = A x E
    int envs;         // E
    int seek;         // 1: A is for probe to find
    int64_t steps;    // ticks of each env
    int layout;       // PACKED ...
    int only;         // step only this env; -1 = all
    int traced;       // E of the trace, once the envs exist
    int repeat;       // runs before the one that is written down
    int random;       // 1: keep the random memory layout (valgrind must not exec)
    int shift;        // moves clocks, heap and stack: nothing else may change
    int64_t dump_step;
    int dump_env;
    const char* private;       // the private fields of agents: private.c
    const char* generators;    // OFFSET:BYTES,... of random generators besides rng
    const char* fed;           // COLUMN:OFFSET:BYTES,...: numbers that Log adds: logged_values.c
    uint64_t memory;           // bytes of address space; 0 = any
    double hang;               // seconds of computing without a sign of life
    double slower;             // than an optimised build: for init, which has a limit of its own
    int reseed;                // another seed for the envs, the same for the actions
    int coverage;              // write down which lines were reached (gcov)
    int stores;                // look at stores to observations (stores.c)
    int fences;                // 1: heap blocks between unmapped pages (fences.c)
    int uneven;                // 1: actions that are seldom even: batch.c
    int told;                  // agents whose elements are reported one by one; 0 = all
    int twins;                 // 1: twins are forks, as envs hold large tables: twins.c
    int ahead;                 // steps that follow each fork of `effect`; 0 = its own number
    const char* hung;          // path: if the file exists, another process has hung
    int parent;                // the process that started this one: it ends with that
    PufferSettings env, vec;
} Options;

typedef struct Batch Batch;

typedef struct Twin {    // the envs of a batch that has a process of its own: twins.c
    char* structs;       // (E) as they were after the last call
    size_t bytes;        // of one
    void (*step)(Batch* batch, int env, int flags);
    void (*reset)(Batch* batch, int env);
    void (*seed)(Batch* batch, int env, uint32_t seed);
    void (*close)(Batch* batch);
    struct Process* process;
} Twin;

struct Batch {    // E envs and the rows they write
    PufferVec* vec;
    int envs;                    // E
    int agents;                  // all rows of all envs
    int* first;                  // (E) first row of each env
    int* count;                  // (E) rows of each env
    bool* had;                   // (all rows) had an agent before the last step
    PufferBuffers* rows;         // (E) what each env is bound to
    void* block[NUM_ARRAYS];     // packed layouts: one block each, padded on both sides
    size_t bytes[NUM_ARRAYS];    // of the block, padding included
    Twin* twin;                  // NULL: the envs are in this process
};

typedef struct Layout {    // bytes of the env struct: its size, and where fields lie
    size_t size, log, log_size, log_n, rng, rng_size, pointers[4], agents,
        max_agents,              // rng, max_agents -1: none
        bound_at, bound_size;    // pointers of each agent, of PufferLib 5.0
} Layout;

typedef struct StateBlock {
    size_t pointer;    // byte of the struct where the block's pointer lies
    size_t words;
    uintptr_t address;    // when it was found
} StateBlock;

enum { MAX_BLOCKS = 32 };

typedef struct State {             // what state_read reads of one env
    size_t words, struct_words;    // all; those of the struct, which come first
    int blocks;
    StateBlock block[MAX_BLOCKS];
} State;

extern Layout layout;
extern Options options;
extern const PufferApi* api;
extern void (*set_seed)(PufferVec* vec, int32_t env, uint32_t seed);
enum { MAX_BEGINNINGS = 8 };
extern void* const* beginnings;    // c_reset, and functions that do its whole work; NULL ends them
extern volatile int begun[MAX_BEGINNINGS];    // their calls, where the library reports its calls
extern PufferDescription desc;
extern PufferWatch watch;

// hash.c
uint64_t mix(uint64_t x);
uint64_t hash_bytes(uint64_t hash, const void* data, size_t size);

// clocks.c
double now(void);            // seconds, monotonic
double cpu_seconds(void);    // that this process has computed

// guard.c
void guard_against_env(void);    // signal handlers, exit handler, watchdog, limits
void start_watchdog(void);       // a fork needs its own: timers are not inherited
void close_guards(void);         // that a fault has opened
void add_region(int array, int env, char* start, size_t bytes, char* low, char* high);

// allocations.c
void loan_add(const char* name, const void* start, size_t bytes);    // not the env's to free
void loan_remove(const void* start);
void block_replaced(const void* at, int array);    // by one that is lent, an array of PufferBuffers
void actions_seal(void* block, size_t bytes);      // until the next write into it
void actions_unseal(void);
bool actions_fault(const char* at, unsigned long long pc);    // from the signal handler

// fences.c
typedef struct FenceFault {
    int64_t size, past;    // of the block; bytes from its end, < 0: before its start
    bool freed;
} FenceFault;
void* fence_block(size_t size);    // NULL: no fence is wanted, or there is no room
bool fence_holds(const void* at);
size_t fence_size(const void* at);
void fence_free(void* at);
bool fence_fault(const void* at, FenceFault* fault);

// rows.c
size_t row_bytes(int array);    // of one agent; 0 = the env has no such array
// Element i of rows of observations
static inline double element_of(const void* rows, size_t i) {
    return desc.obs_dtype == PUFFER_U8    ? (double)((const unsigned char*)rows)[i]
           : desc.obs_dtype == PUFFER_I32 ? (double)((const int32_t*)rows)[i]
                                          : (double)((const float*)rows)[i];
}
void* array_of(const PufferBuffers* rows, int array);
char* env_struct(const Batch* batch, int env);

// agents.c
int32_t int_at(const Batch* batch, int env, size_t offset);    // of the struct
uint64_t rng_of(const Batch* batch, int env);                  // 0: it has none
bool has_agent(const Batch* batch, int env, int agent);        // its row, now
bool had_agent(const Batch* batch, int env, int agent);        // before the last step
void note_agents(Batch* batch, int env);                       // before a step; -1 = all
bool agent_ended(const Batch* batch, int env, int agent);      // on the last step
bool any_ended(const Batch* batch, int env);
bool env_ended(const Batch* batch, int env);                          // every agent of it
bool is_told(const Batch* batch, int array, int env, int agent);      // the row means something
void copy_told(const Batch* batch, int env, int array, char* out);    // other rows as zeros
uint64_t hash_array(const Batch* batch, int env, int array, uint64_t hash);
uint64_t hash_rows(const Batch* batch, int env, uint64_t hash);    // of all arrays but the actions

// batch.c
Batch batch_open(int how);    // PACKED ...
void batch_close(Batch* batch);
void batch_reset(Batch* batch, int env);                  // -1 = all
void batch_seed(Batch* batch, int env, uint32_t seed);    // the env's generators
void batch_step(Batch* batch, int env, int flags);
void batch_act(Batch* batch, int env, int64_t step);
void batch_tick(Batch* batch, int64_t step);    // all envs, with the actions of this step
void batch_play(Batch* batch, int64_t* step, int64_t steps);    // so many further ones
bool plays_at_random(int env, int64_t step);                    // not holding one action
void copy_actions(const Batch* from, Batch* to);

// twins.c
Batch batch_twin(const Batch* of);    // another one, before the first is reset
void batch_call(Batch* batch, void (*call)(Batch* batch, int env),
                int env);    // where its envs are

// state.c
bool is_state(size_t word);    // of the struct: not log, rng or a buffer's pointer
State state_open(const Batch* batch, int env);
StatePlace state_place(const State* state, size_t word);
void state_read(const State* state, const Batch* batch, int env, uint32_t* out);

// probes.c
void sites_open(void* library);
void sites_report(void);

// stores.c
extern bool storing;    // stores to observations are looked at
void stores_open(const Batch* batch);
void stores_settle(void);    // after each step
void stores_close(void);
void note_store(const void* at, size_t size, const void* pc);     // before it is made
void note_copied(const void* at, size_t size, const void* pc);    // after it was made

// columns.c
void words_sample(const Batch* batch);    // of env 0
void words_report(void);

// forks.c
void* shared(size_t bytes);    // zeroed; what a fork writes there, we read
void* shared_rows(
    size_t bytes);            // the same, but of forks from in_fork nobody reads it; NULL: full
bool in_fork(bool* good);     // true in the fork; then false, and how it ended
int wait_for(pid_t child);    // its status

// rules/observations/stale/scratch_words.c
// Whether c_reset sets this word of env 0: one of its bits is turned over, in a fork
bool reset_sets(Batch* batch, const State* state, size_t word);

// plain.c: traces
uint64_t hash_env(const Batch* batch, int env);    // of all its rows but the actions
void write_rows(const Batch* batch, int env);      // to options.dump
void write_hashes(const uint64_t* hashes);         // (steps + 1, traced), and the last fact

#define EXPERIMENT(NAME) void experiment_##NAME(void);
#include "experiments.def"
#undef EXPERIMENT
