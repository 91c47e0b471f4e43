"""The page of PUF409, and what its detectors share."""
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from ....core.vocabulary import AnswerFact, Facts, Finding, NotTested, family, most, need

MOMENTS = 12            # at which a row must have answered, or all crossed rows together


@family("PUF409", "rows-crossed", "warning")
def rows_crossed() -> None:
    """One agent's data stands in another agent's row: its action moves the other, or the other gets
    its view, its reward or its terminal.

    Why it ruins training: the trainer learns from each row by itself. A policy whose actions change
    only another row is paid at random, and learns nothing, although the game runs and the rewards
    look right on average. The usual cause is an index: actions that are read as heads x agents, a
    loop over a sorted or compacted list, an `i` where `j` was meant.

    Bad:

        int turn = (int)env->actions[i];                            // of 2 heads
        int fire = (int)env->actions[env->num_agents + i];
        env->rewards[n++] = paid;                                   // n counts the living

    Good:

        int turn = (int)env->actions[2 * i];                        // agents x heads
        int fire = (int)env->actions[2 * i + 1];
        env->rewards[i] = paid;

    Fix: let agent i have row i of all arrays: actions, observations, rewards, terminals.

    How it is seen: at many moments, one head of one agent gets another value for one step; all
    other actions and random numbers stay the same. Within 8 steps the agent's own observation,
    reward or terminal should differ. It is reported if those of one other row do instead, for
    several agents, in a circle.
    """


class Row(Protocol):
    """What a row answered to an agent's choices."""

    @property
    def row(self) -> int: ...

    @property
    def tested(self) -> int: ...        # moments


AnyRow = TypeVar("AnyRow", bound=Row)


@dataclass
class Paid:
    """A Row of which only the rewards count."""

    row: int
    paid: int = 0
    tested: int = 0


class Edge(NamedTuple):
    """An agent to whose choice another row answers."""

    agent: int
    row: int
    times: int          # moments at which that row answered
    own: int            # at which its own did
    tested: int


def answers(facts: Facts) -> dict[tuple[int, int], list[AnswerFact]]:
    """(agent, head) -> what each row answered."""
    if facts.shape.env_agents == 1:
        return {}
    need(facts, "crossed")
    found: dict[tuple[int, int], list[AnswerFact]] = {}
    for fact in facts.all("crossed", AnswerFact):
        found.setdefault((fact.agent, fact.head), []).append(fact)
    if not any(row.tested >= MOMENTS for rows in found.values() for row in rows):
        raise NotTested("too few moments were tried")
    return found


def is_own(agent: int, rows: Iterable[AnyRow], count: Callable[[AnyRow], int]) -> bool:
    """Whether the agent's own row answers as often as matters."""
    return any(row.row == agent and count(row) >= MOMENTS for row in rows)


def pooled(found: dict[tuple[int, int], list[AnswerFact]]) -> dict[int, list[Paid]]:
    """Agent -> what each row was paid otherwise, for all of its heads together."""
    sums: dict[int, dict[int, Paid]] = {}
    for (agent, _), rows in found.items():
        tested = max(row.tested for row in rows)
        of_agent = sums.setdefault(agent, {})
        for row in rows:
            one = of_agent.setdefault(row.row, Paid(row.row))
            one.paid += row.paid
        for one in of_agent.values():
            one.tested += tested
    return {agent: list(rows.values()) for agent, rows in sums.items()}


def other_row(agent: int, rows: list[AnyRow], count: Callable[[AnyRow], int], least: int = MOMENTS
              ) -> Edge | None:
    """The one row that answers instead of the agent's own, if there is one."""
    ranked = sorted((row for row in rows if row.row != agent), key=count, reverse=True)
    if not ranked or count(ranked[0]) < least:
        return None
    best, own = ranked[0], sum(count(row) for row in rows if row.row == agent)
    times, rest = count(best), max(map(count, ranked[1:]), default=0)
    if not most(times, times + own) or not most(times, times + rest):
        return None
    return Edge(agent, best.row, times, own, best.tested)


def circle(edges: Iterable[Edge], tried: set[int]) -> list[Edge]:
    """Edges that form circles: the others may be agents that serve another one. Rows whose agents
    were not tried count as part of a circle."""
    kept = list(edges)
    while True:
        from_here = {edge.agent for edge in kept}
        left = [edge for edge in kept if edge.row in from_here or edge.row not in tried]
        if len(left) == len(kept):
            return kept if len(from_here) > 1 else []
        kept = left


def finding(facts: Facts, edges: list[Edge], message: str, actual: str, hint: str,
            array: str) -> Finding:
    """One for all of them. message, actual: of the first, with {agent}, {row}, {times}, ...; it
    points to where c_step uses that array."""
    first, pairs = edges[0], sorted({(edge.agent, edge.row) for edge in edges})
    told = ", ".join(f"{agent} -> {row}" for agent, row in pairs)
    return Finding("PUF409", message.format(**first._asdict()), **facts.at_row(array),
                   agent=first.agent, expected=f"row {first.agent}",
                   actual=f"{actual.format(**first._asdict())}; in all: {told}", seed=facts.seed,
                   seen_in="crossed", hint=hint)
