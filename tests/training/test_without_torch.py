"""Nothing but the reference needs PyTorch: the whole road where importing it is refused."""
import os
import subprocess
import sys

import pytest

REFUSE = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ImportError("torch is refused here")

sys.meta_path.insert(0, Refuse())
"""


@pytest.fixture
def run(tmp_path):
    """run(*words) -> the finished `puffer-sdk ...`, it and its children without torch."""
    (tmp_path / "sitecustomize.py").write_text(REFUSE)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}

    def go(*words):
        return subprocess.run([sys.executable, "-m", "puffer_sdk", *words], cwd=tmp_path,
                              capture_output=True, text=True, env=environment, check=False)

    return go


def test_the_road_without_torch(run):
    for words in ("new my_env", "train my_env --train.total-timesteps 30_000",
                  "train my_env --resume --train.total-timesteps 60_000",
                  "eval my_env --eval.episodes 5 --eval.goal perf>=0",
                  "check my_env --budget 0.01 --learn --learn-seconds 1"):
        done = run(*words.split())
        assert done.returncode == 0, done.stderr
    done = run("train", "my_env", "--train.backend", "torch")
    assert done.returncode != 0 and "torch is refused here" in done.stdout + done.stderr
