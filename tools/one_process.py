"""A short training on the GPU in one process, for tools that watch only one.

    compute-sanitizer --target-processes application-only python tools/one_process.py breakout
    python tools/one_process.py snake vec.device cuda       an example, and settings of it

`train` and the driver's probe start processes that a sanitizer does not follow, or keeps from
ending. So the driver is probed here, and compiled code should exist before: run it once without the
tool.
"""
from __future__ import annotations

import contextlib
import faulthandler
import io
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]
from training_runs import close, open_trainer  # noqa: E402

from puffer_sdk.toolchain import cuda_finding, gpu  # noqa: E402

SETTINGS = {"train.device": "cuda", "vec.total_agents": 64, "train.horizon": 16,
            "train.minibatch_size": 512, "policy.hidden_size": 16}
EPOCHS = 3
SECONDS = 60            # after which it prints its current line


def ask_driver_here() -> None:
    """Probe the driver here, which cuda_finding does in a separate process."""
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(cuda_finding.DRIVER_PROGRAM, "ask_driver", "exec"), {})
    driver = cuda_finding.read_answer(said.getvalue())
    cuda_finding.ask_driver = lambda *surroundings: driver


def main() -> int:
    faulthandler.dump_traceback_later(SECONDS)
    if not gpu.is_emulated():
        ask_driver_here()
    env, *words = sys.argv[1:]
    given = dict(zip(words[::2], words[1::2], strict=True))
    vec, trainer = open_trainer(ROOT / "examples" / env, {**SETTINGS, **given})
    for _ in range(EPOCHS):
        trainer.rollout()
        metrics = trainer.update()
    close(vec, trainer)
    print(f"{env}: {EPOCHS} epochs, entropy {metrics['loss/entropy']:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
