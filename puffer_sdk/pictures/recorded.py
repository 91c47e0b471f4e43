"""What `eval` prints for programs, with what it recorded."""
from __future__ import annotations

from typing import Annotated, TypedDict

from ..base.documents import says
from ..policy.evaluate import Evaluated


class RecordingRow(TypedDict):
    """What was recorded."""

    env: Annotated[str, says("what was played")]
    paths: Annotated[list[str], says("the files")]
    policies: Annotated[list[str], says("from left to right")]
    fps: Annotated[float, says("ticks per second")]
    width: Annotated[int, says("in pixels")]
    height: Annotated[int, says("in pixels")]
    frames: Annotated[int, says("one per tick; a GIF above 50 fps shows every nth of them")]
    episodes: Annotated[list[dict[str, str | float]], says("that ended in visible envs")]
    unfinished: Annotated[list[str], says("policies whose picture ends within an episode")]
    ticks: Annotated[dict[str, int], says("of each policy")]
    missing: Annotated[list[str], says(
        "paths of textures in whose place a pattern is shown")]
    seconds: Annotated[float, says("how long it plays")]


class EvalDocument(Evaluated, total=False):
    """The result of `eval`; without `recording`, of episodes.json."""

    recording: Annotated[RecordingRow, says("of --gif, --mp4 and --frames")]
