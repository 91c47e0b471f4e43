"""PUF413: does the action mask speak of the actions that it stands for?"""
from __future__ import annotations

from ...core.facts import Fact, Facts, elements, ranges
from ...core.finding import Finding, span
from ...core.registry import need, rule

MOMENTS = 20            # that are no accident
ENDINGS = 3


@rule("PUF413", "mask-mismatch", "warning")
def mask_mismatch(facts: Facts):
    """The action mask does not fit the actions: a byte tells of another action than its own, an
    agent's row is never written, or a new episode begins with the mask of the old one.

    Why it ruins training: the policy can only choose what the mask allows. A move whose byte lies
    in the wrong place is forbidden where it would help, and allowed where it does nothing; the
    policy cannot learn its way around that.

    Bad:

        env->action_mask[ACT_LEFT] = env->x > 0;
        env->action_mask[ACT_LEFT] = env->x < env->size - 1;        // and ACT_RIGHT?

    Good:

        env->action_mask[ACT_LEFT] = env->x > 0;
        env->action_mask[ACT_RIGHT] = env->x < env->size - 1;

    Fix: write the whole row of each agent, i * ACT_COUNT + the offset of the head + the value,
    in one function that both c_reset and c_step call.

    How it is seen: from many moments on, every value of a head is tried, also those that the mask
    forbids. A value acts where it leads to other rows than each other value of its head. Reported
    is a byte that says when another action acts and not when its own does, a head whose actions act
    when they are forbidden and do nothing when they are legal, a head of which the mask never
    allows more than one value although others act, and an action that the code treats like a
    forbidden one whenever it is legal. A mask that is stricter than the code is not.
    """
    if facts.shape is None or not facts.shape.mask:
        return
    need(facts, "masks")
    place = {**facts.at("c_step"), "seed": facts.seed, "seen_in": "masks"}
    rows = facts.all("masks", "mask_row")
    written = [row for row in rows if row.written >= MOMENTS]
    if written:
        yield from _never_written(rows, place)
        yield from _of_the_last_episode(written, place)
    actions = facts.all("masks", "mask_byte")
    for head in sorted({one.head for one in actions}):
        mine = [one for one in actions if one.head == head]
        upside = [one for one in mine if _forbidden(one) >= MOMENTS]
        if _is_dead(mine):
            only = next(one for one in mine if _legal(one))
            yield Finding("PUF413", f"the mask never allows anything but action {only.value} of "
                                    f"head {head}", **place, element=head,
                          expected="1 where an action does something",
                          actual=f"0 at each of {max(map(_forbidden, mine))} moments",
                          hint="is the condition the wrong way round?")
        elif upside and 2 * sum(_is_upside_down(one) for one in upside) > len(upside):
            worst = next(one for one in upside if _is_upside_down(one))
            yield Finding("PUF413", f"the mask of head {head} forbids actions where they do "
                                    "something, and allows them where they do nothing", **place,
                          element=worst.action, expected="1 where the action does something",
                          actual=f"action {worst.value} acted at {worst.forbidden_acts} of "
                                 f"{_forbidden(worst)} moments where it is forbidden, and at "
                                 f"{worst.legal_acts} of {_legal(worst)} where it is legal",
                          hint="is the condition that of another action?")
        else:
            yield from _misplaced(mine, {one.action: one for one in actions}, place)
            yield from _refused(mine, place)


def _never_written(rows: list[Fact], place: dict):
    """Rows of agents that keep what they held, while other agents' are written."""
    blank = {row.agent: row for row in rows if row.steps >= 5 * MOMENTS and not row.written}
    for first, last in ranges(blank):
        who = f"agent {first}" if first == last else f"agents {first}-{last}"
        yield Finding("PUF413", f"the mask of {who} is never written", **place, agent=first,
                      expected="each agent's own row, as agent "
                               f"{next(r.agent for r in rows if r.written)}'s is",
                      actual=f"left as it was on {blank[first].steps} steps",
                      hint="env->action_mask + i * ACT_COUNT is the row of agent i")


def _of_the_last_episode(rows: list[Fact], place: dict):
    """Rows that every step writes, and the start of an episode does not."""
    for row in rows:
        if row.written == row.steps and row.ends >= ENDINGS and not row.ends_written:
            yield Finding("PUF413", "a new episode begins with the mask of the last one",
                          **{**place, "env": row.env, "agent": row.agent, "step": row.step},
                          expected="a mask that c_reset writes, as each step does",
                          actual=f"left as it was at {row.ends} endings",
                          hint="write the mask in c_reset, where the observation is written")
            return


def _misplaced(mine: list[Fact], actions: dict[int, Fact], place: dict):
    """Bytes that know when another action acts."""
    wrong = [(one, actions[one.twin]) for one in mine if one.twin in actions]
    wrong = [(one, owner) for one, owner in wrong if _tells(one) and _is_no_use(one)
             and owner.forbidden_acts >= MOMENTS and 5 * owner.forbidden_acts >= _forbidden(owner)]
    if not wrong:       # each may be rare, such as a jump in one direction
        wrong = [(one, actions[one.twin]) for one in mine if one.twin in actions
                 and one.forbidden_acts and not one.legal_acts and not one.twin_wrong]
        if len(wrong) < 2 or 2 * sum(one.forbidden_acts for one, _ in wrong) < MOMENTS:
            return
    one, owner = max(wrong, key=lambda pair: (pair[0].twin_acts + pair[0].twin_idle,
                                              pair[1].forbidden_acts))
    yield Finding("PUF413", f"{elements(one.twin, one.twin)} of the mask tells when action "
                            f"{one.value} of head {one.head} does something, and not its own "
                            f"{elements(one.action, one.action)}",
                  **place, element=span(one.twin, one.twin),
                  expected=f"element {owner.action} for action {owner.value} of head {owner.head}",
                  actual=f"that action acts at {owner.forbidden_acts} of {_forbidden(owner)} "
                         "moments where it is forbidden",
                  hint="is the index that of another action? is the head's offset added?")


def _refused(mine: list[Fact], place: dict):
    """An action that does what forbidden ones do, whenever the mask allows it.

    Of several, each may be what a phase of the game makes of the forbidden ones.
    """
    tried = [one for one in mine if one.beside >= MOMENTS and _forbidden(one) >= MOMENTS // 2]
    same = [one for one in tried if one.like == one.beside]
    others = [one for one in tried if one.like < one.beside]
    if len(same) == 1 <= len(others) and all(10 * one.like <= one.beside for one in others):
        for one in same:
            yield Finding("PUF413", f"the mask allows action {one.value} of head {one.head}, and "
                                    "the code treats it as it treats forbidden ones", **place,
                          element=one.action, expected="an effect of its own where it is legal",
                          actual=f"what a forbidden action does, at {one.beside} moments",
                          hint="is the range of the check one too small?")


def _legal(one: Fact) -> int:
    return one.legal_acts + one.legal_idle


def _forbidden(one: Fact) -> int:
    return one.forbidden_acts + one.forbidden_idle


def _is_dead(mine: list[Fact]) -> bool:
    """One value alone is ever legal, and most of the others act where they are tried."""
    never = [one for one in mine if not _legal(one)]
    if not never or len(never) < len(mine) - 1:
        return False
    return all(_forbidden(one) >= 2 * MOMENTS for one in never) and \
        2 * sum(2 * one.forbidden_acts > _forbidden(one) for one in never) > len(never)


def _is_upside_down(one: Fact) -> bool:
    return _legal(one) >= MOMENTS and 10 * one.forbidden_acts >= 8 * _forbidden(one) and \
        2 * one.legal_acts <= _legal(one)


def _tells(one: Fact) -> bool:
    """The other byte says when this action acts."""
    both = one.twin_acts + one.twin_idle
    return min(one.twin_acts, one.twin_idle) >= MOMENTS // 2 and 20 * one.twin_wrong <= both


def _is_no_use(one: Fact) -> bool:
    """Its own byte does not."""
    wrong = one.legal_idle + one.forbidden_acts
    return wrong >= MOMENTS // 2 and 4 * wrong >= _legal(one) + _forbidden(one)
