"""PUF302: steps that begin an episode, and write no observation."""
from __future__ import annotations

from ....core.facts import Facts
from ....core.finding import Finding
from ....core.registry import detector
from ....core.repro_spec import Shows
from ...episodes.no_reset.known import is_not_reset, is_reset_late
from .writes import BEFORE, written


@detector("PUF302", "silent-beginnings", unless=(*BEFORE, "silent-rows"))
def silent_beginnings(facts: Facts):
    """A step writes whole rows, and nothing where an agent comes or ends its episode alone."""
    rows = written(facts)
    for r in rows:
        if not r.full or r.full + r.blank < 0.9 * r.steps:
            continue
        alone = r.blank_own if r.blank_own >= 0.9 * r.own and r.resumed >= 0.9 * r.blank_own else 0
        for blank, every, what in ((r.blank_came, r.came, f"agent {r.agent} comes"),
                                   (alone, r.own, f"agent {r.agent} alone ends its episode")):
            if blank >= 3:
                yield Finding("PUF302", f"on {blank} of {every} steps on which {what}, its "
                                        "observation is not written", **facts.at("c_step"),
                              agent=r.agent, seed=facts.seed, seen_in="rewrite",
                              expected="the first one of the new episode",
                              actual="what the row held before",
                              hint="observe after agents have come or begun anew, not before")
                return


@detector("PUF302", "silent-endings", unless=(*BEFORE, "silent-rows"))
def silent_endings(facts: Facts):
    """A step writes whole rows, and nothing where it resets the env."""
    rows = written(facts)
    full = [r for r in rows if r.steps and r.full + r.blank >= 0.9 * r.steps
            and r.full > 0]
    blank = [r for r in full if r.ends >= 3 and r.blank_ends == r.ends]
    if not blank or is_not_reset(facts) or is_reset_late(facts):
        return                      # PUF401 says more
    yield Finding("PUF302", f"on all of {blank[0].ends} endings the observation is not "
                            "written: it still shows the episode that ended",
                  **facts.at("c_step"), agent=None if len(blank) == len(rows) else
                  blank[0].agent, expected="the first observation of the next episode",
                  actual="the one before the ending", seed=facts.seed, seen_in="rewrite",
                  shows=Shows("written-on-end"),
                  hint="observe at the end of c_reset, and call c_reset(env) on an ending")
