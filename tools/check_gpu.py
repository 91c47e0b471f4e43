"""Look for what only a GPU shows: `make check-gpu`, compute-sanitizer over short trainings.

memcheck finds accesses beyond memory, racecheck threads of a block that do not wait for each other,
initcheck reads of what nobody wrote. Each trains two epochs of three environments, in fp32 and in
bf16, and once with the environments on the GPU. Ends with 1 where one of them complains, with 2
where there is no GPU or no compute-sanitizer.
"""
from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from puffer_sdk.base import ui
from puffer_sdk.base.errors import PufferError, UsageError
from puffer_sdk.toolchain import gpu
from puffer_sdk.training.native import cuda

TOOLS = ("memcheck", "racecheck", "initcheck")
ENVS = ("breakout", "pendulum", "snake")
COMPLAINT = 9                   # compute-sanitizer's status, where the program itself ended well
SMALL = ("--vec.total-agents", "64", "--train.horizon", "16", "--train.minibatch-size", "512",
         "--train.total-timesteps", "2048", "--policy.hidden-size", "48")
WAYS = {"fp32": (), "bf16": ("--train.precision", "bf16"), "envs": ("--vec.device", "cuda")}


def command(tool: str, env: Path, way: str, runs: str) -> list[str]:
    return ["compute-sanitizer", "--tool", tool, "--target-processes", "all", "--error-exitcode",
            str(COMPLAINT), sys.executable, "-m", "puffer_sdk", "train", str(env), *SMALL,
            "--train.device", "cuda", *WAYS[way], "--runs-dir", runs,
            "--vec.step-timeout", "3600"]


def main() -> int:
    try:
        _, why = gpu.choose_device("cuda")
        if gpu.is_emulated():
            raise UsageError("an emulated GPU shows nothing to compute-sanitizer",
                             where="PUFFER_CUDA", hint="unset it on a machine with a GPU")
        if not shutil.which("compute-sanitizer"):
            raise UsageError("there is no compute-sanitizer",
                             hint="it comes with the CUDA toolkit; put it on PATH")
        cuda.build()
    except PufferError as error:
        ui.print_error(error)
        return error.exit_status
    ui.say(why)
    examples, bad = Path(__file__).resolve().parent.parent / "examples", 0
    for tool in TOOLS:
        for name in ENVS:
            for way in WAYS:
                with tempfile.TemporaryDirectory() as runs:
                    done = subprocess.run(command(tool, examples / name, way, runs),
                                          capture_output=True, text=True)
                ended = "clean" if done.returncode == 0 else f"status {done.returncode}"
                ui.say(f"{tool:10} {name:10} {way}  {ended}")
                if done.returncode:
                    bad += 1
                    ui.say(done.stdout[-4000:] + done.stderr[-2000:])
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
