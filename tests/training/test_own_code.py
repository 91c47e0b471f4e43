"""Functions of one's own: by file or as objects, their errors at their lines, their state kept."""
import json
from dataclasses import replace

import numpy as np
import pytest
from helpers.small_trainer import SMALL

import puffer_sdk
from puffer_sdk.base.errors import PufferError, RunError, UsageError
from puffer_sdk.training import checkpoint, own_code, own_state

pytest_plugins = ["helpers.small_fixtures"]
IDEAS = '''\
def stop(trainer):
    trainer.log("twice", 2 * trainer.metrics["epoch"])
    return trainer.epoch == 2

def breaks(trainer):
    return 1 / 0

def logs_nan(trainer):
    trainer.log("x", float("nan"))

def returns_text(trainer):
    return "yes"

def loss(batch, outputs):
    return outputs.loss, {"mine": 2.0}

class Counts:
    def __init__(self):
        self.n = 0

    def __call__(self, trainer):
        self.n += 1
        trainer.log("n", self.n)
'''


class Kept:
    """An object with state, as a torch module or an optimiser has it."""

    def __init__(self):
        self.seen = {"n": 0, "mean": np.zeros(2, np.float32), 3: (True, "x", [np.arange(4)])}

    def __call__(self, trainer):
        self.seen["n"] += 1
        self.seen["mean"] += 0.5

    def state_dict(self):
        return self.seen

    def load_state_dict(self, state):
        self.seen = state


@pytest.fixture
def ideas(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ideas.py").write_text(IDEAS)
    return tmp_path / "ideas.py"


def learn(trainer, epochs=1):
    for _ in range(epochs):
        trainer.rollout()
        trainer.update()


def test_train_calls_functions_by_file_and_ends_where_on_epoch_says_so(squared, ideas, tmp_path):
    pytest.importorskip("torch")
    done = puffer_sdk.train(squared, {
        **SMALL, "vec.total_agents": 32, "eval.episodes": 10, "train.on_epoch": "ideas.py:stop",
        "train.torch_loss": "ideas.py:loss"}, runs_dir=tmp_path / "runs")
    rows = [json.loads(line) for line in (done.folder / "metrics.jsonl").read_text().splitlines()]
    assert [(row["twice"], row["mine"]) for row in rows] == [(2, 2), (4, 2)]
    assert done.steps == 2 * 32 * 8
    info = json.loads((done.folder / "run.json").read_text())
    assert info["status"] == "finished" and done.claim is not None
    assert [name for name in info["code"]["files"] if name.endswith("ideas.py")]
    config = checkpoint.load(done.checkpoint).config
    assert config.train.on_epoch == f"{ideas}:stop"


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_a_trainer_calls_it_after_each_update(vec, backend, ideas):
    asked = []

    def note(trainer):
        asked.append((trainer.epoch, trainer.metrics["loss/entropy"] > 0))
        trainer.log("epochs", trainer.epoch)
        return trainer.epoch == 2

    with puffer_sdk.Trainer(vec, {**SMALL, "train.backend": backend}, on_epoch=note) as trainer:
        while not trainer.finished:
            trainer.rollout()
            assert trainer.update()["epochs"] == trainer.epoch
    assert asked == [(1, True), (2, True)]
    with puffer_sdk.Trainer(vec, {**SMALL, "train.on_epoch": f"{ideas}:stop"}) as trainer:
        trainer._own.row = {"epoch": 1}
        trainer._code.after_epoch(trainer)
        assert trainer.metrics["twice"] == 2 and not trainer.finished


@pytest.mark.parametrize(("name", "line", "match"), [
    ("breaks", 6, "on_epoch failed: ZeroDivisionError"), ("logs_nan", 9, "'x' is not finite"),
    ("returns_text", 11, "must return True")])
def test_errors_name_file_and_line(name, line, match, ideas, vec):
    with puffer_sdk.Trainer(vec, {**SMALL, "train.on_epoch": f"{ideas}:{name}"}) as trainer:
        with pytest.raises(PufferError, match=match) as caught:
            trainer._code.after_epoch(trainer)
        assert caught.value.where == f"{ideas}:{line}"


@pytest.mark.parametrize(("spec", "match"), [
    ("nowhere.py:stop", "train.on_epoch: there is no such file"),
    ("ideas.py:stp", "no function 'stp"),
    ("ideas.py", r"\[train\] on_epoch does not name a function")])
def test_specs_that_name_no_function(spec, match, ideas, vec):
    with pytest.raises(UsageError, match=match):
        puffer_sdk.Trainer(vec, {**SMALL, "train.on_epoch": spec})


def test_functions_need_one_process(vec):
    config = puffer_sdk.Trainer(vec, SMALL).config
    with pytest.raises(UsageError, match="on_epoch, a function of your own, needs one process"):
        own_code.OwnCode.of(config, 2, on_epoch=print)
    with pytest.raises(UsageError, match="on_epoch= takes a function"):
        puffer_sdk.Trainer(vec, SMALL, on_epoch="ideas.py:stop")


def test_a_function_that_somebody_elses_settings_name_is_not_called(vec, ideas):
    with puffer_sdk.Trainer(vec, SMALL) as trainer:
        theirs = replace(trainer.config, train=replace(
            trainer.config.train, on_epoch=f"{ideas}:stop"))
    with pytest.raises(UsageError, match="name Python code that you did not name"):
        own_code.OwnCode.of(theirs)


def test_state_goes_with_the_checkpoint(vec, tmp_path):
    first, then = Kept(), Kept()
    with puffer_sdk.Trainer(vec, SMALL, on_epoch=first) as trainer:
        learn(trainer, 3)
        path = trainer.save(tmp_path / "a.safetensors")
    with puffer_sdk.Trainer(vec, SMALL, on_epoch=then) as trainer:
        trainer.load(path)
    assert then.seen["n"] == 3 and then.seen["mean"].tolist() == [1.5, 1.5]
    assert then.seen["mean"].dtype == np.float32
    flag, text, [whole] = then.seen[3]
    assert flag is True and text == "x"
    assert whole.dtype == np.int64 and whole.tolist() == [0, 1, 2, 3]


def test_what_cannot_be_kept_is_refused(vec, tmp_path, ideas):
    with puffer_sdk.Trainer(vec, {**SMALL, "train.on_epoch": f"{ideas}:Counts"}) as trainer:
        learn(trainer)
        path = trainer.save(tmp_path / "a.safetensors")
        with pytest.raises(UsageError, match="the state of on_epoch is in no checkpoint"):
            trainer.load(path)
    held = Kept()
    held.seen = {"bad": object()}
    with pytest.raises(RunError, match=r"state_dict\(\) holds a object"):
        own_state.save("on_epoch", held)
    assert own_state.save("on_epoch", len) == ({}, None)


def test_tensors_of_torch_come_back_as_they_were():
    torch = pytest.importorskip("torch")
    held, again = Kept(), Kept()
    held.seen = {kind: torch.arange(3).to(kind) for kind in (torch.bfloat16, torch.int64,
                                                             torch.float64, torch.bool)}
    held.seen = {str(kind): value for kind, value in held.seen.items()}
    tensors, kept = own_state.save("loss", held.__call__)
    assert all(each.dtype.kind == "f" for each in tensors.values())
    own_state.load("loss", again, tensors, json.loads(json.dumps(kept)))
    assert all(again.seen[name].dtype == value.dtype and torch.equal(again.seen[name], value)
               for name, value in held.seen.items())
