"""PUF311-314, 321, 322: rewards and terminals that are not written, or make no sense."""
from collections.abc import Iterator, Mapping

from ...core.fact_kinds import (
    AliveValueFact,
    RewardNotFiniteFact,
    RewardScaleFact,
    RunFact,
    StaleFact,
    TerminalValueFact,
    TruncationAloneFact,
    TruncationValueFact,
)
from ...core.vocabulary import Facts, Finding, Findings, NotTested, Proof, Shows, need, needed, rule
from ...fix import remedies
from ...fix.edits import Fix
from ..memory.origins import origin

STEPS = 50_000      # without a reward, that mean something
TELLING = 0.001     # a share that is shown in percent; a smaller one as a count


def _stale(facts: Facts, code: str, array: str, example: str) -> Findings:
    need(facts, "stale")
    fact = next((f for f in facts.all("stale", StaleFact) if f.array == array), None)
    if fact is None or fact.count == 0:
        return
    share = fact.count / fact.total
    often = "never writes" if fact.count == fact.total else "does not always write"
    left = f"c_step leaves it to its caller to clear {array}" if facts.handwritten else \
        f"c_step {often} {array}: the previous value stays"
    yield Finding(code, left,
                  **facts.at("c_step"), env=fact.env, agent=fact.agent, step=fact.step,
                  expected=f"{array} written on every step",
                  actual=f"left alone on {share:.1%} of steps" if share >= TELLING
                  else f"left alone on {fact.count} steps", seed=facts.seed,
                  seen_in="stale", shows=Shows(array=array), remedy=array,
                  severity="warning" if facts.handwritten else "error", hint=example)


def clear_rows(findings: list[Finding], texts: Mapping[str, str]) -> Iterator[Fix]:
    """Clear what each step has to write, all arrays at once."""
    stale = [finding for finding in findings if finding.line]
    arrays = [name for name in ("rewards", "terminals", "truncations")
              if any(finding.remedy == name for finding in stale)]
    match stale:
        case [Finding(file=str(file), line=int(line)), *_]:
            yield Fix.of(stale, f"clear {' and '.join(arrays)} at the top of c_step",
                         remedies.clear_arrays(texts, file, line, arrays))


@rule("PUF311", "reward-stale", proof=Proof("written", "rewards"), fix=clear_rows)
def reward_stale(facts: Facts) -> Findings:
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


@rule("PUF312", "reward-not-finite", proof=Proof("finite", "rewards"))
def reward_not_finite(facts: Facts) -> Findings:
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
    fact = facts.fact("run", RewardNotFiniteFact)
    if fact:
        yield Finding("PUF312", f"a reward became {fact.value}",
                      **origin(facts, fact.value, facts.at("c_step")),
                      env=fact.env, agent=fact.agent, step=fact.step,
                      expected="a finite number", actual=fact.value, seed=facts.seed,
                      seen_in="run")


@rule("PUF313", "reward-scale", "warning")
def reward_scale(facts: Facts) -> Findings:
    """A reward lies outside [-5, 5].

    Why it ruins training: the value network has to predict sums of rewards. With rewards of
    100 its errors are a hundred times as large, its gradients drown the policy's, and trainers
    that clip rewards (PufferLib's does) see no difference between 5 and 100.

    Bad:

        env->rewards[0] = 100.0f * caught;

    Good:

        env->rewards[0] = caught ? 1.0f : 0.0f;

    Fix: divide all rewards by the largest; put the raw score into the log.
    """
    need(facts, "run")
    fact = facts.fact("run", RewardScaleFact)
    if fact:
        yield Finding("PUF313", f"rewards reach {float(fact.largest):g}", **facts.at("c_step"),
                      env=fact.env, agent=fact.agent, step=fact.step,
                      expected="within [-5, 5]", actual=fact.value, seed=facts.seed,
                      hint="divide all rewards by the largest", seen_in="run")


@rule("PUF314", "reward-absent", "warning")
def reward_absent(facts: Facts) -> Findings:
    """In a whole long run, no agent was ever given a reward other than 0.

    Why it ruins training: without rewards there is nothing to learn from. Either the reward is
    never written, or it goes to the wrong place, or it is so hard to come by that random play
    never finds it: then learning cannot begin either.

    Bad:

        if (env->score == 100) env->rewards[0] = 1.0f;      // score is set to 0 before

    Good:

        env->rewards[0] = env->score - before;              // something for each step forward

    Fix: make sure that the reward is written after it was cleared. If it is only rare, let
    episodes begin near the goal, or reward the way there.
    """
    run = needed(facts, "run", RunFact)
    if run.rewards > 0:
        return
    if run.steps < STEPS:
        raise NotTested(f"{run.steps} steps without a reward are too few to mean anything")
    ends = f"{run.terminals:,} endings" if run.terminals else "no ending"
    yield Finding("PUF314", f"no reward but 0 in {run.steps:,} steps of random, sticky and "
                            f"held actions with {ends}", **facts.at("c_step"),
                  expected="some reward other than 0", actual="0 on every step",
                  seed=facts.seed, seen_in="run",
                  hint="is it written after rewards were cleared? else reward the way there")


@rule("PUF321", "terminal-stale", proof=Proof("written", "terminals"), fix=clear_rows)
def terminal_stale(facts: Facts) -> Findings:
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
    run = facts.fact("run", RunFact)
    if facts.handwritten and run and run.terminals == 0:
        return                          # an Ocean env without endings leaves them at zero
    yield from _stale(facts, "PUF321", "terminals", "begin c_step with: env->terminals[i] = 0.0f;")
    if facts.shape.truncations:
        yield from _stale(facts, "PUF321", "truncations",
                          "begin c_step with: env->truncations[i] = 0.0f;")


@rule("PUF322", "terminal-value", proof=Proof("zero-or-one", "terminals"))
def terminal_value(facts: Facts) -> Findings:
    """A terminal (or truncation, or byte of `alive`) is neither 0 nor 1, or a truncation comes
    without a terminal.

    Why it ruins training: the trainer multiplies by 1 - terminal. With 2 it subtracts the
    value of the next state, with 0.5 it believes half of it.

    Bad:

        env->terminals[0] = env->lives_lost;

    Good:

        env->terminals[0] = env->lives_lost > 0 ? 1.0f : 0.0f;

    Fix: write 1 on the step that ended the agent's episode, else 0. A truncation (a time
    limit, not the game) sets both. In alive, write 1 for a row that has an agent, else 0.
    """
    need(facts, "run")
    for kind, array, called in ((TerminalValueFact, "terminals", "a terminal"),
                                (TruncationValueFact, "truncations", "a truncation"),
                                (AliveValueFact, "alive", "a byte of alive")):
        fact = facts.fact("run", kind)
        if fact:
            yield Finding("PUF322", f"{called} is {fact.value}", **facts.at("c_step"),
                          env=fact.env, agent=fact.agent, step=fact.step,
                          expected="0 or 1", actual=fact.value, seed=facts.seed,
                          seen_in="run", shows=Shows(array=array))
    fact = facts.fact("run", TruncationAloneFact)
    if fact:
        yield Finding("PUF322", "a truncation comes without a terminal", **facts.at("c_step"),
                      env=fact.env, agent=fact.agent, step=fact.step,
                      expected="terminal 1", actual="terminal 0", seed=facts.seed, seen_in="run",
                      shows=Shows("with-terminal", "truncations"),
                      hint="a truncated episode has ended: set both")
