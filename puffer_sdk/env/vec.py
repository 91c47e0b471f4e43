"""Many environments behind NumPy arrays.  NAME-HASH.so -> VecEnv

The arrays are the C buffers: nothing is copied. Sizes: N agents (rows), D observation
elements, K action heads.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.errors import UsageError
from ..base.number_limits import whole_number
from . import abi
from .abi import CObject, ffi, new_error
from .blocks import available_memory, in_one_block, pointer
from .library import EnvLibrary, Layout, Obs, Settings, error_of
from .log_means import Logs
from .row_spaces import RowSpaces
from .seeds import mix_seed
from .teams import Teams
from .thread_autotune import ThreadAutotune
from .vec_arrays import EnvSettings
from .vec_checks import StepChecks
from .worlds import Worlds

if TYPE_CHECKING:
    from typing_extensions import Unpack

SEEDS = (-2**63, 2**64 - 1)


class VecOptions(TypedDict, total=False):
    """What VecEnv takes beside a library, total_agents and watches."""

    seed: int
    threads: int
    num_buffers: int
    env_settings: Mapping[str, float] | None
    vec_settings: Mapping[str, float] | None
    adaptive: bool
    env_seeds: Sequence[int] | None
    checked: bool


class VecEnv(RowSpaces, Logs, Teams, Worlds):
    """N agents in many copies of one environment, stepped together.

    observations  (N, D) uint8, float32, int32   what each agent sees; written by reset and step
    actions       (N, K) float32            fill before step: head ids, or values where width is 1
    rewards       (N,)   float32            of the last step
    terminals     (N,)   float32            1 where the last step ended an episode
    truncations   (N,)   float32            1 where a time limit ended it (terminals is 1 as well)
    action_mask   (N, mask_size) uint8      or None; 1 = legal
    final_observations  (N, D)              the last observation of truncated episodes, or with
                                            all_finals of all; None where nobody can give them
    has_final     (N,)   uint8              1 where the last step wrote that row of them; or None
    alive         (N,)   uint8              0 where a row has no agent now; None: all always have
    teams         (N,)   int64              which team of its env a row is in; None: not declared

    all_finals: if True, final_observations holds the last observation of all episodes, not only of
    truncated ones. Environments that write them themselves may ignore it; those that cannot give
    them refuse it, and say why.

    observation_space, action_space: what these arrays hold, as Gymnasium's vectors name it.

    All are the C side's own memory and stay valid until close. Envs reset themselves: after an
    ending, observations already show the next episode. The same seed gives the same bytes
    whatever the number of threads.
    """

    def __init__(self, library: EnvLibrary, *, total_agents: int, seed: int = 0, threads: int = 1,
                 num_buffers: int = 1, env_settings: Mapping[str, float] | None = None,
                 vec_settings: Mapping[str, float] | None = None, watches: CObject = None,
                 adaptive: bool = False, env_seeds: Sequence[int] | None = None,
                 checked: bool = False):
        """env_seeds   of each copy, 0 to 2^32 - 1, in place of those that follow from `seed`
        watches     C array of PufferWatch, one a thread, that a parent may read; or None
        adaptive    time the first ticks with one thread and with all, and go on with the faster
        checked     step() refuses what vec_checks.py names
        """
        before = set(vars(self))
        for name, value, low, high in (
                ("threads", threads, 1, 4096), ("num_buffers", num_buffers, 1, 2**16),
                ("total_agents", total_agents, 1, 2**31 - 1),
                ("seed", seed, *SEEDS)):
            whole_number(name, value, low, high)
        self._handle = None
        self.library = library
        self.description = library.describe(env_settings)
        about = self.description
        self.num_agents, self.obs_size = int(total_agents), about.obs_size
        self.act_sizes, self.num_atns = about.act_sizes, len(about.act_sizes)
        self.seed, self.ticks = int(seed), 0
        self._given_seeds = None if env_seeds is None else np.array(env_seeds, np.uint32)
        self._all_finals = False
        self.num_buffers, self.env_settings = int(num_buffers), EnvSettings(env_settings or {})
        self._own_watches = watches is None
        self._watches: CObject = ffi().new("PufferWatch[]", threads) if watches is None else watches
        self._allocate()
        self._handle = self._create(env_settings or {}, vec_settings or {}, num_buffers,
                                    threads)
        self.num_envs = library.api.num_envs(self._handle)
        self._bind()
        self._no_changes()
        self._threads = 1 if about.whole_steps else min(threads, self.num_envs)
        self._parts = self._split(self._threads)
        self._pool = ThreadPoolExecutor(max(1, self._threads - 1))      # starts them as needed
        self._alone = self._threads == 1
        self._autotune = ThreadAutotune() if adaptive and not self._alone else None
        self._checks = StepChecks(self) if checked else None
        self.seal(before)

    def __repr__(self) -> str:
        about = self.description
        heads = "x".join(map(str, self.act_sizes))
        state = "" if self._handle is not None else ", closed"
        return (f"<VecEnv {about.name}: {self.num_agents} agents, {self.obs_size} "
                f"{about.obs_dtype.name} observations, actions {heads}{state}>")

    # -- making --------------------------------------------------------------

    def _allocate(self) -> None:
        about, n = self.description, self.num_agents
        per_agent = (about.obs_size * about.obs_dtype.itemsize * (1 + about.has_final_obs)
                     + 4 * self.num_atns + about.mask_size
                     + 96)                          # rewards and endings, and C's own tables
        if about.obs_size < 1:
            raise UsageError(f"OBS_SIZE is {about.obs_size} under these settings",
                             where=self.library.folder, expected="at least 1",
                             actual=about.obs_size,
                             hint="it depends on [env]: check for a missing or misspelt key")
        if per_agent * n > available_memory():
            raise UsageError("the buffers would not fit in memory",
                             expected=f"at most {available_memory() >> 20} MiB",
                             actual=f"{per_agent * n >> 20} MiB for {n} agents with "
                                    f"{about.obs_size} observations",
                             hint="lower vec.total_agents, or OBS_SIZE")
        self.block, arrays = in_one_block(
            ((n, about.obs_size), about.obs_dtype), ((n, self.num_atns), np.float32),
            ((n,), np.float32), ((n,), np.float32), ((n,), np.float32),
            ((n, about.mask_size), np.uint8),
            ((n, about.obs_size * about.has_final_obs), about.obs_dtype),
            ((n * about.has_final_obs,), np.uint8), ((n * about.has_alive,), np.uint8))
        (self._observations, self._actions, self._rewards, self._terminals, self._truncations,
         mask, finals, has_final, alive) = arrays
        self._action_mask = mask if about.mask_size else None
        mask[:] = 1
        self._final_observations, self._has_final = (
            (finals, has_final) if about.has_final_obs else (None, None))
        self._alive = alive if about.has_alive else None

    def _create(self, env_settings: Mapping[str, float], vec_settings: Mapping[str, float],
                num_buffers: int, threads: int) -> CObject:
        env = Settings(env_settings)
        vec = Settings({"num_threads": threads, **vec_settings, "num_buffers": num_buffers,
                        "total_agents": self.num_agents})
        error, room = new_error(), None
        seeds: CObject = ffi().NULL
        if self._given_seeds is not None:       # a copy for each agent, at most
            room = np.resize(self._given_seeds, self.num_agents)
            seeds = pointer("uint32_t*", room)
        with self.library.among_resources():
            handle: CObject = self.library.api.create(env.c, vec.c, self.num_agents, num_buffers,
                                             self.seed & (2**64 - 1), seeds, self._watch(0),
                                             error)
        if handle == ffi().NULL:
            raise error_of(error, env, vec, folder=self.library.folder)
        return handle

    def seeds_of(self, copies: int) -> list[int]:
        """The own seeds of so many copies."""
        if self._given_seeds is not None:
            return [int(seed) for seed in self._given_seeds[:copies]]
        return [mix_seed(self.seed & (2**64 - 1), env) for env in range(copies)]

    def _bind(self) -> None:
        floats = (pointer("float*", array) for array in (
            self.actions, self.rewards, self.terminals,
            self.truncations if self.description.has_truncations else None))
        all_rows = ffi().new("PufferBuffers*", [
            pointer("void*", self.observations), *floats,
            pointer("unsigned char*", self.action_mask),
            pointer("void*", self.final_observations), pointer("unsigned char*", self.has_final),
            pointer("unsigned char*", self.alive)])
        vars(self)["first_row"] = np.zeros(self.num_envs + 1, np.int64)     # again after a rebuild
        self.library.api.bind_all(self._handle, all_rows, pointer("int64_t*", self.first_row))

    def _split(self, parts: int) -> list[tuple[int, int]]:
        """Ranges (first env, count) of near-equal length."""
        edges = [self.num_envs * i // parts for i in range(parts + 1)]
        return [(a, b - a) for a, b in zip(edges, edges[1:])]

    def _watch(self, worker: int) -> CObject:
        return self._watches + worker

    # -- for code that steps the envs itself, through library.api -----------------------------

    def watches_for(self, threads: int) -> CObject:
        """The C array of PufferWatch, with one entry for each of so many threads.

        Where a parent reads them, it is the parent's array, which is as long as it is.
        """
        if self._own_watches and threads > len(self._watches):
            self._watches = ffi().new("PufferWatch[]", threads)
        return self._watches

    @property
    def trainer_fields(self) -> dict[str, CObject]:
        """What a trainer steps: `api`, the rows of each of its envs, and whether a step takes all
        of them."""
        return {"api": self.library.api, "first_row": self.first_row,
                "whole_steps": int(self.description.whole_steps)}

    @property
    def layout(self) -> Layout | None:
        """How rows unflatten into the observations of a Python environment; None: compiled ones."""
        return self.description.layout

    trainer_threads = 1         # that a trainer should have, at least
    block_agents = 0            # that it steps together, where that is not for it to choose

    def failure(self) -> BaseException | None:
        """What ended this vec for good, or what set() could not do; None while it is fine.
        Compiled code ends the process."""
        return self.failed_change()

    # -- running -------------------------------------------------------------

    def reset(self, seed: int | None = None) -> Obs:
        """Begin episodes everywhere. Returns observations.

        seed    recreate all copies first, as in a new VecEnv with this seed. What they have
                logged is dropped. Raises UsageError where a binding makes all copies at once
        """
        self._check_open()
        if seed is not None:
            self._reseed(whole_number("seed", seed, *SEEDS))
        self.reset_range(0, self.num_envs)
        if self._changes:
            self._raise_failed_change()
        if self._checks is not None:
            self._checks.after_reset()
        return self.observations

    def _reseed(self, seed: int) -> None:
        env, made = 0, dict[int, Settings]()
        try:
            for env, world in enumerate(self._worlds):
                settings = made[id(world)] = made.get(id(world)) or Settings(self._settings(world))
                self._renew(env, mix_seed(seed & (2**64 - 1), env), settings)
        except UsageError:
            self.reset_range(0, env)    # those that are new already have to play as well
            raise
        self._begin_from(seed)
        for array in (self._actions, self._final_observations):
            if array is not None:
                array[:] = 0
        self.log()

    def reset_range(self, first: int, count: int) -> None:
        """reset() of some copies only."""
        self._check_open()
        self._begun = True
        with self.library.among_resources():
            self.library.api.reset(self._handle, first, count, self._watch(0))

    def step(self, actions: ArrayLike | None = None) -> tuple[
            Obs, NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """Advance every env one tick with what `actions` holds; given ones are copied there first.

        Returns (observations, rewards, terminals, truncations), the same arrays each time.
        """
        self._check_open()
        if actions is not None:
            self.actions = actions
        if self._checks is not None:
            self._checks.before_step()
        self.count_ticks(1)
        if self._autotune is not None:
            self._autotune.turn(self._step_alone, self._step_together)
            if self._autotune.over:
                self._alone, self._autotune = self._autotune.first_is_faster, None
        elif self._alone:
            self._step_alone()
        else:
            self._step_together()
        if self._changes:
            self._raise_failed_change()
        if self._checks is not None:
            self._checks.after_step()
        return self.observations, self.rewards, self.terminals, self.truncations

    def step_others(self, waits: ArrayLike) -> None:
        """step() of all copies but those that wait (num_envs,): their rewards and endings become 0,
        and their other rows stay as they are."""
        self._check_open()
        marks = np.ascontiguousarray(waits, np.uint8)
        self.count_ticks(1)
        self._step_together(self.library.api.step_others, pointer("unsigned char*", marks))

    def renew(self, env: int, seed: int, *, abandon: bool = False) -> None:
        """Recreate one copy, as if created with its own seed; reset_range begins it.

        abandon     do not have the old one closed by the author's c_close
        Raises UsageError where the binding makes all copies at once; nothing has changed then.
        """
        self._check_open()
        self._renew(env, seed, Settings(self._settings(self._worlds[env])), abandon)

    def _renew(self, env: int, seed: int, settings: Settings, abandon: bool = False) -> None:
        error = new_error()
        with self.library.among_resources():
            failed = self.library.api.renew(self._handle, env, settings.c, seed, abandon,
                                            self._watch(0), error)
        if failed:
            raise error_of(error, settings, folder=self.library.folder)

    @property
    def _flags(self) -> int:
        return abi.number("PUFFER_ALL_FINALS") if self._all_finals else 0

    def _step_alone(self) -> None:
        watch = self._watches[0]
        watch.step = self.ticks
        self.library.api.step(self._handle, 0, self.num_envs, self._flags,
                              ffi().addressof(watch))

    def _step_together(self, step: CObject = None, *given: CObject) -> None:
        """On all threads. step: another function than the library's, that takes `given` as well"""
        step, handle, flags = step or self.library.api.step, self._handle, self._flags
        for worker in range(self._threads):
            self._watches[worker].step = self.ticks
        jobs = [self._pool.submit(partial(step, handle, first, count, flags, *given,
                                          self._watch(worker)))
                for worker, (first, count) in enumerate(self._parts) if worker]
        step(handle, *self._parts[0], flags, *given, self._watch(0))
        for job in jobs:
            job.result()

    def render(self, env: int = 0) -> None:
        """Have one env draw itself, with the raylib of this process (screen.py opens one)."""
        self._check_open()
        with self.library.among_resources():
            self.library.api.render(self._handle, env, self._watch(0))

    def take_over(self, other: VecEnv) -> None:
        """The other's buffers, and the bytes of its env structs, whose memory they now share.

        For a library that was rebuilt with the same structs. The other is not closed after that:
        what its envs allocated is ours.
        """
        for name in ("observations", "actions", "rewards", "terminals", "truncations",
                     "action_mask", "final_observations", "has_final", "alive"):
            if (ours := getattr(self, name)) is not None:
                ours[:] = getattr(other, name)
        for env in range(self.num_envs):
            theirs = other.library.api.env_struct(other.handle, env)
            ffi().memmove(self.library.api.env_struct(self.handle, env), theirs,
                          self.library.api.env_struct_size())
        vars(self)["ticks"], other._handle = other.ticks, None
        self._bind()                    # their pointers led to the other's buffers

    def env_seed(self, env: int) -> int:
        """What env number `env` was seeded with."""
        return int(self.library.api.env_seed(self._handle, env))

    def close(self) -> None:
        """Close every env. The arrays stay readable; stepping is an error."""
        if self._handle is not None:
            handle, self._handle = self._handle, None
            self._pool.shutdown()
            self.library.api.destroy(handle, self._watch(0))

    def __enter__(self) -> VecEnv:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()


def make_vec(library: EnvLibrary, *, total_agents: int, watches: CObject = None,
             **options: Unpack[VecOptions]) -> VecEnv:
    """A VecEnv of an opened environment, or the kind of its own that the library brings."""
    kind: type[VecEnv] = getattr(library, "vec_kind", VecEnv)
    return kind(library, total_agents=total_agents, watches=watches, **options)
