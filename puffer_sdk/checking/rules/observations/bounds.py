"""PUF305, 306: elements that never change, or that leave their bounds."""
from __future__ import annotations

import numpy as np

from ....env import row
from ....env.row import Part
from ...core.facts import Facts, ranges
from ...core.finding import CONSTANT, Finding, span
from ...core.registry import NotTested, need, rule
from ...core.repro_spec import Proof, Shows
from .stores import Stores


@rule("PUF305", "obs-constant", "warning")
def obs_constant(facts: Facts):
    """An element of the observation, or all of it, never changes, in any env, in a whole long
    run.

    Why it ruins training: a constant carries no information. Where a field was meant, the
    agent does without something that it needs: it runs, learns a little, and stays worse than
    it could be. An element that is cleared on every step and never set is a typical trace of an
    OBS_SIZE that is too large, or of a forgotten line.

    Bad:

        #define OBS_SIZE 4
        memset(obs, 0, OBS_SIZE * sizeof(float));
        obs[0] = x;  obs[1] = y;  obs[2] = speed;       // and obs[3]?

    Good:

        #define OBS_SIZE 3

    Fix: write what was forgotten, or lower OBS_SIZE. If it is meant, say so where the message
    points: // puffer: constant

    So is a thing of a declared list that is there, and always the same: oneself among the others.

    What is left in peace: a single constant other than 0 (a bias), cells of a board of bytes, a
    class of a one-hot that never occurred, empty slots behind others of the same kind, what a line
    of c_step changes that the play never reached, and the observation of an env whose episodes have
    one step. Elements named in an enum (OBS_FUEL) that promise bounds are expected to move,
    whatever their value, and so is an element into which a quotient of two integers goes: it is 0
    until the first is as large as the second. A quotient that is 1 then, and never more, is a
    share that was rounded away, and reported as well, and so is one that is multiplied, `waited /
    patience * 10`; a row, `cell / width`, is not.
    """
    need(facts, "run")
    stats = facts.statistics
    if stats is None or facts.fact("run", "run").steps < 10_000:
        raise NotTested("the run was too short")
    constant = stats.low == stats.high
    dead = {c.element for c in facts.all("poison", "left") if not c.touched}
    if constant.all():
        if len(dead) < len(constant) and not _is_bandit(facts, stats):
            yield _whole_constant(facts, float(stats.low[0]))
        return
    divided = [d for d in facts.source.integer_divisions() if d[0] < len(constant)
               and constant[d[0]] and stats.low[d[0]] == 0]
    for element, file, line, text in divided:
        yield Finding("PUF305", f"{row.title(facts.row.parts, element, element)} is always 0: "
                                f"{text} is a division of integers", file=file, line=line,
                      element=element, expected="a fraction", actual="0 on every step",
                      seed=facts.seed, seen_in="run", hint="divide floats: (float)a / b")
    yield from _lost_shares(facts, {(file, line) for _, file, line, _ in divided})
    for first, last in _still(facts, constant, dead):
        if {d[0] for d in divided} & set(range(first, last + 1)):
            continue
        if _is_unreached(facts, first, last):
            continue
        place = facts.at_element(first) or facts.at_macro("OBS_SIZE") or facts.at("c_step")
        value = float(stats.low[first])
        always = f"{'are' if last > first else 'is'} always {value:g}"
        yield Finding("PUF305", f"{row.title(facts.row.parts, first, last)} {always}, in "
                                f"{facts.fact('run', 'run').steps:,} steps", **place,
                      element=span(first, last), expected="values that tell the agent something",
                      actual=f"{value:g} on every step", seed=facts.seed, seen_in="run",
                      word=CONSTANT, hint="write what was forgotten, or lower OBS_SIZE")


def _is_unreached(facts: Facts, first: int, last: int) -> bool:
    """Whether the play never came to a line that changes what the elements show; where episodes
    end at once, that is the fault."""
    return not _ends_at_once(facts) and any(
        facts.lines.get(file, {}).get(line) == 0 for element in range(first, last + 1)
        for file, line in facts.source.changes_of(element))


def _lost_shares(facts: Facts, told: set[tuple[str, int]]):
    """Shares that are divided as whole numbers: 1 at the very end, and 0 all the way there."""
    for site, fact in facts.counted("quotient", "observations"):
        if fact.beyond or fact.ones < 3 or fact.inexact < 10 or (site.file, site.line) in told:
            continue
        yield Finding("PUF305", f"{site.target} is 0 or 1 and nothing between: {site.text} is a "
                                "division of integers", file=site.file, line=site.line,
                      expected="a fraction", actual=f"0 for {fact.inexact} of {fact.count} "
                      "numerators that are not 0, and 1 where both are equal", seed=facts.seed,
                      hint="divide floats: (float)a / b")
    for site, fact in facts.counted("product", "observations"):
        if fact.beyond or fact.nearly < 3 or fact.inexact < 10 or (site.file, site.line) in told:
            continue
        yield Finding("PUF305", f"{site.target} is 0 until {site.text} is 1: a division of "
                                "integers comes before what multiplies it", file=site.file,
                      line=site.line, expected="a fraction of the whole", actual=f"0 for "
                      f"{fact.inexact} of {fact.count} numerators that are not 0, {fact.nearly} of "
                      "them nearly the whole", seed=facts.seed, hint="multiply first: 10 * a / b")


def _is_bandit(facts: Facts, stats) -> bool:
    """One state only: each step is an episode, or the only input is a bias of 1."""
    return _ends_at_once(facts) or (len(stats.low) == 1 and stats.low[0] == 1)


def _ends_at_once(facts: Facts) -> bool:
    lengths = next((f for f in facts.all("run", "sample") if f.name == "length"), None)
    return bool(lengths and lengths.high == 1)


def _whole_constant(facts: Facts, value: float) -> Finding:
    size = facts.shape.obs_size
    return Finding("PUF305", "the observation never changes, in "
                             f"{facts.fact('run', 'run').steps:,} steps", **facts.at("c_step"),
                   element=span(0, size - 1), expected="values that tell the agent something",
                   actual=f"the same {size} elements on every step" if size > 1
                   else f"{value:g} on every step", seed=facts.seed, seen_in="run",
                   hint="observe in c_step, after the state has changed")


def _still(facts: Facts, constant: np.ndarray, dead: set[int]) -> list[tuple[int, int]]:
    """Ranges of constant elements that are worth a word."""
    stats = facts.statistics
    found = []
    literal = facts.source.literal_stores()
    promised = {e for f in facts.row.parts if f.low is not None
                and constant[f.first:f.last + 1].all() for e in range(f.first, f.last + 1)}
    moved = [e for e in promised if stats.low[e] != 0 and e not in literal]     # a bias
    found += [pair for pair in ranges(moved) if pair[1] - pair[0] < 2]
    found += [entry for part in facts.row.described for entry in _same_things(stats, part)]
    if not _writes_all(facts):
        return found
    partly = {c.element for c in facts.all("rewrite", "cell") if c.written < c.seen}
    zero = np.flatnonzero(constant & (stats.low == 0))
    stores = Stores(facts)
    for first, last in _split(facts.row.parts, ranges(zero.tolist())):
        members = set(range(first, last + 1))
        if members & (dead | partly):
            continue
        if facts.shape.dtype == "u8":
            if first != last or not stores.has_no_value(first):
                continue
        elif _is_rare_class(facts, first, last) or _is_slot(stats, first, last):
            continue
        elif last - first >= 2 and not members <= promised:
            continue                    # slots of a kind that this game has none of
        if first == last and not facts.fact("run", "run").rewards:
            continue                    # the last reward, perhaps: PUF314 says more
        found.append((first, last))
    return sorted(found)


def _same_things(stats, part: Part) -> list[tuple[int, int]]:
    """Things of a list that are there and never differ in anything, as other things of it do."""
    if part.kind != "list" or part.mask is None or not part.fits or part.shape[1] < 2:
        return []
    places = part.first + np.arange(part.count).reshape(part.shape)
    there = (stats.rows[:, places[:, part.mask]] != 0).sum(axis=0)
    numbers = np.delete(places, part.mask, axis=1)
    still = (stats.low == stats.high)[numbers]
    if still.all(axis=0).any():         # a number that no thing of the list ever shows
        return []
    return [(int(numbers[i].min()), int(numbers[i].max()))
            for i in range(len(numbers)) if there[i] >= 100 and still[i].all()]


def _writes_all(facts: Facts) -> bool:
    """Whether steps write whole rows: then an element that is 0 was put there."""
    rows = [r for r in facts.all("rewrite", "row") if r.steps >= 32]
    return bool(rows) and all(r.full and r.full + r.blank >= 0.9 * r.steps
                              for r in rows)


def _split(names: list[Part], pairs):
    """Ranges, parted where another field begins."""
    starts = sorted(f.first for f in names) if names else []
    for first, last in pairs:
        for start in [s for s in starts if first < s <= last]:
            yield first, start - 1
            first = start
        yield first, last


def _is_flag(stats, element: int) -> bool:
    """Takes 0 and 1, and nothing between."""
    if not 0 <= element < len(stats.low):
        return False
    values = stats.rows[:, element]
    return stats.low[element] == 0 and stats.high[element] == 1 and bool(
        np.isin(values, (0, 1)).all())


def _is_rare_class(facts: Facts, first: int, last: int) -> bool:
    """Next to flags of the same kind: a class of a one-hot that has not occurred yet."""
    mine = row.named(facts.row.parts, first)
    for beside in (first - 1, last + 1):
        other = row.named(facts.row.parts, beside)
        apart = mine is not other and any(f and f.count > 1 for f in (mine, other))
        if _is_flag(facts.statistics, beside) and not apart:
            return True
    return False


def _is_slot(stats, first: int, last: int) -> bool:
    """After two or more slots of the same kind that are not constant."""
    size = last - first + 1
    for stride in range(1, size + 1):
        needed = 4 if stride == 1 else 2
        begin = first - needed * stride
        if size % stride or begin < 0 or (stride == 1 and size < 4):
            continue
        low = stats.low[begin:first].reshape(needed, stride)
        high = stats.high[begin:first].reshape(needed, stride)
        extent = (high - low).max(axis=0)
        alike = (np.ptp(low, axis=0) <= 0.25 * extent) & (np.ptp(high, axis=0) <= 0.25 * extent)
        if (extent > 0).all() and alike.all():
            return True
    return False


@rule("PUF306", "obs-bounds", proof=Proof("within", "observations"))
def obs_bounds(facts: Facts):
    """An observation leaves the bounds declared for it, `[low, high]` or `5 ids` in the
    comment of its OBS_ enumerator, or has not the shape that is declared there.

    Why it ruins training: the bounds are what everybody who reads the header believes, and
    what quantised and clipped inputs rely on. Something outside them was computed from a state
    that should not exist, or was divided by the wrong size.

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
    `image 84 x 84 x 3` or `list 8 x 4, mask 0`, also after OBS_SIZE. NaN is PUF303's.
    """
    described = facts.row.described
    yield from _misdescribed(described)
    if not any(part.limits for part in described):
        return                          # nothing is promised
    need(facts, "run")
    seen = {fact.element: fact for fact in facts.all("run", "obs_bounds")}
    for part in described:
        found = [seen[e] for e in range(part.first, part.last + 1) if e in seen]
        if not found:
            continue
        first = min(found, key=lambda f: (f.step, f.element))
        elements = [f.element for f in found]
        low, high = part.limits
        many = f" ({len(elements)} of {part.count} elements)" if part.count > 1 else ""
        yield Finding("PUF306", f"{part.name or 'the observation'} leaves its declared "
                                f"{'bounds' if part.low is not None else 'ids'} "
                                f"[{low:g}, {high:g}]{many}",
                      file=part.file, line=part.line, env=first.env, agent=first.agent,
                      step=first.step,
                      element=span(min(elements), max(elements))
                      if len(elements) == max(elements) - min(elements) + 1 else first.element,
                      expected=f"within [{low:g}, {high:g}]", actual=first.value,
                      seed=facts.seed, hint="correct the scale, or the comment", seen_in="run",
                      shows=Shows(low=low, high=high))


def _misdescribed(parts):
    """Parts of which the comment cannot be true, or cannot be read."""
    for part in parts:
        name, place = part.name or "the observation", {"file": part.file, "line": part.line}
        if part.unclear:
            yield Finding("PUF306", f"a size of {name} is not known: {part.unclear}", **place,
                          expected="a number, a macro, an enumerator, or env->SETTING",
                          actual=part.unclear)
        elif not part.fits:
            yield Finding("PUF306", f"{name} is not what its comment says", **place,
                          expected=part.described, actual=f"{part.count} elements",
                          hint="correct the sizes in the comment")
