"""`export --demo`: an Ocean demo of another network plays what was trained here."""
from __future__ import annotations

import dataclasses
import shutil
import subprocess

import pytest
from helpers.places import SPECIMENS
from helpers.short_or_long import long_only

import puffer_sdk
from puffer_sdk.base import paths
from puffer_sdk.base.errors import UsageError
from puffer_sdk.cli import main
from puffer_sdk.env import dialects
from puffer_sdk.policy import ocean_demo
from puffer_sdk.programs import targets
from puffer_sdk.settings import config

# drum.c as an older demo has it: another network, the number of weights, actions of integers
OLDER = (
    ('load_weights("resources/drum/drum_weights.bin")',
     'load_weights("resources/drum/drum_weights.bin", 133000)'),
    ("PufferNet* net = make_puffernet(weights, 1, 2, 32, 1, logit_sizes, 1);",
     "LinearLSTM* net =\n"
     "        make_linearlstm(weights, 1, 2, logit_sizes, 1);   // make_puffernet"),
    ("forward_puffernet(net, observations_f, env.actions)",
     "forward_linearlstm(net, observations_f, env.actions)"),
    ("free_puffernet(net)", "free_linearlstm(net)"),
)


@pytest.fixture
def folder(tmp_path):
    """drum, with a demo that plays a LinearLSTM."""
    folder = shutil.copytree(SPECIMENS / "ocean" / "drum", tmp_path / "drum")
    (tmp_path / "resources").mkdir()
    source = folder / "drum.c"
    text = source.read_text()
    for new, old in OLDER:
        assert new in text
        text = text.replace(new, old)
    source.write_text(text)
    return folder


@pytest.fixture(scope="module")
def runs_dir(tmp_path_factory):
    home = tmp_path_factory.mktemp("trained")
    folder = shutil.copytree(SPECIMENS / "ocean" / "drum", home / "drum")
    puffer_sdk.train(folder, {"policy.hidden_size": 32, "policy.num_layers": 2,
                              "train.total_timesteps": 3_000_000}, runs_dir=home / "runs")
    return home / "runs"


def play(folder):
    program = targets.build_program(folder, "fast", env_settings=config.resolve(folder).env,
                                    model=None)
    done = subprocess.run([program.path], cwd=folder.parent, capture_output=True, text=True,
                          timeout=60, check=True)
    return float(done.stdout.splitlines()[-1]), done.stderr


@long_only
def test_the_demo_plays_the_policy(folder, runs_dir, monkeypatch, capsys):
    monkeypatch.chdir(folder.parent)
    source = folder / "drum.c"
    before = source.read_text()
    assert main(["export", "drum", "--demo", "--runs-dir", str(runs_dir)]) == 0
    shown = capsys.readouterr().out
    text = source.read_text()
    for line in (
            'load_weights("resources/drum/drum_weights.bin");',
            "PufferNet* net =\n        make_puffernet(weights, 1, 2, 32, 2, logit_sizes, 1);",
            "forward_puffernet(net, observations_f, env.actions, NULL, env.terminals);",
            "free_puffernet(net);"):
        assert line in text and line.splitlines()[-1].strip() in shown
    assert "// make_puffernet" in text and "linearlstm" not in text
    assert (folder / "drum.c.orig").read_text() == before
    assert "exported  resources/drum/drum_weights.bin" in shown
    perf, said = play(folder)
    assert said == "" and perf > 0.6
    # once more: the program is as it should be, and what it was stays
    assert main(["export", "drum", "--demo", "--runs-dir", str(runs_dir)]) == 0
    assert source.read_text() == text and (folder / "drum.c.orig").read_text() == before


def test_the_demo_as_it_was_says_what_to_do(folder, runs_dir, monkeypatch):
    """With our weights in the place of its own, and PufferLib 3's load_weights."""
    target = folder.parent / "resources" / "drum" / "drum_weights.bin"
    target.parent.mkdir(parents=True)
    puffer_sdk.export(next((runs_dir / "drum").iterdir()), output=target)
    _, said = play(folder)
    assert said.count("\n") == 1 and "not a LinearLSTM" in said and "export --demo" in said


@pytest.mark.parametrize(("change", "says"), [
    (("make_linearlstm", "make_mmonet"), "does not create a PufferLib network"),
    (('"resources/drum/drum_weights.bin"', "name"), "computes the name of its weights"),
    (None, "drum.c.orig exists")])
def test_what_cannot_be_rewritten_is_left(folder, runs_dir, change, says):
    source = folder / "drum.c"
    if change:
        source.write_text(source.read_text().replace(*change))
    else:
        (folder / "drum.c.orig").write_text("mine")
    before = source.read_text()
    with pytest.raises(UsageError, match=says):
        ocean_demo.write_demo(folder, runs_dir=runs_dir)
    assert source.read_text() == before
    assert not (folder.parent / "resources" / "drum").exists()


@pytest.mark.parametrize(("kind", "line"), [
    ("default", "Default* net = make_default(w, n, 2, 64, 4);"),
    ("convlstm", "ConvLSTM *net = make_convlstm(w, n, 11, 3, 32, 128, 4);")])
def test_sizes_come_from_the_policy(runs_dir, kind, line, folder):
    policy = ocean_demo.export.read_policy(ocean_demo.export.find_model(runs_dir / "drum", "best"))
    text = (f'Weights* w = load_weights("a.bin");\n{line}\n'
            f"forward_{kind}(net, net->obs, e->actions);\n")
    new, file = ocean_demo.rewritten(text, policy, folder / "drum.c")
    assert file == "a.bin"
    assert "make_puffernet(w, n, 2, 32, 2, (int[]){4}, 1);" in new
    assert "forward_puffernet(net, net->obs, e->actions, NULL, e->terminals);" in new
    assert new.count("PufferNet") == 1
    assert new.endswith("e->terminals);\nmemset(e->terminals, 0, n * sizeof(float));\n")
    masked, _ = ocean_demo.rewritten(text, policy, folder / "drum.c", masked=True)
    assert "forward_puffernet(net, net->obs, e->actions, e->action_mask, e->terminals);" in masked


SEEN = """#include <stdio.h>
#include <stdlib.h>
#include "drum.h"
int main(void) {
    Weights* w = load_weights("a.bin");
    Default* net = make_default(w, 2, 2, 64, 4);
    forward_default(net, net->obs, env.actions);
    for (int i = 0; i < 8; i++) printf("%d", puffer_legal(&env)[i]);
}
"""
STUBS = """typedef struct Drum {
    float *observations, *actions, *terminals;
    int num_agents;
} Drum;
enum { OBS_LEGAL = 1 };
typedef int Weights; typedef struct { float* obs; } PufferNet;
static PufferNet made; static float rows[] = {1, 0, 1, 1, 0, 9, 0.5f, 0, 0, 1};
static Drum env = {rows, rows, rows, 2};
static Weights* load_weights(const char* f) { (void)f; return 0; }
static void* make_puffernet() { return &made; }
static void forward_puffernet(PufferNet* n, float* o, float* a, unsigned char* mask, float* t) {
    (void)n; (void)o; (void)a; (void)t; printf("%d%d ", mask[0], mask[1]);
}
"""


def test_a_mask_in_the_observation_is_handed_on(runs_dir, folder, tmp_path):
    """Of two agents, from element OBS_LEGAL of their rows of five."""
    policy = ocean_demo.export.read_policy(ocean_demo.export.find_model(runs_dir / "drum", "best"))
    policy = dataclasses.replace(policy, obs_size=5)
    new, _ = ocean_demo.rewritten(SEEN, policy, folder / "drum.c", masked=True,
                            seen=("Drum", "OBS_LEGAL"))
    (tmp_path / "drum.h").write_text("#include <string.h>\n" + STUBS)
    (tmp_path / "played.c").write_text(new)
    subprocess.run(["gcc", "-w", "-o", "played", "played.c"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "played"], capture_output=True, text=True, check=True)
    assert done.stdout == "01 01101001"


def test_functions_of_the_authors_keep_their_names(tmp_path):
    """puffernet.h gets out of the way of a program that has a relu of its own."""
    (tmp_path / "dock.c").write_text("float* make_relu(int n) { return 0; }\nint x = 1;\n"
                                     "void f(void) { make_relu(3); }\n")
    assert dialects.layer_flags(tmp_path) == []
    (tmp_path / "dock.c").write_text("// make_relu(3)\nvoid f(void) { make_lstm(w, 1, 2, 3); }\n")
    assert dialects.layer_flags(tmp_path) == ["-DPUFFERNET_LAYERS"]
    (tmp_path / "dock.c").write_text("Weights* w = load_weights(PATH, COUNT);\n"
                                     "void f(void) { make_lstm(w, 1, 2, 3); }\n")
    assert dialects.layer_flags(tmp_path) == ["-DPUFFERNET_LAYERS=3"]
    assert (paths.include_dir() / "puffernet_layers.h").is_file()
