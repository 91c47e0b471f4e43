"""Who this process is among those that share a run.  environment variables -> Place

torchrun sets RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT, and in
TORCHELASTIC_ variables which group this is and how often it was started. srun and mpirun number
their processes under names of their own; these count where MASTER_ADDR and MASTER_PORT say where
the processes meet.
"""
from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass

from ..base.errors import UsageError

# (rank, size, rank on this machine, how many there), the first pair that is there counts
NAMES = (("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
         ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"),
         ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
          "OMPI_COMM_WORLD_LOCAL_SIZE"))
MEETING = ("MASTER_ADDR", "MASTER_PORT")
MOST_RANKS = 1 << 16


@dataclass(frozen=True)
class Place:
    """One process of a group."""

    rank: int               # 0 to size - 1
    size: int
    local_rank: int         # among those on this machine ...
    local_size: int         # ... and how many these are, as far as it is known
    address: str            # where the processes meet
    port: int
    host: str               # this machine's name
    group_id: str = ""      # of the group, through all its restarts; "" where nobody restarts it
    restarts: int = 0       # how often the group was started again


def find(environ: Mapping[str, str] | None = None) -> Place | None:
    """This process's place; None where it is on its own. Raises UsageError naming a variable that
    is missing or no number."""
    environ = os.environ if environ is None else environ
    names = next((names for names in NAMES if all(environ.get(name) for name in names[:2])), None)
    launched = names == NAMES[0]
    half = [name for name in NAMES[0][:2] if environ.get(name)]
    if names is None and len(half) == 1 and environ.get(MEETING[0]):
        raise _missing(NAMES[0][1 - NAMES[0].index(half[0])])
    if names is None or not (launched or environ.get(MEETING[0])):
        return None
    for name in MEETING:
        if not environ.get(name):
            raise _missing(name)
    size = _number(environ, names[1], 1, MOST_RANKS)
    rank = _number(environ, names[0], 0, size - 1)
    local = _number(environ, names[2], 0, size - 1) if environ.get(names[2]) else 0
    beside = environ.get(names[3], "")
    return Place(
        rank, size, local, int(beside) if beside.isdigit() and int(beside) else 1,
        environ[MEETING[0]], _number(environ, MEETING[1], 1, 65535), socket.gethostname(),
        environ.get("TORCHELASTIC_RUN_ID", "") if launched else "",
        _number(environ, "TORCHELASTIC_RESTART_COUNT", 0, 10**9)
        if launched and environ.get("TORCHELASTIC_RESTART_COUNT") else 0)


def _number(environ: Mapping[str, str], name: str, low: int, high: int) -> int:
    text = environ[name]
    if text.isdigit() and low <= int(text) <= high:
        return int(text)
    raise UsageError(f"invalid environment variable {name} for a process group",
                     where=name, expected=f"{low} to {high}", actual=text,
                     hint="torchrun sets it; unset it to train in one process")


def _missing(name: str) -> UsageError:
    return UsageError(f"this process belongs to a group, but {name} is not set", where=name,
                      expected=", ".join(("RANK, WORLD_SIZE", *MEETING)),
                      hint="start the processes with torchrun, or export it for srun and mpirun")
