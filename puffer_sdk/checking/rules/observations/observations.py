"""PUF301, 303, 304: observations that nobody wrote, that are not finite, or far from zero."""
from __future__ import annotations

from collections.abc import Collection

from ...core.facts import Facts, as_one, gathered
from ...core.finding import Finding
from ...core.registry import need, rule
from ...core.repro_spec import Proof
from ..memory.origins import origin
from .groups import grouped, whole
from .unwritten import unwritten

HUGE = 1000         # an observation that drowns all others: an error


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
    never, _ = unwritten(facts)
    for group in grouped(facts, never):
        part = whole(facts, group.element)
        yield Finding("PUF301", f"nothing ever writes {part}{group.who}",
                      **(facts.at_macro("OBS_SIZE") or facts.at("c_reset")),
                      env=group.env, agent=group.agent, step=0, element=group.element,
                      expected=f"{facts.shape.obs_size} elements written (OBS_SIZE)",
                      actual=f"{part.partition(' of the observation')[0]} never",
                      seed=facts.seed, seen_in="poison",
                      hint="lower OBS_SIZE, or write what was forgotten")


def _sightings(facts: Facts, kind: str, without: Collection[int] = ()):
    """Facts of one kind in `run`, those of one cause together: (elements, the first fact, all)."""
    seen = {fact.element: fact for fact in facts.all("run", kind)
            if fact.element not in without}
    for element, members in gathered(seen):
        found = [seen[each] for each in members]
        yield element, min(found, key=lambda fact: (fact.step, fact.element)), found


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
    sightings = list(_sightings(facts, "obs_not_finite"))
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
    for element, fact, found in _sightings(facts, "obs_scale", without=broken):
        largest = max((each.largest for each in found), key=abs)
        yield Finding("PUF304", f"{facts.called(element)} of the observation "
                                f"reach{'es' if len(found) == 1 else ''} {largest:g}",
                      **facts.at("c_step"), env=fact.env, agent=fact.agent,
                      step=fact.step, element=element, expected="within [-5, 5]",
                      actual=fact.value, seed=facts.seed, seen_in="run",
                      severity="error" if abs(largest) >= HUGE else "warning",
                      hint="divide by the largest value that it can take")
