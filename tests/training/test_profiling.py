"""`profile`: shares that add up, figures that follow from each other, and nothing left behind."""
import json
import re
import signal
import time
from types import SimpleNamespace

import pytest
from helpers.places import ROOT
from helpers.playground import descendants, overrides, wait_until
from helpers.ranks import in_threads
from helpers.short_or_long import long_only, some_or_all

import puffer_sdk
from puffer_sdk.base.errors import RunError, UsageError
from puffer_sdk.cli.cmd_profile import print_ranks
from puffer_sdk.training import profiling
from puffer_sdk.training.native import trainer_library
from puffer_sdk.training.native.network_flops import MUON_STEPS, UPDATED, Network

pytest_plugins = ["helpers.playground_fixtures"]


@pytest.fixture(scope="module")
def found(faulty):
    return puffer_sdk.profile(faulty, seconds=0.5)


def test_figures_follow_from_each_other(found):
    assert found.env == "faulty" and found.steps % 512 == 0
    assert found.steps_per_second == pytest.approx(found.steps / found.seconds)
    assert sum(phase.share for phase in found.phases) == pytest.approx(1)
    assert sum(phase.ns_per_step for phase in found.phases) == pytest.approx(
        1e9 / found.steps_per_second)
    assert all(phase.seconds >= 0 for phase in found.phases)
    assert found.gflops == pytest.approx(
        found.flops_per_step * found.steps_per_second * 1e-9)
    assert found.matmul_gflops > 0 and found.bytes > 0
    assert found.path in trainer_library.available_paths() and found.precision == "fp32"


def test_flops_are_counted_by_hand():
    """D 3, H 4, one layer, A 2: encoder 12, layer 48, decoder 12 weights. Muon: sides of 3 and 4,
    3 and 4, 4 and 12."""
    (steps,) = re.findall(r"#define MUON_STEPS (\d+)", (ROOT / "kernels/kernels.h").read_text())
    assert int(steps) == MUON_STEPS == 5
    network = Network.of(3, (2,), 4, 1)
    acted = network.by_phase(10, 0, 0)
    assert sum(acted.values()) == 10 * 2 * (12 + 48 + 12) and not acted[UPDATED]
    learned = network.by_phase(0, 10, 0)
    assert sum(learned.values()) == 10 * 2 * (2 * 12 + 3 * 48 + 3 * 12)
    products = 2 * (9 * 4) + 16 * 12, 2 * (9 * 3) + 16 * 4, 2 * (9 * 4) + 16 * 12
    gram, square, step = products
    assert network.muon(whole=True) == 5 * 2 * (gram + square + step)
    assert network.muon(whole=False) == 5 * 2 * (gram / 2 + square / 2 + step)
    assert network.by_phase(0, 0, 3) == dict.fromkeys(acted, 0.0) | {UPDATED: 3 * 10 * (
        gram / 2 + square / 2 + step)}


def test_convolutions_are_counted_by_hand():
    """5 x 5 cells of 2 channels: 3 filters of 2 x 2 see 8 numbers at 16 places, then 4 filters of
    2 x 2 see 12 at 9; with a plain number the encoder sees 37, and gives 36 of them a gradient."""
    network = Network.of(51, (2,), 4, 1, "image 1 5x5x2: 3x2 4x2")
    first, second, encoder = 16 * 3 * 8, 9 * 4 * 12, 37 * 4
    assert network.encoder == 2 * (first + second + encoder)
    assert network.encoder_backward == 2 * (first + 2 * second + encoder + 36 * 4)
    assert network.muon(whole=True) > Network.of(37, (2,), 4, 1).muon(whole=True)
    assert {(8, 3), (12, 4), (37, 4)} <= {*network.products()}


def test_phases_of_products_have_a_rate(found):
    rates = {phase.name: phase.gflops for phase in found.phases}
    network = Network.of(4, (2,), 16, 1)
    assert {name for name, rate in rates.items() if rate} <= {*network.by_phase(1, 1, 1)}
    assert rates["update: layers"] and rates["rollout: environments"] is None
    assert 0 < found.muon_share < 1 and found.muon_gflop > 0


@long_only
def test_replayed_steps_count_only_if_replayed(faulty, found):
    """faulty replays every step once; with half of that Muon has half of its steps too."""
    less = puffer_sdk.profile(faulty, {"train.replay_ratio": 0.5}, seconds=0.5)
    assert less.flops_per_step < 0.7 * found.flops_per_step


def test_three_epochs_are_measured_however_long_each_takes():
    class Trainer:
        epochs = 0

        def rollout(self):
            pass

        def update(self):
            self.epochs += 1

    trainer = Trainer()
    link = SimpleNamespace(stop=False, emit=lambda kind, **payload: None)
    profiling.train(trainer, 0.0, link, 0.0)
    assert trainer.epochs == profiling.EPOCHS == 3


def test_what_no_phase_claims_is_waiting():
    rows = profiling.phases({"a": 1.0, "b": 2.0}, 4.0, 1e6, 2, {"b": 3e9})
    assert [(row["name"], row["share"], row["ns_per_step"], row["gflops"]) for row in rows] == [
        ("a", 0.25, 250, None), ("b", 0.5, 500, 3), ("waiting", 0.25, 250, None)]
    rows = profiling.phases({"a": 3.0}, 2.0, 1e6, 1, {})       # clocks that disagree
    assert [row["share"] for row in rows] == [1, 0]


@pytest.mark.parametrize("stopped, epochs", [(None, 3), (1, 0)])
def test_ranks_measure_the_same_epochs_and_stop_together(stopped, epochs):
    def work(group):
        done = []
        trainer = SimpleNamespace(rollout=lambda: None, update=lambda: done.append(1))
        link = SimpleNamespace(stop=group.rank == stopped, emit=lambda kind, **payload: None)
        seconds = 0.0 if group.rank == 0 else 1e9           # rank 0's clock counts
        return profiling.train(trainer, seconds, link, 0.0, group), len(done)

    assert in_threads(2, work) == [(stopped is None, epochs)] * 2


def test_the_rank_that_the_others_wait_for_is_named(capsys):
    print_ranks([{"host": "a", "rollout": 1.0, "update": 3.0, "exchange": 2.0},
                 {"host": "b", "rollout": 2.5, "update": 1.5, "exchange": 0.5}])
    assert capsys.readouterr().out.splitlines() == [
        "rank 0    a: rollout 25%, learning 25%, waiting 50%",
        "rank 1    b: rollout 62%, learning 25%, waiting 12%, the others wait for it"]


@long_only
def test_the_table_fits_80_columns_and_leaves_nothing(faulty, cli, tmp_path):
    before = sorted(faulty.rglob("*"))
    done = cli("profile", faulty, "--seconds", 0.5)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80 and "\x1b" not in done.stdout
    assert re.fullmatch(r"faulty, [\d,]+ steps/s", lines[0].strip())
    assert lines[1].split() == ["share", "ns/step"] and lines[-3].startswith("waiting")
    assert lines[-2].startswith("network ") and lines[-1].startswith("trainer ")
    assert sorted(faulty.rglob("*")) == before and list(tmp_path.iterdir()) == []


def test_json_is_one_document(faulty, cli):
    done = cli("profile", faulty, "--seconds", 0.5, "--format", "json", "--vec.num-threads", 1)
    found = json.loads(done.stdout)
    assert done.returncode == 0 and found["threads"] == 1 and len(found["phases"]) > 10


@pytest.mark.parametrize(("settings", "where"), [
    ({"train.backend": "torch"}, "command line"),
    ({"policy.torch_class": "net.py:Net"}, "auto: ")])
def test_the_referee_is_refused(faulty, settings, where):
    with pytest.raises(UsageError, match="looks into the native trainer") as caught:
        puffer_sdk.profile(faulty, settings, seconds=0.5)
    assert caught.value.where.startswith(where)


def test_an_env_that_dies_is_named(faulty):
    with pytest.raises(RunError, match="the environment failed in c_step"):
        puffer_sdk.profile(faulty, overrides("SEGFAULT", at=3), seconds=0.5)


@long_only
@pytest.mark.parametrize(("number", "status"), some_or_all(
    [(signal.SIGINT, 130), (signal.SIGTERM, 143)], 0))
def test_a_signal_in_the_warm_up_ends_it(number, status, faulty, start):
    process = start("profile", faulty, "--seconds", 30)
    wait_until(lambda: descendants(process.pid))
    time.sleep(1.5)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == status and out == ""
    assert "interrupted" in err and "Traceback" not in err


@pytest.mark.parametrize("epochs", some_or_all([0, 1, profiling.EPOCHS, profiling.EPOCHS + 1], 0))
def test_what_is_stopped_measures_nothing(epochs, faulty):
    """Before the first epoch, in the warm-up, between the two halves, and after it."""
    class Link:
        done = 0
        stop = property(lambda self: self.done >= epochs)

        def emit(self, kind, **payload):
            self.done += 1

        def watches(self, arm=True):
            return None

    built = puffer_sdk.build(faulty)
    job = profiling.ProfileJob.of(built, puffer_sdk.configure(faulty), seconds=1e-9)
    assert profiling.work(job, Link()) == {}
