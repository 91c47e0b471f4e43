"""Settings: what is read, where it came from, and how everything else is refused."""
from __future__ import annotations

import copy
import dataclasses
import json
import math
import pickle
import shutil
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from helpers.claims import claim
from helpers.places import broken

from puffer_sdk import cli
from puffer_sdk.base import ui
from puffer_sdk.base.errors import UsageError
from puffer_sdk.base.spec import CField
from puffer_sdk.cli.options import gather_settings, takes_settings
from puffer_sdk.settings import automatic, config, key_hints, texts
from puffer_sdk.settings import table as settings
from puffer_sdk.settings.config import resolve
from puffer_sdk.settings.values import Config
from puffer_sdk.training.runs import create_run


@pytest.fixture(autouse=True)
def in_tmp(tmp_path, monkeypatch):
    """Messages name files relative to the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ui, "_warned", set())


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "grid"
    made.mkdir()
    return made


def write(folder, text, encoding="utf-8"):
    (folder / f"{folder.name}.ini").write_bytes(
        text if isinstance(text, bytes) else text.encode(encoding))
    return folder


def ocean(folder, binding='void my_init(Env* env, Dict* kwargs) { dict_get(kwargs, "speed"); }'):
    (folder / "binding.c").write_text(binding)
    return folder


def spec(**types):
    fields = tuple(CField(name, kind, 10 + i) for i, (name, kind) in enumerate(types.items()))
    return SimpleNamespace(fields=fields, settable=fields, header=Path("grid.h"), by_agent=False,
                           binding=None, struct="Grid", obs_dtype="u8")


def refusal(folder, overrides=None, spec=None, **options) -> UsageError:
    with pytest.raises(UsageError) as caught:
        resolve(folder, overrides, spec, **options)
    assert caught.value.exit_status == 2
    return caught.value


def warnings(capsys) -> list[str]:
    return [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning")]


# -- what is read


def test_layers_override_each_other_and_say_so(folder):
    write(folder, "[train]\ngamma = 0.9\nlearning_rate = 0.02\n[env]\nsize = 11\n")
    result = resolve(folder, {"train.learning-rate": "0.01", "env.size": "7"})
    assert (result.train.gamma, result.train.learning_rate, result.train.gae_lambda) == \
        (0.9, 0.01, 0.95)
    assert result.env == {"size": 7.0}
    assert result.origin["train.gamma"] == "grid.ini:2"
    assert result.origin["train.learning_rate"] == "command line"
    assert result.origin["train.gae_lambda"] == "default"
    assert result.origin["env.size"] == "command line"
    assert result.base.env_name == "grid"


def test_a_file_over_the_environments_own_changes_what_it_names(folder, tmp_path):
    """--config: each file over those before, a name of its own for each in the origins."""
    write(folder, "[train]\ngamma = 0.9\nseed = 3\n[env]\nsize = 11\nspeed = 2\n")
    best, twin = tmp_path / "best.ini", tmp_path / "copies" / "grid.ini"
    twin.parent.mkdir()
    best.write_text("[base]\nseed = 4\n[env]\nsize = 9\n[train]\ngamma = 0.8\n")
    twin.write_text("[train]\ngamma = 0.7\n")
    result = resolve(folder, {"env.size": "7"}, over=[best, twin])
    assert result.env == {"size": 7.0, "speed": 2.0}
    assert (result.train.gamma, result.train.seed) == (0.7, 4)
    assert {name: result.origin[name] for name in (
        "train.gamma", "train.seed", "env.size", "env.speed")} == {
        "train.gamma": "copies/grid.ini:2", "train.seed": "tmp/best.ini:2".replace(
            "tmp", tmp_path.name), "env.size": "command line", "env.speed": "grid/grid.ini:6"}
    assert resolve(folder, over=[best]).origin["train.gamma"] == "best.ini:6"
    # what a run saved is read alone, and a file lies over that as well
    saved = tmp_path / "config.ini"
    saved.write_text(resolve(folder, over=[best]).to_ini())
    write(folder, "[env]\nsize = 11\nspeed = 2\ngained = 5\n")
    assert "gained" not in resolve(folder, ini=saved).env
    assert resolve(folder, ini=saved, over=[twin]).train.gamma == 0.7
    # the file itself, once more, is no layer
    own = folder / "grid.ini"
    assert resolve(folder, over=[own]).origin["env.size"] == "grid.ini:2"


def test_a_file_over_another_mends_its_values_and_is_refused_with_its_line(folder, tmp_path):
    write(folder, "[train]\ngamma = 3\n[vec]\ntotal_agents = 64\n")
    over = tmp_path / "over.ini"
    over.write_text("[train]\ngamma = 0.5\n")
    assert resolve(folder, over=[over]).train.gamma == 0.5
    over.write_text("[train]\ngamma = 0.5\ngama = 1\n")
    assert refusal(folder, over=[over]).where == "over.ini:3"
    assert refusal(folder, over=[tmp_path / "missing.ini"]).message == "cannot read missing.ini"
    over.write_text("[train]\ngamma = 0.5\n[vec]\nnum_buffers = 5\n")
    assert refusal(folder, over=[over]).where == "over.ini:4"


@pytest.mark.parametrize(("text", "value"), [
    ("1e8", 100_000_000), ("100_000_000", 100_000_000), ("1E6", 1_000_000), ("4096.0", 4096),
    ("2.5e3", 2500), ("+7", 7), ("12_3.4e1", 1234), ("1.", 1), ("9007199254740993", 2**53 + 1),
])
def test_whole_numbers(text, value):
    result = config.defaults({"train.seed": text}).train.seed
    assert result == value and type(result) is int


@pytest.mark.parametrize("text", ["1.5", "1e-1", "0x10", "1__0", "_1", "1_", "", " ", "one",
                                  "1,000", "nan", "inf", "-inf", "1e999", "1e999999999", "9" * 5000,
                                  "-1", "1e19", "١٢", "1 2", "--3", "true", "auto", "1e", "."])
def test_not_whole_numbers(text):
    with pytest.raises(UsageError) as caught:
        config.defaults({"train.seed": text})
    assert caught.value.expected == "a whole number from 0 to 9223372036854775807"


@pytest.mark.parametrize(("text", "value"), [("true", True), ("False", False), ("1", True),
                                             ("0", False), ("TRUE", True), ("1.0", True),
                                             ("on", True), ("Off", False)])
def test_switches(text, value):
    assert config.defaults({"train.anneal_lr": text}).train.anneal_lr is value


@pytest.mark.parametrize("text", ["yes", "2", "0.5", "none", "", "disabled"])
def test_not_switches(text):
    with pytest.raises(UsageError) as caught:
        config.defaults({"train.anneal_lr": text})
    assert caught.value.expected == "true, false, on, off, 1 or 0"


def test_plain_values_override_too():
    result = config.defaults({"train.gamma": 0.5, "train.anneal_lr": False,
                              "--train.total-timesteps": 1e6, "vec.num_threads": 3})
    assert result.train.gamma == 0.5 and result.train.anneal_lr is False
    assert result.train.total_timesteps == 1_000_000 and result.vec.num_threads == 3


def test_bom_crlf_comments_percent_and_dollar(folder):
    write(folder, b"\xef\xbb\xbf# note\r\n[check]\r\n  ; note\r\n"
                  b"allow = PUF305 100% of $HOME # kept\r\n \r\n[train]\r\nseed=3\r\n")
    result = resolve(folder)
    assert result.check.allow == "PUF305 100% of $HOME # kept"
    assert result.train.seed == 3 and result.origin["train.seed"] == "grid.ini:7"


def test_sweep_sections_are_left_alone(folder):
    write(folder, "[sweep]\nmethod = Protein\nanything = 3\n"
                  "[sweep.train.gamma]\nmin = 9\nmax = 1\n")
    assert resolve(folder).origin["train.gamma"] == "default"


def test_inis_of_upstreams_layout(tmp_path):
    made = tmp_path / "ocean" / "pong"
    made.mkdir(parents=True)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "pong.ini").write_text("[train]\ngamma = 0.5\n")
    assert resolve(made).origin["train.gamma"] == "pong.ini:2"
    write(made, "[train]\nlambda_ = 1\n")
    assert refusal(made).where == "ocean/pong/pong.ini:2"


def test_a_stray_ini_is_mentioned(folder, capsys):
    (folder / "gird.ini").write_text("[train]\n")
    assert resolve(folder).train.gamma == 0.99
    assert "gird.ini is not read" in capsys.readouterr().err


def test_config_is_fixed():
    result = config.defaults()
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.train.gamma = 1
    for change in (lambda: result.env.__setitem__("size", 1), lambda: result.origin.clear(),
                   lambda: result.env.update(size=1)):
        with pytest.raises(TypeError):
            change()


# -- values that are chosen


def test_choices_carry_their_reason(folder, monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1, 2}, raising=False)
    monkeypatch.setattr("puffer_sdk.toolchain.gpu.find_driver", lambda: None)
    result = resolve(folder)
    assert result.vec.num_threads == 3
    assert result.origin["vec.num_threads"] == "auto: 3 cores available"
    assert (result.train.device, result.train.backend) == ("cpu", "native")
    assert result.origin["train.device"] == "auto: no NVIDIA driver on this machine"
    assert result.train.minibatch_size == 8192
    explicit = resolve(folder, {"vec.num_threads": "auto"})
    assert explicit.origin["vec.num_threads"] == "auto: 3 cores available"


@pytest.mark.parametrize(("given", "backend", "device", "reason"), [
    ({}, "native", "cpu", "auto: the fastest trainer that this version has"),
    ({"train.backend": "native"}, "native", "cpu", "command line"),
    ({"train.backend": "torch"}, "torch", "cpu", "command line"),
    ({"policy.torch_class": "net.py:Net"}, "torch", "cpu",
     "auto: [policy] torch_class is a network in PyTorch"),
    ({"train.device": "cuda"}, "native", "cuda",
     "auto: the fastest trainer that this version has"),
    ({"train.device": "cpu", "train.precision": "bf16"}, "native", "cpu",
     "auto: the fastest trainer that this version has"),
])
def test_the_trainer_is_chosen(folder, monkeypatch, given, backend, device, reason):
    monkeypatch.setattr("puffer_sdk.toolchain.gpu.find_driver", lambda: None)
    monkeypatch.setattr("puffer_sdk.settings.automatic.os.path.exists", lambda path: False)
    result = resolve(folder, given)
    assert (result.train.backend, result.train.device) == (backend, device)
    assert result.origin["train.backend"] == reason
    if given == {"train.backend": "torch"}:
        assert result.origin["train.device"] == "auto: no GPU on this machine"


@pytest.mark.parametrize(("given", "message", "expected"), [
    ({"train.backend": "native", "policy.torch_class": "net.py:Net"},
     "[policy] torch_class is a network in PyTorch, which the native trainer cannot train",
     "train.backend = torch"),
    ({"train.async": 1, "train.device": "cpu"},
     "learning during a rollout needs the native trainer on a GPU",
     "train.async = false, or train.device = cuda"),
    ({"train.async": 1, "train.device": "cuda", "train.backend": "torch"},
     "learning during a rollout needs the native trainer on a GPU",
     "train.async = false, or train.device = cuda"),
    ({"train.backend": "torch", "train.precision": "bf16"},
     "the PyTorch trainer computes in fp32, not in bf16",
     "train.precision = fp32, or train.backend = native"),
    ({"policy.encoder": "small", "train.device": "cuda"},
     "the native trainer on a GPU has the flat encoder only",
     "train.device = cpu, train.backend = torch, or policy.encoder = flat"),
    ({"policy.encoder": "small", "policy.torch_class": "net.py:Net"},
     "a network of your own sees the whole row: policy.encoder is not for it",
     "policy.encoder = auto, or no torch_class"),
    ({"policy.torch_class": "net.py:Net", "train.precision": "bf16"},
     "the PyTorch trainer computes in fp32, not in bf16",
     "train.precision = fp32, or train.backend = native"),
])
def test_what_a_trainer_cannot_do_is_refused(folder, given, message, expected):
    error = refusal(folder, given)
    assert (error.message, error.expected) == (message, expected)
    assert error.where.startswith("command line, --") and error.hint


@pytest.mark.parametrize(("total", "horizon", "size"), [
    (4096, 64, 8192), (4, 16, 64), (1, 1, 1), (4096, 100, 8100), (2, 10_000, 10_000),
    (1, 10_000, 10_000)])
def test_minibatch_is_chosen_to_fit(total, horizon, size):
    result = config.defaults({"vec.total_agents": total, "train.horizon": horizon})
    assert result.train.minibatch_size == size


@pytest.mark.parametrize(("steps", "agents", "horizon", "size", "replay"), [
    (1000, 8, 128, 256, 8.0), (100_000, 8, 128, 256, 8.0), (500_000, 32, 128, 512, 4.1),
    (1_000_000, 128, 64, 1024, 4.1), (10_000_000, 1024, 64, 8192, 3.3),
    (10**9, 4096, 64, 8192, 1.0)])
def test_sizes_follow_the_steps_of_a_run(steps, agents, horizon, size, replay):
    """About 4,000 updates, from 100 rollouts or more; many steps leave no choice."""
    result = config.defaults({"train.total_timesteps": steps})
    assert (result.vec.total_agents, result.train.horizon, result.train.minibatch_size,
            result.train.replay_ratio) == (agents, horizon, size, replay)


@pytest.mark.parametrize(("rows", "agents"), [(1, 8), (3, 9), (10, 10), (1000, 1000)])
def test_agents_are_chosen_in_whole_environments(folder, rows, agents):
    write(folder, f"[env]\nnum_agents = {rows}\n[train]\ntotal_timesteps = 100_000\n")
    assert resolve(folder).vec.total_agents == agents


@pytest.mark.parametrize(("total", "rows", "slices"), [(8, 1, 2), (7, 1, 1), (8, 8, 1), (16, 8, 2)])
def test_slices_are_chosen_to_fit_whole_environments(folder, total, rows, slices):
    write(folder, f"[env]\nnum_agents = {rows}\n[vec]\ntotal_agents = {total}\n")
    assert resolve(folder).vec.num_buffers == slices


def test_with_auto():
    result = config.defaults().with_auto("vec.num_buffers", 1, "whole environments")
    assert result.vec.num_buffers == 1
    assert result.origin["vec.num_buffers"] == "auto: whole environments"


# -- what is refused in an ini: (text, line, message, expected, actual, hint)


BAD_INI = [
    ("[train]\ngama = 1", 2, "[train] has no setting 'gama'", "a setting of [train]", "'gama'",
     "did you mean 'gamma'?"),
    ("[train]\nGamma = 1", 2, "[train] has no setting 'Gamma'", None, None,
     "did you mean 'gamma'?"),
    ("[vec]\n\ngamma = 1", 3, "[vec] has no setting 'gamma'", None, None,
     "'gamma' belongs to [train]"),
    ("[train]\nhiden_size = 1", 2, "[train] has no setting 'hiden_size'", None, None,
     "did you mean 'hidden_size', in [policy]?"),
    ("[train]\nbptt_horizon = 1", 2, "[train] has no setting 'bptt_horizon'", None, None,
     "PufferLib 4.0 calls it 'horizon', in [train]"),
    ("[eval]\nzzz = 1", 2, "[eval] has no setting 'zzz'", None, None,
     "[eval] has episodes, steps, seed, goal, idle_action"),
    ("[trian]\ngamma = 1", 1, "there is no section [trian]", "a known section", "[trian]",
     "did you mean [train]?"),
    ("[train]\ngamma = 1.5", 2, "[train] gamma cannot be '1.5'", "a number from 0 to 1", "'1.5'",
     None),
    ("[train]\ngamma = nan", 2, "[train] gamma cannot be 'nan'", "a number from 0 to 1", "'nan'",
     "the value is not finite"),
    ("[train]\ngamma = -Infinity", 2, "[train] gamma cannot be '-Infinity'", None, None,
     "the value is not finite"),
    ("[train]\nlearning_rate = 1e999", 2, "[train] learning_rate cannot be '1e999'",
     "a number from 0 to 10", "'1e999'", "the value is too large"),
    ("[train]\ngamma = 0.9 # discount", 2, "[train] gamma cannot be '0.9 # discount'", None, None,
     "a comment stands on a line of its own"),
    ("[train]\ngamma = '0.9'", 2, "[train] gamma cannot be ''0.9''", None, None,
     "numbers are written without quotes"),
    ("[train]\ngamma =", 2, "[train] gamma has no value", "a number from 0 to 1", "nothing", None),
    ("[train]\nseed = 1.5", 2, "[train] seed cannot be '1.5'", None, "'1.5'", None),
    ("[vec]\ntotal_agents = 16777217", 2, "[vec] total_agents cannot be '16777217'",
     "a whole number from 1 to 16777216, or auto", "'16777217'", None),
    ("[vec]\ntotal_agents = 0", 2, "[vec] total_agents cannot be '0'", None, None, None),
    ("[train]\nbeta1 = 1", 2, "[train] beta1 cannot be '1'", "a number from 0, below 1", "'1'",
     None),
    ("[train]\nclip_coef = 0", 2, "[train] clip_coef cannot be '0'", "a number above 0, up to 10",
     "'0'", None),
    ("[train]\nanneal_lr = yes", 2, "[train] anneal_lr cannot be 'yes'",
     "true, false, on, off, 1 or 0", "'yes'", None),
    ("[train]\ndevice = cudda", 2, "[train] device cannot be 'cudda'", "auto, cpu or cuda",
     "'cudda'", "did you mean 'cuda'?"),
    ("[vec]\ndevice = GPU", 2, "[vec] device cannot be 'GPU'", "cpu or cuda", "'GPU'",
     "did you mean 'cuda'?"),
    ("[train]\nbackend = jax", 2, "[train] backend cannot be 'jax'", "auto, native or torch",
     "'jax'", None),
    ("[train]\nbackend = torch\nprecision = bf16", 3,
     "the PyTorch trainer computes in fp32, not in bf16",
     "train.precision = fp32, or train.backend = native", "bf16",
     "leave train.precision at fp32"),
    ("[train]\ndevice = cpu\n[vec]\ndevice = cuda", 4,
     "environments on a GPU need the native trainer on a GPU",
     "vec.device = cpu, or train.device = cuda", "train.device = cpu, train.backend = native",
     "leave train.device at auto, or vec.device at cpu"),
    ("[train]\nseed = 1\n[base]\nseed = 2", 4,
     "base.seed and train.seed are one setting with two values", "1, as grid/grid.ini:2 says", "2",
     "keep train.seed alone"),
    ("[train]\nhorizon = 64\nminibatch_size = 100", 3,
     "minibatch_size = 100 is not a multiple of horizon = 64", "a multiple of 64", "100",
     "minibatch_size = 64 works"),
    ("[vec]\ntotal_agents = 8\n[train]\nhorizon = 16\nminibatch_size = 4096", 5,
     "minibatch_size = 4096 is more than an epoch holds",
     "at most 128 (total_agents 8 x horizon 16)", "4096", "minibatch_size = 128 works"),
    ("[vec]\ntotal_agents = 10\nnum_buffers = 4", 3,
     "total_agents = 10 does not divide into num_buffers = 4 equal slices", "a multiple of 4",
     "10", "num_buffers = 2 works, or total_agents = 8"),
    ("[vec]\ntotal_agents = 2\nnum_buffers = 4", 3,
     "total_agents = 2 does not divide into num_buffers = 4 equal slices", None, None,
     "num_buffers = 2 works, or total_agents = 4"),
    ("[env]\nmin_speed = 5\nmax_speed = 2", 2, "[env] min_speed is above max_speed", "at most 2",
     "5", "swap the two"),
    ("[base]\nenv_name = other", 2, "[base] env_name is not this environment's name", "'grid'",
     "'other'", "leave env_name out"),
    ("[eval]\nidle_action = left", 2, "[eval] idle_action is not an action", None, "'left'", None),
    ("[policy]\ntorch_class = Net", 2, "[policy] torch_class does not name a class",
     "FILE.py:CLASS", "'Net'", "such as network.py:MyPolicy"),
    ("[env]\nsize = big", 2, "[env] size is not a number", "a number", "'big'", None),
    ("[env]\nsize = inf", 2, "[env] size is not a number", "a number", "'inf'",
     "the value is not finite"),
    ("[env]\nsize =", 2, "[env] size is not a number", "a number", "nothing", None),
    ("[train]\ngamma = 1\n\n[vec]\n[train]\nseed = 1", 5, "the section [train] is given twice",
     None, None, "the first is on line 1: move these keys there"),
    ("[train]\ngamma = 1\nseed = 1\ngamma = 1", 4, "[train] gamma is given twice", None, None,
     "the first is on line 2"),
    ("[env]\nx = 1\nx = 2", 3, "[env] x is given twice", None, None, "the first is on line 2"),
    ("[sweep.x]\nx = 1\nx = 2", 3, "[sweep.x] x is given twice", None, None,
     "the first is on line 2"),
    ("[check]\nallow = PUF305\n  because", 3,
     "a line begins with a space: continuation lines are not read",
     "key = value at the start of the line", "'  because'",
     "write the value on one line, without indentation"),
    ("[train]\n\tgamma = 1", 2, "a line begins with a space: continuation lines are not read",
     None, None, None),
    ("[train]\ngamma: 1", 2, "this line is neither a section nor a setting", "key = value",
     "'gamma: 1'", "write gamma = 1"),
    ("[train]\n= 1", 2, "this setting has no name", None, None, None),
    ("gamma = 1", 1, "'gamma' stands before the first section", None, None, None),
    ("[train] # note", 1, "this is not a section", "[section] and nothing else",
     "'[train] # note'", "a comment stands on a line of its own"),
    ("[train", 1, "this is not a section", None, "'[train'", None),
    ("[]", 1, "this is not a section", None, None, None),
    (b"[train]\ngamma = 1\n# caf\xe9", 3, "grid.ini is not UTF-8 text", "UTF-8", "the byte 0xe9",
     "save the file as UTF-8"),
    ("[train]\ngamma = 1\x00", 2, "this line contains a control character", "text",
     "the character U+0000", None),
    ("[train]\rgamma = 1", 1, "this line contains a control character", None,
     "the character U+000D", None),
]


@pytest.mark.parametrize("case", BAD_INI, ids=lambda case: repr(case[0])[:40])
def test_bad_inis(folder, case):
    text, line, message, expected, actual, hint = case
    error = refusal(write(folder, text))
    assert (error.where, error.message) == (f"grid/grid.ini:{line}", message)
    assert expected is None or error.expected == expected
    assert actual is None or error.actual == actual
    assert hint is None or error.hint == hint


@pytest.mark.parametrize("shared", [False, True])
def test_a_folder_or_a_looping_link_is_no_ini(tmp_path, shared):
    """Also upstream's config/default.ini."""
    folder = tmp_path / "ocean" / "grid" if shared else tmp_path / "grid"
    ini = tmp_path / "config" / "default.ini" if shared else folder / "grid.ini"
    folder.mkdir(parents=True)
    ini.parent.mkdir(exist_ok=True)
    if shared:
        (ini.parent / "grid.ini").write_text("")
    ini.mkdir()
    for says in ("a folder, not a file", "Too many levels of symbolic links", "No such file"):
        error = refusal(folder)
        assert (error.message, error.where) == (f"cannot read {ini.name}", str(ini))
        assert says in error.detail
        if says.startswith("a folder"):
            ini.rmdir()
            ini.symlink_to(ini.name)
        else:
            ini.unlink()
            ini.symlink_to("nowhere")


def test_of_a_value_of_megabytes_a_hundred_characters_are_shown(folder):
    error = refusal(write(folder, f"[train]\ngamma = {'9' * 3_000_000}x\n"))
    assert error.message == f"[train] gamma cannot be '{'9' * 99}... (3,000,003 characters)"
    error = refusal(write(folder, f"[train]\ngamma = {'9 ' * 1_500_000}x\n"))
    assert error.message == f"[train] gamma cannot be '{'9 ' * 49}9... (3,000,003 characters)"
    assert error.actual == f"'{'9 ' * 49}9... (3,000,003 characters)"
    error = refusal(write(folder, f"[env]\nlimit = {'9 ' * 1_500_000}\n"))
    assert max(map(len, error.lines())) < 200 and "characters)" in str(error)
    error = refusal(write(folder, f"[train]\n{'g' * 3_000_000} = 1\n"))
    assert max(map(len, error.lines())) < 600       # one line lists all settings


def test_all_faults_are_named_at_once(folder):
    error = refusal(write(folder, "[train]\ngama = 1\nseed = x\n[vce]\n"), {"train.seeed": "1"})
    lines = str(error)
    for part in ("[vce]", "grid/grid.ini:3: [train] seed cannot be 'x'", "grid/grid.ini:2",
                 "command line, --train.seeed", "did you mean --train.seed?"):
        assert part in lines


def test_unreadable_ini_is_a_usage_error(folder):
    error = refusal(folder, ini=folder / "missing.ini")
    assert "missing.ini" in error.message


# -- the command line


@pytest.mark.parametrize(("name", "value", "message", "hint"), [
    ("train.gama", "1", "[train] has no setting 'gama'", "did you mean --train.gamma?"),
    ("vec.gamma", "1", "[vec] has no setting 'gamma'", "did you mean --train.gamma?"),
    ("tran.gamma", "1", "there is no setting --tran.gamma", "did you mean [train]?"),
    ("gamma", "1", "'gamma' is not a setting", "write --train.gamma"),
    ("vec.backend", "x", "--vec.backend has no effect here", "leave it out"),
    ("torch.encoder", "x", "--torch.encoder has no effect here", "leave it out"),
    ("policy.expansion-factor", "1", "--policy.expansion-factor has no effect here",
     "leave it out"),
    ("train.gamma", "2", "--train.gamma cannot be '2'", None),
    ("vec.device", "gpu", "--vec.device cannot be 'gpu'", "did you mean 'cuda'?"),
    ("check.allow", "a\nb",
     "the value of --check.allow contains a character that an ini cannot hold", None),
])
def test_bad_overrides(folder, name, value, message, hint):
    error = refusal(folder, {name: value})
    assert (error.message, error.hint) == (message, hint)
    assert error.where.startswith("command line, --")


def test_a_contradiction_names_the_command_line_first(folder):
    write(folder, "[train]\nminibatch_size = 8192\n")
    error = refusal(folder, {"vec.total_agents": "8"})
    assert error.where == "command line, --vec.total-agents"
    assert error.hint == "minibatch_size = 512 works"


def test_base_seed_is_train_seed(folder):
    assert config.defaults({"base.seed": "7"}).train.seed == 7
    assert config.defaults({"base.eval_episodes": "7"}).eval.episodes == 7
    write(folder, "[train]\nseed = 1\n[base]\nseed = 1\n")
    result = resolve(folder, {"base.seed": "9"})        # another layer overrides
    assert result.train.seed == 9 and result.origin["train.seed"] == "command line"


# -- [env]


TYPES = {"size": "int", "level": "unsigned char", "speed": "float", "on": "bool",
         "count": "unsigned int", "wide": "double"}


@pytest.mark.parametrize(("key", "text", "value"), [
    ("size", "-3", -3.0), ("size", "1e3", 1000.0), ("level", "255", 255.0),
    ("speed", "-0.5", -0.5), ("on", "true", 1.0), ("on", "0", 0.0),
    ("count", "4294967295", 2**32 - 1),
    ("wide", "1e300", 1e300), ("size", "4.0", 4.0)])
def test_env_values_that_fit(folder, key, text, value):
    assert resolve(folder, {f"env.{key}": text}, spec(**TYPES)).env == {key: value}
    write(folder, f"[env]\n{key} = {text}\n")
    assert resolve(folder, spec=spec(**TYPES)).env == {key: value}


@pytest.mark.parametrize(("key", "text", "expected"), [
    ("size", "1.5", "a whole number from -2147483648 to 2147483647 (int)"),
    ("size", "2147483648", "a whole number from -2147483648 to 2147483647 (int)"),
    ("level", "256", "a whole number from 0 to 255 (unsigned char)"),
    ("level", "-1", "a whole number from 0 to 255 (unsigned char)"),
    ("on", "2", "a whole number from 0 to 1 (bool)"),
    ("count", "-1", "a whole number from 0 to 4294967295 (unsigned int)"),
    ("speed", "1e39", "a number that a float holds")])
def test_env_values_that_do_not_fit(folder, key, text, expected):
    write(folder, f"[env]\n{key} = {text}\n")
    error = refusal(folder, spec=spec(**TYPES))
    assert (error.where, error.message, error.expected, error.actual) == \
        ("grid/grid.ini:2", f"[env] {key} does not fit its C field", expected, text)
    assert error.hint.startswith("grid.h:1") and TYPES[key] in error.hint


def test_env_keys_of_the_command_line_must_exist(folder):
    write(folder, "[env]\nunread = 1\n")
    fields = spec(size="int", num_agents="int")
    assert resolve(folder, {"env.unread": "2", "env.num-agents": "3"}, fields).env == \
        {"unread": 2.0, "num_agents": 3.0}
    error = refusal(folder, {"env.sise": "2"}, fields)
    assert error.message == "the environment has no setting 'sise'"
    assert error.hint == "did you mean --env.size?"
    assert refusal(folder, {"env.gamma": "2"}, fields).hint == "did you mean --train.gamma?"
    assert refusal(folder, {"env.qqq": "2"}, fields).hint == "[env] has unread, size"


def test_env_keys_of_an_ini_that_no_field_takes_cost_one_warning(folder, capsys):
    write(folder, "[env]\nsiez = 1\nzebra = 2\n")
    assert resolve(folder, spec=spec(size="int")).env == {"siez": 1.0, "zebra": 2.0}
    err = capsys.readouterr().err
    assert "grid.ini:2: [env] siez sets nothing" in err and "did you mean 'size'?" in err
    assert "grid.ini:3: [env] zebra sets nothing" in err
    resolve(folder, spec=spec(size="int"), warn_unread=False)       # check has PUF105
    assert capsys.readouterr().err == ""


# -- Ocean's inis


def test_ocean_inis_are_read_with_warnings(folder, capsys):
    ocean(write(folder, "[base]\nenv_name = grid, other grids\n[selfplay]\nenabled = 1\n"
                        "[vec]\ntotal_agents = 256\nnum_buffers = 4.61143\nnum_envs = 3\n"
                        "[policy]\nnum_layers = 1.6302\nexpansion_factor = 1\n"
                        "[rnn]\nhidden = 4\n[train]\nlearning_rat = 3\nanneal_lr = 0.7\n"
                        "[env]\nkomi = 7.5\nwidth = 300000000000\n"))
    result = resolve(folder, spec=spec(komi="int"))
    assert result.policy.num_layers == 1 and type(result.policy.num_layers) is int
    assert result.vec.num_buffers == 4 and result.train.anneal_lr is False
    assert result.env == {"komi": 7.5, "width": 3e11}
    assert result.base.env_name == "grid, other grids" and result.selfplay.enabled
    seen = warnings(capsys)
    assert len(seen) == 4, seen
    text = "\n".join(seen)
    for part in ("grid/grid.ini:7: num_buffers = 4.61143 is not a whole number; 4 is used",
                 "grid/grid.ini:10: num_layers",
                 "anneal_lr = 0.7 is not a whole number; false is used",
                 "grid/grid.ini: 4 settings without effect here ([rnn], "):
        assert part in text, part
    assert result.skipped == {
        "[vec] num_envs": "grid/grid.ini:8; PufferLib 4.0 calls it 'total_agents', in [vec]",
        "[rnn]": "grid/grid.ini:12", "[policy] expansion_factor": "grid/grid.ini:11",
        "[train] learning_rat": "grid/grid.ini:15; did you mean 'learning_rate'?"}


@pytest.mark.parametrize("text, size", [("2048 # 1024 4096", 2048), ("512;was 64", None),
                                        ("512  ; was 64", 512)])
def test_comments_behind_values_of_ocean_inis(folder, text, size):
    """As PufferLib reads them; of our own inis the line is refused."""
    write(folder, f"[train]\nminibatch_size = {text}\n")
    assert refusal(folder).actual == f"'{text}'"
    ocean(folder)
    if size is None:
        refusal(folder)
    else:
        assert resolve(folder)["train.minibatch_size"] == size


def test_keys_without_effect_are_counted_or_listed(folder, capsys, monkeypatch):
    ocean(write(folder, "[rnn]\nhidden = 4\n[train]\nlearning_rat = 3\n"))
    resolve(folder)
    assert capsys.readouterr().err == (
        "warning: grid/grid.ini: 2 settings without effect here ([rnn], [train] learning_rat)\n"
        "  hint: puffer-sdk config grid lists them, and so does --verbose\n")
    monkeypatch.setattr(ui, "_warned", set())
    monkeypatch.setattr(ui, "verbose", True)
    resolve(folder)
    assert capsys.readouterr().err == (
        "warning: grid/grid.ini: 2 settings without effect here ([rnn], [train] learning_rat)\n"
        "  [rnn]: grid/grid.ini:1\n"
        "  [train] learning_rat: grid/grid.ini:4; did you mean 'learning_rate'?\n")


def test_upstreams_default_ini_comes_first(tmp_path, monkeypatch, capsys):
    """config/default.ini holds for every environment of ocean/, and config/NAME.ini goes on."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ocean/grid").mkdir(parents=True)
    folder = ocean(tmp_path / "ocean/grid")
    (tmp_path / "config").mkdir()
    (tmp_path / "config/default.ini").write_text(
        "[base]\nseed = 42\n[vec]\ntotal_agents = 512\nnum_threads = 0\n[env]\nwidth = 3\n"
        "[train]\nseed = 73\ngamma = 0.9\nlearning_rate = 0.02\nhorizon = x\nprio = 1\n")
    (tmp_path / "config/grid.ini").write_text(
        "[train]\ngamma = 0.8\nhorizon = 32\n[env]\nheight = 4\n")
    result = resolve(folder)
    assert (result.vec.total_agents, result.train.gamma, result.train.learning_rate) == \
        (512, 0.8, 0.02)
    assert result.env == {"width": 3.0, "height": 4.0} and result.train.horizon == 32
    assert result.vec.num_threads == automatic.available_cores() and result.train.seed == 73
    assert result.origin["vec.num_threads"].startswith("auto: ")
    assert result.origin["train.learning_rate"] == "default.ini:11"
    assert result.origin["train.gamma"] == "grid.ini:2"
    seen = "\n".join(warnings(capsys))
    assert "base.seed and train.seed are one setting here; train.seed = 73 is used" in seen
    (tmp_path / "config/grid.ini").rename(tmp_path / "config/grids.ini")
    assert resolve(folder).train.gamma == 0.99
    with (tmp_path / "config/grids.ini").open("a") as ini:  # an ini of several
        ini.write("[base]\nenv_name = maze grid  # both\n")
    assert resolve(folder).train.gamma == 0.8
    (folder / "grid.ini").write_text("[train]\ngamma = 0.7\n")     # an ini of its own stands alone
    assert resolve(folder).vec.total_agents == 1024


def test_an_ini_of_upstreams_tree_means_what_it_means_there(tmp_path, monkeypatch):
    """Rewards clipped, whole minibatches, 0 threads automatic: each with its reason. Its buffers
    are for its own threads: here they are those of our pool."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ocean/grid").mkdir(parents=True)
    folder = ocean(tmp_path / "ocean/grid")
    (tmp_path / "config").mkdir()
    there = tmp_path / "config/grid.ini"
    there.write_text("[vec]\nnum_threads = 0\nnum_buffers = 8.3\n[train]\ngamma = 0.8\n")
    found = resolve(folder)
    assert found.vec.num_buffers == 2
    assert resolve(folder, {"vec.num_buffers": "8"}).vec.num_buffers == 8
    assert (found.train.reward_clip, found.train.minibatch_carry) == (1, False)
    for full in ("train.reward_clip", "train.minibatch_carry", "vec.num_threads"):
        assert found.origin[full].startswith("auto: as in PufferLib"), full
    assert f"# {found.origin['train.reward_clip']}\nreward_clip = 1\n" in found.to_ini()
    assert resolve(folder, {"train.reward_clip": "0"}).train.reward_clip == 0
    (tmp_path / "mine.ini").write_text("[train]\nminibatch_carry = on\n")
    over = resolve(folder, over=[tmp_path / "mine.ini"])
    assert over.train.minibatch_carry and over.train.reward_clip == 1
    saved = tmp_path / "config.ini"        # of a run, which says it itself
    saved.write_text("[train]\nminibatch_carry = off\n")
    run = resolve(folder, ini=saved)
    assert (run.train.reward_clip, run.train.minibatch_carry) == (0, False)
    there.rename(folder / "grid.ini")      # an ini of its own folder is ours
    own = resolve(folder)
    assert own.vec.num_buffers == 8
    assert (own.train.reward_clip, own.train.minibatch_carry) == (0, True)
    assert own.origin["vec.num_threads"].startswith("auto: as in PufferLib")
    assert resolve(folder, {"vec.num_threads": "auto"}).origin["vec.num_threads"].startswith(
        f"auto: {automatic.available_cores()} core")


def test_the_command_line_gives_another_value_for_one_that_is_refused(folder):
    write(folder, "[train]\ngamma = 3\n[env]\nsize = x\n")
    assert refusal(folder).where == "grid/grid.ini:2"
    assert refusal(folder, {"train.gamma": "0.9"}).where == "grid/grid.ini:4"
    result = resolve(folder, {"train.gamma": "0.9", "env.size": "5"})
    assert result.train.gamma == 0.9 and result.env == {"size": 5.0}
    assert refusal(folder, {"train.gamma": "4", "env.size": "5"}).where == \
        "command line, --train.gamma"


def test_an_ocean_environment_without_an_ini_says_so(folder, capsys):
    ocean(folder)
    (folder / "grid.ini").unlink(missing_ok=True)
    resolve(folder)
    assert warnings(capsys) == ["warning: grid has no ini (grid/grid.ini): settings have our "
                                "defaults"]


def test_ocean_contradictions_are_mended(folder, capsys):
    ocean(write(folder, "[vec]\ntotal_agents = 256\nnum_buffers = 3\n"
                        "[train]\nminibatch_size = 32768\nhorizon = 64.9\n"))
    result = resolve(folder)
    assert result.vec.num_buffers == 2 and result.train.minibatch_size == 16384
    assert result.origin["vec.num_buffers"].startswith("auto: total_agents = 256 does not")
    assert len(warnings(capsys)) == 3
    assert resolve(folder, {"vec.num_buffers": "3", "vec.total_agents": "64"}).vec.num_buffers == 2
    assert [line.partition(": ")[2] for line in warnings(capsys)][:1] == [
        "command line, --vec.num-buffers: total_agents = 64 does not divide into num_buffers = 3 "
        "equal slices; vec.num_buffers = 2 is used"]
    assert refusal(folder, {"train.horizon": "1.5"}).actual == "'1.5'"


def test_ocean_is_still_strict_about_values(folder):
    for text, line in (("[train]\ngamma = nan", 2), ("[train]\ngamma = 3", 2),
                       ("[env]\nsize = x", 2), ("[train]\ngamma = 1\ngamma = 1", 3)):
        assert refusal(ocean(write(folder, text))).where == f"grid/grid.ini:{line}"


def test_ocean_env_keys_of_the_command_line(folder):
    ocean(write(folder, "[env]\nwidth = 3\n"))
    fields = spec(height="int")
    assert resolve(folder, {"env.speed": "2", "env.width": "4", "env.height": "1.5"},
                   fields).env == {"width": 4.0, "speed": 2.0, "height": 1.5}
    assert refusal(folder, {"env.sped": "2"}, fields).hint == "did you mean --env.speed?"


def test_our_own_dialect_warns_of_ignored_keys_only(folder, capsys):
    write(folder, "[vec]\nbackend = x\n[policy]\nexpansion_factor = 1\n")
    resolve(folder)
    assert len(warnings(capsys)) == 2
    resolve(folder)
    assert not warnings(capsys)             # once a process


# -- forms that are saved


def everything_changed(folder):
    write(folder, "[env]\nsize = 7\nrate = 0.1\nhuge = 1e30\n"
                  "[check]\nallow = PUF305, a # reason %\n")
    return resolve(folder, {"train.gamma": "0.123456789012345678", "train.seed": str(2**63 - 1),
                            "train.eps": "1e-13", "train.anneal_lr": "false",
                            "eval.idle_action": "4, 2", "policy.torch_class": "net.py:Net"})


def test_ini_round_trips(folder, tmp_path):
    first = everything_changed(folder)
    text = first.to_ini()
    saved = tmp_path / "config.ini"
    saved.write_text(text)
    second = resolve(folder, ini=saved)
    assert second.items() == first.items()
    assert list(second.env) == ["size", "rate", "huge"]
    lines = text.splitlines()
    above = lines[lines.index(f"num_threads = {first.vec.num_threads}") - 1]
    assert above == f"# {first.origin['vec.num_threads']}" and "available" in above


def test_dict_and_pickle_round_trip(folder):
    first = everything_changed(folder)
    assert Config.from_dict(json.loads(json.dumps(first.to_dict()))) == first
    assert pickle.loads(pickle.dumps(first)) == first == copy.deepcopy(first)


def test_saved_dicts_are_checked():
    tree = config.defaults().to_dict()
    del tree["train"]["gamma"], tree["vec"]["num_threads"]
    older = Config.from_dict(tree)
    assert older.train.gamma == 0.99 and isinstance(older.vec.num_threads, int)
    for section, name, value in (("train", "gama", 1), ("train", "gamma", 7),
                                 ("vec", "backend", 1), ("train", "precision", "fp8")):
        broken = copy.deepcopy(tree)
        broken[section][name] = value
        with pytest.raises(UsageError, match="does not know") as caught:
            Config.from_dict(broken)
        assert caught.value.where == f"[{section}] {name}"


def test_idle_actions_fit_the_heads(folder):
    heads = spec()
    heads.act_widths = (9, 5, 1)
    for text in ("4, 2, 0.5", "{4, 2, -3}", "4 2 0", ""):
        assert resolve(folder, {"eval.idle_action": text}, heads).eval.idle_action == text
    for text in ("4, 2", "9, 2, 0", "-1, 2, 0", "0.5, 2, 0"):
        error = refusal(folder, {"eval.idle_action": text}, heads)
        assert error.expected == "one id per head, below {9, 5, 1}"
        assert error.hint == "such as 0, 0, 0"


# -- the table


def test_every_key_is_complete():
    for key in settings.KEYS.values():
        assert key.type in ("int", "float", "bool", "str") and key.help, key
        assert key.status in (settings.USED, settings.ALIAS, settings.FORMER,
                              settings.IGNORED)
        if key.target:
            assert settings.KEYS[key.target].status == settings.USED
        if key.status == settings.USED and key.default != settings.AUTO:
            assert settings.parse(key, texts.show(key.default)) == key.default, key
        if key.status == settings.USED and key.type in ("int", "float"):
            assert key.bounds, f"{key.full} has no bounds"
    for target in key_hints.RENAMED.values():
        assert settings.KEYS[target].status == settings.USED


def test_every_default_resolves():
    result = config.defaults()
    for full, value in result.items():
        # by play and by the description, in a run:
        assert value != settings.AUTO or full in (settings.OBS_SCALE, settings.ENCODER), full
        assert not isinstance(value, float) or math.isfinite(value)


# -- the command line


@pytest.mark.parametrize(("args", "gathered", "rest"), [
    (["env", "--tag", "x", "--train.seed", "3"], {"train.seed": "3"}, ["env", "--tag", "x"]),
    (["--train.seed", "3", "env"], {"train.seed": "3"}, ["env"]),
    (["--train.learning-rate=0.1"], {"train.learning_rate": "0.1"}, []),
    (["--train.learning_rate", "-0.1"], {"train.learning_rate": "-0.1"}, []),
    (["--env.x", "-.5", "e"], {"env.x": "-.5"}, ["e"]),
    (["--env.x=--y"], {"env.x": "--y"}, []),
    (["--check.allow="], {"check.allow": ""}, []),
    (["--a.b=c=d"], {"a.b": "c=d"}, []),
    (["--train.seed", "1", "--train.seed=2"], {"train.seed": "2"}, []),
    (["--", "--train.seed", "1"], {}, ["--", "--train.seed", "1"]),
    (["a.b", "-v"], {}, ["a.b", "-v"]),
])
def test_settings_are_gathered(args, gathered, rest):
    assert gather_settings(args) == (gathered, rest)


@pytest.mark.parametrize("args", [["--train.seed"], ["--train.seed", "--tag", "x"],
                                  ["--train.seed", "-v"]])
def test_settings_without_a_value(args):
    with pytest.raises(UsageError) as caught:
        gather_settings(args)
    assert caught.value.message == "--train.seed has no value"
    assert caught.value.actual == (args[1] if len(args) > 1 else "nothing")


@click.command()
@click.argument("env", required=False)
@takes_settings
@click.option("--tag")
def probe(env, settings, ini, tag):
    return env, settings, ini, tag


@pytest.mark.parametrize("args", [
    ["e", "--tag", "x", "--train.seed", "3"], ["--train.seed=3", "e", "--tag=x"],
    ["--tag", "x", "--train.seed", "3", "e"]])
def test_order_of_options_does_not_matter(args):
    assert probe.main(list(args), standalone_mode=False) == \
        ("e", {"train.seed": "3"}, None, "x")
    assert probe.main([], standalone_mode=False) == (None, {}, None, None)


@pytest.mark.parametrize(("option", "hint"), [
    ("--tga", "did you mean --tag?"), ("--learning-rate", "did you mean --train.learning-rate?"),
    ("--seed", "did you mean --train.seed or --eval.seed or --selfplay.seed?"),
    ("--num-envs", "did you mean --vec.total-agents?"),
    ("--learning-rte", "did you mean --train.learning-rate?")])
def test_unknown_options(option, hint):
    with pytest.raises(UsageError) as caught:
        probe.main([option, "3"], standalone_mode=False)
    assert (caught.value.message, caught.value.hint) == (f"there is no option {option}", hint)


HEADER = """
typedef struct { float perf; float score; float n; } Log;
typedef struct { Log log; unsigned char* observations; float* actions; float* rewards;
                 float* terminals; int num_agents; unsigned int rng; int size; } Grid;
#define OBS_SIZE (env->size * env->size)
#define ACT_SIZES {5}
void c_reset(Grid* env) { env->observations[0] = 0; }
void c_step(Grid* env) { env->observations[0] = 0; }
void c_render(Grid* env) { (void)env; }
void c_close(Grid* env) { (void)env; }
"""


@pytest.fixture
def env(folder):
    (folder / "grid.h").write_text(HEADER)
    return write(folder, "[train]\ngamma = 0.9\n[vec]\nbackend = x\n[env]\nsize = 11\n")


def test_config_command(env, capsys):
    assert cli.main(["config", "--vec.num-threads", "3", "grid", "--env.size=7"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    for row in (["gamma", "0.9", "grid.ini:2"], ["size", "7", "command", "line"],
                ["num_threads", "3", "command", "line"], ["gae_lambda", "0.95", "default"],
                ["[vec]", "backend", "grid/grid.ini:4"]):
        assert row in lines


def test_config_command_json(env, capsys):
    assert cli.main(["config", "grid", "--format", "json", "--train.seed", "5"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["settings"]["train.seed"]["value"] == 5
    assert document["settings"]["env.size"] == {"value": 11.0, "origin": "grid.ini:6",
                                                "help": None}
    assert document["ignored"] == {"[vec] backend": "grid/grid.ini:4"}


def test_config_names_what_upstream_sizes_for_a_gpu(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("ocean/grid", "config"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "ocean/grid/grid.h").write_text(HEADER)
    (tmp_path / "config/default.ini").write_text(
        "[vec]\ntotal_agents = 8192\n[policy]\nnum_layers = 4\nhidden_size = 512\n"
        "[train]\ngamma = 0.9\nminibatch_size = 32768\nhorizon = 128\n")
    (tmp_path / "config/grid.ini").write_text("[train]\nhorizon = 32\n[env]\nsize = 11\n")
    assert cli.main(["config", "ocean/grid"]) == 0
    out = capsys.readouterr().out
    assert "\n  vec.total_agents      8192, default.ini:2; ours: auto (so that a run" in out
    assert "\n  train.minibatch_size  32768, default.ini:8; ours: auto (an eighth of an" in out
    assert "\n  ours again: --vec.total-agents auto --policy.hidden-size 64 " \
        "--policy.num-layers 1 --train.minibatch-size auto\n" in out   # horizon: grid.ini's
    assert cli.main(["config", "ocean/grid", "--format", "json", "--vec.total-agents", "2048"]) == 0
    assert json.loads(capsys.readouterr().out)["sized_for_a_gpu"] == {
        "policy.hidden_size": {"value": 512, "ours": 64},
        "policy.num_layers": {"value": 4, "ours": 1},
        "train.minibatch_size": {"value": 32768, "ours": "auto"}}
    (tmp_path / "config/default.ini").unlink()
    assert cli.main(["config", "ocean/grid"]) == 0
    assert "sized for a GPU" not in capsys.readouterr().out


@pytest.mark.parametrize("args", [["--train.gama", "1"], ["--gama", "1"], ["--train.gamma"],
                                  ["--env.sise", "1"], ["--env.size", "0.5"]])
def test_config_command_refuses_with_2(env, capsys, args):
    assert cli.main(["config", "grid", *args]) == 2
    captured = capsys.readouterr()
    assert not captured.out and captured.err.count("error:") == 1


def test_config_command_still_shows_settings_of_a_broken_header(env, capsys):
    (env / "grid.h").write_text("int;")
    assert cli.main(["config", "grid"]) == 0
    captured = capsys.readouterr()
    assert "grid.ini:2" in captured.out and "warning" in captured.err


def test_list_counts_the_agents_that_init_sets(tmp_path, capsys):
    for name in ("puf411_tugboats", "puf301_wolves"):
        shutil.copytree(broken(name), tmp_path / name)
    text = (tmp_path / "puf411_tugboats/puf411_tugboats.ini").read_text()
    assert "boats = 3" in text
    (tmp_path / "puf411_tugboats/puf411_tugboats.ini").write_text(
        text.replace("boats = 3", "boats = 5"))
    header = tmp_path / "puf301_wolves/puf301_wolves.h"
    header.write_text(header.read_text().replace("w->num_agents = WOLVES;",
                                                 "w->num_agents = WOLVES; __builtin_trap();"))
    assert cli.main(["list", "--format", "json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["environments"]}
    assert rows["puf411_tugboats"]["agents"] == 5
    assert rows["puf301_wolves"]["agents"] is None and rows["puf301_wolves"]["problem"] is None


def test_list_command(env, tmp_path, capsys):
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "broken.h").write_text("typedef")
    create_run(tmp_path / "runs" / "grid").set_status("finished", evaluation=claim(perf=0.5))
    runs = ["--runs-dir", str(tmp_path / "runs")]
    assert cli.main(["list", "--format", "json", *runs]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["environments"]}
    assert rows["grid"]["obs"] == "size * size u8" and rows["grid"]["actions"] == "{5}"
    assert rows["grid"]["agents"] == 1 and rows["grid"]["where"] == "grid"
    assert rows["grid"]["best"] == {"metric": "perf", "value": 0.5, "run": 1}
    assert rows["broken"]["problem"] and rows["broken"]["obs"] is None
    assert cli.main(["list", *runs]) == 0
    out = capsys.readouterr().out
    assert "perf 0.5 (run 1)" in out and "does not build" in out
