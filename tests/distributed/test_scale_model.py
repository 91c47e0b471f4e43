"""benchmarks/scale_model.py: what it is fitted to comes back, and its answers satisfy it."""
from __future__ import annotations

import pytest
from scale_model import GOOD, HALF, Fabric, Work, errors, fit_fabric, fit_work

LINK = Fabric("a link", 2e-4, 1e-3, 1.1e8)
WORK = Work(play=2e-7, learn=5e-7, update=3e-3, sums={800_000: 1, 24: 1.25})


def rows(fabric: Fabric, workers) -> list[dict]:
    return [{"bytes": size, "workers": each, "seconds": fabric.sum_seconds(size, each)}
            for size in (8, 10_000, 300_000, 4_000_000) for each in workers]


def test_a_link_is_found_again():
    found = fit_fabric("a link", rows(LINK, (2, 4)))
    for row in rows(LINK, (3, 5)):
        assert found.sum_seconds(row["bytes"], row["workers"]) == pytest.approx(row["seconds"])


def test_a_sum_takes_the_way_that_group_takes():
    assert LINK.sum_seconds(1_100_000, 2) == pytest.approx(2e-4 + 1e-3 + 0.01)      # gathered
    assert LINK.sum_seconds(8, 8) == pytest.approx(2e-4 + 7 * 1e-3, rel=1e-3)
    assert LINK.sum_seconds(1_100_000, 4) == pytest.approx(2e-4 + 6 * 1e-3 + 0.015)     # a ring


def test_nothing_is_negative_where_a_fit_would_have_it_so():
    """Calls that get quicker with more workers, as noise may have it."""
    found = fit_fabric("odd", [{"bytes": 8, "workers": workers, "seconds": seconds} for
                               workers, seconds in ((2, 3e-3), (3, 2e-3), (4, 1e-3))])
    assert min(found.call, found.latency, found.bandwidth) >= 0


def test_work_is_found_again():
    runs = [{"minibatch": size, "play": WORK.play, "learn": WORK.learn + WORK.update / size}
            for size in (8192, 32768)]
    found = fit_work(*runs, WORK.sums)
    assert (found.play, found.learn, found.update) == pytest.approx(
        (WORK.play, WORK.learn, WORK.update))


def test_one_worker_and_one_minibatch_add_up():
    assert WORK.rate(10_000) == pytest.approx(10_000 / (10_000 * 7e-7 + 3e-3))
    two = 5_000 * 7e-7 + 3e-3 + LINK.sum_seconds(800_000, 2) + 1.25 * LINK.sum_seconds(24, 2)
    assert WORK.rate(10_000, 2, LINK) == pytest.approx(10_000 / two)


@pytest.mark.parametrize("workers", [8, 64, 512])
def test_the_minibatch_that_it_asks_for_reaches_the_share(workers):
    size = WORK.minibatch_for(workers, LINK)
    assert WORK.speedup(size, workers, LINK) == pytest.approx(GOOD * workers)
    assert WORK.speedup(size / 2, workers, LINK) < GOOD * workers


def test_more_workers_stop_paying_where_it_says():
    last = WORK.pays_up_to(1 << 20, LINK)
    assert 2 <= last < 512
    rates = [WORK.rate(1 << 20, each, LINK) for each in (last // 2, last, 2 * last)]
    assert rates[1] >= HALF * rates[0] and rates[2] < HALF * rates[1]
    assert WORK.pays_up_to(64, LINK) == 1


def test_errors_are_shares_of_what_was_measured():
    assert errors([11.0, 8.0, 30.0], [10.0, 10.0, 30.0]) == {
        "points": 3, "median": pytest.approx(0.1), "worst": pytest.approx(0.2)}
