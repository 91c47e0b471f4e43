"""Checkpoints: written whole or not at all; refused with what is wrong; loaded to the bit."""
import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from puffer_sdk.base.errors import Damaged, RunError, UsageError
from puffer_sdk.settings.table import Policy
from puffer_sdk.training import checkpoint

TENSORS = {"encoder": np.arange(12, dtype=np.float32).reshape(3, 4),
           "muon.encoder": np.float32([[-0.0, 1e-38, 3e38]])}
ENV = {"name": "game", "obs_size": 4, "obs_dtype": "float32", "act_sizes": [2, 1]}
FACTS = {"env": ENV, "config": {"env": {"size": 9.0}}, "counters": {"epoch": 3},
         "epoch": 3, "step": 1536, "seconds": 1.5}


@pytest.fixture
def saved(tmp_path):
    return checkpoint.save(tmp_path / "checkpoints/000000001536.safetensors", TENSORS, FACTS)


def test_what_is_saved_comes_back_to_the_bit(saved):
    loaded = checkpoint.load(saved)
    assert {name: value.tobytes() for name, value in loaded.tensors.items()} == \
        {name: value.tobytes() for name, value in TENSORS.items()}
    assert loaded.step == 1536
    assert loaded.facts == {"format_version": checkpoint.FORMAT_VERSION, **FACTS,
                            "checksum": checkpoint.checksum(TENSORS)}
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_equal_states_give_equal_files(saved, tmp_path):
    again = checkpoint.save(tmp_path / "again.safetensors", dict(reversed(TENSORS.items())),
                            dict(reversed(FACTS.items())))
    assert again.read_bytes() == saved.read_bytes()


@pytest.mark.parametrize("keep", [0, 4, 8, 100, -1])
def test_a_truncated_file_is_refused(saved, keep):
    saved.write_bytes(saved.read_bytes()[:keep])
    with pytest.raises(UsageError, match="damaged, or not a checkpoint") as caught:
        checkpoint.load(saved)
    assert caught.value.where == str(saved)


@pytest.mark.parametrize("content", [b"hello", b"\xff" * 100, b"{}" * 50, b"\0" * 64])
def test_another_file_is_refused(tmp_path, content):
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="not a (puffer-sdk )?checkpoint"):
        checkpoint.load(path)


@pytest.mark.parametrize("make", ["nothing", "a folder"])
def test_what_is_no_file_is_refused(tmp_path, make):
    path = tmp_path / "x.safetensors"
    if make == "a folder":
        path.mkdir()
    with pytest.raises(UsageError, match="no such checkpoint"):
        checkpoint.load(path)


@pytest.mark.parametrize("metadata", [None, {"other": "text"}, {"puffer": "not json"},
                                      {"puffer": "[]"}, {"puffer": '{"format_version": "x"}'},
                                      {"puffer": '{"format_version": 1}'},
                                      {"puffer": json.dumps({**FACTS, "format_version": 1,
                                                             "env": 5})}])
def test_a_safetensors_file_of_somebody_else_is_refused(tmp_path, metadata):
    path = tmp_path / "x.safetensors"
    save_file(TENSORS, path, metadata=metadata)
    with pytest.raises(UsageError, match="not a puffer-sdk checkpoint|is damaged"):
        checkpoint.load(path)


def test_a_newer_format_is_refused_naming_both_versions(tmp_path):
    path = tmp_path / "x.safetensors"
    newer = checkpoint.FORMAT_VERSION + 1
    save_file(TENSORS, path, metadata={"puffer": json.dumps({"format_version": newer})})
    with pytest.raises(UsageError) as caught:
        checkpoint.load(path)
    assert "newer" in caught.value.message and caught.value.actual == newer
    assert caught.value.expected == f"format_version {checkpoint.FORMAT_VERSION} or less"


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_finite_are_a_failed_run(saved, bad):
    tensors = {**TENSORS, "decoder": np.float32([1, bad])}
    checkpoint.save(saved, tensors, FACTS)
    with pytest.raises(RunError, match="non-finite numbers in decoder") as caught:
        checkpoint.load(saved)
    assert caught.value.exit_status == 4


@pytest.mark.parametrize(("change", "text"), [
    ({"obs_size": 5}, "another observation size"),
    ({"obs_dtype": "uint8"}, "another observation type"),
    ({"act_sizes": [2]}, "another set of action heads")])
def test_a_checkpoint_of_something_else_is_refused(saved, change, text):
    loaded = checkpoint.load(saved)
    checkpoint.check_fits(loaded, ENV, {"size": 9.0})
    with pytest.raises(UsageError, match=text) as caught:
        checkpoint.check_fits(loaded, {**ENV, **change}, {"size": 9.0})
    key = next(iter(change))
    assert caught.value.expected == change[key] and caught.value.actual == ENV[key]


def test_another_name_is_said_and_another_environment_is_refused(saved, capsys):
    loaded = checkpoint.load(saved)
    checkpoint.check_fits(loaded, {**ENV, "name": "other"}, {})
    checkpoint.warn_of_other_name(loaded, ENV["name"])
    checkpoint.warn_of_other_name(None, "other")
    assert capsys.readouterr().err == ""
    checkpoint.warn_of_other_name(loaded, "other")
    assert capsys.readouterr().err == (
        f"warning: the policy was trained as {ENV['name']}: its sizes are those of other, so it is "
        "used\n")
    with pytest.raises(UsageError) as caught:
        checkpoint.check_fits(loaded, {**ENV, "name": "other", "act_sizes": [2]}, {"size": 9.0})
    assert caught.value.message == (f"this checkpoint belongs to another environment, "
                                    f"{ENV['name']}, with another set of action heads")


def test_weights_of_another_encoder_are_refused(saved, tmp_path):
    """One written before encoders were is flat, and so is `auto`; parts are compared, not texts."""
    flat = checkpoint.load(saved)
    image = checkpoint.load(checkpoint.save(tmp_path / "image.safetensors", TENSORS, {
        **FACTS, "config": {"policy": {"encoder": "image 0 2x2x1: 3x2"}}}))
    for past, text in ((flat, "flat"), (flat, "auto"), (image, "image 0 2x2: 3x2/1")):
        checkpoint.check_sees(past, Policy(encoder=text))
    checkpoint.check_sees(image, Policy(encoder="flat", torch_class="net.py:Net"))
    with pytest.raises(UsageError, match="trained with another encoder") as caught:
        checkpoint.check_sees(image, Policy(encoder="flat"))
    assert (caught.value.expected, caught.value.actual) == ("flat", "image 0 2x2x1: 3x2")
    assert caught.value.hint == "--policy.encoder 'image 0 2x2x1: 3x2'"
    with pytest.raises(UsageError, match="trained with another encoder"):
        checkpoint.check_sees(flat, Policy(encoder="list 0 2x2: 4"))


def test_the_setting_that_made_the_difference_is_named(saved):
    with pytest.raises(UsageError) as caught:
        checkpoint.check_fits(checkpoint.load(saved), {**ENV, "obs_size": 5}, {"size": 11.0})
    assert caught.value.hint == "it was trained with --env.size 9"


def test_a_failed_write_leaves_the_old_file(saved, monkeypatch):
    before = saved.read_bytes()

    def full(fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(RunError, match="the ones before it are untouched") as caught:
        checkpoint.save(saved, {"encoder": np.zeros(3, np.float32)}, FACTS)
    assert caught.value.detail == "No space left on device"
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_sweep_removes_what_a_killed_writer_left(saved):
    (saved.parent / f".{saved.name}.4711").write_bytes(b"half")
    checkpoint.sweep(saved.parent)
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


@pytest.mark.parametrize(("dtype", "train", "own", "obs_scale", "weights", "momentum"), [
    ("uint8", {"scale_obs": True, "encoder_scale": 0.5}, "", str(0.5 / 255), 1 / 255, 0.5),
    ("uint8", {"scale_obs": False, "encoder_scale": 0.0}, "", "1", 1, 1),
    ("float32", {"scale_obs": True, "encoder_scale": 0.25}, "", "0.25", 1, 0.25),
    ("uint8", {"scale_obs": True, "encoder_scale": 0.5}, "n.py:N", str(1 / 255), 1, 1)])
def test_format_1_is_read(tmp_path, dtype, train, own, obs_scale, weights, momentum):
    """Its network computed W (obs / 255); what is loaded computes the same of obs itself, and its
    momentum is that of gradients by obs times its factors."""
    tensors = {"encoder": np.float32([[1, -2]]), "muon.encoder": np.float32([[3, 4]]),
               "decoder": np.float32([[5]])}
    facts = {**FACTS, "env": {**ENV, "obs_dtype": dtype}, "format_version": 1,
             "config": {"train": train, "policy": {"torch_class": own}}}
    path = checkpoint.save(tmp_path / "old.safetensors", tensors, facts)
    past = checkpoint.load(path)
    assert past.config.train.obs_scale == obs_scale
    assert past.facts["config"] == facts["config"]
    assert past.tensors["encoder"] == pytest.approx(weights * tensors["encoder"])
    assert np.array_equal(past.tensors["muon.encoder"], momentum * tensors["muon.encoder"])
    assert np.array_equal(past.tensors["decoder"], tensors["decoder"])


@pytest.mark.parametrize(("key", "value"), [("scale_obs", "yes"), ("encoder_scale", "0.5")])
def test_a_damaged_setting_of_format_1_is_named(tmp_path, key, value):
    facts = {**FACTS, "format_version": 1, "config": {"train": {"scale_obs": True, key: value}}}
    path = checkpoint.save(tmp_path / "old.safetensors", {"encoder": np.ones((1, 2))}, facts)
    with pytest.raises(Damaged) as refused:
        checkpoint.load(path)
    assert f"config.train, {key}" in str(refused.value.where)
