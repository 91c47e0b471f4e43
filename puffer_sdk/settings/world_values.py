"""What worlds draw, and when.  "1..4 then 1..8 from 30%" -> stages of a Drawn, or one value

    8                   one value, as [env] has it
    1..8                each world draws one of 1, 2, ... 8
    0.0..0.5            each draws a number from 0 up to 0.5: one of the bounds has a point
    5 | 7 | 11          each draws one of these
    1..2 then 1..8 from 30% then 1..16 from 2_000_000       another one, from these agent steps on;
                                                            % are of train.total_timesteps
"""
from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random
from typing import NamedTuple, TypedDict

from .texts import env_value, literal, parse_number, show

Plain = bool | int | float | str | None


class Change(TypedDict):
    """One call of set(), JSON-able: made after so many ticks.

    envs    [first, count] of each run of envs; None: of all
    """

    tick: int
    key: str
    value: str
    envs: list[list[int]] | None


@dataclass(frozen=True)
class Drawn:
    """What each world draws anew.

    low, high   both included where `whole`; of choices 0
    choices     one of these, where there are any
    """

    text: str
    low: float = 0.0
    high: float = 0.0
    whole: bool = False
    choices: tuple[Plain, ...] = ()

    def draw(self, dice: Random) -> Plain:
        if self.choices:
            return self.choices[dice.randrange(len(self.choices))]
        if self.whole:
            return dice.randint(int(self.low), int(self.high))
        return self.low + (self.high - self.low) * dice.random()

    @property
    def samples(self) -> tuple[Plain, ...]:
        """All choices, or both ends."""
        ends = (int(self.low), int(self.high)) if self.whole else (self.low, self.high)
        return self.choices or ends


class Stage(NamedTuple):
    """From an agent step, or a share of all, on."""

    value: Plain | Drawn
    step: int = 0
    share: float = 0.0

    def begins(self, total: int) -> int:
        return self.step or round(self.share * total)


ONE = "a value, a range such as 1..8, or choices such as 5 | 7"
EXPECTED = f"{ONE}; or several, as in 1..2 then 1..8 from 30%"


def parse(text: str, *, python: bool = False) -> Plain | Drawn:
    """One stage's value. Raises ValueError with a reason.

    python      a value is a keyword of a Python environment: any literal
    """
    def plain(part: str) -> Plain:
        part = part.strip()
        if not part:
            raise ValueError("a value is missing")
        if python:
            found = literal(part)
            if not isinstance(found, (bool, int, float, str, type(None))):
                raise ValueError(f"'{part}' is neither a number nor a text")
            return found
        try:
            return env_value(part, free=bool(re.fullmatch(r"[^.|]*,[^|]*", part)))
        except ValueError:
            raise ValueError(f"'{part}' is not a number") from None

    if "|" in text:
        return Drawn(text.strip(), choices=tuple(plain(part) for part in text.split("|")))
    if ".." not in text:
        return plain(text)
    ends = [part.strip() for part in text.split("..", 1)]
    try:
        low, high = map(parse_number, ends)
    except ValueError:
        raise ValueError(f"'{text.strip()}' is not a range, such as 1..8") from None
    if not low <= high:
        raise ValueError(f"the range {text.strip()} begins above its end")
    whole = not any(re.search(r"[.eE]", end) for end in ends)
    if whole and high - low >= 2**31:
        raise ValueError(f"the range {text.strip()} is too wide")
    return Drawn(text.strip(), float(low), float(high), whole)


def parse_stages(text: str, *, python: bool = False) -> list[Stage]:
    """Stages in order; the first begins at step 0. Raises ValueError with a reason."""
    stages: list[Stage] = []
    for part in re.split(r"\s+then\s+", text.strip()):
        value, _, since = part.partition(" from ")
        found = parse(value, python=python)
        if bool(since) != bool(stages):
            raise ValueError("all stages but the first say when they begin: from 30%, or from "
                             "2_000_000")
        since, share, step = since.strip(), 0.0, 0
        try:
            if since.endswith("%"):
                share = parse_number(since[:-1]) / 100
            elif since:
                step = int(parse_number(since))
        except ValueError:
            raise ValueError(f"'{since}' is no share such as 30%, and no number of agent "
                             "steps") from None
        stage = Stage(found, step, share)
        if stages and not (0 < share <= 1 or step > 0):
            raise ValueError(f"'{since}' is not after the start and within the run")
        last = stages[-1] if stages else stage
        if (last.step and step and step <= last.step) or (last.share and share
                                                          and share <= last.share):
            raise ValueError("a stage begins before the one that it follows")
        stages.append(stage)
    return stages


def value_at(stages: list[Stage], step: int, total: int) -> Plain | Drawn:
    """What holds at this agent step of so many."""
    return [stage.value for stage in stages if stage.begins(total) <= step][-1]


def shown(value: Plain | Drawn) -> str:
    """As the ini has it; parse(shown(x)) == x."""
    return value.text if isinstance(value, Drawn) else show(value)
