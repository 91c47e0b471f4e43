"""The names of docs/guides/python.md: as they were measured; in the long form, each is played."""
import json
import re
import subprocess

import pytest
from helpers.own_venvs import python_of
from helpers.places import ROOT
from helpers.short_or_long import LONG
from peers import names

from puffer_sdk.base.errors import UsageError
from puffer_sdk.interop.python_envs import makers

MEASURED = json.loads((ROOT / "docs" / "data" / "bridges.json").read_text())["names"]
GUIDE = ROOT / "docs" / "guides" / "python.md"
PACKAGES = {"nle", "minihack", "minigrid", "crafter", "vizdoom", "magent2", "highway-env",
            "procgen2", "ale-py"}
PLAY = """
import json, sys
import numpy as np
import puffer_sdk
from puffer_sdk.env.agent_slots import random_actions

name, steps = sys.argv[1], int(sys.argv[2])
with puffer_sdk.wrap(name, 2, workers=1, seed=1, step_timeout=60, start_timeout=120) as envs:
    rng, seen = np.random.default_rng(0), {envs.reset().tobytes()}
    for _ in range(steps):
        observations, rewards, *_ = envs.step(random_actions(envs, rng))
        assert np.isfinite(observations.astype(float)).all() and np.isfinite(rewards).all()
        seen.add(observations.tobytes())
    print(json.dumps({"agents": envs.num_agents // 2, "obs_size": envs.obs_size,
                      "obs_dtype": envs.observations.dtype.name,
                      "acts": list(map(int, envs.act_sizes)), "changed": len(seen)}))
"""


def test_the_guide_says_what_was_measured_of_each_name():
    """Agents, the row, and the actions; and what to install."""
    rows = re.findall(r"^\| `(\S+)` \| `pip install (.+?)` \| (.+?) \| (.+?) \| (.+?) \|",
                      GUIDE.read_text(), re.M)
    assert [row[0] for row in rows] == [*MEASURED] == [name for name, *_ in names.NAMES]
    for name, install, agents, sees, does in rows:
        about = MEASURED[name]
        unit = "bytes" if about["obs_dtype"] == "uint8" else "floats"
        assert (agents, sees) == (str(about["agents"]), f"{about['obs_size']:,} {unit}"), name
        assert [int(width) for width in does.split(" x ")] == about["acts"], name
        assert about["package"] in re.findall(r"[\w-]+", install), name
    assert {about["package"] for about in MEASURED.values()} >= PACKAGES


if LONG:        # their packages exclude what is installed here
    @pytest.mark.long
    @pytest.mark.parametrize("name", [*MEASURED])
    def test_each_name_plays(name, tmp_path):
        python, about = python_of("zoo"), MEASURED[name]
        where = name.replace(f"{names.FILE}:", f"{names.HERE / 'makers.py'}:")
        done = subprocess.run([python, "-c", PLAY, where, "100"], cwd=tmp_path, timeout=300,
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        found = json.loads(done.stdout.strip().splitlines()[-1])
        assert found.pop("changed") > 10
        assert found == {key: about[key] for key in found}


def test_an_id_that_a_file_of_the_folder_registers_is_found_as_a_module_is(tmp_path, monkeypatch):
    """Nobody's package is recommended for a name that might be anybody's."""
    (tmp_path / "mine_here.py").write_text(
        "import gymnasium\ngymnasium.register('mine/Cart-v0', entry_point="
        "'gymnasium.envs.classic_control:CartPoleEnv')\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as refused:
        makers.read_name("gymnasium:mine/Cart-v0")()
    assert "gymnasium:mine_here:mine/Cart-v0" in refused.value.hint
    assert makers.read_name("gymnasium:mine_here:mine/Cart-v0")().spec.id == "mine/Cart-v0"
    for name in ("gymnasium:nobody/Cart-v0", "gymnasium:no_such_module:Cart-v0"):
        with pytest.raises(UsageError) as refused:
            makers.read_name(name)()
        assert "pip install" not in str(refused.value)
