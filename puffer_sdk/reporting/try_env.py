"""Try an environment: every program, a training, eval beside it.  folder -> facts

The parts of `puffer-sdk ocean` for --programs and --train.
"""
from __future__ import annotations

import glob
import hashlib
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from difflib import SequenceMatcher
from functools import partial
from pathlib import Path

from ..base import paths
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
from .keeping import Facts

AGENTS = 512                    # of all envs: as many ticks each as the steps allow
EPISODES = 1000                 # that tell a policy from random play; an ini may ask for 10,000
MEASURES = ("win_rate", "return_per_1000_ticks", "score", "perf", "episode_return")
SOURCES = (".h", ".c", ".ini", ".py")
MOST_FILES = 100                # resources that one name with a %d stands for


@contextmanager
def caught(problems: dict[str, str], name: str) -> Iterator[None]:
    """An error here becomes problems[name], a sentence; Ctrl-C ends all."""
    try:
        yield
    except Interrupted:
        raise
    except PufferError as error:
        problems[name] = error.sentence()


def files_of(folder: Path) -> dict[str, str]:
    """{name: git's hash of the file}: the environment's sources and its inis, as they were before
    `bind --upgrade`, and the resources that the sources name."""
    found = {path.name: path for path in sorted(folder.iterdir())
             if path.is_file() and path.suffix in SOURCES}
    ini = config.find_ini(folder)
    shared = config.shared_ini(folder, ini)
    if (folder / "binding.c.orig").is_file() and not (folder / f"{folder.name}.ini.orig").is_file():
        ini = upgrading.ini_of_3(folder)                # that in the folder is new
    found |= {name: path for name, path in ((f"{folder.name}.ini", ini), ("default.ini", shared))
              if path} | resources_of(folder)
    return {name: _blob(path) for name, path in found.items() if path.is_file()}


def resources_of(folder: Path) -> dict[str, Path]:
    """{"resources/cat.png": its path}: the files that a string in the sources names; a %d in it
    stands for anything."""
    home, found = paths.working_dir(folder), {}
    for source in sorted(folder.glob("*.[ch]")):
        text = paths.text(source)
        for named in re.findall(r'"(?:\./)?(resources/[^"\\\n]+)"', text):
            pattern = "*".join(map(glob.escape, re.split(r"%[-+ #0]*[\d.*]*[a-z]+", named)))
            for path in sorted(glob.glob(str(home / pattern)))[:MOST_FILES]:
                found[Path(path).relative_to(home).as_posix()] = Path(path)
    return found


def before_upgrade(folder: Path) -> Callable[[str], str]:
    """A function that gives the lines which a text names (game.h:12) the numbers that they had
    before `bind --upgrade`; the files' hashes are those of before, too."""
    old = {path.name.removesuffix(".orig"): path for path in folder.glob("*.orig")}
    ini = f"{folder.name}.ini"
    if "binding.c" in old:
        old.setdefault(ini, upgrading.ini_of_3(folder))
    numbers = {name: lines_before(*(paths.text(each)
                                    for each in (path, folder / name)))
               for name, path in old.items() if path.is_file() and (folder / name).is_file()}
    if not numbers:
        return lambda text: text

    def number(found: re.Match[str]) -> str:
        lines, line = numbers[found[1]], int(found[2])
        return f"{found[1]}:{lines[line - 1] if 0 < line <= len(lines) else line}"

    return lambda text: re.sub(rf"\b({'|'.join(map(re.escape, numbers))}):(\d+)\b", number, text)


def lines_before(old: str, new: str) -> list[int]:
    """Of each line of the new text, the number of the line that it was in the old one; of a line
    that was not there, that of the one above."""
    matcher = SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
    return [min(i + n, end - 1) + 1 if end > i else max(1, i)
            for _, i, end, j, last in matcher.get_opcodes() for n in range(last - j)]


def _blob(path: Path) -> str:
    """As `git hash-object` says it."""
    before = path.with_name(f"{path.name}.orig")
    data = paths.content(before if before.is_file() else path)
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
    makers: dict[str, Callable[[], object]] = {
        target: partial(build_program, folder, target, env_settings=settings, model=None)
        for target in TARGETS}
    makers["cuda"] = partial(gpu_programs.build_program, spec, gpu_programs.ARCH)
    failed: dict[str, str] = {}
    for name, make in makers.items():
        with caught(failed, name):
            make()
    return {name: failed.get(name, "") for name in makers}


def defaults(agents: int) -> dict[str, object]:
    """Our default training settings with few agents: an ini for a large GPU may have too many to
    learn anything in a few million steps."""
    return {**{f"{section}.{key.name}": key.default
               for section in ("vec", "policy", "train") for key in table.used_keys(section)
               if key.name != "total_timesteps"}, "vec.total_agents": agents}


def learn(folder: Path, agents: int, steps: int, runs_dir: Path) -> list[Facts]:
    """Train with the environment's ini and, where that does not beat random play, with our
    defaults. Each attempt: the settings, and a "problem", or the curve and both players' scores.

    agents      of one env
    """
    attempts: list[Facts] = []
    for name, settings in (("its ini", {}), ("our defaults", defaults(_few(agents)))):
        attempts.append({"settings": name})
        with caught(attempts[-1], "problem"):
            attempts[-1] |= _attempt(folder, settings, steps, runs_dir)
        if attempts[-1].get("learnt"):
            break
    return attempts


def _attempt(folder: Path, settings: Mapping[str, object], steps: int, runs_dir: Path
             ) -> Facts:
    given = {**settings, "train.total_timesteps": steps}
    result = train(folder, given, runs_dir=runs_dir)
    assert result and not isinstance(result, int)    # in this process
    scores = evaluate(folder, {**settings, "eval.episodes": EPISODES}, model=result.checkpoint,
                      runs_dir=runs_dir).scores
    resolved = config.resolve(folder, given, spec=header.read(folder))
    trained, random = scores["trained"], scores["random"]
    measure = next((name for name in MEASURES if name in trained.mean and name in random.mean),
                   None)
    facts: Facts = {
        "steps": result.steps, "seconds": round(result.seconds, 1), "measure": measure,
        "curve": curve_of(sample(Run(result.folder).metrics(), resolved), measure),
        "learnt": False}
    if measure:
        for player in (trained, random):
            facts[player.policy] = [player.mean[measure], player.interval[measure]]
        own, chance = facts["trained"], facts["random"]
        facts["learnt"] = own[0] - (own[1] or 0) > chance[0] + (chance[1] or 0)
    return facts


def curve_of(curves: Mapping[str, list[float | None]], measure: str | None) -> Facts:
    """{"measure", "steps", "values"} of the measure or, where training does not log that, of the
    first one that it logs."""
    names = [name for name in curves if name != "step"]
    name = measure if measure in names else next(iter(names), None)
    return {"measure": name, "steps": curves["step"], "values": [
        None if each is None else float(f"{each:.4g}") for each in curves.get(name or "", [])]}


def _few(agents: int, most: int = AGENTS) -> int:
    """As many of them, in whole envs of so many."""
    return max(1, most // agents) * agents


def agree(folder: Path, agents: int, runs_dir: Path) -> list[Facts]:
    """Each column of the log in a training that does not learn, and in eval. agents: of one env.

    Our own settings train: those of an ini may ask for more agents than are compared. Where all
    envs end together, and seldom, fewer agents see more endings.
    """
    found: list[agreement.Measure] = []
    for total in dict.fromkeys(_few(agents, AGENTS // part) for part in (1, 4, 32)):
        found = found or agreement.compare(folder, defaults(total), agents=total,
                                           shared=agents > 1, runs_dir=runs_dir)
    return [{**asdict(each), "agrees": each.agrees} for each in found]
