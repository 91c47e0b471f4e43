"""What train says of a Python environment before it begins."""
from dataclasses import replace

import gymnasium
import pytest

import puffer_sdk
from puffer_sdk.interop.python_envs import env_source, makers, remarks
from puffer_sdk.interop.python_envs.pool import facts_here

NAME = "gymnasium:Pendulum-v1"
MIB = 1 << 20


@pytest.fixture(scope="module")
def facts():
    return facts_here(makers.read_name(NAME))


@pytest.mark.parametrize(("known", "settings", "said"), [
    ({}, {}, []),
    ({"bytes": 40 * MIB}, {"vec.total_agents": 64},
     ["64 copies of about 40 MiB take 2.5 GiB of memory, of 8.0 GiB that are free"]),
    ({"bytes": 400 * MIB}, {"vec.total_agents": 64},
     ["64 copies of about 400 MiB take 25.0 GiB of memory: 8.0 GiB are free: a smaller "
      "vec.total_agents"]),
    ({"seconds": 6.0}, {"vec.total_agents": 64},
     ["64 copies of 6.0 s each are made in 2 processes: about 192 s before the first step"]),
    ({"seconds": 6.0, "alone": "one emulator"}, {"vec.total_agents": 8}, []),
    ({}, {"vec.total_agents": 64, "train.total_timesteps": 50_000},
     ["an episode may take 200 steps, so 64 agents may have no return before step 12,800 of "
      "50,000"])])
def test_what_matters_is_said(known, settings, said, facts, monkeypatch):
    monkeypatch.setattr(remarks, "available_memory", lambda: 8 << 30)
    facts = replace(facts, **{"bytes": 0, "seconds": 0.0, **known})
    config = env_source.find(NAME).resolve({"vec.num_workers": 2, **settings}, facts=facts)
    assert [": ".join(filter(None, each)) for each in remarks.remarks(facts, config)] == said


def test_wrappers_whose_statistics_no_run_keeps_are_named(tmp_path, capfd):
    def pendulum():
        env = gymnasium.wrappers.NormalizeObservation(gymnasium.make("Pendulum-v1"))
        return gymnasium.wrappers.NormalizeReward(env)
    puffer_sdk.train(pendulum, {
        "train.total_timesteps": 256, "train.horizon": 8, "vec.total_agents": 4,
        "train.minibatch_size": 32, "policy.hidden_size": 8, "vec.num_workers": 0},
        runs_dir=tmp_path)
    said = capfd.readouterr().err
    assert [name for name in ("NormalizeObservation", "NormalizeReward")
            if f"the statistics of {name} are each copy's own" in said] \
        == ["NormalizeObservation", "NormalizeReward"]
