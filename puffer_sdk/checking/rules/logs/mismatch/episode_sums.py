"""PUF422: returns and lengths that are not those of the episodes."""
from ....collect.c.source import counters, logging
from ....core.vocabulary import (
    EntriesFact,
    Facts,
    Finding,
    Findings,
    NotTested,
    Shows,
    detector,
    enough,
    finds,
    present,
)
from ...episodes.crossed.nobody import nobody
from ...episodes.crossed.rewards import rewards
from ...episodes.no_reset.known import is_reset_late
from .log_mismatch import entries

RARE = 0.02         # of entries: what has a cause of its own


@detector("PUF422", "sums", unless=("uncounted",))
def sums(facts: Facts) -> Findings:
    """Log.episode_return or episode_length are not what was paid, or how many steps were made."""
    entries(facts)
    judged = {fact.name: fact for fact in facts.all("run", EntriesFact)}
    tested, unclear = 0, False
    for name in ("episode_return", "episode_length"):
        fact = judged.get(name)
        if fact is None or not enough(fact.judged) or (
                fact.low == fact.high == 0 and not logging.may_fill(facts.source, name, None)):
            continue                    # nobody fills it: PUF423's
        tested += 1
        if name == "episode_length" and fact.lag >= 0 and is_reset_late(facts):
            unclear = enough(fact.judged - fact.matched) and fact.lag != 1
            continue                    # the step between two episodes may count for either
        wrong = fact.judged - fact.matched
        if _is_in_frames(facts, name, fact) or _waits_between(name, fact) or \
                _is_cut_short(name, fact):
            continue
        if enough(wrong) and wrong > RARE * fact.judged:
            if present(facts.spec).has_max_agents:
                raise NotTested("agents may move to other rows when num_agents changes")
            if name == "episode_return" and (finds(nobody, facts) or finds(rewards, facts)):
                raise NotTested("rewards are paid to rows of others", "PUF409")
            yield _mismatch(facts, name, fact, wrong)
    if unclear:
        raise NotTested("lengths: the env resets one step late", "PUF401")
    if not tested:
        raise NotTested("nothing fills Log.episode_return or Log.episode_length")


def _mismatch(facts: Facts, name: str, fact: EntriesFact, wrong: int) -> Finding:
    what = "the rewards add up to" if name == "episode_return" else "the steps made are"
    share = "every entry" if wrong == fact.judged else f"{wrong} of {fact.judged} entries"
    if name == "episode_length":
        hint = "it is off by one: count the step before the entry is made" \
            if fact.lag == 1.0 else \
            "count each step once; back to 0 in c_reset, and only where an episode ends"
    else:
        hint = "add every reward, the last one too, before the entry is made; back to 0 " \
               "in c_reset, and only where an episode ends"
    return Finding("PUF422", f"Log.{name} is wrong in {share}: {what} {fact.measured:g}",
                   **facts.at_store(name), env=fact.env, step=fact.step, element=name,
                   expected=f"{fact.measured:g}", actual=f"{fact.logged:g}",
                   seed=facts.seed, hint=hint, seen_in="run", shows=Shows(field=name))


def _is_in_frames(facts: Facts, name: str, fact: EntriesFact) -> bool:
    """A length of k frames for each step, where a loop of k passes counts it."""
    if name != "episode_length" or fact.skip <= 1:
        return False
    settings = facts.config.env if facts.config else {}
    for end in counters.ends(facts.source, name):
        passes = end.value if end.value is not None else settings.get(end.bare().name)
        if passes is None or float(passes) == fact.skip:
            return True
    return False


def _waits_between(name: str, fact: EntriesFact) -> bool:
    """Lengths that lack the same few steps each time: an agent waits before it is back."""
    return name == "episode_length" and fact.lag > 1 and fact.low < fact.high


def _is_cut_short(name: str, fact: EntriesFact) -> bool:
    """`if (lost || ++tick >= limit)`: some endings miss one step, the others are right."""
    return name == "episode_length" and fact.lag == 1 and fact.matched > RARE * fact.judged
