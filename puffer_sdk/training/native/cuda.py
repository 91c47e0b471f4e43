"""The trainer for GPUs: whether it can run here, and its library.  sources -> puffer_cuda-KEY.so

One nvcc command, once for a machine and its GPUs; nothing of an environment goes into it. Neither
a GPU nor a driver is needed to compile: `make cuda` does so for three generations. With
PUFFER_CUDA=emulated the same trainer is compiled for the CPU, where a GPU is imitated.
"""
from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ...base import paths, ui
from ...base.errors import BuildError, PufferError, RunError, UsageError
from ...env import abi
from ...toolchain import compilers
from ...toolchain.cuda_finding import (
    INSTALL,
    Driver,
    Gpu,
    Nvcc,
    find_cublaslt,
    find_driver,
    find_nvcc,
    list_archs,
    shown,
    wheels_problem,
)
from ...toolchain.libraries import compile_once, is_intact, key_of

ARCHS = ("80", "90", "120")             # compute capabilities: A100, H100 and H200, RTX 50
OLDEST_GPU = (8, 0)                     # the first with bf16
OLDEST_NVCC = (12, 0)                   # its graphs are made by another call before
SHARED_FILES = ("arena.c", "blame.c", "config.c", "pool.c", "replay.c", "tensors.c")    # the CPU's
FLAGS = ("-std=c++17", "-O3", "-fmad=false",       # multiply-adds where the source says so
         "-shared", "-Xcompiler", "-fPIC,-Wall,-Wextra")
TRAINER_FLAGS = ("-O3", "-fmad=false", "-shared", "--threads", "0", "-Xcompiler",
                 "-fPIC,-Wall,-Wextra,-ffp-contract=off,-fvisibility=hidden,-pthread",
                 "-Xlinker", "--no-undefined")
EMULATED_FLAGS = ("-O2", "-ffp-contract=off", "-fPIC", "-fvisibility=hidden", "-pthread", "-Wall",
                  "-Wextra", "-dynamiclib" if sys.platform == "darwin" else "-shared")
STRICT = ("--Werror", "all-warnings", "-Xcompiler", "-Werror", "-DPUFFER_STRICT")
TIMEOUT = 600                           # seconds; an idle core needs twenty for each generation
KEEP = 4                                # libraries of other versions that stay in the cache
NAME, EMULATED = "puffer_cuda", "puffer_cuda_emulated"
DRIVER_HINT = "install NVIDIA's driver, or train on the CPU: --train.device cpu"


# ---- whether it can run here ------------------------------------------------------------------

@dataclass(frozen=True)
class Readiness:
    """What a GPU's trainer needs, as far as it was looked for: the first that lacks ends it."""

    problem: str | None = None          # a sentence without a full stop
    hint: str | None = None
    driver: Driver | None = None
    nvcc: Nvcc | None = None
    cublaslt: Path | None = None

    @property
    def gpu(self) -> Gpu | None:
        """The one that is trained on: the first."""
        return self.driver.gpus[0] if self.driver and self.driver.gpus else None

    @property
    def reason(self) -> str:
        """Why it can run here, or why not."""
        if self.problem:
            return self.problem
        return f"an {self.gpu.name} (sm_{self.gpu.arch}), driver for CUDA " \
               f"{shown(self.driver.version)}"


def examine() -> Readiness:
    """Looks in the order in which things are needed; quick where there is no driver."""
    driver = find_driver()
    problem, hint = driver_problem(driver)
    if problem:
        return Readiness(problem, hint, driver)
    nvcc = find_nvcc(driver)
    problem, hint = nvcc_problem(nvcc, driver)
    if problem:
        return Readiness(problem, hint, driver, nvcc)
    cublaslt = find_cublaslt(nvcc.version[0], nvcc)
    problem, hint = cublaslt_problem(cublaslt, nvcc)
    return Readiness(problem, hint, driver, nvcc, cublaslt)


def driver_problem(driver: Driver | None) -> tuple[str | None, str | None]:
    """(what is wrong, what to do), or (None, None)."""
    if driver is None:
        return "no NVIDIA driver on this machine", DRIVER_HINT
    if driver.problem:
        return f"the NVIDIA driver finds no GPU that it can use: {driver.problem}", DRIVER_HINT
    if not driver.gpus:
        return "the NVIDIA driver finds no GPU", "look at CUDA_VISIBLE_DEVICES"
    gpu = driver.gpus[0]
    if gpu.capability < OLDEST_GPU:
        return (f"the {gpu.name}'s compute capability {shown(gpu.capability)} is below "
                f"{shown(OLDEST_GPU)}", "train on the CPU: --train.device cpu")
    return None, None


def nvcc_problem(nvcc: Nvcc | None, driver: Driver | None = None) -> tuple[str | None, str | None]:
    """Whether nvcc is there, and makes what this driver and its first GPU run."""
    if nvcc is None:
        if os.environ.get("PUFFER_NVCC"):
            return "PUFFER_NVCC names no nvcc that runs", "correct it, or unset it"
        wheels = wheels_problem()
        return ("no nvcc" + ("" if wheels in (None, "not installed")
                             else f" (of NVIDIA's wheels, {wheels})"),
                f"{INSTALL}, or install NVIDIA's CUDA toolkit")
    if nvcc.version < OLDEST_NVCC:
        return (f"nvcc is {shown(nvcc.version)}, and {shown(OLDEST_NVCC)} or newer is needed",
                f"{INSTALL}, or install a newer CUDA toolkit")
    if driver and driver.version and nvcc.version[0] > driver.version[0]:
        return (f"the driver is for CUDA {shown(driver.version)}, nvcc is "
                f"{shown(nvcc.version)}: it would not run",
                f"update the driver, or point PUFFER_NVCC at an nvcc {driver.version[0]}")
    archs = list_archs(nvcc)
    if driver and driver.gpus and archs and driver.gpus[0].arch not in archs:
        return (f"nvcc {shown(nvcc.version)} does not know this GPU (sm_{driver.gpus[0].arch})",
                f"{INSTALL}, or install a newer CUDA toolkit")
    if _host_compiler() is None:
        return "nvcc needs g++, which is not there", compilers.install_hint("g++")
    return None, None


def cublaslt_problem(cublaslt: Path | None, nvcc: Nvcc) -> tuple[str | None, str | None]:
    if cublaslt is not None:
        return None, None
    if os.environ.get("PUFFER_CUBLASLT"):
        return "PUFFER_CUBLASLT names no library that is there", "correct it, or unset it"
    return (f"no cuBLASLt (libcublasLt.so.{nvcc.version[0]})",
            f"{INSTALL}, or install cuBLAS of CUDA {nvcc.version[0]}")


def require_gpus(count: int) -> None:
    """Raises UsageError where there are fewer."""
    if is_emulated():
        said = os.environ.get("PUFFER_CUDA_EMULATED_GPUS") or "1"
        if not said.isdecimal() or int(said) < 1:
            raise UsageError("PUFFER_CUDA_EMULATED_GPUS says how many GPUs are imitated",
                             where="PUFFER_CUDA_EMULATED_GPUS", expected="1 or more",
                             actual=f"'{said}'", hint="unset it: there is 1")
        there = int(said)
        hint = "set PUFFER_CUDA_EMULATED_GPUS"
    else:
        driver = find_driver()
        there = len(driver.gpus) if driver else 0
        hint = "look at CUDA_VISIBLE_DEVICES, or lower train.gpus"
    if count > there:
        verb = "is" if there == 1 else "are"
        raise UsageError(f"train.gpus asks for {count} GPUs, and there {verb} {there}",
                         where="train.gpus", expected=f"at most {there}", actual=count, hint=hint)


def emulated_name(where: str) -> str:
    """ "a GPU" or "2 GPUs", said to be emulated where they are."""
    article, noun = where.split()
    if not is_emulated():
        return where
    return f"{'an' if article == 'a' else article} emulated {noun}"


def is_emulated() -> bool:
    """True if PUFFER_CUDA asks for an imitated GPU."""
    asked = os.environ.get("PUFFER_CUDA", "")
    if asked not in ("", "emulated"):
        raise UsageError("PUFFER_CUDA has a value that means nothing", where="PUFFER_CUDA",
                         expected="emulated, or nothing", actual=f"'{asked}'", hint="unset it")
    return asked == "emulated"


def reason() -> str:
    """Why the native trainer runs on a GPU here, or why not, as a part of a sentence."""
    if is_emulated():
        return "PUFFER_CUDA=emulated"
    return examine().reason


def choose_device(setting: str, asked: str = "train.device cuda") -> tuple[str, str]:
    """train.device of the native trainer -> ("cuda" or "cpu", why). auto imitates no GPU.

    asked    what asks for a GPU, if one is asked for
    Raises UsageError where a GPU is asked for and cannot be used.
    """
    if setting == "cpu":
        return "cpu", "train.device is cpu"
    if setting == "cuda" and is_emulated():
        return "cuda", reason()
    found = examine()
    if not found.problem:
        return "cuda", found.reason
    if setting == "cuda":
        raise UsageError(f"cannot train on a GPU: {found.problem}", where=asked,
                         hint=found.hint)
    return "cpu", found.problem


# ---- its library ------------------------------------------------------------------------------

def build(*, verbose: bool = False, fresh: bool = False) -> Path:
    """The library that train.device cuda runs here: for the GPUs that are there, or emulated."""
    return (build_emulated if is_emulated() else build_cuda_trainer)(verbose=verbose, fresh=fresh)


@cache
def _open(path: Path):
    return abi.trainer_ffi().dlopen(os.fspath(path))


def library():
    """That library, opened; compiled first where that is needed."""
    path = build()
    try:
        return _open(path)
    except OSError:                     # intact, and yet of another system: a shared cache, say
        path = build(fresh=True)
    try:
        return _open(path)
    except OSError as error:
        raise RunError("the trainer for GPUs does not open", where=path, detail=str(error),
                       hint="delete the file; until this is mended, --train.device cpu") from None


def build_cuda_trainer(archs: Sequence[str] | None = None, *, verbose: bool = False,
                       fresh: bool = False, strict: bool = False) -> Path:
    """The trainer's library for GPUs, compiled unless that was done before.

    archs    compute capabilities ("90", ...); None: those of the GPUs that are there
    strict   a warning is an error
    Raises BuildError where nvcc is not there or refuses.
    """
    nvcc, archs, command = _plan(archs, strict)
    folder = paths.writable(paths.cache_dir() / "trainer", purpose="the trainer for GPUs")
    return _compile(folder / _name(nvcc, command), command, archs, verbose=verbose, fresh=fresh)


def find_built(archs: Sequence[str] | None = None) -> Path | None:
    """What build_cuda_trainer would return without compiling; leaves no trace."""
    nvcc, _, command = _plan(archs, strict=False)
    library = paths.cache_dir() / "trainer" / _name(nvcc, command)
    return library if is_intact(library) else None


def _plan(archs: Sequence[str] | None, strict: bool) -> tuple[Nvcc, list[str], list[str]]:
    driver = find_driver()
    nvcc = find_nvcc(driver)
    problem, hint = nvcc_problem(nvcc, driver if archs is None else None)
    if problem:
        raise BuildError(f"the trainer for GPUs cannot be compiled: {problem}", hint=hint)
    if archs is None:
        archs = sorted({gpu.arch for gpu in driver.gpus}) if driver else []
        if not archs:
            raise BuildError("there is no GPU to compile the trainer for",
                             hint="name one: python -m puffer_sdk.training.native.cuda FILE "
                                  "--arch 90")
    return nvcc, list(archs), trainer_command(nvcc, archs, strict=strict)


def trainer_sources(device: str = "device_cuda.cu") -> list[Path]:
    """What its library is compiled of, in a fixed order."""
    kernels, trainer = paths.data_dir("kernels"), paths.data_dir("trainer")
    return [kernels / "cuda_kernels.cu", trainer / "cuda" / device,
            *sorted(kernels.glob("cuda_*.c")), *sorted((trainer / "cuda").glob("*.c")),
            *(trainer / name for name in SHARED_FILES)]


def include_dirs() -> list[Path]:
    return [paths.data_dir("kernels"), paths.data_dir("trainer"),
            paths.data_dir("trainer") / "cuda", paths.include_dir()]


def trainer_command(nvcc: Nvcc, archs: Sequence[str], *, strict: bool = False) -> list[str]:
    """How nvcc is called, but for `-o FILE`."""
    return [nvcc.path, *TRAINER_FLAGS, *(STRICT if strict else ()), *_targets(archs),
            *(f"-I{place}" for place in include_dirs()), *_link_path(nvcc), *_run_path(nvcc),
            *map(os.fspath, trainer_sources())]


def _targets(archs: Sequence[str]) -> list[str]:
    return [word for arch in archs
            for word in ("-gencode", f"arch=compute_{arch},code=sm_{arch}")]


def _link_path(nvcc: Nvcc) -> list[str]:
    """The wheels' own nvcc looks in lib64, and they have lib."""
    folder = nvcc.home / "lib"
    return [f"-L{folder}"] if (folder / "libcudart_static.a").is_file() else []


def _run_path(nvcc: Nvcc) -> list[str]:
    """Where the loader looks for cuBLASLt beside the places that it knows."""
    found = find_cublaslt(nvcc.version[0], nvcc)
    folder = str(found.parent) if found else ""
    if not folder or os.environ.get("PUFFER_CUBLASLT") or "," in folder:   # nvcc parts at commas
        return []
    return ["-Xlinker", "-rpath=" + folder.replace("\\", r"\\").replace(" ", r"\ ")]


def _host_compiler() -> str | None:
    """The C++ compiler that nvcc calls."""
    return shutil.which(os.environ.get("NVCC_CCBIN") or "g++")


def _host_version() -> str:
    done = compilers.run_compiler([_host_compiler() or "g++", "--version"],
                                  source=Path("g++"), what="nothing", timeout=20)
    return done.partition("\n")[0]


def _headers() -> list[Path]:
    return [path for place in include_dirs()[:3] for kind in ("*.h", "*.cuh")
            for path in sorted(place.glob(kind))]


def _name(nvcc: Nvcc, command: Sequence[str]) -> str:
    parts = [word for word in command if not word.startswith(("-I", "-L"))
             and word not in map(os.fspath, trainer_sources())]
    key = key_of([*trainer_sources(), *_headers(), abi.env_header()],
                 [*parts, nvcc.banner, _host_version()])
    return f"{NAME}-{key}.so"


def _compile(library: Path, command: Sequence[str], archs: Sequence[str], *, verbose: bool,
             fresh: bool) -> Path:
    names = ", ".join(f"sm_{arch}" for arch in archs)
    try:
        return compile_once(library, command, source=trainer_sources()[1],
                            what="the trainer for GPUs", keep=KEEP, verbose=verbose, fresh=fresh,
                            timeout=TIMEOUT,
                            said=f"compiling the trainer for {names}, once for this machine ...")
    except BuildError as error:
        error.hint = ("point NVCC_CCBIN at an older g++"
                      if "unsupported GNU version" in (error.detail or "") else
                      "these are our own sources: please report this with the lines above; "
                      "until then, --train.device cpu")
        raise


def build_emulated(*, verbose: bool = False, fresh: bool = False,
                   flags: Sequence[str] = ()) -> Path:
    """The same trainer for the CPU, over an imitated GPU: what PUFFER_CUDA=emulated runs."""
    compiler = compilers.find_compiler()
    sources = trainer_sources("device_emulated.cc")
    command = [*compiler.command, *EMULATED_FLAGS, *flags,
               *(() if sys.platform == "darwin" else ("-Wl,--no-undefined",)),
               *(f"-I{place}" for place in include_dirs()),
               "-x", "c++", *map(os.fspath, sources[:2]), "-x", "c", *map(os.fspath, sources[2:]),
               "-x", "none", "-lstdc++", "-lm", "-ldl"]
    key = key_of([*sources, *_headers(), abi.env_header()],
                 [*EMULATED_FLAGS, *flags, compiler.key, compilers.cpu_features_key()])
    folder = paths.writable(paths.cache_dir() / "trainer", purpose="the emulated trainer")
    return compile_once(folder / f"{EMULATED}-{key}.so", command, source=sources[1],
                        what="the emulated trainer", keep=KEEP, verbose=verbose, fresh=fresh,
                        timeout=TIMEOUT, said="compiling the trainer with an imitated GPU ...")


# ---- the kernels alone, which tests call ------------------------------------------------------

def build_kernels(library: Path, archs: Sequence[str] = ARCHS, *, strict: bool = False,
                  verbose: bool = False) -> Path:
    """All kernels in one library. Raises BuildError with what nvcc said."""
    nvcc = find_nvcc(find_driver())
    problem, hint = nvcc_problem(nvcc)
    if problem:
        raise BuildError(f"the kernels cannot be compiled: {problem}", hint=hint)
    source = paths.data_dir("kernels") / "cuda_kernels.cu"
    library.parent.mkdir(parents=True, exist_ok=True)
    compilers.compile_to(library, [nvcc.path, *FLAGS, *(STRICT if strict else ()),
                                   *_targets(archs), f"-I{source.parent}", os.fspath(source)],
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
        options.file.parent.mkdir(parents=True, exist_ok=True)
        compilers.compile_to(options.file, command, source=trainer_sources()[1],
                             what="the trainer for GPUs", verbose=True, timeout=TIMEOUT)
    except PufferError as error:
        ui.print_error(error)
        return error.exit_status
    ui.say(f"compiled for {', '.join(f'sm_{arch}' for arch in archs)}: {paths.shown(options.file)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
