"""PUF502: episodes that are one game."""
from ....core.fact_kinds import AgainFact, EndingsFact
from ....core.vocabulary import (
    Facts,
    FileLine,
    Finding,
    Findings,
    detector,
    enough,
    explained_by,
    half,
)
from .seed_ignored import SEEDING, begins_without_reset, explained


@detector("PUF502", "one-game")
@explained_by(explained, begins_without_reset)
def one_game(facts: Facts) -> Findings:
    """Every episode of an env is the same game, and other envs play others."""
    again = facts.fact("again", AgainFact)
    place, seed = _put_back(facts)
    endings = facts.fact("audit", EndingsFact)
    drawn = seed or (endings and endings.draws)     # else the game was made once, in init
    if again and again.kept == again.envs and enough(again.envs) and half(
            again.others, again.envs) and drawn:
        yield Finding("PUF502", "every episode of an env is the same game, other envs play others",
                      **(place or facts.at("c_reset")), seed=facts.seed, seen_in="again",
                      expected="another game after c_reset",
                      actual=f"c_reset makes the generator's state of {seed}" if seed else
                      "the same one each time, by the same actions",
                      hint="let the generator go on from episode to episode: do not set env->rng")


def _put_back(facts: Facts) -> tuple[FileLine, str]:
    """Where c_reset computes the generator's state from the author's fields, and from which."""
    for function in facts.source.reach("c_reset"):
        for node in function.nodes:
            value = None
            if node.op == "=" and node.children[0].bare().name == "rng":
                value = node.children[1].bare()
            elif node.kind == "call" and node.name in SEEDING:
                value = node.arguments[0].bare()
            made_of = [] if value is None else list(dict.fromkeys(
                inner.name for inner in value.walk() if inner.kind == "member"))
            if made_of and "rng" not in made_of:
                return {"file": function.file, "line": node.line}, ", ".join(
                    f"env->{name}" for name in made_of)
    return {}, ""
