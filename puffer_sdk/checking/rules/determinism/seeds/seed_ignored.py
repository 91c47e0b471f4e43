"""The page of PUF502, and what its detectors share."""
from ....collect.c.source.model import Source
from ....core.vocabulary import EndingsFact, Facts, NotTested, family
from ...memory.memory import unrepeatable, unsound

SEEDING = {"srand", "srandom", "puffer_srand"}


@family("PUF502", "seed-ignored", "warning")
def seed_ignored() -> None:
    """The env draws random numbers, but every seed gives the same ones.

    Why it ruins training: thousands of envs play one and the same game. The agent learns
    that game by heart, the batch holds no variety, and averages over seeds mean nothing.

    Bad:

        void c_reset(Maze* env) { env->rng = 42; build(env); }

    Good:

        void c_reset(Maze* env) { build(env); }         // env->rng is seeded for you

    Fix: leave env->rng alone: it holds this env's seed before init, and its state
    afterwards. A game without any chance in it may ignore the seed.

    A generator that is a local variable of c_reset, or of what it calls, and begins with a constant
    is reported as well: what it draws is the same in every episode. For a map that is meant to
    stay, draw it once, in init. So is a copy of the env's generator that is never stored back,
    where it often begins with the same state:

        unsigned int rng = env->rng;                    // env->rng stays as it is
        env->x = draw(&rng);

    Two more kinds are reported. All episodes of an env are one game, because c_reset puts back the
    seed of the first one. And all episodes begin with the same observation, although another seed
    begins with another one.

    Not reported: these two kinds where c_step starts its episodes by another function than c_reset,
    and c_reset alone puts back a seed.
    """


def explained(facts: Facts) -> NotTested | None:
    """Memory errors, or a game that is not repeatable: they explain any finding."""
    return unsound(facts) or unrepeatable(facts)


def begins_without_reset(facts: Facts) -> NotTested | None:
    """Why c_reset's first observation is not that of an episode in play, if it is not: c_step
    starts episodes by another function, and c_reset sets words that this function leaves alone."""
    seen = facts.fact("audit", EndingsFact)
    if seen and seen.endings > seen.stayed and not seen.called and not seen.late \
            and seen.unlike:
        return NotTested("c_step starts new episodes without c_reset")
    return None


def seeded_from(source: Source) -> list[str]:
    """Fields of the env struct from which c_reset, or what it calls, computes a seed."""
    calls = [node for function in source.reach("c_reset") for node in function.nodes
             if node.kind == "call" and node.name in SEEDING]
    return list(dict.fromkeys(
        inner.name for call in calls for argument in call.arguments for inner in argument.walk()
        if inner.name != "rng" and source.is_field(inner, inner.name)))
