"""Workers that die or hang are replaced, and training goes on: in lockstep, with send() and recv(),
and each at its own pace."""
import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest
from helpers.places import SPECIMENS
from helpers.short_or_long import long_only, some_or_all

import puffer_sdk
from puffer_sdk.base.errors import RunError
from puffer_sdk.interop.python_envs import shared_rows

GAMES = SPECIMENS / "python_envs" / "games.py"


@pytest.fixture
def once(tmp_path):
    return str(tmp_path / "happened")


def wrap(name="Count", num_envs=4, workers=2, max_restarts=1, **options):
    keywords = options.pop("keywords", {})
    return puffer_sdk.wrap(f"{GAMES}:{name}", num_envs, workers=workers, seed=5,
                           max_restarts=max_restarts, step_timeout=0.5, keywords=keywords,
                           **options)


def kill(envs, lane):
    """kill -9, and wait until the process is gone."""
    popen = envs._monitor.processes[lane].popen
    popen.send_signal(signal.SIGKILL)
    popen.wait()


def is_cut(envs, rows):
    """Whether these rows show that another episode has begun, and that a truncation ended one."""
    return (envs.terminals[rows].all() and envs.truncations[rows].all()
            and not envs.rewards[rows].any() and not envs.has_final[rows].any()
            and (envs.observations[rows, 1:] == (1, 0)).all())


@pytest.mark.parametrize(("fault", "says"), some_or_all([
    ("kill", "ended in step (SIGKILL), in env"),
    ("hang", "did not return for 0.5 seconds in step, in env")], 0))
def test_a_worker_is_replaced_and_its_rows_are_truncated(once, fault, says, capsys):
    """PufferLib's parent goes on waiting; Gymnasium's and SB3's end."""
    with wrap(keywords={"fault": fault, "once": once, "length": 9}) as envs:
        before = envs.reset()[:, 0].copy()
        for _ in range(2):
            envs.step(np.ones(4))
            assert not envs.terminals.any() and envs.restarts == 0
        envs.step(np.ones(4))
        lost = np.flatnonzero(envs.terminals)
        kept = np.flatnonzero(envs.terminals == 0)
        assert lost.tolist() in ([0, 1], [2, 3]) and is_cut(envs, lost) and envs.restarts == 2
        assert envs.observations[kept].tolist() == [[before[env], 1, 3] for env in kept]
        seeds = [envs.env_seed(env) for env in range(4)]
        assert envs.observations[:, 0].tolist() == [seed % 1000 for seed in seeds]
        assert all(seeds[env] == shared_rows.seed_after(envs._seeds[env], int(env in lost))
                   for env in range(4)) and len({*seeds}) == 4
        said = capsys.readouterr().err
        assert said.count("warning") == 1 and says in said
        assert f"envs {lost[0]} to {lost[1]} restart" in said
        for step in range(1, 6):
            envs.step(np.ones(4))
            assert not envs.terminals.any() and envs.rewards.tolist() == [1] * 4
            assert envs.observations[lost, 2].tolist() == [step, step]
        envs.step(np.ones(4))               # the others end by themselves
        assert np.flatnonzero(envs.terminals).tolist() == kept.tolist()
        assert envs.log()["episode_length"] == 9


@long_only
def test_a_worker_that_dies_between_steps_is_replaced_before_the_next_one_ends():
    with wrap(max_restarts=2) as envs:
        envs.reset()
        for times in (1, 2):
            envs.step(np.ones(4))
            kill(envs, 1)
            envs.step(np.ones(4))
            assert is_cut(envs, [2, 3]) and envs.terminals[:2].tolist() == [0, 0]
            assert envs.restarts == 2 * times
        kill(envs, 0)                       # each lane has restarts of its own
        envs.reset()
        assert not envs.terminals.any() and envs.observations[:, 2].tolist() == [0] * 4
        kill(envs, 1)
        with pytest.raises(RunError, match=r"SIGKILL, and its copies were recreated 2 times"):
            envs.step(np.ones(4))


@pytest.mark.parametrize("fault", some_or_all(["kill", "hang"], 0))
def test_others_are_received_meanwhile(once, fault):
    """One of three workers dies or hangs; its step comes back truncated."""
    with wrap(num_envs=3, workers=3, keywords={"fault": fault, "once": once,
                                              "length": 10**9}) as envs:
        envs.reset()
        envs.send()
        steps, lost = [0] * 3, None
        while lost is None or min(steps) < 6:
            for env in envs.recv(1):
                steps[env] += 1
                if envs.terminals[env]:
                    assert lost is None and is_cut(envs, [env]) and steps[env] == 3
                    lost = env
                envs.send(np.array([env]))
        envs.recv()
        assert max(steps) > 10 and envs.restarts == 1       # it was not waited for


@pytest.mark.parametrize("how", some_or_all(["raise", "kill", "hang"], 0))
def test_a_replacement_that_cannot_be_made_is_the_error(tmp_path, how):
    file = tmp_path / "broken"
    with wrap("Brittle", 2, 1, max_restarts=2, keywords={"file": str(file), "how": how}) as envs:
        envs.reset()
        file.touch()
        if how == "hang":
            envs._monitor.start_timeout = 1.0       # not before: a busy machine starts slowly
        kill(envs, 0)
        says = {"raise": "no such lever", "kill": "ended while creating env 0: SIGKILL",
                "hang": r"env \d was not created within 1 seconds"}[how]
        with pytest.raises((RunError, ValueError), match=says):
            envs.step([0, 0])
        assert envs.restarts == 4           # both attempts


def test_agents_of_a_worker_that_died_are_all_cut(once):
    with wrap("Walkers", 2, 2, keywords={"once": once}) as envs:
        envs.reset()
        for _ in range(3):
            envs.step(np.ones(6))
        envs.step(np.ones(6))
        lost = 0 if envs.terminals[0] else 3
        mine = slice(lost, lost + 3)
        assert envs.terminals[mine].tolist() == envs.truncations[mine].tolist() == [1, 1, 1]
        assert envs.alive[mine].tolist() == [1, 1, 0] and not envs.rewards[mine].any()
        assert envs.alive[3 - lost:6 - lost].tolist() == [0, 1, 1]
        envs.step(np.ones(6))
        assert not envs.terminals[mine].any()


@pytest.mark.parametrize("fault", ["raise", "kill"])
def test_copies_that_one_object_steps_are_made_anew_together(once, fault):
    with wrap("together", 3, 1, keywords={"fault": fault, "once": once, "length": 9}) as envs:
        envs.reset()
        for _ in range(2):
            envs.step(np.ones(3))
        envs.step(np.ones(3))
        assert is_cut(envs, slice(0, 3)) and envs.restarts == 3
        envs.step(np.ones(3))
        assert not envs.terminals.any() and envs.observations[:, 2].tolist() == [1] * 3


def test_a_copy_that_raised_begins_with_a_seed_that_follows_from_its_own():
    """So a run with restarts can be repeated, with any number of workers."""
    seen = []
    for workers in (0, 2, 2):
        with wrap(workers=workers, max_restarts=3, keywords={"fault": "raise"}) as envs:
            envs.reset()
            seen.append([envs.step(np.ones(4))[0].copy() for _ in range(9)])
            assert envs.restarts == 12
            assert envs.env_seed(3) == shared_rows.seed_after(envs._seeds[3], 3)
    assert np.array_equal(seen[0], seen[1]) and np.array_equal(seen[1], seen[2])


def test_closing_does_not_wait_for_a_replacement(tmp_path):
    file = tmp_path / "broken"
    with wrap("Brittle", 2, 1, keywords={"file": str(file), "how": "hang"}) as envs:
        envs.reset()
        file.touch()
        kill(envs, 0)
        while envs._monitor.state(0) != shared_rows.REPLACED:
            os.sched_yield()
        while envs._monitor.processes[0].popen.poll() is not None:
            os.sched_yield()
    assert envs._monitor.processes[0].popen.poll() is not None


def test_workers_do_not_end_with_the_thread_that_wanted_them():
    """Linux ends a process with the thread that started it, if it is asked to."""
    made = []
    thread = threading.Thread(target=lambda: made.append(wrap(max_restarts=0)))
    thread.start()
    thread.join()
    with made[0] as envs:
        envs.reset()
        for _ in range(4):
            envs.step(np.ones(4))
        assert all(process.alive for process in envs._monitor.processes)


def test_a_worker_that_dies_while_it_draws_is_replaced():
    def kills():
        from puffer_sdk.interop.python_envs.makers import find_callable

        class Kills(find_callable(f"{GAMES}:Count")):
            def render(self):
                os.kill(os.getpid(), 9)
        return Kills(render_mode="rgb_array")
    with puffer_sdk.wrap(kills, 2, workers=1, max_restarts=1) as envs:
        envs.reset()
        with pytest.raises(RunError, match="the worker process ended: SIGKILL"):
            envs.render(1)
        envs.step([1, 1])
        assert is_cut(envs, [0, 1])


@pytest.mark.parametrize(("fault", "free", "workers"), some_or_all([
    ("kill", 0, 2), ("hang", 0, 2), ("kill", 1, 3), ("hang", 1, 2)], 0))
def test_training_goes_on(once, fault, free, workers, capsys):
    """The trainer's threads wait in C for whom another thread replaces."""
    run = puffer_sdk.train(f"{GAMES}:Count", {
        "train.horizon": 16, "train.minibatch_size": 128, "vec.total_agents": 12,
        "policy.hidden_size": 16, "train.total_timesteps": 12 * 16 * 8, "vec.free_running": free,
        "vec.num_workers": workers, "vec.max_restarts": 1, "vec.step_timeout": 0.5,
        "vec.reward_scale": 1, "train.obs_scale": 1, "env.fault": fault, "env.once": once,
        "env.length": 7},
        runs_dir=Path(once).parent)
    assert run.steps == 12 * 16 * 8
    assert run.metrics["train/restarts"] == 12 // workers
    assert run.metrics["window/episode_length"] == 7
    assert capsys.readouterr().err.count("another one took its place, and envs") == 1


def test_training_ends_where_no_restarts_are_left(tmp_path):
    with pytest.raises(RunError, match="ended in step: SIGKILL, and its copies were recreated 1"):
        puffer_sdk.train(f"{GAMES}:Count", {
            "train.total_timesteps": 10**6, "vec.total_agents": 8, "vec.num_workers": 1,
            "vec.reward_scale": 1, "train.obs_scale": 1, "vec.max_restarts": 1, "env.fault": "kill",
            "env.at": 50, "env.length": 99}, runs_dir=tmp_path)
