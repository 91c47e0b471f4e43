"""The types of debugging: a Failure to stop at, and a debugger's Diagnosis of it."""
from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ..checking.prove import replaying


@dataclass(frozen=True)
class Watch:
    """An element that becomes wrong inside the step: a hardware watchpoint waits for it."""

    place: str          # as C
    wrong: str          # the condition, as C
    said: str           # printed when it holds


@dataclass(frozen=True)
class Failure:
    """A repro program that fails, compiled to be debugged."""

    program: replaying.Program
    executable: Path
    optimised: bool     # it fails only with -O1
    said: str           # PUF203, step 5: c_step went outside ...
    step: int
    phase: str          # the function to stop in: c_step, c_reset, init, my_init or c_close
    argument: str       # what that function calls its env
    env: int
    agent: int
    hangs: bool         # it did not return in time
    watch: Watch | None

    @property
    def on_threads(self) -> bool:
        return self.program.expect == "same-on-threads"


@dataclass(frozen=True)
class Frame:
    """One call on the stack, of the author's code."""

    number: int
    function: str
    file: str           # relative to the environment's folder
    line: int
    locals: list[str]

    def to_dict(self) -> dict[str, object]:
        return {"function": self.function, "file": self.file, "line": self.line,
                "locals": self.locals}


@dataclass(frozen=True)
class Diagnosis:
    """The fault as the debugger sees it."""

    failure: Failure
    frames: list[Frame]             # innermost first
    inside: bool                    # the frames are the fault's, not those of the step's beginning
    watched: bool                   # it stopped after the line that changed a watched value
    state: dict[str, str] = field(default_factory=dict)     # env, actions, rewards, ...

    def to_dict(self) -> dict[str, object]:
        failure = self.failure
        return {"repro": str(failure.program.source), "fails": True, "said": failure.said,
                "step": failure.step, "env": failure.env, "agent": failure.agent,
                "phase": failure.phase, "stack": [frame.to_dict() for frame in self.frames],
                "at_the_fault": self.inside, "state": self.state}
