"""A MutationResult for people: lines and their styles."""
from collections.abc import Iterator

from .mutant import FAULT, OPERATORS, RULE, RULE_CHANGES
from .mutation_score import MutationResult


def lines(result: MutationResult) -> Iterator[tuple[str, str | None]]:
    """A table of operators, the survivors with their diffs, then the rates."""
    tests = bool(result.test)
    head = f"{'mutants':<22}{'planted':>9}{'check':>8}" + (f"{'tests':>8}{'either':>8}"
                                                          if tests else "")
    yield head, "bold"
    for kind in (FAULT, RULE) if tests else (FAULT,):
        for name, row in result.operators().items():
            if (name in RULE_CHANGES) == (kind == RULE):
                yield _row(f"  {name}", row, tests), None
        yield _row(f"{kind}s", result.rates()[kind], tests), "bold"
    for outcome in result.survivors:
        mutant = outcome.mutant
        yield "", None
        yield (f"nobody noticed {mutant.id} ({mutant.kind}: it "
               f"{OPERATORS[mutant.operator]})"), "bold yellow"
        yield f"  --> {mutant.file}:{mutant.line}", None
        for number, text in enumerate(mutant.diff.splitlines()[2:]):
            if not text.startswith("@@"):
                yield f"  | {text}", {"-": "red", "+": "green"}.get(text[:1], "dim")
            elif number:
                yield "  ...", "dim"
    yield "", None
    faults = result.rates()[FAULT]
    yield (f"{result.name}: check caught {_share(faults['check'], faults['planted'])} of the "
           f"planted faults" + (f", the tests {_share(faults['tests'], faults['planted'])}"
                                if tests else "")
           + f", in {result.seconds:.0f} s"), "bold"
    if not tests:
        yield "  hint: to judge your own tests as well, name them: [check] test = pytest -q", "cyan"


def _row(name: str, row: dict[str, int], tests: bool) -> str:
    numbers = f"{name:<22}{row['planted']:>9}{row['check']:>8}"
    return numbers + (f"{row['tests']:>8}{row['either']:>8}" if tests else "")


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "none"
