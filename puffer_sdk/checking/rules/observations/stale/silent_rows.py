"""PUF302: rows that no step writes."""
from ....core.vocabulary import Facts, Finding, Findings, LeftFact, RowFact, detector, half, ranges
from .writes import BEFORE, written

STEPS = 64          # of a row, that write it or not
CALM = 256          # of a row that was left alone
SELDOM, OFTEN = 0.001, 0.3      # of these, that changed it


@detector("PUF302", "silent-rows", unless=BEFORE)
def silent_rows(facts: Facts) -> Findings:
    """No step writes the observation of some agents, or of any although the state changes."""
    rows = written(facts, RowFact)
    silent, loud = _silent_and_loud(facts, rows)
    if silent and loud:
        yield from _some(facts, silent)
    elif rows and len(silent) == len(rows) and all(r.blank_moved > 0 for r in rows):
        yield Finding("PUF302", "no step writes the observation, although the state changes",
                      **facts.at("c_step"), env=rows[0].env, step=rows[0].step,
                      seed=facts.seed, seen_in="rewrite",
                      expected="an observation of the new state", actual="that of c_reset",
                      hint="observe at the end of c_step, too")


def _silent_and_loud(facts: Facts, rows: list[RowFact]) -> tuple[list[RowFact], list[RowFact]]:
    """Rows that no step writes, and rows that most steps write."""
    untouched = {c.agent for c in facts.all("poison", LeftFact) if not c.touched}
    blind = {r.agent for r in rows if r.agent % facts.told_agents in untouched}
    long = [r for r in rows if r.steps >= STEPS]
    silent = [r for r in long if r.blank == r.steps and r.agent not in blind]
    if silent:
        return silent, [r for r in long if not half(r.blank, r.steps)]
    # Poison confuses an env that reads its own rows: use the steps without it
    calm = [r for r in rows if r.calm >= CALM and r.agent not in blind]
    return ([r for r in calm if r.calm_changed <= SELDOM * r.calm],
            [r for r in calm if r.calm_changed > OFTEN * r.calm])


def _some(facts: Facts, silent: list[RowFact]) -> Findings:
    for first, last in ranges(r.agent for r in silent):
        many = f"agents {first}-{last}" if last > first else f"agent {first}"
        yield Finding("PUF302", f"no step ever writes the observation of {many}",
                      **facts.at("c_step"), agent=first, seed=facts.seed, seen_in="rewrite",
                      expected="rows of all agents written", actual="written only by c_reset",
                      hint="let the loop run to num_agents")
