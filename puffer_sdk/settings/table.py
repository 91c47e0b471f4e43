"""The one table of settings, long as they are. Out: SECTIONS, KEYS.

Every key is declared once, below, with its type, default, bounds and meaning. Parsing, error
texts, `puffer-sdk config`, the command line and the reference page are made from these lines.

A key is *used*, an *alias* of another, *former* (of earlier versions: read as its replacement), or
*ignored* (PufferLib's own, without effect here). PufferLib 4.0's names are the canonical ones.
"""
from __future__ import annotations

import keyword
from dataclasses import dataclass, field, fields
from typing import Any

from ..base.errors import nearest
from . import encoder, factors
from .texts import WEIGHTS, number_hint, parse_number, show, show_numbers

USED, ALIAS, FORMER, IGNORED = "used", "alias", "former", "ignored"
AUTO = "auto"
OBS_SCALE, ENCODER = "train.obs_scale", "policy.encoder"
Value = bool | int | float | str
MAX_AGENTS = 2**24
MAX_SEED = 2**63 - 1


def setting(default: Value, help: str, *, low: float | None = None, high: float | None = None,
            above: float | None = None, below: float | None = None,
            choices: tuple[str, ...] = (), auto: str | None = None,
            default_doc: str | None = None) -> Any:         # as dataclasses.field
    """One used key.

    low, high       inclusive bounds
    above, below    exclusive bounds
    auto            how `auto` chooses, for keys that accept it
    default_doc     how the reference page words a default that depends on something
    """
    return field(default=default, metadata={
        "help": help, "status": USED, "low": low, "high": high, "above": above, "below": below,
        "choices": tuple(choices), "auto": auto, "default_doc": default_doc})


def alias(target: str, help: str) -> Any:
    """A second name of another key."""
    return field(default=None, init=False, repr=False, compare=False,
                 metadata={"help": help, "status": ALIAS, "target": target})


def former(target: str, help: str) -> Any:
    """A key of earlier versions, in old runs and inis: read as a value of another."""
    return field(default=None, init=False, repr=False, compare=False,
                 metadata={"help": help, "status": FORMER, "target": target})


def ignored(help: str) -> Any:
    """A PufferLib key without effect here."""
    return field(default=None, init=False, repr=False, compare=False,
                 metadata={"help": help, "status": IGNORED})


@dataclass(frozen=True)
class Base:
    """The run as a whole."""

    env_name: str = setting("", "name of the environment: its folder's name",
                            default_doc="the folder's name")
    checkpoint_interval: int = setting(AUTO, "epochs between checkpoints", low=1, high=10**9,
                                       auto="16384 ticks of each agent")
    reset_state: bool = setting(False, "zero the recurrent state at every rollout instead of "
                                       "carrying it over")
    seed: int = alias("train.seed", "the run's seed")
    eval_episodes: int = alias("eval.episodes", "episodes of an evaluation")
    rank: int = ignored("number of this process among several GPUs")
    world_size: int = ignored("number of processes over several GPUs")
    gpu_id: int = ignored("the GPU to use")
    nccl_id: str = ignored("rendezvous of several GPUs")
    profile: bool = ignored("profiling build")
    checkpoint_dir: str = ignored("checkpoints lie in the run's own folder")
    log_dir: str = ignored("logs lie in the run's own folder")
    cudagraphs: int = ignored("epoch at which CUDA graphs are captured")


@dataclass(frozen=True)
class Vec:
    """Agents, and how environments are stepped."""

    total_agents: int = setting(AUTO, "agents over all environments (N)", low=1, high=MAX_AGENTS,
                                auto="so that a run has 100 rollouts, each of 1024 to 262144 "
                                     "steps")
    num_buffers: int = setting(AUTO, "buffers of agents: one steps while another waits for its "
                                     "actions", low=1, high=1024,
                               auto="2 where whole environments fill two equal slices, else 1")
    num_threads: int = setting(AUTO, "threads of environments and the native trainer; does not "
                                     "change results", low=1, high=1024,
                               auto="the cores this process may use")
    step_timeout: float = setting(10.0, "timeout of step, reset, init and close, in "
                                        "seconds; waiting for a busy core does not "
                                        "count", above=0, high=86400)
    num_workers: int = setting(AUTO, "Python environments: worker processes; does not change "
                                     "results. 0: step in the trainer's process",
                               low=0, high=1024, auto="the cores this process may use")
    free_running: bool = setting(False, "Python environments: within a rollout, workers do not "
                                        "wait for each other; for steps of unequal duration")
    free: bool = alias("vec.free_running", "its earlier name")
    start_timeout: float = setting(60.0, "Python environments: timeout of the constructor and the "
                                         "first reset, in seconds", above=0, high=86400)
    max_restarts: int = setting(0, "Python environments: maximum restarts of each copy after an "
                                   "exception, a crash or a hang; its episode is "
                                   "truncated", low=0, high=10**9)
    restarts: int = alias("vec.max_restarts", "its earlier name")
    reward_scale: float = setting(0.0, "Python environments: factor of rewards in training. 0: "
                                       "chosen so that discounted returns of random play are about "
                                       "1", low=0, high=1e12)
    reward_weights: str = setting("", "Python environments whose reward is several numbers: a "
                                      "weight for each; their sum is the reward")
    device: str = setting("cpu", "device of the environments in training; cuda requires "
                                 "train.device cuda, and C that compiles for a GPU",
                          choices=("cpu", "cuda"))
    backend: str = ignored("how environments are run in parallel")
    num_policies: int = setting(2, "policies that play at a time under self-play: the learner and "
                                   "its opponents", low=1, high=64)
    hist_policy_percent: float = setting(0.5, "share of envs in which one side is an opponent's "
                                              "under self-play; in the others the learner plays "
                                              "all sides", low=0, high=1)
    hist_policy_hidden_size: int = ignored("width of these opponents")
    hist_policy_num_layers: int = ignored("layers of these opponents")


@dataclass(frozen=True)
class Policy:
    """The network."""

    hidden_size: int = setting(64, "width of every layer (H)", low=1, high=16384)
    num_layers: int = setting(1, "recurrent layers", low=1, high=64)
    encoder: str = setting(AUTO, "how the network sees an observation: as a flat row, or its "
                                 "images, grids, ids and lists as parts, which train on the CPU or "
                                 "in PyTorch",
                           auto="by the parts that the header or the space describes")
    torch_class: str = setting("", "a custom network, FILE.py:CLASS, next to the header")
    expansion_factor: int = ignored("width of the recurrent layers over hidden_size")


@dataclass(frozen=True)
class Train:
    """The algorithm and its schedule."""

    seed: int = setting(42, "seed of all randomness in a run", low=0, high=MAX_SEED)
    total_timesteps: int = setting(10_000_000, "agent steps to train for", low=1, high=10**15)
    stop_at_goal: bool = setting(False, "end the run as soon as [eval] goal is reached")
    learning_rate: float = setting(0.015, "largest step size of the optimiser", low=0, high=10)
    anneal_lr: bool = setting(True, "anneal the learning rate along a cosine")
    min_lr_ratio: float = setting(0.0, "final learning rate, as a fraction of learning_rate",
                                  low=0, high=1)
    gamma: float = setting(0.99, "discount factor", low=0, high=1)
    gae_lambda: float = setting(0.95, "GAE lambda: bias (0) against variance (1)", low=0, high=1)
    replay_ratio: float = setting(AUTO, "times each rollout step is trained on", above=0, high=100,
                                  auto="so that a run has 4000 updates, from 1 to 8")
    target_kl: float = setting(0.02, "KL divergence of an epoch above which the rate is lowered; "
                                     "0 = off", low=0, high=100)
    clip_coef: float = setting(0.2,
                               "PPO clip range: the ratio is limited to 1 ± this", above=0, high=10)
    vf_coef: float = setting(2.0, "weight of the value loss", low=0, high=1000)
    vf_clip_coef: float = setting(0.2, "value clip range: change of the value per epoch above "
                                       "which its loss is clipped", above=0, high=1000)
    max_grad_norm: float = setting(1.5, "gradient norm above which gradients are scaled down",
                                   above=0, high=1e6)
    ent_coef: float = setting(0.001,
                              "entropy coefficient: weight of the entropy bonus", low=0, high=100)
    anneal_ent_coef: bool = setting(False, "anneal ent_coef along a cosine")
    min_ent_coef_ratio: float = setting(0.1, "final entropy coefficient, as a fraction of ent_coef",
                                        low=0, high=1)
    beta1: float = setting(0.95, "momentum of Muon", low=0, below=1)
    momentum: float = alias("train.beta1", "its name in PufferLib 5.0")
    beta2: float = setting(0.999, "decay of the second moment of Adam, for the vectors that Muon "
                                  "does not optimise", low=0, below=1)
    eps: float = setting(1e-12, "Adam's epsilon", above=0, high=1)
    minibatch_size: int = setting(AUTO, "agent steps per update; a multiple of horizon", low=1,
                                  high=2**31 - 1, auto="an eighth of an epoch, from 256 to 8192, "
                                                       "in whole horizons")
    minibatch_carry: bool = setting(True, "carry the fraction of a minibatch that an epoch leaves "
                                          "over to the next one. false: each epoch has whole "
                                          "minibatches, at least 1")
    horizon: int = setting(AUTO, "rollout length: steps of each agent per epoch (T)", low=1,
                           high=65536, auto="128 up to 800,000 steps in all, else 64")
    vtrace_rho_clip: float = setting(1.0, "V-trace rho: limit of the importance ratio on a step's "
                                          "own TD error", above=0, high=1000)
    vtrace_c_clip: float = setting(1.0, "V-trace c: limit of the importance ratio along the trace",
                                   low=0, high=1000)
    prio_alpha: float = setting(0.0, "exponent of the segment priorities; 0 = every segment once",
                                low=0, high=1)
    prio_beta0: float = setting(0.2, "initial importance correction of the priorities, annealed to "
                                     "1", low=0, high=1)
    reward_clip: float = setting(0.0, "rewards are clipped to [-this, this]; 0 = off",
                                 low=0, high=1e9)
    norm_adv: bool = setting(True, "normalise advantages over the minibatch")
    norm_returns: bool = setting(True, "values learn in units of the returns' root mean square, "
                                       "which follows them")
    on_epoch: str = setting("", "a function that is called after each epoch, FILE.py:NAME, next to "
                                "the header")
    reward: str = setting("", "a function that makes a rollout's rewards, FILE.py:NAME; on the "
                              "CPU, in one process")
    advantage: str = setting("", "a function that makes a rollout's advantages and returns, "
                                 "FILE.py:NAME; on the CPU, in one process")
    torch_loss: str = setting("", "a custom loss, FILE.py:NAME; requires the trainer in PyTorch")
    torch_optimizer: str = setting("", "a custom optimiser in place of Muon, FILE.py:NAME; "
                                       "requires the trainer in PyTorch")
    obs_scale: str = setting(AUTO, "factors of an observation's numbers: the network learns as if "
                                   "they were multiplied by these; saved weights take raw "
                                   "observations",
                             auto="by random play at the start of a run: 1 for small numbers")
    scale_obs: bool = former("train.obs_scale", "true: bytes are divided by 255")
    encoder_scale: float = former("train.obs_scale", "one factor for all numbers; 0: automatic")
    backend: str = setting(AUTO, "trainer: native or PyTorch", choices=("native", "torch"),
                           auto="native; torch if policy.torch_class or a torch_ function is set")
    device: str = setting(AUTO, "device of the network", choices=("cpu", "cuda"),
                          auto="cuda if a GPU passes a test, else cpu; the reason is printed")
    precision: str = setting("fp32", "number format of matrix products; bf16 requires the native "
                                     "trainer, and a GPU (compute capability 8.0) or a CPU that "
                                     "supports it", choices=("fp32", "bf16"))
    async_: bool = setting(False, "learn from a rollout while the next one runs with weights one "
                                  "update old; requires device cuda and the native trainer")
    gpus: int = setting(1, "GPUs that share the agents and every minibatch", low=1, high=16)
    processes: int = setting(1, "processes of this machine that share the agents and every "
                                "minibatch; requires PyTorch. Use torchrun for several "
                                "machines", low=1, high=1024)
    group_timeout: float = setting(60.0, "timeout of communication between processes of a run, in "
                                         "seconds; a process that dies is detected at "
                                         "once", above=0, high=86400)


@dataclass(frozen=True)
class Eval:
    """Evaluation of a policy."""

    episodes: int = setting(100, "total episodes of all agents; each agent plays at least four",
                            low=1, high=10**9)
    steps: int = setting(1000, "if episodes do not end: ticks of each env over which values per "
                               "1000 ticks are measured; the first episode end is awaited 20 times "
                               "as long", low=1, high=10**9)
    seed: int = setting(1, "seed of the evaluation's environments and actions",
                        low=0, high=MAX_SEED)
    goal: str = setting("", "condition for solved, such as score >= 800: a value of the "
                            "environment's log")
    idle_action: str = setting("", "the action that does nothing, one number per head",
                               default_doc="all zeros")


@dataclass(frozen=True)
class Check:
    """Exceptions for `check`, and the environment's own tests."""

    allow: str = setting("", "rule codes to allow, with the reason")
    test: str = setting("", "command that runs the environment's own tests, in its folder, "
                            "for `check --mutate`")


@dataclass(frozen=True)
class Sweep:
    """The search of `sweep`. `[sweep.SECTION.KEY]` sets the distribution and the bounds of a
    setting; without any, `sweep` searches a default space."""

    method: str = setting("gp", "the sampler; protein is an alias of gp",
                          choices=("gp", "protein", "tpe", "random"))
    metric: str = setting("", "metric to optimize: a value of the environment's log, or "
                              "time_to_goal", default_doc="the goal's metric, else score")
    goal: str = setting("maximize", "whether to maximize or minimize the metric",
                        choices=("maximize", "minimize"))
    cost: str = setting("cpu", "unit of a trial's cost: CPU seconds of training, wall seconds, or "
                               "modelled CPU seconds", choices=("cpu", "wall", "compute"))
    max_runs: int = setting(0, "number of finished trials; 0 = no limit", low=0, high=10**6)
    seconds: float = setting(600.0, "time limit of the sweep in seconds; 0 = no limit",
                             low=0, high=10**8)
    workers: int = setting(AUTO, "trials in parallel, each on one core", low=1, high=1024,
                           auto="the cores this process may use, or one a GPU")
    gpus: int = setting(0, "GPUs to train on, one worker each; 0 = none", low=0, high=64)
    max_suggestion_cost: float = setting(0.0, "cost limit of a trial; 0 = no limit",
                                         low=0, high=10**8)
    keep: str = setting("front", "checkpoints to keep: those of the Pareto front, or of all trials",
                        choices=("front", "all"))
    only: str = setting("", "the only settings to search, such as lr, gamma, train.horizon")
    sweep_only: str = alias("sweep.only", "settings to search")
    name: str = ignored("name of the search")
    metric_distribution: str = ignored("how the metric is scaled")
    downsample: int = ignored("points of a run's curve that are kept")
    prune_pareto: bool = ignored("whether dominated trials leave the model")
    early_stop_quantile: float = ignored("quantile below which runs are ended")
    use_gpu: bool = ignored("whether the sampler computes on a GPU")


@dataclass(frozen=True)
class Torch:
    """PufferLib's choice of network modules; here [policy] torch_class."""

    network: str = ignored("class of the network")
    encoder: str = ignored("class of the encoder")
    decoder: str = ignored("class of the decoder")


@dataclass(frozen=True)
class Selfplay:
    """Opponents that are earlier weights of the run, where an environment has teams."""

    enabled: bool = setting(False, "play against earlier weights; on the CPU, with the native "
                                   "trainer, in one process")
    choice: str = setting("skill", "which of the pool plays: by skill, the more often the more it "
                                   "wins; uniform; or the newest", choices=("skill", "uniform",
                                                                            "newest"))
    max_size: int = setting(16, "snapshots in the pool; of more, every second of the older half "
                                "leaves", low=2, high=10**4)
    swap_winrate: float = setting(0.8, "win rate against an opponent at which another one takes "
                                       "its place, and the weights join the pool", low=0, high=1)
    min_games: int = setting(256, "games against an opponent before its win rate counts", low=1,
                             high=10**9)
    elo_init: float = setting(0.0, "rating of the first weights", low=-1e6, high=1e6)
    elo_k: float = setting(16.0, "speed of the ratings: change after an epoch in which all games "
                                 "were won against expectation", low=0, high=1e6)
    seed: int = setting(42, "seed of the choice of opponents", low=0, high=MAX_SEED)
    snapshot_interval: int = setting(AUTO, "agent steps between two snapshots; 0 = none", low=0,
                                     high=10**15, auto="a sixteenth of the run")
    opp_timeout_steps: int = setting(AUTO, "agent steps after which another opponent takes its "
                                           "place in any case; 0 = never", low=0, high=10**15,
                                     auto="a quarter of snapshot_interval")
    eval_games: int = ignored("games of an evaluation against opponents")


SECTIONS: dict[str, type[Any]] = {
            "base": Base, "vec": Vec, "policy": Policy, "train": Train, "eval": Eval,
            "check": Check, "sweep": Sweep, "torch": Torch, "selfplay": Selfplay}

@dataclass(frozen=True)
class Key:
    """One row of the table."""

    section: str
    name: str
    type: str                       # 'int', 'float', 'bool' or 'str'
    default: Value | None
    help: str
    status: str                     # USED, ALIAS, FORMER or IGNORED
    target: str = ""                # of an alias or a former key: the key it stands for
    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    choices: tuple[str, ...] = ()
    auto: str | None = None
    default_doc: str | None = None

    @property
    def full(self) -> str:
        """'train.learning_rate'"""
        return f"{self.section}.{self.name}"

    @property
    def field(self) -> str:
        """Its name in the dataclass: 'async_' for what Python would read as its own word."""
        return self.name + "_" * keyword.iskeyword(self.name)

    @property
    def flag(self) -> str:
        """'--train.learning-rate'"""
        return "--" + self.full.replace("_", "-")

    @property
    def shown(self) -> str:
        """'[train] learning_rate'"""
        return f"[{self.section}] {self.name}"

    @property
    def expected(self) -> str:
        """The accepted values, in words."""
        if self.choices:
            words = list(self.choices)
            if self.auto:
                words.insert(0, AUTO)
            return words[0] if len(words) == 1 else " or ".join((", ".join(words[:-1]), words[-1]))
        if self.full in GRAMMARS:
            return GRAMMARS[self.full][1] + f"; or {AUTO}" * bool(self.auto)
        kind = {"int": "a whole number", "float": "a number", "str": "text",
                "bool": "true, false, on, off, 1 or 0"}[self.type]
        bounds = self.bounds
        return kind + (f" {bounds}" if bounds else "") + (f", or {AUTO}" if self.auto else "")

    @property
    def bounds(self) -> str:
        """'from 0 to 1', 'above 0, up to 100', 'from 0, below 1' or ''."""
        parts = []
        if self.low is not None:
            parts.append(f"from {show(self.low)}")
        elif self.above is not None:
            parts.append(f"above {show(self.above)}")
        if self.high is not None:
            parts.append(f"to {show(self.high)}" if self.low is not None
                         else f"up to {show(self.high)}")
        elif self.below is not None:
            parts.append(f"below {show(self.below)}")
        both = len(parts) == 2 and not (self.low is not None and self.high is not None)
        return (", " if both else " ").join(parts)

    def allows(self, value: float) -> bool:
        """True if a number is inside the bounds."""
        return ((self.low is None or value >= self.low)
                and (self.high is None or value <= self.high)
                and (self.above is None or value > self.above)
                and (self.below is None or value < self.below))


KEYS: dict[str, Key] = {key.full: key for key in (
    Key(section, item.name.rstrip("_"), str(item.type), getattr(cls, item.name), **item.metadata)
    for section, cls in SECTIONS.items() for item in fields(cls))}

# Texts with a grammar of their own: what reads them, and what it takes, in words
GRAMMARS = {OBS_SCALE: (factors.canonical, factors.WORDS),
            ENCODER: (encoder.canonical, encoder.WORDS),
            "vec.reward_weights": (show_numbers, WEIGHTS)}

# FILE.py:NAME, which training alone calls; the first ones are for the trainer in PyTorch
TORCH_FUNCTIONS = ("train.torch_loss", "train.torch_optimizer")
FUNCTIONS = (*TORCH_FUNCTIONS, "train.reward", "train.advantage", "train.on_epoch")


def used_keys(section: str | None = None) -> list[Key]:
    """The keys that do something, in the order of the table: of one section, or of EFFECTIVE."""
    return [key for key in KEYS.values() if key.status == USED and (
        key.section == section if section else key.section in EFFECTIVE)]


# what depends on the machine that trains: PufferLib's config/default.ini is for a large GPU
SIZES = ("vec.total_agents", "vec.num_buffers", "vec.num_threads", "policy.hidden_size",
         "policy.num_layers", "train.total_timesteps", "train.minibatch_size", "train.horizon")
# the sections of a Config; sweep's are no settings of a run
EFFECTIVE = tuple(section for section in SECTIONS if section != "sweep" and used_keys(section))
# What an ini may hold; [sweep.*] as well
INI_SECTIONS = (*EFFECTIVE, "env", *(name for name in SECTIONS if name not in EFFECTIVE))


SWITCH = {"true": True, "on": True, "false": False, "off": False}


def parse(key: Key, text: str, *, cut: bool = False) -> Value:
    """The value that a text gives to a key; AUTO where the key has it.

    cut     fractions of whole numbers are cut off, 0 threads are automatic: an ini of upstream's

    Raises ValueError with a hint, or an empty text, when the value is refused.
    """
    if key.auto and text == AUTO:
        return AUTO
    if key.full in GRAMMARS:
        return GRAMMARS[key.full][0](text)
    if key.type == "str":
        if key.choices and text not in key.choices:
            close = "cuda" if text.lower() == "gpu" and "cuda" in key.choices else \
                nearest(text, key.choices)
            raise ValueError(f"did you mean '{close}'?" if close else "")
        return text
    if key.type == "bool" and text.lower() in SWITCH:
        return SWITCH[text.lower()]
    try:
        value = parse_number(text)
    except ValueError as error:
        raise ValueError(number_hint(text, str(error))) from None
    if key.type in ("int", "bool") and isinstance(value, float):
        if not cut:
            raise ValueError("")
        value = int(value)
    if cut and key.full == "vec.num_threads" and value == 0:
        return AUTO
    if key.type == "bool":
        if value not in (0, 1):
            raise ValueError("")
        return bool(value)
    if not key.allows(value):
        raise ValueError("")
    return float(value) if key.type == "float" else value
