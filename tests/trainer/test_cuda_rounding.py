"""The assertions of a real GPU, run without one: on an emulated GPU that rounds as hardware may."""
import os
import re
import subprocess
import sys

import pytest
from helpers.cuda_calls import HAS_DRIVER
from helpers.places import ROOT
from helpers.short_or_long import long_only, short_or_long

TRAINING = ("trainer/test_cuda_training.py", "-k",
            "(late and (bits_of_the_cpus or compiled_envs)) or no_slot")
ALL = ("kernels/test_cuda_network.py", "kernels/test_cuda_updates.py",
       "trainer/test_cuda_training.py", "trainer/test_cuda_envs.py", "trainer/test_cuda_ranks.py",
       "trainer/test_native_parity.py", "trainer/test_native_rollout.py",
       "trainer/test_native_errors.py")


@long_only
@pytest.mark.skipif(HAS_DRIVER, reason="there is a GPU, which rounds by itself")
@pytest.mark.parametrize("chosen", short_or_long([TRAINING], [ALL]), ids=["some"])
def test_what_is_asserted_of_a_gpu_leaves_room_for_its_rounding(chosen):
    words = [f"tests/{word}" if word.endswith(".py") else word for word in chosen]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words], cwd=ROOT,
        env={**os.environ, "PUFFER_CUDA_EMULATED_FMA": "1"}, capture_output=True, text=True,
        timeout=1800)
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"[1-9]\d+ passed", done.stdout)
