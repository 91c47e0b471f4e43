/* cublaslt.h -- the calls of cuBLASLt that products need, found when a device is opened.
 *
 * The library is loaded by name, so that this compiles and loads where there is no cuBLAS. Its
 * objects are handles that its own calls make and destroy; attributes have numbers, which are
 * stated here and compared with NVIDIA's header where PUFFER_STRICT is set and it is installed.
 */
#pragma once
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {    // cudaDataType, cublasComputeType_t, cublasOperation_t
    LT_R_32F = 0,
    LT_R_16BF = 14,
    LT_COMPUTE_32F = 68,    // no TF32: that would be 77
    LT_OP_N = 0,
    LT_OP_T = 1
};

enum {    // cublasStatus_t
    LT_NOT_INITIALIZED = 1,
    LT_ALLOC_FAILED = 3
};

enum {                     // attributes, and how many bytes each takes
    LT_DESC_TRANSA = 3,    // int32_t
    LT_DESC_TRANSB = 4,
    LT_LAYOUT_BATCH_COUNT = 5,     // int32_t
    LT_LAYOUT_BATCH_STRIDE = 6,    // int64_t, in elements
    LT_PREF_WORKSPACE = 1,         // uint64_t, in bytes
    LT_PREF_REDUCTION_MASK = 3,    // uint32_t
    LT_PREF_ALIGNMENT_A = 5,       // uint32_t, in bytes; so are B, C and D
    LT_PREF_ALIGNMENT_B = 6,
    LT_PREF_ALIGNMENT_C = 7,
    LT_PREF_ALIGNMENT_D = 8,
    LT_CONFIG_REDUCTION = 3,    // uint32_t
    LT_CAP_OUT_OF_PLACE = 4     // int32_t: D may be another array than C
};

enum {                                // how the parts of a sum that was cut along K come together
    LT_REDUCTION_INPLACE = 1,         // in the output, in the order of arrival
    LT_REDUCTION_COMPUTE_TYPE = 2,    // in the workspace, in a step of its own
    LT_REDUCTION_OUTPUT_TYPE = 4
};

typedef struct LtAlgorithm {    // cublasLtMatmulAlgo_t
    uint64_t data[8];
} LtAlgorithm;

typedef struct LtHeuristic {    // cublasLtMatmulHeuristicResult_t
    LtAlgorithm algorithm;
    size_t workspace;
    int32_t state;    // 0: usable
    float waves;
    int32_t reserved[4];
} LtHeuristic;

// What each call returns, its name after "cublasLt", and what it takes. Statuses: 0 is success
#define LT_CALLS(X)                                                                                \
    X(int, Create, (void** handle))                                                                \
    X(int, Destroy, (void* handle))                                                                \
    X(size_t, GetVersion, (void))                                                                  \
    X(const char*, GetStatusName, (int status))                                                    \
    X(int, MatmulDescCreate, (void** desc, int compute, int scale))                                \
    X(int, MatmulDescDestroy, (void* desc))                                                        \
    X(int, MatmulDescSetAttribute, (void* desc, int attribute, const void* value, size_t size))    \
    X(int, MatrixLayoutCreate,                                                                     \
      (void** layout, int type, uint64_t rows, uint64_t cols, int64_t ld))                         \
    X(int, MatrixLayoutDestroy, (void* layout))                                                    \
    X(int, MatrixLayoutSetAttribute,                                                               \
      (void* layout, int attribute, const void* value, size_t size))                               \
    X(int, MatmulPreferenceCreate, (void** preference))                                            \
    X(int, MatmulPreferenceDestroy, (void* preference))                                            \
    X(int, MatmulPreferenceSetAttribute,                                                           \
      (void* preference, int attribute, const void* value, size_t size))                           \
    X(int, MatmulAlgoGetHeuristic,                                                                 \
      (void* handle, void* desc, void* A, void* B, void* C, void* D, void* preference, int wanted, \
       LtHeuristic* found, int* count))                                                            \
    X(int, MatmulAlgoConfigGetAttribute,                                                           \
      (const LtAlgorithm* algorithm, int attribute, void* value, size_t size, size_t* written))    \
    X(int, MatmulAlgoCapGetAttribute,                                                              \
      (const LtAlgorithm* algorithm, int attribute, void* value, size_t size, size_t* written))    \
    X(int, Matmul,                                                                                 \
      (void* handle, void* desc, const void* alpha, const void* A, void* A_layout, const void* B,  \
       void* B_layout, const void* beta, const void* C, void* C_layout, void* D, void* D_layout,   \
       const LtAlgorithm* algorithm, void* workspace, size_t workspace_size, void* stream))

typedef struct LtLibrary {
    void* library;    // of dlopen; it stays loaded
#define LT_FIELD(RETURN, NAME, TAKES) RETURN(*NAME) TAKES;
    LT_CALLS(LT_FIELD)
#undef LT_FIELD
} LtLibrary;

// PUFFER_CUBLASLT, a file or its folder; or what the loader finds by name: in LD_LIBRARY_PATH, in
// the folder that was given when this was linked (-rpath), in the system's. 0, or -1 with a text.
// major: CUDA's, which its libraries carry in their names
static inline int lt_open(LtLibrary* lt, int major, char* error, size_t size) {
    char name[64], path[4096];
    struct stat facts;
    const char* given = getenv("PUFFER_CUBLASLT");
    snprintf(name, sizeof name, "libcublasLt.so.%d", major);
    if (!given || !given[0]) snprintf(path, sizeof path, "%s", name);
    else if (stat(given, &facts) == 0 && S_ISDIR(facts.st_mode))
        snprintf(path, sizeof path, "%s/%s", given, name);
    else snprintf(path, sizeof path, "%s", given);
    memset(lt, 0, sizeof *lt);
    lt->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lt->library) {
        const char* said = dlerror();
        snprintf(error, size, "%.900s", said ? said : path);
        return -1;
    }
#define LT_FIND(RETURN, NAME, TAKES)                                                               \
    *(void**)&lt->NAME = dlsym(lt->library, "cublasLt" #NAME);                                     \
    if (!lt->NAME) {                                                                               \
        snprintf(error, size, "%s has no cublasLt%s", name, #NAME);                                \
        return -1;                                                                                 \
    }
    LT_CALLS(LT_FIND)
#undef LT_FIND
    return 0;
}

// ---- all of the above, held against NVIDIA's header -------------------------------------------

// (which includes what is CCCL's)
#if defined(PUFFER_STRICT) && __has_include(<cublasLt.h>) && __has_include(<nv/target>)
#include <cublasLt.h>
#include <type_traits>

#define LT_SAME(OURS, THEIRS) static_assert((long)(OURS) == (long)(THEIRS), #THEIRS)
LT_SAME(LT_R_32F, CUDA_R_32F);
LT_SAME(LT_R_16BF, CUDA_R_16BF);
LT_SAME(LT_COMPUTE_32F, CUBLAS_COMPUTE_32F);
LT_SAME(LT_OP_N, CUBLAS_OP_N);
LT_SAME(LT_OP_T, CUBLAS_OP_T);
LT_SAME(LT_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA);
LT_SAME(LT_DESC_TRANSB, CUBLASLT_MATMUL_DESC_TRANSB);
LT_SAME(LT_LAYOUT_BATCH_COUNT, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
LT_SAME(LT_LAYOUT_BATCH_STRIDE, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
LT_SAME(LT_PREF_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
LT_SAME(LT_PREF_REDUCTION_MASK, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
LT_SAME(LT_PREF_ALIGNMENT_A, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
LT_SAME(LT_PREF_ALIGNMENT_B, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
LT_SAME(LT_PREF_ALIGNMENT_C, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
LT_SAME(LT_PREF_ALIGNMENT_D, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
LT_SAME(LT_CONFIG_REDUCTION, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
LT_SAME(LT_CAP_OUT_OF_PLACE, CUBLASLT_ALGO_CAP_OUT_OF_PLACE_RESULT_SUPPORT);
LT_SAME(LT_REDUCTION_INPLACE, CUBLASLT_REDUCTION_SCHEME_INPLACE);
LT_SAME(LT_REDUCTION_COMPUTE_TYPE, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
LT_SAME(LT_REDUCTION_OUTPUT_TYPE, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE);
LT_SAME(0, CUBLAS_STATUS_SUCCESS);
LT_SAME(LT_NOT_INITIALIZED, CUBLAS_STATUS_NOT_INITIALIZED);
LT_SAME(LT_ALLOC_FAILED, CUBLAS_STATUS_ALLOC_FAILED);
LT_SAME(sizeof(LtAlgorithm), sizeof(cublasLtMatmulAlgo_t));
LT_SAME(sizeof(LtHeuristic), sizeof(cublasLtMatmulHeuristicResult_t));
LT_SAME(offsetof(LtHeuristic, workspace), offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
LT_SAME(offsetof(LtHeuristic, state), offsetof(cublasLtMatmulHeuristicResult_t, state));
LT_SAME(offsetof(LtHeuristic, waves), offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));

// A signature as a caller's registers see it: pointers are alike, and enums are ints. Objects of
// the library are pointers to structs there, so void* covers them; what they point to is theirs
template <typename T, bool = std::is_enum<T>::value> struct LtPlain {
    typedef T type;
};
template <typename T> struct LtPlain<T, true> {
    typedef int type;
};
template <typename T> struct LtPlain<T*, false> {
    typedef void* type;
};
template <typename R, typename... A> struct LtPlain<R (*)(A...), false> {
    typedef typename LtPlain<R>::type (*type)(typename LtPlain<A>::type...);
};
#define LT_ALIKE(RETURN, NAME, TAKES)                                                              \
    static_assert(std::is_same<LtPlain<decltype(LtLibrary::NAME)>::type,                           \
                               LtPlain<decltype(&cublasLt##NAME)>::type>::value,                   \
                  #NAME);
LT_CALLS(LT_ALIKE)
#endif
