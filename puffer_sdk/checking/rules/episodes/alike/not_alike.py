"""The page of PUF410, and what its detectors share."""
from __future__ import annotations

from ....collect.c import alike
from ....core.fact_kinds import PlaceFact
from ....core.facts import Fact, Facts
from ....core.finding import Finding
from ....core.registry import NotTested, family, need

LEVEL = 6.0             # errors between two means: none of thousands of elements by chance
SHARE = 0.25            # of the quantity's own size: who moves first may gain a little


@family("PUF410", "not-alike", "warning")
def not_alike():
    """The author declares that agents are alike, and what happens to an agent depends on its row.
    Only games that say so are looked at: write `// puffer: players 2 alike` in the header.

    Why it ruins training: one policy plays all rows. What it learns in one row is wrong in another
    that is paid otherwise or sees another picture, and a game of a policy against itself is won by
    the better place, which looks like progress and is none.

    Bad:

        // puffer: players 2 alike
        env->observations[4 * i] = env->ball_x - env->x[0];         // for both: the first one's
        if (lost == 0) env->rewards[0] = -1.0f;                     // the second one never pays

    Good:

        env->observations[4 * i] = env->ball_x - env->x[i];
        env->rewards[lost] = -1.0f;

    Fix: compute everything that agent i sees and earns from i, as seen from its own side.

    How it is seen: many envs play at random. What an agent is paid, how often it gains and pays,
    and each element of its row have the same mean in all rows, up to chance and a quarter of their
    own size. An element that never changes, such as a number of the agent, may differ. Where one
    agent alone wins the same, others pay alike. Where two see the same and act alike, it is not
    always the same one that is paid more. Two rows that are always equal do not tell which of
    the two did what.
    """


def tested(facts: Facts) -> alike.Alike | None:
    """What is declared, where places were compared; None where nothing is."""
    said = alike.declared(facts.source.files)
    if said is None:
        return None
    if said.players != facts.shape.env_agents:
        raise NotTested(f"{said.players} players are declared to be alike, and the env has "
                        f"{facts.shape.env_agents}")
    need(facts, "places")
    return said


def places(facts: Facts) -> list[Fact]:
    """Quantities that depend on the row, the clearest first."""
    found = [fact for fact in facts.all("places", PlaceFact) if abs(fact.t) >= LEVEL
             and abs(fact.mean - fact.others) >= SHARE * fact.scale]
    return sorted(found, key=lambda fact: -abs(fact.t))


def finding(facts: Facts, said: alike.Alike, message: str, **more) -> Finding:
    """At the declaration, unless told otherwise."""
    return Finding("PUF410", message, **{"file": said.file, "line": said.line,
                                         "seed": facts.seed, "seen_in": "places", **more})
