"""Watch a policy play a Python environment.  a name, a policy -> ticks and episodes played

The environment opens its own window (render_mode "human"), in a child process.
"""
from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ..env import child_process
from ..env.child_pipe import Link
from ..interop.python_envs.env_source import PreparedPython, PythonEnv
from ..policy.players import PlayersJob, load_players


@dataclass(frozen=True)
class WatchJob(PlayersJob):
    """What the child needs."""

    seed: int
    ticks: int | None       # to end after; None: until Ctrl-C


def watch(prepared: PreparedPython, model: Path | None, *, greedy: bool, seed: int,
          ticks: int | None) -> dict[str, int]:
    """{"ticks", "episodes"}; seed: of the first episode. Raises UsageError where it has no window.
    """
    drawn = prepared.drawn("human")
    one = replace(drawn.config, vec=replace(
        drawn.config.vec, num_workers=0, total_agents=drawn.count_agents()))
    job = drawn.job(WatchJob, config=one, model=model, greedy=greedy, seed=seed, ticks=ticks)
    played: dict[str, int] = child_process.run(
        "puffer_sdk.playing.watch_python:work", job, lambda kind, payload: None, cwd=drawn.cwd,
        step_timeout=drawn.patience)
    return played


def work(job: WatchJob, link: Link) -> dict[str, int]:
    """The child's target."""
    from ..env.vec import make_vec

    assert isinstance(job.opener, PythonEnv)
    library = job.open()
    player = load_players(job, library)["trained" if job.model else "random"]
    vec = make_vec(library, total_agents=job.config.vec.total_agents, seed=job.seed,
                   watches=link.watches())
    play = player(vec, job.config)
    vec.reset()
    ticks = episodes = 0
    while not link.stop and ticks != job.ticks:
        play(vec)
        vec.step()
        ticks += 1
        episodes += int(vec.terminals[0])
    vec.close()
    return {"ticks": ticks, "episodes": episodes}
