"""PUF107-111: what the source shows without being run."""
from contextlib import suppress

import numpy as np

from ....env.syntax import Node
from ....settings import inifile
from ....settings.config import find_ini
from ...collect.c.source import counters, demo, switches
from ...collect.c.source.effects import accesses
from ...collect.c.source.functions import Call, Function
from ...collect.c.source.shared import shared_state
from ...core.vocabulary import Facts, Finding, Findings, rule

_NOT_STEPS = ("c_render", "c_close")
_DICE = {"rand", "srand", "random", "srandom", "GetRandomValue", "SetRandomSeed"}
_SPELLINGS = {"puffer_rand": "rand", "puffer_srand": "srand",      # puffer_prelude.h's macros
              "puffer_random_value": "GetRandomValue"}
_SOURCES = {"drand48", "lrand48", "mrand48", "srand48", "time", "clock", "gettimeofday",
            "clock_gettime", "timespec_get", "getrandom", "getentropy", "arc4random",
            "arc4random_uniform", "arc4random_buf", "rand_s", "__rdtsc", "__builtin_ia32_rdtsc",
            "getpid", "GetTime", "GetFrameTime"}
_CLOCKS = {"time", "clock", "gettimeofday", "clock_gettime", "timespec_get", "GetTime",
           "GetFrameTime"}
_ALLOCATE = {"malloc", "calloc", "realloc", "reallocarray", "aligned_alloc", "posix_memalign",
             "strdup", "strndup", "asprintf", "free", "MemAlloc", "MemRealloc", "MemFree"}
_PRINT = {"fprintf", "vfprintf", "fputs", "fputc", "putc", "fwrite", "fflush", "perror",
          "printf", "vprintf", "puts", "putchar", "TraceLog"}
_IO = _PRINT | {"fopen", "fclose", "fread", "fgets", "fgetc", "getc", "getchar", "getline",
                "scanf", "fscanf", "open", "close", "read", "write", "LoadFileText", "LoadFileData",
                "SaveFileText", "SaveFileData", "TakeScreenshot", "sleep", "usleep", "nanosleep",
                "WaitTime"}
_ENDS = {"abort", "exit", "_exit", "__assert_fail", "__assert_rtn", "__builtin_trap"}


@rule("PUF107", "demo-drift", "warning", static=True)
def demo_drift(facts: Facts) -> Findings:
    """NAME.c, the standalone program, gives an env field another value than the ini's [env].

    Why it misleads: NAME.c shows a policy in another game than the one that it was trained in. On a
    board of another size, or with another paddle, it looks as if training had failed. Where
    OBS_SIZE depends on the setting, the policy reads its observations at the wrong places.

    Bad (the ini says `size = 11`):

        Squared env = {.size = 9};

    Good:

        #include "build/squared_config.h"   // written by puffer-sdk build, from the ini
        Squared env = {0};
        squared_configure(&env);

    Not reported: a frame skip, if NAME.c itself acts on every k-th pass of its loop.

    Fix: call NAME_configure, or state the ini's value. If the difference is meant, allow it on that
    line, with the reason.
    """
    if facts.spec is None or facts.config is None:
        return
    types = {field.name: field.type for field in facts.spec.settable}
    wanted = {key: value for key, value in _ini_values(facts).items() if key in types}
    seen: set[tuple[str, int]] = set()
    repeated = counters.repeated(facts.source)
    for given in demo.settings(facts.spec) if wanted else ():
        want = wanted.get(given.field)
        if want is None or (given.field, given.line) in seen:
            continue
        if "float" not in types[given.field] and "double" not in types[given.field]:
            same = int(given.value) == int(want)
        else:
            same = bool(np.isclose(given.value, want, rtol=1e-6, atol=0.0))
        itself = given.field in repeated and given.value and want / given.value in given.turns
        if not same and not itself:
            seen.add((given.field, given.line))
            yield Finding("PUF107", f"{given.file} plays with another {given.field} than "
                                    f"{facts.spec.name}.ini", file=given.file, line=given.line,
                          expected=f"{given.field} = {want:g}", actual=f"{given.value:g}",
                          hint=f"call {facts.spec.name}_configure, of "
                               f"build/{facts.spec.name}_config.h" if not facts.handwritten
                          else None)


def _ini_values(facts: Facts) -> dict[str, float]:
    """[env] as the ini has it, overrides left out: keys that reach the field of that name."""
    ini = find_ini(facts.folder)
    entries = inifile.read(ini)[0] if ini else []
    bound = _plainly_bound(facts) if facts.handwritten else None
    values = {}
    for entry in entries:
        if entry.section == "env" and (bound is None or entry.key in bound):
            word = entry.text.lower()
            with suppress(ValueError):
                values[entry.key] = float({"true": "1", "false": "0"}.get(word, word))
    return values


def _plainly_bound(facts: Facts) -> set[str]:
    """Keys that a hand-written binding stores, as they are, in the field of the same name."""
    found: set[str] = set()
    for function in facts.source.reach("my_init"):
        for node in function.nodes:
            if node.op == "=" and node.children[0].kind == "member":
                value = node.children[1].bare()
                keys = {n.text.strip('"') for n in value.walk() if n.kind == "string"}
                if value.kind == "member" and keys == {node.children[0].name}:
                    found |= keys
    return found


@rule("PUF108", "mutable-global", static=True)
def mutable_global(facts: Facts) -> Findings:
    """State outside the env struct, at file scope or `static` in a function, changes while
    envs are made, reset or stepped.

    Why it ruins training: a process holds thousands of envs on many threads, and such a
    variable exists once. One env's step changes what the others see, threads race on it, and
    no run can be repeated. `_Thread_local` does not help: envs share threads too.

    Bad:

        static int spawn_timer;
        void c_step(Game* env) { spawn_timer++; ... }

    Good:

        typedef struct Game { ...; int spawn_timer; } Game;
        void c_step(Game* env) { env->spawn_timer++; ... }

    Not reported: constants, tables that nothing stores to, what only c_render, c_close or main
    use, what MY_VEC_INIT makes once for all envs, and a table that init fills with values that
    do not depend on the env (envs are made one after the other). The same table filled on
    demand in c_reset or c_step is reported: there threads race to fill it, unless an atomic flag,
    a lock or pthread_once keeps all but one of them out. What init sets from the env's settings
    alone is a warning: it is right as long as all envs of a process have the same settings.

    Fix: move it into the env struct; make a table `static const`, or fill it in init.
    """
    drawing = [call for call in facts.source.calls(*_starts(facts), without=_NOT_STEPS)
               if _SPELLINGS.get(call.name, call.name) in _DICE | _SOURCES]
    for shared in shared_state(facts.source, drawing):
        variable = shared.variable
        kind = f"a {'static' if variable.function else 'file-scope'} variable"
        places = ", ".join(f"{f}:{n} ({name})" for f, n, name in shared.places[:4])
        sets = "sets from an env's settings" if shared.of_settings else "changes"
        yield Finding("PUF108", f"all envs share '{variable.name}', {kind} that {shared.writer} "
                                f"{sets}", **variable.at,
                      severity="warning" if shared.of_settings else "",
                      expected="state in the env struct", actual=f"written at {places}",
                      hint=f"move {variable.name} into {facts.spec.struct}" if facts.spec else None)


def _starts(facts: Facts) -> tuple[str, ...]:
    return ("init", "my_init", "my_vec_init", "c_reset", "c_step", *facts.source.batch_steps())


@rule("PUF109", "shared-rng", static=True)
def shared_rng(facts: Facts) -> Findings:
    """Chance, or the clock, drives the simulation from a source that the whole process shares:
    rand(), random(), drand48(), time(), getrandom(), raylib's GetRandomValue or GetFrameTime.

    Why it ruins training: what an env draws then depends on who drew before it, on how many
    threads there are, or on the time of day. No run can be repeated, so no bug can be chased
    and no two settings can be compared.

    Bad:

        env->food = rand() % CELLS;
        env->x += env->speed * GetFrameTime();

    Good:

        env->rng = env->rng * 1664525u + 1013904223u;
        env->food = (int)((env->rng >> 16) % CELLS);
        env->x += env->speed * TICK;

    Not reported: a clock that changes nothing: a play is the same whether it runs or stands still.
    Where no play reached the call, the finding is a warning, unless what it says is stored to a
    field that no step reads.

    Fix: draw every number from env->rng, count time in steps. In an Ocean binding rand() by itself
    is a warning: library builds give it the running env's generator, PufferLib's do not.
    """
    is_ocean = facts.source.binding in facts.source.files
    places: dict[str, list[tuple[str, int]]] = {}
    names: dict[str, list[str]] = {}
    playing = facts.source.reach(*_starts(facts), without=_NOT_STEPS)
    for call in facts.source.calls(*_starts(facts), without=_NOT_STEPS):
        name = _SPELLINGS.get(call.name, call.name)
        if name in _DICE:
            group = "dice"
        elif name in _CLOCKS and facts.moved is False and (
                facts.reached(call.function, call.node)
                or facts.source.is_kept_unread(call.node, playing)):
            continue
        elif name in _SOURCES or (name in ("fopen", "open") and _is_entropy(call.node)):
            group = name
        elif name == "rand_r" and _is_static_seed(facts, call):
            group, name = name, "rand_r on a static seed"
        else:
            continue
        places.setdefault(group, []).append((call.function.file, call.node.line))
        if name not in names.setdefault(group, []):
            names[group].append(name)
    for group, lines in places.items():
        found = sorted(set(lines))
        listing = " and ".join(name if " " in name else f"{name}()"
                               for name in sorted(names[group]))
        verb, drive = ("are", "drive") if len(names[group]) > 1 else ("is", "drives")
        lent = group == "dice" and is_ocean
        mild = lent or group in _CLOCKS and facts.moved is False
        yield Finding("PUF109", f"{listing} {verb} " + (
                          "the running env's own generator here; in PufferLib the whole process "
                          "shares it" if lent else "shared by the whole process and "
                          f"{'may drive' if mild else drive} the simulation"),
                      file=found[0][0], line=found[0][1],
                      expected=f"numbers drawn from {'env->rng' if facts.has_rng else 'the env'}",
                      actual=", ".join(f"{f}:{n}" for f, n in found[:6]),
                      severity="warning" if mild else "",
                      hint="count time in steps" if "ime" in group or group == "clock" else
                      "every env has its own generator: env->rng" if facts.has_rng else
                      "give each env a generator of its own, and seed it in my_vec_init")


def _is_entropy(node: Node) -> bool:
    return any("random" in n.text for n in node.walk())


def _is_static_seed(facts: Facts, call: Call) -> bool:
    seeds = [origin for argument in call.node.arguments
             for origin in call.function.pointers.origins(argument) if origin.kind == "name"]
    statics = {access.variable.name for access in accesses(facts.source, [call.function])}
    return any(seed.name in statics for seed in seeds)


@rule("PUF110", "alloc-in-step", "warning", static=True)
def alloc_in_step(facts: Facts) -> Findings:
    """c_step, or a c_reset that it runs, allocates or frees memory.

    Why it is slow: a step of a small game takes 50 nanoseconds, a malloc as much again, and
    threads wait for one another inside malloc. Memory that some path does not free grows for hours,
    until the machine has none left.

    Bad:

        void c_step(Maze* env) { int* queue = malloc(CELLS * sizeof(int)); ...; free(queue); }

    Good:

        void init(Maze* env) { env->queue = malloc(CELLS * sizeof(int)); }      // once

    Not reported: memory that is made once, on first use (`if (!env->queue) env->queue = ...`).

    Fix: allocate in init for the largest case, free in c_close; small arrays can be local.
    """
    for function, calls in _grouped(facts, _ALLOCATE):
        calls = [call for call in calls if not _is_lazy(call.node)]
        if calls:
            yield _in_step("PUF110", function, calls, "memory from init",
                           "allocate once, in init, and free in c_close")


@rule("PUF111", "io-in-step", "warning", static=True)
def io_in_step(facts: Facts) -> Findings:
    """c_step, or a c_reset that it runs, prints, reads or writes a file, runs a program, or sleeps.

    Why it is slow: one printf costs as much as a hundred steps of a small game, and thousands
    of envs print at once: the dashboard drowns, and the log fills the disk. A file that is
    read in c_reset is read thousands of times a second.

    Bad:

        void c_reset(Race* env) { FILE* map = fopen("resources/map.txt", "r"); ... }

    Good:

        void init(Race* env) { FILE* map = fopen("resources/map.txt", "r"); ... }   // once

    Not reported: a message just before abort(), what #ifdef leaves out, and what a switch guards
    that is off: `if (env->debug)`, where [env] gives debug = 0 and nothing else sets it.

    Fix: read files in init; report through Log; drop the print.
    """
    for function, calls in _grouped(facts, _IO):
        calls = [call for call in calls if not (_is_lazy(call.node)
                                                  or _is_excused(facts, call.node))]
        if calls:
            yield _in_step("PUF111", function, calls, "a step that only computes",
                           "drop it, or move it to init or c_render")


def _grouped(facts: Facts, names: set[str]) -> list[tuple[Function, list[Call]]]:
    """Library calls of these names that c_step can reach, function by function."""
    found = []
    for function in facts.source.reach("c_step", *facts.source.batch_steps(), without=_NOT_STEPS):
        calls = [call for call in function.library_calls if call.name in names]
        if calls:
            found.append((function, calls))
    return found


def _in_step(code: str, function: Function, calls: list[Call], expected: str,
             hint: str) -> Finding:
    names = list(dict.fromkeys(f"{call.name}()" for call in calls))
    listing = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    who = function.name if function.name.startswith("c_") else \
        f"{function.name}, which steps run,"
    lines = sorted({call.node.line for call in calls})
    return Finding(code, f"{who} calls {listing}", **calls[0].at, expected=expected,
                   actual=f"{function.file}:{', '.join(map(str, lines[:6]))}", hint=hint)


def _is_lazy(node: Node) -> bool:
    """Whether a call happens once: after a test of what its branch then sets.

    `if (!env->map) env->map = malloc(n)`; `if (env->map) return;` above it; `if (env->count ==
    env->room) { env->room *= 2; realloc }`.
    """
    inner = node
    whole = next(up for up in node.up() if up.kind == "function_decl")
    stored = {_path(up.children[0]) for up in node.up() if up.op == "="}
    if not whole.name.startswith("c_"):
        stored |= _stored(whole)        # a function that loads, and sets a flag
    stored.discard("")
    for up in node.up():
        if up.kind == "if" and inner is not up.children[0]:
            branch = up.children[1] if inner is up.children[1] else inner
            grows = node.name in ("realloc", "reallocarray", "MemRealloc")
            if any(_tested(up.children[0], path, grows) for path in _stored(branch)):
                return True
        elif up.kind == "block" and _was_left(up, inner, stored):
            return True
        inner = up
    return False


def _was_left(block: Node, inner: Node, stored: set[str]) -> bool:
    """Whether a block is left before the call, once what the call makes is there."""
    for guard in block.children:
        if guard is inner:
            return False
        if guard.kind == "if" and any(n.kind == "return" for n in guard.children[1].walk()):
            condition = guard.children[0]
            if condition.op == "!=" and condition.children[1].bare().value == 0:
                condition = condition.children[0]
            if _path(condition) in stored:
                return True
    return False


def _stored(branch: Node) -> set[str]:
    return {_path(n.children[0]) for n in branch.walk() if n.writes and n.children} - {""}


def _tested(condition: Node, path: str, any_test: bool) -> bool:
    """Whether the condition asks if `path` is null; any_test: or compares it with anything."""
    for node in condition.walk():
        if _path(node) != path:
            continue
        above = node.parent
        if any_test or above is not None and (above.op == "!" or (
                above.op == "==" and any(c.bare().value == 0 for c in above.children))):
            return True
    return False


def _path(node: Node) -> str:
    """`env->map` as one word, to tell whether two expressions name the same thing."""
    node = node.bare()
    if node.kind == "name":
        return node.name
    if node.kind == "member" and node.children:
        below = _path(node.children[0])
        return f"{below}.{node.name}" if below else ""
    if node.kind == "index" and len(node.children) == 2:
        below, index = _path(node.children[0]), node.children[1]
        return f"{below}[{_path(index) or index.value}]" if below else ""
    return ""


def _is_excused(facts: Facts, node: Node) -> bool:
    """A message just before the process ends, or output behind a switch that is off."""
    inner, settings = node, facts.config.env if facts.config else {}
    for up in node.up():
        if up.kind == "if" and inner is not up.children[0]:
            holds = switches.value(facts.source, up.children[0], settings)
            if holds is not None and bool(holds) != (inner is up.children[1]):
                return True
        elif up.kind in ("block", ",") or up.op == ",":
            rest = up.children[next(i for i, c in enumerate(up.children) if c is inner) + 1:]
            for later in rest:
                called = [n.name for n in later.walk() if n.kind == "call"]
                if any(name in _ENDS for name in called):
                    return node.name in _PRINT
                if not all(name in _PRINT for name in called) or not called:
                    break
        inner = up
    return False
