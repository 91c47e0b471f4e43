"""Who a process is, what its part of a run is, and which processes may share one."""
from __future__ import annotations

import dataclasses

import pytest
from helpers.places import SPECIMENS

from puffer_sdk.base.errors import UsageError
from puffer_sdk.distributed import agreeing, dividing, rank
from puffer_sdk.settings import config

MEETING = {"MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500"}
TORCHRUN = {**MEETING, "RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2",
            "TORCHELASTIC_RUN_ID": "abc", "TORCHELASTIC_RESTART_COUNT": "2"}


@pytest.mark.parametrize("environ, found", [
    (TORCHRUN, (3, 4, 1, 2, "abc", 2)),
    ({**MEETING, "SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_LOCALID": "0",
      "SLURM_NTASKS_PER_NODE": "1"}, (1, 2, 0, 1, "", 0)),
    ({**MEETING, "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}, (0, 2, 0, 1, "", 0)),
    ({**TORCHRUN, "SLURM_PROCID": "0", "SLURM_NTASKS": "1"}, (3, 4, 1, 2, "abc", 2)),
    ({"SLURM_PROCID": "1", "SLURM_NTASKS": "2"}, None),        # no meeting: a run of its own
    (MEETING, None), ({}, None)])
def test_the_environment_says_who_it_is(environ, found):
    place = rank.find(environ)
    assert place is None if found is None else found == (
        place.rank, place.size, place.local_rank, place.local_size, place.group_id, place.restarts)


@pytest.mark.parametrize("changes, where", [
    ({"RANK": "4"}, "RANK"), ({"RANK": "-1"}, "RANK"), ({"WORLD_SIZE": "many"}, "WORLD_SIZE"),
    ({"MASTER_PORT": "99999"}, "MASTER_PORT"), ({"MASTER_ADDR": ""}, "MASTER_ADDR"),
    ({"WORLD_SIZE": ""}, "WORLD_SIZE"), ({"RANK": ""}, "RANK")])
def test_half_an_environment_is_refused(changes, where):
    with pytest.raises(UsageError) as caught:
        rank.find({**TORCHRUN, **changes})
    assert caught.value.where == where and caught.value.hint


def resolved(**settings):
    return config.resolve(SPECIMENS / "correct" / "bandit", {
        "vec.total_agents": 64, "train.horizon": 16, "train.minibatch_size": 512,
        "train.device": "cpu", **{name.replace("__", "."): value
                                  for name, value in settings.items()}})


def test_each_rank_takes_the_same_part():
    whole = resolved(vec__num_buffers=4)
    part = dividing.part_of(whole, 4)
    assert (part.vec.total_agents, part.train.minibatch_size) == (16, 128)
    assert part.vec.num_buffers == 4 and dividing.part_of(whole, 32).vec.num_buffers == 2
    assert dividing.part_of(whole, 1) is whole


@pytest.mark.parametrize("changes, size, text, hint", [
    ({"vec__total_agents": 66}, 4, "total_agents = 66 cannot be shared by 4", "= 64 works"),
    ({"train__minibatch_size": 48}, 2, "minibatch_size = 48 cannot be shared by 2", "64 works"),
    ({"train__device": "cuda"}, 2, "on a GPU does not share a run among processes", "train.gpus"),
])
def test_what_cannot_be_shared_is_refused(changes, size, text, hint):
    with pytest.raises(UsageError, match=text) as caught:
        dividing.check(resolved(**changes), size)
    assert hint in caught.value.hint


def test_processes_of_a_machine_share_its_cores(monkeypatch):
    place = rank.find(TORCHRUN)
    auto = resolved()
    auto = dataclasses.replace(auto, vec=dataclasses.replace(auto.vec, num_threads=8))
    assert dividing.in_group(auto, place.size, place.local_size).vec.num_threads == 4
    assert dividing.in_group(resolved(vec__num_threads=3), place.size,
                             place.local_size).vec.num_threads == 3


# ---- agreeing ----------------------------------------------------------------------------------

HOSTS = ("a", "a", "b")


def facts(settings=None, **changes):
    found = agreeing.facts_of(resolved(**(settings or {})), spec_hash="s", folder=None, given={},
                              resumes=False)
    return {**found, **changes}


def test_equal_ranks_agree_on_everything():
    own = resolved(vec__num_threads=5)
    assert agreeing.agree([facts()] * 3, HOSTS, own) is own


def test_the_best_path_is_one_that_all_have():
    old = ["generic", "avx2"]
    mixed = [[*old, "avx512"], old, old]
    assert agreeing.best_path(mixed, HOSTS) == "avx2"
    assert agreeing.best_path([*mixed, ["generic"]], (*HOSTS, "c")) == "generic"
    with pytest.raises(UsageError, match="no instruction set is common") as caught:
        agreeing.best_path([["neon"], old], HOSTS)
    assert "neon on rank 0 (a), generic, avx2 on rank 1 (a)" in caught.value.detail


@pytest.mark.parametrize("other, text", [
    ({"version": "0.0"}, "version of puffer-sdk is "),
    ({"source": "x"}, "source of the environment is  on ranks 0, 1 (a), x on rank 2 (b)"),
    ({"layout": "t"}, "layout of the environment is s on ranks 0, 1 (a)")])
def test_ranks_that_differ_are_named(other, text):
    with pytest.raises(UsageError, match="different versions or settings") as caught:
        agreeing.agree([facts(), facts(), facts(**other)], HOSTS, resolved())
    assert text in caught.value.detail and "rank 2 (b)" in caught.value.detail


def test_settings_that_differ_are_named_but_for_a_rank_s_own():
    one = [facts(), facts({"train__gamma": 0.5, "vec__num_threads": 7})]
    with pytest.raises(UsageError) as caught:
        agreeing.agree(one, HOSTS, resolved())
    assert caught.value.detail == "train.gamma is 0.99 on rank 0 (a), 0.5 on rank 1 (a)"
    assert agreeing.agree([facts(), facts({"vec__num_threads": 7})], HOSTS, resolved())


def test_with_a_run_to_resume_its_settings_count_and_the_command_lines_must_agree():
    run = agreeing.facts_of(resolved(train__gamma=0.5), spec_hash="s", folder=None,
                            given={"train.seed": 1}, resumes=True)
    other = facts(given={"train.seed": "1"})        # without the run's ini
    assert agreeing.agree([run, other], HOSTS, resolved()).train.gamma == 0.5
    with pytest.raises(UsageError) as caught:
        agreeing.agree([run, facts(given={})], HOSTS, resolved())
    assert caught.value.detail == "train.seed is 1 on rank 0 (a), not set on rank 1 (a)"


def test_the_source_hash_is_of_names_and_contents(tmp_path):
    (tmp_path / "a.h").write_text("int x;")
    first = agreeing.source_hash(tmp_path)
    (tmp_path / "notes.txt").write_text("nothing of it")
    assert agreeing.source_hash(tmp_path) == first
    (tmp_path / "a.h").rename(tmp_path / "b.h")
    assert agreeing.source_hash(tmp_path) != first
    assert agreeing.source_hash(None) == ""
