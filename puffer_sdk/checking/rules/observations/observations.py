"""PUF301, 303, 304: observations that are never written, not finite, or far from zero."""
from collections.abc import Collection, Iterator

import numpy as np

from ...core.fact_kinds import ObsBoundsFact, ObsNotFiniteFact, ObsScaleFact, SeenAtFact
from ...core.vocabulary import (
    Elements,
    Facts,
    Finding,
    Findings,
    Proof,
    Shows,
    as_one,
    gathered,
    limits,
    need,
    present,
    ranges,
    rule,
    span,
)
from ..memory.origins import origin
from .groups import grouped, whole
from .unwritten import unwritten

HUGE = 1000         # an observation that drowns all others: an error
INT_HUGE = 16_777_216   # 2^24: from here on not each int is a float, which the network gets
TINY = 1.2e-38          # what is smaller has lost bits, and is 0 for a network


@rule("PUF301", "obs-never-written", proof=Proof("determined", "observations"))
def obs_never_written(facts: Facts) -> Findings:
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
    never, _ = unwritten(facts)
    for group in grouped(facts, never):
        part = whole(facts, group.element)
        yield Finding("PUF301", f"nothing ever writes {part}{group.who}",
                      **(facts.at_macro("OBS_SIZE") or facts.at("c_reset")),
                      env=group.env, agent=group.agent, step=0, element=group.element,
                      expected=f"{facts.shape.obs_size} elements written (OBS_SIZE)",
                      actual=f"{part.partition(' of the observation')[0]} never",
                      seed=facts.seed, seen_in="poison",
                      hint="lower OBS_SIZE, or write what was forgotten"
                      if limits(group.element)[1] == facts.shape.obs_size - 1
                      else "write what was forgotten")


def _sightings(facts: Facts, kind: type[SeenAtFact], without: Collection[int] = ()
               ) -> Iterator[tuple[int | Elements, SeenAtFact, list[SeenAtFact]]]:
    """Facts of one kind in `run`, those of one cause together: (elements, the first fact, all)."""
    seen = {fact.element: fact for fact in facts.all("run", kind)
            if fact.element not in without}
    for element, members in gathered(seen):
        found = [seen[each] for each in members]
        yield element, min(found, key=lambda fact: (fact.step, fact.element)), found


@rule("PUF303", "obs-not-finite", proof=Proof("finite", "observations"))
def obs_not_finite(facts: Facts) -> Findings:
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
    sightings = list(_sightings(facts, ObsNotFiniteFact))
    anywhere = facts.at("c_step")
    where = [origin(facts, fact.value, anywhere) for _, fact, _ in sightings]
    if len(sightings) > 1 and all(place == where[0] for place in where) and (
            where[0].get("line") != anywhere.get("line")):
        first = min((fact for _, fact, _ in sightings), key=lambda fact: (fact.step, fact.element))
        every = as_one(fact.element for _, _, found in sightings for fact in found)
        sightings = [(every, first, [])]    # of one division
    for (element, fact, _), place in zip(sightings, where):
        yield Finding("PUF303", f"{facts.called(element)} of the observation became "
                                f"{fact.value}", env=fact.env, **place,
                      agent=fact.agent, step=fact.step, element=element,
                      expected="a finite number", actual=fact.value, seed=facts.seed,
                      seen_in="run")


@rule("PUF304", "obs-scale", "warning", proof=Proof("within", "observations"))
def obs_scale(facts: Facts) -> Findings:
    """A float observation lies outside [-5, 5]; beyond 1000 it is an error. An int lies outside
    [-255, 255]; beyond 2^24 it is an error: as a float it becomes one of its neighbours. Or an
    element is never larger than 1e-38: the bits of an int, read as a float or as bf16.

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
    ints = facts.shape.dtype == "i32"
    usual, huge = (255, INT_HUGE) if ints else (5, HUGE)        # as in run.c
    broken = {fact.element for fact in facts.all("run", ObsBoundsFact)}   # PUF306 says more
    for element, fact, found in _sightings(facts, ObsScaleFact, without=broken):
        largest = max((float(each.largest) for each in found), key=abs)
        yield Finding("PUF304", f"{facts.called(element)} of the observation "
                                f"reach{'es' if len(found) == 1 else ''} {largest:g}",
                      **facts.at("c_step"), env=fact.env, agent=fact.agent,
                      step=fact.step, element=element, expected=f"within [{-usual}, {usual}]",
                      actual=fact.value, seed=facts.seed, seen_in="run",
                      severity="error" if abs(largest) >= huge else "warning",
                      hint="divide by the largest value that it can take"
                      + ", as a float" * ints, shows=Shows(low=-usual, high=usual))
    yield from _tiny(facts)


def _tiny(facts: Facts) -> Findings:
    """Elements whose numbers a network cannot tell from 0."""
    if facts.statistics is None:
        return
    most = np.maximum(np.abs(facts.statistics.low), np.abs(facts.statistics.high))
    for first, last in ranges(np.flatnonzero((most > 0) & (most < TINY)).tolist()):
        element, largest = span(first, last), most[first:last + 1].max()
        yield Finding("PUF304", f"{facts.called(element)} of the observation "
                                f"reach{'es' if first == last else ''} {largest:g} at most",
                      **facts.at("c_step"), element=element, seed=facts.seed,
                      expected="numbers that a network can tell from 0", actual=f"{largest:g}",
                      hint="rows of 16 bits hold bf16, the upper half of a float's bits: an int "
                      "that is stored there is next to nothing"
                      if present(facts.spec).is_narrow else
                      "the bits of an int may have been stored in a float")
