"""The stages for a machine with a GPU run to their end on the emulated device, and keep figures."""
import json
import os
import subprocess
import sys

import pytest
from helpers.cuda_calls import HAS_DRIVER
from helpers.places import ROOT
from helpers.short_or_long import LONG, long_only

sys.path.insert(0, str(ROOT / "tools"))
import gpu_day  # noqa: E402

DAY = ROOT / "docs" / "data" / "gpu.json"
TOOL = ROOT / "tools" / "gpu_day.py"


def stage(*words, cwd=ROOT, **env):
    return subprocess.run([sys.executable, TOOL, *words], capture_output=True, text=True, cwd=cwd,
                          env={**os.environ, "PUFFER_CUDA": "emulated", **env})


@pytest.fixture(scope="module")
def day(tmp_path_factory):
    """Where all stages wrote; gpu.json is one for all of them. Short: the two that measure."""
    out = tmp_path_factory.mktemp("day")
    before = DAY.read_bytes() if DAY.is_file() else None
    names = [line.split()[0] for line in stage().stdout.splitlines()]
    assert names == ["look", "first", "figures", "tests", "memcheck", "racecheck", "initcheck"]
    some = names[:-2] if LONG else ["look", "figures"]      # the sanitizers' three are one function
    done = stage(*some, "--out", out)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAILED" not in done.stderr and done.stderr.count("ok    ") >= (9 if LONG else 4)
    assert before == (DAY.read_bytes() if DAY.is_file() else None)      # nothing is of a GPU
    return out


@long_only
def test_every_stage_runs_and_writes_down_what_it_did(day):
    for name in ("look", "first", "figures", "tests", "memcheck"):
        text = (day / f"{name}.txt").read_text()
        assert text.startswith("$ python ") and "-- status 0, " in text, name
        assert f"{ROOT}/tests" not in text.partition("\n")[0]
    assert " passed" in (day / "tests.txt").read_text()


@long_only
def test_the_probe_compiles_for_a_gpu(tmp_path):
    assert gpu_day.build_probe(tmp_path, emulated=False, arch="90").is_file()


@pytest.mark.long
def test_what_it_measured_is_kept(day):
    found = json.loads((day / "gpu.json").read_text())
    probe = found["probe"]
    for name in ("graph of 7", "graph of 1, waited for each time", "upload of 24 bytes",
                 "segments_shuffle of 1024"):
        assert probe[name]["value"] > 0 and probe[name]["unit"] == "us", name
    assert probe["heap given"]["value"] == probe["heap asked for"]["value"] == 1 << 20
    assert probe["memory of the process can be locked"] == {"value": 1, "unit": ""}
    products = [name for name in probe if " x " in name]
    assert len(products) > 20 and any(name.endswith("bf16") for name in products)
    assert len(found["steps_per_second"]) == 6 and min(found["steps_per_second"].values()) > 0
    assert found["gpu"] == "emulated on the CPU" or HAS_DRIVER
    assert found["date"] and found["compiler"].startswith("NVRTC ")
    shown = gpu_day.table(found)
    assert shown.count(" M steps/s") == 6 and "| a small kernel in a graph | " in shown
    del found["steps_per_second"]["4096 agents, environments on the GPU"]
    assert gpu_day.table(found).count("| not measured |") == 1


@long_only
def test_a_step_that_fails_is_told_and_the_others_run(tmp_path):
    done = stage("first", "--out", tmp_path, PUFFER_CUDA_EMULATED_MEMORY=str(1 << 20))
    assert done.returncode == 1 and done.stderr.count("FAILED") == 3
    assert "GPU memory" in done.stderr and "Traceback" not in done.stderr
    assert (tmp_path / "first.txt").read_text().count("-- status ") == 3


def test_a_stage_that_is_none_is_refused(tmp_path):
    done = stage("lunch", "--out", tmp_path)
    assert done.returncode == 2 and "invalid choice: 'lunch'" in done.stderr
