"""One run of ours: `python learn_ours.py TASK SEED [--random]` -> a line of JSON.

Only [env] of a C environment's ini is taken: [vec], [policy] and [train] are the defaults. Options
after SEED, such as --train.learning-rate=0.01, are settings to try.
"""
from __future__ import annotations

import configparser
import json
import resource
import shutil
import sys
import tempfile
from pathlib import Path

from learn_tasks import EPISODES, ROOT, TASKS, Task

ALONE = {"vec.num_workers": 0, "vec.num_threads": 1}


def main() -> None:
    import puffer_sdk

    task, seed = TASKS[sys.argv[1]], int(sys.argv[2])
    random = "--random" in sys.argv
    settings = dict(each[2:].replace("-", "_").split("=", 1) for each in sys.argv[3:]
                    if "=" in each)
    with tempfile.TemporaryDirectory() as folder:
        env, runs = prepare(task, Path(folder)), Path(folder) / "runs"
        # no workers: this process and its child are all that computes, and all that is counted
        asked = {"train.total_timesteps": task.steps, "train.seed": seed, **ALONE, **settings}
        playing = {"eval.episodes": EPISODES, "eval.seed": 1_000 + seed, **ALONE}
        if random:
            played = puffer_sdk.evaluate(env, playing, model=None, runs_dir=runs)
            print(json.dumps({"random": played.scores["random"].mean[task.metric]}))
            return
        before = cpu()
        run = puffer_sdk.train(env, asked, runs_dir=runs)
        spent = cpu() - before
        row = {"cpu": round(spent, 1), "steps": run.steps}
        for which in ("best", "latest"):
            played = puffer_sdk.evaluate(env, playing, model=which, runs_dir=runs)
            row[{"latest": "last"}.get(which, which)] = played.scores["trained"].mean[task.metric]
        print(json.dumps(row))


def cpu() -> float:
    """Seconds that this process and its children took."""
    taken = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in taken)


def prepare(task: Task, folder: Path) -> str:
    """What `train` takes."""
    import puffer_sdk

    if not task.in_c:
        file = folder / "task.py"
        file.write_text(f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
                        f"from learn_tasks import TASKS\n\nmake = TASKS[{task.name!r}].make\n")
        return f"{file}:make"
    target = folder / task.name
    if task.folder in ("squared", "target"):
        puffer_sdk.new(task.name, template=task.folder, output_dir=folder)
    else:
        shutil.copytree(ROOT / task.folder, target, ignore=shutil.ignore_patterns("build", "runs"))
    ini = target / f"{task.name}.ini"
    given, kept = configparser.ConfigParser(interpolation=None), configparser.ConfigParser()
    given.read(ini)
    for section in ("base", "env"):
        if given.has_section(section):
            kept[section] = dict(given[section])
    with ini.open("w") as file:
        kept.write(file)
    return str(target)


if __name__ == "__main__":
    main()
