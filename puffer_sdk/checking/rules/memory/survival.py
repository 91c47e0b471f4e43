"""PUF208, 405: processes that ended, and calls that did not."""
from ...collect.c.frames import own_frame
from ...collect.c.source.model import LOOPS
from ...core.fact_kinds import AbortFact, ExitFact, HangFact, InsideFact
from ...core.vocabulary import (
    EXIT,
    HANG,
    SIGNAL,
    Facts,
    Finding,
    Findings,
    NotTested,
    dies,
    present,
    rule,
)
from .memory import GLIBC, by_place, call_of, damaged, place_of, signal_name

INIT = 2        # times as much time as for a step: play/guard.c


@rule("PUF208", "process-exit", proof=dies(EXIT, SIGNAL))
def process_exit(facts: Facts) -> Findings:
    """The env ended the process: exit(), abort(), a failed assert(), or a deadly signal.

    Why it ruins training: an env runs inside the trainer's process, beside thousands of
    others. One exit() ends the run, with status 0 if you are unlucky, so that nobody asks.

    Bad:

        if (file == NULL) exit(1);

    Good:

        if (file == NULL) { env->map = default_map; }

    Fix: handle the case, or end the episode. Only c_render may end the program (on ESC).
    """
    seen = set()
    for name, outcome in by_place(facts):
        ends: list[InsideFact] = [*outcome.all(ExitFact), *outcome.all(AbortFact)]
        for fact in ends:
            if fact.kind == "abort" and GLIBC.search(outcome.stderr):
                continue
            where = place_of(facts, fact)
            key = (fact.kind, where.get("file"), where.get("line"))
            if key in seen:
                continue
            seen.add(key)
            last = next((line for line in reversed(outcome.stderr.splitlines()) if line.strip()),
                        None)
            call = "exit()" if fact.kind == "exit" else "abort()"
            yield Finding("PUF208", f"{call_of(fact)} ends the process with {call}", **where,
                          expected="a return", actual=last.strip()[:200] if last else call)
        silent = not (outcome.ended or outcome.timed_out or outcome.exceeded) and not any(
            fact.kind in ("exit", "abort", "crash", "hang", "asan", "failed")
            for fact in outcome.facts)
        if silent and not seen and not damaged(facts):
            seen.add(("silent", None, None))
            how = signal_name(outcome.signal) if outcome.signal else "_exit()"
            yield Finding("PUF208", f"the process ended during '{name}' without a return",
                          **facts.at("c_step"), seed=facts.seed, seen_in=name,
                          expected="a return", actual=how)


def _endless(facts: Facts, moments: list[HangFact]) -> tuple[str, int] | None:
    """(file, line) of the loop around the deepest of the author's lines that all moments share."""
    stacks = [[own for frame in reversed(fact.frames)
               if (own := own_frame([frame], facts.known_spec.folder))] for fact in moments]
    common: list[tuple[str, str, set[int]]] = []        # outermost first
    for level in zip(*stacks, strict=False):
        lines = {each.line for each in level}
        if len({(each.function, each.file) for each in level}) > 1:
            break
        common.append((level[0].function, level[0].file, lines))
        if len(lines) > 1:
            break
    for name, file, lines in reversed(common):
        function = facts.source.functions.get(name.partition(".")[0])
        around = [node.line for node in function.nodes if node.kind in LOOPS
                  and node.line <= min(lines) <= max(lines) <= node.last_line] if function else []
        if around:
            return file, max(around)
    return None


def _is_piled_up(facts: Facts) -> bool:
    """Play alone ended well, and no step of the env resets it: only our experiments reset it so
    often."""
    run = facts.outcomes.get("run")
    steps = facts.source.reach("c_step", *facts.source.batch_steps())
    resets = "c_reset" in {function.name for function in steps}
    return bool(run and run.ended and not run.all(HangFact) and not resets)


@rule("PUF405", "hang", proof=dies(HANG, patience=2.0))
def hang(facts: Facts) -> Findings:
    """One c_step, c_reset, init or c_close did not return.

    Why it ruins training: all agents wait for the slowest env, so the run stands still
    without an error. The usual cause is a search for a free cell on a board that is full.

    Bad:

        do { cell = rand() % CELLS; } while (env->board[cell] != EMPTY);

    Good:

        cell = nth_empty(env, rand() % count_empty(env));

    Fix: bound the loop, or choose among what is there. `[vec] step_timeout` is the patience in
    seconds of computing, whatever else the machine does; init has twice as much, and more in
    builds that are slower. The line is that of the loop, seen at several moments. Where only
    resets in a row fill the board, and no step resets, it is a warning.
    """
    if facts.exceeded:
        raise NotTested("experiments were ended because of their memory", "PUF206")
    timeout, seen = present(facts.config).vec.step_timeout, set()
    for name, outcome in by_place(facts):
        moments = outcome.all(HangFact)
        for fact in moments[:1]:
            where = place_of(facts, fact)
            if (loop := _endless(facts, moments)):
                where["file"], where["line"] = loop
            if _is_piled_up(facts):
                yield Finding("PUF405", "c_reset piles up what it makes: after many, "
                              f"{call_of(fact)} does not return", **where, severity="warning",
                              expected="the same env after every c_reset",
                              actual=f"no return within {timeout:g} s",
                              hint="clear in c_reset what an earlier one left; c_step never calls "
                                   "it, so that training does not get there")
                return
            key = call_of(fact)
            if key not in seen:
                seen.add(key)
                patience = timeout * (INIT if key == "init" else 1)
                yield Finding("PUF405", f"{key} does not return", **where,
                              expected=f"a return within {patience:g} s of computing",
                              actual="no return")
        if outcome.timed_out and not seen:
            seen.add("all")
            yield Finding("PUF405", f"'{name}' did not come to its end", **facts.at("c_step"),
                          seed=facts.seed, seen_in=name, expected="an end", actual="no end")
