"""The whole road of an environment: every program, a training, eval beside it.  folder -> facts

What `puffer-sdk ocean` asks of each environment with --programs and --train.
"""
from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from ..base.errors import Interrupted, PufferError
from ..env import header
from ..env.gpu import programs as gpu_programs
from ..policy.evaluate import evaluate
from ..programs.targets import TARGETS, build_program
from ..projects import upgrading
from ..settings import config, table
from ..training.runs import Run
from ..training.train import train
from . import agreement
from .curves import sample

ARCH = "90"                     # that the CUDA program is compiled for
AGENTS = 512                    # of all envs: as many ticks each as the steps allow
MEASURES = ("return_per_1000_ticks", "score", "perf", "episode_return")
SOURCES = (".h", ".c", ".ini", ".py")


def told(error: PufferError) -> str:
    """An error in one line."""
    return (error.message + (f" ({error.where})" if error.where else "")
            + (f"; {error.hint}" if error.hint else ""))


def files_of(folder: Path) -> dict[str, str]:
    """{name: git's hash of the file}: the environment's sources and its ini, as they were before
    `bind --upgrade`."""
    found = {path.name: path for path in sorted(folder.iterdir())
             if path.is_file() and path.suffix in SOURCES}
    ini = config.find_ini(folder)
    if (folder / "binding.c.orig").is_file() and not (folder / f"{folder.name}.ini.orig").is_file():
        ini = upgrading.ini_of_3(folder)                # that in the folder is new
    found[f"{folder.name}.ini"] = ini
    return {name: _blob(path) for name, path in found.items() if path and path.is_file()}


def _blob(path: Path) -> str:
    """As `git hash-object` says it."""
    before = path.with_name(f"{path.name}.orig")
    data = (before if before.is_file() else path).read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def commit_of(folder: Path) -> str | None:
    """The commit of the checkout that the folder is in; None where there is none."""
    try:
        done = subprocess.run(["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True,
                              text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def build_all(folder: Path) -> dict[str, str]:
    """{"local": "", "web": "why it failed", ...}: each program, and the CUDA program."""
    spec = header.read(folder)
    settings = config.resolve(folder, spec=spec).env
    makers = {target: lambda target=target: build_program(
        folder, target, env_settings=settings, model=None) for target in TARGETS}
    makers["cuda"] = lambda: gpu_programs.build_program(spec, ARCH)
    return {name: _tried(make) for name, make in makers.items()}


def _tried(make) -> str:
    try:
        make()
    except Interrupted:
        raise
    except PufferError as error:
        return told(error)
    return ""


def defaults(agents: int) -> dict[str, object]:
    """Our own settings of training, with few agents: an ini may be for a large GPU, and asks for
    more of them than learn anything in a few million steps."""
    return {**{f"{section}.{key.name}": key.default
               for section in ("vec", "policy", "train") for key in table.used_keys(section)
               if key.name != "total_timesteps"}, "vec.total_agents": agents}


def learn(folder: Path, agents: int, steps: int, runs_dir: Path) -> list[dict]:
    """Train with the environment's ini and, where that does not beat random play, with our
    defaults. Each attempt: what was trained, its curve, and both players' scores.

    agents      of one env
    """
    attempts = []
    for name, settings in (("its ini", {}), ("our defaults", defaults(_few(agents)))):
        attempts.append(_attempt(folder, name, settings, steps, runs_dir))
        if attempts[-1].get("learnt"):
            break
    return attempts


def _attempt(folder: Path, name: str, settings: Mapping[str, object], steps: int,
             runs_dir: Path) -> dict:
    facts: dict = {"settings": name}
    given = {**settings, "train.total_timesteps": steps}
    try:
        result = train(folder, given, runs_dir=runs_dir)
        scores = evaluate(folder, settings, model=result.checkpoint, runs_dir=runs_dir).scores
    except Interrupted:
        raise
    except PufferError as error:
        return {**facts, "problem": told(error)}
    run = Run(result.folder)
    resolved = config.resolve(folder, given, spec=header.read(folder))
    curve = sample(run.metrics(), resolved)
    trained, random = scores["trained"], scores["random"]
    measure = next((name for name in MEASURES if name in trained.mean and name in random.mean),
                   None)
    facts |= {"steps": result.steps, "seconds": round(result.seconds, 1), "measure": measure,
              "curve": [curve["step"], [None if each is None else float(f"{each:.4g}")
                                        for each in curve.get(measure, [])]]}
    if measure is None:
        return {**facts, "learnt": False}
    for player in (trained, random):
        facts[player.policy] = [player.mean[measure], player.interval[measure]]
    own, chance = facts["trained"], facts["random"]
    facts["learnt"] = own[0] - (own[1] or 0) > chance[0] + (chance[1] or 0)
    return facts


def _few(agents: int) -> int:
    """AGENTS, in whole envs of so many."""
    return max(1, AGENTS // agents) * agents


def agree(folder: Path, agents: int, runs_dir: Path) -> list[dict]:
    """Each column of the log in a training that does not learn, and in eval. agents: of one env.

    Our own settings train: those of an ini may ask for more agents than are compared.
    """
    total = _few(agents)
    found = agreement.compare(folder, {**defaults(total), **agreement.STILL}, agents=total,
                              shared=agents > 1, runs_dir=runs_dir)
    return [{**asdict(each), "agrees": each.agrees} for each in found]
