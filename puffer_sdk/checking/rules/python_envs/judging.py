"""@judgement on a function of PythonFacts; and the findings of what is odd, and of what ended."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...collect.python.python_facts import CALLS, MADE, Oddity, PythonFacts
from ...core.finding import Finding
from .odd import ODD

ONCE = ("obs-rewritten", "info-rewritten")     # whichever call returned it
STRONGER = {"obs-reused": "obs-rewritten", "info-reused": "info-rewritten",
            "ending-class": "ending-value", "reward-class": "reward-type"}
ENDS = {"reset": "reset", "step": "step", "render": "render", "made": "__init__"}


@dataclass(frozen=True)
class Judgement:
    """codes: of its findings; needs: experiments that must have come to their end"""

    function: Callable[[PythonFacts], Iterator[Finding]]
    codes: tuple[str, ...]
    needs: tuple[str, ...]


known: list[Judgement] = []


def judgement(*codes: str, needs: tuple[str, ...] = ()):
    """Decorator: registers a function of PythonFacts that yields Findings of these rules."""
    def register(function):
        known.append(Judgement(function, codes, needs))
        return function
    return register


def agent_of(facts: PythonFacts, name: str) -> int | None:
    """The number of an agent, as findings have it."""
    if name and facts.shape and name in facts.shape.agents:
        return facts.shape.agents.index(name)
    return None


@judgement(*sorted({kind.code for kind in ODD.values()}))
def odd(facts: PythonFacts) -> Iterator[Finding]:
    """Each kind of oddity once for each part: of reset() and step() the first."""
    kinds = {each.kind for each in facts.oddities.values()}
    seen = set()
    for each in facts.oddities.values():
        what = "" if each.kind in ONCE else each.what
        if (each.kind, what) in seen or each.kind == "gymnasium-refuses" \
                or STRONGER.get(each.kind) in kinds:
            continue
        seen.add((each.kind, what))
        yield _finding(facts, each)


def _finding(facts: PythonFacts, each: Oddity) -> Finding:
    kind = ODD[each.kind]
    part = f"'{each.what}' of the observation" if each.what else "the observation"
    message = kind.message.format(what=each.what, when=each.when or "step", part=part)
    if each.agent:
        message += f" (agent {each.agent})"
    return Finding(kind.code, message, **facts.at(kind.at or ENDS.get(each.when, "step")),
                   agent=agent_of(facts, each.agent), step=each.step, element=each.element,
                   expected=each.expected, actual=each.actual, hint=kind.hint.format() or None,
                   severity=kind.severity)


@judgement("PUF101")
def refused(facts: PythonFacts) -> Iterator[Finding]:
    """Gymnasium's checker, where nothing of ours says what it says."""
    found = [each for each in facts.oddities.values() if each.kind == "gymnasium-refuses"]
    named = len(found) < len(facts.oddities) or facts.raised or (
        facts.chance and facts.chance.unseeded) or any(
        each.difference for way, each in facts.compared.items() if way != "seeded")
    if found and not named:
        yield _finding(facts, found[0])


@judgement("PUF201", "PUF206", "PUF208", "PUF405")
def survival(facts: PythonFacts) -> Iterator[Finding]:
    """Exceptions, exits, signals, hangs, too much memory."""
    seen = set()
    for each in facts.raised:
        call = _called(each.phase)
        key = (each.kind, each.place)
        if key in seen:
            continue
        seen.add(key)
        what = "ends the process" if each.kind == "SystemExit" else f"raises {each.kind}"
        place = {"file": each.place.file, "line": each.place.line} if each.place.file \
            else facts.at(ENDS.get(CALLS[each.phase], "step"))
        yield Finding("PUF208", f"{call} {what}", **place, step=each.step or None,
                      expected="a return", actual=each.text or each.kind, seed=each.seed,
                      stack=list(each.trace), seen_in=each.experiment)
    for each in facts.died:
        call, place = _called(each.phase), facts.at(ENDS.get(CALLS[each.phase], "step"))
        if each.place.file:
            place = {"file": each.place.file, "line": each.place.line}
        more = {**place, "step": each.step or None, "seen_in": each.experiment}
        if each.memory:
            yield Finding("PUF206", f"{call} takes more and more memory", **more,
                          expected="as much as --memory allows", actual="more")
        elif each.hung:
            yield Finding("PUF405", f"{call} does not return", **more, expected="a return",
                          actual=f"none for {each.seconds:.0f} s")
        elif each.signal in (4, 7, 8, 11):
            yield Finding("PUF201", f"{call} ends the process with a signal", **more,
                          expected="a return", actual=_signal(each.signal))
        else:
            how = _signal(each.signal) if each.signal else f"exit({each.status})"
            yield Finding("PUF208", f"{call} ends the process", **more, expected="a return",
                          actual=f"{how}{f': {each.said}' if each.said else ''}")


def _called(phase: int) -> str:
    return {0: "something after a call", MADE: "the constructor"}.get(phase, f"{CALLS[phase]}()")


def _signal(number: int) -> str:
    import signal

    return signal.Signals(number).name
