"""PUF411, PUF412: does what an agent chooses change anything, and can it choose at all?"""
from __future__ import annotations

from ...core.facts import Fact, Facts, ranges
from ...core.finding import Finding, span
from ...core.registry import NotTested, need, rule
from ...core.repro_spec import Proof

AHEAD = 64              # steps that follow a choice: AHEAD of play/forks.c
ENOUGH = 40             # moments at which a value must have been tried
CHANCE = 0.01           # that values which do differ did not, at any of so many moments


@rule("PUF411", "action-ignored", "warning")
def action_ignored(facts: Facts):
    """An action value, a whole head, or everything that one agent chooses changes nothing.

    Why it ruins training: the policy spends its exploration on choices without consequence,
    and the move that the head was made for does not exist. The usual causes are a missing
    `case`, a loop that ends one agent early, and an index that always reads the first head.

    Bad:

        #define ACT_SIZES {4}
        switch (action) { case 0: up(env); break; case 1: down(env); break; case 2: left(env); }

    Good:

        switch (action) { case 0: up(env); break; case 1: down(env); break;
                          case 2: left(env); break; case 3: right(env); break; }

    Fix: handle the value, or make ACT_SIZES smaller.

    How it is seen: from many moments on, the same env is played with each value held for 48
    steps, and 16 more at random, all other actions being the same. Two values that never lead
    to different observations, rewards or terminals are one value. Where most values do nothing at
    most moments, such as the swaps of a board, it takes more moments to say so. A head that changes
    nothing by then is tried once more, to the end of an episode and beyond.
    """
    need(facts, "effect")
    heads = facts.all("effect", "effect")
    reach, far = facts.all("effect", "reach"), facts.all("effect-far", "reach")
    place = {**(facts.at_macro("ACT_SIZES") or facts.at("c_step")), "seed": facts.seed,
             "seen_in": "effect"}
    tested = 0
    for fact in heads:
        mine = [r for r in reach if r.head == fact.head]
        moments = sum(r.tested for r in mine)
        moved = sum(r.moved for r in mine)
        if moments < ENOUGH:
            continue
        tested += 1
        which = f"head {fact.head}" if len(heads) > 1 else "the action"
        if moved == 0 and any(r.moved for r in far if r.head == fact.head):
            yield from _shows_late(facts, fact, which, place)
            continue
        if moved == 0:
            yield Finding("PUF411", f"{which} changes nothing", **place, element=fact.head,
                          expected="another observation, reward or terminal",
                          actual=f"none, at {moments} moments",
                          hint="does c_step read it? at the right index?")
            continue
        # Where a head seldom matters, a value may matter less often; numbers may be clamped
        if 4 * moved > moments and fact.width > 1:
            yield from _same_values(facts, fact, which, place)
        best = max(r.moved / max(r.tested, 1) for r in mine)
        idle = {r.agent: r.tested for r in mine
                if r.moved == 0 and r.tested >= ENOUGH // 3 and best > 0.5}
        for first, last in ranges(idle):
            who = f"agent {first}" if first == last else f"agents {first}-{last}"
            yield Finding("PUF411", f"{which} of {who} changes nothing", **place, agent=first,
                          element=fact.head, expected="an effect, as the other agents' have",
                          actual=f"none, at {idle[first]} moments",
                          hint="does the loop reach every agent, and each its own row?")
    if tested == 0:
        raise NotTested("too few moments were tried")
    masked = [(f.head, f.never) for f in heads if f.never]
    if masked:
        head, values = masked[0]
        raise NotTested(f"{'actions' if len(values) > 1 else 'action'} "
                        f"{', '.join(f'{v:g}' for v in values)} of head {head} never taken: "
                        "the mask forbids it")


def _shows_late(facts: Facts, fact: Fact, which: str, place: dict):
    """What a head changes comes later than a segment of the trainer's reaches."""
    horizon = facts.config.train.horizon
    if horizon <= AHEAD:
        yield Finding("PUF411", f"what {which} changes shows only after more than {AHEAD} steps",
                      **place, element=fact.head,
                      expected="an effect within [train] horizon, or a longer horizon",
                      actual=f"a horizon of {horizon}",
                      hint=f"train with a horizon of at least {2 * AHEAD}: what comes later "
                           "than the horizon is learned slowly")


def chance_of(fact: Fact, first: float, second: float) -> float:
    """That these two values lead to the same rows from one moment on, though they are handled.

    At a given moment many values may do nothing, as most swaps of a board do. How often a value
    matters is what its rate has beyond half the mean, for the other half is the other value's. One
    that is not handled never does: so it is taken to matter a quarter as often as they do on
    average, at least.
    """
    lowest = -1 if fact.width == 1 else 0
    mean = sum(fact.rates) / max(len(fact.rates), 1)
    rates = [fact.rates[int(value - lowest)] for value in (first, second)]
    return 1 - min(1.0, max(mean / 2, sum(rates) - mean))


def _same_values(facts: Facts, fact: Fact, which: str, place: dict):
    """Values of one head that never led to different futures, grouped by the first of them."""
    groups: dict[float, list] = {}
    for first, value, moments in fact.same:
        chance = chance_of(fact, first, value) ** moments * fact.values ** 2
        if moments >= ENOUGH and chance < CHANCE:
            groups.setdefault(first, []).append((value, moments))
    for first, members in groups.items():
        values = ", ".join(f"{value:g}" for value, _ in members)
        subject = "actions" if len(members) > 1 else "action"
        of = f" of {which}" if which.startswith("head") else ""
        yield Finding("PUF411", f"{subject} {values}{of} never "
                                f"do{'' if len(members) > 1 else 'es'} anything but action "
                                f"{first:g}", **place, element=fact.head,
                      expected=f"{fact.values} different actions",
                      actual=f"no difference at {min(m for _, m in members)} moments",
                      hint="is the value handled? can it be reached?")


@rule("PUF412", "mask-forbids-all", proof=Proof("one-legal", "action_mask"))
def mask_forbids_all(facts: Facts):
    """The action mask forbids every action of a head.

    Why it ruins training: there is nothing to sample. Training, evaluation and exported policies
    end with an error, perhaps after hours, when a game first gets there.

    Bad:

        env->action_mask[ACT_UP] = env->rung < env->rungs - 1;
        env->action_mask[ACT_DOWN] = env->rung > 0 && env->oiled;

    Good:

        env->action_mask[ACT_WAIT] = 1;
        env->action_mask[ACT_UP] = env->rung < env->rungs - 1;
        env->action_mask[ACT_DOWN] = env->rung > 0 && env->oiled;

    Fix: leave one action legal, such as one that does nothing; or end the episode where an agent
    cannot move.
    """
    need(facts, "run")
    fact = facts.fact("run", "mask_empty")
    if fact:
        head = int(fact.value)
        heads = sorted(facts.all("probe", "head"), key=lambda each: each.head)
        first = sum(each.width for each in heads[:head])
        width = heads[head].width
        yield Finding("PUF412", f"the mask forbids every action of head {head}",
                      **facts.at_store("action_mask"), env=fact.env, agent=fact.agent,
                      step=fact.step,
                      element=span(first, first + width - 1),
                      expected=f"a 1 among these {width} bytes of action_mask", actual="zeros only",
                      seed=facts.seed, seen_in="run",
                      hint="leave one legal, such as an action that does nothing")
