"""PUF305: things of a list that are always the same."""
import numpy as np

from .....env.obs_spec import ObsField
from ....core.vocabulary import Facts, Findings, Statistics, detector, span
from .obs_constant import observed
from .still import always

SEEN = 100          # rows of a sample in which a thing is there


@detector("PUF305", "same-things", unless=("whole",))
def same_things(facts: Facts) -> Findings:
    """An entry of a declared list is present and never changes, such as the agent itself."""
    stats = observed(facts)
    for part in facts.row.described:
        for first, last in _same(stats, part):
            yield always(facts, span(first, last))


def _same(stats: Statistics, part: ObsField) -> list[tuple[int, int]]:
    """Entries that are present and never change, while others of the list do."""
    if part.kind != "list" or part.mask is None or not part.fits or part.shape[1] == 1:
        return []
    places = part.first + np.arange(part.count).reshape(part.shape)
    there = (stats.rows[:, places[:, part.mask]] != 0).sum(axis=0)
    numbers = np.delete(places, part.mask, axis=1)
    still = (stats.low == stats.high)[numbers]
    if still.all(axis=0).any():         # a number that no thing of the list ever shows
        return []
    return [(int(numbers[i].min()), int(numbers[i].max()))
            for i in range(len(numbers)) if there[i] >= SEEN and still[i].all()]
