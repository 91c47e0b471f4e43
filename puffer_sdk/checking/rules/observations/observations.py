"""PUF301-304: observations that nobody wrote, that are old, not finite, or far from zero."""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ...core.facts import REPEATS, Fact, Facts, blocks, elements, ranges
from ...core.finding import Elements, Finding, span
from ...core.registry import need, rule
from ...core.repro_spec import Proof, Shows
from ...fix import remedies
from ...fix.edits import Fix
from ..episodes.episodes import is_not_reset, is_reset_late
from ..memory.origins import origin
from .copies import left_behind
from .groups import grouped, whole
from .mirrors import behind_the_state

RETOLD = 16         # times that elements which keep their values were shown anew


@rule("PUF301", "obs-never-written", proof=Proof("determined", "observations"))
def obs_never_written(facts: Facts):
    """Some elements of the observation are written by neither c_reset nor any step.

    Why it ruins training: the network reads whatever lay in that memory. At best the inputs
    are zeros that cost time; at worst they are another run's leftovers, and a policy that was
    trained on them fails where the memory holds something else. OBS_SIZE is too large, or a
    field was forgotten.

    Bad:

        #define OBS_SIZE 5
        obs[0] = x;  obs[1] = y;  obs[2] = dx;  obs[3] = dy;

    Good:

        #define OBS_SIZE 4

    Fix: lower OBS_SIZE, or write the missing field.
    """
    need(facts, "poison")
    never, _ = _unwritten(facts)
    for group in grouped(facts, never):
        part = whole(facts, group.element)
        yield Finding("PUF301", f"nothing ever writes {part}{group.who}",
                      **(facts.at_macro("OBS_SIZE") or facts.at("c_reset")),
                      env=group.env, agent=group.agent, step=0, element=group.element,
                      expected=f"{facts.shape.obs_size} elements written (OBS_SIZE)",
                      actual=f"{part.partition(' of the observation')[0]} never",
                      seed=facts.seed, seen_in="poison",
                      hint="lower OBS_SIZE, or write what was forgotten")


def _unwritten(facts: Facts) -> tuple[list[Fact], list[Fact]]:
    """Cells that c_reset leaves: those that nothing ever writes, and those that some step writes.

    What a step writes for one agent, or in another place of the pattern, it would write here as
    well: nobody stood there. But a row of which nothing was written is forgotten.
    """
    left = [c for c in facts.all("poison", "left") if not c.derived]
    touched = {c.element for c in left if c.touched}
    met = {c.agent for c in left if c.touched}
    pattern = blocks({c.element for c in left})
    if len(pattern) == 1 and len(touched) >= REPEATS and str(pattern[0]) == str(blocks(touched)[0]):
        touched = {c.element for c in left}
    written = [c for c in left if c.touched or (c.element in touched and c.agent in met)]
    return [c for c in left if c not in written], written


def clear_one_hots(findings: list[Finding], texts: Mapping[str, str]) -> Iterator[Fix]:
    for finding in findings:
        yield Fix.of([finding], "clear the one-hot before it is set",
                     remedies.clear_one_hot(texts, *finding.remedy))


@rule("PUF302", "obs-stale", proof=Proof("written", "observations"), fix=clear_one_hots)
def obs_stale(facts: Facts):
    """Some elements of the observation keep an old value: c_reset leaves them as they were,
    a one-hot is set and never cleared, or a step forgets to write a field that has changed.

    Why it ruins training: observations are not cleared between steps. The agent sees where
    its target was, not where it is; the first observation of an episode shows the last one
    of another. Everything runs, and the score stays lower than it could be.

    Bad:

        env->observations[OBS_KIND + env->kind] = 1.0f;

    Good:

        memset(&env->observations[OBS_KIND], 0, NUM_KINDS * sizeof(float));
        env->observations[OBS_KIND + env->kind] = 1.0f;

    Fix: write every element in one function that both c_reset and c_step call. Keeping a
    board in the observations is fine as long as cells that become empty are cleared. What each
    step writes anew from the state is never stale, however long it stays the same: where a step
    that begins with the row of c_reset shows the same, nothing is reported.

    A warning: a number that moves from cell to cell of a board, and on some steps stays in the
    cell that it leaves until the episode ends, shows one thing twice.
    """
    need(facts, "poison")
    yield from _left_by_reset(facts)
    found = list(behind_the_state(facts)) + list(_old_openings(facts))
    yield from found
    if found:
        return
    copies = list(left_behind(facts))
    yield from copies
    if copies or facts.outcome("rewrite") is None:
        return                      # an incremental env may not survive poison: nothing to say
    rows = facts.all("rewrite", "row")
    silent, loud = _silent_and_loud(facts, rows)
    if silent and loud:
        yield from _silent_rows(facts, silent)
        return
    if rows and len(silent) == len(rows) and all(r.blank_moved > 0 for r in rows):
        yield Finding("PUF302", "no step writes the observation, although the state changes",
                      **facts.at("c_step"), env=rows[0].env, step=rows[0].step,
                      seed=facts.seed, seen_in="rewrite",
                      expected="an observation of the new state", actual="that of c_reset",
                      hint="observe at the end of c_step, too")
        return
    yield from list(_blank_beginnings(facts, rows)) or _blank_steps(facts, rows)
    yield from _blank_ends(facts, rows)
    yield from _kept_elements(facts, rows)


def _silent_and_loud(facts: Facts, rows: list[Fact]) -> tuple[list[Fact], list[Fact]]:
    """Rows that no step writes, and rows that most steps write."""
    blind = {c.agent for c in facts.all("poison", "left") if not c.touched}
    long = [r for r in rows if r.steps >= 64]
    silent = [r for r in long if r.blank == r.steps and r.agent not in blind]
    if silent:
        return silent, [r for r in long if r.blank < 0.5 * r.steps]
    # An env that reads its own rows stumbles over poison: left alone, does every row change?
    calm = [r for r in rows if r.calm >= 256 and r.agent not in blind]
    return ([r for r in calm if r.calm_changed <= 0.001 * r.calm],
            [r for r in calm if r.calm_changed > 0.3 * r.calm])


def _left_by_reset(facts: Facts):
    """Still poisoned after c_reset, although some step writes it."""
    _, left = _unwritten(facts)
    derived = [c for c in facts.all("poison", "left") if c.derived]
    if not left and derived and not facts.differences and "trace-again" in facts.traces:
        left = derived
    for group in grouped(facts, left):
        yield Finding("PUF302", f"c_reset leaves {whole(facts, group.element)} as it was"
                                f"{group.who}",
                      **facts.at("c_reset"), env=group.env, agent=group.agent, step=0,
                      element=group.element, expected="a value that c_reset determines",
                      actual="what the buffer held before", seed=facts.seed, seen_in="poison",
                      shows=Shows("determined"),
                      hint="write the whole observation in c_reset: the first of an episode "
                           "is an observation like any other")


def _silent_rows(facts: Facts, silent: list[Fact]):
    for first, last in ranges(r.agent for r in silent):
        many = f"agents {first}-{last}" if last > first else f"agent {first}"
        yield Finding("PUF302", f"no step ever writes the observation of {many}",
                      **facts.at("c_step"), agent=first, seed=facts.seed, seen_in="rewrite",
                      expected="rows of all agents written", actual="written only by c_reset",
                      hint="let the loop run to num_agents")


def _blank_steps(facts: Facts, rows: list[Fact]):
    """A full writer that, on some steps, wrote nothing although the game moved on. Where later
    observations do not show what moved, it was not part of them: a sum of rewards, say."""
    if rows and rows[0].tried and not rows[0].shown:
        return
    full = [r for r in rows if r.full + r.blank >= 0.9 * r.steps and r.full > 0]
    moved = [r for r in rows if r.blank_moved > 0]
    if len(full) == len(rows) and moved and rows:
        r = moved[0]
        yield Finding("PUF302", f"c_step leaves the observation as it was on {r.blank_moved} "
                                f"of {r.steps} steps, although the state has changed",
                      **facts.at("c_step"), env=r.env, agent=r.agent, step=r.step,
                      expected="an observation of the new state", actual="the old one",
                      seed=facts.seed, seen_in="rewrite", shows=Shows(agent=-1),
                      hint="observe before every return of c_step")


def _blank_ends(facts: Facts, rows: list[Fact]):
    """A full writer that writes nothing on steps that end an episode, but does reset itself."""
    full = [r for r in rows if r.steps and r.full + r.blank >= 0.9 * r.steps
            and r.full > 0]
    blank = [r for r in full if r.ends >= 3 and r.blank_ends == r.ends]
    if not blank or is_not_reset(facts) or is_reset_late(facts):
        return                      # PUF401 says more
    yield Finding("PUF302", f"on all of {blank[0].ends} endings the observation is not "
                            "written: it still shows the episode that ended",
                  **facts.at("c_step"), agent=None if len(blank) == len(rows) else
                  blank[0].agent, expected="the first observation of the next episode",
                  actual="the one before the ending", seed=facts.seed, seen_in="rewrite",
                  shows=Shows("written-on-end"),
                  hint="observe at the end of c_reset, and call c_reset(env) on an ending")


def _blank_beginnings(facts: Facts, rows: list[Fact]):
    """A full writer that writes nothing on steps on which an agent comes, or ends alone."""
    for r in rows:
        if not r.full or r.full + r.blank < 0.9 * r.steps:
            continue
        alone = r.blank_own if r.blank_own >= 0.9 * r.own and r.resumed >= 0.9 * r.blank_own else 0
        for blank, every, what in ((r.blank_came, r.came, f"agent {r.agent} comes"),
                                   (alone, r.own, f"agent {r.agent} alone ends its episode")):
            if blank >= 3:
                yield Finding("PUF302", f"on {blank} of {every} steps on which {what}, its "
                                        "observation is not written", **facts.at("c_step"),
                              agent=r.agent, seed=facts.seed, seen_in="rewrite",
                              expected="the first one of the new episode",
                              actual="what the row held before",
                              hint="observe after agents have come or begun anew, not before")
                return


def _old_openings(facts: Facts):
    """Observations after an ending that are nothing like those after c_reset."""
    opening = facts.fact("audit", "opening")
    reseeded = facts.fact("reseed", "reseeded")
    out_of_range = opening and opening.tells >= 2 and opening.old == opening.tells
    unmoved = (reseeded and reseeded.told >= 3
               and reseeded.blind >= 0.9 * reseeded.told)
    if not (out_of_range or unmoved) or any(behind_the_state(facts)) or is_not_reset(facts) \
            or is_reset_late(facts):
        return
    place = {"env": reseeded.env, "step": reseeded.step, "seen_in": "reseed"} if unmoved \
        else {"seen_in": "audit"}
    yield Finding("PUF302", "the observation after an ending still shows the episode that is over",
                  **facts.at("c_step"), **place, expected="the first observation of a new episode",
                  actual="one that does not depend on how the new episode begins" if unmoved else
                  f"{opening.old} elements where no c_reset puts them", seed=facts.seed,
                  hint="observe at the end of c_reset, and call c_reset(env) on an ending")


def _kept_elements(facts: Facts, rows: list[Fact]):
    """Elements that steps write sometimes, or never, judged by how their values develop."""
    total = facts.shape.obs_size * facts.shape.env_agents
    left = {(c.agent, c.element) for c in facts.all("poison", "left")}
    cells = [c for c in facts.all("rewrite", "cell") if c.written < c.seen
             and c.seen >= 32]
    never = [c for c in cells if c.written == 0]
    some = [c for c in cells if c.written > 0]
    is_full_writer = len(cells) <= total / 2
    clears = facts.source.clears_observations()
    forgets = any(c.reverted for c in some)
    one_way = [c for c in some if c.changed and not c.reverted and not c.varied]
    known = [c for c in one_way if (c.agent, c.element) in left]
    if is_full_writer:
        wander = [c for c in some if c.varied and c.fell and c.rose and not c.reverted
                  and not _follow_from_state([c])]
        yield from _stale(facts, wander, "some steps leave {} as it was", "error")
    if len(one_way) > 1 and len(one_way) == len([c for c in some if c.changed]) and \
            not forgets and not _follow_from_state(one_way):
        small = is_full_writer or len(one_way) <= 32 * facts.shape.env_agents
        severity = "error" if small and not clears else "warning"
        old = [c for c in one_way if c.held > c.retold] or one_way
        yield from _stale(facts, [c for c in old if c not in known],
                          "{} keep what was once set, within an episode", severity, "let-go")
    for file, line, index, name, fixed in facts.source.reset_only_stores() if never else ():
        # Of a board that c_reset fills, a step writes the cells that change by other names
        if is_full_writer or fixed:
            yield Finding("PUF302", f"only c_reset writes observations[{index}], but c_step "
                                    f"changes '{name}'", file=file, line=line, seed=facts.seed,
                          seen_in="rewrite",
                          element=span(*next(ranges(c.element for c in never))),
                          expected="written after each step", actual="written on reset",
                          hint="write it where c_step writes the rest")


def _follow_from_state(cells: list[Fact]) -> bool:
    """Two ways to one state: whenever such an element had kept its value, a step that began with
    the row of c_reset showed that value, too. A cell of a board that stays set is no old value."""
    held = sum(c.held for c in cells)
    return held >= RETOLD and held == sum(c.retold for c in cells)


def _stale(facts: Facts, cells: list[Fact], text: str, severity: str, expect: str = "written"):
    for group in grouped(facts, cells):
        yield Finding("PUF302", text.format(whole(facts, group.element) + group.who),
                      **facts.at("c_step"),
                      agent=group.agent, element=group.element, severity=severity,
                      expected="a value of this step", actual="a value of an earlier step",
                      seed=facts.seed, seen_in="rewrite", shows=Shows(expect),
                      hint="clear the block, then set what holds now",
                      remedy=(group.element.first, group.element.last)
                      if isinstance(group.element, Elements) else (group.element, group.element))


def _sightings(facts: Facts, kind: str, without: Collection[int] = ()):
    """Facts of one kind in `run`, neighbouring elements merged: (first, last, the first fact)."""
    seen = {fact.element: fact for fact in facts.all("run", kind)
            if fact.element not in without}
    for first, last in ranges(seen):
        yield first, last, min((seen[e] for e in range(first, last + 1)),
                               key=lambda f: (f.step, f.element))


@rule("PUF303", "obs-not-finite", proof=Proof("finite", "observations"))
def obs_not_finite(facts: Facts):
    """An observation is NaN or infinite.

    Why it ruins training: one NaN in one observation makes the whole network NaN with the
    next update, and every weight is lost. Divisions by a distance or a speed that may be
    zero are the usual cause.

    Bad:

        obs[0] = dx / distance;

    Good:

        obs[0] = distance > 0.0f ? dx / distance : 0.0f;

    Fix: find the division, square root or logarithm, and treat its edge.
    """
    if facts.shape.dtype == "u8":
        return
    need(facts, "run")
    for first, last, fact in _sightings(facts, "obs_not_finite"):
        yield Finding("PUF303", f"{facts.called(first, last)} of the observation became "
                                f"{fact.value}", env=fact.env,
                      **origin(facts, fact.value, facts.at("c_step")),
                      agent=fact.agent, step=fact.step, element=span(first, last),
                      expected="a finite number", actual=fact.value, seed=facts.seed,
                      seen_in="run")


@rule("PUF304", "obs-scale", "warning", proof=Proof("within", "observations", low=-5.0, high=5.0))
def obs_scale(facts: Facts):
    """A float observation lies outside [-5, 5]; beyond 1000 it is an error.

    Why it ruins training: a network's weights start out for inputs of about unit size. A
    position in pixels drowns every other input, saturates the first layer, and learning
    takes many times as long or fails.

    Bad:

        obs[0] = player->x;                     // 0 to 952 pixels

    Good:

        obs[0] = player->x / WIDTH;

    Fix: divide by the largest value the quantity can take.
    """
    if facts.shape.dtype == "u8":
        return
    need(facts, "run")
    broken = {fact.element for fact in facts.all("run", "obs_bounds")}   # PUF306 says more
    for first, last, fact in _sightings(facts, "obs_scale", without=broken):
        members = [f for f in facts.all("run", "obs_scale") if first <= f.element <= last]
        largest = max((f.largest for f in members), key=abs)
        yield Finding("PUF304", f"{elements(first, last)} of the observation "
                                f"reach{'es' if first == last else ''} {largest:g}",
                      **facts.at("c_step"), env=fact.env, agent=fact.agent,
                      step=fact.step, element=span(first, last), expected="within [-5, 5]",
                      actual=fact.value, seed=facts.seed, seen_in="run",
                      severity="error" if abs(largest) >= 1000 else "warning",
                      hint="divide by the largest value that it can take")
