"""bench_widths.py: OpenBLAS is given the products that training is counted by."""
import bench_widths
import pytest
from bench_widths import Size

from puffer_sdk.training.native.network_flops import UPDATED, Network


@pytest.mark.parametrize("size", [Size(), Size(hidden=32, layers=3, row=200, minibatch=512)])
def test_both_sides_are_counted_alike(size):
    network = Network.of(size.row, (4,), size.hidden, size.layers)
    done = network.by_phase(size.minibatch, size.minibatch, 1) | {UPDATED: network.muon(whole=True)}
    shapes = bench_widths.products(size)
    assert {phase: sum(2.0 * m * n * k for (m, n, k), _ in all_)
            for phase, all_ in shapes.items()} == pytest.approx(done)


def test_the_tables_have_every_row():
    rows = [{"axis": axis, **vars(size), "network": 100.0, "network_ratio": 0.9, "muon": 80.0,
             "muon_ratio": 1.2} for axis, size in bench_widths.sizes()]
    text = bench_widths.table({"rows": rows, "machine": {"cores": 2, "cpu": "CPU", "date": "now"}})
    assert text.count("100 GFLOP/s, 90% | 80, 120%") == len(rows)
    assert "<svg" in text and "two threads: hidden" in text
