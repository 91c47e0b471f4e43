"""What a run's [worlds] says for its steps.  Config, agent steps -> vec.set()"""
from __future__ import annotations

from collections.abc import Mapping

from ..env.vec import VecEnv
from ..settings import world_values
from ..settings.texts import show
from ..settings.values import Config
from .checkpoint import Checkpoint
from .run_records import Facts


class WorldStages:
    """The stages of each key. What holds depends on the agent steps alone."""

    def __init__(self, config: Config):
        self.total = config.train.total_timesteps
        self.stages = {key: world_values.parse_stages(text, python=config.of_python)
                       for key, text in config.worlds.items()}

    def at(self, step: int) -> dict[str, str]:
        """What each key is from the next reset of each env on."""
        return {key: world_values.shown(world_values.value_at(stages, step, self.total))
                for key, stages in self.stages.items()}

    def turn(self, vec: VecEnv, step: int, before: Mapping[str, str]) -> None:
        """Set what differs from what held before."""
        for key, value in self.at(step).items():
            if value != before.get(key):
                vec.set(key, value)

    @classmethod
    def begun(cls, config: Config, vec: VecEnv, step: int, past: Checkpoint | None) -> WorldStages:
        """Those of a run that begins or goes on with this vec, to which they are told. One that is
        resumed has other stages than it had, perhaps."""
        self, old = cls(config), cls(past.config).at(step) if past else {}
        self.turn(vec, step, old)
        for key in old.keys() - self.stages.keys():
            if key in vec.env_settings:
                vec.set(key, show(vec.env_settings[key]))
        return self


def trained_on(facts: Facts) -> dict[str, str]:
    """What a run has set of [env]: by its [worlds], or else by calls of vec.set()."""
    found: dict[str, str] = {}
    for change in facts.get("worlds", ()):
        mine = found.get(change["key"])
        found[change["key"]] = f"{mine} | {change['value']}" if mine else change["value"]
    return {**found, **{key: str(text) for key, text in facts["config"].get("worlds", {}).items()}}


def played_on(facts: Facts, config: Config) -> list[str]:
    """"level = 2, as [env] has it (trained on 1..8)": what an evaluation says of each such key."""
    return [f"{played(config, key)} (trained on {text})" for key, text in trained_on(facts).items()]


def played(config: Config, key: str) -> str:
    """What evaluations play."""
    return f"{key} = {show(config.env[key])}, as [env] has it" if key in config.env else \
        f"the {key} that the environment begins with"
