"""Manual pages: one for each command, and two readers find nothing wrong with them."""
import importlib.util
import os
import re
import subprocess
import sys

import pytest
from helpers.places import ROOT

from puffer_sdk import cli
from puffer_sdk.cli.commands import COMMANDS, SECTIONS


@pytest.fixture(scope="module")
def generator():
    spec = importlib.util.spec_from_file_location("manpages", ROOT / "tools" / "manpages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_command_has_a_page(generator, tmp_path):
    (tmp_path / "puffer-sdk-gone.1").touch()
    generator.write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == \
        {"puffer-sdk.1", *(f"puffer-sdk-{name}.1" for name in COMMANDS)}
    overview = (tmp_path / "puffer-sdk.1").read_text()
    for name in COMMANDS:
        command = cli.cli.get_command(None, name)
        text = (tmp_path / f"puffer-sdk-{name}.1").read_text()
        assert all(generator.bold(words) in text for words, _ in command.examples)
        assert f"sdk\\-{name}\\fR(1)" in overview


def test_the_generator_needs_only_click():
    """The build has click and nothing else of what the package needs."""
    code = ("import sys; sys.path.insert(0, sys.argv[1]); import manpages; manpages.pages(); "
            "needed = {'numpy', 'clang', 'rich', 'cookiecutter', 'jinja2', 'cffi', 'PIL', "
            "'safetensors'}; print('LOADED', sorted(needed & set(sys.modules)))")
    done = subprocess.run([sys.executable, "-c", code, str(ROOT / "tools")], capture_output=True,
                          text=True, check=True)
    assert done.stdout == "LOADED []\n"


def test_mandoc_and_man_find_nothing_wrong(generator, tmp_path):
    pages = sorted(map(str, generator.write(tmp_path)))
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


@pytest.mark.parametrize("name", COMMANDS)
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
    context = click.Context(command, info_name=name, max_content_width=80, terminal_width=80,
                            **cli.cli.context_settings)
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
    for name in COMMANDS:
        command = cli.cli.get_command(None, name)
        pages = [command, *getattr(command, "commands", {}).values()]
        for words, _ in [pair for page in pages for pair in page.examples]:
            line = re.sub(r'^eval "\$\((.*)\)"$', r"\1", words)
            prog, *args = shlex.split(line)
            assert prog == "puffer-sdk"
            target = cli.cli.get_command(None, args.pop(0))
            context = click.Context(target, **cli.cli.context_settings)
            while isinstance(target, click.Group) and args[0] in target.commands:
                context = click.Context(target, parent=context)
                target = target.commands[args.pop(0)]
            if not isinstance(target, click.Group):
                target.make_context("x", args, parent=context)


def test_every_command_is_filed_once():
    assert sum(map(len, SECTIONS.values())) == len(COMMANDS)
