"""PUF205-207: the env writes into its actions, keeps memory, or frees what is not its own."""
from ....env.syntax import Node
from ...core.memory_bound import GIB
from ...core.vocabulary import (
    ASAN,
    SIGNAL,
    ActionsWriteFact,
    ActionsWrittenFact,
    CountedFact,
    Facts,
    Finding,
    Findings,
    LeakFact,
    NotTested,
    Proof,
    SharedFreeFact,
    Shows,
    dies,
    need,
    rule,
)
from .memory import call_of, damaged, place_of

BOUND = ("observations", "actions", "rewards", "terminals")     # in the order of facts.def


@rule("PUF205", "actions-written", "warning")
def actions_written(facts: Facts) -> Findings:
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
    fact = facts.fact("packed", ActionsWrittenFact)
    if fact is None:
        return
    caught = facts.fact("packed", ActionsWriteFact)
    place = facts.at("c_step")
    if caught and caught.frame:
        place = {"file": caught.frame.file, "line": caught.frame.line}
    resets = caught and any(frame.function == "c_reset" for frame in caught.frames)
    yield Finding("PUF205", f"{'c_reset' if resets else 'c_step'} writes into the actions", **place,
                  env=fact.env, agent=fact.agent, step=fact.step, element=fact.head,
                  expected=fact.was, actual=fact.became, seed=facts.seed, seen_in="packed",
                  hint="delete the line: the trainer writes the actions of each step, and reads "
                       "those of an ending after c_reset" if resets else
                       "copy the action into a local variable, and change that")


@rule("PUF206", "memory-leak", proof=Proof("freed"))
def memory_leak(facts: Facts) -> Findings:
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
    leaks = facts.all("memory", LeakFact)
    yield from _own_arrays(facts, [fact for fact in leaks if fact.replaced])
    leaks = [fact for fact in leaks if not fact.replaced]
    lost, together = _overwritten(facts, leaks)
    yield from lost
    for each in _by_function(leaks, together):
        fact = each[0]
        place = place_of(facts, fact)
        if fact.how == "close":
            message = f"memory that {call_of(fact)} allocates is not freed by c_close"
            amount = _amount(sum(one.blocks / one.envs for one in each),
                             sum(one.bytes / one.envs for one in each))
            lines = sorted({one.frame.line for one in each if one.frame})
            also = f", of lines {', '.join(map(str, lines))}" if lines[1:] else ""
            actual = f"{amount} of one env left behind{also}"
        else:
            message = f"memory that {call_of(fact)} allocates grows with every reset"
            actual = f"{fact.bytes} bytes more after {fact.resets} resets"
        yield Finding("PUF206", message, **place, expected="every block freed by c_close"
                      if fact.how == "close" else "as much memory as after the first reset",
                      actual=actual, shows=Shows("freed" if fact.how == "close" else "steady"),
                      hint="free the old block before its pointer is overwritten"
                      if fact.phase != "init" else "add to c_close: free(env->...);")
    counted = facts.fact("memory", CountedFact)
    if counted and counted.overfull:
        raise NotTested("more than 65536 blocks of memory were in use")


def _by_function(leaks: list[LeakFact], without: list[LeakFact]) -> list[list[LeakFact]]:
    """What c_close forgets of one function is one cause; what grows is one for each line."""
    found: dict[tuple[object, ...], dict[int, LeakFact]] = {}
    for fact in leaks:
        if fact not in without:
            frame = fact.frame
            line = frame.line if frame else 0
            place = (frame.file, frame.function if fact.how == "close" else line) if frame else ()
            found.setdefault((fact.how, *place), {}).setdefault(line, fact)
    return [list(each.values()) for each in found.values()]


def _own_arrays(facts: Facts, leaks: list[LeakFact]) -> Findings:
    """Arrays that init makes and the trainer's replace: to free those in c_close is wrong, and
    where it does, PUF207 says so."""
    names = [name for bit, name in enumerate(BOUND) if any(f.replaced >> bit & 1 for f in leaks)]
    freed = {fact.array for outcome in facts.outcomes.values()
             for fact in outcome.all(SharedFreeFact)}
    if leaks and not freed & set(names):
        yield Finding("PUF206", "init allocates arrays that the trainer replaces by its own",
                      **place_of(facts, leaks[0]), shows=Shows("freed"),
                      expected=f"{_listed(names)} that are bound after init",
                      actual=f"{sum(f.blocks for f in leaks) / leaks[0].envs:g} blocks of one env "
                             "that nobody points to any more",
                      hint="leave this out of init: a standalone program allocates them in main")


def _overwritten(facts: Facts, leaks: list[LeakFact]
                 ) -> tuple[list[Finding], list[LeakFact]]:
    """Blocks of init that c_close would free, if their pointer were not set to others: a finding
    for each such field, and the leaks that these tell of."""
    kept = {id(fact): _kept_in(facts, fact) for fact in leaks if fact.how == "close"}
    freed = {node.key for function in facts.source.reach("c_close") for call in function.nodes
             if call.kind == "call" and call.name == "free" for node in call.walk()
             if node.kind == "member"}
    findings: list[Finding] = []
    together: list[LeakFact] = []
    for fact in leaks:
        field = kept.get(id(fact))
        if fact.phase != "init" or not field or field.key not in freed or fact in together:
            continue
        place = next(((function.file, node.line)
                      for function in facts.source.reach("c_reset", "c_step")
                      for node in function.nodes
                      if node.op == "=" and node.children[0].key == field.key), None)
        if place is None:
            continue
        mine = [one for one in leaks if (other := kept.get(id(one))) and other.key == field.key]
        together += mine
        blocks, size = (sum(each) for each in zip(
            *((one.blocks / one.envs, one.bytes / one.envs) for one in mine)))
        where = place_of(facts, fact)
        where["file"], where["line"], where["stack"] = *place, []
        findings.append(Finding(
            "PUF206", f"'{field.name}' is set to another block, and the one before is lost",
            **where, shows=Shows("freed"),
            expected="every block freed", actual=_amount(blocks, size) + " of one env left behind",
            hint="free the old block before its pointer is overwritten"))
    return findings, together


def _kept_in(facts: Facts, leak: LeakFact) -> Node | None:
    """The field that a leaked block's pointer is stored to, as the source tells."""
    place = place_of(facts, leak)
    for function in facts.source.functions.values():
        if function.file != place.get("file"):
            continue
        stores = [(node.children[0], node.children[1]) if node.op == "=" else
                  (node, node.children[-1]) for node in function.nodes
                  if node.children and (node.op == "=" or node.kind == "variable")]
        targets = [target for target, value in stores if value.bare().kind == "call"
                   and value.bare().line == place.get("line")]
        locals_ = {target.key for target in targets if target.kind in ("name", "variable")}
        targets += [target for target, value in stores if value.bare().key in locals_]
        for target in targets:
            if target.kind == "member":
                return target
    return None


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])}{' and ' if names[1:] else ''}{names[-1]}"


def _amount(blocks: float, size: float) -> str:
    return f"{blocks:g} block{'' if blocks == 1 else 's'} ({size:g} bytes)"


@rule("PUF207", "frees-shared-buffer", proof=dies(ASAN, SIGNAL))
def frees_shared_buffer(facts: Facts) -> Findings:
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
    found: dict[tuple[str | None, str], list[tuple[str, SharedFreeFact]]] = {}
    for name, outcome in sorted(facts.outcomes.items(), key=lambda item: _order(item[0])):
        for fact in outcome.all(SharedFreeFact):
            frame = fact.frame          # a call at its end may have left the function
            key = (frame.file if frame else place_of(facts, fact).get("file"),
                   frame.function if frame else call_of(fact))
            facts_there = found.setdefault(key, [])
            if fact.array not in [other.array for _, other in facts_there]:
                facts_there.append((name, fact))
    for there in found.values():
        name, fact = there[0]
        verb = "frees" if fact.call == "free" else "reallocates"
        arrays = [other.array for _, other in there]
        whose = "the env struct" if arrays == ["env struct"] else \
            f"the trainer's {_listed(arrays)}"
        where = place_of(facts, fact)
        where["seen_in"] = name
        yield Finding("PUF207", f"{call_of(fact)} {verb} {whose}", **where,
                      expected="only memory that the env allocated", actual=", ".join(arrays),
                      hint="leave out both these and what init allocates for them: the trainer "
                           "has arrays of its own"
                      if any(leak.replaced for leak in facts.all("memory", LeakFact)) else
                      "free it in the program that allocated it")
    if not found and not damaged(facts):
        need(facts, "guard-low")


def _order(name: str) -> tuple[bool, str]:
    """Plain runs first: their stacks have the fewest frames that are inlined away."""
    return name.startswith("sanitized"), name
