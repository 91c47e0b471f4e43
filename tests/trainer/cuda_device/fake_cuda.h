/* fake_cuda.h -- a CUDA runtime without a GPU, as strict as the real one about what it is told.
 *
 * Work is done at once, or kept while its stream is captured. The rules are those of NVIDIA's
 * manual: what a capture may wait for, that each stream comes back to the first, that uploads in
 * graphs read pinned memory, that an event of a capture is nobody else's, that errors stay until
 * they are asked for. Each call can be told to fail, and whatever is made is counted.
 *
 * The driver's calls are found by name alone. A cubin is a text here: a line "cubin ARCH", then the
 * names of its kernels, or "all" for any. A kernel does what `kernels` makes of its arguments; without an
 * entry nothing, or if a module brought it, it adds 1 to the number that they begin with a pointer to. */
#pragma once
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace fake {
typedef std::function<void()> Work;
extern std::map<std::string, int> calls;            // of each function
extern std::map<std::string, cudaError_t> refuse;   // its next call fails so
extern cudaError_t broken;                          // what every wait and call says from now on
extern std::vector<std::string> launched;           // kernels, in order
extern std::map<std::string, Work (*)(const void* args)> kernels;
extern int driver, devices, capability;
extern bool peers;                                  // GPUs reach each other's memory
extern std::set<std::pair<int, int>> ways;          // that were opened, from device to device
extern size_t memory;                               // that is left
extern size_t heap, stack;                          // of kernels' malloc; of a thread
extern std::map<std::string, CUresult> refuse_driver;       // as refuse, without the "cu"
extern std::map<std::string, int> missing;          // calls that this driver does not have
int living();                                       // what was made and not destroyed
}

// Work that others bring: done now, or whenever the graph that is captured is replayed
extern "C" int fake_enqueue(void* stream, void (*work)(void*), void* argument);
