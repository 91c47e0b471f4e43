"""The actions since the envs last started, so that a resumed run can repeat them.

The actions of every agent and tick are appended to a file in the run's folder, packed in as
few bits as a head needs. A checkpoint states how much of the file belongs to it. Restarts decides
when the envs restart: then the file begins again, which bounds its size and a resume's work.
"""
from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from ..base import files
from ..env.vec import VecEnv
from .run_records import KeptRestarts

NAME = "actions.journal"        # in the run's folder
MOST_BYTES = 256 << 20          # of the file: the envs restart before it gets longer
FINISHED_BYTES = 4 << 20        # of the file, that a finished run keeps at most
LEAST_TICKS = 16384             # between two starts
EPISODES = 8                    # of mean length, between two starts
EPISODES_UNRECORDED = 2         # the same where each kept checkpoint restarts the envs


class Journal:
    """The file of actions.  (N, T, K) float32, an epoch at a time -> bytes, and back"""

    def __init__(self, folder: Path, agents: int, horizon: int, act_sizes: Sequence[int]):
        self.path = folder / NAME
        self.shape = (agents, horizon)
        self.bits = [bits_of(width) for width in act_sizes]
        self.epoch_bytes = sum(packed_size(agents * horizon, bits) for bits in self.bits)
        self.size = 0           # valid bytes; those after it are of an abandoned future

    def append(self, actions: np.ndarray) -> None:
        """Raises RunError (a full disk)."""
        data = self.pack(actions)
        with files.refused("cannot record the actions; the checkpoints are untouched",
                           where=self.path, hint="free some space, or choose another place with "
                                                 "--runs-dir"), \
                files.open(self.path, "rb+" if os.path.lexists(self.path) else "wb") as file:
            file.seek(self.size)
            file.write(data)
        self.size += len(data)

    def pack(self, actions: np.ndarray) -> bytes:
        """(agents, T, K) -> an epoch's bytes, head by head."""
        return b"".join(pack(actions[..., head], bits) for head, bits in enumerate(self.bits))

    def unpack(self, data: bytes, agents: int) -> np.ndarray:
        """What pack took of so many agents, as float32."""
        heads, at, shape = [], 0, (agents, self.shape[1])
        for bits in self.bits:
            count = packed_size(shape[0] * shape[1], bits)
            heads.append(unpack(data[at:at + count], bits, shape))
            at += count
        return np.stack(heads, -1)

    def read(self, size: int) -> Iterator[np.ndarray]:
        """The epochs in the first `size` bytes, each (N, T, K) float32; `append` then follows on.

        Raises OSError, files.Refused, or ValueError where the file is shorter than that.
        """
        self.size = size
        with files.open(self.path) as file:
            for _ in range(size // self.epoch_bytes):
                data = file.read(self.epoch_bytes)
                if len(data) < self.epoch_bytes:
                    raise ValueError("the file is too short")
                yield self.unpack(data, self.shape[0])

    def restart(self) -> None:
        """Discard all recorded actions."""
        self.size = 0

    def finish(self) -> None:
        """The run is over: remove a long file; keep a short one for earlier checkpoints."""
        if self.size > FINISHED_BYTES:
            files.remove(self.path)


def bits_of(width: int) -> int:
    """Bits of one action of a head: 1, 2, 4, 8 or 16 for an id; 32 for a continuous value."""
    if width == 1 or width > 1 << 16:
        return 32
    return next(bits for bits in (1, 2, 4, 8, 16) if width <= 1 << bits)


def packed_size(count: int, bits: int) -> int:
    return -(-count * bits // 8)


def pack(values: np.ndarray, bits: int) -> bytes:
    """Float32 ids below 2^bits, or any values where bits is 32."""
    if bits >= 8:
        kind = {8: np.uint8, 16: np.uint16, 32: np.float32}[bits]
        return np.ascontiguousarray(values).astype(kind).tobytes()
    ids = np.ascontiguousarray(values).astype(np.uint8).reshape(-1)
    if bits == 1:
        return np.packbits(ids, bitorder="little").tobytes()
    per = 8 // bits
    groups = np.pad(ids, (0, -len(ids) % per)).reshape(-1, per)
    out = groups[:, 0].copy()
    for place in range(1, per):
        out |= groups[:, place] << (bits * place)
    return bytes(out)


def unpack(data: bytes, bits: int, shape: tuple[int, ...]) -> np.ndarray:
    """What pack took, as float32 of this shape."""
    count = int(np.prod(shape))
    if bits >= 8:
        kind = {8: np.uint8, 16: np.uint16, 32: np.float32}[bits]
        return np.frombuffer(data, kind, count).astype(np.float32).reshape(shape)
    raw = np.frombuffer(data, np.uint8)
    if bits == 1:
        ids = np.unpackbits(raw, count=count, bitorder="little")
    else:
        shifts = np.arange(0, 8, bits, dtype=np.uint8)
        ids = ((raw[:, None] >> shifts) & (2**bits - 1)).reshape(-1)[:count]
    return ids.astype(np.float32).reshape(shape)


def shown(vec: VecEnv) -> list[tuple[int, int]]:
    """CRC-32 and size in bytes of each array that the envs write."""
    return [(zlib.crc32(array.data), array.nbytes) for array in
            (vec.observations, vec.rewards, vec.terminals, vec.truncations)]


def checksum(parts: Sequence[Sequence[tuple[int, int]]]) -> int:
    """CRC-32 of the envs' arrays, which an exact replay reproduces. parts: shown() of each vec, in
    the order of their agents; the result equals that of one vec with all agents."""
    crc = 0
    for pieces in zip(*parts, strict=True):         # array by array, each of all agents
        for piece, size in pieces:
            crc = _multiply(crc, _shift(size)) ^ piece
    return crc


POLYNOMIAL = 0xEDB88320         # of CRC-32; bit 31 of a number is the coefficient of x^0


def _multiply(a: int, b: int) -> int:
    """The product of two polynomials over GF(2), modulo that of CRC-32."""
    product = 0
    for power in range(31, -1, -1):
        if a >> power & 1:
            product ^= b
        b = b >> 1 ^ (POLYNOMIAL if b & 1 else 0)       # times x
    return product


@cache
def _shift(size: int) -> int:
    """x^(8 size): what so many more bytes do to the CRC of those before them."""
    power, square = 1 << 31, 1 << 23                    # x^0, x^8
    while size:
        if size & 1:
            power = _multiply(power, square)
        square = _multiply(square, square)
        size >>= 1
    return power


class Restarts:
    """When the envs restart: only settings and logs decide, never the clock.

    After EPISODES episodes of the mean length that was logged, and LEAST_TICKS at least; or when
    the journal is full. So long episodes end between two starts.
    """

    def __init__(self, envs: int, epoch_bytes: int):
        self.envs, self.epoch_bytes = envs, epoch_bytes
        self.begin()

    def begin(self) -> None:
        """The envs have just started."""
        self.ticks = self.epochs = 0
        self.entries = self.length = 0.0

    def note(self, log: Mapping[str, float], ticks: int) -> None:
        """An epoch of so many ticks has logged this."""
        self.ticks += ticks
        self.epochs += 1
        if log:
            mean = log.get("episode_length", np.nan)
            self.entries += log["n"]
            self.length += log["n"] * (mean if mean > 0 else ticks * self.envs / log["n"])

    @property
    def full(self) -> bool:
        """Whether the journal has no room for another epoch."""
        return (self.epochs + 1) * self.epoch_bytes > MOST_BYTES

    def due(self, episodes: int = EPISODES, least: int = LEAST_TICKS) -> bool:
        """Whether the envs restart now."""
        if self.full:
            return True
        if not self.entries or self.ticks < least:
            return False
        mean = self.length / self.entries
        return not mean * episodes > self.ticks

    def due_after(self, *, recorded: bool, kept: bool) -> bool:
        """Whether the envs restart after this epoch. Where no actions are recorded, a resumed
        run must begin at such an epoch, so most checkpoints that are kept are one.

        kept    whether this epoch's checkpoint is
        """
        if recorded:
            return self.due()
        return self.full or (kept and self.due(EPISODES_UNRECORDED, 0))

    @property
    def state(self) -> KeptRestarts:
        """For a checkpoint; load() takes it."""
        return {"ticks": self.ticks, "epochs": self.epochs, "entries": self.entries,
                "length": self.length}

    def load(self, state: KeptRestarts) -> None:
        self.ticks, self.epochs = state["ticks"], state["epochs"]
        self.entries, self.length = state["entries"], state["length"]
