"""A journal for other machines.  a sweep's folder, a port -> Optuna's gRPC proxy, until Ctrl-C"""
from __future__ import annotations

import threading
from pathlib import Path

from ..base import ui
from ..base.errors import RunError, UsageError
from ..env.child_process import Signals
from .storages import connect, shown
from .sweep import address_of


def serve(place: Path, port: int, host: str = "0.0.0.0", ready: threading.Event | None = None,
          stop: threading.Event | None = None) -> None:
    """Answer as grpc://HOST:PORT. Anybody who reaches the port can read and write the trials.

    Raises UsageError without grpcio, RunError where the port is taken.
    """
    try:
        from optuna.storages._grpc.server import make_server
    except ImportError as error:
        raise UsageError(f"--serve requires a package that is not installed: {error.name}",
                         hint="pip install 'puffer-sdk[sweep-machines]'") from None
    address = address_of(place)
    try:
        server = make_server(connect(address), host, port)
        server.start()
    except RuntimeError as error:
        raise RunError("the port is not available", where=f"{host}:{port}", detail=str(error),
                       hint="another --serve PORT") from None
    ui.say(f"serving {shown(address)} at grpc://HOST:{port}; others join with --join "
           f"grpc://HOST:{port}. Ctrl-C ends")
    if ready:
        ready.set()
    with Signals() as signals:
        while not signals.received and not (stop and stop.is_set()):
            threading.Event().wait(0.1)
    server.stop(1.0).wait()
