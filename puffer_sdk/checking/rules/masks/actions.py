"""PUF412: masks that allow no action."""
from ...core.fact_kinds import HeadFact, MaskEmptyFact
from ...core.vocabulary import Facts, Finding, Findings, Proof, need, rule, span


@rule("PUF412", "mask-forbids-all", proof=Proof("one-legal", "action_mask"))
def mask_forbids_all(facts: Facts) -> Findings:
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
    cannot move. In a game of turns, a mask of zeros says that an agent waits for another one: then
    somebody must be able to act.
    """
    need(facts, "run")
    fact = facts.fact("run", MaskEmptyFact)
    if fact:
        head = int(fact.value)
        heads = sorted(facts.all("probe", HeadFact), key=lambda each: each.head)
        first = sum(each.width for each in heads[:head])
        width = heads[head].width
        yield Finding("PUF412", f"the mask forbids every action of head {head}",
                      **facts.at_store("action_mask"), env=fact.env, agent=fact.agent,
                      step=fact.step,
                      element=span(first, first + width - 1),
                      expected=f"a 1 among these {width} bytes of action_mask", actual="zeros only",
                      seed=facts.seed, seen_in="run",
                      hint="leave one legal, such as an action that does nothing")
