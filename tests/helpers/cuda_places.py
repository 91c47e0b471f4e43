"""Machines with and without CUDA, as a plugin: pytest_plugins = ["helpers.cuda_places"]

no_cuda takes all that is NVIDIA's away; fake_nvcc, fake_driver and fake_wheels put some of it back.
"""
import os
import shutil
import subprocess
import sys
from importlib import metadata, util
from types import SimpleNamespace

import pytest

NVCC = """#!/bin/sh
case "$*" in
*--version*) echo "Cuda compilation tools, release {version}, V{version}.99" ;;
*--list-gpu-code*) printf '{archs}' ;;
*--dryrun*) echo "#\\$ TOP={home}/bin/.." >&2 ;;
*) while [ $# -gt 1 ]; do shift; [ "$prior" = -o ] && cat {makes} > "$1"; prior=$1; done ;;
esac
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
    places, find_spec, version = set(sys.path), util.find_spec, metadata.version

    def find_other(name):
        spec = find_spec(name)
        if name == "nvidia" and spec:
            spec.submodule_search_locations = [
                place for place in spec.submodule_search_locations
                if os.path.dirname(place) not in places]
        return spec

    def version_of_other(name):
        if str(metadata.distribution(name).locate_file("")) in places and "nvidia" in name:
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(util, "find_spec", find_other)
    monkeypatch.setattr(metadata, "version", version_of_other)


@pytest.fixture
def no_cuda(tmp_path, monkeypatch):
    """No driver, no nvcc, no wheels; a C++ compiler, which nvcc would call."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("g++", "cc", "ld", "as"):
        found = shutil.which(name)
        if found:
            (tools / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path / "driver"))
    monkeypatch.setenv("PUFFER_CACHE", str(tmp_path / "cache"))
    for name in ("CUDA_HOME", "CUDA_PATH", "PUFFER_NVCC", "PUFFER_CUBLASLT", "PUFFER_NVRTC",
                 "PUFFER_CUDA", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
                 "NVCC_CCBIN"):
        monkeypatch.delenv(name, raising=False)
    hide_wheels(monkeypatch)
    monkeypatch.delitem(sys.modules, "nvidia", raising=False)
    return SimpleNamespace(tools=tools, root=tmp_path)


def write_nvcc(home, version, archs="sm_80\\nsm_90\\n", makes="/bin/true"):
    (home / "bin").mkdir(parents=True, exist_ok=True)
    nvcc = home / "bin" / "nvcc"
    nvcc.write_text(NVCC.format(version=version, archs=archs, home=home, makes=makes))
    nvcc.chmod(0o755)
    return home


@pytest.fixture
def fake_nvcc(tmp_path):
    """fake_nvcc("13.0") -> the folder of a toolkit whose nvcc says so, and makes a file"""
    def make(version, name="toolkit", **more):
        return write_nvcc(tmp_path / name, version, **more)
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
    """fake_wheels({"nvidia-cuda-nvcc": "13.0.88", ...}) -> site-packages/nvidia/cu13"""
    def make(versions, nvcc="13.0"):
        site = tmp_path / "site"
        home = write_nvcc(site / "nvidia" / "cu13", nvcc)
        for name, version in versions.items():
            folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
            folder.mkdir()
            (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\n"
                                             f"Version: {version}\n")
        monkeypatch.syspath_prepend(str(site))
        return home
    return make
