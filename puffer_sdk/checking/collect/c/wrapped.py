"""Calls of the env that the harness answers or watches: flags of the compiler and the linker.

Linux's linker sends a call of NAME to __wrap_NAME. macOS's cannot: there the preprocessor does,
after the headers that declare the names. What a compiler makes of itself (a memcpy of a struct)
is not seen there.
"""
import sys
from collections.abc import Iterable
from pathlib import Path

from ....base import files

# calls of the env that play/allocations.c answers
_WRAPPED = ("malloc", "calloc", "realloc", "reallocarray", "free", "strdup", "strndup", "memalign",
            "aligned_alloc", "posix_memalign", "asprintf", "vasprintf")
# and play/outside.c
_TOLD = ("fopen", "open", "openat", "creat", "opendir", "remove", "unlink", "rmdir", "rename",
         "mkdir", "dlopen", "socket", "connect", "bind", "sendto", "getaddrinfo", "system", "popen",
         "execve", "execv", "execvp", "execl", "execlp", "posix_spawn", "posix_spawnp", "fork",
         "kill")
_HEADERS = ("dirent", "dlfcn", "fcntl", "netdb", "signal", "spawn", "stdio", "stdlib", "string",
            "sys/socket", "sys/stat", "unistd")
_GLIBC = ("reallocarray", "memalign")


def flags(more: Iterable[str], folder: Path, *, opened: bool) -> tuple[list[str], list[str]]:
    """Flags for compiling, and for linking, an env as a shared library.

    more    functions beside those above
    opened  whether calls of files and of the system are watched, too; gcc's coverage opens files
    """
    names = (*_WRAPPED, *(_TOLD if opened else ()), *more)
    if sys.platform != "darwin":
        return [], ["-shared", *(f"-Wl,--wrap={name}" for name in names)]
    header = folder / "redirected.h"
    files.write(header, "".join([
        "#pragma once\n", *(f"#include <{name}.h>\n" for name in _HEADERS),
        *(f"#undef {name}\nextern __typeof__({name}) __wrap_{name};\n#define {name} __wrap_{name}\n"
          for name in names if name not in _GLIBC)]))
    # and one namespace, so that clocks are those of play/clocks.c
    return ["-include", str(header)], ["-dynamiclib", "-undefined", "dynamic_lookup",
                                       "-Wl,-flat_namespace"]
