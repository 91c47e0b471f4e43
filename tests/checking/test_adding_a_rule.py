"""CONTRIBUTING.md's recipe for a rule, followed as it stands: check finds it, explain shows it."""
from __future__ import annotations

import re
import subprocess
import sys
import textwrap

import pytest
from helpers.places import ROOT, SPECIMENS

from puffer_sdk.checking.check import check
from puffer_sdk.checking.core import registry
from puffer_sdk.checking.rules import contract
from puffer_sdk.cli import main


@pytest.fixture
def recipe() -> dict[str, str]:
    """The code blocks of the section by language."""
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("## Adding a rule")[2]
    found = re.findall(r"```(\w+)\n(.*?)```", section.partition("\n## ")[0], re.DOTALL)
    return {language: textwrap.dedent(" " * 3 + text.lstrip()) for language, text in found}


@pytest.fixture
def project(tmp_path, recipe, monkeypatch):
    """A copy of the folders that the recipe speaks of, with the rule in it; forgotten later."""
    (tmp_path / "tests" / "checking" / "rules" / "contract").mkdir(parents=True)
    (tmp_path / "tests" / "specimens").symlink_to(SPECIMENS)
    file = tmp_path / recipe["python"].splitlines()[0].removeprefix("# ")
    file.parent.mkdir(parents=True)
    file.write_text(recipe["python"])
    monkeypatch.setattr(contract, "__path__", [*contract.__path__, str(file.parent)])
    monkeypatch.setattr(registry, "_rules", dict(registry.load()))
    monkeypatch.setattr(registry, "_detectors", {**registry._detectors})
    registry.load.cache_clear()
    yield tmp_path
    registry.load.cache_clear()
    sys.modules.pop(f"{contract.__name__}.{file.stem}")


def test_the_recipe_adds_a_rule(project, recipe, capsys):
    subprocess.run(["sh", "-e", "-c", recipe["sh"]], cwd=project, check=True)
    (folder,) = (project / "tests" / "checking" / "rules" / "contract").iterdir()
    (finding,) = check(folder, budget=0.01).findings
    assert (finding.code, finding.name, finding.severity) == ("PUF199", "unfinished", "warning")
    assert (finding.file, finding.line) == (f"{folder.name}.h", 2)
    assert "PUF199" in (folder / finding.file).read_text().splitlines()[0]
    assert main(["explain", "PUF199"]) == 0
    assert "A comment says TODO." in capsys.readouterr().out
    assert set(registry.load()) > {"PUF199"}
