"""The native trainer's loop.  a VecEnv and settings -> a trained policy

Sizes: N agents, T horizon, D observation, H hidden, L layers, K heads, A sum of head widths,
S segments in a minibatch.
"""
from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...base.errors import RunError, UsageError
from ...base.number_limits import whole_number
from ...distributed.group import Alone
from ...env import abi
from ...env.vec import VecEnv
from ...settings.values import Config
from ..schedules import (
    LOSSES,
    Envs,
    Schedules,
    check_config,
    check_same_envs,
    check_sizes,
    check_tensors,
    has_turns,
    obs_factors,
)
from ..seams import Rollout, check_given, require_own_advantages
from . import gpu_readings
from .envs import BoundEnvs, bind_envs, check_arrays, find_program
from .exchange import Exchange
from .handle import Handle, choose_path, choose_threads, load_tensors, network_fields
from .phase_timers import Meter, Stats
from .trainer_library import library

FROM_TRAIN = (      # settings that PufferTrainerConfig holds under their own names
    "learning_rate", "min_lr_ratio", "ent_coef", "min_ent_coef_ratio", "gamma",
    "gae_lambda", "vtrace_rho_clip", "vtrace_c_clip", "reward_clip", "replay_ratio", "prio_alpha",
    "prio_beta0", "clip_coef", "vf_coef", "vf_clip_coef", "max_grad_norm", "beta1", "beta2", "eps",
    "target_kl")

COUNTERS: dict[str, type[int] | type[float]] = {      # of PufferTrainerCounters
    "epoch": int, "global_step": int, "minibatch_carry": float, "optimizer_steps": int,
    "return_rms": float, "rate_factor": float, "highest_return": float}
SWITCHES = "norm_adv", "norm_returns", "anneal_lr", "anneal_ent_coef", "minibatch_carry"


def library_for(device: str) -> Any:
    """The opened library of the trainer on this device."""
    if device == "cuda":
        from .cuda import library as of_cuda
        return of_cuda()
    return library()


def count_slices(vec: Envs) -> int:
    """Parts of equal size that a GPU infers in turn: those that the envs were created in."""
    return 1 if not isinstance(vec, VecEnv) or vec.description.whole_steps else vec.num_buffers


class NativePPO(Schedules):
    """The training loop's two halves over one VecEnv: rollout() fills the buffers, update() learns.

    `vec` is a VecEnv, whose envs the trainer's own threads step without Python; or any object with
    observations, actions, rewards, terminals, truncations, action_mask (arrays that stay where
    they are), num_agents, obs_size, act_sizes, reset() and step(), which is called every tick.

    threads         workers; [vec] num_threads unless given
    device          "cpu", or "cuda": the same loop with its numbers on the GPU
    gpus            CUDA: the numbers of those that share the work; the first [train] gpus that can
                    train unless given. The slices of the vec are dealt to them in their order
    path            CPU: instruction set: "auto", "generic", "avx2", "avx512", "neon"
    block_agents    CPU: agents that a worker steps and infers in turn; 0 = auto
    timed           CUDA: time every kernel by itself (kernels()), which takes longer
    program         CUDA: the environment compiled for the GPU, where copies of the vec's envs then
                    play; with [vec] device = cuda it is made unless given
    first_agent     the global number of the first row, where several processes share a run; of
                    the first rank's, with a group
    group           of the processes that share this run (distributed/group.py): vec and
                    minibatch_size are this rank's part, what is counted in steps and epochs is
                    of all
    """

    def __init__(self, vec: Envs, config: Config, *, threads: int | None = None,
                 device: str = "cpu", path: str = "auto", block_agents: int = 0,
                 first_agent: int = 0, timed: bool = False, gpus: Sequence[int] | None = None,
                 program: Path | None = None, group: Alone | None = None):
        check_config(config, "NativePPO")
        self.group = group or Alone()
        self.ranks, self._exchange = self.group.size, Exchange(self.group)
        self.config, self.settings, self.device = config, config.train, device
        self.agents, self.horizon = vec.num_agents, config.train.horizon        # N, T
        self.threads = max(choose_threads(config, threads), getattr(vec, "trainer_threads", 1))
        check_arrays(vec)
        check_sizes(vec, train := self.settings)
        plays = getattr(getattr(config, "vec", None), "device", "cpu") == "cuda"
        self.program = find_program(vec, device, program) if plays or program else None
        self.gpus = gpu_readings.choose_gpus(device, train.gpus) if gpus is None else list(gpus)
        factors = obs_factors(train, vec.obs_size)
        self._waits = vec.action_mask is not None and has_turns(vec)
        most = int(abi.constants(abi.trainer_header())["PUFFER_MAX_GPUS"])
        if not 1 <= len(self.gpus) <= most:
            raise UsageError("too many GPUs for one run", expected=f"1 to {most}",
                             actual=len(self.gpus))
        self._handle = Handle({
            **network_fields(config, vec.observations.dtype, vec.obs_size, vec.act_sizes,
                              self.agents),
            **{name: float(getattr(train, name)) for name in FROM_TRAIN},
            **({} if factors is None else {"obs_scale": abi.trainer_ffi().from_buffer(
                "float[]", factors.data)}),
            "horizon": self.horizon, "minibatch_size": train.minibatch_size,
            **{name: int(getattr(vec, array, None) is not None) for name, array in (
                ("has_masks", "action_mask"), ("has_final_obs", "has_final"),
                ("has_alive", "alive"))},
            "has_waits": int(self._waits),
            "block_agents": block_agents or getattr(vec, "block_agents", 0),
            "path": choose_path(path), "reset_state": int(config.base.reset_state),
            **{name: int(getattr(train, name)) for name in SWITCHES}, **self._exchange.fields,
            "first_agent": first_agent + self.group.rank * self.agents,
            "total_epochs": self.total_epochs, "num_buffers": count_slices(vec),
            "timed": int(timed), "gpus": len(self.gpus), "devices": self.gpus,
            "envs_on_gpu": int(self.program is not None), "async": int(train.async_),
            "threads": self.threads}, library_for(device), on_gpu=device == "cuda")
        self._parameters = self._handle.arrays("WEIGHT")
        self._state = self._handle.arrays("WEIGHT", "OPTIMIZER")
        self._meter = Meter(self._handle, self.ranks > 1)
        self.vec = vec
        self.restart_envs(vec)

    # -- counters

    @property
    def epoch(self) -> int:
        """Updates done."""
        return int(self._open.counters.epoch)

    @epoch.setter
    def epoch(self, value: int) -> None:
        self._open.counters.epoch = value

    @property
    def global_step(self) -> int:
        """Agent steps trained on."""
        return int(self._open.counters.global_step)

    @property
    def minibatch_carry(self) -> float:
        """The fraction of a minibatch that the last epoch left over."""
        return float(self._open.counters.minibatch_carry)

    @property
    def counters(self) -> dict[str, int | float]:
        """The numbers that a resume needs besides the tensors; JSON keeps them exactly."""
        now = self._open.counters
        return {name: kind(getattr(now, name)) for name, kind in COUNTERS.items()}

    def load_counters(self, counters: Mapping[str, int | float]) -> None:
        for name, kind in COUNTERS.items():     # those of earlier versions lack the last
            setattr(self._open.counters, name, kind(counters.get(name, 0)))

    # -- the loop

    def restart_envs(self, vec: Envs) -> None:
        """Go on with freshly created envs and zero carried state, as a resumed run does.

        The envs are reset when the next rollout starts, once, however often this is called.
        """
        check_same_envs(vec, self.vec)
        self.vec = vec
        self._envs: BoundEnvs | None = None

    @property
    def repeatable(self) -> bool:
        """Whether a resumed run can continue in the middle of episodes: actions and carried state
        are at hand after each epoch, and no rollout is under way."""
        return self.device == "cpu" and not self.settings.async_

    @property
    def played(self) -> np.ndarray:
        """(N, T, K) the last rollout's actions, by tick; no copy; where `repeatable`."""
        return (found := self._open.arrays("ROLLOUT")).get("played", found["actions"])

    @property
    def endings(self) -> np.ndarray | None:
        """(N, T) nonzero where the last rollout ended an episode; None where it is on a GPU."""
        return None if self.device != "cpu" else self._open.arrays("ROLLOUT")["ended"]

    def recurrent_state(self) -> dict[str, np.ndarray]:
        """What agents carry from rollout to rollout besides their envs, as a copy."""
        return {"carried.state": self._open.arrays("ROLLOUT")["state"].copy()}

    def resume_mid_episode(self, vec: Envs, recurrent_state: Mapping[str, np.ndarray]) -> None:
        """Go on with envs in the middle of their episodes: no reset."""
        check_same_envs(vec, self.vec)
        handle = self._open
        state = handle.arrays("ROLLOUT")["state"]
        check_tensors({"carried.state": state.shape}, recurrent_state)
        self.vec = vec
        self._attach(reset=False)
        state[...] = recurrent_state["carried.state"]

    def _attach(self, *, reset: bool) -> BoundEnvs:
        handle = self._open
        envs = bind_envs(self.vec, handle, self.threads, self.program, self.settings.async_)
        if reset:
            self.vec.reset()
        handle.envs_on_gpu = self.program is not None
        handle.call("attach", envs.c)
        self._envs = handle.keeps = envs    # what C looks at lives as long as it may look
        return envs

    def rollout(self) -> None:
        """T ticks of all agents into the buffers, then the value of what comes next.

        Raises what an env in Python raised; then nothing counts as stepped, and the next rollout
        begins with fresh episodes.
        """
        handle, began, envs = self._open, time.perf_counter(), self._envs
        if envs is None:
            envs = self._attach(reset=True)
            self._meter.seconds["env"] += time.perf_counter() - began
        before = self.global_step
        envs.check()
        try:
            envs.rollout(handle)
        finally:                        # also after Ctrl-C, which Python sees once C has returned
            failure = envs.failed()
            if failure is not None:     # it comes first: what else went wrong follows from it
                handle.counters.global_step, self._envs = before, None
                raise failure
            envs.after((self.global_step - before) // (self.agents * self.ranks))
            self._meter.seconds["rollout"] += time.perf_counter() - began

    def update(self, advantages: ArrayLike | None = None, returns: ArrayLike | None = None
               ) -> dict[str, float]:
        """Learn from the rollout; the metrics of this epoch. The epoch counter moves on.

        advantages, returns     (N, T) in place of those of V-trace, for all minibatches
        With train.async the losses are those of the epoch before, and the first has none.
        """
        handle, began = self._open, time.perf_counter()
        losses: Any = handle.ffi.new("PufferTrainerLosses*")
        if advantages is not None and returns is not None:
            require_own_advantages(self.config, self.ranks)
            given = check_given(advantages, returns, self.rollout_arrays())
            handle.call("give", *(handle.pointer("float*", array) for array in given))
        try:
            handle.call("update", losses)
        except RunError as error:
            raise self._exchange.failed() or error from None
        self._meter.seconds["train"] += time.perf_counter() - began
        metrics = {"train/learning_rate": losses.learning_rate, "train/ent_coef": losses.ent_coef,
                   "train/reward_clipped": int(losses.reward_clipped)}
        if getattr(self.vec, "alive", None) is not None or self._waits:
            metrics["train/alive"] = losses.alive / self.batch_size
        if losses.minibatches:
            metrics |= {f"loss/{name}": getattr(losses, name)
                        for name in (*LOSSES, "explained_variance", "grad_norm")}
        return metrics

    def take_timers(self) -> dict[str, float]:
        """Seconds in env, forward and train since the last call; then they start again at 0.

        env is that of all threads together, over their number; what else a rollout takes is
        forward. So they add up to the time that passed.
        """
        return self._meter.take_timers()

    def stats(self) -> Stats:
        """Where the time went since the last call, and how the work is cut."""
        return self._meter.take_stats()

    # -- only on a GPU

    def gpu(self) -> gpu_readings.Gpu | None:
        """The first GPU; None for the CPU trainer."""
        return gpu_readings.first_gpu(self._open)

    def kernels(self) -> dict[str, dict[str, float]]:
        """With `timed`: {name: {"calls", "seconds", "bytes", "flops"}}, since the beginning."""
        return gpu_readings.kernels(self._open)

    def peaks(self) -> tuple[float, float]:
        """At best, on this GPU: bytes/s of a copy, read and written; FLOP/s of a product."""
        return gpu_readings.peaks(self._open)

    # -- tensors

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """The live weights, without a copy: encoder (H, D), layers.i (3H, H), decoder (A + 1, H)
        with the value's row last, logstd. Call touch() after writing into them. On a GPU: as they
        are when this is asked for."""
        self._open.fetch("WEIGHT")
        return dict(self._parameters)

    @property
    def rollout_tensors(self) -> dict[str, np.ndarray]:
        """The rollout's buffers: obs (N, T, D), actions (N, T, K), ... Without a copy, but on a GPU
        as they are when this is asked for."""
        self._open.fetch("ROLLOUT")
        return self._open.arrays("ROLLOUT")

    def rollout_arrays(self) -> Rollout:
        """The last rollout, without a copy; on a GPU as it is when this is asked for."""
        def load() -> dict[str, np.ndarray | None]:
            found, names = self.rollout_tensors, {"finals": "final_values", "alive": "live"}
            return {name: found.get(names.get(name, name)) for name in Rollout.__annotations__}

        return Rollout(load)

    def touch(self) -> None:
        """Weights were written to: what was made of them is made again."""
        self._open.invoke("touch")

    def state_tensors(self) -> dict[str, np.ndarray]:
        """Weights, momentum (muon.NAME) and Adam (adam.m.NAME, adam.v.NAME), as copies."""
        self._open.fetch("WEIGHT")
        return {name: array.copy() for name, array in self._state.items()}

    def load_weights(self, tensors: Mapping[str, np.ndarray]) -> None:
        """Only the weights, by name; the optimiser's state stays as it is."""
        self._open.fetch("WEIGHT")
        load_tensors(self._open, self._open.arrays("WEIGHT"), tensors)

    def load_state_tensors(self, tensors: Mapping[str, np.ndarray]) -> None:
        """What state_tensors() gave. Missing names and other sizes are refused before any copy."""
        self._open.fetch("WEIGHT")
        load_tensors(self._open, self._state, tensors)

    # -- for experiments and parity tests

    def replay(self, rows: ArrayLike, q: ArrayLike) -> None:
        """The next update takes these segments and weights instead of picking: (minibatches, S).

        With several GPUs each part of a minibatch, in their order, is of that GPU's agents.
        """
        rows, q = np.ascontiguousarray(rows, np.int32), np.ascontiguousarray(q, np.float32)
        size = self.settings.minibatch_size // self.horizon
        if rows.ndim != 2 or rows.shape[1] != size or rows.shape != q.shape:
            raise UsageError("segments have the wrong shape",
                             expected=f"rows and q of (minibatches, {size})",
                             actual=f"{rows.shape} and {q.shape}")
        if rows.size and not (rows.min() >= 0 and rows.max() < self.agents):
            raise UsageError("this segment does not exist", expected=f"0 to {self.agents - 1}",
                             actual=int(rows.max() if rows.max() >= self.agents else rows.min()))
        gpus = len(self.gpus)
        owner = np.repeat(np.arange(gpus), max(1, size // gpus))[:size]
        if (rows // (self.agents // gpus) != owner).any():
            raise UsageError("these segments belong to another GPU's agents",
                             expected=f"{size // gpus} segments of each GPU's "
                                      f"{self.agents // gpus} agents, in their order")
        handle = self._open
        handle.invoke("replay", handle.pointer("int32_t*", rows), handle.pointer("float*", q),
                    len(rows))

    def advantages(self) -> np.ndarray:
        """(N, T): what the next minibatch would see."""
        handle, out = self._open, np.empty((self.agents, self.horizon), np.float32)
        handle.call("advantages", handle.pointer("float*", out))
        return out

    def pick(self, advantages: np.ndarray, minibatch: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """The S segments that this epoch's minibatch would take from them, and their weights q."""
        handle = self._open
        whole_number("minibatch", minibatch, 0, 2**31 - 1)
        advantages = np.ascontiguousarray(advantages, np.float32)
        if advantages.shape != (self.agents, self.horizon):
            raise UsageError("advantages have the wrong shape",
                             expected=(self.agents, self.horizon), actual=advantages.shape)
        size = self.settings.minibatch_size // self.horizon
        rows, q = np.empty(size, np.int32), np.empty(size, np.float32)
        handle.call("pick", handle.pointer("float*", advantages), minibatch,
                    handle.pointer("int32_t*", rows), handle.pointer("float*", q))
        return rows, q

    # -- the end

    def close(self) -> None:
        """Let the C side go; it ends with the last array that looks at its memory."""
        for name in ("_handle", "_parameters", "_state", "_envs", "_meter"):
            self.__dict__.pop(name, None)

    @property
    def _open(self) -> Handle:
        try:
            return self._handle
        except AttributeError:
            raise UsageError("this trainer is closed", hint="make a new one") from None

    def __enter__(self) -> NativePPO:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
