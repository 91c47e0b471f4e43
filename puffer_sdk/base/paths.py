"""Where things are: package data, caches, environments, runs. The only file that knows."""
from __future__ import annotations

import atexit
import errno
import hashlib
import io
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from . import data, files
from .errors import DialectError, NotAnEnv, UsageError, did_you_mean

Env = str | os.PathLike[str]        # an environment's folder or name
PACKAGE = Path(data.PACKAGE)
shown, page = data.shown, data.page


def data_dir(name: str) -> Path:
    """`data.folder`."""
    return Path(data.folder(name))


def include_dir() -> Path:
    """The C headers every environment is compiled with."""
    return PACKAGE / "include"


def cache_dir() -> Path:
    """$PUFFER_CACHE, else $XDG_CACHE_HOME/puffer-sdk, else ~/.cache/puffer-sdk.

    Not created here. A caller that cannot write it falls back through `writable`.
    """
    own = os.environ.get("PUFFER_CACHE")
    if own:
        return files.typed(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return files.typed((Path(base) if base else Path.home() / ".cache") / "puffer-sdk")


def writable(folder: Path, *, purpose: str) -> Path:
    """folder, created; or, with one warning, a folder of the same name in the user's tmp.

    Raises RunError when neither can be written, files.Refused where folder is a link.
    """
    from . import ui
    from .errors import RunError

    fallback = stand_in(folder)
    for candidate in (folder, fallback):
        try:
            if candidate is fallback:
                make_private(candidate.parents[1])
            files.mkdir(candidate)
            files.remove(files.temporary(candidate / "probe"))
        except OSError as error:
            reason = error.strerror or str(error)
            continue
        if candidate is fallback:
            ui.warn_once(f"cannot write {folder}; using {fallback} for {purpose}")
        return candidate
    raise RunError(f"cannot write a folder for {purpose}", where=folder, detail=reason,
                   hint="make the folder writable, or point PUFFER_CACHE at one that is")


def stand_in(folder: Path) -> Path:
    """What `writable` uses where folder cannot be written; it need not exist."""
    own = hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()[:8]     # each build/ its own
    return _private_tmp(tempfile.gettempdir()) / own / folder.name


@cache
def _private_tmp(tmp: str) -> Path:
    """TMP/puffer-sdk-UID; where somebody else has made that, a folder of this process alone."""
    usual = files.typed(tmp) / f"puffer-sdk-{os.getuid()}"
    with suppress(OSError):             # one of ours that others could only read
        facts = usual.lstat()
        if stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid() \
                and not facts.st_mode & 0o022:
            usual.chmod(0o700)
    if not os.path.lexists(usual) or is_private(usual):
        return usual
    own = files.typed(tempfile.mkdtemp(prefix="puffer-sdk-", dir=tmp))
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    return own


def is_private(folder: Path) -> bool:
    """Whether this is a folder, and no link to one, that is this user's and nobody else's."""
    try:
        facts = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid() \
        and not facts.st_mode & 0o077


def make_private(folder: Path) -> None:
    """Make a folder for this user alone, unless it is one. Raises OSError if it is another's."""
    files.mkdir(folder)
    if not is_private(folder):
        folder.chmod(0o700)


def project_root(env_folder: Path) -> Path:
    """The nearest folder upward with .git or pyproject.toml; else the env folder's parent."""
    for folder in (env_folder, *env_folder.parents):
        if (folder / ".git").exists() or (folder / "pyproject.toml").is_file():
            return folder
    return env_folder.parent


def is_packaged(env_folder: Path) -> bool:
    """True for an example inside the installed package: nothing is written there."""
    return data_dir("examples") in files.real(env_folder).parents and (
        (PACKAGE / "data").is_dir() or not os.access(env_folder, os.W_OK))


def build_dir(env_folder: Path) -> Path:
    """Where this environment's build products go (created by the caller): a folder `build`.

    Its parent is on the include path of programs, which say #include "build/NAME_config.h".
    """
    if is_packaged(env_folder):
        return cache_dir() / "examples" / env_folder.name / "build"
    return env_folder / "build"


def working_dir(env_folder: Path) -> Path:
    """Where env code opens resources: the nearest folder upward that has resources/."""
    for folder in (env_folder, *env_folder.parents):
        if (folder / "resources").is_dir():
            return folder
    return env_folder


def checkout_includes(env_folder: Path) -> list[Path]:
    """Of an environment TREE/ocean/NAME, the folders that PufferLib's build.sh includes from."""
    tree = env_folder.parent.parent
    found = [folder for folder in (tree / "src", tree / "vendor") if folder.is_dir()]
    return [tree, *found] if found and env_folder.parent.name == "ocean" else []


def home_of_header(name: str, env_folder: Path) -> Path | None:
    """The folder of an environment's checkout from where #include "NAME" would be found."""
    tree, parts = env_folder.parent.parent, Path(name).parts
    found = [path for path in (all_below(tree) if checkout_includes(env_folder) else ())
             if path.parts[-len(parts):] == parts and path.is_file()]
    return min(found).parents[len(parts) - 1].relative_to(tree) if found else None


def runs_dir(env_folder: Path, runs: Path | None = None) -> Path:
    """runs/NAME at the project root, or under --runs-dir; the current folder's for examples."""
    return follow(runs_root(runs_home(env_folder), runs) / env_folder.name)


def runs_home(env_folder: Path) -> Path:
    """The folder whose runs/ has the runs of an environment."""
    return Path.cwd() if is_packaged(env_folder) else project_root(env_folder)


def runs_root(home: Path, runs: Path | None = None) -> Path:
    """The folder of all runs of a project: HOME/runs, or --runs-dir. Raises UsageError."""
    return files.typed(runs) if runs is not None else follow(files.real(home) / "runs")


def follow(folder: Path) -> Path:
    """`runs` or `runs/NAME`, or what it links to: people keep runs on another disk.

    Such a link is the only one that is followed below a folder that the user named: if it is the
    user's own, and leads to a folder of theirs that is empty or holds only runs. Raises UsageError.
    """
    if not folder.is_symlink():
        return folder
    target = files.real(folder)
    bad = "a link that git tracks: it came with the files" if _is_tracked(folder) else \
        f"a link to {target}, which is no folder" if not target.is_dir() else \
        f"a link to {target}, which belongs to somebody else" \
        if target.stat().st_uid != os.getuid() else None
    if not bad and (other := _no_run(target)):
        bad = f"a link to {target}, which holds {other}"
    if bad:
        raise UsageError(f"'{folder.name}' is a link that is not followed", where=folder,
                         expected="a folder; or a link to a folder of yours that is empty or holds "
                                  "only runs", actual=bad,
                         hint="remove the link; --runs-dir DIR keeps runs elsewhere")
    from . import ui
    ui.say_once(f"runs are in {target}: {shown(folder.parent)}/{folder.name} is a link")
    return target


def _no_run(folder: Path, levels: int = 8) -> str | None:
    """What a folder holds, so many levels down, that no training or sweep made."""
    for item in os.scandir(folder):
        if item.name in (".gitignore", ".DS_Store", "lost+found", "sweeps", ".report") or \
                re.fullmatch(r"\.(new|deleted)-.*", item.name):
            continue
        if not item.is_dir(follow_symlinks=False):
            return item.name
        if not os.path.isfile(os.path.join(item.path, "run.json")) and \
                (item.name.isdecimal() or not any(os.scandir(item.path))
                 or not levels or _no_run(Path(item.path), levels - 1)):
            return item.name
    return None


def _is_tracked(path: Path) -> bool:
    """Whether a repository has this path, or may have it: git cannot tell."""
    import subprocess

    if not any((folder / ".git").exists() for folder in path.parents):
        return False
    # A repository's config can name a program that watches its files: never run it
    words = ["git", "-c", "core.fsmonitor=false", "-C", str(path.parent), "ls-files",
             "--error-unmatch", "--", path.name]
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    try:
        return subprocess.run(words, env=clean, stdin=subprocess.DEVNULL,
                              capture_output=True).returncode != 1
    except OSError:
        return True


def content(path: str | os.PathLike[str], most: int = 64 << 20) -> bytes:
    """What a file of an author's holds: its code, its ini. A link is followed, as compilers do.

    Raises OSError, also for a pipe or a device, which may never end, and above `most` bytes.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    facts = os.fstat(handle)
    wrong = "a pipe, a device or a folder, not a file" if not stat.S_ISREG(facts.st_mode) else \
        f"a file of {facts.st_size:,} bytes; {most:,} are read at most" \
        if facts.st_size > most else None
    if wrong:
        os.close(handle)
        raise OSError(errno.EINVAL, f"it is {wrong}", os.fspath(path))
    with open(handle, "rb") as file:
        return file.read()


def text(path: str | os.PathLike[str], errors: str = "replace", encoding: str = "utf-8") -> str:
    """`content` as a text, lines ended by a line feed. Raises OSError, UnicodeDecodeError."""
    return io.StringIO(content(path).decode(encoding, errors), newline=None).read()


def c_files(folder: Path, *, below: bool = False) -> list[Path]:
    """The .c and .h files of a folder, in order; no pipes and devices, which never end.

    below   those of all folders below it as well
    """
    found = all_below(folder) if below else folder.glob("*.[ch]")
    return sorted(path for path in found if path.suffix in (".c", ".h") and path.is_file())


def all_below(folder: Path) -> Iterator[Path]:
    """All in a folder and those below it, links not followed. Not by recursion, as rglob: somebody
    else's folders may lie within each other without end."""
    waiting = [os.fspath(folder)]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                yield Path(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)


def header_of(folder: Path) -> Path:
    """NAME/NAME.h; where there is none, the first file of the folder that binding.c includes: a
    header, or C. Else binding.c itself, if it is PufferLib 4.0's: it has the environment's C, or
    includes it from elsewhere."""
    header, binding = folder / f"{folder.name}.h", folder / "binding.c"
    if header.is_file() or not binding.is_file():
        return header
    included = re.findall(r'^[ \t]*#[ \t]*include[ \t]*"([^"/\\]+)"', text(binding), re.M)
    own = [folder / name for name in included if (folder / name).is_file()]
    return next((path for path in own if path.suffix == ".h"), None) or next(
        iter(own), binding if "vecenv.h" in included else header)


_GPU = re.compile(r"(?m)^[ \t]*#[ \t]*define[ \t]+PUF_BACKEND[ \t]+PUF_GPU\b")
FORM5 = re.compile(r'(?m)^[ \t]*#[ \t]*include[ \t]*[<"](?:[^<>"\n]*/)?pufferenv\.h[">]')


def is_form5(header: Path) -> bool:
    """Whether a header has PufferLib 5.0's form, which needs no binding."""
    return header.is_file() and FORM5.search(text(header)) is not None


def on_gpu(header: Path) -> DialectError | None:
    """The refusal of an environment of PufferLib 5.0 that lives on a GPU: its header says so, or
    there is a NAME.cu alone."""
    device, where = header.with_suffix(".cu"), None
    if header.is_file():
        code = text(header)
        if found := _GPU.search(code):
            where = f"{header.name}:{code.count(chr(10), 0, found.start()) + 1}"
    elif device.is_file():
        where = shown(device)
    return where and DialectError(
        f"{header.stem} is a GPU environment of PufferLib 5.0, which puffer-sdk does not run",
        where=where, expected=f"{header.name}, in C", hint="run it with PufferLib") or None


def is_ocean(folder: Path) -> bool:
    """Whether an environment has a form of PufferLib's own, as its ini has."""
    return (folder / "binding.c").is_file() or is_form5(header_of(folder))


def is_env_folder(folder: Path) -> bool:
    """An environment is a folder that holds a header of its own name, or a binding.c that includes
    its files, or PufferLib 4.0's vecenv.h."""
    return header_of(folder).is_file()


def known_envs() -> list[Path]:
    """Environments that a bare name reaches: ./*, ./examples/*, ocean/*, the packaged examples."""
    seen: dict[str, Path] = {}
    here = Path.cwd()
    for parent in (here, here / "examples", here / "ocean", data_dir("examples")):
        if not parent.is_dir():
            continue
        for folder in sorted(parent.iterdir()):
            if folder.is_dir() and is_env_folder(folder) and folder != data_dir("kernels"):
                seen.setdefault(folder.name, folder)
    return list(seen.values())


def is_env(text: str) -> bool:
    """True if find_env would find it."""
    try:
        find_env(text)
    except UsageError:
        return False
    return True


def _in_utf8(folder: Path) -> Path:
    """The folder, if compilers and files can name it."""
    try:
        os.fspath(folder).encode()
    except UnicodeEncodeError:
        raise UsageError("the path of this environment is not UTF-8", where=repr(os.fspath(folder)),
                         hint="rename the folder whose name has another encoding") from None
    return folder


def find_env(env: Env | None = None) -> Path:
    """The absolute folder that ENV means: a path, a name, or (None) the current folder.

    Raises UsageError with the nearest name when there is no such environment, DialectError for one
    that lives on a GPU.
    """
    here = Path.cwd()
    if env is None:
        if is_env_folder(here):
            return _in_utf8(here)
        if refused := on_gpu(header_of(here)):
            raise refused
        raise NotAnEnv("this folder is not an environment", where=here,
                       expected=f"a header named {here.name}.h", actual="none",
                       hint="name an environment, or create one: puffer-sdk new my_env")
    if not isinstance(env, (str, os.PathLike)):
        raise UsageError("this is no environment's folder or name", expected="a path or a name, "
                         "such as 'my_env'", actual=type(env).__name__)
    text = os.fspath(env)
    path = Path(os.path.expanduser(text))
    if path.is_dir():
        folder = path.resolve()
        if is_env_folder(folder):
            return _in_utf8(folder)
    known = {folder.name: folder for folder in known_envs()}
    if text in known:
        return known[text].resolve()
    for folder in (path.resolve(), here / "ocean" / text):
        if refused := on_gpu(header_of(folder)):
            raise refused
    if path.is_dir():
        headers = sorted(item.name for item in path.glob("*.h"))
        found = f"only {', '.join(headers)}" if headers else "no header at all"
        raise NotAnEnv(f"'{text}' is not an environment", where=path.resolve(),
                       expected=f"a header named {path.resolve().name}.h", actual=found,
                       hint="name the folder and its header alike, or create one: puffer-sdk new "
                            "my_env")
    if ":" in text:
        raise UsageError(f"'{text}' is a Python environment; this command supports only C "
                         "environments",
                         hint="train, eval, check, play, export, profile, config, runs, report "
                              "and sweep take both")
    if re.search(r"-v\d+$", text):
        raise UsageError(f"there is no environment called '{text}'", where=here,
                         hint="environments of Gymnasium are named gymnasium:ID")
    raise UsageError(f"there is no environment called '{text}'", where=here,
                     hint=did_you_mean(text, known) or "create one: puffer-sdk new my_env")
