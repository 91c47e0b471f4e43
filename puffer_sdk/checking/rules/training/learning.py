"""PUF701, 702: training that breaks, and training that finds nothing. Asked for by --learn."""
from ...collect.c.learning_probe import BLIND, IDLE, RANDOM, TRAINED, best_constant, verdict
from ...core.fact_kinds import ObsNotFiniteFact, RewardNotFiniteFact, RunFact
from ...core.vocabulary import Facts, Finding, Findings, Learning, NotTested, rule

RARE = 0.01         # of steps: rewards that are hard to come by


def _probed(facts: Facts) -> Learning:
    found = facts.learning or {"skipped": "there was no training"}
    if "skipped" in found:
        raise NotTested(found["skipped"])
    return found


@rule("PUF701", "nan-loss", option="--learn")
def nan_loss(facts: Facts) -> Findings:
    """Training runs into a number that is not finite: NaN, or an infinity. Tested by --learn.

    Why it ruins training: one NaN in an observation, a reward or the loss is in every weight
    after the next update, and the run is lost. Random play may never get to the place where
    the environment divides by zero; a policy that has learned the game does.

    Bad:

        env->observations[3] = sqrtf(1.0f - env->combo / 24.0f);    // a good player's 25th hit

    Good:

        env->observations[3] = sqrtf(fmaxf(0.0f, 1.0f - env->combo / 24.0f));

    Fix: where an observation or a reward went bad, treat the edge of that division, root or
    logarithm. Where the loss did, lower [train] learning_rate, or scale rewards and observations.
    """
    found = _probed(facts)
    if "nan" not in found:
        return
    seen = [name for name, outcome in facts.outcomes.items() for kind in
            (ObsNotFiniteFact, RewardNotFiniteFact) if outcome.first(kind)]
    if seen:
        raise NotTested("the environment itself writes numbers that are not finite",
                        "PUF303", "PUF312")
    own, element = found["value"] is not None, found["element"]
    array = "observations" if element >= 0 else "rewards"
    yield Finding("PUF701", "training gives numbers that are not finite" if not own else
                  f"a policy in training got {array} that are not finite",
                  **facts.at("c_step"),
                  agent=found["row"] % facts.shape.env_agents if own else None,
                  element=element if own and element >= 0 else None,
                  expected="finite numbers",
                  actual=found["value"] if own else found["nan"], seed=facts.seed,
                  hint="it got where random play does not: look at each division, root and "
                       "logarithm" if own else
                       "lower [train] learning_rate, or scale rewards and observations")


@rule("PUF702", "not-learning", "warning", option="--learn")
def not_learning(facts: Facts) -> Findings:
    """After a short training the policy is no better than a baseline. Tested by --learn.

    Compared over the same episodes, by a t test over environments at 95 %: random play, each
    action held for ever, and a policy that was trained alike but sees what the agents of another
    env see. A hard game may simply need more steps: then say --learn-seconds 60.

    Why it ruins training: a policy that is no better than random after hundreds of thousands of
    steps mostly has no way to be: the reward does not depend on the actions, comes too rarely
    to be met by chance, or depends on what the observations leave out. One that one held action
    or a blind policy equals has learned a habit, not the game.

    Bad:

        env->observations[0] = env->target;             // drawn anew after this line
        env->target = random_below(&env->rng, 4);

    Good:

        env->target = random_below(&env->rng, 4);
        env->observations[0] = env->target;             // what the next action has to answer

    Fix: see that the observation describes the state the next action is judged by, that some
    actions earn more than others, and that random play meets a reward now and then. A game that
    is meant to be like this allows the rule: [check] allow = PUF702, and the reason.
    """
    found = _probed(facts)
    if "nan" in found:
        raise NotTested("training did not come to its end", "PUF701")
    run = facts.fact("run", RunFact)
    if run and not run.rewards:
        raise NotTested("there was no reward to learn from")
    scores = found["scores"]
    constant = best_constant(scores)
    share = run.rewards / max(run.steps * facts.shape.env_agents, 1) if run else 1.0
    message, other, hint = {
        "random": ("training found nothing better than random play", RANDOM,
                   f"random play met a reward on {share:.2%} of the steps: reward the way there, "
                   "or give it --learn-seconds 60" if share < RARE else
                   "do some actions earn more than others? a hard game needs --learn-seconds 60"),
        "constant": ("training found nothing better than "
                     + ("doing nothing" if constant == IDLE else f"always choosing {constant}"),
                     constant, "is that all that the reward asks for? then change the reward; a "
                     "hard game needs --learn-seconds 60"),
        "blind": ("the observations carry nothing that helps: a policy that sees another env "
                  "does as well", BLIND, "show what the reward depends on, as it is when the next "
                  "action is chosen"), "learns": ("", "", "")}[verdict(found)]
    if other:
        yield Finding("PUF702", message, **facts.at("c_step"),
                      expected=f"a {found['unit']} above {_mean(scores[other]):.4g}",
                      actual=f"{_mean(scores[TRAINED]):.4g} after {found['steps']:,} steps",
                      seed=facts.seed, hint=hint)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
