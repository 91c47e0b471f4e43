"""Where the time of training goes.  environment + settings -> a table; no files

A child trains for some seconds as `train` would, then reads the clocks of the native trainer.
Shares are of all threads' time. The time of no phase is waiting: for a lock, for the slowest
worker, for a core that another process uses.

On a GPU a second run times every kernel by itself. It works without graphs, so it takes longer,
and each kernel has the GPU to itself.

Under torchrun the run of all processes is measured; rank 0 reports how long each of them waited.
The others wait for the one that waited least.
"""
from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.errors import UsageError
from ..distributed import agreeing, cores, dividing, rank
from ..distributed.group import Alone, join
from ..distributed.rank import Place
from ..env import child_process, encoder_choice
from ..env.child_pipe import Link
from ..env.job import EnvJob
from ..interop.python_envs import env_source
from ..settings.values import Config
from . import backends
from .native.network_flops import UPDATED, Network

if TYPE_CHECKING:
    from .native.native_ppo import NativePPO
    from .schedules import Envs

WARM_UP = 0.4           # share of the seconds that is not measured: caches, clocks, page faults
EPOCHS = 3              # measured, at least
RATE_SECONDS = 0.4      # to measure matrix products, before training and after it
WAITING = "waiting"


@dataclass(frozen=True)
class Phase:
    """One kind of work."""

    name: str               # "rollout: environments", "update: Muon", ..., "waiting"
    seconds: float          # of all threads together
    share: float            # of all threads' time
    ns_per_step: float      # its part of the time of one agent step
    gflops: float | None = None     # GFLOP/s of all threads in it; None where it has no products


@dataclass(frozen=True)
class Kernel:
    """One kernel, product or kind of copy on the GPU."""

    name: str
    calls: float            # per epoch
    microseconds: float     # per call
    share: float            # of the seconds of all kernels
    bandwidth: float        # bytes/s; each byte read or written counts once
    of_copy: float          # the same, as a share of copy_rate
    flops: float            # FLOP/s, of products


@dataclass(frozen=True)
class Profile:
    """The measured times, and the sizes they belong to."""

    env: str
    steps: int                  # agent steps measured
    seconds: float              # they took this long
    steps_per_second: float
    phases: list[Phase]         # in the order of an epoch, waiting last; shares add up to 1
    gflops: float               # GFLOP/s of all products, Muon's too, counted as dense
    matmul_gflops: float        # of the same threads in products of these shapes only
    flops_per_step: float
    muon_gflop: float           # GFLOP of one step of Muon, which a minibatch of any size takes
    muon_share: float           # of all operations
    threads: int
    path: str                   # instruction set: "avx512", "avx2", "neon", "generic"
    precision: str              # "fp32" or "bf16"
    blocks: int                 # of agents in a rollout ...
    block_agents: int           # ... and agents in each
    lockstep: bool              # whether all agents tick together
    bytes: int                  # memory of the trainer
    gpu: dict[str, object] | None = None    # NativePPO.gpu()
    kernels: list[Kernel] = field(default_factory=list)     # on a GPU, the slowest first
    busy: float | None = None   # seconds of all kernels one after another / seconds of an epoch:
    #                                     above 1 where streams run at the same time
    copy_rate: float | None = None      # bytes/s of a copy on the GPU, reads plus writes
    ranks: list[dict[str, str | float]] = field(default_factory=list)   # of several: host, rollout,
    #                                     update, and exchange: seconds of it that it waited

    def to_dict(self) -> dict[str, object]:
        """JSON-able."""
        return asdict(self)


def profile(env: str | Path | None = None, settings: Mapping[str, object] | None = None, *,
            ini: Path | None = None, seconds: float = 3.0,
            on_progress: Callable[[str, float, float], None] | None = None,
            verbose: bool = False) -> Profile | None:
    """Train on ENV (a folder or a name) for some seconds, and measure where the time goes.

    ini           a file of settings over the environment's own ini
    on_progress   called as on_progress("training", done, total)
    Under torchrun all processes call this. Rank 0 returns the result, the others None.
    Raises UsageError if the settings ask for the PyTorch trainer, and what train raises.
    """
    prepared = env_source.find(env, ini).prepare(settings, verbose=verbose)
    place = rank.find()
    if place is not None:
        prepared = replace(prepared, config=dividing.in_group(prepared.config, place.size,
                                                              place.local_size))
    resolved = prepared.config
    if resolved.train.backend != "native":
        raise UsageError("profile looks into the native trainer",
                         where=resolved.origin.get("train.backend"),
                         expected="train.backend = native", actual=resolved.train.backend,
                         hint="omit --train.backend torch; use PyTorch's own profiler for it")
    resolved = backends.require(resolved, prepared.folder, verbose=verbose)
    job = prepared.job(ProfileJob, config=resolved, seconds=seconds, place=place)
    leads = place is None or place.rank == 0

    def on_event(kind: str, payload: dict[str, Any]) -> None:
        if kind == "progress" and on_progress and leads:
            on_progress("training", payload["done"], seconds)

    found = child_process.run("puffer_sdk.training.profiling:work", job, on_event,
                      cwd=prepared.cwd, step_timeout=prepared.patience)
    if not leads:
        return None
    return Profile(**{**found, "phases": [Phase(**phase) for phase in found["phases"]],
                      "kernels": [Kernel(**kernel) for kernel in found.get("kernels", ())]})


# -- in the child ------------------------------------------------------------------


@dataclass(frozen=True)
class ProfileJob(EnvJob):
    """What the child needs to be profiled."""

    seconds: float
    place: Place | None = None


def work(job: ProfileJob, link: Link) -> dict[str, object]:
    """The child's target: a Profile as a dict; empty if it had to stop."""
    from .native.native_ppo import NativePPO
    from .native.phase_timers import EXCHANGE_PHASE
    from .train_job import make_vec

    group = join(job.place, job.config.train.group_timeout)
    resolved = dividing.part_of(job.config, group.size)
    library = (job := replace(job, config=resolved)).open()
    resolved = encoder_choice.of_compiled(job, library.describe(resolved.env))
    cores.divide(group, resolved.vec.num_threads)
    paths = [rank["paths"] for rank in
             group.share({"paths": backends.available_paths(job.config)})]
    vec = make_vec(library, resolved, 0, link)
    trainer = backends.make_trainer(
        vec, resolved, path=agreeing.best_path(paths, group.hosts) if group.size > 1 else "auto",
        group=group)
    assert isinstance(trainer, NativePPO)       # profile() refuses others
    network = Network.of(vec.obs_size, vec.act_sizes, resolved.policy.hidden_size,
                         resolved.policy.num_layers, resolved.policy.encoder)
    best = product_rate(trainer, network, resolved.train.precision)
    warm = WARM_UP * job.seconds
    if not train(trainer, warm, link, 0.0, group):
        return {}                               # the parent was interrupted
    trainer.stats()
    before, began = trainer.counters, time.perf_counter()
    if not train(trainer, job.seconds - warm, link, warm, group):
        return {}
    seconds = time.perf_counter() - began
    stats, after, gpu = trainer.stats(), trainer.counters, trainer.gpu()
    best = max(best, product_rate(trainer, network, resolved.train.precision))
    epochs = after["epoch"] - before["epoch"]
    steps = after["global_step"] - before["global_step"]
    updates = after["optimizer_steps"] - before["optimizer_steps"]
    by_phase = network.by_phase(steps / group.size, updates * resolved.train.minibatch_size,
                                updates)                        # of this process
    muon = network.muon(whole=bool(gpu))
    by_phase[UPDATED] = updates * muon
    flops = sum(by_phase.values())
    ranks = group.share({"rollout": stats["rollout"], "update": stats["update"], "exchange":
                         stats["seconds"].get(EXCHANGE_PHASE, 0.0)})
    trainer.close()
    more = {"gpu": gpu, **kernel_facts(vec, resolved, seconds / epochs)} if gpu else {}
    vec.close()
    return {"env": job.name, "steps": steps, "seconds": seconds,
            "steps_per_second": steps / seconds,
            "phases": phases(stats["seconds"], seconds * stats["threads"], steps / seconds,
                             stats["threads"], {} if gpu else by_phase),
            "gflops": flops / seconds * 1e-9, "matmul_gflops": best * 1e-9,
            "flops_per_step": flops * group.size / steps, "muon_gflop": muon * 1e-9,
            "muon_share": by_phase[UPDATED] / flops, "precision": resolved.train.precision,
            "ranks": [{"host": host, **rank} for host, rank in zip(group.hosts, ranks)], **more,
            **{name: stats[name] for name in ("threads", "path", "blocks", "block_agents",
                                              "lockstep", "bytes")}}


def product_rate(trainer: NativePPO, network: Network, precision: str) -> float:
    """FLOP/s of matrix products only, on the device of this trainer: on a CPU of the layers', the
    encoder's and the convolutions' shapes, weighted by what each takes of a training step."""
    from .native import trainer_library

    if trainer.gpu():
        return trainer.peaks()[1]
    weights = network.products()
    path, total = trainer.stats()["path"], sum(weights.values())
    seconds = 0.0
    for shape, flops in weights.items():
        seconds += flops / trainer_library.matmul_rate(
            path, precision, trainer.threads, RATE_SECONDS * flops / total, shape)
    return 1e9 * total / seconds


def kernel_facts(vec: Envs, resolved: Config, epoch_seconds: float) -> dict[str, object]:
    """Time every kernel by itself, on the GPU: Kernels as dicts, and how busy they keep the GPU."""
    from .native.native_ppo import NativePPO

    with NativePPO(vec, resolved, device=resolved.train.device, timed=True) as trainer:
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


def train(trainer: NativePPO, seconds: float, link: Link, before: float,
          group: Alone | None = None) -> bool:
    """Whole epochs until the seconds have passed. Returns False where it had to stop.

    group    of several processes: rank 0's clock counts
    """
    group = group or Alone()
    began, epochs = time.perf_counter(), 0
    while True:
        over = time.perf_counter() - began >= seconds and epochs >= EPOCHS
        ranks = group.share({"stop": link.stop, "over": over})
        if any(rank["stop"] for rank in ranks) or ranks[0]["over"]:
            return not any(rank["stop"] for rank in ranks)
        trainer.rollout()
        trainer.update()
        epochs += 1
        link.emit("progress", done=before + time.perf_counter() - began)


def phases(seconds: Mapping[str, float], total: float, steps_per_second: float, threads: int,
           flops: Mapping[str, float]) -> list[dict[str, object]]:
    """Phases as dicts. total: seconds of all threads; those of no phase are waiting."""
    claimed = sum(seconds.values())
    every = {**seconds, WAITING: max(0.0, total - claimed)}
    total = max(total, claimed)                 # clocks of several cores may differ a little
    return [asdict(Phase(name, each, each / total, 1e9 / steps_per_second * each / total,
                         1e-9 * threads * flops[name] / each if name in flops and each else None))
            for name, each in every.items()]
