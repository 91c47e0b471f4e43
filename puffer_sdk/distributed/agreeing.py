"""Ranks that cannot share a run are refused before its first step.  facts of all -> one Config

A rank with another version, other settings or another environment would compute something else
and change the weights of all. The error names what differs, and the ranks.
"""
from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

from .. import __version__
from ..base import paths, ui
from ..base.errors import UsageError
from ..settings.values import Config

# may differ between ranks: results do not depend on them
OWN = ("vec.num_threads", "vec.num_workers", "train.processes")
MEASURED = ("vec.reward_scale", "train.obs_scale")      # by random play: the first rank's count
SOURCES = (".h", ".c", ".cc", ".cpp", ".inc", ".py")
SHOWN = 5               # differences in one error


class RankFacts(TypedDict):
    """What a rank tells the others.

    settings    those that all must share
    given       of the command line: with a run to resume only rank 0 has the others
    config      all of them; None: every rank has them
    """

    version: str
    source: str
    layout: str
    settings: dict[str, Hashable]
    given: dict[str, Hashable]
    resumes: bool
    config: Mapping[str, Mapping[str, object]] | None


def source_hash(folder: Path | None) -> str:
    """A hash of an environment's own files; "" without a folder."""
    if folder is None:
        return ""
    found = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir()
                       if path.suffix in SOURCES and path.is_file()):
        found.update(path.name.encode() + b"\0" + paths.content(path))
    return found.hexdigest()[:16]


def facts_of(config: Config, *, spec_hash: str, folder: Path | None, given: Mapping[str, object],
             resumes: bool) -> RankFacts:
    """What this rank tells the others."""
    measured = {name for name in MEASURED if config.origin.get(name, "").startswith("auto")}
    return {"version": __version__, "source": source_hash(folder), "layout": spec_hash,
            "settings": {name: value for name, value in config.items()
                         if name not in OWN and name not in measured},
            "given": {name: str(value) for name, value in given.items() if name not in OWN},
            "resumes": resumes, "config": config.to_dict() if resumes or measured else None}


def agree(shared: Sequence[RankFacts], hosts: Sequence[str], own: Config) -> Config:
    """The settings that all ranks train with: those of rank 0.

    Raises UsageError where the ranks differ.
    """
    first = shared[0]
    settings = [facts["given"] if first["resumes"] else facts["settings"] for facts in shared]
    problems = [
        *_differences("version of puffer-sdk", [facts["version"] for facts in shared], hosts),
        *_differences("source of the environment", [facts["source"] for facts in shared], hosts),
        *_differences("layout of the environment", [facts["layout"] for facts in shared], hosts)]
    for name in dict.fromkeys(name for each in settings for name in each):
        problems += _differences(name, [each.get(name, "not set") for each in settings], hosts)
    if problems:
        raise UsageError("the processes of this run have different versions or settings",
                         detail="\n".join(ui.first(problems, SHOWN)),
                         hint="use the same version, environment and settings on every machine")
    if first["config"] is None:
        return own
    theirs = Config.from_dict(first["config"])
    vec = replace(theirs.vec, num_threads=own.vec.num_threads, num_workers=own.vec.num_workers)
    return replace(theirs, vec=vec)


def best_path(paths: Sequence[Sequence[str]], hosts: Sequence[str]) -> str:
    """The best instruction set that all ranks have: bits follow from it. paths: those of each, the
    best one last"""
    common = [path for path in paths[0] if all(path in each for each in paths)]
    if not common:
        sets = [", ".join(each) or "none" for each in paths]
        raise UsageError("no instruction set is common to all processes of this run",
                         detail="\n".join(_differences("instruction sets", sets, hosts)))
    return common[-1]


def _differences(name: str, values: Sequence[Hashable], hosts: Sequence[str]) -> list[str]:
    """"train.gamma is 0.9 on rank 0 (a), 0.99 on rank 1 (b)", or nothing."""
    ranks: dict[Hashable, list[int]] = {}
    for rank, value in enumerate(values):
        ranks.setdefault(value, []).append(rank)
    if len(ranks) == 1:
        return []
    return [f"{name} is " + ", ".join(
        f"{value} on rank{'s' * (len(who) > 1)} {', '.join(map(str, who[:4]))}"
        f"{' ...' * (len(who) > 4)} ({hosts[who[0]]})" for value, who in ranks.items())]
