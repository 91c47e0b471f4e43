"""PUF421: does the log have entries?"""
from ...core.vocabulary import Facts, Finding, Findings, NotTested, Proof, enough, rule
from .mismatch.log_mismatch import of_episodes


@rule("PUF421", "log-empty", proof=Proof("logged"))
def log_empty(facts: Facts) -> Findings:
    """Episodes end, and `log.n` never grows.

    Why it matters: the dashboard, sweeps and `puffer-sdk eval` know an environment only by its
    log. All fields are divided by n, and without entries there is nothing to show: a run
    that learns looks like one that does not, and a sweep has nothing to choose by.

    Bad:

        env->log.episode_return += env->ret;
        env->log.episode_length += env->tick;
        c_reset(env);                               // n is still 0

    Good:

        env->log.episode_return += env->ret;
        env->log.episode_length += env->tick;
        env->log.n += 1.0f;
        c_reset(env);

    Fix: add 1 to log.n wherever the other fields of Log are added to. It applies to envs that
    set terminals.
    """
    run = of_episodes(facts)
    if run.entries > 0:
        return
    if not enough(run.rounds):
        raise NotTested("the episodes of all agents of an env ended fewer than 3 times")
    yield Finding("PUF421", f"log.n is still 0 after {run.rounds} finished episodes",
                  **facts.at("c_step"), env=0, expected="log.n grows by 1 with each episode",
                  actual="0", seed=facts.seed, seen_in="run",
                  hint="env->log.n += 1.0f; where an episode ends")
