"""Statistics of the long run, as numbers and as a table.  Facts -> Statistics

The harness writes a file: exact ranges of every element over the whole run, and a
sample of rows, rewards, returns and episode lengths from which means and histograms follow.
"""
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, TypedDict

import numpy as np
from numpy.typing import NDArray

from ...base.documents import says
from ...base.spec import OBS_NAMES
from ...env.obs_spec import ObsField
from .fact_kinds import KeptFact, RunFact, SampleFact
from .kinds import Fact

BINS = 16
NAN = float("nan")
MOST_ROWS = 64          # elements that are listed one by one
COMPACT = 12            # lines of a table that is printed unasked
BLOCKS = " ▁▂▃▄▅▆▇█"
ASCII = " .:-=+*#@"


class QuantityRow(TypedDict):
    """A quantity of the long run, rounded; null: no finite number."""

    name: Annotated[str, says("of the field, or reward, return, length")]
    element: Annotated[int | str | None, says("of the observation, or a range of them")]
    low: Annotated[float | None, says("over the whole run")]
    high: Annotated[float | None, says("over the whole run")]
    mean: Annotated[float | None, says("of a sample")]
    zeros: Annotated[float, says("share that is 0, from 0 to 1")]
    histogram: Annotated[list[int], says(f"{BINS} counts, from low to high, of a sample")]


@dataclass
class Quantity:
    """A line of the table: an element or a field of the observation, or a reward."""

    name: str
    low: float              # over the whole run
    high: float
    mean: float             # of the sample
    zeros: float            # share in [0, 1]
    histogram: list[int]    # (BINS) from low to high, of the sample
    element: int | str | None = None

    def to_dict(self) -> QuantityRow:
        # Rounded down from 1, so that a single reward among millions is not "always zero"
        zeros = 1.0 if self.zeros == 1 else min(_round(self.zeros) or 0.0, 0.999999)
        return {"name": self.name, "element": self.element, "low": _round(self.low),
                "high": _round(self.high), "mean": _round(self.mean), "zeros": zeros,
                "histogram": self.histogram}


@dataclass
class Statistics:
    """Of one run. low, high: (D) exact; rows: (S, D) a sample of observations, each the row of
    agents[i]: (S)."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    rows: NDArray[np.generic]
    agents: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    quantities: list[Quantity] = field(default_factory=list)

    def to_dict(self) -> list[QuantityRow]:
        return [quantity.to_dict() for quantity in self.quantities]


def read(path: Path, facts: list[Fact], dtype: str, obs_size: int, parts: Sequence[ObsField],
         agent_steps: int) -> Statistics | None:
    """The file of a run and the facts that tell its layout; None where the run did not end.

    agent_steps     of the run: rewards that were zero are counted, not kept
    """
    kept = next((f for f in facts if isinstance(f, KeptFact)), None)
    if kept is None or not path.is_file():
        return None
    kind = np.dtype(OBS_NAMES[dtype])
    samples = [f for f in facts if isinstance(f, SampleFact)]
    D, S = obs_size, kept.rows
    data = path.read_bytes()
    owners = 8 * D + S * D * kind.itemsize
    at = owners + 4 * S
    if len(data) < at + 8 * sum(sample.count for sample in samples):
        return None
    low, high = np.frombuffer(data, np.float32, 2 * D).astype(float).reshape(2, D)
    rows = np.frombuffer(data, kind, S * D, 8 * D).reshape(S, D)
    stats = Statistics(low, high, rows, np.frombuffer(data, np.int32, S, owners))
    stats.quantities = _of_observations(stats, parts)
    observed = len(stats.quantities)
    for fact in samples:
        values = np.frombuffer(data[at:at + 8 * fact.count], np.float64)
        at += 8 * fact.count
        total = agent_steps if fact.name == "reward" else fact.seen
        stats.quantities.append(_of_sample(fact, values, max(total, fact.seen)))
    if not any(sample.name == "reward" for sample in samples):
        paid = next((f.rewards for f in facts if isinstance(f, RunFact)), 0)
        stats.quantities.insert(observed, _unsampled_reward(paid, agent_steps))
    return stats


def _of_observations(stats: Statistics, parts: Sequence[ObsField]) -> list[Quantity]:
    size = len(stats.low)
    groups: list[tuple[str, int, int]] = []
    if parts:
        at = 0
        for one in parts:                   # elements between the parts only have numbers
            if one.first > at:
                groups.append((_numbers(at, one.first - 1), at, one.first - 1))
            groups.append((one.name, one.first, one.last))
            at = one.last + 1
        if at < size:
            groups.append((_numbers(at, size - 1), at, size - 1))
    elif size <= MOST_ROWS:
        groups = [(f"obs[{i}]", i, i) for i in range(size)]
    else:
        groups = [(f"observation ({size})", 0, size - 1)]
    return [_of_elements(stats, *group) for group in groups]


def _numbers(first: int, last: int) -> str:
    return f"obs[{first}]" if first == last else f"obs[{first}-{last}]"


def _of_elements(stats: Statistics, name: str, first: int, last: int) -> Quantity:
    low, high = stats.low[first:last + 1].min(), stats.high[first:last + 1].max()
    values = stats.rows[:, first:last + 1].astype(float).ravel()
    values = values[np.isfinite(values)]
    where = first if first == last else f"{first}-{last}"
    if not low <= high:                                 # nothing but NaN
        return Quantity(name, NAN, NAN, NAN, 0.0, [0] * BINS, where)
    if not values.size:                                 # infinities: each an entry of one bin
        return Quantity(name, float(low), float(low + high), float(high), 0.0,
                        [len(stats.rows)] + [0] * (BINS - 1), where)
    return Quantity(name, float(low), float(high), float(values.mean()),
                    float((values == 0).mean()), _histogram(values, low, high), where)


def _of_sample(fact: SampleFact, values: NDArray[np.float64], total: int) -> Quantity:
    """Rewards of zero are not in the sample: they are counted in."""
    low, high, mean = fact.low, fact.high, fact.mean
    zeros = float((values == 0).mean()) if values.size else 0.0
    weight = 0
    if fact.name == "reward":
        zeros = 1.0 - fact.seen / total
        mean *= fact.seen / total
        if zeros > 0:
            low, high = min(low, 0.0), max(high, 0.0)
            weight = round(values.size * (total - fact.seen) / max(fact.seen, 1))
    histogram = _histogram(values, low, high)
    if weight:
        histogram[_bin(0.0, low, high)] += weight
    return Quantity(fact.name, low, high, mean, zeros, histogram)


def _unsampled_reward(paid: int, total: int) -> Quantity:
    """Of a run whose rewards were all zero, or (some paid) nothing else but not finite."""
    if paid:
        return Quantity("reward", NAN, NAN, NAN, max(0.0, 1.0 - paid / total), [0] * BINS)
    return Quantity("reward", 0.0, 0.0, 0.0, 1.0, [total] + [0] * (BINS - 1))


def _histogram(values: NDArray[np.float64], low: float, high: float) -> list[int]:
    if not low < high or not np.isfinite(high - low):
        return [int(values.size)] + [0] * (BINS - 1)
    return [int(count) for count in np.histogram(values, BINS, (low, high))[0]]


def _bin(value: float, low: float, high: float) -> int:
    return min(int((value - low) / (high - low) * BINS), BINS - 1) if high > low else 0


def _round(value: float) -> float | None:
    """Six digits, so that the document is the same everywhere; None for NaN and infinities."""
    return float(f"{value:.6g}") if np.isfinite(value) else None


def table(quantities: Sequence[QuantityRow], encoding: str | None = "utf-8") -> list[str]:
    """Aligned lines under a heading, a histogram at the end of each; quantities as to_dict()
    gives them. Blocks become ASCII where the encoding has none."""
    shades = BLOCKS
    try:
        BLOCKS.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        shades = ASCII
    heads = ("", "min", "mean", "max", "zero")
    rows: list[tuple[str, ...]] = [heads]
    for q in quantities:
        found = [q["low"], q["mean"], q["high"]]
        odd = "inf" if any(q["histogram"]) or found != [None] * 3 else "nan"
        numbers = [odd if number is None else f"{number:.4g}" for number in found]
        rows.append((q["name"], *numbers, _percent(q["zeros"])))
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    lines = []
    drawn = ["", *("  |" + bars(q["histogram"], shades) + "|" for q in quantities)]
    for row, drawing in zip(rows, drawn, strict=True):
        cells = [row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in range(1, 5))]
        lines.append("  " + "  ".join(cells) + drawing)
    return [line.rstrip() for line in lines]


def bars(histogram: list[int], shades: str = BLOCKS) -> str:
    """A character for each bin, as high as its share of the fullest; any count shows."""
    most = max(histogram) or 1
    top = len(shades) - 1
    return "".join(shades[0 if n == 0 else max(1, round(n / most * top))] for n in histogram)


def _percent(share: float) -> str:
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    return "<1%" if share < 0.01 else ">99%" if share > 0.99 else f"{share:.0%}"
