"""PUF101-106, 112, 116, 117: what the header, the ini and the compiler say. Nothing is run."""
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ....base import paths
from ....base.errors import PufferError, nearest
from ....base.spec import Remark
from ....env.contract import UNSET, WARNINGS
from ....env.pufferlib5 import DEFAULTS, TRAINERS
from ....env.source import hide
from ....settings import inifile
from ....settings.config import find_ini
from ...collect.c.source.fields import COPIES
from ...collect.c.source.model import Source
from ...core.vocabulary import Facts, FileLine, Finding, Findings, rule
from ...fix import remedies
from ...fix.edits import Fix


def _reported(facts: Facts, code: str) -> Findings:
    """The header's problems and remarks of one code, as findings."""
    remarks = facts.spec.remarks if facts.spec else ()
    found: list[PufferError | Remark] = [*facts.problems, *remarks]
    for problem in found:
        if problem.code != code:
            continue
        file, _, line = (problem.where or "").partition(":")
        yield Finding(code, problem.message, file=file or None,
                      line=int(line) if line.isdigit() else None, expected=problem.expected,
                      actual=problem.actual, hint=problem.hint,
                      severity="warning" if problem in remarks else "")


@rule("PUF101", "missing-function", static=True)
def missing_function(facts: Facts) -> Findings:
    """An environment is four functions: `c_reset`, `c_step`, `c_render` and `c_close`, all
    taking a pointer to the same struct. One is missing, or takes something else.

    Why it matters: everything calls these four by name. Without one there is nothing to
    build, and a build that links against another file's function runs another game.

    Bad:

        void reset(Dock* env) { ... }
        void c_step(Dock* env) { ... }

    Good:

        void c_reset(Dock* env) { ... }
        void c_step(Dock* env) { ... }
        void c_render(Dock* env) { ... }
        void c_close(Dock* env) { (void)env; }

    Fix: define the function in the header, even if its body is empty. A `MY_` macro of a binding
    that neither puffer-sdk nor the vecenv.h of its checkout reads is a warning: what it names is
    called by nobody.
    """
    yield from _reported(facts, "PUF101")


@rule("PUF102", "missing-field", static=True)
def missing_field(facts: Facts) -> Findings:
    """The env struct lacks one of `log`, `observations`, `actions`, `rewards`, `terminals`,
    `num_agents`, `rng`, or gives it another type.

    Why it matters: the buffers are the trainer's. It stores their addresses in these fields
    and reads what the game writes there, as floats (observations may be bytes). With
    `int* actions` a game reads the bits of a float as an integer: action 1 becomes
    1065353216, and the agent is punished for moves it never made.

    Bad:

        int* actions;

    Good:

        float* actions;             // one row of head ids per agent; ids are floats too

    Fix: add the field, with exactly the type that the message shows. Where a hand-written binding
    decides what is bound, an unsigned `num_agents` and `truncations` of another type are warnings;
    with `MY_VEC_INIT`, `rng` may have any type, or be left out.
    """
    yield from _reported(facts, "PUF102")


@rule("PUF103", "obs-type-mismatch", static=True)
def obs_type_mismatch(facts: Facts) -> Findings:
    """The observation type that is declared is not the type that `observations` points to.

    Why it ruins training: the trainer allocates and reads rows of the declared type. Floats
    read as bytes are noise with the right shape: the losses look healthy and the agent
    learns nothing.

    Bad (in a hand-written binding.c, above `float* observations`):

        #define OBS_TENSOR_T ByteTensor

    Good:

        #define OBS_TENSOR_T FloatTensor

    Fix: change one of the two. A generated binding reads the type from the struct.
    """
    yield from _reported(facts, "PUF103")


@rule("PUF104", "log-layout", static=True)
def log_layout(facts: Facts) -> Findings:
    """`Log` may hold floats and arrays of floats, and its last field is `n`, the number of
    episodes that were summed.

    Why it matters: the logs of all envs are added as rows of floats, and everything is
    divided by the last one. An int in between is added as if its bits were a float; without
    `n` at the end every figure on the dashboard is a quotient of two unrelated numbers.

    Bad:

        typedef struct Log { float n; int wins; float score; } Log;

    Good:

        typedef struct Log { float wins; float score; float n; } Log;

    Fix: make the field a float, and move `n` to the end. Where a binding is written by hand, `n` is
    found wherever it stands, and this is a warning. Its `my_log` may report 256 values.
    """
    yield from _reported(facts, "PUF104")


def rename_keys(findings: list[Finding], texts: Mapping[str, str]) -> Iterator[Fix]:
    for finding in findings:
        match finding:
            case Finding(file=str(file), line=int(line), remedy=(str(key), str(name))):
                yield Fix.of([finding], f"rename {key} to {name}",
                             remedies.rename_key(texts, file, line, key, name))


@rule("PUF105", "config-key-unused", "warning", static=True, fix=rename_keys)
def config_key_unused(facts: Facts) -> Findings:
    """The ini's [env] section gives a key that nothing reads: no numeric field of the env
    struct has that name, and no hand-written binding asks for it.

    Why it matters: a misspelt key changes nothing, silently. A sweep over `max_tick` (the
    field is `max_ticks`) measures the same game a hundred times.

    Bad:

        [env]
        max_tick = 200              (the struct has: int max_ticks;)

    Good:

        [env]
        max_ticks = 200

    Fix: correct the spelling, add the field, or delete the key.
    """
    for key, close in _unread(facts).items():
        yield Finding("PUF105", f"nothing reads [env] {key}", **ini_place(facts, key),
                      expected="a numeric field of the env struct" if not facts.handwritten
                      else f"a key that {facts.source.binding} reads", actual=f"'{key}'",
                      hint=f"did you mean '{close}'?" if close else
                      "add a field of that name, or delete the key",
                      remedy=(key, close) if close else None)


def _unread(facts: Facts) -> dict[str, str | None]:
    """Keys of the ini's [env] that nothing reads -> the nearest one that something does."""
    if not facts.config or not facts.spec:
        return {}
    ini = find_ini(facts.folder)
    lines = key_lines(ini) if ini else {}
    known = set(_binding_keys(facts)) if facts.handwritten else {
        field.name for field in facts.spec.settable}
    return {key: nearest(key, known) for key in facts.config.env
            if key not in known and key in lines
            and not (facts.spec.by_agent and key in DEFAULTS)}


@rule("PUF106", "config-key-missing", static=True)
def config_key_missing(facts: Facts) -> Findings:
    """A hand-written binding.c reads a key that the ini's [env] section does not give.

    Why it matters: PufferLib's `dict_get` returns NULL for a key that is not there, and the
    env crashes before its first step.

    Bad (binding.c, with no `paddle_width` in the ini):

        env->paddle_width = dict_get(kwargs, "paddle_width")->value;

    Good (the ini):

        [env]
        paddle_width = 62

    Fix: add the key to [env], or read it with `dict_get_unsafe` and a default. What only a function
    that nobody calls reads is not reported, such as `my_init` beside `my_vec_init`.
    """
    if not facts.config or not facts.spec:
        return
    given, read, file = facts.config.env, _binding_keys(facts), facts.source.binding
    needed = {} if facts.outcome("probe") else _binding_keys(facts, needed=True)
    for key, line in needed.items():
        if key not in given and not (facts.spec.by_agent and key in DEFAULTS):
            close = nearest(key, given.keys() - read)
            yield Finding("PUF106", f"{file} reads [env] {key}, which the ini does not give",
                          file=file, line=line, expected=f"'{key}' in [env]",
                          actual=", ".join(given) or "an empty section",
                          hint=f"did you mean '{close}'?" if close else f"add: {key} = ...")
    for finding in _reported(facts, "PUF106"):      # by a run: the name may be made by a macro
        if not needed.keys() - given.keys():
            yield finding


def drop_num_atns(findings: list[Finding], texts: Mapping[str, str]) -> Iterator[Fix]:
    for finding in findings:
        match finding:
            case Finding(file=str(file), line=int(line), remedy=int(count)):
                yield Fix.of([finding], "take NUM_ATNS from ACT_SIZES",
                             remedies.drop_num_atns(texts, file, line, count))


@rule("PUF112", "space-mismatch", static=True, fix=drop_num_atns)
def space_mismatch(facts: Facts) -> Findings:
    """`OBS_SIZE`, `ACT_SIZES` and `NUM_ATNS` are missing or contradict each other.

    Why it matters: they are the only statement of how large an observation is and what an
    agent may do. With two heads in `ACT_SIZES` and `NUM_ATNS 1` the second agent's action is
    the first one's second head.

    Bad:

        #define NUM_ATNS 1
        #define ACT_SIZES {9, 5}

    Good:

        #define ACT_SIZES {9, 5}    // NUM_ATNS is counted

    Fix: state each size once; drop `NUM_ATNS`.
    """
    for finding in _reported(facts, "PUF112"):
        if isinstance(finding.expected, int):       # of NUM_ATNS: the entries of ACT_SIZES
            finding.remedy = finding.expected
        yield finding


@rule("PUF116", "setting-missing", "warning", static=True)
def setting_missing(facts: Facts) -> Findings:
    """c_step, c_reset or init reads a number of the env struct that nothing ever sets: no key of
    [env] has its name, and no line of code stores to it. It is always 0.

    Why it ruins training: a reward, a speed or a chance of 0 is a valid number, so everything runs.
    What the field is for does not exist: the goal pays nothing, the action does nothing.

    Bad:

        env->rewards[0] += env->reward_goal;        (the ini has no reward_goal)

    Good:

        [env]
        reward_goal = 1.0

    Not reported: fields that only drawing reads.

    Fix: add the key to [env], or set the field in init.
    """
    if not facts.config or not facts.spec:
        return
    source, program = facts.source, _program(facts.folder / f"{facts.spec.name}.c")
    read = {node.name: (function.file, node.line)
            for function in reversed(source.reach("init", "c_reset", "c_step"))
            for node in function.nodes if source.is_field(node, node.name)}
    if not read or _stores_whole(source):
        return
    ini, binding = find_ini(facts.folder), hide(source.binding_text)
    tags = TRAINERS if facts.spec.by_agent else ("tag",) if "MY_USES_TAGS" in binding else ()
    given = {"num_agents", *tags, *facts.config.env, *_unread(facts).values()}
    for field in facts.spec.settable:
        if field.name in given or field.name not in read or source.sets(field.name) or \
                re.search(_STORED.format(name=re.escape(field.name)), program):
            continue
        file, line = read[field.name]
        yield Finding("PUF116", f"nothing ever sets {field.name}, which the game reads", file=file,
                      line=line, expected=f"'{field.name}' in [env], or a line that stores to it",
                      actual="0 for ever", hint=f"add to [env] of {ini.name}: {field.name} = ..."
                      if ini else f"set env->{field.name} in init")


@rule("PUF117", "compiler-warning", "warning", static=True)
def compiler_warning(facts: Facts) -> Findings:
    """The compiler itself warns: abs() is given a float, or a variable is read before it is set.

    Why it ruins training: abs() is for ints. A distance of 0.7 becomes 0, so the agent stands on
    its goal nearly everywhere, and is paid there. A variable that was not set holds anything.

    Bad:

        env->rewards[0] = abs(env->x - env->goal) < 0.05f;

    Good:

        env->rewards[0] = fabsf(env->x - env->goal) < 0.05f;

    Fix: as the hint says. Of other warnings, such as a name that hides another, most are no faults:
    they are not reported.
    """
    found = list(_reported(facts, "PUF117"))
    yield from found
    told = {(finding.file, finding.line) for finding in found}
    for function in facts.source.functions.values():
        for node in function.nodes:         # clang takes it for meant, where it is set later
            own = node.children[-1].bare() if node.kind == "variable" and node.children else None
            if own is not None and own.kind == "name" and own.key == node.key and (
                    function.file, node.line) not in told:
                yield Finding("PUF117", f"'{own.name}' is given its own value, which nothing set",
                              file=function.file, line=node.line, hint=WARNINGS[UNSET],
                              expected=f"no warning of the compiler ({UNSET})", actual=UNSET)


# in NAME.c: a store to a field of that name, of any struct; its address; a designator
_STORED = (r"(?:->|\.)\s*{name}\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)|(?:->|\.)\s*{name}\s*(?:\+\+|--)|"
           r"(?:\+\+|--|&)\s*\(?[\w\s.>\[\]-]*(?:->|\.)\s*{name}\b|\b{name}\s*\)?\s*,\s*\"")


def _stores_whole(source: Source) -> bool:
    """Whether something stores a whole env struct."""
    return any(
        node.op == "=" and node.children[0].op == "*" and source.is_env(node.children[0])
        or node.kind == "call" and node.name in COPIES and any(
            source.is_env(argument.bare()) for argument in node.arguments[:1])
        for function in source.functions.values() for node in function.nodes)


def _program(path: Path) -> str:
    """The code of NAME.c, the standalone program."""
    return hide(paths.text(path)) if path.is_file() else ""


def _binding_keys(facts: Facts, *, needed: bool = False) -> dict[str, int]:
    """Keys that a hand-written binding asks its Dict for, and the line of the first time.

    needed      only those that dict_get itself is handed; else all that a function of the author's
                may ask for, too: any text but what dict_set writes
    """
    source = facts.source
    keys: dict[str, int] = {}
    of_vec = _vec_settings(source)
    trees = [function.tree for function in source.functions.values()
             if function.file == source.binding]
    if not needed:
        trees += [variable.tree for variable in source.globals.values()
                  if variable.file == source.binding and variable.tree]
    for node in (node for tree in trees for node in tree.walk() if node.kind == "string"):
        call = next((up for up in node.up() if up.kind == "call"), None)
        others = call.arguments[:1] if call else []
        if call and (call.name == "dict_set" or any(
                inner.key in of_vec for other in others for inner in other.walk())):
            continue
        if node.text and (not needed or (call and call.name == "dict_get")):
            keys.setdefault(node.text.strip('"'), node.line)
    return dict(sorted(keys.items(), key=lambda item: item[1]))


def _vec_settings(source: Source) -> set[int]:
    """The parameter of my_vec_init that holds [vec], the first of its two Dicts."""
    made = source.functions.get("my_vec_init")
    dicts = [each.key for each in made.parameters if "Dict" in each.type] if made else []
    return set(dicts[:1] if len(dicts) > 1 else ())


def key_lines(ini: Path) -> dict[str, int]:
    """[env] keys of an ini and their lines."""
    return {entry.key: entry.line for entry in inifile.read(ini)[0] if entry.section == "env"}


def ini_place(facts: Facts, key: str) -> FileLine:
    """Where the ini gives a key of [env]."""
    ini = find_ini(facts.folder)
    if ini is None:
        return {}
    return {"file": os.path.relpath(ini, facts.folder), "line": key_lines(ini).get(key)}
