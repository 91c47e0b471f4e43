"""PUF601: is a step far slower than this environment's size explains?"""
from ...core.vocabulary import CostFact, Facts, Finding, Findings, needed, rule

FACTOR = 100            # times the yardstick
SECONDS = 20e-6         # of a step of one agent: below this, speed is no problem

MILLISECOND = 1e-3


@rule("PUF601", "slow-step", "warning", timed=True)
def slow_step(facts: Facts) -> Findings:
    """A step takes more than a hundred times as long as a plain environment of this size, and
    more than 20 microseconds for each agent.

    Why it matters: reinforcement learning needs many millions of steps. At 1,000,000 steps a
    second that is a minute, at 10,000 it is hours, in which the GPU waits. The usual causes
    are work that is done anew on every step although little has changed (a distance field, a
    path search, a sort), and memory that is allocated and cleared each time.

    Bad:

        for (int i = 0; i < W * H; i++) flood_fill(env, i);     // on every step

    Good:

        if (env->map_changed) flood_fill_all(env);              // or once, in c_reset

    Fix: run a profiler (`perf record`) on the standalone program; keep what does not change.

    How it is measured: the best of 24 short blocks, compared with a loop that writes rows of the
    same size from random numbers and draws 32 more for each agent, on the same machine at the
    same moment. Heavy physics is a good reason: then say so, and allow it. This is the only finding
    that may differ between two runs.
    """
    cost = needed(facts, "probe", CostFact)
    agents = facts.shape.env_agents
    each = cost.seconds / agents
    if each > SECONDS and cost.seconds > FACTOR * cost.yardstick:
        times = cost.seconds / cost.yardstick
        yield Finding("PUF601", f"a step takes {_spell(cost.seconds)}: "
                                f"{agents / cost.seconds:,.0f} steps of an agent a second",
                      **facts.at("c_step"),
                      expected=f"about {_spell(cost.yardstick)} for {agents} x "
                               f"{facts.shape.obs_size} elements",
                      actual=f"{times:,.0f} times that", seed=facts.seed, seen_in="probe",
                      hint="look for work that is done anew on every step (perf record)")


def _spell(seconds: float) -> str:
    return f"{seconds * 1e6:.3g} us" if seconds < MILLISECOND else f"{seconds * 1e3:.3g} ms"
