"""The page of PUF305, and what its detectors share."""
from ....core.fact_kinds import LeftFact, RunFact
from ....core.vocabulary import Facts, FileLine, NotTested, Statistics, family, needed
from ...episodes.at_once.over_at_once import episodes_seen

STEPS = 10_000      # of the run, below which a constant means little


@family("PUF305", "obs-constant", "warning")
def obs_constant() -> None:
    """An element of the observation, or all of it, never changes, in any env, in a whole long
    run.

    Why it ruins training: a constant carries no information. Where a field was meant, the
    agent lacks something that it needs: it runs, learns a little, and stays worse than
    it could be. An element that is cleared on every step and never set is a typical trace of an
    OBS_SIZE that is too large, or of a forgotten line.

    Bad:

        #define OBS_SIZE 4
        memset(obs, 0, OBS_SIZE * sizeof(float));
        obs[0] = x;  obs[1] = y;  obs[2] = speed;       // and obs[3]?

    Good:

        #define OBS_SIZE 3

    Fix: write what was forgotten, or lower OBS_SIZE. If it is meant, say so where the message
    points: // puffer: constant

    Also reported: an entry of a declared list that is present and never changes, such as the agent
    itself among the others; elements named in an enum (OBS_FUEL) that declare bounds, whatever
    their value; an element that stores a quotient of two integers, which is 0 until the first is as
    large as the second, also where it is multiplied: `waited / patience * 10`.

    Not reported: a single constant other than 0 (a bias), cells of a board of bytes, a class of a
    one-hot that never occurred, empty slots behind others of the same kind, what a line of c_step
    changes that the play never reached, a row as in `cell / width`, and the observation of an env
    whose episodes have one step.
    """


def observed(facts: Facts) -> Statistics:
    """Of a run that is long enough. Raises NotTested."""
    if needed(facts, "run", RunFact).steps < STEPS or facts.statistics is None:
        raise NotTested("the run was too short")
    return facts.statistics


def ends_at_once(facts: Facts) -> bool:
    """Whether each step is an episode."""
    lengths = episodes_seen(facts)
    return lengths is not None and lengths.high == 1


def at_constant(facts: Facts, element: int) -> FileLine:
    """Where it is named; else where it is stored to, or where the row's size is set."""
    stored = sorted({(function.file, target.line) for function in facts.source.stepping()
                     for target, _ in facts.source.stores(function)
                     if target.kind == "index" and target.children[1].value == element})
    return facts.at_element(element) or (
        {"file": stored[0][0], "line": stored[0][1]} if stored else
        facts.at_macro("OBS_SIZE") or facts.at("c_step"))


def untouched(facts: Facts) -> set[int]:
    """Elements that nothing ever writes: PUF301's."""
    return {c.element for c in facts.all("poison", LeftFact) if not c.touched}
