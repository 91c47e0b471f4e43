/* fake_cublaslt.c -- the calls of cuBLASLt that the trainer makes, computed plainly: columns, as
 * the real one has them. It checks what it is told, and offers algorithms of which few will do. */
#include <stdint.h>
#include <string.h>
#include <stdlib.h>

enum { OK = 0, INVALID = 7, UNSUPPORTED = 15 };
enum { INPLACE = 1, HUNGRY, FIXED, FAST, SLOW };    // algorithms; the last two are the ones to take,
                                                    // and FIXED where C is D

int fake_refusal;                                   // of Create
int fake_living, fake_heuristics, fake_products, fake_last, fake_only_inplace;
int fake_silent;                                    // the algorithm that does not say where C may be

typedef struct { int compute, scale; int32_t trans[2]; } Desc;
typedef struct { int type; uint64_t rows, cols; int64_t ld; int32_t batch; int64_t stride; } Layout;
typedef struct { uint64_t workspace; uint32_t reductions, alignment[4]; } Preference;
typedef struct { uint64_t id, data[7]; } Algorithm;
typedef struct {
    Algorithm algorithm; size_t workspace; int state; float waves; int reserved[4];
} Result;

static void* make(size_t size) { fake_living++; return calloc(1, size); }
static int drop(void* what) { fake_living--; free(what); return OK; }
static int put(void* field, const void* value, size_t given, size_t size) {
    if (given != size) return INVALID;
    memcpy(field, value, size);
    return OK;
}

int cublasLtCreate(void** out) {
    if (!fake_refusal) *out = make(1);
    return fake_refusal;
}
int cublasLtDestroy(void* handle) { return drop(handle); }
size_t cublasLtGetVersion(void) { return 130100; }
const char* cublasLtGetStatusName(int status) {
    return status == INVALID ? "CUBLAS_STATUS_INVALID_VALUE" : "CUBLAS_STATUS_NOT_SUPPORTED";
}
int cublasLtMatmulDescCreate(void** out, int compute, int scale) {
    Desc* desc = *out = make(sizeof *desc);
    desc->compute = compute, desc->scale = scale;
    return compute == 68 && scale == 0 ? OK : INVALID;
}
int cublasLtMatmulDescDestroy(void* desc) { return drop(desc); }
int cublasLtMatmulDescSetAttribute(Desc* desc, int what, const void* value, size_t size) {
    return what == 3 || what == 4 ? put(&desc->trans[what - 3], value, size, 4) : INVALID;
}
int cublasLtMatrixLayoutCreate(void** out, int type, uint64_t rows, uint64_t cols, int64_t ld) {
    Layout layout = {type, rows, cols, ld, 1, 0};
    memcpy(*out = make(sizeof layout), &layout, sizeof layout);
    return rows && cols && ld >= (int64_t)rows && (type == 0 || type == 14) ? OK : INVALID;
}
int cublasLtMatrixLayoutDestroy(void* layout) { return drop(layout); }
int cublasLtMatrixLayoutSetAttribute(Layout* layout, int what, const void* value, size_t size) {
    return what == 5 ? put(&layout->batch, value, size, 4)
         : what == 6 ? put(&layout->stride, value, size, 8) : INVALID;
}
int cublasLtMatmulPreferenceCreate(void** out) {
    Preference* preference = *out = make(sizeof *preference);
    preference->reductions = 7;
    for (int i = 0; i < 4; i++) preference->alignment[i] = 256;
    return OK;
}
int cublasLtMatmulPreferenceDestroy(void* preference) { return drop(preference); }
int cublasLtMatmulPreferenceSetAttribute(Preference* preference, int what, const void* value,
                                         size_t size) {
    return what == 1 ? put(&preference->workspace, value, size, 8)
         : what == 3 ? put(&preference->reductions, value, size, 4)
         : what >= 5 && what <= 8 ? put(&preference->alignment[what - 5], value, size, 4) : INVALID;
}
int cublasLtMatmulAlgoGetHeuristic(void* handle, Desc* desc, Layout* A, Layout* B, Layout* C,
                                   Layout* D, Preference* preference, int wanted, Result* out,
                                   int* count) {
    int lined = 1;
    (void)handle, (void)desc, (void)A, (void)B, (void)C, (void)D;
    fake_heuristics++;
    *count = 0;
    for (int i = 0; i < 4; i++) {
        if (preference->alignment[i] > 16) return INVALID;  // nobody has promised that
        lined = lined && preference->alignment[i] == 16;
    }
    for (int id = INPLACE; id <= SLOW && *count < wanted; id++) {
        if ((id == FAST && !lined) || (fake_only_inplace && id != INPLACE)) continue;
        memset(&out[*count], 0, sizeof *out);
        out[*count].algorithm.id = (uint64_t)id;
        out[*count].workspace = id == HUNGRY ? preference->workspace + 1 : preference->workspace;
        ++*count;
    }
    return OK;
}
int cublasLtMatmulAlgoConfigGetAttribute(const Algorithm* algorithm, int what, uint32_t* value,
                                         size_t size, size_t* written) {
    if (what != 3 || size != 4) return INVALID;
    *value = algorithm->id == INPLACE ? 1 : 2;
    *written = 4;
    return OK;
}
int cublasLtMatmulAlgoCapGetAttribute(const Algorithm* algorithm, int what, int32_t* value,
                                      size_t size, size_t* written) {
    if (what != 4 || size != 4 || algorithm->id == (uint64_t)fake_silent) return INVALID;
    *value = algorithm->id != FIXED;
    *written = 4;
    return OK;
}

static double at(const char* base, const Layout* layout, int matrix, uint64_t row, uint64_t col) {
    const int64_t i = (int64_t)row + (int64_t)col * layout->ld + matrix * layout->stride;
    if (layout->type == 0) return ((const float*)base)[i];
    const uint32_t bits = (uint32_t)((const uint16_t*)base)[i] << 16;
    float wide;
    memcpy(&wide, &bits, 4);
    return wide;
}

typedef struct {
    Desc desc;
    Layout A_layout, B_layout, D_layout;
    float alpha, beta;
    const char *A, *B, *C;
    float* D;
} Job;

static void multiply(void* given) {
    const Job* j = given;
    const Layout *la = &j->A_layout, *lb = &j->B_layout, *ld = &j->D_layout;
    const int32_t* trans = j->desc.trans;
    const uint64_t K = trans[0] ? la->rows : la->cols;
    if ((double)K * (double)ld->rows * (double)ld->cols > 1e9) return;      // to be timed
    for (int b = 0; b < ld->batch; b++)
        for (uint64_t col = 0; col < ld->cols; col++)
            for (uint64_t row = 0; row < ld->rows; row++) {
                double sum = 0;
                for (uint64_t k = 0; k < K; k++)
                    sum += (trans[0] ? at(j->A, la, b, k, row) : at(j->A, la, b, row, k))
                         * (trans[1] ? at(j->B, lb, b, col, k) : at(j->B, lb, b, k, col));
                sum *= j->alpha;
                if (j->beta != 0) sum += j->beta * at(j->C, ld, b, row, col);
                j->D[row + col * (uint64_t)ld->ld + (uint64_t)(b * ld->stride)] = (float)sum;
            }
}

int fake_enqueue(void* stream, void (*work)(void*), void* argument);    // of the program's CUDA

int cublasLtMatmul(void* handle, Desc* desc, const float* alpha, const char* A, Layout* la,
                   const char* B, Layout* lb, const float* beta, const char* C, Layout* lc,
                   float* D, Layout* ld, const Algorithm* algorithm, void* workspace, size_t size,
                   void* stream) {
    const int32_t* trans = desc->trans;
    (void)handle;
    fake_products++;
    fake_last = (int)algorithm->id;
    if (algorithm->id < FIXED) return UNSUPPORTED;
    if (algorithm->id == FIXED && *beta != 0 && C != (const char*)D) return UNSUPPORTED;
    if (!workspace || (uintptr_t)workspace % 256 || size < 32u << 20) return INVALID;
    if (algorithm->id == FAST
        && ((uintptr_t)A % 16 || (uintptr_t)B % 16 || (uintptr_t)C % 16 || (uintptr_t)D % 16))
        return INVALID;
    if ((trans[0] ? la->cols : la->rows) != ld->rows || lc->rows != ld->rows
        || (trans[1] ? lb->rows : lb->cols) != ld->cols || lc->cols != ld->cols
        || (trans[1] ? lb->cols : lb->rows) != (trans[0] ? la->rows : la->cols)
        || la->type != lb->type || ld->type != 0 || la->batch != lb->batch
        || la->batch != ld->batch || memcmp(lc, ld, sizeof *lc))
        return INVALID;
    Job* job = malloc(sizeof *job);                 // it may be done again and again
    *job = (Job){*desc, *la, *lb, *ld, *alpha, *beta, A, B, C, D};
    return fake_enqueue(stream, multiply, job);
}
