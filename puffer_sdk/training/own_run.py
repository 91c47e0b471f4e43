"""A run folder for a loop of the user's own.  a Trainer or VecEnv, settings -> runs/NAME/NNNN"""
from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..base import files, paths
from ..base.errors import UsageError
from ..env import header
from ..env.vec import VecEnv
from ..env.vec_wrapper import VecWrapper
from ..interop.python_envs import env_source, makers, probe_env
from ..interop.python_envs.worker_library import WorkerLibrary
from ..settings import config as settings_of
from ..settings import torch_class
from ..settings.texts import show
from . import metrics as sinks
from . import provenance, runs
from .loop import Trainer

if TYPE_CHECKING:
    from torch.nn import Module


class Run:
    """A run of your own loop, which `puffer-sdk runs`, its plots and puffer_sdk.runs() know.

        with puffer_sdk.make("my_env", num_envs=1024, seed=1) as vec, \\
                puffer_sdk.Run(vec, {"seed": 1, "lr": 0.01}, tag="mine") as run:
            for step in ...:
                run.log({"step": step, "novelty": 0.3}, env=vec.log())

    subject     a Trainer, whose settings are noted, or a VecEnv or VecWrapper
    settings    of your own: {"lr": 0.01}; "seed" is what tells repetitions apart, the vec's unless
                given. In config.ini under [loop], or as "section.key" says
    tag         a label; runs_dir: the folder of all runs
    Notes what train notes: hashes and copies of the environment, of your script and of all modules
    that it has imported and that belong to no package; commit, machine and command. Leaving the
    block ends the run: finished, interrupted, or failed. Attribute: folder.
    """

    def __init__(self, subject: Trainer | VecEnv | VecWrapper,
                 settings: Mapping[str, object] | None = None, *, tag: str = "",
                 runs_dir: Path | str | None = None):
        if not isinstance(subject, (Trainer, VecEnv, VecWrapper)):
            raise UsageError("a Run is of a Trainer or a VecEnv", actual=type(subject).__name__,
                             hint='puffer_sdk.Run(puffer_sdk.make("my_env", num_envs=64))')
        self._trainer = subject if isinstance(subject, Trainer) else None
        self._vec = vec = self._trainer.vec if self._trainer else subject
        own = [Path(path) for path in probe_env.own_files()]
        more = [file for spec in torch_class.specs(self._trainer.config).values()
                for file in provenance.network_files(spec)] if self._trainer else []
        library, folder = vec.library, vec.library.folder
        root = Path(runs_dir) if runs_dir is not None else None
        if folder:
            self._name, home = folder.name, paths.runs_dir(folder, root)
            made = provenance.of_folder(folder, [*settings_of.own_inis(folder), *more], own)
        else:
            assert isinstance(library, WorkerLibrary)
            self._name = library.maker.name
            home = env_source.PythonSource(self._name).runs_dir(root) \
                if makers.is_name(self._name) else \
                paths.runs_root(paths.project_root(Path.cwd() / "x"), root) / self._name
            made = provenance.of_python(library.maker, library.facts, more, own)
        self._run = runs.create_run(
            home, tag, self._trainer.config.train.total_timesteps if self._trainer else None)
        self.folder, self._given = self._run.folder, dict(settings or {})
        files.save(self._run.config_path, self._ini(settings or {}), what="the settings")
        if folder:
            files.save(self.folder / "spec.json", json.dumps(header.read(folder).to_dict(),
                                                             indent=1) + "\n", what="the spec")
        self._run.set_progress(code=provenance.keep(self._run, made))
        self._lines, self._began, self._step = sinks.JsonLines(self._run), time.perf_counter(), 0

    def _ini(self, own: Mapping[str, object]) -> str:
        """config.ini: the trainer's settings, or the vec's and the loop's."""
        tree: dict[str, dict[str, str]] = {}
        for key, value in own.items():
            section, _, name = (f"train.{key}" if key == "seed" else key).rpartition(".")
            tree.setdefault(section or "loop", {})[name] = show(value)
        if self._trainer:
            if extra := {name for name in tree if name != "loop"}:
                raise UsageError("a Trainer's settings are its own", where=f"[{min(extra)}]",
                                 expected="keys without a section, for [loop]",
                                 hint="give them to Trainer(vec, {...})")
            text = self._trainer.config.to_ini()
        else:
            vec = self._vec
            tree = {"base": {"env_name": self._name}, "vec": {
                "total_agents": str(vec.num_agents)}, "env": {
                name: show(value) for name, value in vec.env_settings.items()}, **tree}
            tree.setdefault("train", {}).setdefault("seed", str(vec.seed))
            text = ""
        for section, values in tree.items():
            text += "\n".join(["\n" * bool(text) + f"[{section}]",
                               *(f"{name} = {value}" for name, value in values.items()), ""])
        return text

    def log(self, row: Mapping[str, float] | None = None, *,
            env: Mapping[str, float] | None = None) -> None:
        """A row of metrics.jsonl, with what the trainer has measured in its last update().

        row     names and numbers of yours; "step" is agent steps, the trainer's or those that the
                vec has made unless given
        env     what vec.log() returned: "env/perf" and so on
        Raises RunError where the disk is full.
        """
        trainer, seconds = self._trainer, time.perf_counter() - self._began
        step = self._step_now()
        found = {"step": step, "seconds": seconds, "sps": step / max(seconds, 1e-9),
                 **({"epoch": trainer.epoch, **trainer.metrics} if trainer else {}),
                 **{f"env/{name}": value for name, value in (env or {}).items()}}
        for name, value in (row or {}).items():
            if name in found and name != "step" and trainer:
                raise UsageError(f"'{name}' is a metric of the trainer's", where="Run.log",
                                 expected="a name of your own", actual=name)
            try:
                found[name] = float(value) if name != "step" else int(value)
            except (TypeError, ValueError):
                raise UsageError(f"'{name}' is no number", where="Run.log", expected="a number",
                                 actual=type(value).__name__) from None
        self._step = int(found["step"])
        self._lines.log({name: value if math.isfinite(value) else math.nan
                         for name, value in found.items()})

    def save(self, network: Module | None = None) -> Path:
        """A checkpoint in this run's folder, which eval and play take by the run's number.

        network     of a loop without a Trainer: a torch.nn.Module whose class is in a file, with
                    the methods of [policy] torch_class; [policy] keys of the run's settings count
        Raises UsageError where there is neither, and for a network that eval could not call.
        """
        trainer, vec = self._trainer, self._vec
        if trainer is None and network is None:
            raise UsageError("this run has no Trainer to save", where="Run.save",
                             hint="run.save(network), a torch.nn.Module of yours")
        if trainer and network is not None:
            raise UsageError("a Trainer saves its own network", where="Run.save",
                             hint="run.save()")
        path = self._run.checkpoints_path / f"{self._step_now():012d}.safetensors"
        if trainer:
            return trainer.save(path)
        assert network is not None and not isinstance(vec, Trainer)
        from . import own_weights  # of PyTorch

        return own_weights.save(path, network, vec, self._given)

    def _step_now(self) -> int:
        return self._trainer.global_step if self._trainer else \
            self._vec.ticks * self._vec.num_agents

    def close(self, status: str = "finished") -> None:
        """End the run: finished, interrupted or failed. Once is enough."""
        if not self._lines.file.closed:
            self._lines.close()
            self._run.set_status(status, step=self._step)

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        self.close("finished" if kind is None else
                   "interrupted" if issubclass(kind, KeyboardInterrupt) else "failed")

    def __fspath__(self) -> str:
        return os.fspath(self.folder)
