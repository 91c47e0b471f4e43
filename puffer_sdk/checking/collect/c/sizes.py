"""What experiments cost, and how long each may be.  the probe's facts -> Sizes

Lengths depend on sizes and on the cost of a step in coarse classes, never on the exact time:
two checks of the same source see the same steps.
"""
import math
from dataclasses import dataclass

CHEAP = 5e-7            # seconds of a step of one env, below which nothing is shortened
OVERTIME = 4            # times the seconds of an experiment that its least steps may take
FEWEST = 16             # steps, whatever they cost


@dataclass
class Sizes:
    """What experiments cost: one env's row, and one step of it."""

    agents: int             # of the smallest tiling
    cells: int              # observation elements of one env
    row_bytes: int
    seconds: float          # of a step, in classes of a factor of four
    reset_seconds: float    # of a reset, likewise
    init_seconds: float     # of an init, likewise
    budget: float           # the user's factor on every length

    def envs(self, most: int, cells: int = 1 << 15) -> int:
        return max(2, min(most, cells // max(self.cells, 1)))

    @property
    def resets(self) -> int:
        """A power of two, for a tenth of a second: 256, or 16 where a reset takes 2 ms."""
        fitting = max(16.0, min(256.0, 0.05 / self.reset_seconds))
        return 1 << int(math.log2(fitting))

    def steps(self, envs: int, wanted: float, seconds: float = 1.0, *, least: int = 64,
              touched: float = 0.0, slower: float = 1.0) -> int:
        """As many steps as wanted, or as fit: `touched` ns for each observation element.

        least   as many at least, unless they take several times the seconds
        """
        each = envs * (self.seconds * slower + 1e-9 * touched * self.cells)
        fewest = max(FEWEST, min(least, OVERTIME * seconds / each))
        fitting = max(fewest, min(wanted, seconds / each) * self.budget)
        return 1 << int(math.log2(fitting))


def cost_class(seconds: float | None) -> float:
    """Seconds of a step (or reset), rounded up to CHEAP times a power of four; of None, CHEAP."""
    return CHEAP * 4.0 ** max(math.ceil(math.log((seconds or CHEAP) / CHEAP, 4) - 0.25), 0)
