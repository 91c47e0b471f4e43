"""PUF421-423: does the log tell what happened?"""
from __future__ import annotations

import re

from ...collect.c.source import counters, sums
from ...core.facts import Fact, Facts
from ...core.finding import ASSIGNED, Finding
from ...core.registry import NotTested, need, rule
from ...core.repro_spec import Proof, Shows
from ..episodes.episodes import is_not_reset, is_reset_late
from ..memory.origins import origin


def _need_entries(facts: Facts) -> dict:
    """The facts of the run, where log entries can be held against episodes."""
    need(facts, "run")
    run = facts.fact("run", "run")
    if run.terminals == 0:
        raise NotTested("no terminal was ever set")
    if is_not_reset(facts):
        raise NotTested("episodes do not begin anew", "PUF401")
    return run


@rule("PUF421", "log-empty", proof=Proof("logged"))
def log_empty(facts: Facts):
    """Episodes end, and `log.n` never grows.

    Why it matters: the dashboard, sweeps and `puffer-sdk eval` know an environment only by its
    log. All fields are divided by n, and without entries there is nothing to show: a run
    that learns looks like one that does not, and a sweep has nothing to choose by.

    Bad:

        env->log.episode_return += env->ret;
        env->log.episode_length += env->tick;
        c_reset(env);                               // n is still 0

    Good:

        env->log.episode_return += env->ret;
        env->log.episode_length += env->tick;
        env->log.n += 1.0f;
        c_reset(env);

    Fix: add 1 to log.n wherever the other fields of Log are added to. It applies to envs that
    set terminals.
    """
    run = _need_entries(facts)
    if run.entries > 0:
        return
    if run.rounds < 3:
        raise NotTested("the episodes of all agents of an env ended fewer than 3 times")
    yield Finding("PUF421", f"log.n is still 0 after {run.rounds} finished episodes",
                  **facts.at("c_step"), env=0, expected="log.n grows by 1 with each episode",
                  actual="0", seed=facts.seed, seen_in="run",
                  hint="env->log.n += 1.0f; where an episode ends")


@rule("PUF422", "log-mismatch", proof=Proof("log"))
def log_mismatch(facts: Facts):
    """`episode_return` or `episode_length` of the log disagree with what was measured: the
    rewards that were paid since the last ending, and the steps that were made.

    Why it ruins training: the log is what you compare runs by. A return that forgets the last
    reward misses the win itself; one that is not set to zero in c_reset grows for ever, which
    looks like learning. A length that is off by one hides that something else is, too.

    Bad:

        if (won) { add_log(env); env->rewards[0] = 1.0f; c_reset(env); }

    Good:

        env->rewards[0] = won ? 1.0f : 0.0f;
        env->episode_return += env->rewards[0];
        if (won) { add_log(env); c_reset(env); }

    A sum that c_step makes for the log, and c_render over one thing more or less, is a warning: two
    loops that were meant to be one.

    A value that is assigned (log.score = s) keeps one entry of those that n counts: a warning. It
    is seen by large and small values in the log before entries are made: a sum, a maximum and a
    minimum leave them. `// puffer: assigned` after the field declares that it is meant. A log that
    steps set back to 0 is a warning, too: entries that nobody has read are lost.

    Endings that leave no entry are reported as well, where the entries that follow tell of their
    own episode only: `if (won) add_log(env);` makes a perf of 1, whatever the policy does (a
    warning). Where the sums grow and n does not, all figures are too large (an error).

    Fix: add every reward to the sum in one place, before the log entry is made, and set the
    sum and the tick to zero in c_reset.

    What counts as right, with several agents: the return of one agent, the mean or the sum
    over all, or over those that end; one entry per env or one per agent. A length counted in
    frames is right where a loop of so many passes counts them, and so is one without the steps that
    an agent waits to come back; one step that only some of the endings miss is forgiven. A field
    that the code never mentions is not tested, nor are entries that are made per goal, without
    a terminal. Where num_agents changes, an agent may take its sums to another row:
    then a mismatch proves nothing.
    """
    yield from _assigned(facts)
    yield from _drawn_otherwise(facts)
    yield from _cleared(facts)
    run = _need_entries(facts)
    if run.entries == 0:
        raise NotTested("there are no log entries", "PUF421")
    if facts.fact("run", "reward_not_finite"):
        raise NotTested("rewards are not finite", "PUF312")
    if 10 * run.goals > run.entries:
        raise NotTested("entries are logged per goal, not per episode: "
                        f"{run.goals} of {run.entries} came without a terminal")
    omitted = list(_omitted(facts))
    yield from omitted
    if any(finding.severity == "error" for finding in omitted):
        return                          # sums and n do not belong together
    entries = {fact.name: fact for fact in facts.all("run", "entries")}
    tested = 0
    for name in ("episode_return", "episode_length"):
        fact = entries.get(name)
        if fact is None or fact.judged < 3 or _is_left_out(facts, name, fact):
            continue
        if name == "episode_length" and is_reset_late(facts):
            continue                    # the step between two episodes may count for either
        tested += 1
        wrong = fact.judged - fact.matched
        if _is_in_frames(facts, name, fact) or _waits_between(name, fact) or \
                _is_cut_short(name, fact):
            continue
        if wrong >= 3 and 100 * wrong > fact.judged:
            if facts.spec.has_max_agents:
                raise NotTested("agents may move to other rows when num_agents changes")
            yield _mismatch(facts, name, fact, wrong)
    if not tested:
        raise NotTested("nothing fills Log.episode_return or Log.episode_length")


def _assigned(facts: Facts):
    """Values that replace those of earlier entries, while n counts all of them."""
    names = _replaced(facts)
    places = {name: (file, line) for name, file, line in reversed(facts.source.assigned_logs())}
    for name in names:
        file, line = places.get(name) or tuple(facts.at("c_step").values())
        yield Finding("PUF422", f"Log.{name} is assigned, and n counts all entries", file=file,
                      line=line, element=name, severity="warning", word=ASSIGNED,
                      beside=facts.column_at(name), seed=facts.seed,
                      expected=f"log.{name} += ...: what is collected is divided by n",
                      actual=f"log.{name} = ...: the last entry's share of all",
                      hint="add to it, as to n")


def _replaced(facts: Facts) -> list[str]:
    """Fields of Log in which entries left neither what was far above them, as a maximum does, nor
    what was far below, as a minimum does; those that are just set back to 0 are not meant."""
    names = [field.name for field in facts.spec.log_fields for _ in range(field.length or 1)]
    cleared = {name for name, _, _ in facts.source.cleared_logs()}
    found = {}
    for fact in facts.all("columns", "column"):
        name = names[fact.element] if fact.element < len(names) else ""
        is_cleared = fact.zero == fact.entries and cleared & {name, "log"}
        if name and max(fact.above, fact.below) < fact.entries and not is_cleared:
            found[name] = True
    return list(found)


def _drawn_otherwise(facts: Facts):
    """A number that is logged and drawn, and counted over different ranges."""
    for mine, other in list(sums.unlike(facts.source))[:1]:
        yield Finding("PUF422", f"'{mine.name}' adds up {mine.text} for the log over another range "
                                "than where it is drawn", file=mine.file, line=mine.line,
                      severity="warning",
                      expected=f"{other.count}, as on line {other.line} of {other.file}",
                      actual=mine.count, hint="count in one function that both call")


def _cleared(facts: Facts):
    """Entries that go before the trainer has read them: of other agents, or of other episodes.

    A field that is assigned elsewhere is told of there: its 0 is one more value.
    """
    assigned = _replaced(facts)
    for name, file, line in facts.source.cleared_logs():
        if name in assigned:
            continue
        what = "log" if name == "log" else f"log.{name}"
        yield Finding("PUF422", f"{what} is set back to 0 while the game goes on", file=file,
                      line=line, element=name, severity="warning",
                      expected="entries that stay until they are collected: the caller clears them",
                      actual="entries of other agents and episodes are lost",
                      hint="delete the line: the log is the caller's to clear")
        return


def _omitted(facts: Facts):
    """Endings that leave n as it was: with their values in the sums, or left out altogether."""
    fact = facts.fact("run", "omitted")
    if fact is None or fact.partial or fact.endings < 3:
        return
    place = {**facts.at("c_step"), "env": fact.env, "step": fact.step, "element": "n",
             "seed": facts.seed}
    share = f"{fact.unlogged} of {fact.endings} endings"
    if fact.summed >= 3 and not fact.elsewhere:
        yield Finding("PUF422", f"log.n does not count {share}, although other fields of the log "
                                "sum them up", **place, severity="error",
                      expected="n grows by 1 with each episode that the log takes in",
                      actual="sums of more episodes than they are divided by",
                      hint="add 1 to log.n wherever the other fields are added to")
    elif not fact.summed and fact.own >= 3 and 10 * fact.own >= 9 * fact.after:
        yield Finding("PUF422", f"{share} leave no entry in the log", **place, severity="warning",
                      expected="an entry of each episode, however it ends",
                      actual=f"{fact.endings - fact.unlogged} entries",
                      hint="write the log wherever a terminal is set: a mean over wins only says "
                           "nothing")


def _mismatch(facts: Facts, name: str, fact: Fact, wrong: int) -> Finding:
    what = "the rewards add up to" if name == "episode_return" else "the steps made are"
    share = "every entry" if wrong == fact.judged else f"{wrong} of {fact.judged} entries"
    if name == "episode_length":
        hint = "it is off by one: count the step before the entry is made" \
            if fact.lag == 1.0 else "count each step once, and start from 0 in c_reset"
    else:
        hint = "add every reward, the last one too, before the entry is made; 0 in c_reset"
    return Finding("PUF422", f"Log.{name} is wrong in {share}: {what} {fact.measured:g}",
                   **facts.at_store(name), env=fact.env, step=fact.step, element=name,
                   expected=f"{fact.measured:g}", actual=f"{fact.logged:g}",
                   seed=facts.seed, hint=hint, seen_in="run", shows=Shows(field=name))


def _is_left_out(facts: Facts, name: str, fact: Fact) -> bool:
    """Always 0, and no line of code but its declaration names it: nobody meant to fill it."""
    if fact.low != 0 or fact.high != 0:
        return False
    uses = sum(len(re.findall(rf"(?:\.|->)\s*{name}\b", text))
               for file, text in facts.source.files.items() if file != "binding.c")
    return uses == 0


def _is_in_frames(facts: Facts, name: str, fact: Fact) -> bool:
    """A length of k frames for each step, where a loop of k passes counts it."""
    if name != "episode_length" or fact.skip < 2:
        return False
    settings = facts.config.env if facts.config else {}
    for end in counters.ends(facts.source, name):
        passes = end.value if end.value is not None else settings.get(end.bare().name)
        if passes is None or float(passes) == fact.skip:
            return True
    return False


def _waits_between(name: str, fact: Fact) -> bool:
    """Lengths that lack the same few steps each time: an agent waits before it is back."""
    return name == "episode_length" and fact.lag >= 2 and fact.low < fact.high


def _is_cut_short(name: str, fact: Fact) -> bool:
    """`if (lost || ++tick >= limit)`: some endings miss one step, the others are right."""
    return name == "episode_length" and fact.lag == 1 and 50 * fact.matched > fact.judged


@rule("PUF423", "log-range", "warning")
def log_range(facts: Facts):
    """`perf` of the log is outside [0, 1], or any of its values is not finite.

    Why it matters: perf is by convention the share of success, 1 being the best there is.
    Sweeps over several environments and the dashboard's bar compare it; a perf of 30 wins
    every comparison, and nobody can tell how far from done a run is.

    Bad:

        env->log.perf += env->score;                // 0 to 864

    Good:

        env->log.perf += env->score / MAX_SCORE;

    A NaN in one entry makes the mean of all entries NaN, and that of the whole window. A share that
    is divided as whole numbers is 0 for all but the best: `(float)(env->score / env->best)`.

    Fix: divide by the best that can be reached; put the raw figure into `score`. Where nothing
    was counted, add 0 instead of 0 / 0.
    """
    need(facts, "run")
    run = facts.fact("run", "run")
    yield from _lost_shares(facts)
    odd = facts.fact("run", "log_not_finite")
    if odd:
        names = [field.name for field in facts.spec.log_fields for _ in range(field.length or 1)]
        name = names[odd.element] if odd.element < len(names) else f"[{odd.element}]"
        yield Finding("PUF423", f"Log.{name} became {odd.value} in an entry", env=odd.env,
                      **origin(facts, odd.value, facts.at("c_step")), step=odd.step, element=name,
                      expected="a finite number", actual=odd.value, seed=facts.seed,
                      severity="error")
    if not any(field.name == "perf" for field in facts.spec.log_fields):
        return
    if run.entries == 0:
        raise NotTested("there are no log entries")
    fact = facts.fact("run", "log_range")
    if fact:
        largest = fact.largest
        yield Finding("PUF423", f"Log.perf is {fact.value:.6g} in an entry"
                      if not isinstance(fact.value, str) else f"Log.perf is {fact.value}",
                      **facts.at("c_step"), env=fact.env, step=fact.step, element="perf",
                      expected="within [0, 1]",
                      actual=f"{largest:.6g}" if not isinstance(largest, str) else largest,
                      seed=facts.seed, hint="divide by the best that can be reached",
                      seen_in="run")


def _lost_shares(facts: Facts):
    """A perf that is divided as whole numbers: 0 until all is reached."""
    for site, fact in facts.counted("quotient", "perf"):
        least = 1 if re.search(r"->|\.", site.text.rpartition("/")[2]) else 3   # a field: a share
        if not fact.beyond and fact.inexact >= 3 and fact.high - fact.low >= least:
            yield Finding("PUF423", f"Log.perf is 0 or 1 and nothing between: {site.text} is a "
                                    "division of integers", file=site.file, line=site.line,
                          element="perf", expected="a fraction",
                          actual=f"0 for numerators from {fact.low} to {fact.high}",
                          seed=facts.seed, hint="divide floats: (float)a / b")
