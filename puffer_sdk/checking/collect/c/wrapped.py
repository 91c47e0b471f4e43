"""Calls of the env that the harness answers or watches: flags of the linker."""
from __future__ import annotations

# calls of the env that play/allocations.c answers
_WRAPPED = ("malloc", "calloc", "realloc", "reallocarray", "free", "strdup", "strndup", "memalign",
            "aligned_alloc", "posix_memalign", "asprintf", "vasprintf")
# and play/outside.c
_TOLD = ("fopen", "open", "openat", "creat", "opendir", "remove", "unlink", "rmdir", "rename",
         "mkdir", "dlopen", "socket", "connect", "bind", "sendto", "getaddrinfo", "system", "popen",
         "execve", "execv", "execvp", "execl", "execlp", "posix_spawn", "posix_spawnp", "fork",
         "kill")
WRAP = tuple(f"-Wl,--wrap={name}" for name in (*_WRAPPED, *_TOLD))
WRAP_OURS = tuple(f"-Wl,--wrap={name}" for name in _WRAPPED)       # gcc's coverage opens files
