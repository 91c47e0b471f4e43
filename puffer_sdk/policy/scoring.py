"""Score players in a child process.  job -> one Score a player

Every agent plays the same number of episodes, its first ones: collecting the episodes that end
first would favour short ones. Environments whose episodes never end are scored over [eval] steps
ticks of each agent, in units per 1000 ticks. Random play goes first and shows which kind an
environment is. Intervals are 95 %, by Student's t over environments (agents of one env are not
independent).
"""
from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..base.errors import RunError
from ..env import child
from ..settings.config import Config
from .intervals import clustered_mean
from .players import load_players

PATIENCE = 20           # times [eval] steps: the most ticks to wait for episodes to end
PER_EPISODE = "per episode"
PER_TICKS = "per agent per 1000 ticks"
MEASURED = ("n", "episode_return", "episode_length")    # of a log: what we measure ourselves
ORDER = ("perf", "score", "episode_return", "episode_length")


@dataclass(frozen=True)
class Score:
    """The score of one player."""

    policy: str                 # "trained", "random" or "idle"
    unit: str                   # PER_EPISODE or PER_TICKS
    count: int                  # episodes, or agents
    ticks: int                  # how long each env was played
    unfinished: int             # agents whose episodes did not all end, left out
    mean: dict[str, float]      # perf, score, episode_return, ... or return, entries, ...
    interval: dict[str, float]  # half width of the 95 % interval of each mean
    episodes: list[dict] = field(default_factory=list, repr=False)


def work(job: dict, link: child.Link) -> dict:
    """The child's target: one Score a player, as dicts."""
    from ..env.library import Library

    resolved = Config.from_dict(job["config"])
    library = Library(job["library"], Path(job["folder"]))
    scores, endings = {}, False
    for name, make_player in load_players(job, library, resolved).items():
        if link.stop:
            break
        scorer = Scorer(library, resolved, name, link)
        score = scorer.play(make_player(scorer.vec, resolved), endings)
        endings = endings or score.unit == PER_EPISODE
        scores[name] = asdict(score)
    return {name: scores[name] for name in ("trained", "random", "idle") if name in scores}


def make_envs(library, resolved: Config, link: child.Link):
    """The envs that an evaluation plays: a VecEnv, seeded by [eval] seed."""
    from ..env.vec import VecEnv

    watches = link.watches()
    agents = library.agents_per_env(resolved.env, watches)
    wanted = min(resolved.eval.episodes, resolved.vec.total_agents)
    return VecEnv(library, total_agents=-(-wanted // agents) * agents, seed=resolved.eval.seed,
                  env_settings=resolved.env, watches=watches)


class Scorer:
    """One policy in freshly made envs; the seeds are the same for every policy."""

    def __init__(self, library, resolved: Config, policy: str, link: child.Link):
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
