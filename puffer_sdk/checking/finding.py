"""One fault that a rule found: where, what was expected, how to see it again."""
from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Finding:
    """One fault. Places are those of the environment's files, relative to its folder."""

    code: str
    message: str
    file: str | None = None
    line: int | None = None
    env: int | None = None
    agent: int | None = None
    step: int | None = None
    element: int | str | None = None        # "3-7" for a range
    expected: object = None
    actual: object = None
    seed: int | None = None
    repro: str | None = None
    hint: str | None = None
    severity: str = ""                      # "" = the rule's
    name: str = ""                          # the rule's; filled in with `severity`
    stack: list[str] = field(default_factory=list)
    seen_in: str = ""                       # the experiment that showed it; "" = from the source
    shows: dict = field(default_factory=dict)   # what the code alone does not tell proof.py
    fields: list[str] = field(default_factory=list)     # of the struct that differ, with values
    repro_steps: int = 0                    # of the repro's script
    remedy: str = ""                        # what --fix goes by: a key, or an array

    KEYS = ("code", "name", "severity", "message", "file", "line", "env", "agent", "step",
            "element", "expected", "actual", "seed", "repro")

    def to_dict(self) -> dict:
        return {key: getattr(self, key) for key in self.KEYS}

    def order(self) -> tuple:
        """Findings are listed in this order, whatever order they were found in."""
        return (self.severity != "error", self.code, self.file or "", self.line or 0,
                self.agent if self.agent is not None else -1, self.step or 0, self.message)
