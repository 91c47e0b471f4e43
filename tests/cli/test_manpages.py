"""Manual pages: those of man/ are what the commands say, and two readers find nothing amiss."""
import importlib.util
import os
import re
import subprocess

import pytest
from helpers.places import ROOT

from puffer_sdk import cli

MAN = ROOT / "man"


@pytest.fixture(scope="module")
def generator():
    spec = importlib.util.spec_from_file_location("manpages", ROOT / "tools" / "manpages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_are_what_the_commands_say(generator):
    made = generator.pages()
    assert set(made) == {"puffer-sdk.1", *(f"puffer-sdk-{name}.1" for name in cli.COMMANDS)}
    assert {path.name: path.read_text() for path in MAN.iterdir()} == made, "make docs-tables"


def test_mandoc_and_man_find_nothing_amiss():
    pages = sorted(map(str, MAN.glob("*.1")))
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "style", *pages], capture_output=True,
                          text=True)
    assert (done.returncode, done.stdout) == (0, "")
    for page in pages:
        done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", page],
                              capture_output=True, text=True,
                              env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
        assert (done.returncode, done.stderr) == (0, ""), page
        assert "SYNOPSIS" in re.sub(".\b", "", done.stdout)


def test_lint_would_find_a_mistake(tmp_path, generator):
    """The linter is one that complains: a page that is broken on purpose is refused."""
    page = tmp_path / "broken.1"
    page.write_text(generator.pages()["puffer-sdk-train.1"].replace(".SH NAME\n", ".SHH NAME\n"))
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "style", page], capture_output=True,
                          text=True)
    assert done.returncode != 0 and "SHH" in done.stdout


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_a_page_helps_a_newcomer(name):
    """Each command: a sentence, examples that name it, options in groups, within 80 columns."""
    import click
    command = cli.cli.get_command(None, name)
    first = (command.help or "").strip().split("\n\n")[0]
    assert first.endswith(".") and first[0].isupper(), first
    examples = command.examples
    assert 1 <= len(examples) <= 3
    assert any(re.match(rf"(puffer-sdk|eval \"\$\(puffer-sdk) {name}\b", words)
               for words, _ in examples)
    context = click.Context(command, info_name=name, max_content_width=80, terminal_width=80)
    text = command.get_help(context)
    assert text.index("Examples:") < text.index("Options:")
    for words, _ in examples:
        assert words in text
    inner = [command.get_command(None, word) for word in getattr(command, "commands", {})]
    for param in [param for one in [command, *inner] for param in one.params]:
        if isinstance(param, click.Option):
            sentence = re.sub(r"\s+\[default: .*\]$", "", param.help)
            assert sentence.endswith((".", "?")), (name, param.opts, param.help)


def test_examples_parse(monkeypatch):
    """What a page shows is accepted by the command that it is shown for."""
    import shlex

    import click
    for name in cli.COMMANDS:
        command = cli.cli.get_command(None, name)
        pages = [command, *getattr(command, "commands", {}).values()]
        for words, _ in [pair for page in pages for pair in page.examples]:
            line = re.sub(r'^eval "\$\((.*)\)"$', r"\1", words)
            prog, *args = shlex.split(line)
            assert prog == "puffer-sdk"
            target = cli.cli.get_command(None, args.pop(0))
            context = click.Context(target)
            while isinstance(target, click.Group) and args[0] in target.commands:
                target, context = target.commands[args.pop(0)], click.Context(target)
            if not isinstance(target, click.Group):
                target.make_context("x", args, parent=context)


def test_every_command_is_filed_once():
    filed = [name for names in cli.SECTIONS.values() for name in names]
    assert len(filed) == len(set(filed)) and set(filed) <= set(cli.COMMANDS)
