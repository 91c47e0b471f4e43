"""--config FILE lies over the environment's own ini, in every command that takes settings."""
import json
import shutil

import pytest
from helpers.places import SPECIMENS
from helpers.short_or_long import some_or_all

import puffer_sdk
from puffer_sdk import cli
from puffer_sdk.cli.commands import COMMANDS, LazyGroup
from puffer_sdk.interop.python_envs import env_source
from puffer_sdk.playing import rebuilding
from puffer_sdk.raylib import headers
from puffer_sdk.reporting.subject import open_subject

TAKING = [name for name in COMMANDS if any(
    option.name == "settings" for option in LazyGroup().get_command(None, name).params)]


@pytest.fixture
def marathon(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISPLAY", ":0")
    return shutil.copytree(SPECIMENS / "correct" / "marathon", tmp_path / "marathon")


def test_the_commands_are_those_that_the_guide_names():
    assert {"train", "sweep", "eval", "report", "play", "profile", "config", "check",
            "build", "match"} == {*TAKING}


@pytest.mark.parametrize("name", some_or_all([name for name in TAKING if name != "play"], 0, 2, 4))
def test_both_files_are_read(name, marathon, capsys):
    """A value that neither can have is refused, in the one and in the other."""
    own, over = marathon / "marathon.ini", marathon.parent / "over.ini"
    more = {"eval": ["--baselines"], "match": ["random", "idle"]}.get(name, [])
    words = [name, "marathon", *more, "--config", "over.ini"]
    for bad, good in ((over, own), (own, over)):
        bad.write_text("[train]\n\ngamma = 3\n")
        good.write_text("[train]\nseed = 3\n")
        assert cli.main(words) == 2
        assert f"{bad.relative_to(marathon.parent)}:3" in capsys.readouterr().err
    assert cli.main([*words[:-1], "nowhere.ini"]) == 2
    assert "nowhere.ini" in capsys.readouterr().err


def test_config_shows_which_file_gave_what(marathon, capsys):
    (marathon / "marathon.ini").write_text("[train]\ngamma = 0.9\nseed = 3\n")
    (marathon.parent / "over.ini").write_text("[train]\ngamma = 0.8\n")
    words = ["config", "marathon", "--config", "over.ini", "--train.horizon", "32"]
    assert cli.main([*words, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["inis"] == [str(marathon / "marathon.ini"), str(marathon.parent / "over.ini")]
    assert {name: found["settings"][f"train.{name}"]["origin"] for name in
            ("gamma", "seed", "horizon")} == {
        "gamma": "over.ini:2", "seed": "marathon.ini:3", "horizon": "command line"}
    assert cli.main(words) == 0
    head, *shown = capsys.readouterr().out.splitlines()[:3]
    assert head == "files, each overriding those before it"
    assert shown == ["  marathon/marathon.ini", "  over.ini"]


def test_functions_take_the_file_as_commands_do(marathon):
    (marathon / "marathon.ini").write_text("[train]\nseed = 3\n[eval]\nseed = 5\n")
    over = marathon.parent / "over.ini"
    over.write_text("[train]\ngamma = 0.8\n")
    source = env_source.find(marathon, over)
    found = [puffer_sdk.configure(marathon, ini=over), source.resolve({"vec.total_agents": 64}),
             open_subject(marathon, None, over, verbose=False).config,
             rebuilding.build_player(source, headers.headers(), {})[1],
             source.prepare().again({"vec.total_agents": 64}).config]
    for config in found:
        assert (config.train.gamma, config.train.seed, config.eval.seed) == (0.8, 3, 5)


def test_a_run_is_trained_and_evaluated_with_both_files(marathon, capsys):
    """A sweep's best.ini has no [env]: that of the environment stays."""
    (marathon / "marathon.ini").write_text(
        (marathon / "marathon.ini").read_text() + "\n[eval]\nepisodes = 4\n")
    own = puffer_sdk.configure(marathon)
    (marathon.parent / "best.ini").write_text(
        "[train]\ntotal_timesteps = 512\nhorizon = 8\nminibatch_size = 64\n"
        "[vec]\ntotal_agents = 64\n[policy]\nhidden_size = 16\nnum_layers = 1\n")
    assert cli.main(["train", "marathon", "--config", "best.ini"]) == 0
    assert "next     puffer-sdk eval marathon --config best.ini" in capsys.readouterr().out
    saved = marathon.parent / "runs" / "marathon" / "0001" / "config.ini"
    run = env_source.find(marathon).resolve(ini=saved)
    assert run.env == own.env and run.train.total_timesteps == 512
    # its network has other sizes than the environment's own ini would give it
    found = puffer_sdk.evaluate(marathon, ini="best.ini")
    assert {*found.scores} == {"trained", "random", "idle"}
