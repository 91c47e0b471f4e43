"""PUF401: episodes that go on after their ending."""
from ....core.vocabulary import Facts, Findings, detector, enough, half
from .no_reset import endings, finding


@detector("PUF401", "goes-on", unless=("frozen", "late"))
def goes_on(facts: Facts) -> Findings:
    """After an ending the same episode goes on, or the next step is an ending as well."""
    fact = endings(facts)
    draws_tell = fact.draws in (0, fact.resets)   # c_reset draws always, or never
    kept, stayed = fact.kept, fact.stayed
    repeats = fact.stayed_next + fact.grown
    by_draws = enough(kept) and (draws_tell or half(kept, fact.endings))
    chance_tells = draws_tell and fact.draws and not half(fact.noisy, fact.plain)
    by_repeats = not chance_tells and enough(stayed) and half(repeats, stayed)
    by_calls = enough(stayed) and enough(fact.called)      # some endings call c_reset, these do not
    if by_calls or (not fact.called and (by_draws or by_repeats)):
        count = kept if by_draws else stayed
        how = "every ending" if count == fact.endings else \
            f"{count} of {fact.endings} endings"
        actual = "the next step is an ending as well" if half(fact.stayed_next, stayed) \
            else "the same episode goes on"
        yield finding(facts, fact, f"after {how} the env is not reset",
                      expected="the first observation of a new episode", actual=actual,
                      hint="call c_reset(env) in c_step when the episode has ended")
