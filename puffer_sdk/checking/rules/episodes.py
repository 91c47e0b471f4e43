"""PUF401: does a new episode begin where one has ended?"""
from __future__ import annotations

from ..facts import Facts, Finding
from . import NotTested, need, rule


@rule("PUF401", "no-reset")
def no_reset(facts: Facts):
    """The env goes on from a finished episode instead of resetting itself.

    Why it ruins training: nobody else resets it. After its first ending the env stays in a
    state that should not exist: off the board, out of time, dead. Nearly all of what the
    agent learns from comes from there.

    Bad:

        if (won) { env->rewards[0] = 1.0f; env->terminals[0] = 1.0f; add_log(env); }

    Good:

        if (won) { env->rewards[0] = 1.0f; env->terminals[0] = 1.0f; add_log(env); c_reset(env); }

    Fix: end c_step with c_reset(env) whenever the episode is over, and leave rewards and
    terminals alone in c_reset: they still describe the step that ended.

    How it is seen: words of the struct (or of the observation) that every c_reset brings to
    the same value, like a tick to 0, are nowhere near it after an ending, and no random
    number was drawn although every c_reset draws one.
    """
    need(facts, "audit")
    fact = facts.fact("audit", "endings")
    place = {**facts.at("c_step"), "env": fact["env"], "step": fact["step"], "seed": facts.seed}
    if fact["frozen"]:
        yield Finding("PUF401", "after every agent's episode has ended, nothing happens any more",
                      **place, expected="a new episode", actual="2000 steps without any change",
                      hint="call c_reset(env) in c_step when the last agent's episode has ended")
        return
    if fact["endings"] == 0:
        raise NotTested("no episode ended" if not fact["part"] else
                        "no step ended the episodes of all agents of an env together")
    draws_tell = fact["draws"] in (0, fact["resets"])   # c_reset draws always, or never
    kept, stayed = fact["kept"], fact["stayed"]
    repeats = fact["stayed_next"] + fact["grown"]
    by_draws = kept >= 3 and (draws_tell or 2 * kept > fact["endings"])
    chance_tells = draws_tell and fact["draws"] and 2 * fact["noisy"] < fact["plain"]
    by_repeats = not chance_tells and stayed >= 3 and 2 * repeats >= stayed
    if by_draws or by_repeats:
        count = kept if by_draws else stayed
        how = "every ending" if count == fact["endings"] else \
            f"{count} of {fact['endings']} endings"
        actual = "the next step is an ending as well" if 2 * fact["stayed_next"] >= stayed \
            else "the same episode goes on"
        yield Finding("PUF401", f"after {how} the env is not reset", **place,
                      expected="the first observation of a new episode", actual=actual,
                      hint="call c_reset(env) in c_step when the episode has ended")
