"""Names of environments.  a name -> why it cannot name a folder, a header and a struct, or None"""
from __future__ import annotations

import re
import shlex
import unicodedata
from contextlib import suppress

from ..base import paths
from ..base.errors import PufferError, UsageError

MAX_NAME = 64

# C11, C23 and C++20, including spelled operators; linux and unix are macros of gcc
KEYWORDS = frozenset("""
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t
    char32_t char8_t class co_await co_return co_yield compl concept const const_cast consteval
    constexpr constinit continue decltype default delete do double dynamic_cast else enum
    explicit export extern false float for friend goto if inline int linux long main mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public
    register reinterpret_cast requires restrict return short signed sizeof static static_assert
    static_cast struct switch template this thread_local throw true try typedef typeid typename
    typeof typeof_unqual union unix unsigned using virtual void volatile wchar_t while xor
    xor_eq
    """.split())

# Headers of C, of POSIX and of ours: NAME.h would come first on the include path
HEADERS = frozenset("""
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal
    stdalign stdarg stdatomic stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn
    string tgmath threads time uchar wchar wctype aio alloca cpio dirent dlfcn endian error
    fcntl features fmtmsg fnmatch ftw getopt glob grp iconv langinfo libgen malloc memory
    monetary mqueue ndbm netdb nl_types poll pthread pwd regex sched search semaphore spawn
    strings stropts syslog tar termios trace ulimit unistd utime utmpx values wordexp omp raylib
    raymath rlgl raygui cuda cuda_runtime cublas_v2 puffer_abi puffer_prelude pufferenv puffernet
    vecenv
    """.split())

# Types in the templates and in what they include, in every version of raylib
TYPES = frozenset("Log Agent Goal Chaser Dict DictItem Env StaticVec".split())

# Of ours, and what each is, in a line
TEMPLATES = {"squared": "one agent on a byte grid",
             "target": "many agents with float observations",
             "duel": "two players in turns, trained by self-play",
             "world": "agents that are born and die in a world that goes on",
             "picture": "one agent that sees only an image"}


def struct_name(name: str) -> str:
    """'my_env' -> 'MyEnv'"""
    return "".join(part.capitalize() for part in name.split("_"))


def validate_name(name: str) -> None:
    """Refuse a name that cannot name a folder, a header and a struct, and suggest one that can."""
    problem = name_problem(name)
    if problem is None:
        return
    folder, _, last = name.rpartition("/")
    if folder and name_problem(last) is None:
        hint = f"puffer-sdk new {last} --output-dir {shlex.quote(folder)}"
    else:
        hint = f"try: puffer-sdk new {suggest_name(name)}"
    shown = name if len(name) <= MAX_NAME else name[:MAX_NAME] + "..."
    raise UsageError(f"'{shown}' cannot name an environment: {problem}", hint=hint)


def name_problem(name: str) -> str | None:
    """What is wrong with a name, or None."""
    if not name:
        return "it is empty"
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name, re.ASCII):
            return ("it begins with '_', like the compiler's own names" if name[0] == "_" else
                    "folder and header are lower case")
        return ("it is used in C, so it is made of the letters a-z, digits and '_', "
                "and begins with a letter")
    if len(name) > MAX_NAME:
        return f"it has {len(name)} characters, and the limit is {MAX_NAME}"
    if name in KEYWORDS:
        return "it is a keyword of C or C++"
    if name == "binding":
        return "binding.c is the name of a hand-written binding"
    if name in HEADERS:
        return f"{name}.h would hide the header <{name}.h>"
    if struct_name(name) in TYPES or _is_taken(struct_name(name)):
        return f"its struct would be {struct_name(name)}, and raylib or puffer-sdk already has one"
    return None


def suggest_name(name: str) -> str:
    """The nearest name that is valid: 'My-Env' -> 'my_env', '2048' -> 'env_2048'."""
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).casefold()
    text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    text = re.sub(r"[^a-z0-9]+", "_", text).strip("_")
    if not text:
        return "my_env"
    if text[0].isdigit():
        text = "env_" + text
    text = text[:MAX_NAME].rstrip("_")
    return text if name_problem(text) is None else text[:MAX_NAME - 4].rstrip("_") + "_env"


def _is_taken(struct: str) -> bool:
    """Whether raylib's headers or ours use this word: a struct of that name would not compile."""
    from ..raylib import headers

    if len(struct) == 1:                        # single letters are macro parameters
        return False
    folders = [paths.include_dir()]
    with suppress(PufferError, OSError):        # without the wheel, the compiler will report it
        folders.append(headers.headers())
    word = re.compile(rf"\b{struct}\b")
    comments = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
    return any(word.search(comments.sub("", paths.text(header)))
               for folder in folders for header in sorted(folder.glob("*.h")))
