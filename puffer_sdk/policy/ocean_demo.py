"""Let an Ocean demo play a policy that was trained here.  NAME.c + checkpoint -> NAME.c, weights

    LinearLSTM* net = make_linearlstm(weights, 1, 42, sizes, 1);
    forward_linearlstm(net, net->obs, env.actions);
    free_linearlstm(net);

become the calls of PufferNet, with the sizes of the policy, and the policy is written where the
program loads its weights from. What NAME.c was stays beside it as NAME.c.orig.
"""
from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from ..base import files, paths
from ..base.errors import UsageError
from ..env import header
from ..env.source import hide
from . import export

TYPES = {"linearlstm": "LinearLSTM", "default": "Default", "convlstm": "ConvLSTM",
         "puffernet": "PufferNet"}
CALL = re.compile(rf"\b(make|forward|free)_({'|'.join(TYPES)})\s*\(")
LOAD = re.compile(r"\bload_weights\s*\(")


@dataclass(frozen=True)
class Demo:
    """A program that was changed, and the weights that it loads."""

    source: Path
    weights: Path
    policy: export.TrainedPolicy
    diff: list[str]         # of the source; empty if it plays the policy as it is


def write_demo(env: str | Path | None = None, *, model: str | Path | None = None,
               runs_dir: Path | None = None) -> Demo:
    """Change NAME.c so that it plays a run's policy, and write that where it looks for weights.

    model   "best" or "latest" of the newest run, a run's number or folder, or a checkpoint file
    Raises UsageError where NAME.c is missing, makes no network of PufferLib's, or would be changed
    while NAME.c.orig is there; what export_policy raises, otherwise.
    """
    spec = header.read(paths.find_env(env))
    path, _ = export.find_checkpoint(spec.folder, model, runs_dir)
    policy = export.read_policy(path)
    if policy.name != spec.name:
        policy = export.fitted(policy, spec, policy.config.env)
    source = spec.folder / f"{spec.name}.c"
    if not source.is_file():
        raise UsageError(f"there is no {source.name}: a demo is made of it", where=spec.folder)
    old = files.read(source).decode()
    new, weights = rewritten(old, policy, source, masked=spec.has_mask,
                             seen=(spec.struct, spec.mask_at) if spec.mask_at else None)
    target = files.below(paths.working_dir(spec.folder), weights, "the file of the weights",
                         where=source)
    kept = source.with_name(f"{source.name}.orig")
    if new != old and os.path.lexists(kept):
        raise UsageError(f"{kept.name} exists and would be overwritten", where=kept,
                         hint="remove it, or move it away")
    packed = export.pack(policy)
    with files.refused("cannot write the policy", where=target):
        files.mkdir(target.parent)
    files.save(target, packed, what="the policy", hint="free some space")
    if new != old:
        files.save(kept, old, what=kept.name, hint="free some space")
        files.save(source, new, what=source.name, hint="free some space")
    diff = difflib.unified_diff(old.splitlines(), new.splitlines(), kept.name, source.name,
                                lineterm="", n=0)
    return Demo(source, target, policy, list(diff))


def rewritten(text: str, policy: export.TrainedPolicy, source: Path, *, masked: bool = False,
              seen: tuple[str, str] | None = None) -> tuple[str, str]:
    """The program with PufferNet's calls, and the file that it loads weights from.

    masked  the environment has an action mask
    seen    its struct and ACTION_MASK_AT, where the observation holds the mask
    """
    bare = hide(text)
    loads = [arguments(bare, found.end()) for found in LOAD.finditer(bare)]
    calls = [(found, arguments(bare, found.end())) for found in CALL.finditer(bare)]
    makes = [each for each in calls if each[0][1] == "make"]
    if not loads or not makes:
        raise UsageError(f"{source.name} does not create a PufferLib network", where=source,
                         expected="load_weights and " + ", ".join(f"make_{k}" for k in TYPES),
                         actual="load_weights alone" if loads else "neither",
                         hint="puffer-sdk export shows the lines to add")
    (start, end), *more = loads[0]
    file = re.match(r'\s*"([^"]+)"', text[start:end])
    if not file:
        raise UsageError(f"{source.name} computes the name of its weights", where=source,
                         expected="a text in quotes", actual=text[start:end].strip(),
                         hint="puffer-sdk export --output writes the policy to any place")
    changes = []
    if more:                        # PufferLib 3 gave the number of weights, too
        changes.append((end, more[-1][1], ""))
    agents = text[slice(*makes[0][1][1])].strip() if len(makes[0][1]) > 1 else "1"
    for found, places in calls:
        words = [text[a:b].strip() for a, b in places]
        inside = places[0][0], places[-1][1]
        changes.append((found.start(), found.end() - 1, f"{found[1]}_puffernet"))
        if found[1] == "make":
            if len(words) < {"puffernet": 6, "linearlstm": 4}.get(found[2], 2):
                raise UsageError(f"make_{found[2]} has too few arguments", where=source,
                                 actual=text[found.start():inside[1] + 1])
            changes.append((*inside, _of_make(found[2], words, policy)))
        elif found[1] == "forward" and len(words) == 3:
            changes.append((*inside, _of_forward(words, masked, bool(seen))))
            changes += _clearing(text, inside[1] + 1, words[2], agents)
    if seen:
        changes.append(_legal(text, policy, source, *seen))
    for kind, name in TYPES.items():
        if any(found[2] == kind for found, _ in makes):
            changes += [(*found.span(), "PufferNet")
                        for found in re.finditer(rf"\b{name}\b", bare)]
    for first, last, new in sorted(changes, reverse=True):
        text = text[:first] + new + text[last:]
    return text, file[1]


def _of_make(kind: str, words: list[str], policy: export.TrainedPolicy) -> str:
    """weights, agents, observation, hidden, layers, sizes, heads"""
    weights, agents = words[:2]
    widths = ", ".join(map(str, policy.act_sizes))
    sizes = words[5] if kind == "puffernet" else words[3] if kind == "linearlstm" \
        else f"(int[]){{{widths}}}"
    return (f"{weights}, {agents}, {policy.obs_size}, {policy.hidden_size}, {policy.num_layers}, "
            f"{sizes}, {len(policy.act_sizes)}")


def _legal(text: str, policy: export.TrainedPolicy, source: Path, struct: str,
           mask_at: str) -> tuple[int, int, str]:
    """A function behind the includes: the bytes that the observation holds as numbers."""
    included = list(re.finditer(r"(?m)^[ \t]*#[ \t]*include\b.*$", text))
    if not included:
        raise UsageError(f"{source.name} includes no header", where=source,
                         expected=f'#include "{source.stem}.h"', actual="no #include")
    end, count = included[-1].end(), sum(policy.act_sizes)
    row = f"i / {count} * {policy.obs_size}"
    return end, end, f"""

static unsigned char* puffer_legal({struct}* env) {{     // what the next actions may be
    static unsigned char* mask;
    mask = realloc(mask, (size_t)env->num_agents * {count});
    for (int i = 0; i < env->num_agents * {count}; i++)
        mask[i] = env->observations[{row} + ({mask_at}) + i % {count}] != 0;
    return mask;
}}"""


def _of_forward(words: list[str], masked: bool, seen: bool) -> str:
    """Policies of ours forget at the end of an episode, and choose what the mask allows: the call
    with five arguments says both."""
    net, observations, actions = words
    env = _owner(actions)
    if not env:
        return f"{net}, {observations}, {actions}"
    where = f"&{env[:-1]}" if env.endswith(".") else env.removesuffix("->")
    mask = f"puffer_legal({where})" if seen else f"{env}action_mask" if masked else "NULL"
    return f"{net}, {observations}, {actions}, {mask}, {env}terminals"


def _clearing(text: str, end: int, actions: str, agents: str) -> list[tuple[int, int, str]]:
    """Terminals are cleared behind the call, as training does before each step: where c_step leaves
    them as they are, agents would go on to forget in every tick. end: behind the parenthesis."""
    owner = _owner(actions)
    if not owner or text[end:end + 1] != ";":
        return []
    line = text[text.rfind("\n", 0, end) + 1:end]
    indent = line[:len(line) - len(line.lstrip())]
    return [(end + 1, end + 1, f"\n{indent}memset({owner}terminals, 0, {agents} * sizeof(float));")]


def _owner(actions: str) -> str | None:
    """'env.' of env.actions."""
    found = re.fullmatch(r"(.+?(?:\.|->))actions", actions)
    return found[1] if found else None


def arguments(text: str, start: int) -> list[tuple[int, int]]:
    """Where the arguments of a call lie; start: behind its parenthesis."""
    places, depth, begin = [], 0, start
    for at in range(start, len(text)):
        if text[at] in "([{":
            depth += 1
        elif depth == 0 and text[at] in ",)":
            places.append((begin, at))
            begin = at + 1
            if text[at] == ")":
                return places
        elif text[at] in ")]}":
            depth -= 1
    return [*places, (begin, len(text))]
