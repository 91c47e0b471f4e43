// program_end.h -- what stands behind an environment that is compiled for a GPU: the kernels.
// In: puffer_thread_*(args, env) of device/vecenv.h, and PUFFER_RECURSES of translate.py.
// Out: the functions that env_program.h names.
}    // namespace env
}    // namespace puffer_c

static_assert(puffer_c::env::ENV_MEMORY == 4 && puffer_c::env::ENV_ABORT == 5,
              "program_begin.h comes before these names, and writes their numbers");

// A thread leaves its env alone once an env of a lower number, or its own, has failed: of what one
// launch brings up, the least is what is kept, whatever the order of threads
#ifdef __CUDACC_RTC__
#define PUFFER_KERNEL(name)                                                                        \
    extern "C" __global__ void puffer_envs_##name(                                                 \
        const __grid_constant__ puffer_c::env::EnvsArgs args) {                                    \
        if (threadIdx.x == 0) {                                                                    \
            puffer_c::puffer_here.rand_states = args.rand_states;                                  \
            puffer_c::puffer_here.fault = args.fault;                                              \
            puffer_c::puffer_here.first = args.first;                                              \
            puffer_c::puffer_here.args = &args;                                                    \
        }                                                                                          \
        __syncthreads();                                                                           \
        int thread = (int)(blockIdx.x * blockDim.x + threadIdx.x), e = args.first + thread;        \
        if (thread >= args.count || *(volatile unsigned long*)args.fault >> 8 <= e) return;        \
        puffer_c::env::puffer_thread_##name(&args, e);                                             \
    }

extern "C" __global__ void puffer_envs_facts(const __grid_constant__ puffer_c::env::EnvsArgs args) {
    if (blockIdx.x || threadIdx.x) return;
    puffer_c::env::puffer_thread_facts(args.facts);
    args.facts->recurses = PUFFER_RECURSES;
}
#else
#define PUFFER_EXPORTED extern "C" __attribute__((visibility("default")))

// Threads in their order; with PUFFER_CUDA_EMULATED=shuffled in steps that share no divisor
template <void (*run)(const puffer_c::env::EnvsArgs*, int)>
static void puffer_launch(const puffer_c::env::EnvsArgs* args, int blocks, int threads) {
    const char* asked = getenv("PUFFER_CUDA_EMULATED");
    bool shuffled = asked && asked[0] == 's';
    long all = (long)blocks * threads, stride = shuffled ? all / 2 + 1 : 1;
    for (long a = stride, b = all; b > 1 || a != 1; a = ++stride, b = all) {
        while (b) {
            long rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1) break;
    }
    puffer_c::puffer_here.rand_states = args->rand_states;
    puffer_c::puffer_here.fault = args->fault;
    puffer_c::puffer_here.first = args->first;
    puffer_c::puffer_here.args = args;
    for (long i = 0, thread = 0; i < all; i++, thread = (thread + stride) % all) {
        int e = args->first + (int)thread;
        if (thread >= args->count
            || __atomic_load_n(args->fault, __ATOMIC_RELAXED) >> 8 <= (unsigned long)e)
            continue;
        puffer_c::puffer_here.env = e;
        try {
            run(args, e);
        } catch (puffer_c::puffer_stopped&) {
        }
    }
}

#define PUFFER_KERNEL(name)                                                                        \
    PUFFER_EXPORTED void puffer_envs_##name(const puffer_c::env::EnvsArgs* args, int blocks,       \
                                            int threads) {                                         \
        puffer_launch<puffer_c::env::puffer_thread_##name>(args, blocks, threads);                 \
    }

PUFFER_EXPORTED void puffer_envs_facts(const puffer_c::env::EnvsArgs* args, int, int) {
    puffer_c::env::puffer_thread_facts(args->facts);
    args->facts->recurses = PUFFER_RECURSES;
}

PUFFER_EXPORTED void puffer_envs_heap(unsigned long bytes) { puffer_c::puffer_heap_size = bytes; }
#endif

PUFFER_KERNEL(start)
PUFFER_KERNEL(step)
PUFFER_KERNEL(log)
PUFFER_KERNEL(close)
