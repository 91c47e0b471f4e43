"""PUF502: runs that no seed changes."""
from collections.abc import Iterator

from ....collect.c.source import generators
from ....collect.c.source.model import Source
from ....core.fact_kinds import DrawsFact
from ....core.vocabulary import Facts, Finding, Findings, NotTested, detector, explained_by, need
from .seed_ignored import SEEDING, explained, seeded_from

PLAYING = ("init", "my_init", "my_vec_init", "c_reset", "c_step")


@detector("PUF502", "one-run", unless=("one-game",))
@explained_by(explained)
def one_run(facts: Facts) -> Findings:
    """Another seed gives the same run, although random numbers are drawn."""
    need(facts, "trace-base", "trace-seeded")
    base, other = facts.traces["trace-base"], facts.traces["trace-seeded"]
    if base.shape != other.shape or (base != other).any():
        return
    if not facts.has_rng:
        raise NotTested("my_vec_init seeds the envs, and no rng is there for another seed")
    # generators that moved in nearly every episode, and always through the same numbers
    moving = [(one.hash, other.hash) for one, other in zip(
        facts.all("trace-base", DrawsFact), facts.all("trace-seeded", DrawsFact), strict=True)
        if one.moves > base.shape[1]]
    seeded = list(_reseeding(facts.source))
    file, line = seeded[0][1:] if seeded else (None, None)
    fixed = moving and all(one == other for one, other in moving) and \
        generators.are_drawn_from(facts.source)         # and no hashes of a board
    fixed = fixed or any(value is not None for value, *_ in seeded)
    if not fixed and not (line and any(call.name in generators.DICE
                                       for call in facts.source.calls(*PLAYING))):
        raise NotTested("no random number is drawn: a game without chance needs no seed")
    place = {"file": file, "line": line} if line else facts.at("c_reset")
    made_of = ", ".join(f"env->{name}" for name in seeded_from(facts.source))
    yield Finding("PUF502", "different seeds give the same run", **place, seed=facts.seed,
                  seen_in="trace-seeded", expected="another game for another seed",
                  actual=f"the same {len(base) - 1} steps of {base.shape[1]} envs",
                  hint=f"c_reset makes its seed of {made_of}: draw from env->rng instead"
                  if made_of else "env->rng is seeded before init: do not set it")


def _reseeding(source: Source) -> Iterator[tuple[int | float | None, str, int]]:
    """(the number or None, file, line) where a generator is set to something that is not made from
    its state."""
    for function in source.reach(*PLAYING):
        for node in function.nodes:
            if node.kind == "call" and node.name in SEEDING:
                yield None, function.file, node.line
            elif node.op == "=" and source.is_field(node.children[0], "rng") and not any(
                    source.is_field(inner, "rng") for inner in node.children[1].walk()):
                yield node.children[1].value, function.file, node.line
