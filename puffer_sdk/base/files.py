"""Files that are written whole or not at all.  text, bytes or a stream -> PATH

Everything is written under a temporary name in the same folder and renamed when it is complete:
a reader sees the old file or the new one, and a failure leaves the old one. A symbolic link stays
one; the file that it names is replaced.

    write               a text or bytes; raises OSError
    save                the same for a user's file; raises RunError, and writes to a device as it is
    write_if_changed    a generated text; raises RunError
    replacing           a path for another program to write to
    beside, temporary   for several files that take their places together
    Draft               a stream that is kept or dropped in the end
    refused             turns an OSError into a RunError
"""
from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

from .errors import RunError, UsageError


def write(path: Path, content: str | bytes, *, durable: bool = False) -> None:
    """A file with this content (a text as UTF-8). Raises OSError.

    durable     wait until it is on the disk, so that a crash of the machine cannot undo it
    """
    with replacing(path) as draft:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)
        if durable:
            with draft.open("rb+") as file:
                os.fsync(file.fileno())


def save(path: Path, content: str | bytes, *, what: str, hint: str =
         "free some space, or choose another place: --runs-dir") -> None:
    """`write` for a user's file. Raises RunError.

    what    "the policy": what an error says could not be saved
    A device or a pipe is written to as it is: to rename a file over /dev/null would remove it.
    """
    place = path.resolve()
    with refused(f"cannot save {what}", where=path, hint=hint):
        if place.exists() and not place.is_file():
            place.write_bytes(content.encode() if isinstance(content, str) else content)
        else:
            write(place, content)


def write_if_changed(path: Path, text: str) -> Path:
    """`write`, with the folder made, unless the file holds this text already: its time stamp
    then stays. Raises RunError."""
    with refused(f"cannot write {path.name}", where=path):
        if not path.is_file() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path, text)
    return path


@contextlib.contextmanager
def replacing(path: Path, *, mode: int = 0o666) -> Iterator[Path]:
    """An empty temporary file that takes the place of `path` once the block has succeeded.

    mode    permissions, less the umask
    Raises OSError. When the block fails, nothing is left of the temporary file.
    """
    place = Path(path).resolve()
    draft = temporary(place, mode=mode)
    try:
        yield draft
        os.replace(draft, place)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


def temporary(place: Path, *, mode: int = 0o666, suffix: str | None = None) -> Path:
    """A new, empty file in the folder of `place`: .a.png.4711.png. Raises OSError.

    suffix    of its name, for a library that goes by it; that of `place` unless given
    """
    for number in itertools.count():
        again = f"-{number}" if number else ""
        draft = place.with_name(f".{place.name}.{os.getpid()}{again}{suffix or place.suffix}")
        with contextlib.suppress(FileExistsError):
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
            return draft


def beside(place: Path, data: bytes) -> Path:
    """A temporary file with this content, and the permissions of `place` if it exists."""
    draft = temporary(place)
    try:
        draft.write_bytes(data)
        if place.exists():
            draft.chmod(place.stat().st_mode)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return draft


@contextlib.contextmanager
def refused(message: str, *, where: object, hint: str | None = None) -> Iterator[None]:
    """An OSError inside becomes a RunError that says `message` and what the system said."""
    try:
        yield
    except OSError as error:
        raise RunError(message, where=where, detail=error.strerror or str(error),
                       hint=hint) from None


def check(path: Path, what: str) -> None:
    """Raises UsageError if no file can be written at `path`."""
    if not path.parent.is_dir():
        raise UsageError("there is no such folder to write to", where=path.parent)
    if path.is_dir():
        raise UsageError(f"{what} needs the name of a file", where=path, actual="a folder")
    if path.exists() and not path.is_file():        # to rename over /dev/null would remove it
        raise UsageError(f"{what} needs the name of a file", where=path,
                         expected="a file, or a name that is free", actual="a device or a pipe")


class Finished:
    """A writer of a stream: a `with` block that succeeds closes it, any other abandons it."""

    def __enter__(self):
        return self

    def __exit__(self, kind, *exc) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()


class Draft:
    """A stream to a temporary file: `keep` renames it to PATH, `drop` removes it.

    what      "the GIF": what an error says could not be written
    suffix    of the temporary file; that of PATH unless given
    """

    def __init__(self, path: Path, *, what: str, suffix: str | None = None):
        self.path, self.what = Path(path), what
        check(self.path, what)
        self.place = self.path.resolve()
        self.temporary = None
        with self.errors():
            self.temporary = temporary(self.place, suffix=suffix)
            self.file = self.temporary.open("rb+")

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """An OSError inside becomes a RunError that names the file, and drops the draft."""
        try:
            with refused(f"cannot write {self.what}", where=self.path,
                         hint="free some space, or choose another place"):
                yield
        except RunError:
            self.drop()
            raise

    def keep(self) -> None:
        with self.errors():
            self.file.close()
            os.replace(self.temporary, self.place)

    def drop(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            self.file.close()
        with contextlib.suppress(OSError, AttributeError):
            self.temporary.unlink()
