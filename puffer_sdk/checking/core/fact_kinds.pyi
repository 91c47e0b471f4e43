"""The fields of facts, as `make docs-tables` reads them from play/facts.def."""
from dataclasses import dataclass

from ..collect.c.frames import Frame
from .kinds import Fact

@dataclass(frozen=True, kw_only=True)
class LoadedFact(Fact):
    base: int

@dataclass(frozen=True, kw_only=True)
class FailedFact(Fact):
    text: str
    reason: int
    a: int
    b: int
    name: str

@dataclass(frozen=True, kw_only=True)
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

@dataclass(frozen=True, kw_only=True)
class CrashFact(InsideFact):
    signal: int
    address: int
    pc: int
    array: str | None = ...
    owner: int | None = ...
    past: int | None = ...
    bytes: int | None = ...
    write: int | None = ...
    heap: str | None = ...
    heap_size: int | None = ...
    heap_past: int | None = ...
    heap_write: int | None = ...

@dataclass(frozen=True, kw_only=True)
class AbortFact(InsideFact):
    signal: int
    address: int
    pc: int

@dataclass(frozen=True, kw_only=True)
class ExitFact(InsideFact):
    ...

@dataclass(frozen=True, kw_only=True)
class HangFact(InsideFact):
    seconds: float

@dataclass(frozen=True, kw_only=True)
class AsanFact(InsideFact):
    ...

@dataclass(frozen=True, kw_only=True)
class UbsanFact(InsideFact):
    ...

@dataclass(frozen=True, kw_only=True)
class MsanFact(InsideFact):
    ...

@dataclass(frozen=True, kw_only=True)
class SharedFreeFact(InsideFact):
    array: str
    call: str

@dataclass(frozen=True, kw_only=True)
class SharedMemoryFact(InsideFact):
    write: int

@dataclass(frozen=True, kw_only=True)
class ActionsWriteFact(InsideFact):
    pc: int

@dataclass(frozen=True, kw_only=True)
class LeakFact(InsideFact):
    how: str
    replaced: int
    blocks: int
    bytes: int
    envs: int
    resets: int

@dataclass(frozen=True, kw_only=True)
class OutsideFact(InsideFact):
    call: str
    what: str
    denied: str

@dataclass(frozen=True, kw_only=True)
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

@dataclass(frozen=True, kw_only=True)
class HeadFact(Fact):
    head: int
    width: int

@dataclass(frozen=True, kw_only=True)
class CostFact(Fact):
    seconds: float
    reset: float
    yardstick: float
    init: float

@dataclass(frozen=True, kw_only=True)
class ResidentFact(Fact):
    bytes: int

@dataclass(frozen=True, kw_only=True)
class SeenAtFact(Fact):
    element: int
    count: int
    step: int
    env: int
    agent: int
    value: float | str
    largest: float | str

@dataclass(frozen=True, kw_only=True)
class ObsNotFiniteFact(SeenAtFact):
    ...

@dataclass(frozen=True, kw_only=True)
class ObsScaleFact(SeenAtFact):
    ...

@dataclass(frozen=True, kw_only=True)
class ObsBoundsFact(SeenAtFact):
    ...

@dataclass(frozen=True, kw_only=True)
class KeptFact(Fact):
    rows: int

@dataclass(frozen=True, kw_only=True)
class ActionsFact(Fact):
    head: int
    width: int
    seen: int

@dataclass(frozen=True, kw_only=True)
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

@dataclass(frozen=True, kw_only=True)
class RewardNotFiniteFact(SeenAtFact):
    ...

@dataclass(frozen=True, kw_only=True)
class RewardScaleFact(SeenAtFact):
    ...

@dataclass(frozen=True, kw_only=True)
class MaskEmptyFact(SeenAtFact):
    ...

@dataclass(frozen=True, kw_only=True)
class TerminalValueFact(SeenAtFact):
    ...

@dataclass(frozen=True, kw_only=True)
class TruncationValueFact(SeenAtFact):
    ...

@dataclass(frozen=True, kw_only=True)
class TruncationAloneFact(SeenAtFact):
    ...

@dataclass(frozen=True, kw_only=True)
class AliveValueFact(SeenAtFact):
    ...

@dataclass(frozen=True, kw_only=True)
class AgentsCountFact(SeenAtFact):
    ...

@dataclass(frozen=True, kw_only=True)
class RowsCountFact(SeenAtFact):
    ...

@dataclass(frozen=True, kw_only=True)
class LogRangeFact(SeenAtFact):
    ...

@dataclass(frozen=True, kw_only=True)
class LogNotFiniteFact(SeenAtFact):
    ...

@dataclass(frozen=True, kw_only=True)
class SampleFact(Fact):
    name: str
    seen: int
    count: int
    low: float
    high: float
    mean: float

@dataclass(frozen=True, kw_only=True)
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

@dataclass(frozen=True, kw_only=True)
class LoggedFact(Fact):
    element: int
    entries: int
    low: float
    high: float
    before: int

@dataclass(frozen=True, kw_only=True)
class GoalsFact(Fact):
    later: int
    running: int
    env: int
    step: int

@dataclass(frozen=True, kw_only=True)
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

@dataclass(frozen=True, kw_only=True)
class SilenceFact(Fact):
    stuck: int
    agents: int
    env: int
    agent: int
    step: int
    steps: int
    gap: int
    early: int
    late: int
    ceased: int

@dataclass(frozen=True, kw_only=True)
class FinishesFact(Fact):
    gained: int
    even: int
    lost: int

@dataclass(frozen=True, kw_only=True)
class LockstepFact(Fact):
    locked: int
    ends: int
    length: int
    envs: int

@dataclass(frozen=True, kw_only=True)
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

@dataclass(frozen=True, kw_only=True)
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

@dataclass(frozen=True, kw_only=True)
class RestartsFact(Fact):
    by: int
    restarts: int
    hidden: int
    step: int
    env: int
    agent: int

@dataclass(frozen=True, kw_only=True)
class GrownFact(Fact):
    name: str
    judged: int
    grown: int
    back: int
    env: int
    step: int
    logged: float
    measured: float

@dataclass(frozen=True, kw_only=True)
class OpeningFact(Fact):
    tells: int
    old: int
    element: int

@dataclass(frozen=True, kw_only=True)
class GuardedFact(Fact):
    layout: int
    steps: int

@dataclass(frozen=True, kw_only=True)
class OverrunFact(Fact):
    array: str
    env: int
    step: int
    past: int
    bytes: int
    phase: str

@dataclass(frozen=True, kw_only=True)
class ActionsWrittenFact(Fact):
    count: int
    env: int
    agent: int
    head: int
    step: int
    was: float | str
    became: float | str

@dataclass(frozen=True, kw_only=True)
class PackedFact(Fact):
    steps: int

@dataclass(frozen=True, kw_only=True)
class CountedFact(Fact):
    sites: int
    envs: int
    overfull: int

@dataclass(frozen=True, kw_only=True)
class StoreFact(Fact):
    pc: int
    varies: int
    valued: int
    elements: list[list[int]]

@dataclass(frozen=True, kw_only=True)
class StoredFact(Fact):
    steps: int

@dataclass(frozen=True, kw_only=True)
class ColumnFact(Fact):
    element: int
    entries: int
    above: int
    below: int
    zero: int
    odd: int

@dataclass(frozen=True, kw_only=True)
class WordFact(Fact):
    at: int
    moves: int
    flips: int
    bits: int
    again: int

@dataclass(frozen=True, kw_only=True)
class DrawsFact(Fact):
    at: int
    moves: int
    hash: int

@dataclass(frozen=True, kw_only=True)
class TracedFact(Fact):
    envs: int
    steps: int

@dataclass(frozen=True, kw_only=True)
class ScriptFact(Fact):
    agents: int
    all: int

@dataclass(frozen=True, kw_only=True)
class LeftFact(Fact):
    agent: int
    element: int
    env: int
    touched: int
    derived: int

@dataclass(frozen=True, kw_only=True)
class PoisonedFact(Fact):
    rounds: int
    cells: int

@dataclass(frozen=True, kw_only=True)
class StaleFact(Fact):
    array: str
    count: int
    total: int
    step: int
    env: int
    agent: int

@dataclass(frozen=True, kw_only=True)
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

@dataclass(frozen=True, kw_only=True)
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

@dataclass(frozen=True, kw_only=True)
class RewrittenFact(Fact):
    steps: int

@dataclass(frozen=True, kw_only=True)
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

@dataclass(frozen=True, kw_only=True)
class EffectFact(Fact):
    head: int
    width: int
    values: int
    rates: list[float]
    same: list[list[int]]
    never: list[int]

@dataclass(frozen=True, kw_only=True)
class ReachFact(Fact):
    head: int
    agent: int
    tested: int
    moved: int

@dataclass(frozen=True, kw_only=True)
class NotFreshFact(Fact):
    env: int
    array: str
    agent: int
    element: int
    after: int
    step: int
    played: str
    fresh: str

@dataclass(frozen=True, kw_only=True)
class OldWordsFact(Fact):
    words: list[list[int]]
    known: int

@dataclass(frozen=True, kw_only=True)
class SecretFact(Fact):
    index: int
    agent: int
    tests: int
    leaks: int
    step: int
    env: int
    seer: int
    element: int

@dataclass(frozen=True, kw_only=True)
class OpeningsFact(Fact):
    tests: int
    lost: int
    fixed: int
    tries: int
    env: int

@dataclass(frozen=True, kw_only=True)
class ReseededFact(Fact):
    endings: int
    tests: int
    told: int
    blind: int
    step: int
    env: int

@dataclass(frozen=True, kw_only=True)
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

@dataclass(frozen=True, kw_only=True)
class AgainFact(Fact):
    tests: int
    same: int
    by_seed: int
    envs: int
    kept: int
    others: int

@dataclass(frozen=True, kw_only=True)
class MaskRowFact(Fact):
    agent: int
    steps: int
    written: int
    ends: int
    ends_written: int
    env: int
    step: int

@dataclass(frozen=True, kw_only=True)
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

@dataclass(frozen=True, kw_only=True)
class MaskByteFact(MaskingFact):
    beside: int
    like: int

@dataclass(frozen=True, kw_only=True)
class MaskTruthFact(MaskingFact):
    agent: int
    start: int
    late_acts: int
    late_idle: int
    spoiled: int

@dataclass(frozen=True, kw_only=True)
class AnswerFact(Fact):
    agent: int
    head: int
    row: int
    tested: int
    any: int
    seen: int
    paid: int
    ended: int

@dataclass(frozen=True, kw_only=True)
class ViewFact(Fact):
    agent: int
    row: int
    theirs: int
    own: int

@dataclass(frozen=True, kw_only=True)
class LoneEndFact(Fact):
    agent: int
    row: int
    ends: int
    left: int
    jumps: int
    jump: float
    usual: float

@dataclass(frozen=True, kw_only=True)
class CrossedFact(Fact):
    forks: int
    empty: int
    filled: int
    paid: int
    nobody: int
    step: int
    env: int
    agent: int

@dataclass(frozen=True, kw_only=True)
class PlaceFact(Fact):
    agent: int
    what: str
    element: int
    mean: float
    others: float
    scale: float
    t: float

@dataclass(frozen=True, kw_only=True)
class PrizeFact(Fact):
    won: float | str
    both: int
    alone: int

@dataclass(frozen=True, kw_only=True)
class TieFact(Fact):
    agent: int
    other: int
    first: int
    second: int

@dataclass(frozen=True, kw_only=True)
class SameViewFact(Fact):
    agent: int
    other: int
    moments: int
    told: int

@dataclass(frozen=True, kw_only=True)
class PlacesFact(Fact):
    envs: int
    steps: int

@dataclass(frozen=True, kw_only=True)
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
