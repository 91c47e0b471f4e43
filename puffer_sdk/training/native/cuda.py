"""Compile the trainer for GPUs.  kernels/cuda, trainer/{common,cuda,device} -> puffer_cuda-KEY.so

One nvcc command, once for a machine and its GPUs; nothing of an environment goes into it. Neither
a GPU nor a driver is needed to compile: `make cuda` does so for four generations. With
PUFFER_CUDA=emulated the same trainer is compiled for the CPU, where a GPU is emulated.
"""
from __future__ import annotations

import argparse
import os
import platform
import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ...base import files, paths, ui
from ...base.errors import BuildError, PufferError, RunError
from ...env import abi
from ...toolchain import compilers, gpu
from ...toolchain.cuda_finding import Nvcc, find_cublaslt, find_driver, find_nvcc
from ...toolchain.libraries import compile_once, key_of
from . import trainer_sources

ARCHS = ("75", "80", "90", "120")       # compute capabilities: T4, A100, H100 and H200, RTX 50
# g++ defines _GNU_SOURCE, under which glibc 2.41 and newer declare C23's functions (sinpi, rsqrt)
# otherwise than CUDA's own headers do. The other two are what is left of it: clocks, C++ strings
HOST_FLAGS = ("-U_GNU_SOURCE", "-D_DEFAULT_SOURCE=", "-D_XOPEN_SOURCE=700")
FLAGS = (*HOST_FLAGS, "-std=c++17", "-O3",
         "-fmad=false",                 # multiply-adds where the source says so
         "-shared", "-Xcompiler", "-fPIC,-Wall,-Wextra")
TRAINER_FLAGS = (*HOST_FLAGS, "-O3", "-fmad=false", "-shared", "--threads", "0", "-Xcompiler",
                 "-fPIC,-Wall,-Wextra,-ffp-contract=off,-fvisibility=hidden,-pthread",
                 "-Xlinker", "--no-undefined")
EMULATED_FLAGS = ("-O2", "-ffp-contract=off", "-fPIC", "-fvisibility=hidden", "-pthread", "-Wall",
                  "-Wextra", "-dynamiclib" if sys.platform == "darwin" else "-shared")
FUSED_FLAGS = (*(("-mfma",) if platform.machine() in ("x86_64", "AMD64") else ()),
               "-ffp-contract=fast")        # multiply-adds round once, as a GPU's may
STRICT = ("--Werror", "all-warnings", "-Xcompiler", "-Werror", "-DPUFFER_STRICT")
TIMEOUT = 600                           # seconds; an idle core needs twenty for each generation
KEEP = 4                                # libraries of other versions that stay in the cache
NAME, EMULATED = "puffer_cuda", "puffer_cuda_emulated"


# ---- its library ------------------------------------------------------------------------------

def build(*, verbose: bool = False, fresh: bool = False) -> Path:
    """The library that train.device cuda runs here: for the installed GPUs, or emulated."""
    compile_it = build_emulated if gpu.is_emulated() else build_cuda_trainer
    return compile_it(verbose=verbose, fresh=fresh)


@cache
def _open(path: Path) -> Any:
    return abi.trainer_ffi().dlopen(os.fspath(path))


def library() -> Any:
    """That library, opened; compiled first where that is needed."""
    try:
        return _library()
    except PufferError as error:
        error.of_gpu = "FAILED"
        raise


def _library() -> Any:
    path = build()
    try:
        return _open(path)
    except OSError:                     # intact, and yet of another system: a shared cache, say
        path = build(fresh=True)
    try:
        return _open(path)
    except OSError as error:
        raise RunError("cannot load the GPU trainer", where=path, detail=str(error),
                       hint="delete the file; until this is fixed, --train.device cpu") from None


def build_cuda_trainer(archs: Sequence[str] | None = None, *, verbose: bool = False,
                       fresh: bool = False, strict: bool = False) -> Path:
    """The trainer's library for GPUs, compiled unless that was done before.

    archs    compute capabilities ("90", ...); None: those of the installed GPUs
    strict   a warning is an error
    Raises BuildError where nvcc is missing or refuses.
    """
    nvcc, archs, command = _plan(archs, strict)
    folder = paths.writable(paths.cache_dir() / "trainer", purpose="the trainer for GPUs")
    return _compile(folder / _name(nvcc, command), command, archs, verbose=verbose, fresh=fresh)


def _plan(archs: Sequence[str] | None, strict: bool) -> tuple[Nvcc, list[str], list[str]]:
    driver = find_driver()
    nvcc = find_nvcc(driver)
    problem, hint = gpu.nvcc_problem(nvcc, driver if archs is None else None)
    if nvcc is None or problem:
        raise BuildError(f"cannot compile the GPU trainer: {problem}", hint=hint)
    if archs is None:
        archs = sorted({found.arch for _, found in gpu.list_usable()})
        if not archs:
            raise BuildError("there is no GPU",
                             hint="name one: python -m puffer_sdk.training.native.cuda FILE "
                                  "--arch 90")
    return nvcc, list(archs), trainer_command(nvcc, archs, strict=strict)


def trainer_command(nvcc: Nvcc, archs: Sequence[str], *, strict: bool = False) -> list[str]:
    """How nvcc is called, but for `-o FILE`."""
    return [nvcc.path, *TRAINER_FLAGS, *(STRICT if strict else ()), *_targets(archs),
            *(f"-I{place}" for place in trainer_sources.include_dirs()),
            *_link_path(nvcc), *_run_path(nvcc),
            *map(os.fspath, trainer_sources.for_cuda())]


def _targets(archs: Sequence[str]) -> list[str]:
    return [word for arch in archs
            for word in ("-gencode", f"arch=compute_{arch},code=sm_{arch}")]


def _link_path(nvcc: Nvcc) -> list[str]:
    """The wheels' own nvcc looks in lib64, and they have lib."""
    folder = nvcc.home / "lib"
    return [f"-L{folder}"] if (folder / "libcudart_static.a").is_file() else []


def _run_path(nvcc: Nvcc) -> list[str]:
    """Where else the loader looks for cuBLASLt."""
    found = find_cublaslt(nvcc.version[0], nvcc)
    folder = str(found.parent) if found else ""
    if not folder or os.environ.get("PUFFER_CUBLASLT") or "," in folder:   # nvcc parts at commas
        return []
    return ["-Xlinker", "-rpath=" + folder.replace("\\", r"\\").replace(" ", r"\ ")]


def _host_version() -> str:
    done = compilers.run_compiler([gpu.host_compiler() or "g++", "--version"],
                                  source=Path("g++"), what="nothing", timeout=20)
    return done.partition("\n")[0]


def _name(nvcc: Nvcc, command: Sequence[str]) -> str:
    parts = [word for word in command if not word.startswith(("-I", "-L"))
             and word not in map(os.fspath, trainer_sources.for_cuda())]
    key = key_of([*trainer_sources.for_cuda(), *trainer_sources.headers(".h", ".cuh"),
                  abi.env_header()],
                 [*parts, nvcc.banner, _host_version()])
    return f"{NAME}-{key}.so"


def _compile(library: Path, command: Sequence[str], archs: Sequence[str], *, verbose: bool,
             fresh: bool) -> Path:
    names = ", ".join(f"sm_{arch}" for arch in archs)
    try:
        return compile_once(library, command, source=trainer_sources.for_cuda()[1],
                            what="the trainer for GPUs", keep=KEEP, verbose=verbose, fresh=fresh,
                            timeout=TIMEOUT,
                            said=f"compiling the trainer for {names}, once for this machine ...")
    except BuildError as error:
        error.hint = _what_helps(error.detail or "")
        raise


def _what_helps(said: str) -> str:
    """The next step, by where nvcc's first error is."""
    if "unsupported GNU version" in said:
        return "point NVCC_CCBIN at an older g++"
    place = re.search(r"^(\S+?)[(:]\d+\)?:.*\berror\b", said, re.M)
    ours = {trainer_sources.home() / name for name in ("kernels", "trainer")}
    if place and ours & set(Path(place[1]).parents):
        return "these are our own sources: please report this with the lines above; until then, " \
               f"{gpu.ON_CPU}"
    return "this nvcc does not work with this system's compiler and headers: install a newer " \
           f"CUDA toolkit, or point NVCC_CCBIN at an older g++; until then, {gpu.ON_CPU}"


def build_emulated(*, verbose: bool = False, fresh: bool = False,
                   flags: Sequence[str] = ()) -> Path:
    """The same trainer for the CPU, on an emulated GPU: what PUFFER_CUDA=emulated runs. With
    PUFFER_CUDA_EMULATED_FMA=1 it rounds as a GPU may, and not as the CPU's trainer does."""
    compiler = compilers.find_compiler()
    if os.environ.get("PUFFER_CUDA_EMULATED_FMA") == "1":
        flags = (*FUSED_FLAGS, *flags)
    files = trainer_sources.for_cuda("emulated/device.cc")
    command = [*compiler.command, *EMULATED_FLAGS, *flags,
               *(() if sys.platform == "darwin" else ("-Wl,--no-undefined",)),
               *(f"-I{place}" for place in trainer_sources.include_dirs()),
               "-x", "c++", *map(os.fspath, files[:2]), "-x", "c", *map(os.fspath, files[2:]),
               "-x", "none", "-lstdc++", "-lm", "-ldl"]
    key = key_of([*files, *trainer_sources.headers(".h", ".cuh"), abi.env_header()],
                 [*EMULATED_FLAGS, *flags, compiler.key, compilers.cpu_features_key()])
    folder = paths.writable(paths.cache_dir() / "trainer", purpose="the emulated trainer")
    return compile_once(folder / f"{EMULATED}-{key}.so", command, source=files[1],
                        what="the emulated trainer", keep=KEEP, verbose=verbose, fresh=fresh,
                        timeout=TIMEOUT, said="compiling the trainer with an emulated GPU ...")


# ---- only the kernels, which tests call -------------------------------------------------------

def build_kernels(library: Path, archs: Sequence[str] = ARCHS, *, strict: bool = False,
                  verbose: bool = False) -> Path:
    """All kernels in one library. Raises BuildError with nvcc's text."""
    nvcc = find_nvcc(find_driver())
    problem, hint = gpu.nvcc_problem(nvcc)
    if nvcc is None or problem:
        raise BuildError(f"cannot compile the kernels: {problem}", hint=hint)
    source = trainer_sources.home() / "kernels" / "cuda" / "kernels.cu"
    files.mkdir(library.parent)
    compilers.compile_to(library, [nvcc.path, *FLAGS, *(STRICT if strict else ()),
                                   *_targets(archs), f"-I{trainer_sources.home()}",
                                   os.fspath(source)],
                         source=source, what="the CUDA kernels", verbose=verbose, timeout=TIMEOUT)
    return library


def main(arguments: Sequence[str]) -> int:
    """What `make cuda` runs: the whole trainer, a warning is an error; no GPU is needed."""
    parser = argparse.ArgumentParser(prog="python -m puffer_sdk.training.native.cuda",
                                     description="Compile the trainer for GPUs.")
    parser.add_argument("file", type=Path, help="where the library goes")
    parser.add_argument("--arch", action="append", metavar="90",
                        help="a compute capability; may be repeated. Without it: "
                             + ", ".join(ARCHS))
    options = parser.parse_args(arguments)
    archs = options.arch or ARCHS
    try:
        _, _, command = _plan(archs, strict=True)
        files.mkdir(options.file.parent)
        compilers.compile_to(options.file, command, source=trainer_sources.for_cuda()[1],
                             what="the trainer for GPUs", verbose=True, timeout=TIMEOUT)
    except PufferError as error:
        ui.print_error(error)
        return error.exit_status
    ui.say(f"compiled for {', '.join(f'sm_{arch}' for arch in archs)}: {paths.shown(options.file)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
