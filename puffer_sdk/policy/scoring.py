"""Score players in a child process.  job -> one Score a player

A score is the mean of what the environment logs: of each env the first entries, as entries.py
counts them, and envs weigh alike. An environment that logs nothing is measured by its rewards and
endings. Where no episode ends, play goes on for [eval] steps ticks, and what comes in 1000 ticks
is scored besides. Random play goes first and shows which kind an environment is. Intervals are
95 %, by Student's t over envs (agents of one env are not independent).
"""
from __future__ import annotations

from dataclasses import asdict, dataclass, field

from ..base.errors import RunError
from ..env.link import Link
from ..env.living import living
from ..settings.values import Config
from .entries import Entries
from .intervals import clustered_mean
from .players import PlayersJob, load_players

PATIENCE = 20           # times [eval] steps: the most ticks to wait for something to end
GAMES = 4               # entries of each agent, at least: first ones alone may be unlike the others
LEAST_ENVS = 8          # for an interval that says something
PER_EPISODE = "per episode"
ENDLESS = "episodes do not end"
PLACE = ("env", "agent", "seed", "tick", "n")       # of an entry: what is no measure
ORDER = ("perf", "score", "episode_return", "episode_length")


@dataclass(frozen=True)
class Score:
    """The score of one player."""

    policy: str                 # "trained", "random" or "idle"
    unit: str                   # PER_EPISODE or ENDLESS
    count: int                  # episodes, or log entries
    ticks: int                  # how long each env was played
    unfinished: int             # agents that have ended no episode
    mean: dict[str, float]      # perf, score, ...; ENDLESS: and return_per_1000_ticks, ...
    interval: dict[str, float | None]   # half width of each 95 % interval; None with one env
    episodes: list[dict] = field(default_factory=list, repr=False)


def work(job: PlayersJob, link: Link) -> dict:
    """The child's target: one Score a player, as dicts."""
    resolved, library = job.config, job.open()
    scores: dict[str, dict] = {}
    random = None
    for name, make_player in load_players(job, library).items():
        if link.stop:
            break
        scorer = Scorer(library, resolved, name, link)
        score = scorer.play(make_player(scorer.vec, resolved), random)
        random = random or score
        scores[name] = asdict(score)
    return {name: scores[name] for name in ("trained", "random", "idle") if name in scores}


def make_envs(library, resolved: Config, link: Link, least: int = LEAST_ENVS):
    """The envs that an evaluation plays: a VecEnv, seeded by [eval] seed.

    least       envs, if [vec] total_agents allows so many
    """
    from ..env.vec import make_vec

    watches = link.watches()
    agents = library.agents_per_env(resolved.env, watches)
    wanted = max(-(-resolved.eval.episodes // (GAMES * agents)), least)
    envs = max(1, min(wanted, -(-resolved.vec.total_agents // agents)))
    return make_vec(library, total_agents=envs * agents, seed=resolved.eval.seed,
                    env_settings=resolved.env, watches=watches)


class Scorer:
    """One policy in freshly made envs; the seeds are the same for every policy."""

    def __init__(self, library, resolved: Config, policy: str, link: Link):
        self.resolved, self.policy, self.link = resolved, policy, link
        self.vec = make_envs(library, resolved, link)
        self.quota = max(GAMES, -(-resolved.eval.episodes // self.vec.num_agents))

    def play(self, player, random: Score | None = None) -> Score:
        """random: what random play scored before, which tells how long to wait for an ending."""
        vec, steps = self.vec, self.resolved.eval.steps
        most = steps * PATIENCE
        if random and random.unit == ENDLESS:
            most = random.ticks
        vec.reset()
        entries = Entries(vec, self.quota, least=steps)
        while entries.tick < most and not entries.done.all() and not self.link.stop:
            player(vec)
            vec.step()
            self.check_finite(entries)
            entries.look()
            if entries.tick % 50 == 0:
                self.report(entries, most)
        vec.close()
        return self.score(entries)

    def check_finite(self, entries: Entries) -> None:
        """What the step that was just made wrote for agents that live, or lived before it."""
        import numpy as np

        vec, tick = self.vec, entries.tick + 1
        for name, rows, there in (("rewards", vec.rewards, entries.lived),
                                  ("observations", vec.observations, living(vec))):
            if rows.dtype == np.uint8 or np.isfinite(rows.sum()):
                continue
            bad = [place for place in np.argwhere(~np.isfinite(rows)) if there[place[0]]]
            if bad:
                agent = int(bad[0][0])
                env = int(entries.env_of[agent])
                raise RunError(f"{name} went bad: {float(rows[tuple(bad[0])])} in {self.policy} "
                               "play", where=f"env {env}, seed {vec.env_seed(env)}, step {tick}, "
                               f"agent {agent - vec.first_row[env]} of that env",
                               hint="the environment wrote it; `puffer-sdk check` finds where")

    def report(self, entries: Entries, most: int) -> None:
        if entries.ended.any() or entries.alone.any():
            done, total = int(entries.done.sum()), len(entries.done)
        else:
            done, total = entries.tick, most
        self.link.emit("progress", policy=self.policy, done=done, total=total)

    def score(self, entries: Entries) -> Score:
        counted, mean, interval = entries.counted, {}, {}
        names = [name for name in (counted[0] if counted else ()) if name not in PLACE]
        names.sort(key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))
        envs, weights = [each["env"] for each in counted], [each["n"] for each in counted]
        for name in names:
            values = [each[name] for each in counted]
            mean[name], interval[name] = clustered_mean(values, envs, weights)
        endings = bool(entries.ended.any())
        if not endings:
            there = entries.seen
            scale = 1000.0 / entries.ages.clip(1)       # 0: Ctrl-C came first
            name = "return_per_1000_ticks"
            mean[name], interval[name] = clustered_mean((entries.earned * scale)[there],
                                                        entries.env_of[there])
            name = "entries_per_1000_ticks"
            rates = entries.alone / entries.agents_of_envs.clip(1) * 1000.0 / max(entries.tick, 1)
            mean[name], interval[name] = clustered_mean(rates, range(len(rates)))
        return Score(self.policy, PER_EPISODE if endings else ENDLESS, round(sum(weights)),
                     entries.tick,
                     int((entries.seen & (entries.finished == 0)).sum()) if endings else 0, mean,
                     interval, counted)
