"""The native trainer against the referee: the same rollouts and segments give the same numbers."""
import numpy as np
import pytest
from native_fixtures import copy_rollout, distance, make_native, make_referee
from ppo_fixtures import FakeVec, one_thread  # noqa: F401   one_thread is a fixture

from puffer_sdk.native.library import available_paths


def replay_one(referee, natives, rows) -> None:
    """One update of each from these rows, in place of what they would pick."""
    rows, q = np.array(rows), np.linspace(0.5, 1.5, np.size(rows), dtype=np.float32)
    q = q.reshape(rows.shape)
    referee._pick = lambda advantage, number, beta: (rows[number], q[number])
    referee.rollout()
    metrics = referee.update()
    for path, native in natives.items():
        copy_rollout(referee, native)
        native.replay(rows, q)
        got = native.update()
        assert got["loss/value"] == pytest.approx(metrics["loss/value"], rel=1e-5), path
        for name, value in referee.state_tensors().items():
            assert distance(native.state_tensors()[name], value) < 5e-5, (path, name)
        for name, value in referee.rows_now().items():
            assert distance(native.rollout_tensors[name], value) < 1e-5, (path, name)


def test_products_within_rounding_of_zero_have_the_slope_of_their_side():
    """g(u) just below u = 0 rounds to g(0) = 0.5, where the slope is another."""
    class Faint(FakeVec):
        def observe(self):
            super().observe()
            self.observations *= 1e-7
    vecs = [Faint((3,), 9, 5) for _ in range(1 + len(available_paths()))]
    referee = make_referee(vec=vecs[0])
    natives = {path: make_native(vec=vec, path=path)
               for path, vec in zip(available_paths(), vecs[1:])}
    replay_one(referee, natives, [[0, 1, 2], [3, 4, 5], [6, 7, 8]])
