"""What is known of an environment from reading its source: the Spec. header.py makes it."""
from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

# name of a C type as clang spells it, canonical -> what an [env] value may hold
SCALARS = {
    "bool": (0, 1), "_Bool": (0, 1),
    "char": (-128, 127), "signed char": (-128, 127), "unsigned char": (0, 255),
    "short": (-2**15, 2**15 - 1), "unsigned short": (0, 2**16 - 1),
    "int": (-2**31, 2**31 - 1), "unsigned int": (0, 2**32 - 1),
    "long": (-2**53, 2**53), "unsigned long": (0, 2**53),
    "long long": (-2**53, 2**53), "unsigned long long": (0, 2**53),
    "float": (-3.4028235e38, 3.4028235e38), "double": (-1.7e308, 1.7e308),
}
# how the rows of observations are read -> OBS_TENSOR_T of their pointer
OBS_TENSORS = {"u8": "ByteTensor", "f32": "FloatTensor", "i32": "IntTensor",
               "bf16": "PrecisionTensor"}
OBS_NAMES = {"u8": "uint8", "f32": "float32", "i32": "int32"}       # NumPy's
OBS_UNITS = {"u8": "bytes", "f32": "floats", "i32": "ints"}
NARROW = "unsigned short *"         # of observations in 16 bits: bf16
# types of a generator's state
AGENTS = "agents"                   # PufferLib 5.0: an array of Agent, each with its own pointers
SEEDED = ("unsigned int", "unsigned long", "unsigned long long", "int", "long", "long long")

Enumerator = tuple[str, int, str, int, int]     # (name, value, file, line, column)


@dataclass(frozen=True)
class CField:
    """A field of a C struct."""

    name: str
    type: str       # canonical C spelling: "float *", "int", "float[4]"
    line: int

    @property
    def length(self) -> int | None:
        """Elements of an array; None for anything else."""
        _, bracket, count = self.type.partition("[")
        return int(count.rstrip("]")) if bracket else None


@dataclass(frozen=True)
class Remark:
    """A departure from our own dialect that a hand-written binding may decide for itself."""

    code: str               # "PUF104"
    message: str
    where: str              # "game.h:12"
    expected: str | None = None
    actual: str | None = None
    hint: str | None = None


@dataclass(frozen=True)
class FinalObs:
    """Where final observations come from: those of truncated episodes, or (function) of all.

    function    the author's function that is called before c_reset; None: the env writes them
    line        of c_reset's definition
    """

    function: str | None
    line: int = 0

    @property
    def flags(self) -> list[str]:
        """What the compiler is told: puffer_final.h, vecenv.h."""
        if self.function is None:
            return ["-DPUFFER_HAS_FINALS"]
        return [f"-DPUFFER_OBSERVE={self.function}",
                f"-DPUFFER_RESET_AT_{self.line}=0, PUFFER_RESET_DEFINE"]

    def __str__(self) -> str:
        return (f"{self.function}(), called before c_reset" if self.function
                else "written by the env")


@dataclass(frozen=True)
class Spec:
    """An environment as its source states it. Sizes that depend on settings come from the
    built library's describe()."""

    name: str                           # "squared": the folder's and the header's name
    folder: Path
    header: Path
    struct: str                         # "Squared"
    fields: tuple[CField, ...]          # of the env struct
    log_fields: tuple[CField, ...]      # of Log
    functions: dict[str, tuple[str, int]]   # c_step -> (file, line)
    obs_dtype: str                      # of a row, as callers have it: "u8", "f32" or "i32"
    obs_size: str | None                # text of OBS_SIZE
    obs_count: int | None               # its value, when it is a constant
    act_sizes: str | None               # text of ACT_SIZES
    act_widths: tuple[int, ...] | None  # its values
    macro_lines: dict[str, tuple[str, int]]     # OBS_SIZE -> (file, line)
    binding: Path | None                # a hand-written binding.c
    has_init: bool
    has_truncations: bool
    log_is_tag: bool = False            # "struct Log" without a typedef
    has_mask: bool = False              # it has an action mask
    mask_at: str | None = None          # text of ACTION_MASK_AT: the observation holds the mask
    final_obs: FinalObs | None = None   # where final observations come from
    no_final_obs: str = ""              # why there are none
    registered: ClassVar[str] = ""       # a goal that it was registered with: none has
    has_max_agents: bool = False        # max_agents is its number of rows
    has_alive: bool = False             # it writes which of its agents live
    has_team: bool = False              # int team[N]: which agents play together
    teams: tuple[int, int] | None = None    # of a line `puffer: teams 2 x 5`; 0: any number each
    has_seats: bool = False             # its agents' policies differ: PufferLib's self-play
    has_bot: bool = False               # c_bot, a scripted opponent
    steps_per_second: int | None = None     # PUF_STEPS_PER_SEC, of PufferLib 5.0
    is_cpp: bool = False                # of PufferLib 5.0, which C++17 compiles and C does not
    late_obs: bool = False              # obs_t is declared below the include of pufferenv.h
    own_names: bool = False             # a c_step of the author's own stands beside puf_step
    log_reads_state: bool = False       # my_log follows a pointer that my_init may set
    remarks: tuple[Remark, ...] = ()
    enums: tuple[tuple[Enumerator, ...], ...] = ()   # of each enum

    @property
    def by_agent(self) -> bool:
        """Whether it has PufferLib 5.0's form: each agent has pointers of its own, the header is
        the binding. An environment of 4.0 may be one binding.c."""
        return self.binding == self.header and self.header.suffix != ".c"

    @property
    def in_teams(self) -> bool:
        """Whether it declares teams, as far as its source tells."""
        return bool(self.has_team or self.teams or self.has_seats)

    @property
    def mask_size(self) -> int:
        """Bytes of one agent's action mask; 0 without, or where ACT_SIZES is no constant."""
        return sum(self.act_widths or ()) if self.has_mask else 0

    @property
    def open_log(self) -> bool:
        """Whether what is logged may have other names than log_names: a binding's my_log says."""
        return self.binding is not None

    @property
    def field_flags(self) -> list[str]:
        """What the compiler is told of fields that an env may have: vecenv.h."""
        optional = ("truncations", "max_agents", "alive", "team", "bot")
        found = [f"-DPUFFER_HAS_{name.upper()}" for name in optional
                 if getattr(self, f"has_{name}")]
        if self.teams:
            found += [f"-DPUFFER_TEAMS={self.teams[0]}", f"-DPUFFER_TEAM_SIZE={self.teams[1]}"]
        found += [] if self.has_rng else ["-DPUFFER_NO_RNG"]
        found += ["-DPUFFER_LATE_OBS"] if self.late_obs else []
        found += ["-DPUFFER_OWN_NAMES"] if self.own_names else []
        found += ["-DPUFFER_NARROW"] if self.is_narrow else []
        found += ["-DPUFFER_LOG_READS_STATE"] if self.log_reads_state else []
        return found + ([f"-DPUFFER_MASK_SIZE={self.mask_size}"]
                        if self.mask_at and self.mask_size else [])

    @property
    def is_narrow(self) -> bool:
        """Whether the env writes its observations as bf16; its rows are floats nevertheless."""
        return any(field.name == "observations" and field.type == NARROW for field in self.fields)

    @property
    def obs_tensor(self) -> str:
        """OBS_TENSOR_T of its observations."""
        return OBS_TENSORS["bf16" if self.is_narrow else self.obs_dtype]

    @property
    def has_rng(self) -> bool:
        """Whether a seed can be written into the env's rng; a my_vec_init may do without one."""
        return any(field.name == "rng" and field.type in SEEDED for field in self.fields)

    @property
    def rows_field(self) -> str:
        """The field that holds the number of rows of an env."""
        return "max_agents" if self.has_max_agents else "num_agents"

    @property
    def comes_and_goes(self) -> bool:
        """Whether a row may have no agent."""
        return self.has_alive or self.has_max_agents

    @property
    def writes_final_obs(self) -> bool:
        """Whether the env has a field final_observations."""
        return self.final_obs is not None and self.final_obs.function is None

    @property
    def settable(self) -> tuple[CField, ...]:
        """Numeric scalar fields, which an [env] key of the same name may set."""
        return tuple(f for f in self.fields if f.type in SCALARS and f.name != "rng")

    @property
    def log_names(self) -> tuple[str, ...]:
        """What a generated my_log reports: Log's fields but n, arrays element by element."""
        return tuple(name for name, _ in self.log_values)

    @property
    def log_values(self) -> tuple[tuple[str, str], ...]:
        """Pairs of a reported name and the C expression after `log->` that gives it."""
        return tuple(pair for field in self.log_fields if field.name != "n" for pair in (
            [(field.name, field.name)] if field.length is None else
            [(f"{field.name}_{i}", f"{field.name}[{i}]") for i in range(field.length)]))

    def to_dict(self) -> dict[str, object]:
        """As written to spec.json: paths relative to the environment's folder."""
        masked = {"has_mask": True} if self.has_mask and (
            not self.binding or self.by_agent) else {}
        return {
            "name": self.name, "struct": self.struct, "obs_dtype": self.obs_dtype,
            "obs_size": self.obs_size, "act_sizes": self.act_sizes,
            "fields": {f.name: f.type for f in self.fields},
            "log": {f.name: f.type for f in self.log_fields},
            "has_truncations": self.has_truncations,
            "binding": self.binding.name if self.binding else None, **masked,
        }

    def hash(self) -> str:
        """Changes when what a policy sees, does or is scored by changes."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
