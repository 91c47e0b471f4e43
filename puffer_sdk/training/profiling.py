"""Where the time of training goes.  environment + settings -> a table, and nothing on the disk

A child trains for some seconds as `train` would, with the clocks of the native trainer read at
the end. Shares are of all threads' time; what no phase claims is waiting: for a lock, for the
slowest worker, for a core that another process has.

On a GPU there is a second run, in which every kernel is timed by itself: without graphs, so it
takes longer, and each kernel has the GPU for itself.
"""
from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field

from ..base import paths
from ..base.errors import UsageError
from ..env import build, child
from ..env.job import EnvJob
from ..env.link import Link
from ..settings import config
from ..settings.values import Config
from . import backends

WARM_UP = 0.4           # part of the seconds that is not counted: caches, clocks, page faults
EPOCHS = 3              # that are counted at least
RATE_SECONDS = 0.4      # of measuring matrix products, before training and after it
WAITING = "waiting"


@dataclass(frozen=True)
class Phase:
    """One kind of work."""

    name: str               # "rollout: environments", "update: Muon", ..., "waiting"
    seconds: float          # of all threads together
    share: float            # of all threads' time
    ns_per_step: float      # what it adds to the time of one agent step


@dataclass(frozen=True)
class Kernel:
    """One kernel, product or kind of copy on the GPU."""

    name: str
    calls: float            # an epoch
    microseconds: float     # a call
    share: float            # of the seconds of all kernels
    bandwidth: float        # bytes/s, what it reads and writes counted once
    of_copy: float          # the same, as a share of what a copy reaches
    flops: float            # FLOP/s, of products


@dataclass(frozen=True)
class Profile:
    """What was measured, and on what."""

    env: str
    steps: int                  # agent steps that were counted
    seconds: float              # that they took
    steps_per_second: float
    phases: list[Phase]         # in the order of an epoch, waiting last; shares add up to 1
    gflops: float               # GFLOP/s of the network, as if all its products were dense
    matmul_gflops: float        # what the same threads reach in matrix products alone
    flops_per_step: float
    threads: int
    path: str                   # instruction set: "avx512", "avx2", "neon", "generic"
    precision: str              # "fp32" or "bf16"
    blocks: int                 # that the agents are cut into in a rollout ...
    block_agents: int           # ... and agents of each
    lockstep: bool              # whether all agents tick together
    bytes: int                  # memory of the trainer
    gpu: dict | None = None     # NativePPO.gpu()
    kernels: list[Kernel] = field(default_factory=list)     # on a GPU, the slowest first
    busy: float | None = None   # seconds of all kernels over the seconds that an epoch takes
    copy_rate: float | None = None      # bytes/s that a copy on the GPU reaches, read and written

    def to_dict(self) -> dict:
        """JSON-able."""
        return asdict(self)


def profile(env=None, settings: Mapping[str, object] | None = None, *, seconds: float = 3.0,
            on_progress: Callable[[str, float, float], None] | None = None,
            verbose: bool = False) -> Profile:
    """Train on ENV (a folder or a name) for some seconds, and say where they went.

    on_progress   called as on_progress("training", done, total)
    Raises UsageError where the settings ask for the PyTorch trainer, whatever train raises.
    """
    folder = paths.find_env(env)
    built = build.build(folder, verbose=verbose)
    resolved = config.resolve(folder, settings, spec=built.spec)
    if resolved.train.backend != "native":
        raise UsageError("profile looks into the native trainer",
                         where=resolved.origin.get("train.backend"),
                         expected="train.backend = native", actual=resolved.train.backend,
                         hint="leave out what asks for PyTorch: its own profiler sees more of it")
    backends.require(resolved, folder, verbose=verbose)
    job = ProfileJob.of(built, resolved, seconds=seconds)

    def on_event(kind: str, payload: dict) -> None:
        if kind == "progress" and on_progress:
            on_progress("training", payload["done"], seconds)

    found = child.run("puffer_sdk.training.profiling:work", job, on_event,
                          cwd=paths.working_dir(folder), step_timeout=resolved.vec.step_timeout)
    return Profile(**{**found, "phases": [Phase(**phase) for phase in found["phases"]],
                      "kernels": [Kernel(**kernel) for kernel in found.get("kernels", ())]})


def flops_of_forward(obs_size: int, act_sizes, hidden: int, layers: int) -> float:
    """Floating-point operations of one agent's pass through the network: two a weight."""
    return 2.0 * (obs_size * hidden + 3 * layers * hidden**2 + hidden * (sum(act_sizes) + 1))


# -- in the child ------------------------------------------------------------------


@dataclass(frozen=True)
class ProfileJob(EnvJob):
    """What the child needs to be profiled."""

    seconds: float


def work(job: ProfileJob, link: Link) -> dict:
    """The child's target: a Profile as a dict; empty if it was asked to stop."""
    from .train import make_vec

    resolved = job.config
    vec = make_vec(job.open(), resolved, 0, link)
    trainer = backends.make_trainer(vec, resolved)
    best = product_rate(trainer, resolved)
    warm = WARM_UP * job.seconds
    train(trainer, warm, link, 0.0)
    if link.stop:
        return {}                               # nobody asks for it: the parent was interrupted
    trainer.stats()
    before, began = trainer.counters, time.perf_counter()
    train(trainer, job.seconds - warm, link, warm)
    seconds = time.perf_counter() - began
    if link.stop:
        return {}
    stats, after, gpu = trainer.stats(), trainer.counters, trainer.gpu()
    best = max(best, product_rate(trainer, resolved))
    epochs = after["epoch"] - before["epoch"]
    steps = after["global_step"] - before["global_step"]
    replayed = (after["optimizer_steps"] - before["optimizer_steps"]) \
        * resolved.train.minibatch_size
    forward = flops_of_forward(vec.obs_size, vec.act_sizes, resolved.policy.hidden_size,
                               resolved.policy.num_layers)
    flops = forward * (steps + 3 * replayed)
    trainer.close()
    more = {"gpu": gpu, **kernel_facts(vec, resolved, seconds / epochs)} if gpu else {}
    vec.close()
    return {"env": job.name, "steps": steps, "seconds": seconds,
            "steps_per_second": steps / seconds,
            "phases": phases(stats["seconds"], seconds * stats["threads"], steps / seconds),
            "gflops": flops / seconds * 1e-9, "matmul_gflops": best * 1e-9,
            "flops_per_step": flops / steps, "precision": resolved.train.precision, **more,
            **{name: stats[name] for name in ("threads", "path", "blocks", "block_agents",
                                              "lockstep", "bytes")}}


def product_rate(trainer, resolved: Config) -> float:
    """FLOP/s that matrix products reach alone, where this trainer computes."""
    from .native import library

    if trainer.gpu():
        return trainer.peaks()[1]
    return 1e9 * library.matmul_rate(trainer.stats()["path"], resolved.train.precision,
                                     trainer.threads, RATE_SECONDS)


def kernel_facts(vec, resolved: Config, epoch_seconds: float) -> dict:
    """Every kernel timed by itself, on the GPU: Kernels as dicts, and how busy they keep it."""
    with backends.make_trainer(vec, resolved, timed=True) as trainer:
        trainer.rollout()
        trainer.update()                        # loads the kernels
        before = trainer.kernels()
        for _ in range(EPOCHS):
            trainer.rollout()
            trainer.update()
        trainer.state_tensors()                 # waits for an update that is under way
        after, copy_rate = trainer.kernels(), trainer.peaks()[0]
    spent = {name: {key: value - before.get(name, {}).get(key, 0) for key, value in now.items()}
             for name, now in after.items()}
    spent = {name: each for name, each in spent.items() if each["calls"] and each["seconds"] > 0}
    total = sum(each["seconds"] for each in spent.values())
    rows = [asdict(Kernel(name, each["calls"] / EPOCHS, 1e6 * each["seconds"] / each["calls"],
                          each["seconds"] / total, each["bytes"] / each["seconds"],
                          each["bytes"] / each["seconds"] / copy_rate,
                          each["flops"] / each["seconds"])) for name, each in spent.items()]
    rows.sort(key=lambda row: -row["share"])
    return {"kernels": rows, "busy": total / EPOCHS / epoch_seconds, "copy_rate": copy_rate}


def train(trainer, seconds: float, link: Link, before: float) -> None:
    """Whole epochs until the seconds have passed."""
    began, epochs = time.perf_counter(), 0
    while not link.stop and (time.perf_counter() - began < seconds or epochs < EPOCHS):
        trainer.rollout()
        trainer.update()
        epochs += 1
        link.emit("progress", done=before + time.perf_counter() - began)


def phases(seconds: Mapping[str, float], total: float, steps_per_second: float) -> list[dict]:
    """Phases as dicts. total: of all threads; what no phase claims of it is waiting."""
    claimed = sum(seconds.values())
    every = {**seconds, WAITING: max(0.0, total - claimed)}
    total = max(total, claimed)                 # clocks of several cores may differ a little
    return [asdict(Phase(name, each, each / total, 1e9 / steps_per_second * each / total))
            for name, each in every.items()]
