"""A file that is there whole or not at all.  bytes, as they come -> PATH, renamed when complete

runs.write_atomically does it for a text; a Draft is for what is written over a while.
"""
from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from .errors import RunError, UsageError


def check(path: Path, what: str) -> None:
    """Raises UsageError where no file can be."""
    if not path.parent.is_dir():
        raise UsageError("there is no such folder to write to", where=path.parent)
    if path.is_dir():
        raise UsageError(f"{what} needs the name of a file", where=path, actual="a folder")
    if path.exists() and not path.is_file():        # to rename over /dev/null would remove it
        raise UsageError(f"{what} needs the name of a file", where=path,
                         expected="a file, or a name that is free", actual="a device or a pipe")


class Finished:
    """For whoever writes over a while: a `with` block that ends well closes, any other abandons."""

    def __enter__(self):
        return self

    def __exit__(self, kind, *exc) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()


class Draft:
    """A file under a temporary name beside PATH: `keep` renames it, `drop` removes it.

    what    "the GIF": what an error says could not be written
    """

    def __init__(self, path: Path, *, what: str):
        self.path, self.what = Path(path), what
        check(self.path, what)
        self.place = self.path.resolve()        # a link stays one, and what it names is replaced
        self.temporary = self.place.with_name(f".{self.place.name}.{os.getpid()}")
        with self.errors():
            self.file = self.temporary.open("wb+")

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """An OSError inside becomes a RunError that names the file; nothing is left then."""
        try:
            yield
        except OSError as error:
            self.drop()
            raise RunError(f"cannot write {self.what}", where=self.path,
                           detail=error.strerror or str(error),
                           hint="free some space, or choose another place") from None

    def keep(self) -> None:
        with self.errors():
            self.file.close()
            self.temporary.replace(self.place)

    def drop(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            self.file.close()
        with contextlib.suppress(OSError):
            self.temporary.unlink()
