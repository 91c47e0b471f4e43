"""Drives an emulated program (trainer/device/env_program.h) with the envs of a VecEnv."""
from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

NO_FAULT = 2**64 - 1
MISSING_KEY, AGENTS, SIZES, MEMORY, ABORT = range(1, 6)     # what the low byte of a fault says
KEY_SIZE = 64


class Setting(ctypes.Structure):
    _fields_ = [("key", ctypes.c_char * KEY_SIZE), ("value", ctypes.c_double)]


class Facts(ctypes.Structure):
    _fields_ = [("env_bytes", ctypes.c_int64), ("obs_bytes", ctypes.c_int32),
                ("num_atns", ctypes.c_int32), ("mask_size", ctypes.c_int32),
                ("has_truncations", ctypes.c_int32), ("has_final_obs", ctypes.c_int32),
                ("has_alive", ctypes.c_int32), ("log_fields", ctypes.c_int32),
                ("recurses", ctypes.c_int32), ("spare_bytes", ctypes.c_int64)]


class Args(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in ("first", "count", "obs_size",
                                                    "settings_count")]
    _fields_ += [(name, ctypes.c_void_p) for name in (
        "envs", "rand_states", "first_row", "observations", "actions", "rewards", "terminals",
        "truncations", "action_mask", "final_observations", "has_final", "alive", "spares",
        "spare_marks", "settings", "logs", "facts", "fault")]


class Program:
    """The envs of a VecEnv once more, in a program: same settings, same seeds, own buffers."""

    def __init__(self, path: Path, vec, settings=None, *, heap: int | None = None,
                 seed: int = 7):
        self.library, self.vec = ctypes.CDLL(str(path)), vec
        if heap is not None:
            self.library.puffer_envs_heap(ctypes.c_uint64(heap))
        self.count = vec.num_envs
        self.facts, self.fault = Facts(), ctypes.c_uint64(NO_FAULT)
        self.args = Args(facts=ctypes.addressof(self.facts), fault=ctypes.addressof(self.fault))
        self.call("facts")
        draw = np.random.default_rng(seed)              # what c_reset has to overwrite
        names = ["observations", "rewards", "terminals", "truncations",
                 *["has_final"] * (vec.has_final is not None),
                 *["alive"] * (vec.alive is not None)]
        self.buffers = {
            name: draw.integers(1, 255, getattr(vec, name).nbytes, np.uint8).view(
                getattr(vec, name).dtype).reshape(getattr(vec, name).shape) for name in names}
        if vec.has_final is not None:
            self.buffers["final_observations"] = np.zeros_like(vec.final_observations)
        self.buffers["actions"] = np.zeros_like(vec.actions)
        if vec.action_mask is not None:
            self.buffers["action_mask"] = np.zeros_like(vec.action_mask)
        self.logs = np.full((self.count, self.facts.log_fields), np.nan)
        self.structs = np.full(self.count * self.facts.env_bytes, 0xA5, np.uint8)
        self.spares = np.full(self.count * self.facts.spare_bytes, 0xA5, np.uint8)
        marks = 0 if vec.action_mask is None else vec.action_mask.shape[1]
        self.marks = np.full((vec.num_agents, marks + 1), 0xA5, np.uint8)
        self.rand_states = np.array([vec.env_seed(e) for e in range(self.count)], np.uint32)
        values = dict(vec.env_settings if settings is None else settings)
        self.settings = (Setting * max(1, len(values)))(
            *(Setting(key.encode(), value) for key, value in values.items()))
        for name, array in {**self.buffers, "logs": self.logs, "envs": self.structs,
                            "rand_states": self.rand_states, "spares": self.spares,
                            "spare_marks": self.marks, "first_row": vec.first_row}.items():
            setattr(self.args, name, array.ctypes.data)
        self.args.settings = ctypes.addressof(self.settings)
        self.args.settings_count, self.args.obs_size = len(values), vec.obs_size

    def call(self, name: str, first: int = 0, count: int | None = None, threads: int = 8) -> None:
        self.args.first, self.args.count = first, self.count if count is None else count
        blocks = -(-self.args.count // threads)
        getattr(self.library, f"puffer_envs_{name}")(ctypes.byref(self.args), blocks, threads)

    @property
    def failed(self) -> tuple[int, int] | None:
        """(env, what), or None."""
        value = self.fault.value
        return None if value == NO_FAULT else (value >> 8, value & 255)
