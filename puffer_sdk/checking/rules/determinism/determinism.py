"""PUF501, 503-505: same seed, same bytes; independent of batch, process, thread and build."""
from ....env.contract import UNSET
from ...core.vocabulary import (
    DEADLY,
    FAILED,
    RACE,
    Difference,
    Facts,
    Finding,
    Findings,
    NotTested,
    Proof,
    SharedMemoryFact,
    Shows,
    explained_by,
    finds,
    need,
    rule,
)
from ..contract.code import mutable_global, shared_rng
from ..contract.contract_rules import compiler_warning
from ..memory.memory import undefined_behaviour, unrepeatable, unsound

FIELDS = 4          # of the struct that a finding names


def _finding(facts: Facts, code: str, message: str, found: Difference, *, seen_in: str, hint: str,
             shows: Shows | None = None) -> Finding:
    what = {"rewards": "reward", "terminals": "terminal", "truncations": "truncation"}
    name = what.get(found.array, found.array)
    where = f"{name} of env {found.env} at step {found.step}"
    if found.fields:
        paths = [path for path, *_ in found.fields]
        where += "; of the struct, " + ", ".join(paths[:FIELDS]) + (
            f" and {len(paths) - FIELDS} more" if len(paths) > FIELDS else "")
    lines = [f"{path}: {one} and {other}" for path, one, other in (found.fields or ())[:FIELDS]]
    if found.fields == []:
        lines = ["no field of the struct differs: what does lies elsewhere (static, or the heap)"]
    return Finding(code, f"{message} ({where})", fields=lines,
                   **facts.at("c_reset" if found.step == 0 else "c_step"), env=found.env,
                   agent=found.agent, step=found.step, element=found.element,
                   expected=found.one, actual=found.other, seed=facts.seed, seen_in=seen_in,
                   hint=hint, shows=shows or Shows())


@rule("PUF501", "nondeterministic", proof=Proof("same-in-another-process"))
@explained_by(unsound)
def nondeterministic(facts: Facts) -> Findings:
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
    need(facts, "trace-base")
    moved, again = (facts.differences.get(n) for n in ("trace-moved", "trace-again"))
    if moved:
        yield _finding(facts, "PUF501", "a second process gives another run", moved,
                       seen_in="trace-moved",
                       hint=_cause(facts) or (
                           "look for clocks, entropy, uninitialised memory, and addresses" + (
                               "" if "--deep" in facts.options else
                               "; check --deep names memory that nobody wrote")))
    elif again:
        yield _finding(facts, "PUF501", "a second run in the same process differs", again,
                       seen_in="trace-again", shows=Shows("same-again"),
                       hint=_cause(facts) or "look for static and file-scope variables")
    elif not {"trace-moved", "trace-again"} <= set(facts.traces):
        raise NotTested("the environment did not survive a second run", *DEADLY)


def _cause(facts: Facts) -> str:
    """What the source shows that makes runs differ, where it shows something."""
    found = next((finding for look in (shared_rng, mutable_global, compiler_warning)
                  for finding in look(facts)
                  if finding.severity != "warning" or finding.actual == UNSET), None)
    return f"{found.file}:{found.line} may explain it: {found.message} ({found.code})" \
        if found else ""


@rule("PUF503", "env-crosstalk", proof=Proof("same-alone", envs=2))
@explained_by(unsound, lambda facts: unrepeatable(facts, "trace-moved"))
def env_crosstalk(facts: Facts) -> Findings:
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
    need(facts, "trace-base")
    if "trace-reversed" not in facts.traces:
        raise NotTested(facts.skipped.get("trace-reversed", "the environment did not survive"))
    ways = {"trace-alone-first": "env 0 plays another game when it is alone",
            "trace-alone-last": "an env plays another game when it is alone",
            "trace-reversed": "an env plays another game when the envs are stepped in another "
                              "order"}
    for name, message in ways.items():
        if name in facts.differences:
            expect = "same-in-any-order" if name == "trace-reversed" else "same-alone"
            yield _finding(facts, "PUF503", message, facts.differences[name], seen_in=name,
                           shows=Shows(expect), hint=_cause(facts) or
                           "look for static and file-scope variables that change, and for locals "
                           "that are not set on every path")
            return


@rule("PUF504", "thread-unsafe", proof=Proof("same-on-threads", envs=4, statuses=(FAILED, RACE)))
@explained_by(unsound, unrepeatable)
def thread_unsafe(facts: Facts) -> Findings:
    """Two threads that step different envs at the same time change each other's games.

    Why it ruins training: the trainer steps envs on all cores at once. A static scratch
    array is filled by one env and read by another. Observations mix, rarely and never twice
    in the same way, so no run can be repeated and no bug can be chased.

    Bad:

        static float distance[8];               // scratch, but one for all threads
        for (int i = 0; i < 8; i++) distance[i] = measure(env, i);

    Good:

        float distance[8];

    Fix: make scratch a local variable or a field of the env struct. Locks are no fix: there should
    be nothing to share.

    How it is seen: two threads step an env each and take turns wherever one touches a word
    of memory that the other touches, too. The bytes must be those of a single thread. Where the
    threads share no word, and the compiler sees variables that are read before they are set, only
    PUF117 is reported.
    """
    need(facts, "trace-debug", "trace-threads")
    found = facts.build_differences.get("trace-threads")
    if found is None:
        return
    fact = facts.fact("trace-threads", SharedMemoryFact)
    if fact is None and _reads_unset(facts):
        raise NotTested("variables that nothing has set explain it, and no memory is shared",
                        "PUF117")
    frame = fact.frame if fact else None
    finding = _finding(facts, "PUF504", "a second thread changes the game", found,
                       seen_in="trace-threads", hint=_cause(facts) or
                       "look for static and file-scope variables that hold something for a "
                       "moment, and for locals that are not set on every path")
    if frame:
        finding.file, finding.line = frame.file, frame.line
    yield finding


def _reads_unset(facts: Facts) -> bool:
    """Whether the compiler sees variables that are read before they are set: they hold what the
    stack held, which is another on each thread."""
    return any(finding.actual == UNSET for finding in compiler_warning(facts))


def _undefined(facts: Facts) -> NotTested | None:
    return NotTested("undefined behaviour explains it", "PUF202") \
        if finds(undefined_behaviour, facts) else None


@rule("PUF505", "build-dependent", "warning")
@explained_by(unsound, lambda facts: unrepeatable(facts, "trace-moved", "trace-again"),
              _undefined)
def build_dependent(facts: Facts) -> Findings:
    """The env plays another game when the compiler optimises more, or less.

    Why it ruins training: what you debug is not what is trained, and another compiler gives
    another result. Our builds keep floating-point arithmetic exact, so the cause is nearly
    always a variable that was never set, or something that C leaves undefined.

    Bad:

        float best;                             // never set when no target is near
        for (int i = 0; i < n; i++) if (near(i)) best = value(i);
        env->observations[0] = best;

    Good:

        float best = 0.0f;

    Fix: compile with -Wall -Wextra -O2 and read the warnings about uninitialised values;
    then look at casts of large floats to int, and at `#pragma` and `__attribute__` lines
    that change the arithmetic.
    """
    need(facts, "trace-base")
    for name, builds in (("trace-debug", "-O2 and -O0"), ("trace-trained", "-O2 and -O3")):
        if name in facts.build_differences:
            yield _finding(facts, "PUF505", f"{builds} give different games",
                           facts.build_differences[name], seen_in=name,
                           hint=_cause(facts) or
                           "look for variables that are not set on every path")
            return
    if not {"trace-debug", "trace-trained"} & set(facts.traces):
        raise NotTested(facts.skipped.get("trace-debug", "the environment did not survive"))
