"""What this machine has and lacks. In: the machine. Out: one Finding per thing.

A probe is a small function that answers within a few seconds, whatever is broken, and never
raises: a doctor that needs a healthy patient is no use.
"""
from __future__ import annotations

import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

from ..base import paths
from ..base.errors import PufferError
from ..raylib import fetch, headers, recipes
from ..toolchain import compilers

SECONDS = 5             # what one program that a probe starts may take
OLDEST_PYTHON = (3, 10)


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    status    ok        it is there
              missing   needed, and not there or not working
              old       needed, and there in a version that will not do
              optional  not there; something optional needs it
    found     what was found, or what would need it
    get       how to get it, where there is something to get
    """

    name: str
    status: str
    found: str
    get: str | None = None

    def to_dict(self) -> dict[str, str | None]:
        """The finding as JSON shows it."""
        return asdict(self)


def examine() -> list[Finding]:
    """Every finding, in the order of the report. The probes run side by side."""
    with ThreadPoolExecutor(len(PROBES)) as pool:
        return list(pool.map(_shielded, PROBES))


def is_healthy(findings: Sequence[Finding]) -> bool:
    """True if everything is there that building and checking an environment needs."""
    return all(item.status in ("ok", "optional") for item in findings)


def _shielded(probe: Callable[[], Finding]) -> Finding:
    try:
        return probe()
    except Exception as error:      # noqa: BLE001   one broken probe must not hide the others
        name = probe.__name__.removeprefix("probe_")
        return Finding(name, "missing", f"could not be examined: {error}")


def ask(*command: str | os.PathLike, seconds: float = SECONDS) -> str | None:
    """What a program prints; None if it is not there, fails or takes too long."""
    try:
        return ask_in_time(*command, seconds=seconds)
    except TimeoutError:
        return None


def ask_in_time(*command: str | os.PathLike, seconds: float = SECONDS) -> str | None:
    """As ask; what takes too long is ended, and raises TimeoutError."""
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, start_new_session=True)
    except OSError:
        return None
    try:
        raw, _ = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"more than {seconds:g} seconds") from None
    finally:
        if child.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        child.stdout.close()
    return raw.decode(errors="replace").strip() if child.returncode == 0 else None


def _version_of(program: str) -> tuple[str, str] | None:
    """(version, path) of a program on PATH that says its version."""
    path = shutil.which(program)
    text = ask(path, "--version") if path else None
    if text is None:
        return None
    number = re.search(r"\d+(?:\.\d+)+", text)
    return (number.group() if number else text.partition("\n")[0]), path


def _tool(name: str, needed_for: str, get: str, program: str | None = None) -> Finding:
    """A program that only some things need."""
    found = _version_of(program or name)
    if found is None:
        return Finding(name, "optional", f"not found; {needed_for}", get)
    return Finding(name, "ok", f"{found[0]} ({found[1]})")


# ---- needed ----------------------------------------------------------------------------------

def probe_python() -> Finding:
    version = platform.python_version()
    if sys.version_info < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        return Finding("python", "old", f"{version}; {wanted} or newer is needed",
                       compilers.install_hint("python3"))
    return Finding("python", "ok", f"{version} ({sys.executable})")


def probe_compiler() -> Finding:
    """Finds the compiler and has it compile a program with the C library's headers."""
    try:
        compiler = compilers.find_compiler()
        with tempfile.TemporaryDirectory(prefix="puffer-sdk-") as folder:
            source = Path(folder) / "hello.c"
            source.write_text("#include <math.h>\n#include <stdio.h>\n"
                              "int main(void) { return puts(\"hello\") < 0; }\n")
            compilers.compile_to(Path(folder) / "hello", [*compiler.command, source, "-lm"],
                                 source=source, what="a first program", timeout=SECONDS)
    except (PufferError, OSError) as error:
        return _unusable("compiler", error)
    kind = "" if compiler.kind == "other" else f"{compiler.kind} "
    said = " ".join(compiler.command)
    return Finding("compiler", "ok", f"{kind}{compiler.version} ({said})")


def probe_raylib() -> Finding:
    """Finds the wheel and has the compiler read the headers that are made from it."""
    try:
        wheel = headers.find_wheel()
    except PufferError as error:
        return Finding("raylib", "missing", "the wheel with its headers is not installed",
                       error.hint)
    found = wheel.version if wheel.name == "raylib" else str(wheel)
    if f"raylib=={wheel.version}" != headers.PIN:
        found += f" (tested with {headers.PIN.partition('==')[2]})"
    try:
        compiler = compilers.find_compiler()
    except PufferError:
        return Finding("raylib", "ok", f"{found}; not compiled, for want of a compiler")
    try:
        with tempfile.TemporaryDirectory(prefix="puffer-sdk-") as folder:
            headers.write_files(wheel, Path(folder))
            source = Path(folder) / "raylib_null.c"
            compilers.run_compiler([*compiler.command, "-std=c11", "-fsyntax-only", f"-I{folder}",
                                    source], source=source, what="raylib.h", timeout=SECONDS)
    except (PufferError, OSError) as error:
        return _unusable("raylib", error)
    return Finding("raylib", "ok", f"{found}, headers compile")


def probe_raylib_desktop() -> Finding:
    """Which raylib opens windows: the source, or the wheel in its stead. Fetches nothing."""
    try:
        recipes.check_desktop_headers()
    except PufferError as error:
        try:
            return Finding("raylib_desktop", "optional",
                           f"{headers.find_wheel()}, the wheel; {error.message}", error.hint)
        except PufferError:
            return Finding("raylib_desktop", "optional", error.message, error.hint)
    found = _raylib_source("raylib_desktop")
    with suppress(PufferError):
        if found.status == "optional":
            return Finding(found.name, found.status,
                           f"{headers.find_wheel()}, the wheel; {found.found}", found.get)
    return found


def probe_raylib_headless() -> Finding:
    """Which raylib draws into memory, for pictures without a screen."""
    return _raylib_source("raylib_headless")


def probe_raylib_web() -> Finding:
    """Which raylib is compiled into web pages."""
    try:
        recipes.find_emcc()
    except PufferError as error:
        return Finding("raylib_web", "optional", "needs emscripten", error.hint)
    return _raylib_source("raylib_web")


def _raylib_source(name: str) -> Finding:
    """Where raylib's source is, or would come from."""
    get = "point PUFFER_RAYLIB at raylib's source, or unset it to have it fetched"
    given = os.environ.get("PUFFER_RAYLIB", "").strip()
    if os.path.isfile(given):                               # unpacked when it is needed
        return Finding(name, "ok", f"{given}, PUFFER_RAYLIB's archive")
    try:
        source = fetch.given_source()
    except PufferError as error:
        return Finding(name, "missing", f"PUFFER_RAYLIB={given} is not raylib's source: "
                       f"{error.actual}", get)
    if source is not None:
        return Finding(name, "ok", f"{fetch.version_of(source)}, PUFFER_RAYLIB={given}")
    source = fetch.cached_source()
    if source is not None:
        return Finding(name, "ok", f"{fetch.version_of(source)}, source from the cache")
    if fetch.is_offline():
        return Finding(name, "optional", "no source in the cache, and PUFFER_OFFLINE is set", get)
    hosts = list(dict.fromkeys(urlsplit(item.url).netloc or item.url
                               for item in fetch.archives()))
    return Finding(name, "ok", f"{fetch.VERSION}, fetched at the first build from "
                   + ", else ".join(hosts))


def probe_libclang() -> Finding:
    """libclang reads the author's header."""
    get = "pip install libclang"
    try:
        version = metadata.version("libclang")
    except metadata.PackageNotFoundError:
        return Finding("libclang", "missing", "not installed", get)
    loads = ask(sys.executable, "-c", "from clang import cindex; cindex.Index.create()")
    if loads is None:
        return Finding("libclang", "missing", f"{version} is installed but does not load",
                       f"{get} --force-reinstall")
    return Finding("libclang", "ok", version)


def probe_trainer() -> Finding:
    """Compiled or not; a child opens it, and says what it can do here."""
    from ..training.native import handle, library

    try:
        handle.choose_path()
    except PufferError as error:
        return Finding("trainer", "missing", f"{error.where}={error.actual} is not a path",
                       f"unset it, or one of {error.expected}")
    try:
        compilers.find_compiler()
    except PufferError:
        return Finding("trainer", "optional", "not compiled, for want of a compiler",
                       compilers.install_hint("gcc"))
    try:
        built = library.find_built()
    except PufferError as error:
        return Finding("trainer", "missing", error.message, error.hint)
    if built is None:
        return Finding("trainer", "ok", "not compiled yet; the first training does, once")
    said = ask(sys.executable, "-c", _ASK_TRAINER)
    if said is None:
        return Finding("trainer", "missing", f"{built} does not open",
                       "delete it: it is compiled again")
    *names, bf16 = said.splitlines()[-1].split()
    return Finding("trainer", "ok", f"compiled; {', '.join(reversed(names))}"
                   + (", bf16" if bf16 == "True" else "; no bf16"))


_ASK_TRAINER = """
from puffer_sdk.training.native import library
print(*library.available_paths(), library.has_bf16())
"""


def probe_cache() -> Finding:
    """Built libraries and generated headers are kept here."""
    folder = paths.cache_dir()
    reason = _cannot_write(folder)
    if reason is None:
        return Finding("cache", "ok", str(folder))
    get = "make it writable, or point PUFFER_CACHE at a folder that is"
    spare = Path(tempfile.gettempdir())
    if _cannot_write(spare) is None:
        return Finding("cache", "optional",
                       f"{folder} cannot be written ({reason}); {spare} stands in", get)
    return Finding("cache", "missing", f"{folder} cannot be written ({reason})", get)


def _cannot_write(folder: Path) -> str | None:
    """Why nothing can be written there. Leaves the disk as it was."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".puffer-sdk-") as file:
            file.write(b"\0" * 4096)
            file.flush()
    except OSError as error:
        return error.strerror or str(error)
    return None


def _unusable(name: str, error: Exception) -> Finding:
    if not isinstance(error, PufferError):
        return Finding(name, "missing", f"could not be tried: {error}")
    first = (error.detail or "").strip().partition("\n")[0]
    return Finding(name, "missing", error.message + (f": {first}" if first else ""), error.hint)


# ---- needed for some things ------------------------------------------------------------------

def probe_torch() -> Finding:
    """The version is read from the metadata; torch is imported in a child, and only if there."""
    try:
        version = metadata.version("torch")
    except metadata.PackageNotFoundError:
        return Finding("torch", "optional", "not installed; a network of your own needs it",
                       "pip install 'puffer-sdk[torch]'")
    try:
        said = ask_in_time(sys.executable, "-c", _ASK_TORCH)
    except TimeoutError as error:
        return Finding("torch", "ok", f"{version}; importing it took {error}")
    problem = "it ended its process" if said is None else said.partition(_FAILED)[2]
    if problem:
        return Finding("torch", "optional", f"{version}, but importing it failed: {problem}",
                       "pip install --force-reinstall 'puffer-sdk[torch]'")
    cuda, available = said.splitlines()[-1].split()
    if cuda == "none":
        return Finding("torch", "ok", f"{version}, CPU build")
    usable = "with a usable GPU" if available == "True" else "without a usable GPU"
    return Finding("torch", "ok", f"{version}, CUDA {cuda} build, {usable}")


_FAILED = "failed: "
_ASK_TORCH = f"""
try:
    import torch
except Exception as error:
    first = (str(error).splitlines() or [type(error).__name__])[0]
    print({_FAILED!r} + first)
else:
    print(torch.version.cuda or "none", torch.cuda.is_available())
"""


def probe_gpu() -> Finding:
    """What the driver says of itself and of the first GPU."""
    from ..toolchain import cuda_finding, gpu

    driver = cuda_finding.find_driver()
    if driver is None:
        return Finding("gpu", "optional", "no NVIDIA driver; training runs on the CPU")
    problem, hint = gpu.driver_problem(driver)
    if problem:
        return Finding("gpu", "optional", problem, hint)
    first, count = driver.gpus[0], len(driver.gpus)
    return Finding("gpu", "ok", (f"{count} GPUs, the first: " if count > 1 else "")
                   + f"{first.name} (sm_{first.arch}), {first.memory / 2**30:.0f} GiB, "
                   "driver for CUDA " + cuda_finding.shown(driver.version))


def probe_nvcc() -> Finding:
    """The CUDA compiler that would be taken; whether it fits the driver, cuda_trainer says."""
    from ..toolchain import cuda_finding, gpu

    nvcc = cuda_finding.find_nvcc(cuda_finding.find_driver())
    problem, hint = gpu.nvcc_problem(nvcc)
    if nvcc is None:
        return Finding("nvcc", "optional", f"{problem}; training on an NVIDIA GPU needs it", hint)
    return Finding("nvcc", "optional" if problem else "ok", problem or str(nvcc), hint)


def probe_cublaslt() -> Finding:
    """The library that multiplies matrices on a GPU."""
    from ..toolchain import cuda_finding, gpu

    nvcc = cuda_finding.find_nvcc(cuda_finding.find_driver())
    if nvcc is None:
        return Finding("cublaslt", "optional", "not looked for, for want of nvcc",
                       cuda_finding.INSTALL)
    found = cuda_finding.find_cublaslt(nvcc.version[0], nvcc)
    problem, hint = gpu.cublaslt_problem(found, nvcc)
    if problem:
        return Finding("cublaslt", "optional",
                       f"{problem}; training on an NVIDIA GPU needs it", hint)
    return Finding("cublaslt", "ok", str(found))


def probe_nvrtc() -> Finding:
    """The library that compiles environments for a GPU."""
    from ..toolchain import nvrtc

    try:
        found = nvrtc.find()
    except PufferError as error:
        return Finding("nvrtc", "optional", error.message, error.hint)
    return Finding("nvrtc", "ok", f"{found.version[0]}.{found.version[1]} ({found.path})")


def probe_cuda_trainer() -> Finding:
    """Whether driver, compiler and library fit each other, and what is compiled already."""
    from ..toolchain import gpu
    from ..training.native import cuda

    try:
        if gpu.is_emulated():
            return Finding("cuda_trainer", "ok", f"an emulated GPU ({gpu.reason()})")
        found = gpu.examine()
        if found.problem:
            return Finding("cuda_trainer", "optional", f"training runs on the CPU: {found.problem}",
                           found.hint if found.driver else None)
        built = cuda.find_built()
    except PufferError as error:
        return _unusable("cuda_trainer", error)
    return Finding("cuda_trainer", "ok", f"{found.reason}; "
                   + ("compiled" if built else "not compiled yet; the first training does, once"))


def probe_emscripten() -> Finding:
    return _tool("emscripten", "the web build needs it", compilers.install_hint("emscripten"),
                 program="emcc")


def probe_make() -> Finding:
    return _tool("make", "the Makefile's targets need it", compilers.install_hint("make"))


def probe_git() -> Finding:
    return _tool("git", "'new' starts a repository with it", compilers.install_hint("git"))


def probe_gdb() -> Finding:
    return _tool("gdb", "'debug' opens it, else lldb", compilers.install_hint("gdb"))


def probe_clang() -> Finding:
    return _tool("clang", "a second opinion beside gcc", compilers.install_hint("clang"))


def probe_valgrind() -> Finding:
    return _tool("valgrind", "a slower, deeper memory check uses it",
                 compilers.install_hint("valgrind"))


PROBES = (probe_python, probe_compiler, probe_raylib, probe_raylib_desktop, probe_raylib_headless,
          probe_raylib_web, probe_libclang, probe_cache, probe_trainer, probe_make, probe_git,
          probe_torch, probe_gpu, probe_nvcc, probe_cublaslt, probe_nvrtc,
          probe_cuda_trainer, probe_emscripten, probe_gdb, probe_clang, probe_valgrind)
