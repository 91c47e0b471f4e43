"""CONTRIBUTING's "Adding a command", followed literally in a copy of the package."""
import os
import re
import shutil
import subprocess
import sys

import pytest
from helpers.places import ROOT


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A checkout with the command that CONTRIBUTING.md adds."""
    root = tmp_path_factory.mktemp("checkout")
    for folder in ("puffer_sdk", "tools"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    steps = re.search(r"^## Adding a command\n(.*?)^## ", (ROOT / "CONTRIBUTING.md").read_text(),
                      re.M | re.S)[1]
    table, file = re.findall(r"`(puffer_sdk/cli/\w+\.py)`", steps)
    entry = re.search(r'^ +`("hello": .*)`$', steps, re.M)[1]
    text = (root / table).read_text()
    title = '    "Get help": {\n'
    assert text.count(title) == 1
    (root / table).write_text(text.replace(title, f"{title}        {entry}\n"))
    (root / file).write_text(re.search(r"^```python\n(.*?)^```", steps, re.M | re.S)[1])
    return root


def python(root, *words, **env) -> str:
    done = subprocess.run([sys.executable, *map(str, words)], cwd=root, text=True, timeout=120,
                          capture_output=True, env={**os.environ, "PYTHONPATH": str(root), **env})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_runs_and_help_lists_it(copy):
    assert python(copy, "-m", "puffer_sdk", "hello", "dock", "--loud") == "HELLO DOCK\n"
    page = python(copy, "-m", "puffer_sdk", "--help")
    assert re.search(r"^Get help:\n  hello +Greet an environment\.$", page, re.M)
    assert "Print it in capitals." in python(copy, "-m", "puffer_sdk", "hello", "--help")


@pytest.mark.parametrize("line, offered", [("hel", "plain,hello"), ("hello --l", "plain,--loud")])
def test_completion_offers_it(copy, line, offered):
    said = python(copy, "-m", "puffer_sdk", _PUFFER_SDK_COMPLETE="bash_complete",
                  COMP_WORDS=f"puffer-sdk {line}", COMP_CWORD=str(len(line.split())))
    assert said.splitlines() == [offered]


def test_it_has_a_manual_page(copy):
    python(copy, "tools/manpages.py", copy / "man")
    page = (copy / "man" / "puffer-sdk-hello.1").read_text()
    assert r"puffer\-sdk\-hello \- Greet an environment" in page and r"\-\-loud" in page
    assert r"puffer\-sdk\-hello" in (copy / "man" / "puffer-sdk.1").read_text()


def test_the_reference_lists_it(copy):
    code = ("import sys; sys.path.insert(0, 'tools/site'); import reference; "
            "print(reference.commands())")
    page = python(copy, "-c", code)
    assert "| [`hello`](#hello) | Greet an environment. |" in page
    assert "puffer-sdk hello [OPTIONS] [ENV]" in page
