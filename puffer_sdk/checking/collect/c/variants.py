"""Other values of each [env] key: short plays, which rules/settings.py reads.

Sizes (integers) are doubled, taken eight times (large ones three times) and halved, under
sanitizers and between guards; other keys are doubled and halved. A key that seems to change nothing
is given small values, and then long plays, before it is reported. Nothing negative, and no zero
where there was none, is counted against the env.
"""
import re
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from ....base import files
from ....base.spec import SCALARS
from ...core.fact_kinds import TracedFact
from ...core.facts import Facts, Variant
from .driver import FAST, SANITIZED, Kind
from .jobs import Job, Lab

SMALL = 64              # sizes up to which eight times as much is not absurd
ENOUGH = 16             # keys, from which on each gets less
LARGE = 8               # integers from which on a key is taken for a size
LONG = 16               # times as many steps for a key that seems to change nothing
SLOW = 0.03             # seconds of an init and a reset, from which on there is one env, of one
#                         other value for each key
PATIENCE, SHORTER = 10, 6   # times the seconds of the ini's own values; of slow ones; and
BRIEF, LONGEST = 1.5, 30.0      # of computing: what no play is denied, and what none is given
_FLOATS = ("float", "double")


class Variants:
    """Starts the short plays; conclude() waits for them and looks at what they leave open."""

    def __init__(self, plan: Lab, pool: ThreadPoolExecutor):
        self.plan, self.pool, self.facts = plan, pool, plan.facts
        self.jobs: list[Future[Variant]] = []
        # kind, steps -> the ini's own values
        self.bases: dict[tuple[str, int], Future[Variant]] = {}
        self.known = Keys(self.facts)
        if not self.facts.outcomes["probe"].ended or not self.known.keys:
            return
        s = plan.sizes
        self.slow = s.init_seconds + s.reset_seconds > SLOW
        share = 2.0 / max(3 * len(self.known.keys), 8)
        self.steps = s.steps(2, 1024, share, slower=6)
        for key, value in self.known.keys.items():
            kind = self.kind_for(key)
            others = self.known.first_values(key, value, len(self.known.keys) >= ENOUGH)
            for other in others[:1] if self.slow else others:
                self.start(kind, key, other, self.steps)

    def kind_for(self, key: str) -> Kind:
        sized = self.known.is_size(key) and SANITIZED.name in self.plan.built
        return SANITIZED if sized else FAST

    def start(self, kind: Kind, key: str, value: float, steps: int) -> None:
        self.compare_with(kind, steps)
        self.jobs.append(self.pool.submit(self.play, kind, key, value, steps))

    def compare_with(self, kind: Kind, steps: int) -> None:
        """The play that others of this kind and length are compared with, once."""
        if (kind.name, steps) not in self.bases:
            self.bases[kind.name, steps] = self.pool.submit(self.play, kind, None, 0.0, steps)

    def play(self, kind: Kind, key: str | None, value: float, steps: int) -> Variant:
        plan = self.plan
        name = f"setting-{kind.name}-{key}-{value:g}-{steps}"
        program, library = plan.built[kind.name]
        hashes = plan.folder / f"{name}.u64"
        envs = 8 if "MY_VEC_INIT" in self.known.binding else 1 if self.slow else 2
        limit = LONGEST
        if key:                         # its base began before
            own = self.bases[kind.name, steps].result().outcome.computed
            limit = min(max((SHORTER if self.slow else PATIENCE) * own, BRIEF), LONGEST)
        outcome = plan.runner.run(name, program, library, "setting", envs=envs, limit=limit,
                                  agents=self.facts.agents, steps=steps,
                                  hashes=hashes, settings={key: value} if key else {})
        plan.ran[name], plan.libraries[name] = Job(name, kind, "setting", {}), library
        traced = outcome.first(TracedFact)
        trace = None
        if outcome.ended and traced and hashes.is_file():
            trace = np.fromfile(hashes, np.uint64).reshape(-1, traced.envs)
            files.remove(hashes)
        return Variant(key, value, outcome, trace)

    def conclude(self) -> None:
        """Fill facts.variants, and facts.without_effect with the keys that change nothing."""
        idle = [key for key in self.take() if self.known.may_matter(key)]
        for stage in ("small", "long"):
            if not idle:
                return
            for key in idle:
                value = self.known.keys[key]
                if stage == "small":
                    for other in self.known.small_values(key, value):
                        self.start(FAST, key, other, self.steps)
                else:
                    for other in self.known.first_values(key, value, True):
                        self.start(FAST, key, other, LONG * self.steps)
            still = self.take()
            idle = [key for key in idle if key in still]
        self.facts.without_effect = idle

    def take(self) -> list[str]:
        """Wait for what was started; the keys of it that made no difference."""
        played = [job.result() for job in self.jobs]
        bases = {where: job.result() for where, job in self.bases.items()}
        self.jobs = []
        self.facts.variants += [base for base in bases.values()
                                if all(base is not known for known in self.facts.variants)]
        self.facts.variants += played
        matters: dict[str | None, bool] = {}
        for variant in played:
            kind, steps = self.plan.ran[variant.outcome.name].kind, len(variant.trace) - 1 \
                if variant.trace is not None else -1
            base = bases.get((kind.name, steps))
            same = base is not None and base.trace is not None and \
                variant.trace is not None and np.array_equal(variant.trace, base.trace)
            matters[variant.key] = matters.get(variant.key, False) or not same
        return [key for key, matter in matters.items() if key is not None and not matter]


class Keys:
    """The [env] keys that something reads, and what the source does with each."""

    def __init__(self, facts: Facts):
        self.facts = facts
        self.types = {field.name: field.type for field in facts.known_spec.settable}
        self.text = {name: text for name, text in facts.source.files.items()
                     if name.endswith(".h") or name == facts.source.binding}
        given = facts.config.env if facts.config else {}
        self.keys = {key: float(value) for key, value in given.items() if self.is_read(key)}

    def is_read(self, key: str) -> bool:
        if not self.facts.handwritten:
            return key in self.types
        return f'"{key}"' in self.facts.source.binding_text

    @property
    def binding(self) -> str:
        return self.facts.source.binding_text if self.facts.handwritten else ""

    def fields(self, key: str) -> list[str]:
        """The struct's fields that hold this key."""
        if not self.facts.handwritten:
            return [key]
        return re.findall(rf'(?:->|\.)\s*(\w+)\s*=[^;=]*"{re.escape(key)}"', self.binding)

    def is_size(self, key: str) -> bool:
        """An integer that counts something: not the number of a level, which a table is indexed
        by. Where the source does not tell, a large one is taken for a count."""
        value = self.keys[key]
        if value != int(value) or value < 1 or self.types.get(key) in (*_FLOATS, "bool", "_Bool"):
            return False
        text = "\n".join(self.text.values())
        field = rf"\w+\s*(?:->|\.)\s*(?:{'|'.join(self.fields(key)) or '$'})\b"
        if re.search(rf"(?:<=?|[-+*%]|\(size_t\))\s*{field}|{field}\s*[-+*%]", text):
            return True
        picks = re.search(rf"\[\s*{field}\s*\]|\bswitch\s*\(\s*{field}\s*\)", text)
        return value >= LARGE and not picks

    def first_values(self, key: str, value: float, few: bool) -> list[float]:
        if self.is_size(key):
            large = 8 * value if value <= SMALL else 3 * value
            return self.allowed(key, [2 * value, value // 2] if few else
                                [2 * value, large, value // 2], least=1)
        if self.is_flag(key, value):
            return [1.0 - value]
        if value == int(value) and self.types.get(key) not in _FLOATS:
            return self.allowed(key, [2 * value, value // 2, value + 1])
        return self.allowed(key, [2 * value, value / 2] if value else [1.0, 0.1])

    def is_flag(self, key: str, value: float) -> bool:
        return self.types.get(key) in ("bool", "_Bool") and value in (0.0, 1.0)

    def small_values(self, key: str, value: float) -> list[float]:
        """Values that should make a difference soon: limits of ticks, chances, rare rewards."""
        if self.is_flag(key, value):
            return []
        if self.types.get(key) in _FLOATS or value != int(value):
            return self.allowed(key, [0.0, 1.0, 10 * value, value / 10, -value])
        return self.allowed(key, [1.0, 2.0, 0.0, value + 1, value - 1])

    def allowed(self, key: str, values: list[float], least: float | None = None) -> list[float]:
        low, high = SCALARS.get(self.types.get(key, "double"), (-1e300, 1e300))
        if self.types.get(key) not in _FLOATS:
            high = min(high, 2**30)             # twice as much must not overflow in a product
        return [v for v in dict.fromkeys(values) if low <= v <= high and v != self.keys[key]
                and (least is None or v >= least)]

    def may_matter(self, key: str) -> bool:
        """False where it is right that a key changes nothing, or where that is unknown."""
        names = self.fields(key)
        if not names:
            return False
        use = re.compile(rf"(?:->|\.)\s*(?:{'|'.join(names)})\b(?!\s*=[^=])")
        source = self.facts.source
        playing = source.reach("c_step", "c_reset", "init", "my_init", "my_vec_init")
        lines = [(f.file, f.body_line + f.body.count("\n", 0, m.start()))
                 for f in playing for m in use.finditer(f.body)]
        if not lines and any(use.search(line) for text in self.text.values()
                             for line in text.splitlines() if "#define" in line):
            return True
        if not lines:
            return not any(use.search(f.body) for f in source.reach("c_render", "c_close"))
        counts = [self.facts.lines.get(file, {}).get(line) for file, line in lines]
        return not all(count == 0 for count in counts)      # None: not counted
