"""The proof of an environment that was rewritten in another form: it plays the same bytes."""
from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping
from pathlib import Path

from ..base import files, paths, ui
from ..base.errors import BuildError
from ..base.spec import Spec
from ..settings.values import Config
from . import ocean


def prove(spec: Spec, settings: Config, new: Mapping[str, str], form: str,
          gone: Collection[str] = ()) -> None:
    """Build these files beside the environment's others, and play both.

    gone    files of the environment that the new ones replace
    Raises BuildError where they do not compile, or do not play as the environment does.
    """
    folder = spec.folder
    with files.private("puffer-upgrade-") as scratch:
        home = Path(scratch) / "tree" / "ocean" / folder.name
        shutil.copytree(folder, home, ignore=shutil.ignore_patterns("build", "runs", ".git", *gone))
        for name, text in new.items():
            files.write(home / name, text.encode())
        _bring_checkout(folder, home.parents[1])
        try:
            with ui.without_warnings():         # of the same ini, which has been read
                ocean.compare(folder, spec, settings, home, Path(scratch), "the rewritten header")
        except BuildError as error:
            raise BuildError(f"no rule rewrites this environment: {error.message}",
                             where=spec.header, expected=error.expected, actual=error.actual,
                             detail=error.detail,
                             hint=f"nothing was written; what {form} calls what: "
                                  + paths.page("tutorials/pufferlib5.md")) from None


def _bring_checkout(folder: Path, tree: Path) -> None:
    """What an environment TREE/ocean/NAME finds beside ocean/: its ini, headers and resources."""
    if folder.parent.name == "ocean":
        for name in ("config", "src", "vendor", "resources"):
            if (folder.parents[1] / name).is_dir():
                (tree / name).symlink_to(folder.parents[1] / name)
