"""`make ocean SRC=PufferLib`: try every Ocean environment of a PufferLib 4.0 checkout.

    make ocean SRC=../PufferLib              all of ocean/*/
    make ocean SRC=../PufferLib ONLY=snake   one of them

For each: build it, describe it, check it, step it about a million times. Prints a row each, and
ends with 1 if one failed. Reads the checkout and writes build products into its folders' build/.
"""
from __future__ import annotations

import sys
import time
from pathlib import Path

from puffer_sdk.base import ui
from puffer_sdk.base.errors import PufferError
from puffer_sdk.checking import check
from puffer_sdk.env import build, child
from puffer_sdk.env.job import EnvJob
from puffer_sdk.env.link import Link
from puffer_sdk.settings import config

STEPS = 1_000_000
AGENTS = 256


def main(source: str, only: str = "") -> int:
    folders = [folder for folder in sorted((Path(source) / "ocean").glob("*"))
               if (folder / f"{folder.name}.h").is_file() and only in ("", folder.name)]
    if not folders:
        ui.say(f"no environments in {source}/ocean", style="bold red")
        return 2
    ui.out(f"{'env':<20} {'obs':>12} {'actions':>14} {'steps/s':>9}  check")
    failed = 0
    for folder in folders:
        try:
            ui.out(row(folder.resolve()))
        except PufferError as error:
            failed += 1
            ui.out(f"{folder.name:<20} {error.message}" + (f" ({error.where})" * bool(error.where)))
    ui.out(f"{len(folders) - failed} passed, {failed} failed")
    return 1 if failed else 0


def row(folder: Path) -> str:
    """One environment's line of the table."""
    built = build.build(folder)
    settings = config.resolve(folder, spec=built.spec)
    seen = child.run("ocean:work", EnvJob.of(built, settings), lambda kind, payload: None)
    result = check.check(folder)
    codes = sorted({finding.code for finding in result.findings})
    return (f"{folder.name:<20} {seen['obs']:>12} {seen['actions']:>14} {seen['sps']:>9,.0f}  "
            f"{result.verdict}{' ' * bool(codes)}{' '.join(codes)}")


def work(job: EnvJob, link: Link) -> dict:
    """In the child: step at random, STEPS agent steps in all."""
    import numpy as np

    from puffer_sdk.env.vec import VecEnv

    library, settings = job.open(), job.config.env
    agents = library.agents_per_env(settings)
    total = max(1, AGENTS // agents) * agents
    rng = np.random.default_rng(0)
    with VecEnv(library, total_agents=total, env_settings=settings, watches=link.watches()) as vec:
        vec.reset()
        began, steps = time.perf_counter(), 0
        while steps < STEPS:
            for head, width in enumerate(vec.act_sizes):
                vec.actions[:, head] = (rng.integers(width, size=total) if width > 1
                                        else rng.uniform(-1, 1, total))
            vec.step()
            steps += total
        seconds = time.perf_counter() - began
        about = vec.description
        kind = "u8" if about.obs_dtype.itemsize == 1 else "f32"
        return {"obs": f"{about.obs_size} {kind}", "sps": steps / seconds,
                "actions": "x".join(map(str, about.act_sizes))}


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
