"""The guide of sweeps does what it says: its ini is read, its Python runs."""
import re
import shutil

import pytest
from helpers.places import ROOT
from helpers.short_or_long import long_only

from puffer_sdk.env import header
from puffer_sdk.interop.python_envs import env_source
from puffer_sdk.settings import config
from puffer_sdk.sweeping.sweep_plan import read

pytest_plugins = ["helpers.playground_fixtures"]

PAGE = (ROOT / "docs" / "guides" / "sweep.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.S)


def test_the_ini_is_read(tmp_path):
    folder = shutil.copytree(ROOT / "examples" / "snake", tmp_path / "snake")
    [text] = blocks("ini")
    ini = folder / "snake.ini"
    ini.write_text(ini.read_text() + "\n" + text)
    plan = read(env_source.find(folder), {}, config.resolve(folder), header.read(folder), 1)
    assert plan.runs == 200 and set(plan.rows) == {"train.learning_rate", "env.reward_death"}


@long_only
@pytest.mark.parametrize("text", blocks("python"))
def test_the_python_runs(text, faulty, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = text.replace('"my_env"', repr(str(shutil.copytree(faulty, tmp_path / "faulty"))))
    text = text.replace('"sweep.max_runs": 40', '"sweep.max_runs": 4, "sweep.metric": "perf", '
                        '"sweep.seconds": 0')
    exec(compile(text, "sweep.md", "exec"), {})
    assert "{" in capsys.readouterr().out
