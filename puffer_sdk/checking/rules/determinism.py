"""PUF501, 503: the same bytes from the same seed, whoever else is stepped, and wherever."""
from __future__ import annotations

from ..facts import Difference, Facts, Finding
from . import NotTested, need, rule
from .memory import damaged


def _finding(facts: Facts, code: str, message: str, found: Difference, **more) -> Finding:
    what = {"rewards": "reward", "terminals": "terminal", "truncations": "truncation"}
    name = what.get(found.array, found.array)
    return Finding(code, f"{message} ({name} of env {found.env} at step {found.step})",
                   **facts.at("c_reset" if found.step == 0 else "c_step"), env=found.env,
                   agent=found.agent, step=found.step, element=found.element,
                   expected=found.one, actual=found.other, seed=facts.seed, **more)


def _need_sound_memory(facts: Facts) -> None:
    """Stray reads and writes explain any difference: one finding is enough."""
    if damaged(facts):
        raise NotTested("memory errors explain any difference (PUF201, PUF203, PUF204)")


@rule("PUF501", "nondeterministic")
def nondeterministic(facts: Facts):
    """The same seed and the same actions give two different runs.

    Why it ruins training: no result can be repeated and no bug can be chased. What differs is
    often memory that was never initialised, so the game depends on what ran before it.

    Bad:

        env->rng = time(NULL);                  // the clock
        static int level = 0;                   // outlives the env
        int* map = malloc(size);                // holds anything

    Good:

        env->level = 0;                         // in c_reset
        int* map = calloc(1, size);

    Fix: draw every random number from env->rng; keep all state in the struct; initialise it.
    """
    _need_sound_memory(facts)
    need(facts, "trace-base")
    moved, again = (facts.differences.get(n) for n in ("trace-moved", "trace-again"))
    if moved:
        yield _finding(facts, "PUF501", "a second process gives another run", moved,
                       hint="look for clocks, entropy, uninitialised memory, and addresses")
    elif again:
        yield _finding(facts, "PUF501", "a second run in the same process differs", again,
                       hint="look for static and file-scope variables")
    elif not {"trace-moved", "trace-again"} <= set(facts.traces):
        raise NotTested("the environment did not survive a second run")


@rule("PUF503", "env-crosstalk")
def env_crosstalk(facts: Facts):
    """Stepping one env changes another: env i behaves differently alone, in a batch, or in
    another position of it.

    Why it ruins training: the envs are meant to be thousands of independent games. Shared
    state couples them, threads then race on it, and no run can be repeated.

    Bad:

        static int spawn_timer;                 // one for all envs

    Good:

        typedef struct Game { int spawn_timer; ... } Game;

    Fix: move file-scope and static variables that change into the env struct.
    """
    _need_sound_memory(facts)
    need(facts, "trace-base")
    if "trace-moved" in facts.differences:
        raise NotTested("the environment is not deterministic to begin with (PUF501)")
    if "trace-reversed" not in facts.traces:
        raise NotTested(facts.skipped.get("trace-reversed", "the environment did not survive"))
    ways = {"trace-alone-first": "env 0 plays another game when it is alone",
            "trace-alone-last": "an env plays another game when it is alone",
            "trace-reversed": "an env plays another game when the envs are stepped in another "
                              "order"}
    for name, message in ways.items():
        if name in facts.differences:
            yield _finding(facts, "PUF503", message, facts.differences[name],
                           hint="look for static and file-scope variables that change")
            return
