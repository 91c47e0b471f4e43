"""Streams that become a file in the end, or nothing.  bytes, as they come -> PATH"""
from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from . import files
from .errors import RunError, UsageError

if TYPE_CHECKING:
    from typing_extensions import Self


def check(path: Path, what: str) -> None:
    """Raises UsageError if no file can be written at `path`."""
    if not path.parent.is_dir():
        raise UsageError("the output folder does not exist", where=path.parent)
    if path.is_dir():
        raise UsageError(f"{what} must be a file name", where=path, actual="a folder")
    if path.exists() and not path.is_file():        # to rename over /dev/null would remove it
        raise UsageError(f"{what} must be a file name", where=path,
                         expected="a file, or a name that is free", actual="a device or a pipe")


class Finished(ABC):
    """A writer of a stream: a `with` block that succeeds closes it, any other abandons it."""

    @abstractmethod
    def close(self) -> None:
        ...

    @abstractmethod
    def abandon(self) -> None:
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
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
        with self.errors():
            self.temporary = files.temporary(self.path, suffix=suffix)
            self.file = files.open(self.temporary, "rb+")

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """An OSError inside becomes a RunError that names the file, and drops the draft."""
        try:
            with files.refused(f"cannot write {self.what}", where=self.path, hint=files.SPARE):
                yield
        except RunError:
            self.drop()
            raise

    def keep(self) -> None:
        with self.errors():
            self.file.close()
            files.rename(self.temporary, self.path)

    def drop(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            self.file.close()
        with contextlib.suppress(OSError, AttributeError):
            files.remove(self.temporary)
