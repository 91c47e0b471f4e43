"""Every write, delete and read of what we keep on disk.  text, bytes or a stream <-> PATH

A path that a user typed is resolved once, where it comes in (`typed`; paths.py does it for the
environment's folder, --runs-dir and the cache). From then on no link is followed: each call here
opens the folders of its path one by one, and refuses a link among them. So nothing that came with
an environment, a run or a sweep leads out of its folder.

Files are written under a temporary name in the same folder and renamed when they are complete: a
reader sees the old file or the new one, and a failure leaves the old one.

    write               a text or bytes; raises OSError
    save                the same for a user's file; raises RunError
    save_typed          the same where a user typed the path: a link stays one, a device is written
    write_if_changed    a generated text; raises RunError
    replacing           a path for another program to write to
    private             a folder of our own for what other programs write; `move` fetches it
    beside, temporary   for several files that take their places together
    open, read          a regular file; never a link, a pipe or a device; `refuse` says it before
    mkdir, rename, remove, rmdir, rmtree
    name                refuses a name from a file that could lead elsewhere
    refused             turns an OSError into a RunError
"""
from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from .errors import Refused, RunError, UsageError

_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(
    os, "O_PATH", getattr(os, "O_SEARCH", os.O_RDONLY))     # to pass through, not to list
_MODES = {"rb": os.O_RDONLY, "wb": os.O_WRONLY | os.O_CREAT, "rb+": os.O_RDWR,
          "ab": os.O_WRONLY | os.O_CREAT | os.O_APPEND, "ab+": os.O_RDWR | os.O_CREAT | os.O_APPEND}
SPARE = "free some space, or choose another place"


# ---- paths and names -----------------------------------------------------------------------------

def typed(path: str | os.PathLike[str]) -> Path:
    """The path that a user typed, as `real` has it; ~ is the home folder."""
    return real(os.path.expanduser(path))


def real(path: str | os.PathLike[str]) -> Path:
    """The path, absolute and with its links resolved; links that lead in a circle stay."""
    return Path(os.path.realpath(path))


def name(text: object, what: str, *, where: object = None) -> str:
    """`text`, if it is the name of one file. Raises UsageError.

    what    "the environment's name": what it is
    where   the file that it comes from
    """
    if not isinstance(text, str) or not text.strip(".") or not text.isprintable() \
            or "/" in text or "\\" in text or len(text.encode()) > 200:
        raise UsageError(f"{what} is not a name", where=where, actual=repr(text),
                         expected="up to 200 characters, without separators, control characters "
                                  "and '..'")
    return text


def below(folder: Path, text: object, what: str, *, where: object = None) -> Path:
    """FOLDER/TEXT, where TEXT comes from a file. Raises UsageError for '..', an absolute path and
    control characters.

    what    "the file of the weights": what it is
    where   the file that it comes from
    """
    if not isinstance(text, str) or not text.isprintable() or not (parts := Path(text).parts) \
            or ".." in parts or Path(text).is_absolute():
        raise UsageError(f"{what} is outside its folder", where=where, actual=repr(text),
                         expected=f"a path below {folder}, without '..' and control characters")
    return folder / text


def _refuse(folder: int, part: str, path: Path, expected: str) -> None:
    """Raises Refused if `part` of this open folder is a link, a pipe or a device."""
    try:
        mode = os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:
        return
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return
    actual, hint = ("a pipe or a device", "remove it") if not stat.S_ISLNK(mode) else (
        f"a link to {os.readlink(part, dir_fd=folder)}",
        "remove the link; links below an environment, a run or a sweep are not followed")
    raise Refused(f"'{part}' is not {expected}", where=path, expected=expected, actual=actual,
                  hint=hint)


def refuse(path: str | os.PathLike[str]) -> None:
    """Raises Refused if no file of ours can be at PATH: before work that would be lost."""
    with contextlib.suppress(FileNotFoundError), _folder_of(path) as (folder, part):
        _refuse(folder, part, Path(path), "a file")


def _enter(folder: Path, make: bool = False) -> int:
    """A descriptor of a folder, opened component by component. Raises OSError, Refused.

    make    create the folders that are missing
    """
    parts = folder.parts if folder.is_absolute() else (Path.cwd() / folder).parts
    if ".." in parts:
        raise Refused("a path leads upwards", where=folder, expected="a path without '..'",
                      actual=str(folder))
    here = os.open(parts[0], _FOLDER)
    for count, part in enumerate(parts[1:], 2):
        try:
            try:
                inner = os.open(part, _FOLDER, dir_fd=here)
            except FileNotFoundError:
                if not make:
                    raise
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=here)
                inner = os.open(part, _FOLDER, dir_fd=here)
        except OSError as error:
            try:
                if error.errno in (errno.ENOTDIR, errno.ELOOP, errno.EMLINK):
                    _refuse(here, part, Path(*parts[:count]), "a folder")
            finally:
                os.close(here)
            raise
        os.close(here)
        here = inner
    return here


@contextlib.contextmanager
def _folder_of(path: str | os.PathLike[str], make: bool = False) -> Iterator[tuple[int, str]]:
    """(descriptor of the folder that holds PATH, its name there)."""
    path = Path(path)
    folder = _enter(path.parent, make)
    try:
        yield folder, path.name
    except OSError as error:        # the system's word has a part of the path alone
        error.filename = error.filename and str(path)
        raise
    finally:
        os.close(folder)


# ---- reading -------------------------------------------------------------------------------------

def open(path: str | os.PathLike[str], mode: str = "rb", buffering: int = -1) -> IO[bytes]:
    """A regular file, opened in mode rb, wb, rb+, ab or ab+. Raises OSError, or Refused for a link,
    a pipe or a device; and, to write, for a file with a second name, which may lie anywhere."""
    path = Path(path)
    with _folder_of(path) as (folder, part):
        try:
            handle = os.open(part, _MODES[mode] | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC,
                             0o666, dir_fd=folder)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.EWOULDBLOCK):
                _refuse(folder, part, path, "a file")
            raise
        facts = os.fstat(handle)
        try:
            if stat.S_ISDIR(facts.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
            if not stat.S_ISREG(facts.st_mode):
                _refuse(folder, part, path, "a file")
            if mode != "rb" and facts.st_nlink > 1:
                raise Refused(f"'{part}' has another name, a hard link", where=path,
                              expected="a file with one name, to change it in place",
                              actual=f"{facts.st_nlink} names",
                              hint=f"replace it with a copy: cp {part} copy && mv copy {part}")
            if mode == "wb":
                os.ftruncate(handle, 0)
        except BaseException:
            os.close(handle)
            raise
    return os.fdopen(handle, mode, buffering)


def read(path: str | os.PathLike[str], most: int = 1 << 30) -> bytes:
    """What a regular file holds. Raises OSError, or Refused for anything else and for more than
    `most` bytes."""
    with open(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise Refused("this file is too large", where=path,
                          expected=f"{most:,} bytes or less", actual=f"{size:,}")
        return file.read(most)


def is_file(path: str | os.PathLike[str]) -> bool:
    """Whether a regular file is there, and no link on the way."""
    try:
        with _folder_of(path) as (folder, part):
            return stat.S_ISREG(os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode)
    except (OSError, Refused):
        return False


# ---- writing -------------------------------------------------------------------------------------

def write(path: str | os.PathLike[str], content: str | bytes, *, durable: bool = False) -> None:
    """A file with this content (a text as UTF-8). Raises OSError, Refused.

    durable     wait until it is on the disk, so that a crash of the machine cannot undo it
    """
    with replacing(path) as draft, open(draft, "rb+") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        if durable:
            file.flush()
            os.fsync(file.fileno())


def save(path: Path, content: str | bytes, *, what: str,
         hint: str = f"{SPARE}: --runs-dir") -> None:
    """`write` for a user's file. Raises RunError, Refused.

    what    "the policy": what an error says could not be saved
    """
    with refused(f"cannot save {what}", where=path, hint=hint):
        write(path, content)


def save_typed(path: Path, content: str | bytes, *, what: str, hint: str = SPARE) -> None:
    """`save` where a user typed the path: a link stays one, and the file that it names is replaced.

    A device or a pipe is written to as it is: to rename a file over /dev/null would remove it.
    """
    place = typed(path)
    if not place.exists() or place.is_file():
        return save(place, content, what=what, hint=hint)
    with refused(f"cannot save {what}", where=path, hint=hint):
        place.write_bytes(content.encode() if isinstance(content, str) else content)


def write_if_changed(path: Path, text: str) -> Path:
    """`write`, with the folder made, unless the file holds this text already: its time stamp
    then stays. Raises RunError, Refused."""
    with refused(f"cannot write {path.name}", where=path):
        mkdir(path.parent)
        if not is_file(path) or read(path) != text.encode():
            write(path, text)
    return path


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], *, mode: int = 0o666) -> Iterator[Path]:
    """An empty temporary file that takes the place of `path` once the block has succeeded.

    mode    permissions, less the umask
    Raises OSError, Refused. When the block fails, nothing is left of the temporary file.
    """
    draft = temporary(Path(path), mode=mode)
    try:
        yield draft
        rename(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):
            remove(draft)
        raise


def temporary(place: Path, *, mode: int = 0o666, suffix: str | None = None) -> Path:
    """A new, empty file in the folder of `place`: .a.png.4711.png. Raises OSError, Refused.

    suffix    of its name, for a library that goes by it; that of `place` unless given
    """
    with _folder_of(place) as (folder, part):
        _refuse(folder, part, place, "a file")
        number, end = 0, place.suffix if suffix is None else suffix
        while True:
            draft = f".{part}.{os.getpid()}{f'-{number}' if number else ''}{end}"
            with contextlib.suppress(FileExistsError):
                os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, mode,
                                 dir_fd=folder))
                return place.with_name(draft)
            number += 1


def beside(place: Path, data: bytes) -> Path:
    """A temporary file with this content, and the permissions of `place` if it exists."""
    draft = temporary(place)
    try:
        with open(draft, "rb+") as file:
            file.write(data)
            if is_file(place):
                os.fchmod(file.fileno(), stat.S_IMODE(os.lstat(place).st_mode))
    except BaseException:
        remove(draft)
        raise
    return draft


@contextlib.contextmanager
def private(prefix: str = "puffer-", *, inside: Path | None = None) -> Iterator[Path]:
    """A new folder that only this user can enter, for what other programs write; removed at the
    end. Raises OSError, Refused.

    inside  the folder to make it in, where results are to be renamed and not copied; else the
            user's folder for temporary files
    """
    if inside:
        os.close(_enter(inside))
    home = Path(tempfile.mkdtemp(prefix=prefix, dir=inside)).resolve()
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def move(source: Path, target: Path) -> None:
    """Put a file that another program wrote, in a private folder, to its place. Raises OSError,
    Refused."""
    if source.is_symlink() or not source.is_file():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(source))
    try:
        rename(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with replacing(target, mode=stat.S_IMODE(source.stat().st_mode)) as draft:
            shutil.copyfile(source, draft)
        remove(source)


# ---- folders, renaming, removing; errors ---------------------------------------------------------

def mkdir(path: str | os.PathLike[str], *, new: bool = False) -> None:
    """A folder, with those above it. Raises OSError, Refused.

    new     it must not exist: FileExistsError
    """
    if new:
        with _folder_of(path, make=True) as (folder, part):
            os.mkdir(part, dir_fd=folder)
    else:
        os.close(_enter(Path(path), make=True))


def rename(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Raises OSError, or Refused where a link, a pipe or a device would be replaced."""
    with _folder_of(source) as (old, part), _folder_of(target) as (new, other):
        _refuse(new, other, Path(target), "a file")
        os.replace(part, other, src_dir_fd=old, dst_dir_fd=new)


def remove(path: str | os.PathLike[str]) -> None:
    """A file, if it is there; a link itself, never its target. Raises OSError, Refused."""
    with contextlib.suppress(FileNotFoundError), _folder_of(path) as (folder, part):
        os.unlink(part, dir_fd=folder)


def rmdir(path: str | os.PathLike[str]) -> None:
    """An empty folder. Raises OSError, Refused."""
    with _folder_of(path) as (folder, part):
        os.rmdir(part, dir_fd=folder)


def rmtree(path: str | os.PathLike[str], *, ignore_errors: bool = False) -> None:
    """A folder and all in it, if it is there; links in it are removed, their targets stay.

    Raises OSError, and Refused where the path itself is a link, even with ignore_errors.
    """
    errors = contextlib.suppress(OSError) if ignore_errors else contextlib.nullcontext()
    with contextlib.suppress(FileNotFoundError), _folder_of(path) as (folder, part):
        _refuse(folder, part, Path(path), "a folder")
        try:
            _remove(folder, part, errors)
        except RecursionError:
            with errors:
                raise OSError(errno.ENAMETOOLONG, "folders in folders, too deep", path) from None


def _remove(above: int, part: str, errors: contextlib.AbstractContextManager[object]) -> None:
    """os.fwalk opens what a link leads to, to see what it is; here nothing of it is opened."""
    with errors:
        if not stat.S_ISDIR(os.stat(part, dir_fd=above, follow_symlinks=False).st_mode):
            os.unlink(part, dir_fd=above)
            return
        folder = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
        try:
            for name in os.listdir(folder):
                _remove(folder, name, errors)
        finally:
            os.close(folder)
        os.rmdir(part, dir_fd=above)


@contextlib.contextmanager
def refused(message: str, *, where: object, hint: str | None = None) -> Iterator[None]:
    """An OSError inside becomes a RunError that says `message` and what the system said."""
    try:
        yield
    except OSError as error:
        raise RunError(message, where=where, detail=error.strerror or str(error),
                       hint=hint) from None
