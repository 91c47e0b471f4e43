"""PUF205-207: the env writes into its actions, keeps memory, or frees what is not its own."""
from __future__ import annotations

from ...core.facts import Fact, Facts
from ...core.finding import Finding
from ...core.memory_bound import GIB
from ...core.registry import NotTested, need, rule
from ...core.repro_spec import ASAN, SIGNAL, Proof, Shows, dies
from .memory import call_of, damaged, place_of


@rule("PUF205", "actions-written", "warning")
def actions_written(facts: Facts):
    """A step changes the actions that it was given.

    Why it matters: the trainer stores the actions that the policy chose and learns from
    them. If the env rewrites them in the same buffer, the stored action is not the one whose
    probability was recorded, and the update pushes the wrong action. In a self-play or
    replay setup the next reader sees them, too.

    Bad:

        env->actions[0] = fminf(fmaxf(env->actions[0], -1.0f), 1.0f);
        env->x += env->actions[0];

    Good:

        float push = fminf(fmaxf(env->actions[0], -1.0f), 1.0f);
        env->x += push;

    Fix: work on a copy in a local variable, and leave the buffer as it was.
    """
    need(facts, "packed")
    fact = facts.fact("packed", "actions_written")
    if fact is None:
        return
    caught = facts.fact("packed", "actions_write")
    frame = caught.frame if caught else None
    place = {"file": frame.file, "line": frame.line} if frame else facts.at("c_step")
    yield Finding("PUF205", "c_step writes into its actions", **place, env=fact.env,
                  agent=fact.agent, step=fact.step, element=fact.head,
                  expected=fact.was, actual=fact.became, seed=facts.seed, seen_in="packed",
                  hint="copy the action into a local variable, and change that")


@rule("PUF206", "memory-leak", proof=Proof("freed"))
def memory_leak(facts: Facts):
    """Memory that init, c_reset or c_step allocates is not freed by c_close, or grows with
    every reset.

    Why it ruins training: envs are created thousands at a time, again for each sweep run,
    and reset millions of times. A hundred bytes lost on each reset are gigabytes within the
    hour, and the run is killed in the middle of the night.

    Bad:

        void c_reset(Maze* env) { env->walls = calloc(env->size, 1); ... }
        void c_close(Maze* env) { (void)env; }

    Good:

        void init(Maze* env) { env->walls = calloc(env->size, 1); }
        void c_close(Maze* env) { free(env->walls); }

    All experiments together may take 4 GiB; `check --memory 16` allows more.

    Fix: allocate once in init and free in c_close. What c_step allocates lazily is fine as
    long as c_close frees it; a table that is made once for all envs is no leak either.
    """
    if facts.exceeded:
        bound = f"{facts.memory / GIB:.3g} GiB"
        yield Finding("PUF206", f"the environment takes more than {bound} of memory",
                      **facts.at("c_reset"), seed=facts.seed,
                      expected=f"at most {bound} in all experiments together",
                      actual="more: experiments were ended, and rules are not tested",
                      hint="does each reset or step allocate? If a game needs this much: --memory")
        if facts.outcome("memory") is None:
            return
    need(facts, "memory")
    leaks = facts.all("memory", "leak")
    yield from _own_arrays(facts, [fact for fact in leaks if fact.replaced])
    seen = set()
    for fact in leaks:
        if fact.replaced:
            continue
        place = place_of(facts, fact)
        key = (place.get("file"), place.get("line"), fact.how)
        if key in seen:
            continue
        seen.add(key)
        if fact.how == "close":
            message = f"memory that {call_of(fact)} allocates is not freed by c_close"
            actual = f"{_per_env(fact)} of one env left behind"
        else:
            message = f"memory that {call_of(fact)} allocates grows with every reset"
            actual = f"{fact.bytes} bytes more after {fact.resets} resets"
        yield Finding("PUF206", message, **place, expected="every block freed by c_close"
                      if fact.how == "close" else "as much memory as after the first reset",
                      actual=actual, shows=Shows("freed" if fact.how == "close" else "steady"),
                      hint="free the old block before its pointer is overwritten"
                      if fact.phase != "init" else "add to c_close: free(env->...);")
    counted = facts.fact("memory", "counted")
    if counted and counted.overfull:
        raise NotTested("more than 65536 blocks of memory were in use")


def _own_arrays(facts: Facts, leaks: list[Fact]):
    """Arrays that init makes and the trainer's replace: to free those in c_close would be wrong."""
    if leaks:
        yield Finding("PUF206", "init allocates arrays that the trainer replaces by its own",
                      **place_of(facts, leaks[0]), shows=Shows("freed"),
                      expected="observations, actions, rewards and terminals that are bound after "
                               "init",
                      actual=f"{sum(f.blocks for f in leaks) / leaks[0].envs:g} blocks of one env "
                             "that nobody points to any more",
                      hint="leave this out of init: a standalone program allocates them in main")


def _per_env(fact: Fact) -> str:
    """How many blocks and bytes each env leaves."""
    blocks, bytes_ = fact.blocks / fact.envs, fact.bytes / fact.envs
    return f"{blocks:g} block{'' if blocks == 1 else 's'} ({bytes_:g} bytes)"


@rule("PUF207", "frees-shared-buffer", proof=dies(ASAN, SIGNAL))
def frees_shared_buffer(facts: Facts):
    """The env frees or reallocates memory that it does not own: its observations, actions,
    rewards or terminals, or the env struct itself.

    Why it ruins training: the buffers belong to the trainer and hold the rows of all envs
    (on a GPU machine they are pinned memory, which free() does not know). The process dies
    when the envs are closed, perhaps before the last checkpoint is written. A standalone
    program allocates them itself, and its c_close is often carried over.

    Bad:

        void c_close(Pong* env) { free(env->observations); free(env->rewards); }

    Good:

        void c_close(Pong* env) { free(env->bricks); }      // what init allocated

    Fix: free the buffers in the program that allocated them (`free_allocated` in NAME.c),
    and in c_close only what the env allocated.
    """
    # by function: c_close often frees them all
    found: dict[tuple, list[tuple[str, Fact]]] = {}
    for name, outcome in sorted(facts.outcomes.items(), key=lambda item: _order(item[0])):
        for fact in outcome.all("shared_free"):
            frame = fact.frame
            key = (frame.file, frame.function) if frame else ("", call_of(fact))
            facts_there = found.setdefault(key, [])
            if fact.array not in [other.array for _, other in facts_there]:
                facts_there.append((name, fact))
    for there in found.values():
        name, fact = there[0]
        verb = "frees" if fact.call == "free" else "reallocates"
        arrays = [other.array for _, other in there]
        whose = "the env struct" if arrays == ["env struct"] else \
            f"the trainer's {', '.join(arrays[:-1])}{' and ' if arrays[1:] else ''}{arrays[-1]}"
        yield Finding("PUF207", f"{call_of(fact)} {verb} {whose}",
                      **{**place_of(facts, fact), "seen_in": name},
                      expected="only memory that the env allocated", actual=", ".join(arrays),
                      hint="free it in the program that allocated it")
    if not found and not damaged(facts):
        need(facts, "guard-low")


def _order(name: str) -> tuple:
    """Plain runs first: their stacks have the fewest frames that are inlined away."""
    return name.startswith("sanitized"), name
