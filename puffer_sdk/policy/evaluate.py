"""Measure a policy beside random and idle play.  checkpoint -> episodes.json

Every agent plays its first episodes, the same number each: collecting whichever end first would
favour short ones. Environments without endings are judged over [eval] steps ticks of each agent,
in units per 1000 ticks. Random play goes first and shows which kind it is. Intervals are 95 %,
by Student's t over environments (agents of one env are not independent).
"""
from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..base import files, paths
from ..base.errors import RunError, UsageError
from ..env import build, child
from ..env.job import EnvJob
from ..env.link import Link
from ..settings import config
from ..settings.goal import Goal, parse_goal
from ..settings.texts import parse_action
from ..settings.values import Config
from ..training import backends, checkpoint, runs
from ..training.metrics import without_nan

PATIENCE = 20           # [eval] steps, times this: the most ticks that endings are waited for
PER_EPISODE = "per episode"
PER_TICKS = "per agent per 1000 ticks"


@dataclass(frozen=True)
class Score:
    """How one way of playing did."""

    policy: str                 # "trained", "random" or "idle"
    unit: str                   # PER_EPISODE or PER_TICKS
    count: int                  # episodes, or agents
    ticks: int                  # how long each env was played
    unfinished: int             # agents that did not get to the end of their episodes, left out
    mean: dict[str, float]      # perf, score, episode_return, ... or return, entries, ...
    interval: dict[str, float]  # half width of the 95 % interval of each mean
    episodes: list[dict] = field(default_factory=list, repr=False)


@dataclass(frozen=True)
class Evaluation:
    """The scores, and where they are written."""

    env: str
    checkpoint: Path | None
    scores: dict[str, Score]
    path: Path | None
    goal: Goal | None = None

    @property
    def solved(self) -> bool | None:
        """Whether the trained policy meets the goal; None without a policy, or where the goal
        names something that is not measured here (a score that several agents share, say)."""
        mean = self.scores["trained"].mean if "trained" in self.scores else {}
        for name in (self.goal.name, f"{self.goal.name}_per_entry") if self.goal else ():
            if name in mean:
                return self.goal.is_met(mean[name])
        return None

    def to_dict(self) -> dict:
        """JSON-able; a number that is not finite becomes None."""
        return without_nan({
            "env": self.env, "checkpoint": str(self.checkpoint) if self.checkpoint else None,
            "goal": str(self.goal) if self.goal else None, "solved": self.solved,
            "policies": {name: asdict(score) for name, score in self.scores.items()}})


@dataclass(frozen=True)
class PlayersJob(EnvJob):
    """What load_players needs."""

    model: Path | None      # a checkpoint; None: baselines only
    greedy: bool            # take the likeliest action instead of drawing one


def evaluate(env=None, settings: Mapping[str, object] | None = None, *,
             model: str | Path | None = "latest", output: Path | None = None,
             runs_dir: Path | None = None, greedy: bool = False, on_progress=None,
             verbose: bool = False) -> Evaluation:
    """Play ENV with a trained policy, at random and idly, from fixed seeds.

    model         "latest", a run's number or folder, a checkpoint file; None: baselines alone
    output        where the JSON goes: the run's episodes.json unless given
    greedy        take the likeliest action instead of drawing one
    on_progress   called as on_progress(policy, done, total)
    Raises UsageError for a checkpoint that is damaged, or of another environment or size.
    """
    folder = paths.find_env(env)
    found = find_model(paths.runs_dir(folder, runs_dir).resolve(), model) if model else None
    past = checkpoint.load(found) if found else None
    if past:
        backends.require_actor(Config.from_dict(past.facts["config"]), verbose=verbose)
    if output is None and found:
        output = found.parent.parent / "episodes.json" if found.parent.name == "checkpoints" \
            else found.with_suffix(".episodes.json")
    if output is not None and not Path(output).parent.is_dir():
        raise UsageError("there is no such folder to write to", where=Path(output).parent)
    built = build.build(folder, verbose=verbose)
    resolved = config.resolve(folder, settings, spec=built.spec)
    job = PlayersJob.of(built, resolved, model=found, greedy=greedy)

    def on_event(kind: str, payload: dict) -> None:
        if kind == "progress" and on_progress:
            on_progress(payload["policy"], payload["done"], payload["total"])

    log = past.path.parent.parent / "eval.log" if past and past.path.parent.name == "checkpoints" \
        else None
    scores = child.run("puffer_sdk.policy.evaluate:work", job, on_event, log=log,
                           cwd=paths.working_dir(folder), step_timeout=resolved.vec.step_timeout)
    result = Evaluation(built.spec.name, found,
                        {name: Score(**score) for name, score in scores.items()}, output,
                        parse_goal(resolved.eval.goal))
    if output is not None:
        files.save(Path(output), json.dumps(result.to_dict(), indent=1) + "\n",
                   what="the episodes")
    return result


def find_model(home: Path, which: str | Path) -> Path:
    """The checkpoint file meant by --load-model-path."""
    path = Path(which)
    if path.is_file():
        return path.resolve()
    if which == "latest":
        run = runs.latest_run(home, with_checkpoint=True)
        if run is None:
            raise UsageError("there is no trained policy yet", where=home,
                             hint=f"puffer-sdk train {home.name}; or evaluate the baselines: "
                                  "--baselines")
    elif path.suffix == ".safetensors" or (len(path.parts) > 1 and not path.exists()):
        raise UsageError("there is no such checkpoint", where=path,
                         hint="puffer-sdk runs lists what there is")
    else:
        run = runs.find_run(home, str(which))
    found = run.checkpoints()
    if not found:
        raise UsageError("this run has no checkpoint", where=run.folder,
                         hint="puffer-sdk runs lists what there is")
    return found[-1]


# -- in the child ------------------------------------------------------------------


def work(job: PlayersJob, link: Link) -> dict:
    """The child's target: one Score a policy, as dicts."""
    resolved, library = job.config, job.open()
    scores, endings = {}, False
    for name, make_player in load_players(job, library).items():
        if link.stop:
            break
        match = _Match(library, resolved, name, link)
        score = match.play(make_player(match.vec, resolved), endings)
        endings = endings or score.unit == PER_EPISODE
        scores[name] = asdict(score)
    return {name: scores[name] for name in ("trained", "random", "idle") if name in scores}


def load_players(job: PlayersJob, library) -> dict:
    """name -> make(vec, resolved), which gives a function that fills vec.actions.

    "trained" only where the job names a model. Raises UsageError where that does not fit.
    """
    players = {"random": _random_player, "idle": _idle_player}
    if job.model:
        past = checkpoint.load(job.model)
        about = library.describe(job.config.env)
        checkpoint.check_fits(past, {"name": job.name, "obs_size": about.obs_size,
                                     "obs_dtype": about.obs_dtype.name,
                                     "act_sizes": list(about.act_sizes)}, job.config.env)
        players = {"random": _random_player, "trained": _trained_player(past, job.greedy),
                   "idle": _idle_player}
    return players


def make_envs(library, resolved: Config, link: Link):
    """The envs that an evaluation plays: a VecEnv, seeded by [eval] seed."""
    from ..env.vec import VecEnv

    watches = link.watches()
    agents = library.agents_per_env(resolved.env, watches)
    wanted = min(resolved.eval.episodes, resolved.vec.total_agents)
    return VecEnv(library, total_agents=-(-wanted // agents) * agents, seed=resolved.eval.seed,
                  env_settings=resolved.env, watches=watches)


class _Match:
    """One policy in freshly made envs; the seeds are the same for every policy."""

    def __init__(self, library, resolved: Config, policy: str, link: Link):
        self.resolved, self.policy, self.link = resolved, policy, link
        self.vec = make_envs(library, resolved, link)
        self.quota = -(-resolved.eval.episodes // self.vec.num_agents)  # episodes of each agent

    def play(self, player, endings: bool) -> Score:
        """endings: whether this environment's episodes are known to end."""
        import numpy as np

        vec, steps = self.vec, self.resolved.eval.steps
        n = vec.num_agents
        env_of = np.repeat(np.arange(vec.num_envs), np.diff(vec.first_row))
        returns, lengths, finished = np.zeros(n), np.zeros(n, int), np.zeros(n, int)
        total_return, entries = np.zeros(n), []     # entries: (env, {log values and n})
        episodes: list[dict] = []
        vec.reset()
        tick = 0
        while tick < steps * PATIENCE and not self.link.stop:
            player(vec)
            vec.step()
            tick += 1
            self.check_finite(env_of, tick)
            returns += vec.rewards
            total_return += vec.rewards
            lengths += 1
            ended = (vec.terminals != 0) | (vec.truncations != 0)
            logs = self.collect_logs(entries)
            for agent in np.flatnonzero(ended & (finished < self.quota)):
                env = int(env_of[agent])
                alone = vec.first_row[env + 1] - vec.first_row[env] == 1
                log = logs.get(env, {}) if alone else {}
                episodes.append({"env": env, "agent": int(agent), "seed": vec.env_seed(env),
                                 "episode_return": float(returns[agent]),
                                 "episode_length": int(lengths[agent]),
                                 **{k: v for k, v in log.items() if k not in MEASURED}})
            finished += ended
            returns[ended], lengths[ended] = 0.0, 0
            if episodes and (finished >= self.quota).all():
                break
            if not (episodes or endings) and tick >= steps:
                break
            if tick % 50 == 0:
                self.report(finished, tick, bool(episodes) or endings)
        vec.close()
        if episodes:
            return self.episode_score(episodes, tick, int((finished < self.quota).sum()))
        return self.tick_score(total_return, entries, env_of, tick)

    def check_finite(self, env_of, tick: int) -> None:
        import numpy as np

        vec = self.vec
        for name, rows in (("rewards", vec.rewards), ("observations", vec.observations)):
            if rows.dtype == np.uint8 or np.isfinite(rows.sum()):
                continue
            bad = np.argwhere(~np.isfinite(rows))
            if len(bad):
                agent = int(bad[0][0])
                env = int(env_of[agent])
                raise RunError(f"{name} went bad: {float(rows[tuple(bad[0])])} in {self.policy} "
                               "play", where=f"env {env}, seed {vec.env_seed(env)}, step {tick}, "
                               f"agent {agent - vec.first_row[env]} of that env",
                               hint="the environment wrote it; `puffer-sdk check` finds where")

    def collect_logs(self, entries: list) -> dict[int, dict]:
        """Log entries made this tick, by env. Most ticks have none."""
        logs = {}
        for env in range(self.vec.num_envs):
            found = self.vec.log_of(env)
            if found:
                logs[env] = found
                entries.append((env, found))
        return logs

    def report(self, finished, tick: int, ending: bool) -> None:
        if ending:
            done, total = int(finished.clip(max=self.quota).sum()), self.quota * len(finished)
        else:
            done, total = tick, self.resolved.eval.steps
        self.link.emit("progress", policy=self.policy, done=done, total=total)

    def episode_score(self, episodes: list[dict], tick: int, unfinished: int) -> Score:
        names = [k for k in episodes[0] if k not in ("env", "agent", "seed", "n")]
        names.sort(key=lambda k: ORDER.index(k) if k in ORDER else len(ORDER))
        envs = [e["env"] for e in episodes]
        mean, interval = {}, {}
        for name in names:
            values = [e.get(name, math.nan) for e in episodes]
            mean[name], interval[name] = clustered_mean(values, envs)
        return Score(self.policy, PER_EPISODE, len(episodes), tick, unfinished, mean, interval,
                     episodes)

    def tick_score(self, total_return, entries, env_of, tick: int) -> Score:
        scale = 1000.0 / tick
        mean, interval = {}, {}
        mean["return"], interval["return"] = clustered_mean(total_return * scale, env_of)
        agents = {env: int((env_of == env).sum()) for env in set(env_of.tolist())}
        counts = dict.fromkeys(agents, 0.0)
        for env, log in entries:
            counts[env] += log["n"]
        per_agent = [counts[env] * scale / agents[env] for env in agents]
        mean["log_entries"], interval["log_entries"] = clustered_mean(per_agent, list(agents))
        weight = sum(log["n"] for _, log in entries)
        for name in entries[0][1] if entries else ():
            if name != "n":
                mean[f"{name}_per_entry"] = sum(g[name] * g["n"] for _, g in entries) / weight
                interval[f"{name}_per_entry"] = None
        return Score(self.policy, PER_TICKS, len(env_of), tick, 0, mean, interval)


MEASURED = ("n", "episode_return", "episode_length")    # what we measure ourselves, in episodes
ORDER = ("perf", "score", "episode_return", "episode_length")


def clustered_mean(values, clusters) -> tuple[float, float | None]:
    """Mean over values, and the half width of its 95 % interval over cluster means.

    The width is None where there is one cluster alone.
    """
    import numpy as np

    values, clusters = np.asarray(values, float), np.asarray(clusters)
    _, index = np.unique(clusters, return_inverse=True)
    sums, counts = np.bincount(index, values), np.bincount(index)
    means = sums / counts
    if len(means) < 2:
        return float(values.mean()), None
    half = student_t(len(means) - 1) * means.std(ddof=1) / math.sqrt(len(means))
    return float(values.mean()), float(half)


def student_t(freedom: int) -> float:
    """The 97.5 % point of Student's t, good to 1 %: two exact values, then a series in 1/freedom
    (Abramowitz and Stegun 26.7.5)."""
    if freedom < 3:
        return (12.706, 4.303)[freedom - 1]
    z = 1.959964
    return (z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
            + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3))


# -- players: functions that fill vec.actions ---------------------------------------


def random_actions(vec, rng):
    """(N, K): uniform over the legal ids of each head; in [-1, 1] where a head is continuous."""
    import numpy as np

    actions, column = np.empty_like(vec.actions), 0
    for head, width in enumerate(vec.act_sizes):
        if width == 1:
            actions[:, head] = rng.uniform(-1, 1, vec.num_agents)
        elif vec.action_mask is None:
            actions[:, head] = rng.integers(0, width, vec.num_agents)
        else:
            legal = vec.action_mask[:, column:column + width] != 0
            draw = rng.random((vec.num_agents, width))
            actions[:, head] = np.where(legal, draw, -1).argmax(1)
        column += width
    return actions


def _random_player(vec, resolved: Config):
    """random_actions, drawn on from [eval] seed."""
    import numpy as np

    rng = np.random.default_rng(resolved.eval.seed)

    def play(vec) -> None:
        vec.actions[:] = random_actions(vec, rng)

    return play


def _idle_player(vec, resolved: Config):
    """The same action always: [eval] idle_action, or zeros."""
    text = resolved.eval.idle_action
    action = parse_action(text) if text else (0.0,) * vec.num_atns
    if len(action) != vec.num_atns:
        raise UsageError("[eval] idle_action does not fit the action heads",
                         expected=f"{vec.num_atns} numbers", actual=text)

    def play(vec) -> None:
        vec.actions[:] = action

    return play


def _trained_player(past: checkpoint.Checkpoint, greedy: bool):
    """Makes the player of a checkpoint's policy."""
    def make(vec, resolved: Config):
        actor = backends.make_actor(vec, Config.from_dict(past.facts["config"]), past.tensors,
                                    resolved.eval.seed, greedy=greedy,
                                    threads=resolved.vec.num_threads)
        first = [True]

        def play(vec) -> None:
            if not first[0]:
                actor.ended((vec.terminals != 0) | (vec.truncations != 0))
            first[0] = False
            vec.actions[:] = actor.act(vec.observations, vec.action_mask)

        return play

    return make
