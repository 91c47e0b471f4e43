/* fake_cuda.cc -- see fake_cuda.h. The functions of the runtime that device/cuda/device.cc
 * and kernels/cuda/launch.cc call. */
#include "fake_cuda.h"
#include <set>
#include <sstream>
#include <stdlib.h>
#include <string.h>

using fake::Work;
typedef std::map<const CUstream_st*, int> Clock;    // how far each stream is known

struct CUgraph_st { std::vector<Work> work; std::set<CUstream_st*> streams; bool open, invalid; };
struct CUfunc_st { std::string name; bool adds; };
struct CUlib_st { std::map<std::string, CUfunc_st> kernels; };
struct CUmod_st { std::map<std::string, CUfunc_st> functions; };
struct CUgraphExec_st { std::vector<Work> work; };
struct CUstream_st { CUgraph_st* capture; Clock clock; CUstream_st* first; int device; };
struct CUevent_st {
    bool recorded;
    CUgraph_st* capture;
    CUstream_st* first;
    Clock clock;
    double time;
    int device;
};

namespace fake {
std::map<std::string, int> calls;
std::map<std::string, cudaError_t> refuse;
cudaError_t broken;
std::vector<std::string> launched;
int driver = 13000, devices = 1, capability = 90;
std::map<std::string, Work (*)(const void*)> kernels;
bool peers;
std::set<std::pair<int, int>> ways;
size_t memory = (size_t)1 << 40, heap = 8 << 20, stack = 1024;
std::map<std::string, CUresult> refuse_driver;
std::map<std::string, int> missing;

static std::map<char*, size_t> device, pinned, registered;
static int made, modules;
static cudaError_t last;
static int current;                                 // device of this thread
static double now;                                  // each piece of work takes a millisecond

int living() { return made + (int)(device.size() + pinned.size() + registered.size()); }

static cudaError_t say(cudaError_t error) {
    if (error != cudaSuccess) last = error;
    return error;
}

// What this call says before it does anything
static cudaError_t enter(const char* name) {
    calls[name]++;
    if (broken) return say(broken);
    auto found = refuse.find(name);
    if (found == refuse.end()) return cudaSuccess;
    const cudaError_t error = found->second;
    refuse.erase(found);
    return say(error);
}

static cudaError_t give(cudaStream_t stream, Work work) {
    if (!stream->capture) return now += 1e-3, work(), cudaSuccess;
    if (stream->capture->invalid) return say(cudaErrorStreamCaptureInvalidated);
    stream->capture->work.push_back(work);
    stream->clock[stream]++;
    return cudaSuccess;
}

static bool lies_in(const std::map<char*, size_t>& blocks, const void* place, size_t bytes) {
    for (const auto& block : blocks)
        if ((char*)place >= block.first && (char*)place + bytes <= block.first + block.second)
            return true;
    return false;
}
}  // namespace fake

using namespace fake;

int fake_enqueue(void* stream, void (*work)(void*), void* argument) {
    return give((cudaStream_t)stream, [=] { work(argument); });
}

#define ENTER() do { cudaError_t said = enter(__func__); if (said) return said; } while (0)

extern "C" {
// ---- devices ------------------------------------------------------------------------------------
cudaError_t cudaGetLastError() { cudaError_t error = last; last = broken; return error; }
const char* cudaGetErrorName(cudaError_t error) {
    return error == cudaErrorIllegalAddress ? "cudaErrorIllegalAddress" : "cudaErrorOther";
}
const char* cudaGetErrorString(cudaError_t) { return "what CUDA says"; }
cudaError_t cudaGetDeviceCount(int* count) {
    ENTER();
    if (driver < 13000) return say(cudaErrorInsufficientDriver);
    *count = devices;
    return devices ? cudaSuccess : say(cudaErrorNoDevice);
}
cudaError_t cudaSetDevice(int number) {
    ENTER();
    if (number >= devices) return say(cudaErrorInvalidDevice);
    current = number;
    return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* out, int device, int peer) {
    ENTER();
    if (device == peer) return say(cudaErrorInvalidDevice);
    *out = peers;
    return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
    ENTER();
    if (!peers || peer == current || flags) return say(cudaErrorInvalidDevice);
    return ways.insert({current, peer}).second ? cudaSuccess
                                               : say(cudaErrorPeerAccessAlreadyEnabled);
}
cudaError_t cudaDriverGetVersion(int* out) { *out = driver; return cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* out) { *out = 13000; return cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* out, int) {
    ENTER();
    memset(out, 0, sizeof *out);
    strcpy(out->name, "Fake GPU");
    out->major = capability / 10, out->minor = capability % 10;
    out->multiProcessorCount = 3, out->totalGlobalMem = 5000;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* out) { *out = current; return cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int* out, cudaDeviceAttr what, int) {
    ENTER();
    *out = what == cudaDevAttrComputeCapabilityMajor ? capability / 10 : capability % 10;
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* left, size_t* all) {
    ENTER();
    *left = 4000, *all = 5000;
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() { ENTER(); return cudaSuccess; }

// ---- memory -------------------------------------------------------------------------------------
static cudaError_t take(std::map<char*, size_t>& blocks, void** out, size_t bytes) {
    if (bytes > memory) return say(cudaErrorMemoryAllocation);
    *out = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (bytes < 1 << 28) memset(*out, 0x5a, bytes); // whoever wants zeros writes them
    blocks[(char*)*out] = bytes;
    return cudaSuccess;
}
static cudaError_t give_back(std::map<char*, size_t>& blocks, void* place) {
    if (!blocks.erase((char*)place)) return place ? say(cudaErrorInvalidValue) : cudaSuccess;
    if (&blocks != &registered) free(place);
    return cudaSuccess;
}
cudaError_t cudaMalloc(void** out, size_t bytes) { ENTER(); return take(device, out, bytes); }
cudaError_t cudaHostAlloc(void** out, size_t bytes, unsigned) {
    ENTER();
    return take(pinned, out, bytes);
}
cudaError_t cudaMallocManaged(void**, size_t, unsigned) { return say(cudaErrorMemoryAllocation); }
cudaError_t cudaFree(void* place) { return give_back(device, place); }
cudaError_t cudaFreeHost(void* place) { return give_back(pinned, place); }
cudaError_t cudaHostRegister(void* place, size_t bytes, unsigned) {
    ENTER();
    if (registered.count((char*)place)) return say(cudaErrorHostMemoryAlreadyRegistered);
    registered[(char*)place] = bytes;
    return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* place) { ENTER(); return give_back(registered, place); }
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    ENTER();
    const bool to_device = lies_in(device, to, bytes), from_device = lies_in(device, from, bytes);
    if (to_device != (kind != cudaMemcpyDeviceToHost)
        || from_device != (kind != cudaMemcpyHostToDevice))
        return say(cudaErrorInvalidValue);
    const void* host = to_device ? from : to;
    if (stream->capture && to_device != from_device && !lies_in(pinned, host, bytes)
        && !lies_in(registered, host, bytes))
        return stream->capture->invalid = true, say(cudaErrorStreamCaptureUnsupported);
    return give(stream, [=] { memcpy(to, from, bytes); });
}
cudaError_t cudaMemsetAsync(void* to, int byte, size_t bytes, cudaStream_t stream) {
    ENTER();
    if (!lies_in(device, to, bytes)) return say(cudaErrorInvalidValue);
    return give(stream, [=] { memset(to, byte, bytes); });
}

// ---- streams and events -------------------------------------------------------------------------
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned flags) {
    ENTER();
    if (flags != cudaStreamNonBlocking) return say(cudaErrorInvalidValue);
    made++;
    *out = new CUstream_st();
    (*out)->device = current;
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) { made--; delete stream; return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    ENTER();
    if (!stream->capture) return cudaSuccess;
    return stream->capture->invalid = true, say(cudaErrorStreamCaptureUnsupported);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned) {
    ENTER();
    made++;
    *out = new CUevent_st();
    (*out)->device = current;
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* out) { return cudaEventCreateWithFlags(out, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) { made--; delete event; return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    ENTER();
    if (event->device != stream->device) return say(cudaErrorInvalidResourceHandle);
    *event = CUevent_st{true, stream->capture, stream->first, stream->clock, now, event->device};
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    ENTER();
    return event->capture ? say(cudaErrorCapturedEvent) : cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* out, cudaEvent_t start, cudaEvent_t end) {
    ENTER();
    *out = (float)(1e3 * (end->time - start->time)) + 0.25f;    // what an event takes itself
    return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    ENTER();
    if (!event->recorded) return cudaSuccess;
    if (event->capture && !event->first->capture) return say(cudaErrorCapturedEvent);
    if (stream->capture && stream->capture != event->capture)
        return stream->capture->invalid = true, say(cudaErrorStreamCaptureIsolation);
    if (!event->capture) return cudaSuccess;
    stream->capture = event->capture;
    stream->first = event->first;
    stream->capture->streams.insert(stream);
    for (const auto& known : event->clock)
        if (stream->clock[known.first] < known.second) stream->clock[known.first] = known.second;
    return cudaSuccess;
}

// ---- graphs -------------------------------------------------------------------------------------
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    ENTER();
    if (stream->capture) return say(cudaErrorIllegalState);
    made++;
    stream->capture = new CUgraph_st{{}, {stream}, true, false};
    stream->first = stream;
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* out) {
    ENTER();
    CUgraph_st* graph = stream->capture;
    if (!graph || stream->first != stream) return say(cudaErrorStreamCaptureUnmatched);
    cudaError_t error = graph->invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    for (CUstream_st* other : graph->streams) {
        if (!error && stream->clock[other] < other->clock[other])
            error = cudaErrorStreamCaptureUnjoined;
    }
    for (CUstream_st* other : graph->streams) {
        other->capture = NULL;
        other->clock.clear();
    }
    if (error) return made--, delete graph, *out = NULL, say(error);
    return *out = graph, cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { made--; delete graph; return cudaSuccess; }
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long) {
    ENTER();
    made++;
    *out = new CUgraphExec_st{graph->work};
    return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { ENTER(); return cudaSuccess; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) { made--; delete exec; return cudaSuccess; }
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    ENTER();
    return give(stream, [=] { for (const Work& work : exec->work) work(); });
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value) {
    ENTER();
    if (limit == cudaLimitStackSize) return stack = value, cudaSuccess;
    if (limit != cudaLimitMallocHeapSize || modules) return say(cudaErrorInvalidValue);
    return heap = value, cudaSuccess;
}
cudaError_t cudaDeviceGetLimit(size_t* out, enum cudaLimit limit) {
    ENTER();
    return limit == cudaLimitStackSize      ? (*out = stack, cudaSuccess)
         : limit == cudaLimitMallocHeapSize ? (*out = heap, cudaSuccess)
                                            : say(cudaErrorInvalidValue);
}
}

// ---- the driver ---------------------------------------------------------------------------------
namespace fake {
static CUresult driver_enter(const char* name) {
    calls[std::string("cu") + name]++;
    if (broken) return CUDA_ERROR_ILLEGAL_ADDRESS;
    if (!calls["cudaSetDevice"]) return CUDA_ERROR_INVALID_CONTEXT;
    auto found = refuse_driver.find(name);
    if (found == refuse_driver.end()) return CUDA_SUCCESS;
    const CUresult error = found->second;
    refuse_driver.erase(found);
    return error;
}
#define DRIVER_ENTER(NAME) \
    do { CUresult told = driver_enter(NAME); if (told != CUDA_SUCCESS) return told; } while (0)

static CUresult module_load(CUmodule* out, const void* image) {
    DRIVER_ENTER("ModuleLoadData");
    std::string text((const char*)image), line;
    if (text.rfind("cubin ", 0)) return CUDA_ERROR_INVALID_IMAGE;
    if (text.rfind("cubin 90\n", 0)) return CUDA_ERROR_NO_BINARY_FOR_GPU;
    modules++, made++;
    *out = new CUmod_st();
    for (std::istringstream lines(text.substr(text.find('\n') + 1)); std::getline(lines, line); )
        (*out)->functions[line] = {line, true};
    return CUDA_SUCCESS;
}
static CUresult module_unload(CUmodule module) {
    modules--, made--;
    delete module;
    return CUDA_SUCCESS;
}
static CUresult module_function(CUfunction* out, CUmodule module, const char* name) {
    DRIVER_ENTER("ModuleGetFunction");
    auto found = module->functions.find(name);
    if (found == module->functions.end()) return CUDA_ERROR_NOT_FOUND;
    return *out = &found->second, CUDA_SUCCESS;
}
static CUresult library_load(CUlibrary* out, const void* image, CUjit_option* options, void**,
                             unsigned count, CUlibraryOption*, void**, unsigned more) {
    DRIVER_ENTER("LibraryLoadData");
    if (options || count || more) return CUDA_ERROR_INVALID_VALUE;
    if (std::string((const char*)image) != "cubin 90\nall") return CUDA_ERROR_INVALID_IMAGE;
    *out = new CUlib_st();    // for good: no one asks for its end
    return CUDA_SUCCESS;
}
static CUresult library_kernel(CUkernel* out, CUlibrary library, const char* name) {
    DRIVER_ENTER("LibraryGetKernel");
    library->kernels[name] = {name, false};
    return *out = (CUkernel)&library->kernels[name], CUDA_SUCCESS;
}
static CUresult kernel_function(CUfunction* out, CUkernel kernel) {
    DRIVER_ENTER("KernelGetFunction");
    return *out = (CUfunction)kernel, CUDA_SUCCESS;
}
static CUresult launch(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned tx,
                       unsigned ty, unsigned tz, unsigned shared, CUstream stream, void** params,
                       void** extra) {
    DRIVER_ENTER("LaunchKernel");
    if (!x || y != 1 || z != 1 || !tx || tx > 1024 || ty != 1 || tz != 1 || shared || extra)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream->device != current) return CUDA_ERROR_INVALID_HANDLE;
    const std::string name = function->name;
    int* place = NULL;
    if (function->adds) memcpy(&place, params[0], sizeof place);
    const Work work = kernels.count(name) ? kernels[name](params[0])    // arguments are copied now
                                          : Work([=] { if (place) ++*place; });
    cudaError_t given = give(stream, [=] { launched.push_back(name), work(); });
    return given == cudaSuccess ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}
static CUresult error_name(CUresult error, const char** out) {
    *out = error == CUDA_ERROR_INVALID_IMAGE ? "CUDA_ERROR_INVALID_IMAGE" : NULL;
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
static CUresult error_text(CUresult, const char** out) {
    return *out = "what the driver says", CUDA_SUCCESS;
}
}  // namespace fake

extern "C" cudaError_t cudaGetDriverEntryPointByVersion(
    const char* name, void** out, unsigned version, unsigned long long flags,
    cudaDriverEntryPointQueryResult* answer) {
    static const std::map<std::string, void*> known = {
        {"cuLibraryLoadData", (void*)library_load}, {"cuLibraryGetKernel", (void*)library_kernel},
        {"cuKernelGetFunction", (void*)kernel_function},
        {"cuModuleLoadData", (void*)module_load}, {"cuModuleUnload", (void*)module_unload},
        {"cuModuleGetFunction", (void*)module_function}, {"cuLaunchKernel", (void*)launch},
        {"cuGetErrorName", (void*)error_name}, {"cuGetErrorString", (void*)error_text}};
    ENTER();
    if (flags != cudaEnableDefault) return say(cudaErrorInvalidValue);
    const bool there = known.count(name) && !missing.count(name) && (int)version <= driver;
    *out = there ? known.at(name) : NULL;
    *answer = there ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}
