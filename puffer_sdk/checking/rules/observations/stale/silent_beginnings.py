"""PUF302: steps that begin an episode, and write no observation."""
from ....core.vocabulary import Facts, Finding, Findings, RowFact, Shows, detector, enough, most
from ...episodes.no_reset.known import is_not_reset, is_reset_late
from .writes import BEFORE, writes_whole, written


@detector("PUF302", "silent-beginnings", unless=(*BEFORE, "silent-rows"))
def silent_beginnings(facts: Facts) -> Findings:
    """A step writes whole rows, and nothing where an agent comes or ends its episode alone."""
    rows = written(facts, RowFact)
    for r in rows:
        if not writes_whole(r):
            continue
        alone = r.blank_own if most(r.blank_own, r.own) and most(r.resumed, r.blank_own) else 0
        for blank, every, what in ((r.blank_came, r.came, f"agent {r.agent} comes"),
                                   (alone, r.own, f"agent {r.agent} alone ends its episode")):
            if enough(blank):
                yield Finding("PUF302", f"on {blank} of {every} steps on which {what}, its "
                                        "observation is not written", **facts.at("c_step"),
                              agent=r.agent, seed=facts.seed, seen_in="rewrite",
                              expected="the first one of the new episode",
                              actual="what the row held before",
                              hint="observe after agents have come or begun anew, not before")
                return


@detector("PUF302", "silent-endings", unless=(*BEFORE, "silent-rows"))
def silent_endings(facts: Facts) -> Findings:
    """A step writes whole rows, and nothing where it resets the env."""
    rows = written(facts, RowFact)
    blank = [r for r in rows if writes_whole(r) and enough(r.ends) and r.blank_ends == r.ends]
    if not blank or is_not_reset(facts) or is_reset_late(facts):
        return                      # PUF401 says more
    yield Finding("PUF302", f"on all of {blank[0].ends} endings the observation is not "
                            "written: it still shows the episode that ended",
                  **facts.at("c_step"), agent=None if len(blank) == len(rows) else
                  blank[0].agent, expected="the first observation of the next episode",
                  actual="the one before the ending", seed=facts.seed, seen_in="rewrite",
                  shows=Shows("written-on-end"),
                  hint="observe at the end of c_reset, and call c_reset(env) on an ending")
