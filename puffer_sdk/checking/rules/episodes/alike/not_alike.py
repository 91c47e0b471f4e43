"""The page of PUF410, and what its detectors share."""
from __future__ import annotations

from typing import TYPE_CHECKING

from ....collect.c import alike
from ....core.vocabulary import Details, Facts, Finding, NotTested, PlaceFact, family, need

if TYPE_CHECKING:
    from typing_extensions import Unpack

LEVEL = 6.0             # errors between two means: none of thousands of elements by chance
SHARE = 0.25            # of the quantity's own size: who moves first may gain a little


@family("PUF410", "not-alike", "warning")
def not_alike() -> None:
    """Agents that are declared to be alike have different rewards or observations. Only games that
    declare it are checked: write `// puffer: players 2 alike` in the header.

    Why it ruins training: one policy plays all rows. What it learns in one row is wrong in another
    with other rewards or another view. In self-play the agent in the better row wins, which looks
    like progress and is not.

    Bad:

        // puffer: players 2 alike
        env->observations[4 * i] = env->ball_x - env->x[0];         // for both: the first one's
        if (lost == 0) env->rewards[0] = -1.0f;                     // the second one never pays

    Good:

        env->observations[4 * i] = env->ball_x - env->x[i];
        env->rewards[lost] = -1.0f;

    Fix: compute everything that agent i sees and earns from i, as seen from its own side.

    How it is seen: many envs play at random. An agent's reward, how often it is positive and
    negative, and each element of its row must have the same mean in all rows, up to chance and a
    quarter of their own size. An element that never changes, such as the agent's number, may
    differ. Wins of the same size must cost the others the same. Of two agents that see the same and
    act alike, not always the same one may be paid more. Two rows that are always equal must not
    depend on which of the two agents did what.
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


def places(facts: Facts) -> list[PlaceFact]:
    """Quantities that depend on the row, the clearest first."""
    found = [fact for fact in facts.all("places", PlaceFact) if abs(fact.t) >= LEVEL
             and abs(fact.mean - fact.others) >= SHARE * fact.scale]
    return sorted(found, key=lambda fact: -abs(fact.t))


def finding(facts: Facts, said: alike.Alike, message: str, **more: Unpack[Details]) -> Finding:
    """At the declaration, unless `more` has another place."""
    told: Details = {"file": said.file, "line": said.line, "seed": facts.seed, "seen_in": "places",
                     **more}
    return Finding("PUF410", message, **told)
