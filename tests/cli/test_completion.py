"""What a TAB offers: asked of the code, and of real shells."""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers.short_or_long import some_or_all

from puffer_sdk import cli
from puffer_sdk.base import paths
from puffer_sdk.checking.core import registry
from puffer_sdk.cli import completing
from puffer_sdk.cli.commands import COMMANDS
from puffer_sdk.settings import table
from puffer_sdk.training import runs

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture
def here(tmp_path, squared, monkeypatch) -> Path:
    """A folder with two environments, a run of the first, and puffer-sdk on PATH."""
    for name in ("my_env", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.h").touch()
    (tmp_path / "my_env" / "my_env.ini").write_text("[env]\nsize = 5\nwind_speed = 1\n")
    (tmp_path / "pyproject.toml").touch()
    runs.create_run(paths.runs_dir(tmp_path / "my_env"), tag="first").set_status("finished")
    command = tmp_path / "bin" / "puffer-sdk"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m puffer_sdk "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(Path(cli.__file__).parents[2]))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def offered(*words: str) -> list[str]:
    """What bash is told for this line, the last word being typed."""
    from click.shell_completion import get_completion_class
    maker = get_completion_class("bash")(cli.cli, {}, "puffer-sdk", "_PUFFER_SDK_COMPLETE")
    return [item.value for item in maker.get_completions(list(words[:-1]), words[-1])]


@pytest.mark.parametrize("line, some", [
    ("tr", {"train"}),
    ("", set(COMMANDS)),
    ("train m", {"my_env"}),
    ("check ", {"my_env", "other", "breakout"}),
    ("check my_env --st", {"--strict", "--stats"}),
    ("train my_env --tr", {"--train."}),
    ("train my_env --train.lea", {"--train.learning-rate"}),
    ("train --train.min", {"--train.minibatch-size", "--train.min-lr-ratio"}),
    ("train my_env --env.", {"--env.size", "--env.wind-speed"}),
    ("train my_env --train.precision ", {"fp32", "bf16"}),
    ("train my_env --train.precision=b", {"bf16"}),
    ("train my_env --base.reset-state t", {"true"}),
    ("train my_env --train.learning-rate 0.1 --train.dev", {"--train.device"}),
    ("train my_env --tag", {"--tag"}),
    ("eval my_env --load-model-path ", {"latest", "1"}),
    ("play my_env --load-model-path n", {"none"}),
    ("train my_env --resume ", {"1"}),
    ("runs delete my_env/", {"my_env/1"}),
    ("runs c", {"compare"}),
    ("explain puf30", {"PUF301", "PUF303"}),
    ("export ", {"my_env"}),
    ("export --to o", {"onnx"}),
    ("new --template t", {"target"}), ("new --template d", {"duel"}),
    ("completion f", {"fish"}),
])
def test_offers(here, line, some):
    found = offered(*line.split(" "))
    assert some <= set(found)
    last = line.split(" ")[-1].rpartition("=")[2]
    assert all(word.lower().startswith(last.lower()) for word in found), found


def test_a_path_is_completed_as_such_and_mistakes_offer_nothing(here):
    from click.shell_completion import get_completion_class
    maker = get_completion_class("bash")(cli.cli, {}, "puffer-sdk", "_PUFFER_SDK_COMPLETE")
    assert [item.type for item in maker.get_completions(["check"], "./my")] == ["dir"]
    assert offered("train", "nothing", "--env.") == []
    assert offered("runs", "delete", "nothing/") == []
    assert offered("train", "my_env", "--train.learning-rate", "") == []
    assert "--section.key" not in offered("train", "--")


def test_rules_are_read_as_they_are():
    assert completing.rules() == {code: rule.name for code, rule in registry.load().items()}


def test_every_setting_is_offered(here):
    for key in table.used_keys():
        assert key.flag in offered("train", f"--{key.section}.")
        for choice in key.choices:
            given = offered("train", key.flag, choice)
            assert choice in given


@pytest.mark.parametrize("line", ["", "train ", "train --train.", "explain ",
                                  "runs delete my_env/"])
def test_nothing_heavy_is_loaded(here, line):
    code = ("import sys\nfrom puffer_sdk.cli import main\n"
            "try: main()\nexcept SystemExit: pass\n"
            "heavy = {'numpy', 'torch', 'clang', 'rich', 'cookiecutter', 'jinja2', 'cffi'}\n"
            "print('LOADED', sorted(heavy & set(sys.modules)))")
    words = line.split(" ")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env={**os.environ, "_PUFFER_SDK_COMPLETE": "bash_complete",
                               "COMP_WORDS": f"puffer-sdk {line}", "COMP_CWORD": str(len(words))})
    assert "LOADED []" in done.stdout and "plain," in done.stdout, done.stderr


def typed(shell: str, keys: list[tuple[str, str]], folder: Path) -> str:
    """What a person at a terminal sees in this shell who types keys, each until it shows text."""
    words = {"bash": ["bash", "--rcfile", str(folder / ".bashrc"), "-i"], "zsh": ["zsh", "-i"],
             "fish": ["fish", "-i"]}[shell]
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ.update(TERM="xterm", COLUMNS="120", LINES="50", PS1="> ")
        os.execvp(words[0], words)
    seen = b""
    try:
        for text, expected in keys:
            mark = len(seen)
            os.write(fd, text.encode())
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline and not re.search(expected.encode(), seen[mark:]):
                if select.select([fd], [], [], 0.5)[0]:
                    data = os.read(fd, 65536)
                    seen += data
                    if b"\x1b[0c" in data or b"\x1b[c" in data:    # "which terminal are you?"
                        os.write(fd, b"\x1b[?1;2c")
            assert re.search(expected.encode(), seen[mark:]), seen[mark:].decode(errors="replace")
    finally:
        os.close(fd)
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    return seen.decode(errors="replace")


@pytest.mark.parametrize("shell", some_or_all(SHELLS, 0))
def test_in_a_shell_after_install(here, shell, capsys):
    assert shutil.which(shell), "tools/deps.sh installs it"
    (here / ".bashrc").write_text("PS1='> '; bind 'set enable-bracketed-paste off'\n")
    (here / ".zshrc").write_text("PS1='> '; unset zle_bracketed_paste")         # no end of line
    assert cli.main(["completion", shell, "--install"]) == 0
    before = {path: path.read_text() for path in here.rglob(".*rc")}
    assert cli.main(["completion", shell, "--install"]) == 0        # a second time: nothing new
    assert before == {path: path.read_text() for path in here.rglob(".*rc")}
    assert capsys.readouterr().out.count("wrote") == (2 if shell == "fish" else 3)
    typed(shell, [("echo rea''dy\r", "ready"),
                  ("puffer-sdk expl\t", "explain"), ("PUF31\t\t", "PUF312|reward-not-finite"),
                  ("\x15", ""),
                  ("puffer-sdk train my_\t", r"my_env"), ("--train.learning-r\t", "learning-rate")],
          here)


def test_install_keeps_what_stands_in_the_file(here, capsys):
    real = here / "dotfiles" / "bashrc"
    real.parent.mkdir()
    real.write_bytes(b"alias x=y  # caf\xe9")
    real.chmod(0o600)
    (here / ".bashrc").symlink_to(real)
    assert cli.main(["completion", "bash", "--install"]) == 0
    data = real.read_bytes()
    assert data.startswith(b"alias x=y  # caf\xe9\n") and data.count(b"\n") == 2
    assert (here / ".bashrc").is_symlink() and real.stat().st_mode & 0o777 == 0o600


def test_the_script_is_printed(here):
    for shell in SHELLS:
        done = subprocess.run(["puffer-sdk", "completion", shell], capture_output=True, text=True,
                              check=True)
        assert "_PUFFER_SDK_COMPLETE" in done.stdout and done.stderr == ""
        subprocess.run([shell, "-n"], input=done.stdout, text=True, check=True)
    assert cli.main(["completion", "tcsh"]) == 2
