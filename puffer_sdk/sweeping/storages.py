"""What holds a sweep's trials.  a journal's path or a URL -> Optuna's storage, with our errors"""
from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base import files, records
from ..base.errors import Damaged, RunError, UsageError

if TYPE_CHECKING:
    from optuna.storages import BaseStorage


class Lock:
    """A POSIX lock on a file beside the journal. The kernel, or a server of NFS 4, releases it when
    its holder dies; Optuna's own lock waits 30 s for a dead holder.

    acquire() also cuts off an incomplete line that a killed writer left.
    """

    def __init__(self, journal: str):
        self.journal = journal

    def acquire(self) -> bool:
        self.lock = files.open(self.journal + ".lock", "ab")
        fcntl.lockf(self.lock, fcntl.LOCK_EX)
        with files.open(self.journal, "rb+") as file:
            end = file.seek(0, os.SEEK_END)
            start = end
            while start and end:
                start = max(0, start - 65536)
                file.seek(start)
                cut = file.read(end - start).rfind(b"\n")
                if cut >= 0 or not start:
                    if start + cut + 1 < end:
                        file.truncate(start + cut + 1)
                    break
        return True

    def release(self) -> None:
        self.lock.close()


def connect(address: str) -> BaseStorage:
    """Optuna's storage for a journal's path, a database's URL, or grpc://HOST:PORT.

    Raises UsageError for one that cannot be, RunError for one that does not answer.
    """
    import optuna
    from optuna.storages.journal import JournalFileBackend

    try:
        if address.startswith("grpc://"):
            return _proxy(address)
        if "://" in address:            # the driver by name: SQLAlchemy's versions differ in theirs
            url = re.sub(r"^postgres(ql)?://", "postgresql+psycopg://", address)
            return optuna.storages.RDBStorage(url, engine_kwargs={"pool_pre_ping": True})
        if os.path.lexists(address):
            files.open(address).close()         # refuses what is no file
        return optuna.storages.JournalStorage(JournalFileBackend(
            address, lock_obj=Lock(address)))   # type: ignore[arg-type]  # needs no Optuna itself
    except ImportError as error:
        missing = error.__cause__ or error
        raise UsageError("this storage requires a package that is not installed",
                         where=shown(address), expected=getattr(missing, "name", None),
                         actual="not installed",
                         hint="pip install 'puffer-sdk[sweep-machines]'") from None
    except UsageError:
        raise
    except OSError as error:
        raise RunError("the journal cannot be opened", where=address,
                       detail=error.strerror or str(error)) from None
    except Exception as error:          # each driver has errors of its own
        if "://" not in address:
            raise _damaged(address, error) from None
        raise RunError("the storage cannot be reached", where=shown(address),
                       detail=str(error).strip().partition("\n")[0],
                       expected="journal file, postgresql://USER@HOST/NAME or "
                                "grpc://HOST:PORT") from None


def _damaged(journal: str, error: Exception) -> Damaged:
    """Why Optuna cannot read a journal: its first line that is not JSON, or what a record lacks.
    The journal is refused as a whole: skipping a record would renumber all later trials."""
    found = Damaged("the sweep's journal is damaged", where=journal, expected="a sweep's records",
                    actual=f"{type(error).__name__}: {error}")
    try:
        for number, line in enumerate(files.read(journal).splitlines(), 1):
            records.parse(line, f"{journal}:{number}", "the sweep's journal")
    except Damaged as damage:
        found = damage
    found.hint = "restore it from a copy; the runs of its trials are beside it"
    return found


class Guarded:
    """A storage whose calls raise RunError where the disk is full or the database is gone. Errors
    about trials and studies pass unchanged."""

    def __init__(self, storage: BaseStorage, address: str):
        self.inner, self.address = storage, address

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self.inner, name)

        def call(*words: Any, **options: Any) -> Any:
            import optuna
            try:
                return method(*words, **options)
            except OSError as error:
                raise RunError("the sweep's journal cannot be written", where=self.address,
                               detail=error.strerror or str(error),
                               hint="finished trials are stored: free some space, and continue "
                                    "with --resume") from None
            except Exception as error:
                ours = isinstance(error, (optuna.exceptions.OptunaError, KeyError))
                if ours and not isinstance(error, optuna.exceptions.StorageInternalError):
                    raise
                if "://" not in self.address and type(error) is not RuntimeError:
                    raise _damaged(self.address, error) from None
                raise RunError("the storage no longer responds", where=shown(self.address),
                               detail=str(error.__cause__ or error).partition("\n")[0],
                               hint="finished trials are stored: continue with --resume, or --join "
                                    "again") from None

        return call


def _proxy(address: str) -> BaseStorage:
    import grpc
    from optuna.storages import GrpcStorageProxy

    host, _, port = address.removeprefix("grpc://").rstrip("/").partition(":")
    channel = grpc.insecure_channel(f"{host}:{port or 13000}")
    try:
        grpc.channel_ready_future(channel).result(timeout=5)
    except grpc.FutureTimeoutError:
        raise RunError("the storage cannot be reached", where=address,
                       expected="Optuna's gRPC proxy", actual="no answer in 5 seconds",
                       hint="start it: puffer-sdk sweep --serve") from None
    finally:
        channel.close()
    return GrpcStorageProxy(host=host, port=int(port or 13000))


def shown(address: str) -> str:
    """The address without its password."""
    scheme, sep, rest = address.partition("://")
    user, at, place = rest.rpartition("@")
    return f"{scheme}://{user.partition(':')[0]}{at}{place}" if sep else address


def journal_of(folder: Path) -> str:
    return str(folder / "journal")
