"""Why a run does not learn.  what it measured -> lines, each with the setting to change

SYMPTOMS is the one list of conditions: train and report print those that hold, and
docs/tutorials/debugging.md has a heading for each, in this order. Those after the first ones say
nothing about a run that learns: it is better than random play by more than chance, has kept what it
learned, and has met its goal.
"""
from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..scoring.kept_scores import Claim, Shown
from ..scoring.words import fell, headline
from ..settings.goal import parse_goal
from .runs import Row, Run

FEW_UPDATES = 500       # gradient steps; most tasks that are learned at all take more
LACKING = 0.5           # of the agents have ended no episode
GONE = 0.05             # of the first entropy, that is left after ...
EARLY = 0.25            # ... such a part of the run
UNEXPLAINED = -0.5      # explained variance: the value errs half as much again as a constant
CLIPPED = 0.5           # of the samples whose ratio is clipped
FAR_KL = 0.2            # nats that an update moves the policy; a few hundredths are normal
STEEP = 4               # times max_grad_norm, that nearly every gradient exceeds
NEARLY = 0.9            # of all epochs
LOWER = 3               # a learning rate is divided by it


@dataclass(frozen=True)
class Measured:
    """What a run measured: rows of metrics.jsonl, its settings, and its claim.

    goal    that the environment's ini or its registration states, and the run has missed; or ""
    """

    rows: Sequence[Row]
    settings: Mapping[str, str]
    claim: Claim | None = None
    goal: str = ""
    learns: bool = field(init=False)

    def __post_init__(self) -> None:
        lost = bool(self.claim and fell(self.claim))
        object.__setattr__(self, "learns", not (self.goal or lost or self.is_random))

    def number(self, name: str) -> float:
        """A setting; 0 where it is no number."""
        try:
            return float(self.settings.get(name, "0"))
        except ValueError:
            return 0.0

    def each(self, key: str) -> list[float]:
        """The values of a metric, in the epochs that have it."""
        return [value for row in self.rows if (value := row.get(key)) is not None]

    def late(self, key: str) -> float | None:
        """The median of a metric in the second half of the run."""
        values = self.each(key)
        return statistics.median(values[len(values) // 2:]) if values else None

    @property
    def shown(self) -> Shown:
        """What the play of the best weights showed."""
        return self.claim.get("shown", {}) if self.claim else {}

    @property
    def is_random(self) -> bool:
        """Whether the best weights are not better than random play by more than chance."""
        if self.claim is None:
            return False
        trained, random, name = self.claim["trained"], self.claim["random"], headline(self.claim)
        ours, theirs = trained["mean"].get(name), random["mean"].get(name)
        if ours is None or theirs is None:
            return False
        sign = -1 if self.claim.get("least") and name == self.claim["metric"] else 1
        noise = sum((score["interval"].get(name) or 0.0) ** 2 for score in (trained, random)) ** 0.5
        return bool(sign * (ours - theirs) <= noise)

    @property
    def updates(self) -> int:
        batch = self.number("vec.total_agents") * self.number("train.horizon")
        size = self.number("train.minibatch_size") or batch or 1.0
        return int(len(self.rows) * self.number("train.replay_ratio") * batch / size)

    def option(self, name: str, value: float) -> str:
        """--train.learning-rate 0.005"""
        return f"--{name.replace('_', '-')} {value:.2g}" if value < 1 else \
            f"--{name.replace('_', '-')} {value:.0f}"

    @property
    def slower(self) -> str:
        return self.option("train.learning_rate", self.number("train.learning_rate") / LOWER)


@dataclass(frozen=True)
class Symptom:
    """One condition.

    name    as the heading of the page has it
    says    what was measured; "" where the condition does not hold
    fix     the setting to change, or the command that finds more
    always  whether it is said of a run that learns as well
    """

    name: str
    says: Callable[[Measured], str]
    fix: Callable[[Measured], str]
    always: bool = False


def symptoms_of(run: Run, goal: str = "") -> list[str]:
    """A line for each symptom of a run that has ended; [] where it learned.

    goal    that was missed: the ini's, or the registered one
    """
    return lines(Measured(run.metrics(), run.settings(), run.evaluation, goal))


def lines(measured: Measured) -> list[str]:
    return [f"{text}: {symptom.fix(measured)}" for symptom in SYMPTOMS
            if (symptom.always or not measured.learns) and (text := symptom.says(measured))]


def missed(text: str, claim: Claim | None) -> str:
    """A goal, where the claim does not meet it; else "". """
    goal = parse_goal(text)
    value = claim["trained"]["mean"].get(goal.name) if goal and claim else None
    return text if goal and claim and not (value is not None and goal.is_met(value)) else ""


# -- the conditions ------------------------------------------------------------------------------


def _nobody(m: Measured) -> str:
    alive = m.each("train/alive")
    return "no row ever had an agent" if alive and not any(alive) else ""


def _silent(m: Measured) -> str:
    if not m.rows or m.each("env/n") or _nobody(m):
        return ""
    ticks = len(m.rows) * m.number("train.horizon")
    return f"no episode has ended and nothing was logged in the {ticks:,.0f} ticks of each agent"


def _unmoved(m: Measured) -> str:
    still = m.claim.get("unmoved") if m.claim else None
    return f"{' and '.join(still)} never moved, so policies are compared by {m.claim['metric']}" \
        if m.claim and still else ""


def _few_updates(m: Measured) -> str:
    return f"only {m.updates:,} updates" if m.rows and m.updates < FEW_UPDATES else ""


def _unfinished(m: Measured) -> str:
    lacking, agents = m.rows[-1].get("train/lacking") if m.rows else 0, m.number("vec.total_agents")
    if not lacking or _silent(m) or lacking <= LACKING * agents:
        return ""
    return f"{lacking:,.0f} of {agents:,.0f} agents have not ended an episode"


def _unpaid(m: Measured) -> str:
    paid = m.each("env/episode_return")
    values = m.each("loss/value")
    return "no reward was ever seen" if paid and not any(paid) and not any(
        value > 1e-6 for value in values[len(values) // 2:]) else ""


def _certain(m: Measured) -> str:
    entropy = m.each("loss/entropy")
    early = entropy[:max(1, int(EARLY * len(entropy)))]
    if len(entropy) < 4 or entropy[0] <= 0 or min(early) >= GONE * entropy[0] \
            or entropy[-1] >= GONE * entropy[0]:
        return ""
    epoch = next(n for n, value in enumerate(early, 1) if value < GONE * entropy[0])
    return f"the entropy fell from {entropy[0]:.2f} to {early[epoch - 1]:.3f} in {epoch} epochs"


def _unexplained(m: Measured) -> str:
    late = m.late("loss/explained_variance")
    return f"the explained variance is {late:.2g}: the value predicts worse than a constant" \
        if late is not None and late < UNEXPLAINED else ""


def _jumps(m: Measured) -> str:
    share, kl = m.late("loss/clipfrac") or 0.0, m.late("loss/approx_kl") or 0.0
    return f"an update moves the policy too far: clipfrac {share:.2f}, KL {kl:.2g}" \
        if share > CLIPPED or kl > FAR_KL else ""


def _steep(m: Measured) -> str:
    norms, limit = m.each("loss/grad_norm"), m.number("train.max_grad_norm")
    steep = sum(norm > STEEP * limit for norm in norms)
    return f"gradients are clipped to {limit:g} from {statistics.median(norms):.3g}" \
        if limit and norms and steep >= NEARLY * len(norms) else ""


def _far(m: Measured) -> str:
    own = m.settings.get("policy.torch_class")      # which may scale them
    far = None if own else m.shown.get("far")
    return f"{far['count']:,} of {far['of']:,} numbers of an observation far from 1, such as one " \
        f"of {far['size']:.2g} after train.obs_scale" if far else ""


def _held(m: Measured) -> str:
    held = m.shown.get("held")
    return f"the policy takes the action {', '.join(f'{part:g}' for part in held)} whatever it " \
        "sees" if held else ""


def _lost(m: Measured) -> str:
    return fell(m.claim) if m.claim else ""


def _smaller(m: Measured) -> str:
    agents, size = m.number("vec.total_agents"), m.number("train.minibatch_size")
    return f"{m.option('vec.total_agents', max(1.0, agents // 4))} with " \
           f"{m.option('train.minibatch_size', max(1.0, size // 8))}, or more steps"


def _longer(m: Measured) -> str:
    return f"{m.option('vec.total_agents', max(1.0, m.number('vec.total_agents') // 4))} gives " \
           "each agent four times the ticks; or more steps, or shorter episodes"


def _softer(m: Measured) -> str:
    return f"{m.option('train.ent_coef', 3 * m.number('train.ent_coef') or 0.01)}, or {m.slower}"


def _scaled(m: Measured) -> str:
    found = m.shown.get("far")
    return f"--train.obs-scale '{found['factors']}'" if found and found["factors"] else \
        "divide them by their size in the environment, or train.obs_scale with a factor for each"


SYMPTOMS = [
    Symptom("No agent ever lives", _nobody, lambda m: "puffer-sdk check; the environment sets "
            "alive", always=True),
    Symptom("Nothing is logged", _silent, _longer, always=True),
    Symptom("A column never moves", _unmoved, lambda m: "set it before the entry is logged",
            always=True),
    Symptom("So few updates", _few_updates, _smaller),
    Symptom("Few agents have ended an episode", _unfinished, _longer),
    Symptom("No reward is ever seen", _unpaid, lambda m: "puffer-sdk check --stats; pay for "
            "partial progress"),
    Symptom("The entropy is gone early", _certain, _softer),
    Symptom("The value predicts nothing", _unexplained, lambda m: f"{m.slower}; divide the rewards "
            "so that a good episode returns a few points"),
    Symptom("An update moves the policy too far", _jumps, lambda m: m.slower),
    Symptom("Every gradient is clipped", _steep, lambda m: f"{m.slower}, or divide the rewards"),
    Symptom("Observations are far from unit scale", _far, _scaled),
    Symptom("One action held does as well", _held, lambda m: f"{_softer(m)}; do observations show "
            "what actions change? puffer-sdk check"),
    Symptom("It was reached and lost again", _lost, lambda m: m.slower),
]
