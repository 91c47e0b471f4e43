"""Sweeps that a database holds: SQLite, and in the long form PostgreSQL."""
import contextlib
import os
import shutil
import signal

import pytest
from helpers.playground import wait_until
from helpers.postgres import server
from helpers.short_or_long import long_only, short_or_long

from puffer_sdk.sweeping.store import DONE, RUNNING, STOPPED
from puffer_sdk.sweeping.sweep import open_sweep

pytest_plugins = ["helpers.playground_fixtures"]

SPACE = """
[sweep.train.learning_rate]
distribution = log_normal
min = 1e-3
max = 1e-1
"""


@pytest.fixture
def address(request, tmp_path):
    with contextlib.ExitStack() as stack:
        yield stack.enter_context(server()) if request.param == "postgresql" \
            else f"sqlite:///{tmp_path}/sweeps.db"


@long_only
@pytest.mark.parametrize("address", short_or_long(["sqlite"], ["sqlite", "postgresql"]),
                         indirect=True)
def test_a_database_holds_a_sweep_through_kill_9(faulty, tmp_path, start, cli, address):
    """Two workers, kill -9 of all, resume; then a second machine, with nothing but the URL."""
    toy = shutil.copytree(faulty, tmp_path / "faulty")
    ini = toy / "faulty.ini"
    ini.write_text(ini.read_text() + SPACE)
    place = tmp_path / "runs" / "faulty" / "sweeps" / "0001"

    def states() -> list[str]:
        if not (place / "sweep.json").is_file():
            return []
        return [trial.state for trial in open_sweep(place)[0].trials()]

    command = start("sweep", toy, "--storage", address, "--runs", 12, "--workers", 2,
                    "--metric", "perf", "--seeds", 0)
    wait_until(lambda: states().count(DONE) >= 3, seconds=60)
    os.killpg(command.pid, signal.SIGKILL)
    command.wait()
    before = {trial.number: trial.score for trial in open_sweep(place)[0].trials()
              if trial.state == DONE}
    command = start("sweep", toy, "--resume", "--workers", 1)
    wait_until(lambda: RUNNING in states(), seconds=60)
    joined = cli("sweep", toy, "--join", address, "--runs-dir", tmp_path / "elsewhere")
    _, err = command.communicate(timeout=120)
    assert command.returncode == 0 and joined.returncode == 0, err + joined.stderr
    after = {trial.number: trial.score for trial in open_sweep(place)[0].trials()}
    assert len(after) == 12 and {*states()} <= {DONE, STOPPED} and before.items() <= after.items()
    # the database has two sweeps: one of them is to be named
    again = cli("sweep", toy, "--storage", address, "--runs", 1, "--metric", "perf", "--seeds", 0)
    assert again.returncode == 0, again.stderr
    which = cli("sweep", toy, "--join", address)
    assert which.returncode == 2 and "faulty-0001, faulty-0002" in which.stderr
