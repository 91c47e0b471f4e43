"""What a program reads: documents, of errors as well, and every exit status in --help."""
import json

import pytest

from puffer_sdk.base import errors
from puffer_sdk.checking.core.finding import Finding
from puffer_sdk.cli import cli, main
from puffer_sdk.cli.commands import COMMANDS
from puffer_sdk.cli.pages import Page


def document(capsys, *words: str) -> tuple[int, dict]:
    status = main(list(words))
    return status, json.loads(capsys.readouterr().out)


def test_a_compile_error_is_a_document(probe, capsys):
    folder = probe(("env->rewards[a]", "env->reward[a]"))
    status, found = document(capsys, "check", str(folder), "--format", "json")
    error = found["error"]
    assert status == errors.BUILD == error["exit_status"]
    assert found["findings"] == [] and found["verdict"] == "error"
    assert (folder / "probe.h").read_text().splitlines()[error["line"] - 1].count("env->reward[a]")
    assert error["file"].endswith("probe.h") and "reward" in error["message"]


@pytest.mark.parametrize("words", [
    ["train", "--bogus", "--format=json"], ["check", "nowhere_at_all", "--format", "json"],
    ["config", "nowhere_at_all", "--format", "json"], ["explain", "PUF000", "--format", "json"],
    ["runs", "--format", "json", "--env", "nowhere_at_all"]])
def test_every_error_is_a_document_where_one_was_asked_for(words, capsys):
    status, found = document(capsys, *words)
    assert status == errors.USAGE == found["error"]["exit_status"] and found["error"]["message"]
    assert main([word for word in words if "json" not in word and word != "--format"]) == status
    assert capsys.readouterr().out == ""


def test_explain_for_programs(capsys):
    _, found = document(capsys, "explain", "PUF302", "--format", "json")
    assert (found["code"], found["name"]) == ("PUF302", "obs-stale")
    assert "Fix:" in found["page"] and len(found["detectors"]) > 3
    _, found = document(capsys, "explain", "--format", "json")
    assert {"code": "PUF302", "name": "obs-stale", "severity": "error"} in found["rules"]


def test_a_findings_document_has_what_its_text_has():
    found = Finding("PUF203", "m", hint="do this", stack=["a.h:3 f"], fields=["x 1 2"]).to_dict()
    assert (found["hint"], found["stack"], found["fields"]) == ("do this", ["a.h:3 f"], ["x 1 2"])


def test_short_words_name_their_setting(squared, capsys):
    for word, full in (("lr", "--train.learning-rate"), ("lambda", "--train.gae-lambda")):
        assert main(["config", str(squared), f"--train.{word}", "0.1"]) == errors.USAGE
        assert f"did you mean {full}?" in capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_help_states_every_exit_status(name):
    command = cli.get_command(None, name)
    if isinstance(command, Page):
        wanted = {0, 2, 4, 5, 130, 143} | ({3} if name in ("check", "train", "eval") else set())
        assert wanted <= command.statuses.keys()
