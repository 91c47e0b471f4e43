"""Play an environment in a window.  ENV, a policy -> how many ticks and episodes were played"""
from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base import paths
from ..base.errors import BuildError, UsageError
from ..env import child_process
from ..interop.python_envs import env_source
from ..interop.python_envs.env_source import PythonSource
from ..settings import torch_class
from ..training import backends, checkpoint, flat
from ..training.find_model import USUAL, find_model
from .rebuilding import PlayJob, build_player


@dataclass(frozen=True)
class Played:
    """What was played."""

    ticks: int
    episodes: int           # that agent 0 finished


def play(env: str | Path | None = None, settings: Mapping[str, object] | None = None, *,
         model: str | Path | None = "best", ini: Path | None = None, runs_dir: Path | None = None,
         seed: int | None = None, greedy: bool = False, watch: bool = False, paused: bool = False,
         seat: int = 0, ticks: int | None = None, on_said: Callable[[str], None] = print,
         on_progress: Callable[[str, float, float], None] | None = None,
         verbose: bool = False) -> Played:
    """Open a window and play ENV: the policy does, or you while you hold SHIFT.

    model     as for evaluate; dice play if it is None, or if "best" finds none
    ini       a file of settings over the environment's own ini
    seed      of the first game; default: [eval] seed
    watch     rebuild when a file is saved, and continue
    seat      the agent that you play, from 0 on; the others play on
    ticks     end after this many
    on_said   gets messages: saved pictures, rebuilt libraries, sources that do not compile
    Raises UsageError without a display, BuildError, RunError if the env dies or hangs.
    """
    from ..pictures.screen import canvas
    from ..raylib import drawing

    source = env_source.find(env, ini)
    _require_display(source.name)
    found = _find_policy(source.runs_dir(runs_dir), model, on_said)
    found = flat.as_checkpoint(found, source, settings) if found else None
    past = checkpoint.load(found) if found else None
    torch_class.name_given(source, settings)
    if past:
        backends.require_actor(past.config, past.path, verbose=verbose)
    if isinstance(source, PythonSource):
        refused = {"--watch": watch, "--paused": paused, "--seat": seat}
        if any(refused.values()):
            raise UsageError("a Python environment opens its own window",
                             where=next(option for option, given in refused.items() if given),
                             hint="leave the option out")
        from .watch_python import watch as watch_play
        prepared = source.prepare(settings, verbose=verbose)
        prepared = prepared.as_trained(past.facts["env"] if past else None)
        played = watch_play(prepared, found, greedy=greedy, ticks=ticks,
                            seed=prepared.config.eval.seed if seed is None else seed)
        checkpoint.warn_of_other_name(past, prepared.spec.name)
        return Played(**played)
    source.resolve(settings, warn_unread=False)     # refused before raylib is compiled
    served = drawing.shared("desktop", verbose=verbose, on_progress=on_progress)
    overrides = {name: str(value) for name, value in (settings or {}).items()}
    built, resolved = build_player(source, served.headers, overrides, verbose=verbose)
    job = PlayJob.of(built, resolved, model=found, greedy=greedy,
                     director=canvas.build(served, verbose=verbose), raylib=served.library,
                     headers=served.headers, source=source, settings=overrides, spec=built.spec,
                     watch=watch, paused=paused, seat=seat, ticks=ticks, pictures=Path.cwd(),
                     seed=resolved.eval.seed if seed is None else seed)

    def on_event(kind: str, payload: Any) -> None:
        if kind == "said":
            on_said(payload["text"])
        elif kind == "refused":
            on_said(str(BuildError(payload["message"], where=payload["text"] or None,
                                   detail=payload["detail"] or None)))

    result = child_process.run("puffer_sdk.playing.window:work", job, on_event,
                       cwd=paths.working_dir(source.folder), step_timeout=resolved.vec.step_timeout)
    return Played(**result)


def _find_policy(home: Path, model: str | Path | None, on_said: Callable[[str], None]
                 ) -> Path | None:
    """The checkpoint; None, and a message, if none was named and none exists."""
    if model is None:
        return None
    try:
        return find_model(home, model)
    except UsageError:
        if model != USUAL:
            raise
        on_said("no trained policy yet: dice play")
        return None


def _require_display(name: str) -> None:
    if sys.platform == "linux" and not (os.environ.get("DISPLAY")
                                        or os.environ.get("WAYLAND_DISPLAY")):
        raise UsageError("there is no display",
                         expected="DISPLAY or WAYLAND_DISPLAY", actual="neither is set",
                         hint=f"without a display: puffer-sdk eval {name} --gif out.gif; over ssh: "
                              "ssh -Y")
