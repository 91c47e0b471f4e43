"""Does what an agent chooses change anything?  Desk -> Effects

A play is repeated from its seed with one value of a head replaced by another wherever it was
chosen, or a whole head by other values. Where both plays agree to the last bit, that value was
never different.
"""
from .acting import STICKY, UNIFORM, Swap
from .clock import Stopwatch
from .playing import Desk, Player
from .python_facts import Effect, Skipped
from .traces import Seen, reseed, seen_of, step_difference

PLAYS = 8               # seeds, at most
SHARE = 64              # of the long play: steps of each
LONGEST = 128
WIDEST = 18             # values of a head that are all compared with each other
PATIENCE = 2.0          # seconds for all of it


class _Bench:
    """One environment that plays the same seeds again and again."""

    def __init__(self, desk: Desk):
        self.desk, self.player = desk, Player(desk)
        self.length = max(8, min(LONGEST, desk.unit // SHARE))
        self.bases: dict[int, list[Seen]] = {}
        self.watch = Stopwatch()

    def play(self, index: int, swap: Swap | None, against: list[Seen] | None = None
             ) -> tuple[list[Seen], int, str]:
        """(trace, replaced choices, the array that differs from `against` or "")"""
        reseed()
        actor = self.player.actor(8, index, style=(UNIFORM, STICKY)[index % 2], swap=swap)
        self.player.reset(self.desk.seed + 17 * index)
        found = []
        for step in range(self.length):
            turn = self.player.step(actor.choose(self.player.living, self.player.masks))
            seen = seen_of(self.player, turn)
            found.append(seen)
            other = step_difference(against[step], seen) if against is not None else None
            if other:
                return found, actor.swapped, other.array
            if turn.over:
                self.player.reset()
        return found, actor.swapped, ""

    def ask(self, swap: Swap) -> Effect | None:
        """None where there was no time left."""
        moments = 0
        for index in range(PLAYS):
            if self.watch.seconds > PATIENCE:
                return None
            if index not in self.bases:
                self.bases[index] = self.play(index, None)[0]
            _, swapped, differs = self.play(index, swap, self.bases[index])
            moments += swapped
            if differs:
                return Effect(swap.head, swap.value, swap.other, moments, True,
                              str(swap.agent or ""), differs)
        return Effect(swap.head, swap.value, swap.other, moments, False, str(swap.agent or ""))


def effects(desk: Desk) -> None:
    """Sends an Effect for each question that was asked."""
    bench = _Bench(desk)
    sizes, agents = bench.player.plan.sizes, bench.player.agents
    questions = [Swap(head) for head in range(len(sizes))]
    if len(agents) > 1:
        questions += [Swap(-1, agent=agent) for agent in agents[:16]]
    silent = set()
    for swap in questions:
        found = bench.ask(swap)
        if found is None:
            break
        desk.put(found)
        if not found.differs:
            silent.add(found.head)
    complete = _pairs(desk, bench, silent)
    bench.player.close()
    if not complete:
        desk.put(Skipped("effects", "there was no time to compare all action values"))


def _pairs(desk: Desk, bench: _Bench, silent: set[int]) -> bool:
    """Each pair of values of a head; a value that equals one before it is not asked again."""
    for head, width in enumerate(bench.player.plan.sizes):
        if width == 1 or head in silent:
            continue
        same: set[int] = set()
        for value in range(width):
            for other in range(value) if width <= WIDEST else {0, value - 1} - {value, -1}:
                if other in same:
                    continue
                found = bench.ask(Swap(head, value, other))
                if found is None:
                    return False
                desk.put(found)
                if not found.differs:
                    same.add(value)
                    break
    return True
