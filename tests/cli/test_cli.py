"""The command line as a whole: speed of help, statuses, suggestions, output discipline."""
import json
import os
import re
import subprocess
import sys

import pytest
from helpers.short_or_long import long_only

from puffer_sdk import cli
from puffer_sdk.cli import main
from puffer_sdk.cli.commands import COMMANDS, MEANT


def run(*args, cwd=None, **env):
    return subprocess.run([sys.executable, "-m", "puffer_sdk", *args], cwd=cwd, text=True,
                          capture_output=True, timeout=120, stdin=subprocess.DEVNULL,
                          env={**os.environ, **env})


def test_help_lists_every_command_and_loads_nothing_heavy():
    code = ("import sys; from puffer_sdk.cli import main; main(['--help']); "
            "heavy = {'numpy', 'torch', 'clang', 'rich', 'cookiecutter', 'jinja2', 'cffi', "
            "'puffer_sdk.base.paths'}; "
            "print('LOADED', sorted(heavy & set(sys.modules)))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "LOADED []" in done.stdout
    for name in COMMANDS:
        assert re.search(rf"^  {name} ", done.stdout, re.M)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name):
    done = run(name, "--help", COLUMNS="80")
    assert done.returncode == 0, done.stderr
    assert not [line for line in done.stdout.splitlines() if len(line) > 80]
    assert done.stdout.startswith(f"Usage: puffer-sdk {name}")


def test_module_and_version():
    from puffer_sdk import __version__
    done = run("--version")
    first, *facts = done.stdout.splitlines()
    assert (done.returncode, first) == (0, f"puffer-sdk, version {__version__}")
    facts = dict(line.split(maxsplit=1) for line in facts)
    assert {"python", "compiler"} <= set(facts) <= {"commit", "python", "compiler"}
    assert sys.executable in facts["python"]


@long_only
def test_names_are_utf8_whatever_the_locale_says(tmp_path):
    """A folder with letters outside ASCII, in a locale that has none of them."""
    folder = tmp_path / "grün"
    folder.mkdir()
    ascii = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert run("new", "dock", cwd=folder, **ascii).returncode == 0
    done = run("build", "dock", cwd=folder, **ascii)
    assert (done.returncode, done.stderr) == (0, "")
    done = run("build", "grün/dck", cwd=tmp_path, **ascii)
    assert done.returncode == 2 and "there is no environment called 'grün/dck'" in done.stderr
    latin = os.fsencode(tmp_path) + b"/gr\xfcn"
    os.rename(folder, latin)
    done = run("config", "dock", cwd=latin)
    assert done.returncode == 2 and "this environment is not UTF-8" in done.stderr


def test_without_a_command_the_page_of_help_is_shown():
    done, asked = run(COLUMNS="80"), run("--help", COLUMNS="80")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == asked.stdout and done.stderr.startswith("Usage: puffer-sdk ")


@pytest.mark.parametrize("words, hint", [
    ("new drips --template", "puffer-sdk new --help"),
    ("new drips drops", "puffer-sdk new --help"),
    ("runs delete", "puffer-sdk runs delete --help"),
    ("runs list --runs-dir", "puffer-sdk runs list --help"),
    ("runs compare 1", "puffer-sdk runs compare --help"),
    ("runs compare dock 1 2", "puffer-sdk runs compare dock/1 dock/2"),
    ("runs compare 1 latest dock", "puffer-sdk runs compare dock/1 dock/latest"),
    ("runs compare 1 2 3", "puffer-sdk runs compare my_env/3 my_env/7"),
    ("clean --all --dry-run",
     "name an environment, or delete only the cache: puffer-sdk clean --cache"),
    ("clean --dry-run", "name an environment, or create one: puffer-sdk new my_env"),
    # words of other tools
    *((word, f"did you mean 'puffer-sdk {meant}'?") for word, meant in MEANT.items()),
    ("train --lr 0.1", "did you mean --train.learning-rate?"),
    ("train --steps 5", "did you mean --train.total-timesteps?"),
])
def test_a_refused_line_hints_at_its_own_command(words, hint, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(words.split()) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and f"  hint: {hint}\n" in printed.err


@pytest.mark.parametrize("word, hint", [("trian", "did you mean 'train'?"),
                                        ("evla", "did you mean 'eval'?")])
def test_misspelt_command(word, hint):
    done = run(word)
    assert done.returncode == 2
    assert f"there is no command '{word}'" in done.stderr and hint in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("name", ["check", "build", "train", "profile", "play", "eval", "report",
                                  "config"])
def test_a_folder_that_is_no_environment(name, tmp_path, monkeypatch, capsys):
    args = ["--baselines"] if name == "eval" else []
    monkeypatch.chdir(tmp_path)
    assert main([name, *args]) == 2
    said = capsys.readouterr().err
    assert "this folder is not an environment" in said and "puffer-sdk new my_env" in said
    (tmp_path / "thing").mkdir()
    (tmp_path / "thing" / "other.h").write_text("")
    assert main([name, "thing", *args]) == 2
    said = capsys.readouterr().err
    assert "a header named thing.h" in said and "other.h" in said


def test_an_unknown_environment_gets_the_nearest_name(tmp_path):
    (tmp_path / "pong").mkdir()
    (tmp_path / "pong" / "pong.h").write_text("")
    done = run("build", "pnog", cwd=tmp_path)
    assert done.returncode == 2
    assert "there is no environment called 'pnog'" in done.stderr
    assert "did you mean 'pong'?" in done.stderr


def test_no_escape_codes_in_a_pipe(tmp_path):
    for env in ({}, {"TERM": "dumb"}, {"NO_COLOR": "1"}, {"FORCE_COLOR": ""}):
        done = run("explain", "PUF203", **env)
        assert "\x1b" not in done.stdout + done.stderr


def test_json_is_one_document_on_stdout(tmp_path):
    done = run("doctor", "--format", "json")
    assert isinstance(json.loads(done.stdout), (dict, list))


def test_a_bug_of_ours_is_status_5(monkeypatch, capsys):
    monkeypatch.setattr(cli.cli, "main", lambda **kwargs: 1 / 0)
    assert cli.main(["list"]) == 5
    assert "bug in puffer-sdk" in capsys.readouterr().err


def test_ctrl_c_is_status_130(monkeypatch, capsys):
    def interrupt(**kwargs):
        raise KeyboardInterrupt
    monkeypatch.setattr(cli.cli, "main", interrupt)
    assert cli.main(["list"]) == 130


def test_public_names_resolve():
    import puffer_sdk
    for name in puffer_sdk.__all__:
        assert getattr(puffer_sdk, name) is not None
    assert set(puffer_sdk.__all__) <= set(dir(puffer_sdk))
    with pytest.raises(AttributeError):
        puffer_sdk.nothing_of_this_name  # noqa: B018
