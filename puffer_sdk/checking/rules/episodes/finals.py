"""PUF323: what an env leaves in final_observations when it cuts an episode off."""
from __future__ import annotations

from ...core.facts import Facts, elements
from ...core.finding import Finding, span
from ...core.registry import NotTested, need, rule
from .episodes import is_not_reset, is_reset_late

ENOUGH = 3              # truncations that are no accident


@rule("PUF323", "final-observation")
def final_observation(facts: Facts):
    """final_observations does not hold what a truncated agent saw last: it holds the first
    observation of the next episode, or was not written, or not as a whole.

    Why it ruins training: an episode that a time limit cuts off is not over for the agent. Its
    value there stands for all that was still to come, and that value is computed from this row.
    With the first observation of another episode in it, every truncation teaches the wrong value.

    Bad:

        c_reset(env);
        if (late) observe(env, env->final_observations);

    Good:

        if (late) observe(env, env->final_observations);
        c_reset(env);

    Fix: fill the row where the truncation is set, before c_reset. Without the field, `build`
    looks for a way to keep the final observations by itself.

    How it is seen: the row is overwritten before each step and looked at after each truncation,
    as the ini has it and with time limits of 24 steps. An element that is never written is reported
    where it differs from truncation to truncation.
    """
    if facts.spec is None or not facts.spec.writes_finals:
        return
    need(facts, "finals")
    played = [one for one in (facts.fact("finals", "finals"),
                              facts.fact("finals-short", "finals")) if one]
    fact = max(played, key=lambda one: (one.next >= ENOUGH or one.blank >= ENOUGH, one.cuts))
    if fact.cuts < ENOUGH:
        raise NotTested("fewer than 3 episodes were cut off")
    if fact.blank >= ENOUGH:
        yield Finding("PUF323", f"{fact.blank} of {fact.cuts} truncations leave "
                                "final_observations as it was", **facts.at("c_step"),
                      env=fact.blank_env, agent=fact.blank_agent, step=fact.blank_step,
                      seed=facts.seed, expected="what the agent saw last",
                      actual="what the array held before",
                      hint="fill the agent's row wherever its truncation is set to 1")
    elif fact.left and fact.cuts - fact.blank >= ENOUGH:
        be = "is" if fact.left_first == fact.left_last else "are"
        yield Finding("PUF323", f"{elements(fact.left_first, fact.left_last)} of "
                                f"final_observations {be} never written", **facts.at("c_step"),
                      seed=facts.seed, element=span(fact.left_first, fact.left_last),
                      expected="the whole row that the agent saw last",
                      actual=f"what the array held before, at {fact.cuts} truncations",
                      hint="copy OBS_SIZE elements: sizeof of a pointer is 8")
    elif fact.next >= ENOUGH and 10 * fact.next >= 9 * fact.moved and not (
            is_not_reset(facts) or is_reset_late(facts)):
        yield Finding("PUF323", "final_observations holds the first observation of the next "
                                "episode", **facts.at("c_step"), env=fact.env, agent=fact.agent,
                      step=fact.step, seed=facts.seed, expected="what the agent saw last",
                      actual=f"what it sees after c_reset, {fact.next} times of {fact.cuts}",
                      hint="fill the row before c_reset is called")
