"""What every machine is asked: Python, compilers, tools.  the machine -> Findings

Each probe answers within a few seconds and never raises, whatever is broken: doctor must also work
where nothing else does.
"""
from __future__ import annotations

import platform
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from ..base import extras, files, paths
from ..base.errors import PufferError
from ..base.processes import python_code
from ..toolchain import compilers
from .probe_program import SECONDS, Finding, ask, ask_in_time, tool, unusable

OLDEST_PYTHON = (3, 10)


# ---- needed ----------------------------------------------------------------------------------

def probe_system() -> Finding:
    """Linux, WSL as well, is tested; macOS is only compiled for."""
    name, machine = platform.system(), platform.machine()
    if name == "Darwin":
        return Finding("system", "optional", f"macOS {machine}: all C compiles for it, but no Mac "
                       "has run puffer-sdk yet", "report what fails here, or use Linux")
    wsl = ", in WSL" if "microsoft" in platform.release().lower() else ""
    return Finding("system", "ok", f"{name} {machine}{wsl}")


def probe_python() -> Finding:
    version = platform.python_version()
    if sys.version_info < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        return Finding("python", "old", f"{version}; {wanted} or newer is needed",
                       compilers.install_hint("python3"))
    return Finding("python", "ok", f"{version} ({sys.executable})")


def probe_compiler() -> Finding:
    """Find the compiler, and compile a program that includes C library headers."""
    try:
        compiler = compilers.find_compiler()
        with files.private("puffer-sdk-") as folder:
            source = Path(folder) / "hello.c"
            files.write(source, "#include <math.h>\n#include <stdio.h>\n"
                              "int main(void) { return puts(\"hello\") < 0; }\n")
            compilers.compile_to(Path(folder) / "hello", [*compiler.command, source, "-lm"],
                                 source=source, what="a first program", timeout=SECONDS)
    except (PufferError, OSError) as error:
        return unusable("compiler", error)
    kind = "" if compiler.kind == "other" else f"{compiler.kind} "
    said = " ".join(compiler.command)
    return Finding("compiler", "ok", f"{kind}{compiler.version} ({said})")


def probe_libclang() -> Finding:
    """libclang reads the author's header."""
    get = "pip install libclang"
    try:
        version = metadata.version("libclang")
    except metadata.PackageNotFoundError:
        return Finding("libclang", "missing", "not installed", get)
    loads = ask(*python_code("from clang import cindex; cindex.Index.create()"))
    if loads is None:
        return Finding("libclang", "missing", f"{version} is installed but does not load",
                       f"{get} --force-reinstall")
    return Finding("libclang", "ok", version)


def probe_trainer() -> Finding:
    """Whether it is compiled; a child opens it, and prints what it can do here."""
    from ..training.native import handle, trainer_library

    try:
        handle.choose_path()
    except PufferError as error:
        return Finding("trainer", "missing", f"{error.where}={error.actual} is not a path",
                       f"unset it, or set one of {error.expected}")
    try:
        compilers.find_compiler()
    except PufferError:
        return Finding("trainer", "optional", "not compiled: there is no compiler",
                       compilers.install_hint("gcc"))
    try:
        built = trainer_library.find_built()
    except PufferError as error:
        return Finding("trainer", "missing", error.message, error.hint)
    if built is None:
        return Finding("trainer", "ok", "not compiled yet; the first training does it")
    said = ask(*python_code(_ASK_TRAINER))
    if said is None:
        return Finding("trainer", "missing", f"cannot load {built}",
                       "delete it, and it is compiled again")
    *names, bf16 = said.splitlines()[-1].split()
    return Finding("trainer", "ok", f"compiled; {', '.join(reversed(names))}"
                   + (", bf16" if bf16 == "True" else "; no bf16"))


_ASK_TRAINER = """
from puffer_sdk.training.native import trainer_library
print(*trainer_library.available_paths(), trainer_library.has_bf16())
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
                       f"{folder} cannot be written ({reason}); {spare} is used instead", get)
    return Finding("cache", "missing", f"{folder} cannot be written ({reason})", get)


def _cannot_write(folder: Path) -> str | None:
    """Why nothing can be written there; None if it can. Leaves nothing on disk."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".puffer-sdk-") as file:
            file.write(b"\0" * 4096)
            file.flush()
    except OSError as error:
        return error.strerror or str(error)
    return None


# ---- needed for some things ------------------------------------------------------------------

def probe_torch() -> Finding:
    """The version comes from the metadata; a child imports torch if it is installed."""
    try:
        version = metadata.version("torch")
    except metadata.PackageNotFoundError:
        return Finding("torch", "optional", "not installed; a network of your own needs it",
                       extras.install_torch())
    try:
        said = ask_in_time(*python_code(_ASK_TORCH))
    except TimeoutError as error:
        return Finding("torch", "ok", f"{version}; importing it took {error}")
    problem = "it ended its process" if said is None else said.partition(_FAILED)[2]
    if said is None or problem:
        return Finding("torch", "optional", f"{version}, but importing it failed: {problem}",
                       extras.install_torch().replace("install", "install --force-reinstall", 1))
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


def probe_emscripten() -> Finding:
    return tool("emscripten", "the web build needs it", compilers.install_hint("emscripten"),
                 program="emcc")


def probe_make() -> Finding:
    return tool("make", "the Makefile's targets need it", compilers.install_hint("make"))


def probe_git() -> Finding:
    return tool("git", "'new' starts a repository with it", compilers.install_hint("git"))


def probe_gdb() -> Finding:
    return tool("gdb", "'debug' opens it, else lldb", compilers.install_hint("gdb"))


def probe_clang() -> Finding:
    return tool("clang", "a second compiler to check with", compilers.install_hint("clang"))


def probe_valgrind() -> Finding:
    return tool("valgrind", "check --deep uses it",
                 compilers.install_hint("valgrind"))
