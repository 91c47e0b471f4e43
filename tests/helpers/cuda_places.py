"""Machines with and without CUDA, as a plugin: pytest_plugins = ["helpers.cuda_places"]

no_cuda takes all that is NVIDIA's away; fake_toolkit, fake_driver and fake_wheels put some back.
"""
import os
import shutil
import subprocess
import sys
from importlib import util
from types import SimpleNamespace

import pytest

from puffer_sdk.toolchain import cuda_finding
from puffer_sdk.toolchain import nvrtc as nvrtc_module

# Compiles to a text that is no cubin
NVRTC = r"""
#include <string.h>
static const int archs[] = {%(archs)s};
static const char said[] = "%(said)s";
int nvrtcVersion(int* major, int* minor) { return *major = %(major)s, *minor = %(minor)s, 0; }
int nvrtcGetNumSupportedArchs(int* count) { return *count = sizeof archs / sizeof *archs, 0; }
int nvrtcGetSupportedArchs(int* out) { memcpy(out, archs, sizeof archs); return 0; }
int nvrtcCreateProgram(void** out, const char* text, const char* name, int count, void* texts,
                       void* names) { *out = (void*)said; return 0; }
int nvrtcCompileProgram(void* program, int count, const char** options) { return sizeof said > 1; }
int nvrtcGetProgramLogSize(void* program, size_t* out) { return *out = sizeof said, 0; }
int nvrtcGetProgramLog(void* program, char* out) { strcpy(out, said); return 0; }
int nvrtcGetCUBINSize(void* program, size_t* out) { return *out = 5, 0; }
int nvrtcGetCUBIN(void* program, char* out) { memcpy(out, "cubin", 5); return 0; }
int nvrtcDestroyProgram(void** program) { return 0; }
"""

DRIVER = """
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
typedef struct { const char* name; int major, minor; size_t gib; } Gpu;
static const Gpu gpus[] = {%(gpus)s {"", 0, 0, 0}};
int cuInit(unsigned flags) { %(init)s }
int cuDriverGetVersion(int* out) { *out = %(version)d; return 0; }
int cuDeviceGetCount(int* out) { *out = sizeof gpus / sizeof *gpus - 1; return 0; }
int cuDeviceGet(int* out, int index) { *out = index + 100; return 0; }
int cuDeviceGetName(char* out, int size, int gpu) {
    strncpy(out, gpus[gpu - 100].name, (size_t)size);
    return 0;
}
int cuDeviceTotalMem_v2(size_t* out, int gpu) { *out = gpus[gpu - 100].gib << 30; return 0; }
int cuDeviceGetAttribute(int* out, int what, int gpu) {
    *out = what == 75 ? gpus[gpu - 100].major : what == 76 ? gpus[gpu - 100].minor : -1;
    return 0;
}
int cuGetErrorString(int status, const char** out) {
    *out = status == 803 ? "system has unsupported display driver / cuda driver combination" : NULL;
    return status != 803;
}
"""


def hide_wheels(monkeypatch):
    """NVIDIA's, where they are now; other packages lie beside them, and are needed"""
    places, find_spec = set(sys.path), util.find_spec

    def find_other(name):
        spec = find_spec(name)
        if name == "nvidia" and spec:
            spec.submodule_search_locations = [
                place for place in spec.submodule_search_locations
                if os.path.dirname(place) not in places]
        return spec

    monkeypatch.setattr(util, "find_spec", find_other)


@pytest.fixture
def no_cuda(tmp_path, monkeypatch):
    """No driver, no toolkit, no wheels; a C compiler."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("cc", "ld", "as"):
        found = shutil.which(name)
        if found:
            (tools / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path / "driver"))
    monkeypatch.setenv("PUFFER_CACHE", str(tmp_path / "cache"))
    for name in ("CUDA_HOME", "CUDA_PATH", "PUFFER_CUBLASLT", "PUFFER_NVRTC", "PUFFER_CUDA",
                 "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(cuda_finding, "SYSTEM", ())
    hide_wheels(monkeypatch)
    monkeypatch.delitem(sys.modules, "nvidia", raising=False)
    return SimpleNamespace(tools=tools, root=tmp_path)


def write_toolkit(home, version, archs="80, 90", said="", nvrtc=None):
    """A runtime of this version, and an NVRTC that knows these GPUs; said: what it refuses with."""
    major, minor = version.split(".")
    for folder in (home / "include", home / "lib"):
        folder.mkdir(parents=True, exist_ok=True)
    (home / "include" / cuda_finding.HEADER).write_text(
        f"#define CUDART_VERSION  {int(major) * 1000 + int(minor) * 10}\n")
    (home / "lib" / cuda_finding.LIBRARY).write_bytes(b"!<arch>\n")
    if nvrtc != "":
        write_nvrtc(home / "lib", nvrtc or version, archs, said)
    return home


def write_nvrtc(folder, version, archs, said):
    major, minor = version.split(".")
    source = folder / "nvrtc.c"
    source.write_text(NVRTC % {"archs": archs, "said": said, "major": major, "minor": minor})
    subprocess.run(["cc", "-shared", "-fPIC", "-w", source, "-o", folder / f"libnvrtc.so.{major}"],
                   check=True, timeout=60)
    nvrtc_module._open.cache_clear()        # another library may lie there now


@pytest.fixture
def fake_toolkit(tmp_path):
    """fake_toolkit("13.0") -> the folder of a toolkit of that version"""
    def make(version, name="toolkit", **more):
        return write_toolkit(tmp_path / name, version, **more)
    return make


@pytest.fixture
def fake_driver(tmp_path, no_cuda):
    """fake_driver(version=13000, gpus=((name, major, minor, GiB), ...), init="return 0;")"""
    def make(version=13000, gpus=(("NVIDIA H100", 9, 0, 80),), init="return 0;"):
        # Another folder each time: what the driver said is remembered by where it is
        folder = tmp_path / f"driver{len(list(tmp_path.glob('driver*')))}"
        folder.mkdir()
        rows = "".join('{{"{}", {}, {}, {}}},'.format(*gpu) for gpu in gpus)
        source = folder / "driver.c"
        source.write_text(DRIVER % {"gpus": rows, "version": version, "init": init})
        subprocess.run([no_cuda.tools / "cc", "-shared", "-fPIC", "-w", source, "-o",
                        folder / "libcuda.so.1"], check=True, timeout=60)
        os.environ["LD_LIBRARY_PATH"] = str(folder)         # no_cuda puts it back
        return folder
    return make


@pytest.fixture
def fake_wheels(tmp_path, no_cuda, monkeypatch):
    """fake_wheels("13.0") -> site-packages/nvidia/cu13, or of CUDA 12 .../nvidia/cuda_runtime"""
    def make(version):
        name = "cuda_runtime" if version.startswith("12") else f"cu{version.split('.')[0]}"
        home = write_toolkit(tmp_path / "site" / "nvidia" / name, version)
        monkeypatch.syspath_prepend(str(tmp_path / "site"))
        return home
    return make
