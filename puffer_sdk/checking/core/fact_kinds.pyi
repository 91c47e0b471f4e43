"""The fields of facts, as `make docs-tables` reads them from play/facts.def."""
from dataclasses import dataclass

from ..collect.c.frames import Frame
from .kinds import Fact

class LoadedFact(Fact):
    base: int

class FailedFact(Fact):
    text: str
    reason: int
    a: int
    b: int
    name: str

class EndFact(Fact):
    ...

@dataclass(frozen=True, kw_only=True)
class InsideFact(Fact):
    phase: str
    env: int
    step: int
    seed: int
    stack: list[int]
    frames: tuple[Frame, ...] = ...
    frame: Frame | None = ...

class CrashFact(InsideFact):
    signal: int
    address: int
    pc: int
    array: str | None = ...
    past: int | None = ...
    bytes: int | None = ...
    write: int | None = ...
    heap: str | None = ...
    heap_size: int | None = ...
    heap_past: int | None = ...
    heap_write: int | None = ...

class AbortFact(InsideFact):
    signal: int
    address: int
    pc: int

class ExitFact(InsideFact):
    ...

class HangFact(InsideFact):
    seconds: float

class AsanFact(InsideFact):
    ...

class UbsanFact(InsideFact):
    ...

class MsanFact(InsideFact):
    ...

class SharedFreeFact(InsideFact):
    array: str
    call: str

class SharedMemoryFact(InsideFact):
    write: int

class ActionsWriteFact(InsideFact):
    pc: int

class LeakFact(InsideFact):
    how: str
    replaced: int
    blocks: int
    bytes: int
    envs: int
    resets: int

class OutsideFact(InsideFact):
    call: str
    what: str
    denied: str

class ShapeFact(Fact):
    dtype: str
    obs_size: int
    heads: int
    mask: int
    truncations: int
    alive: int
    whole_steps: int
    agents: int
    envs: int
    env_agents: int

class HeadFact(Fact):
    head: int
    width: int

class CostFact(Fact):
    seconds: float
    reset: float
    yardstick: float
    init: float

class ResidentFact(Fact):
    bytes: int

class SeenAtFact(Fact):
    element: int
    count: int
    step: int
    env: int
    agent: int
    value: float | str
    largest: float | str

class ObsNotFiniteFact(SeenAtFact):
    ...

class ObsScaleFact(SeenAtFact):
    ...

class ObsBoundsFact(SeenAtFact):
    ...

class KeptFact(Fact):
    rows: int

class ActionsFact(Fact):
    head: int
    width: int
    seen: int

class CircleFact(Fact):
    element: int
    changes: int
    near: int
    over: int
    under: int
    jumps: int
    low: int
    high: int
    distinct: int
    usually: int
    rounds: int
    step: int
    env: int
    agent: int
    before: int
    after: int

class RewardNotFiniteFact(SeenAtFact):
    ...

class RewardScaleFact(SeenAtFact):
    ...

class MaskEmptyFact(SeenAtFact):
    ...

class TerminalValueFact(SeenAtFact):
    ...

class TruncationValueFact(SeenAtFact):
    ...

class TruncationAloneFact(SeenAtFact):
    ...

class AliveValueFact(SeenAtFact):
    ...

class AgentsCountFact(SeenAtFact):
    ...

class RowsCountFact(SeenAtFact):
    ...

class LogRangeFact(SeenAtFact):
    ...

class LogNotFiniteFact(SeenAtFact):
    ...

class SampleFact(Fact):
    name: str
    seen: int
    count: int
    low: float
    high: float
    mean: float

class EntriesFact(Fact):
    name: str
    judged: int
    matched: int
    skip: int
    lag: float
    low: float
    high: float
    env: int
    step: int
    logged: float
    measured: float

class LoggedFact(Fact):
    element: int
    entries: int
    low: float
    high: float
    before: int

class GoalsFact(Fact):
    later: int
    running: int
    env: int
    step: int

class OmittedFact(Fact):
    endings: int
    partial: int
    unlogged: int
    summed: int
    elsewhere: int
    after: int
    own: int
    all: int
    theirs: int
    others: int
    left: int
    step: int
    env: int

class SilenceFact(Fact):
    stuck: int
    agents: int
    env: int
    agent: int
    step: int
    steps: int
    early: int
    late: int
    ceased: int

class FinishesFact(Fact):
    gained: int
    even: int
    lost: int

class LockstepFact(Fact):
    locked: int
    ends: int
    length: int
    envs: int

class RunFact(Fact):
    envs: int
    agents: int
    steps: int
    lived: int
    rewards: int
    terminals: int
    truncations: int
    logged: float
    rounds: int
    entries: int
    goals: int

class EndingsFact(Fact):
    endings: int
    kept: int
    stayed: int
    stayed_next: int
    grown: int
    part: int
    resets: int
    late: int
    late_played: int
    late_step: int
    late_env: int
    draws: int
    plain: int
    noisy: int
    frozen: int
    called: int
    env: int
    step: int
    unlike: int

class RestartsFact(Fact):
    by: int
    restarts: int
    hidden: int
    step: int
    env: int
    agent: int

class GrownFact(Fact):
    name: str
    judged: int
    grown: int
    back: int
    env: int
    step: int
    logged: float
    measured: float

class OpeningFact(Fact):
    tells: int
    old: int

class GuardedFact(Fact):
    steps: int

class OverrunFact(Fact):
    array: str
    env: int
    step: int
    past: int
    bytes: int
    phase: str

class ActionsWrittenFact(Fact):
    env: int
    agent: int
    head: int
    step: int
    was: float | str
    became: float | str

class PackedFact(Fact):
    steps: int

class CountedFact(Fact):
    envs: int
    overfull: int

class StoreFact(Fact):
    varies: int
    valued: int
    elements: list[list[int]]

class StoredFact(Fact):
    ...

class ColumnFact(Fact):
    element: int
    entries: int
    above: int
    below: int
    zero: int
    odd: int

class WordFact(Fact):
    at: int
    moves: int
    flips: int
    bits: int
    again: int

class DrawsFact(Fact):
    at: int
    moves: int
    hash: int

class TracedFact(Fact):
    envs: int
    steps: int

class ScriptFact(Fact):
    agents: int
    all: int

class LeftFact(Fact):
    agent: int
    element: int
    env: int
    touched: int
    derived: int

class StaleFact(Fact):
    array: str
    count: int
    total: int
    step: int
    env: int
    agent: int

class CellFact(Fact):
    agent: int
    element: int
    seen: int
    written: int
    changed: int
    reverted: int
    fell: int
    rose: int
    varied: int
    held: int
    retold: int
    filled: int
    emptied: int

class RowFact(Fact):
    agent: int
    steps: int
    blank: int
    full: int
    blank_moved: int
    step: int
    env: int
    tried: int
    shown: int
    ends: int
    blank_ends: int
    came: int
    blank_came: int
    own: int
    blank_own: int
    resumed: int
    calm: int
    calm_changed: int

class RewrittenFact(Fact):
    steps: int

class MirrorFact(Fact):
    agent: int
    element: int
    word: list[int]
    seen: int
    frozen: int
    stuck: int
    ends: int
    ends_old: int
    alone: int
    alone_old: int
    step: int
    env: int
    value: float
    expected: float
    scale: float
    shift: float
    is_float: int

class EffectFact(Fact):
    head: int
    width: int
    values: int
    rates: list[float]
    same: list[list[int]]
    never: list[int]

class ReachFact(Fact):
    head: int
    agent: int
    tested: int
    moved: int

class NotFreshFact(Fact):
    env: int
    array: str
    agent: int
    element: int
    after: int
    step: int
    played: str
    fresh: str

class OldWordsFact(Fact):
    words: list[list[int]]
    known: int

class SecretFact(Fact):
    index: int
    agent: int
    tests: int
    leaks: int
    step: int
    env: int
    seer: int
    element: int

class OpeningsFact(Fact):
    tests: int
    lost: int
    fixed: int
    tries: int
    env: int

class ReseededFact(Fact):
    told: int
    blind: int
    step: int
    env: int

class FinalsFact(Fact):
    cuts: int
    blank: int
    blank_step: int
    blank_env: int
    blank_agent: int
    moved: int
    next: int
    step: int
    env: int
    agent: int
    left: int
    left_first: int
    left_last: int

class AgainFact(Fact):
    tests: int
    same: int
    by_seed: int
    envs: int
    kept: int
    others: int

class MaskRowFact(Fact):
    agent: int
    steps: int
    written: int
    ends: int
    ends_written: int
    env: int
    step: int

class MaskingFact(Fact):
    action: int
    head: int
    value: int
    legal_acts: int
    legal_idle: int
    forbidden_acts: int
    forbidden_idle: int
    twin: int
    twin_acts: int
    twin_idle: int
    twin_wrong: int

class MaskByteFact(MaskingFact):
    beside: int
    like: int

class MaskTruthFact(MaskingFact):
    agent: int
    start: int
    late_acts: int
    late_idle: int
    spoiled: int

class AnswerFact(Fact):
    agent: int
    head: int
    row: int
    tested: int
    any: int
    seen: int
    paid: int

class ViewFact(Fact):
    agent: int
    row: int
    theirs: int
    own: int

class LoneEndFact(Fact):
    agent: int
    row: int
    ends: int
    left: int
    jumps: int
    jump: float
    usual: float

class CrossedFact(Fact):
    empty: int
    filled: int
    paid: int
    nobody: int
    step: int
    env: int
    agent: int

class PlaceFact(Fact):
    agent: int
    what: str
    element: int
    mean: float
    others: float
    scale: float
    t: float

class PrizeFact(Fact):
    won: float | str
    both: int
    alone: int

class TieFact(Fact):
    agent: int
    other: int
    first: int
    second: int

class SameViewFact(Fact):
    agent: int
    other: int
    moments: int
    told: int

class SiteFact(Fact):
    site: int
    count: int
    outside: int
    first: int
    zeros: int
    ones: int
    inexact: int
    nearly: int
    beyond: int
    low: int
    high: int
    again: int
