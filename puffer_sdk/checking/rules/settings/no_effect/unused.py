"""PUF113: settings of which another value gives the same game."""
from ....core.vocabulary import Facts, Finding, Findings, NotTested, RunFact, detector, explained_by
from ...contract.contract_rules import ini_place
from ...memory.memory import unsound
from ..variants import played


@detector("PUF113", "unused")
@explained_by(unsound)
def unused(facts: Facts) -> Findings:
    """Another value gives the same game, although nothing reads the key's field in steps."""
    played(facts)
    run = facts.fact("run", RunFact)
    if facts.without_effect and (not run or not run.rewards):
        raise NotTested("no reward was seen: a key may be about one")
    unreached = []
    for key in facts.without_effect:
        if key == "num_agents":         # stated for the reader; init has the last word
            continue
        if facts.source.is_only_read(key):
            unreached.append(key)
            continue
        if facts.source.is_only_drawn(key):
            continue
        tried = sorted({v.value for v in facts.variants if v.key == key})
        yield Finding("PUF113", f"[env] {key} changes nothing", **ini_place(facts, key),
                      expected="another game under another value",
                      actual=f"the same game under {', '.join(f'{v:g}' for v in tried)}",
                      seed=facts.seed, hint="is a constant used in its place?")
    if unreached:
        raise NotTested(f"c_step reads {', '.join(unreached)}, and random play never got where "
                        "that matters")
