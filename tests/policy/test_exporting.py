"""`export`: each format gives the trainer's numbers without puffer_sdk, and says what it is."""
from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from helpers.places import ROOT
from helpers.policies import CASES, SEEING, make_policy
from helpers.short_or_long import long_only, short_or_long, some_or_all

import puffer_sdk
from puffer_sdk import cli
from puffer_sdk.base import extras, files, paths
from puffer_sdk.base.errors import RunError, UsageError
from puffer_sdk.policy import export
from puffer_sdk.settings import torch_class
from puffer_sdk.training import checkpoint, runs, train


def assert_close(got, want):
    assert got.shape == want.shape
    assert np.abs(got - want).max() <= 1e-4 * max(1.0, np.abs(want).max())


def run_onnx(path, script, layers: int, hidden: int):
    """The script through onnxruntime, which is told of endings by zeroed states."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options)
    state = np.zeros((script.observations.shape[1], layers, hidden), np.float32)
    logits, values = [], []
    for observations, ended in zip(script.observations, script.ended):
        state[ended != 0] = 0
        out = session.run(["logits", "value", "new_state"],
                          {"observations": observations, "state": state})
        logits.append(out[0])
        values.append(out[1])
        state = out[2].copy()
    return np.stack(logits), np.stack(values)


@pytest.mark.parametrize("case", [*CASES, *SEEING])
def test_onnx_agrees_over_episodes_with_endings(case, tmp_path):
    made = make_policy(tmp_path, **{**CASES, **SEEING}[case])
    path = made.export("onnx", tmp_path / "policy.onnx")
    onnx.checker.check_model(str(path), full_check=True)
    p = made.config.policy
    for agents in (made.agents, 1, 7):
        script = replace(made, agents=agents).script()
        got = run_onnx(path, script, p.num_layers, p.hidden_size)
        want = replace(made, agents=agents).expected(script)
        assert_close(got[0], want[0])
        assert_close(got[1], want[1])


ALONE = """
import json, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "puffer_sdk":
            raise ImportError("puffer_sdk is refused here")

sys.meta_path.insert(0, Refuse())
import numpy as np, torch

files = {"puffer.json": ""}
policy = torch.export.load(sys.argv[1], extra_files=files).module()
about = json.loads(files["puffer.json"])
script = np.load(sys.argv[2])
state, logits, values = torch.zeros(script["observations"].shape[1], *about["state"]), [], []
for observations, ended in zip(script["observations"], script["ended"]):
    state[torch.from_numpy(ended) != 0] = 0
    out, value, state = policy(torch.from_numpy(observations), state)
    logits.append(out.numpy())
    values.append(value.numpy())
assert "puffer_sdk" not in sys.modules
np.savez(sys.argv[3], logits=np.stack(logits), values=np.stack(values))
print(json.dumps(about))
"""


def run_torch_alone(path, script, folder) -> tuple[np.ndarray, np.ndarray, dict]:
    """The script through a .pt2, in a process that cannot import puffer_sdk."""
    np.savez(folder / "script.npz", observations=script.observations, ended=script.ended)
    done = subprocess.run([sys.executable, "-c", ALONE, path, folder / "script.npz",
                           folder / "out.npz"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    out = np.load(folder / "out.npz")
    return out["logits"], out["values"], json.loads(done.stdout)


@long_only
@pytest.mark.parametrize(("case", "agents"), short_or_long(
    [("scaled bytes", 3)],
    [("multi-discrete", 8), ("mixed", 1), ("scaled bytes", 3), ("bytes", 7), ("no layers", 2)]))
def test_torch_agrees_where_puffer_sdk_is_not(case, agents, tmp_path):
    made = make_policy(tmp_path, **CASES[case])
    made.agents = agents
    script = made.script()
    path = made.export("torch", tmp_path / "policy.pt2")
    logits, values, about = run_torch_alone(path, script, tmp_path)
    want = made.expected(script)
    assert_close(logits, want[0])
    assert_close(values, want[1])
    assert about["env"] == "game" and about["act_sizes"] == list(made.act_sizes)


@pytest.mark.parametrize("case", some_or_all(["everything", *SEEING], 0))
def test_torch_agrees_with_what_it_sees(case, tmp_path):
    made = make_policy(tmp_path, **SEEING[case])
    program = torch.export.load(made.export("torch", tmp_path / "policy.pt2")).module()
    for agents in (1, 7):
        script = replace(made, agents=agents).script(1)
        want = replace(made, agents=agents).expected(script)
        logits, values, _ = program(torch.from_numpy(script.observations[0]),
                                    made.policy.initial_state(agents))
        assert_close(logits.numpy(), want[0][0])
        assert_close(values.numpy(), want[1][0])


def test_a_nan_stays_in_onnx_too(tmp_path):
    made = make_policy(tmp_path, obs_size=13, agents=3,
                       encoder="image 0 3x3x1: 2x2 + ids 9 2 of 3")
    script = made.script(1)
    for agent, place in enumerate((4, 10, 12)):
        script.observations[0, agent, place] = np.nan
    _, values = run_onnx(made.export("onnx", tmp_path / "policy.onnx"), script, 1, 16)
    assert np.isnan(values[0]).tolist() == [True, False, True]


def test_torch_programs_name_no_file_of_this_machine(tmp_path):
    path = make_policy(tmp_path).export("torch", tmp_path / "policy.pt2")
    assert str(paths.PACKAGE).encode() not in path.read_bytes()


NETWORK = """
import torch
from torch import nn

class Memory(nn.Module):
    '''A class of one's own, its state of another shape.'''

    def __init__(self, obs_size, act_sizes, hidden_size, num_layers, scale_obs):
        super().__init__()
        self.hidden = hidden_size
        self.cell = nn.GRUCell(obs_size, hidden_size)
        self.head = nn.Linear(hidden_size, sum(act_sizes) + 1)

    def initial_state(self, n):
        return torch.zeros(n, self.hidden)

    def step(self, obs, state):
        state = self.cell(obs.float(), state)
        out = self.head(state)
        return out[:, :-1], out[:, -1], state

    def sequence(self, obs, state0, ended):
        state, outs = state0, []
        for t in range(obs.shape[1]):
            logits, value, state = self.step(obs[:, t], state)
            outs.append((logits, value))
            state = state * (1 - ended[:, t:t + 1])
        return tuple(torch.stack(x, 1) for x in zip(*outs))
"""


@pytest.fixture
def own_network(tmp_path):
    """A checkpoint of policy.torch_class, and its network."""
    (tmp_path / "memory.py").write_text(NETWORK)
    made = make_policy(tmp_path, act_sizes=(3,), obs_size=4)
    config = replace(made.config, policy=replace(
        made.config.policy, torch_class=f"{tmp_path / 'memory.py'}:Memory"))
    torch_class.name(config.policy.torch_class, None)       # as an ini or an option would
    from puffer_sdk.training.reference import policy as reference
    network = reference.build_policy(4, (3,), config)
    facts = {**checkpoint.load(made.path).facts, "config": config.to_dict()}
    tensors = {name: p.detach().numpy() for name, p in network.named_parameters()}
    checkpoint.save(made.path, tensors, facts)
    return made, network


@pytest.mark.parametrize("to", ["c", "onnx"])
def test_a_network_of_ones_own_is_refused_where_it_cannot_go(own_network, tmp_path, to):
    with pytest.raises(UsageError, match="a custom network cannot be exported") as caught:
        export.export(own_network[0].path, to, tmp_path / "out")
    assert "memory.py:Memory" in caught.value.actual and caught.value.hint == "--to torch takes it"
    assert not (tmp_path / "out").exists()


@long_only
def test_a_network_of_ones_own_goes_to_torch_without_its_class(own_network, tmp_path):
    made, network = own_network
    made.agents = 3
    script = made.script()
    path = export.export(made.path, "torch", tmp_path / "own.pt2")
    (tmp_path / "memory.py").unlink()
    logits, values, about = run_torch_alone(path, script, tmp_path)
    ended = torch.from_numpy(script.ended.T.copy())
    with torch.no_grad():
        want = network.sequence(torch.from_numpy(script.observations).transpose(0, 1),
                                network.initial_state(3), ended.roll(-1, 1))
    assert_close(logits, want[0].transpose(0, 1).numpy())
    assert_close(values, want[1].T.numpy())
    assert about["state"] == [made.config.policy.hidden_size]


def test_a_network_that_torch_cannot_trace_is_said_so(own_network, tmp_path):
    made, _ = own_network
    file = tmp_path / "memory.py"
    file.write_text(file.read_text().replace(
        "self.head(state)", "self.head(state if float(state.sum()) > -1e9 else -state)"))
    with pytest.raises(RunError, match="torch.export cannot take this network"):
        export.export(made.path, "torch", tmp_path / "own.pt2")
    assert not (tmp_path / "own.pt2").exists()


def test_a_python_environment_is_exported_by_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").touch()
    run = runs.create_run(tmp_path / "runs" / "gymnasium" / "CartPole-v1")
    run.config_path.write_text("[base]\nenv_name = gymnasium:CartPole-v1\n")
    made = make_policy(tmp_path, (2,), obs_size=4, name="gymnasium:CartPole-v1")
    shutil.copy(made.path, run.checkpoints_path / "1.safetensors")
    done = export.export_policy("gymnasium:CartPole-v1")
    assert done.path == tmp_path / "gymnasium-CartPole-v1_policy.bin" and done.folder is None
    with pytest.raises(UsageError, match="no trained policy yet") as caught:
        export.export_policy("gymnasium:Pendulum-v1")
    assert caught.value.hint == "puffer-sdk train gymnasium:Pendulum-v1"


# ---- metadata ---------------------------------------------------------------------------------

ABOUT = {"env": "game", "step": 5_000_000_123, "obs_size": 6, "obs_dtype": "uint8",
         "act_sizes": [3, 1], "logstd": [-1.0]}


def test_every_format_says_what_it_is(tmp_path):
    made = make_policy(tmp_path, (3, 1), dtype=np.uint8, scale=True)
    model = onnx.load(made.export("onnx", tmp_path / "p.onnx"))
    props = {prop.key: prop.value for prop in model.metadata_props}
    about = json.loads(props["puffer"])
    assert {**about, "settings_hash": None} == {**ABOUT, "settings_hash": None}
    assert len(about["settings_hash"]) == 31
    inputs = {i.name: i.type.tensor_type for i in model.graph.input}
    assert inputs["observations"].elem_type == onnx.TensorProto.UINT8
    assert inputs["state"].shape.dim[0].dim_param == "n"
    data = made.export("c", tmp_path / "p.bin").read_bytes()
    trailer = data[-128:]
    numbers = export.TRAILER.unpack_from(trailer)
    assert numbers[:9] == (1, (len(data) - 128) // 4, 6, 16, 1, 2, 1, 0, 5_000_000_123)
    assert numbers[9].rstrip(b"\0") == b"game"
    assert numbers[10].rstrip(b"\0").decode() == about["settings_hash"]
    other = make_policy(tmp_path, (3, 1), dtype=np.uint8, scale=True, hidden=17)
    assert json.loads({prop.key: prop.value for prop in onnx.load(
        other.export("onnx", tmp_path / "q.onnx")).metadata_props}["puffer"])["settings_hash"] \
        != about["settings_hash"]


def test_a_long_name_is_cut_at_a_whole_character(tmp_path):
    assert export._text("x" * 40) == b"x" * 31
    assert export._text("x" * 30 + "é") == b"x" * 30


def test_equal_policies_give_equal_files(tmp_path):
    for to in ("c", "onnx"):
        first, again = (make_policy(tmp_path).export(to, tmp_path / f"{n}") for n in (1, 2))
        assert first.read_bytes() == again.read_bytes()


# ---- which policy, and where it goes ----------------------------------------------------------


@pytest.fixture(scope="module")
def project(tmp_path_factory, squared):
    """A folder with an environment and two runs of it."""
    root = tmp_path_factory.mktemp("project")
    ignored = shutil.ignore_patterns("build", "runs", ".git")
    shutil.copytree(squared, root / "squared", ignore=ignored)
    (root / "pyproject.toml").write_text("")
    for _ in range(2):
        train.train(root / "squared", {"train.total_timesteps": 40_000, "policy.hidden_size": 8})
    return root


@pytest.fixture
def standing(project, monkeypatch):
    monkeypatch.chdir(project)
    yield project
    for file in project.glob("*policy*"):
        file.unlink()


def newest(project, run) -> bytes:
    path = sorted((project / "runs" / "squared" / run / "checkpoints").glob("*"))[-1]
    return export.pack(export.read_policy(path))


@pytest.mark.parametrize(("arguments", "run"), some_or_all([
    (["squared"], "0002"), (["squared", "--load-model-path", "1"], "0001"),
    (["squared", "--load-model-path", "latest"], "0002"), (["runs/squared/0001"], "0001"),
    (["squared", "--load-model-path", "runs/squared/0001"], "0001"),
    (["squared", "--runs-dir", "runs"], "0002")], 0, 3))
def test_a_run_is_named_as_for_eval_or_by_its_place(standing, arguments, run, capsys):
    assert cli.main(["export", *arguments]) == 0
    written = standing / "squared_policy.bin"
    assert written.read_bytes() == newest(standing, run)
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("exported  squared_policy.bin (") and len(out) == 5
    assert out[1].startswith("measured  ")
    assert out[3].strip() == ('PufferNet* net = puffernet_load("squared_policy.bin", '
                              "env.num_agents, 121, sizes, 1);")


def test_a_checkpoint_file_and_the_folder_one_stands_in(standing, monkeypatch, capsys):
    file = next((standing / "runs" / "squared" / "0001" / "checkpoints").glob("*"))
    assert cli.main(["export", str(file), "--output", "policy.x", "--format", "json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert done["path"] == str(standing / "policy.x") and done["env"] == "squared"
    assert (standing / "policy.x").read_bytes() == newest(standing, "0001")
    monkeypatch.chdir(standing / "squared")
    assert puffer_sdk.export() == standing / "squared" / "squared_policy.bin"
    (standing / "squared" / "squared_policy.bin").unlink()


def test_the_printed_lines_work(standing, tmp_path, capsys):
    """C and Python as the command shows them, on one observation, and they agree."""
    for to in ("c", "onnx", "torch"):
        assert cli.main(["export", "squared", "--to", to]) == 0
        out = capsys.readouterr().out.splitlines()
        lines = "\n".join(line[4:] for line in out if line.startswith("    "))
        if to == "c":
            source = tmp_path / "use.c"
            source.write_text(f"""#include "puffernet.h"
                struct {{
                    int num_agents;
                    unsigned char* observations;
                    float *actions, *terminals;
                }} env;
                int main(void) {{
                    unsigned char observations[121] = {{[60] = 1, [7] = 2}};
                    float actions[1], terminals[1] = {{0}};
                    env.num_agents = 1, env.observations = observations;
                    env.actions = actions, env.terminals = terminals;
                    {lines}
                    printf("%.6f %.6f\\n", puffernet_logits(net)[3], puffernet_values(net)[0]);
                    puffernet_free(net);
                }}""")
            subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", f"-I{paths.include_dir()}",
                            source, "-o", tmp_path / "use", "-lm"], check=True)
            text = subprocess.run([tmp_path / "use"], capture_output=True, text=True, check=True)
            seen = [float(word) for word in text.stdout.split()]
            continue
        observations = np.zeros((1, 121), np.uint8)
        observations[0, [60, 7]] = 1, 2
        state = np.zeros((1, 1, 8), np.float32)
        scope = {"onnxruntime": onnxruntime, "torch": torch, "observations": observations,
                 "state": state}
        if to == "torch":
            scope.update(observations=torch.from_numpy(observations), state=torch.from_numpy(state))
        exec(lines, scope)
        assert scope["actions"].shape == (1, 1) and 0 <= int(scope["actions"][0, 0]) < 5
        assert [float(scope["logits"][0][3]), float(scope["value"][0])] \
            == pytest.approx(seen, abs=1e-4)
        assert scope["state"].shape == (1, 1, 8) and scope["state"].any()


@pytest.mark.parametrize(("arguments", "text"), [
    (["nothing"], "there is no environment called 'nothing'"),
    (["nothing.safetensors"], "there is no such checkpoint"),
    (["squared", "--load-model-path", "9"], "there is no run '9'"),
    (["runs/squared/0001", "--load-model-path", "2"], "two policies are named"),
    (["squared", "--runs-dir", "elsewhere"], "there is no trained policy yet"),
    (["squared", "--output", "no/such/folder/x.bin"], "in an existing folder"),
    (["squared", "--output", "squared"], "in an existing folder"),
    (["squared/squared.h"], "this file is damaged, or not a checkpoint"),
    (["squared", "--to", "tflite"], "'tflite' is not one of")])
def test_what_cannot_be_done_is_refused_with_2(standing, arguments, text, capsys):
    assert cli.main(["export", *arguments]) == 2
    assert text in capsys.readouterr().err
    assert not list(standing.glob("*policy*"))


def test_a_checkpoint_of_another_environment_is_refused(standing, tmp_path):
    other = make_policy(tmp_path, name="other")
    with pytest.raises(UsageError, match="belongs to another environment, other, with") as caught:
        export.export("squared", model=other.path)
    assert (caught.value.expected, caught.value.actual) == ("uint8", "float32")


def test_a_checkpoint_of_another_name_is_exported_under_this_one(standing, tmp_path, capsys):
    other = make_policy(tmp_path, name="quadrat", obs_size=121, dtype=np.uint8)
    done = export.export_policy("squared", model=other.path)
    assert done.path == standing / "squared_policy.bin" and done.policy.name == "squared"
    assert capsys.readouterr().err.count("trained as quadrat: its sizes are those of squared") == 1


def test_the_checkpoint_itself_is_not_replaced(tmp_path):
    made = make_policy(tmp_path)
    before = made.path.read_bytes()
    with pytest.raises(UsageError, match="would replace the checkpoint itself"):
        export.export(made.path, output=made.path)
    assert made.path.read_bytes() == before


def test_a_run_without_a_checkpoint_says_so(tmp_path):
    run = tmp_path / "0003"
    run.mkdir()
    (run / "run.json").write_text("{}")
    with pytest.raises(UsageError, match="this run has no checkpoint"):
        export.export(run)


def test_weights_that_do_not_fit_the_settings_are_refused(tmp_path):
    made = make_policy(tmp_path, layers=2)
    facts = checkpoint.load(made.path).facts
    for name, wrong, actual in (("layers.1", np.zeros((3, 4), np.float32), (3, 4)),
                                ("decoder", None, "nothing")):
        tensors = {**made.tensors, name: wrong}
        checkpoint.save(made.path, {k: v for k, v in tensors.items() if v is not None}, facts)
        with pytest.raises(UsageError, match=f"do not fit its settings: {name}") as caught:
            export.export(made.path, output=tmp_path / "x")
        assert caught.value.actual == actual


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    made = make_policy(tmp_path)
    target = made.export("c", tmp_path / "p.bin")
    before = target.read_bytes()
    other = make_policy(tmp_path, hidden=9).path

    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "rename", full)
    with pytest.raises(RunError, match="cannot save the export") as caught:
        export.export(other, output=target)
    assert target.read_bytes() == before and "--output" in caught.value.hint
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(("to", "package"), [("onnx", "onnx"), ("torch", "torch")])
def test_a_missing_package_is_named_with_the_pip_line(tmp_path, monkeypatch, to, package):
    made = make_policy(tmp_path)
    monkeypatch.setattr(export, "find_spec", lambda name: None if name == package else 1)
    with pytest.raises(UsageError, match=f"requires the package {package}") as caught:
        export.export(made.path, to, tmp_path / "x")
    assert caught.value.hint == {"onnx": "pip install 'puffer-sdk[onnx]'",
                                 "torch": extras.install_torch()}[to]


def test_exporting_to_c_imports_neither_torch_nor_onnx(tmp_path):
    made = make_policy(tmp_path)
    code = ("import sys, puffer_sdk\npuffer_sdk.export(sys.argv[1], output=sys.argv[2])\n"
            "print({'torch', 'onnx'} & set(sys.modules))")
    done = subprocess.run([sys.executable, "-c", code, made.path, tmp_path / "x"], text=True,
                          capture_output=True, check=True, env={"PYTHONPATH": ":".join(sys.path)})
    assert done.stdout.strip() == "set()"


# ---- docs/guides/export.md --------------------------------------------------------------------

PAGE = ROOT / "docs" / "guides" / "export.md"


@long_only
def test_the_page_works_as_written(project, tmp_path):
    """Its commands, then its programs, on a squared that is called my_env."""
    text = PAGE.read_text()
    run = tmp_path / "runs" / "my_env" / "0007"
    shutil.copytree(project / "runs" / "squared" / "0002", run)
    for path in (next((run / "checkpoints").glob("*")), run / "best.safetensors"):
        past = checkpoint.load(path)
        checkpoint.save(path, past.tensors, {**past.facts, "env": {**past.facts["env"],
                                                                  "name": "my_env"}})
    folder = shutil.copytree(project / "squared", tmp_path / "my_env",
                             ignore=shutil.ignore_patterns("build"))
    (folder / "squared.h").rename(folder / "my_env.h")
    (tmp_path / "pyproject.toml").write_text("")
    commands = re.findall(r"^    puffer-sdk (.*?)(?:  .*)?$", text, re.M)
    inline = re.findall(r"`puffer-sdk ([^`]*)`", text)
    assert len(commands) == 5 and len(inline) == 1

    def python(*words):
        return subprocess.run([sys.executable, *words], cwd=tmp_path, check=True, text=True,
                              capture_output=True).stdout

    for command in [*commands[:3], *inline]:
        assert python("-m", "puffer_sdk", *command.split()).startswith("exported  my_env_policy.")
    (call,) = re.findall(r"`(puffer_sdk\.export\(.*?\))`", text)
    python("-c", f"import puffer_sdk\n{call}")
    onnx.checker.check_model(str(tmp_path / "policy.onnx"))
    (where,) = re.findall(r'`python -c "(.*?)"`', text)
    program, ocean = re.findall(r"^```c\n(.*?)^```", text, re.M | re.S)
    (tmp_path / "play.c").write_text(program)
    include = python("-c", where).strip()
    subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{include}", "play.c",
                    "-o", "play", "-lm"], cwd=tmp_path, check=True)
    out = subprocess.run([tmp_path / "play"], cwd=tmp_path, capture_output=True, text=True,
                         check=True).stdout.splitlines()
    assert len(out) == 10 and all(re.fullmatch(r"action [0-4], value -?\d\.\d{3}", x) for x in out)
    (tmp_path / "ocean.c").write_text(
        '#include "puffernet.h"\nint main(void) {\nfloat observations[2] = {0}, actions[1];\n'
        f"{ocean}\n}}")
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", f"-I{paths.include_dir()}", "ocean.c",
                    "-o", "ocean", "-lm"], cwd=tmp_path, check=True)
    subprocess.run([tmp_path / "ocean"], cwd=tmp_path, check=True, capture_output=True)
    for block in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S):
        python("-c", block + "assert logits.shape == (4, 5) and actions.shape == (4,)\n"
                             "assert about['env'] == 'my_env'\n")


def test_the_pages_tables_are_the_format(tmp_path):
    """Offsets on the page, in the header's drawing and in what is written are the same."""
    heads = 3
    data = make_policy(tmp_path, (2, 1, 4)).export("c", tmp_path / "p.bin").read_bytes()
    size = 120 + 4 * heads
    assert data.endswith(b"PUFFNET1")
    assert int.from_bytes(data[-12:-8], "little") == size
    assert np.frombuffer(data[-size:], "<u4")[[0, 2, 3, 4, 5]].tolist() == [1, 6, 16, 1, heads]
    rows = re.findall(r"^\| (\d+)(?: \+ 4K)? \| (\S+)(?: x (\w))? \|", PAGE.read_text(), re.M)
    width, place = {"u32": 4, "u64": 8, "char[32]": 32, "char[8]": 8}, 0
    for at, kind, times in rows:
        assert int(at) == place, at
        place += width[kind] * (0 if times == "K" else int(times or 1))
    assert place == 120
    drawn = (paths.include_dir() / "puffernet.h").read_text()
    for at, kind, _ in rows[:9]:
        if kind.startswith("u"):
            assert re.search(rf"^ \* +{at}  {kind}", drawn, re.M), at
