"""A PostgreSQL server of the test's own: a folder, a port on the loopback, a user."""
from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path


def tool(name: str) -> str:
    """initdb and postgres are not in Debian's PATH."""
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (folder / name).is_file():
            return str(folder / name)
    found = shutil.which(name)
    assert found, f"PostgreSQL's {name} is not installed: make test-long installs it"
    return found


@contextlib.contextmanager
def server() -> Iterator[str]:
    """The URL of an empty database. PostgreSQL refuses to run as root: another user holds it."""
    other = {}
    place = Path(tempfile.mkdtemp(prefix="postgres-"))
    if os.getuid() == 0:
        names = {entry.pw_name for entry in pwd.getpwall()}
        user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
        os.chown(place, user.pw_uid, user.pw_gid)
        other = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    try:
        subprocess.run([tool("initdb"), "-D", place / "data", "-U", "puffer", "--auth=trust", "-N"],
                       check=True, capture_output=True, cwd=place, **other)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        process = subprocess.Popen(
            [tool("postgres"), "-D", place / "data", "-p", str(port), "-k", place, "-F",
             "-c", "listen_addresses=127.0.0.1"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=place, **other)
        try:
            end = time.monotonic() + 30
            while True:
                with contextlib.suppress(OSError), \
                        socket.create_connection(("127.0.0.1", port), timeout=1):
                    break
                assert process.poll() is None and time.monotonic() < end, "no server"
                time.sleep(0.05)
            yield f"postgresql://puffer@127.0.0.1:{port}/postgres"
        finally:
            process.send_signal(signal.SIGINT)      # "fast": it does not wait for clients
            process.wait(20)
    finally:
        shutil.rmtree(place, ignore_errors=True)
