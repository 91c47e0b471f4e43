"""Many environments behind NumPy arrays.  NAME-HASH.so -> VecEnv

The arrays are the C buffers: nothing is copied. Sizes: N agents (rows), D observation
elements, K action heads.
"""
from __future__ import annotations

import mmap
import operator
import os
import re
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from . import building, paths, raylib
from .abi import ffi
from .errors import BuildError, PufferError, RunError, UsageError, nearest

PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS     # a child that forks off has its own
DTYPES = {0: np.dtype(np.uint8), 1: np.dtype(np.float32)}
ABI_VERSION = 2
ERROR_SIZE = 2048               # PUFFER_ERROR_SIZE
TRIALS = 16                     # ticks each way before an adaptive VecEnv decides


@dataclass(frozen=True)
class Description:
    """What an environment looks like under given settings."""

    name: str
    obs_dtype: np.dtype         # uint8 or float32
    obs_size: int               # D
    act_sizes: tuple[int, ...]  # head widths, 1 = continuous
    mask_size: int
    has_truncations: bool
    whole_steps: bool           # every step takes all envs
    log_names: tuple[str, ...]


class Library:
    """An opened environment library. Opening runs no code of the author's."""

    def __init__(self, path: Path, folder: Path | None = None):
        """folder: the environment's, so that errors can name the line of its ini"""
        raylib.load_null()
        self.path, self.folder = Path(path), folder
        beside = self.path.parent.parent            # where build/ usually stands
        if folder is None and paths.is_env_folder(beside):
            self.folder = beside
        try:
            self._handle = ffi().dlopen(str(path))
            self.api = self._handle.puffer_api()
        except (OSError, AttributeError) as error:
            missing = re.search(r"undefined symbol: (\w+)", str(error))
            if missing:
                raise BuildError(f"{missing[1]} is declared and used, but defined nowhere",
                                 where=self.folder or path,
                                 hint="define it in the header, or include what does") from None
            raise RunError("the environment library does not open", where=path,
                           detail=str(error), hint="delete it and build again") from None
        if self.api.abi_version != ABI_VERSION:
            raise RunError("the environment library speaks another ABI version", where=self.path,
                           expected=ABI_VERSION, actual=self.api.abi_version,
                           hint="delete it and build again")

    def describe(self, env_settings: Mapping[str, float] | None = None) -> Description:
        """Sizes under these [env] settings. Raises UsageError, e.g. for a missing key."""
        settings = Settings(env_settings or {})
        out, error = ffi().new("PufferDescription*"), ffi().new("char[]", ERROR_SIZE)
        if self.api.describe(settings.c, out, error):
            raise self.error(error, settings)
        text = ffi().string
        return Description(
            name=text(out.name).decode(), obs_dtype=DTYPES[out.obs_dtype],
            obs_size=out.obs_size, act_sizes=tuple(out.act_sizes[0:out.num_atns]),
            mask_size=out.mask_size, has_truncations=bool(out.has_truncations),
            whole_steps=bool(out.whole_steps),
            log_names=tuple(text(out.log_names[i]).decode() for i in range(out.num_logs)))

    def agents_per_env(self, env_settings: Mapping[str, float] | None = None,
                       watches=None) -> int:
        """Agents of one copy under these settings. Runs the author's init.

        watches    as VecEnv takes them
        """
        settings, error = Settings(env_settings or {}), ffi().new("char[]", ERROR_SIZE)
        watch = ffi().NULL if watches is None else ffi().addressof(watches, 0)
        with self.among_resources():
            agents = self.api.agents_per_env(settings.c, watch, error)
        if agents < 1:
            raise self.error(error, settings)
        return agents

    @contextmanager
    def among_resources(self):
        """Inside, the process stands where env code finds its resources/, if it has any."""
        place = paths.working_dir(self.folder) if self.folder else None
        if place is None or not (place / "resources").is_dir() or place == Path.cwd():
            yield
            return
        before = os.getcwd()
        os.chdir(place)
        try:
            yield
        finally:
            os.chdir(before)

    def error(self, buffer, env: Settings, vec: Settings | None = None) -> PufferError:
        """What the C side wrote into an error buffer, as an error to raise."""
        text = ffi().string(buffer).decode(errors="replace")
        return explain_error(text, vec if text.startswith("missing-vec-key") and vec else env,
                             self.folder)


class Settings:
    """A section of numbers as the C side takes it; keeps its memory alive."""

    def __init__(self, values: Mapping[str, float]):
        self.keys = list(values)
        self._texts = [ffi().new("char[]", key.encode()) for key in values]
        self._items = ffi().new("PufferSetting[]", max(1, len(self._texts)))
        for item, text, value in zip(self._items, self._texts, values.values(), strict=False):
            item.key, item.value = text, float(value)
        self.c = ffi().new("PufferSettings*", {"items": self._items, "count": len(values)})


def explain_error(text: str, settings: Settings, folder: Path | None = None) -> PufferError:
    """The C side's error text as an error with a hint; folder: the environment's, if known."""
    kind, _, rest = text.partition(": ")
    if kind in ("missing-key", "missing-vec-key"):
        section = "env" if kind == "missing-key" else "vec"
        close = nearest(rest, settings.keys)
        where, ini = _place_in_ini(folder, section, close)
        return UsageError(f"the binding reads [{section}] {rest}, which {ini} does not give",
                          code="PUF106", where=where, expected=f"a value for {rest}",
                          actual=", ".join(settings.keys) or f"no [{section}] keys",
                          hint=f"rename {close} to {rest}" if close
                          else f"add to [{section}]: {rest} = ...")
    if kind == "tiling":
        problem, _, working = rest.partition("; try: ")
        return UsageError("whole environments do not fill total_agents", detail=problem,
                          hint=f"set vec.total_agents to {working}" if working else
                          "make vec.total_agents a multiple of num_agents x num_buffers")
    hints = {"agents": "init must set num_agents to at least 1",
             "sizes": "OBS_SIZE must be at least 1 and equal in all envs, before and after init",
             "memory": "lower vec.total_agents"}
    return UsageError(rest or text or "the environment could not be created",
                      hint=hints.get(kind))


def _place_in_ini(folder: Path | None, section: str, key: str | None) -> tuple[str | None, str]:
    """file:line of a key or else of its section, and the ini's name."""
    from . import config, inifile

    ini = config.find_ini(folder) if folder else None
    if ini is None:
        return None, "the settings"
    entries, sections, _ = inifile.read(ini)
    lines = [entry.line for entry in entries if (entry.section, entry.key) == (section, key)]
    line = (lines or [sections.get(section)])[0]
    return inifile.where(ini, line) if line else str(ini), ini.name


def load(env, *, verbose: bool = False) -> Library:
    """Build the environment if it changed, and open its library."""
    folder = paths.find_env(env)
    return Library(building.build(folder, verbose=verbose).library, folder)


class VecEnv:
    """N agents in many copies of one environment, stepped together.

    observations  (N, D) uint8 or float32   what each agent sees; written by reset and step
    actions       (N, K) float32            fill before step: head ids, or values where width is 1
    rewards       (N,)   float32            of the last step
    terminals     (N,)   float32            1 where the last step ended an episode
    truncations   (N,)   float32            1 where a time limit ended it (terminals is 1 as well)
    action_mask   (N, mask_size) uint8      or None; 1 = legal

    All are the C side's own memory and stay valid until close. Envs reset themselves: after an
    ending, observations already show the next episode. The same seed gives the same bytes
    whatever the number of threads.
    """

    def __init__(self, library: Library, *, total_agents: int, seed: int = 0, threads: int = 1,
                 num_buffers: int = 1, env_settings: Mapping[str, float] | None = None,
                 vec_settings: Mapping[str, float] | None = None, watches=None,
                 adaptive: bool = False):
        """watches     C array of PufferWatch, one a thread, that a parent may read; or None
        adaptive    time the first ticks with one thread and with all, and go on with the faster
        """
        for name, value, low, high in (
                ("threads", threads, 1, 4096), ("num_buffers", num_buffers, 1, 2**16),
                ("total_agents", total_agents, 1, 2**31 - 1),
                ("seed", seed, -2**63, 2**64 - 1)):
            whole_number(name, value, low, high)
        self._handle = None
        self.library = library
        self.description = library.describe(env_settings)
        about = self.description
        self.num_agents, self.obs_size = int(total_agents), about.obs_size
        self.act_sizes, self.num_atns = about.act_sizes, len(about.act_sizes)
        self.seed, self.ticks = int(seed), 0
        self.num_buffers, self.env_settings = int(num_buffers), dict(env_settings or {})
        self._own_watches = watches is None
        self._watches = ffi().new("PufferWatch[]", threads) if watches is None else watches
        self._allocate()
        self._handle = self._create(env_settings or {}, vec_settings or {}, num_buffers,
                                    threads)
        self.num_envs = library.api.num_envs(self._handle)
        self._bind()
        self._threads = 1 if about.whole_steps else min(threads, self.num_envs)
        self._parts = self._split(self._threads)
        self._pool = ThreadPoolExecutor(self._threads - 1) if self._threads > 1 else None
        self._trials: dict[bool, list[float]] | None = (
            {False: [], True: []} if adaptive and self._pool else None)
        self._alone = self._pool is None

    # -- buffers: read-only names, so that no other array can take a buffer's place -----------

    observations = property(lambda self: self._observations)
    rewards = property(lambda self: self._rewards)
    terminals = property(lambda self: self._terminals)
    truncations = property(lambda self: self._truncations)
    action_mask = property(lambda self: self._action_mask)

    @property
    def actions(self) -> np.ndarray:
        return self._actions

    @actions.setter
    def actions(self, values) -> None:
        """`vec.actions = x` copies into the buffer: (N, K), or (N,) where there is one head."""
        values = np.asarray(values)
        if values.shape == (self.num_agents,) and self.num_atns == 1:
            values = values[:, None]
        if values.shape != self._actions.shape:
            raise UsageError("these actions have another shape", expected=self._actions.shape,
                             actual=values.shape)
        self._actions[:] = values

    def __repr__(self) -> str:
        about = self.description
        heads = "x".join(map(str, self.act_sizes))
        state = "" if self._handle is not None else ", closed"
        return (f"<VecEnv {about.name}: {self.num_agents} agents, {self.obs_size} "
                f"{about.obs_dtype.name} observations, actions {heads}{state}>")

    # -- making --------------------------------------------------------------

    def _allocate(self) -> None:
        about, n = self.description, self.num_agents
        per_agent = (about.obs_size * about.obs_dtype.itemsize + 4 * self.num_atns
                     + about.mask_size + 48)        # rewards and endings, and C's own tables
        if about.obs_size < 1:
            raise UsageError(f"OBS_SIZE is {about.obs_size} under these settings",
                             where=self.library.folder, expected="at least 1",
                             actual=about.obs_size,
                             hint="it follows [env]: is a key missing there, or misspelt?")
        if per_agent * n > available_memory():
            raise UsageError("the buffers would not fit in memory",
                             expected=f"at most {available_memory() >> 20} MiB",
                             actual=f"{per_agent * n >> 20} MiB for {n} agents with "
                                    f"{about.obs_size} observations",
                             hint="lower vec.total_agents, or OBS_SIZE")
        self.block, arrays = in_one_block(
            ((n, about.obs_size), about.obs_dtype), ((n, self.num_atns), np.float32),
            ((n,), np.float32), ((n,), np.float32), ((n,), np.float32),
            ((n, about.mask_size), np.uint8))
        (self._observations, self._actions, self._rewards, self._terminals, self._truncations,
         mask) = arrays
        self._action_mask = mask if about.mask_size else None
        mask[:] = 1

    def _create(self, env_settings, vec_settings, num_buffers, threads):
        env = Settings(env_settings)
        vec = Settings({"num_threads": threads, **vec_settings, "num_buffers": num_buffers,
                        "total_agents": self.num_agents})
        error = ffi().new("char[]", ERROR_SIZE)
        with self.library.among_resources():
            handle = self.library.api.create(env.c, vec.c, self.num_agents, num_buffers,
                                             self.seed & (2**64 - 1), self._watch(0), error)
        if handle == ffi().NULL:
            raise self.library.error(error, env, vec)
        return handle

    def _bind(self) -> None:
        first, count = ffi().new("int32_t*"), ffi().new("int32_t*")
        buffers, api = ffi().new("PufferBuffers*"), self.library.api
        observations = _pointer("char*", self.observations)
        actions, rewards, terminals, truncations = (
            _pointer("float*", array) for array in (self.actions, self.rewards, self.terminals,
                                                    self.truncations))
        mask = None if self.action_mask is None else _pointer("unsigned char*", self.action_mask)
        obs_bytes, mask_bytes = self.observations.strides[0], self.description.mask_size
        first_row = [0]
        for env in range(self.num_envs):        # many: every line here counts
            api.rows(self._handle, env, first, count)
            row = first[0]
            first_row.append(row + count[0])
            buffers.observations = observations + row * obs_bytes
            buffers.actions = actions + row * self.num_atns
            buffers.rewards, buffers.terminals = rewards + row, terminals + row
            if self.description.has_truncations:
                buffers.truncations = truncations + row
            if mask is not None:
                buffers.action_mask = mask + row * mask_bytes
            api.bind(self._handle, env, buffers)
        self.first_row = np.array(first_row, np.int64)

    def _split(self, parts: int) -> list[tuple[int, int]]:
        """Ranges (first env, count) of near-equal length."""
        edges = [self.num_envs * i // parts for i in range(parts + 1)]
        return [(a, b - a) for a, b in zip(edges, edges[1:], strict=False)]

    def _watch(self, worker: int):
        return ffi().addressof(self._watches, worker)

    # -- for code that steps the envs itself, through library.api -----------------------------

    @property
    def handle(self):
        """The PufferVec*, for library.api; UsageError once this VecEnv is closed."""
        self._check_open()
        return self._handle

    def watches_for(self, threads: int):
        """The C array of PufferWatch, with one entry for each of so many threads.

        Where a parent reads them, it is the parent's array, which is as long as it is.
        """
        if self._own_watches and threads > len(self._watches):
            self._watches = ffi().new("PufferWatch[]", threads)
        return self._watches

    # -- running -------------------------------------------------------------

    def reset(self) -> np.ndarray:
        """Begin episodes everywhere. Returns observations."""
        self._check_open()
        with self.library.among_resources():
            self.library.api.reset(self._handle, 0, self.num_envs, self._watch(0))
        return self.observations

    def step(self):
        """Advance every env one tick with what `actions` holds.

        Returns (observations, rewards, terminals, truncations), the same arrays each time.
        """
        self._check_open()
        self.ticks += 1
        if self._trials is not None:
            self._try()
        elif self._alone:
            self._step_alone()
        else:
            self._step_together()
        return self.observations, self.rewards, self.terminals, self.truncations

    def _step_alone(self) -> None:
        watch = self._watches[0]
        watch.step = self.ticks
        self.library.api.step(self._handle, 0, self.num_envs, 0, ffi().addressof(watch))

    def _step_together(self) -> None:
        step, handle = self.library.api.step, self._handle
        for worker in range(self._threads):
            self._watches[worker].step = self.ticks
        jobs = [self._pool.submit(step, handle, first, count, 0, self._watch(worker))
                for worker, (first, count) in enumerate(self._parts) if worker]
        step(handle, *self._parts[0], 0, self._watch(0))
        for job in jobs:
            job.result()

    def _try(self) -> None:
        """One tick of a trial: which way is faster is known after TRIALS of each."""
        together = self.ticks % 2 == 0
        began = time.perf_counter()
        (self._step_together if together else self._step_alone)()
        self._trials[together].append(time.perf_counter() - began)
        if len(self._trials[True]) == TRIALS:
            alone, both = (sorted(self._trials[way])[TRIALS // 2] for way in (False, True))
            self._alone, self._trials = alone <= both, None

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
        for name in ("observations", "actions", "rewards", "terminals", "truncations"):
            getattr(self, name)[:] = getattr(other, name)
        if self.action_mask is not None:
            self.action_mask[:] = other.action_mask
        for env in range(self.num_envs):
            theirs = other.library.api.env_struct(other.handle, env)
            ffi().memmove(self.library.api.env_struct(self.handle, env), theirs,
                          self.library.api.env_struct_size())
        self.ticks, other._handle = other.ticks, None
        self._bind()                    # their pointers led to the other's buffers

    def log(self) -> dict[str, float]:
        """Means over the log entries since the last call, and their number `n`; then cleared.

        Empty when nothing was logged.
        """
        return self.log_of(0, self.num_envs)

    def log_of(self, first: int, count: int = 1) -> dict[str, float]:
        """log() of some envs alone."""
        self._check_open()
        names = self.description.log_names
        out = ffi().new("double[]", max(1, len(names)))
        n = self.library.api.collect_log(self._handle, first, count, out)
        return {**dict(zip(names, out, strict=False)), "n": n} if n else {}

    def env_seed(self, env: int) -> int:
        """What env number `env` was seeded with."""
        return int(self.library.api.env_seed(self._handle, env))

    def torch(self) -> SimpleNamespace:
        """The arrays as torch tensors over the same memory."""
        import torch

        names = ("observations", "actions", "rewards", "terminals", "truncations")
        tensors = {name: torch.from_numpy(getattr(self, name)) for name in names}
        mask = None if self.action_mask is None else torch.from_numpy(self.action_mask)
        return SimpleNamespace(**tensors, action_mask=mask)

    def close(self) -> None:
        """Close every env. The arrays stay readable; stepping is an error."""
        if self._handle is not None:
            handle, self._handle = self._handle, None
            if self._pool:
                self._pool.shutdown()
            self.library.api.destroy(handle, self._watch(0))

    def _check_open(self) -> None:
        if self._handle is None:
            raise UsageError("this VecEnv is closed", hint="make a new one")

    def __enter__(self) -> VecEnv:
        return self

    def __exit__(self, *exc) -> None:
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None) is not None:
            self.close()


def make(env=None, *, num_envs: int | None = None, total_agents: int | None = None, seed: int = 0,
         threads: int = 1, num_buffers: int = 1,
         env_settings: Mapping[str, float] | None = None) -> VecEnv:
    """A VecEnv of the environment ENV (a folder or a name), built if it changed.

    num_envs        copies; or give total_agents, the rows of all copies together
    seed            each copy's own seed derives from it and the copy's index
    threads         how many step at a time; the result does not depend on it
    env_settings    [env] values over those of the ini
    Raises UsageError, BuildError.
    """
    from . import config

    folder = paths.find_env(env)
    overrides = {f"env.{key}": str(value) for key, value in (env_settings or {}).items()}
    built = building.build(folder)
    settings = config.resolve(folder, overrides, spec=built.spec)
    library = Library(built.library, folder)
    if num_envs is not None and total_agents is not None:
        raise UsageError("give num_envs or total_agents, not both")
    if total_agents is None:
        copies = whole_number("num_envs", 1 if num_envs is None else num_envs, 1, 2**31 - 1)
        total_agents = copies * library.agents_per_env(settings.env)
    return VecEnv(library, total_agents=total_agents, seed=seed, threads=threads,
                  num_buffers=num_buffers, env_settings=settings.env)


def whole_number(name: str, value, low: int, high: int) -> int:
    """value as an int in [low, high], or a UsageError."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or not low <= number <= high:
        raise UsageError(f"{name} cannot be {value!r}", expected=f"{low} to {high}",
                         actual=repr(value))
    return number


def mix_seed(seed: int, env: int) -> int:
    """The seed of one env of those created with `seed`: puffer_mix of vecenv.h."""
    mask = 2**64 - 1
    z = (seed + (env + 1) * 0x9E3779B97F4A7C15) & mask
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
    return (z ^ (z >> 31)) >> 16 & 0xFFFFFFFF


def in_one_block(*wanted: tuple[tuple[int, ...], object]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Zeros of these (shape, dtype), each on a cache line, and the whole pages that hold them all.

    The pages are nobody else's, so that a GPU may be let in to read and write there.
    """
    sizes = [int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in wanted]
    pages = -(-max(1, sum(size + 64 for size in sizes)) // mmap.PAGESIZE)
    block = np.frombuffer(mmap.mmap(-1, pages * mmap.PAGESIZE, PRIVATE), np.uint8)
    arrays, at = [], 0
    for (shape, dtype), size in zip(wanted, sizes):
        arrays.append(block[at:at + size].view(dtype).reshape(shape))
        at += -(-size // 64) * 64
    return block, arrays


def available_memory() -> int:
    """Bytes that this process may still hope to get."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 1 << 62


def _pointer(kind: str, array: np.ndarray, row: int = 0):
    """The address of a row of a buffer, as C takes it."""
    return ffi().cast(kind, array.ctypes.data + row * array.strides[0])
