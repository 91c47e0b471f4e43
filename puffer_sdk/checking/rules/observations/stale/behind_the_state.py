"""PUF302: elements that show a word of the state, and when they do not.

Facts -> Findings
"""
from ....core.vocabulary import (
    Elements,
    Facts,
    Finding,
    Findings,
    MirrorFact,
    Shows,
    detector,
    enough,
    most,
    need,
    ranges,
    span,
)

STUCK = 4           # steps on end: three were seen of an index of -1 that changed a word
FROZEN = 0.4        # of the steps, from which an element does not show that word at all


@detector("PUF302", "behind-the-state")
def behind_the_state(facts: Facts) -> Findings:
    """Elements that usually show a word of the state do not on some steps, or after endings."""
    need(facts, "poison")
    mirrors = facts.all("mirror", MirrorFact)
    old = [m for m in mirrors if enough(m.ends) and most(m.ends_old, m.ends)]
    frozen = [m for m in mirrors if m not in old and m.stuck >= STUCK
              and 0 < m.frozen < FROZEN * m.seen]
    if old:
        cell = min(old, key=_agent)
        yield _finding(facts, old, "after an ending, {which} of the observation still {show} the "
                       "episode that is over", f"{cell.value:g}",
                       "observe after c_reset: the observation of an ending opens the next episode",
                       shows=Shows("shown", agent=cell.agent, pointer=cell.word[0],
                                   offset=cell.word[1], field=facts.field_at(cell.word) or "",
                                   is_float=cell.is_float, scale=cell.scale, shift=cell.shift))
    alone = [m for m in mirrors if enough(m.alone) and most(m.alone_old, m.alone)]
    if alone and not old:
        cell = min(alone, key=_agent)
        yield _finding(facts, alone, "after an agent's own ending, {which} of its observation "
                       "still {show} the episode that is over",
                       f"{cell.value:g} ({cell.alone_old} of {cell.alone} times)",
                       "let agents begin anew before they are observed, not after", seen_in="")
    if frozen:
        cell = min(frozen, key=_agent)
        yield _finding(facts, frozen, "some steps leave {which} of the observation as it was, "
                       "although what it shows has changed",
                       f"{cell.value:g}, the value of an earlier step "
                       f"({cell.frozen} of {cell.seen} times)",
                       "write the whole observation on every path through c_step")


def _agent(cell: MirrorFact) -> int:
    return cell.agent


def _finding(facts: Facts, cells: list[MirrorFact], message: str, actual: str, hint: str, *,
             seen_in: str = "mirror", shows: Shows | None = None) -> Finding:
    """One for all of these elements, at the first. message: with {which} and {show}."""
    cell, agents = min(cells, key=_agent), {c.agent for c in cells}
    mine = [c.element for c in cells if c.agent == cell.agent]
    pairs = list(ranges(mine))
    numbers = Elements(*pairs[0], ", ".join(str(span(*pair)) for pair in pairs))
    which, show = ("element", "shows") if len(mine) == 1 else ("elements", "show")
    field = facts.field_at(cell.word)
    return Finding("PUF302", message.format(which=f"{which} {numbers}", show=show),
                   **facts.at("c_step"), env=cell.env, step=cell.step, seed=facts.seed,
                   agent=None if len(agents) == facts.shape.env_agents else cell.agent,
                   element=cell.element if len(mine) == 1 else numbers,
                   expected=f"{cell.expected:g}" + (f" (by '{field}')" if field else ""),
                   actual=actual, seen_in=seen_in, shows=shows or Shows(), hint=hint)
