"""What the contract asks of an environment's C, as tables and rules. reader.py checks C against it.

An env that masks its actions has a field, which its c_reset and c_step write:

    unsigned char* action_mask;     // (num_agents, A): A = all of ACT_SIZES added; 1 = legal

That is enough where the binding is generated. The header or a hand-written binding may state A as
MY_ACTION_MASK; then the field must be there. An env whose observation says what is legal needs no
field: ACTION_MASK_AT is the first of these A elements.
"""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..base.spec import NARROW, OBS_TENSORS

FUNCTIONS = ("c_reset", "c_step", "c_render", "c_close")
OBS_TYPES = {"unsigned char *": "u8", "char *": "u8", "float *": "f32", "int *": "i32"}
PRECISION = "PrecisionTensor"       # of the network's precision: floats, or bf16 in 16 bits
TENSORS = {"ByteTensor": ("u8",), "FloatTensor": ("f32",), "IntTensor": ("i32",),
           PRECISION: ("f32", "bf16")}      # OBS_TENSOR_T -> what observations may be
UNTYPED = "void *"                  # observations of which a hand-written binding says the type
BINDING_MACROS = ("MY_VEC_INIT", "MY_VEC_CLOSE", "MY_VEC_STEP", "MY_VEC_STEP_RANGE",
                  "MY_ACTION_MASK", "MY_SHARED", "MY_SHARED_CLOSE", "MY_GET", "MY_PUT",
                  "MY_USES_PERM", "MY_USES_TAGS")
MACROS = ("OBS_SIZE", "ACT_SIZES", "NUM_ATNS", "OBS_TENSOR_T", "ACTION_MASK_AT")  # that are read
REQUIRED = {                        # field -> types that will do, and how to write the first
    "log": ((), "Log log;"),       # the types of Log are looked up
    "observations": (tuple(OBS_TYPES), "unsigned char* observations;  (or float*, int*)"),
    "actions": (("float *",), "float* actions;"),
    "rewards": (("float *",), "float* rewards;"),
    "terminals": (("float *",), "float* terminals;"),
    "num_agents": (("int",), "int num_agents;"),
    "rng": (("unsigned int",), "unsigned int rng;"),
}
# limits of a header's numbers, by which rows, tables and columns of logs are allocated
MOST_OBSERVED = 1 << 24             # OBS_SIZE
MOST_HEADS = 128                    # PUFFER_MAX_HEADS
MOST_ACTIONS = 1 << 20              # ACT_SIZES, all heads together
MOST_LOGGED = 1 << 12               # numbers of Log
MOST_BYTES = 8 << 20                # of a file of the author's
MOST_FIELDS = 1 << 12               # of the env struct
MOST_LINES = 10_000_000             # what #line may give
MOST_NAMES = 1 << 12                # enumerators of one enum that may name elements
COMING = {"max_agents": "int", "alive": "unsigned char *"}     # optional: variable number of agents
UNSET = "-Wuninitialized"
WARNINGS = {                        # of clang that are faults (PUF117), and what to do
    "-Wabsolute-value": "fabsf() is for floats",
    UNSET: "give it a value before it is read"}
MASK_FIELD = "unsigned char* action_mask;"
MASK_TYPES = ("unsigned char *", "char *")
TEAMS = re.compile(r"//\s*puffer:\s*teams\b(.*)")
_SIZES = re.compile(r"\s+(\d+)(?:\s*x\s*(\d+))?(?!\S)")


def team_sizes(said: str) -> tuple[int, int] | None:
    """What follows `puffer: teams`: " 2 x 5" -> (2, 5), " 2" -> (2, 0), else None."""
    found = _SIZES.match(said)
    count, size = (int(found[1]), int(found[2] or 0)) if found else (0, 0)
    return (count, size) if count >= 2 and (size or not found or not found[2]) else None


def is_masked(types: Mapping[str, str], by_macro: bool, binding: bool, seen: bool) -> bool:
    """Whether the env has masks.

    types       field -> type, of the env struct
    by_macro    MY_ACTION_MASK is defined
    binding     it is hand-written: then the macro alone decides
    seen        ACTION_MASK_AT is defined
    """
    return seen or types.get("action_mask") in MASK_TYPES and (by_macro or not binding)


def wrong_mask_field(types: Mapping[str, str], by_macro: bool, binding: bool,
                     seen: bool) -> str | None:
    """What is wrong with the field: a sentence, or None. A number of that name is the author's."""
    kind = types.get("action_mask")
    if seen:
        return "ACTION_MASK_AT and a field 'action_mask' are two masks" \
            if kind in MASK_TYPES else None
    if kind in MASK_TYPES:
        return None
    if by_macro:
        return "MY_ACTION_MASK needs a field 'action_mask'"
    if not binding and kind is not None and re.search(r"[*\]]$", kind):
        return "the field 'action_mask' has the wrong type"
    return None


def wrong_mask_place(at: int | None, widths: Sequence[int] | None, size: int | None) -> str | None:
    """What is wrong with ACTION_MASK_AT, or None. at, size: where they are constants."""
    if at is None or widths is None or size is None or 0 <= at <= size - sum(widths):
        return None
    return f"the {sum(widths)} actions of ACTION_MASK_AT lie outside the observation"


def wrong_tensor(declared: str, points_to: str) -> tuple[str, str] | None:
    """What is wrong with OBS_TENSOR_T, and what was expected. points_to: observations' type."""
    kinds = TENSORS.get(declared)
    actual = "bf16" if points_to == NARROW else OBS_TYPES.get(points_to)
    if kinds is None:
        return f"{declared} is not an observation type here", f"one of {', '.join(TENSORS)}"
    if actual is None or actual in kinds:
        return None
    return "OBS_TENSOR_T is not the type that observations points to", OBS_TENSORS[actual]


def why_its_type(name: str, kind: str) -> str:
    """Why a field of this type will not do."""
    if name == "observations" and kind == NARROW:
        return f"16 bits are read as bf16, where a binding.c says OBS_TENSOR_T {PRECISION}"
    return "other types are not converted: the trainer's buffers have exactly this type"


def wrong_coming(types: Mapping[str, str]) -> list[tuple[str, str]]:
    """(field, how to write it) of max_agents and alive where the type is wrong. A single number
    named alive is the author's."""
    return [(name, f"{good.replace(' *', '*')} {name};") for name, good in COMING.items()
            if types.get(name, good) != good
            and (name != "alive" or re.search(r"[*\]]$", types[name]))]


def wrong_mask_size(stated: int | None, widths: Sequence[int] | None) -> str | None:
    """What is wrong with MY_ACTION_MASK, or None. stated: its value, where it is a constant."""
    if stated is None or widths is None or stated == sum(widths):
        return None
    return "MY_ACTION_MASK is not the number of actions of all heads"
