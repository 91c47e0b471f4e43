"""PUF311, 312, 321, 322: rewards and terminals that nobody wrote, or that make no sense."""
from __future__ import annotations

from ..facts import Facts, Finding
from . import need, rule


def _stale(facts: Facts, code: str, array: str, example: str):
    need(facts, "stale")
    fact = next((f for f in facts.all("stale", "stale") if f["array"] == array), None)
    if fact is None or fact["count"] == 0:
        return
    share = fact["count"] / fact["total"]
    often = "never writes" if fact["count"] == fact["total"] else "does not always write"
    left = f"c_step leaves it to its caller to clear {array}" if facts.handwritten else \
        f"c_step {often} {array}: the previous value stays"
    yield Finding(code, left,
                  **facts.at("c_step"), env=fact["env"], agent=fact["agent"], step=fact["step"],
                  expected=f"{array} written on every step",
                  actual=f"left alone on {share:.1%} of steps" if share >= 0.001
                  else f"left alone on {fact['count']} steps", seed=facts.seed,
                  severity="warning" if facts.handwritten else "error", hint=example)


@rule("PUF311", "reward-stale")
def reward_stale(facts: Facts):
    """On some steps c_step does not write the reward of some agent: the old value stays.

    Why it ruins training: the trainer clears rewards before each step, a standalone program
    or another library does not. There the agent is paid again and again for one success. In
    a hand-written Ocean binding this is a warning, because PufferLib's own loop clears them.

    Bad:

        if (reached) env->rewards[0] = 1.0f;

    Good:

        env->rewards[0] = reached ? 1.0f : 0.0f;

    Fix: set rewards (of all agents) at the top of c_step.
    """
    yield from _stale(facts, "PUF311", "rewards", "begin c_step with: env->rewards[i] = 0.0f;")


@rule("PUF312", "reward-not-finite")
def reward_not_finite(facts: Facts):
    """A reward is NaN or infinite.

    Why it ruins training: the return of the whole episode becomes NaN, then the loss, then
    every weight.

    Bad:

        env->rewards[0] = 1.0f / env->tick;         // tick 0

    Good:

        env->rewards[0] = 1.0f / (1.0f + env->tick);

    Fix: find the division, square root or logarithm, and treat its edge.
    """
    need(facts, "run")
    fact = facts.fact("run", "reward-not-finite")
    if fact:
        yield Finding("PUF312", f"a reward became {fact['value']}", **facts.at("c_step"),
                      env=fact["env"], agent=fact["agent"], step=fact["step"],
                      expected="a finite number", actual=fact["value"], seed=facts.seed)


@rule("PUF321", "terminal-stale")
def terminal_stale(facts: Facts):
    """On some steps c_step does not write the terminal (or truncation) of some agent.

    Why it ruins training: where nobody clears it, a 1 stays. Every later step looks like the
    end of an episode, so no reward is ever credited to an earlier action. In a hand-written
    Ocean binding this is a warning, because PufferLib's own loop clears them.

    Bad:

        if (dead) { env->terminals[0] = 1.0f; c_reset(env); }

    Good:

        env->terminals[0] = 0.0f;
        if (dead) { env->terminals[0] = 1.0f; c_reset(env); }

    Fix: set terminals (of all agents) at the top of c_step, and truncations likewise.
    """
    run = facts.fact("run", "run")
    if facts.handwritten and run and run["terminals"] == 0:
        return                          # an Ocean env without endings leaves them at zero
    yield from _stale(facts, "PUF321", "terminals", "begin c_step with: env->terminals[i] = 0.0f;")
    if facts.shape["truncations"]:
        yield from _stale(facts, "PUF321", "truncations",
                          "begin c_step with: env->truncations[i] = 0.0f;")


@rule("PUF322", "terminal-value")
def terminal_value(facts: Facts):
    """A terminal (or truncation) is neither 0 nor 1, or a truncation comes without a terminal.

    Why it ruins training: the trainer multiplies by 1 - terminal. With 2 it subtracts the
    value of the next state, with 0.5 it believes half of it.

    Bad:

        env->terminals[0] = env->lives_lost;

    Good:

        env->terminals[0] = env->lives_lost > 0 ? 1.0f : 0.0f;

    Fix: write 1 on the step that ended the agent's episode, else 0. A truncation (a time
    limit, not the game) sets both.
    """
    need(facts, "run")
    for kind, array in (("terminal-value", "terminal"), ("truncation-value", "truncation")):
        fact = facts.fact("run", kind)
        if fact:
            yield Finding("PUF322", f"a {array} is {fact['value']}", **facts.at("c_step"),
                          env=fact["env"], agent=fact["agent"], step=fact["step"],
                          expected="0 or 1", actual=fact["value"], seed=facts.seed)
    fact = facts.fact("run", "truncation-alone")
    if fact:
        yield Finding("PUF322", "a truncation comes without a terminal", **facts.at("c_step"),
                      env=fact["env"], agent=fact["agent"], step=fact["step"],
                      expected="terminal 1", actual="terminal 0", seed=facts.seed,
                      hint="a truncated episode has ended: set both")
