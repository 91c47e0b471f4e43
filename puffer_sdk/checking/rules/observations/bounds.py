"""PUF306: elements that leave their bounds."""
from collections.abc import Iterable

from ....env.obs_spec import ObsField
from ...core.fact_kinds import ObsBoundsFact
from ...core.vocabulary import Facts, FileLine, Finding, Findings, Proof, Shows, need, rule, span


@rule("PUF306", "obs-bounds", proof=Proof("within", "observations"))
def obs_bounds(facts: Facts) -> Findings:
    """An observation leaves the bounds declared for it, `[low, high]` or `5 ids` in the
    comment of its OBS_ enumerator, or does not have the shape that is declared there.

    Why it ruins training: readers of the header believe the bounds, and quantised and clipped
    inputs rely on them. A value outside them was computed from a state that should not exist, or
    was divided by the wrong size.

    Bad:

        enum {
            OBS_FUEL,                   // [0, 1]
            ...
        };
        obs[OBS_FUEL] = env->fuel / 50.0f;              // a full tank holds 60

    Good:

        obs[OBS_FUEL] = env->fuel / TANK;

    Fix: correct the scale, clamp the state, or widen the bounds if they are wrong.

    Blocks are written as `OBS_RAYS, // [0, 1] 8 values` and `OBS_NEXT = OBS_RAYS + 8`: the
    bounds hold up to the next enumerator. Shapes are written as `grid 11 x 11 of 3 ids`,
    `grid 11 x 15 of (16 ids, 64 ids, number)`, `image 84 x 84 x 3` or `list 8 x 4, mask 0`, also
    after OBS_SIZE. NaN is PUF303's.
    """
    described = facts.row.described
    yield from _misdescribed(described)
    if not any(part.promises for part in described):
        return                          # nothing is declared
    need(facts, "run")
    seen = {fact.element: fact for fact in facts.all("run", ObsBoundsFact)}
    every_promise = [(part, *promise) for part in described for promise in part.promises]
    for part, promised, (low, high) in every_promise:
        every = range(*promised.indices(part.last + 1))
        found = [seen[element] for element in every if element in seen]
        if not found:
            continue
        first = min(found, key=lambda f: (f.step, f.element))
        elements = [f.element for f in found]
        many = f" ({len(elements)} of {len(every)} elements)" if len(every) > 1 else ""
        of = f", number {every[0] - part.first} of each cell," if every.step > 1 else ""
        yield Finding("PUF306", f"{part.name or 'the observation'}{of} leaves its declared "
                                f"{'bounds' if part.low is not None else 'ids'} "
                                f"[{low:g}, {high:g}]{many}",
                      file=part.file, line=part.line, env=first.env, agent=first.agent,
                      step=first.step,
                      element=span(min(elements), max(elements))
                      if len(elements) == max(elements) - min(elements) + 1 else first.element,
                      expected=f"within [{low:g}, {high:g}]", actual=first.value,
                      seed=facts.seed, hint="correct the scale, or the comment", seen_in="run",
                      shows=Shows(low=low, high=high))


def _misdescribed(parts: Iterable[ObsField]) -> Findings:
    """Parts whose comment is false or cannot be read."""
    for part in parts:
        name = part.name or "the observation"
        place: FileLine = {"file": part.file, "line": part.line}
        if part.unclear:
            yield Finding("PUF306", f"a size of {name} is not known: {part.unclear}", **place,
                          expected="a number, a macro, an enumerator, or env->SETTING",
                          actual=part.unclear)
        elif not part.fits:
            yield Finding("PUF306", f"{name} is not what its comment says", **place,
                          expected=part.described, actual=f"{part.count} elements",
                          hint="correct the sizes in the comment")
