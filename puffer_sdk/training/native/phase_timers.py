"""The clocks of a native trainer.  PufferTrainerStats -> timers of an epoch, stats of phases"""
from __future__ import annotations

from typing import Any, TypedDict

from .handle import Handle
from .trainer_library import PATHS

ENV_PHASE = "rollout: environments"         # of puffer_trainer_phase()
EXCHANGE_PHASE = "update: exchange"         # of several ranks: by one thread, the others wait


class Stats(TypedDict):
    """Where the time went, and how the work is cut."""

    seconds: dict[str, float]       # of each phase, of all threads together
    rollout: float
    update: float
    allocations: int
    bytes: int
    threads: int
    block_agents: int
    blocks: int
    path: str
    lockstep: bool


class Meter:
    """Clocks: our own, and PufferTrainerStats, which start again at 0 with each reading."""

    def __init__(self, handle: Handle, exchanges: bool = False):
        """exchanges: whether there are other ranks to wait for"""
        self.handle, self.exchanges = handle, exchanges
        self.phases: list[str] = []
        while (name := handle.lib.puffer_trainer_phase(len(self.phases))) != handle.ffi.NULL:
            self.phases.append(handle.text(name))
        if not exchanges and EXCHANGE_PHASE in self.phases:
            self.phases.remove(EXCHANGE_PHASE)          # the last one
        self.seconds = dict.fromkeys(("env", "rollout", "train", "exchange"), 0.0)
        self.kept = dict.fromkeys((*self.phases, "rollout", "update"), 0.0)     # not yet taken

    def _read(self) -> Any:
        now: Any = self.handle.ffi.new("PufferTrainerStats*")
        self.handle.invoke("stats", now)
        for number, name in enumerate(self.phases):
            self.kept[name] += now.seconds[number]
        self.kept["rollout"] += now.rollout
        self.kept["update"] += now.update
        in_envs = now.seconds[self.phases.index(ENV_PHASE)] / now.threads
        self.seconds["env"] += min(in_envs, now.rollout)
        if self.exchanges:
            self.seconds["exchange"] += now.seconds[self.phases.index(EXCHANGE_PHASE)]
        return now

    def take_timers(self) -> dict[str, float]:
        self._read()
        taken = {"env": self.seconds["env"],
                 "forward": self.seconds["rollout"] - self.seconds["env"],
                 "train": self.seconds["train"] - self.seconds["exchange"]}
        if self.exchanges:
            taken["exchange"] = self.seconds["exchange"]
        self.seconds = dict.fromkeys(self.seconds, 0.0)
        return taken

    def take_stats(self) -> Stats:
        now = self._read()
        taken: Stats = {
            "seconds": {name: self.kept[name] for name in self.phases},
            "rollout": self.kept["rollout"], "update": self.kept["update"],
            "allocations": int(now.allocations), "bytes": int(now.bytes),
            "threads": int(now.threads), "block_agents": int(now.block_agents),
            "blocks": int(now.blocks), "path": PATHS[now.path], "lockstep": bool(now.lockstep)}
        self.kept = dict.fromkeys(self.kept, 0.0)
        return taken
