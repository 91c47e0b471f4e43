"""@judgement, and the judgements of oddities and of processes that ended."""
import signal
from collections.abc import Callable
from dataclasses import dataclass

from ....interop.python_envs.oddities import ODD, Oddity, sentence
from ...collect.python.python_facts import CALLS, MADE, Died, Place, PythonFacts
from ...core.vocabulary import FileLine, Finding, Findings
from ..memory.memory import signal_name

ONCE = ("obs-rewritten", "info-rewritten")     # whichever call returned it
STRONGER = {"obs-reused": "obs-rewritten", "info-reused": "info-rewritten",
            "ending-class": "ending-value", "reward-class": "reward-type"}
FAULTS = (signal.SIGILL, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV)
ENDS = {"reset": "reset", "step": "step", "render": "render", "made": "__init__"}

Judge = Callable[[PythonFacts], Findings]


@dataclass(frozen=True)
class Judgement:
    """codes: of its findings; needs: experiments that must have come to their end"""

    function: Judge
    codes: tuple[str, ...]
    needs: tuple[str, ...]


known: list[Judgement] = []


def judgement(*codes: str, needs: tuple[str, ...] = ()) -> Callable[[Judge], Judge]:
    """Decorator: registers a function of PythonFacts that yields Findings of these rules."""
    def register(function: Judge) -> Judge:
        known.append(Judgement(function, codes, needs))
        return function
    return register


def agent_of(facts: PythonFacts, name: str) -> int | None:
    """The number of an agent, as findings have it."""
    if name and facts.shape and name in facts.shape.agents:
        return facts.shape.agents.index(name)
    return None


@judgement(*sorted({kind.code for kind in ODD.values()}))
def odd(facts: PythonFacts) -> Findings:
    """Each kind of oddity once, of reset() and step() the first; of arguments and functions each
    one. Parts of an observation that share a fault are one finding."""
    kinds = {each.kind for each in facts.oddities.values()}
    parts: dict[str, list[str]] = {}
    for each in facts.oddities.values():
        if each.kind.startswith("obs-") and each.kind not in ONCE \
                and each.what not in parts.setdefault(each.kind, []):
            parts[each.kind].append(each.what)
    seen = set()
    for each in facts.oddities.values():
        what = "" if each.kind in ONCE or each.kind in parts else each.what
        if (each.kind, what) in seen or each.kind == "gymnasium-refuses" \
                or ODD[each.kind].severity == "none" or STRONGER.get(each.kind) in kinds:
            continue
        seen.add((each.kind, what))
        yield _finding(facts, each, len(parts.get(each.kind, ())) - 1)


def _finding(facts: PythonFacts, each: Oddity, others: int = 0) -> Finding:
    """others: parts of the observation with the same fault"""
    kind = ODD[each.kind]
    message = sentence(each)
    if others > 0:
        message += f"; so {'does' if others == 1 else 'do'} {others} other part{'s' * (others > 1)}"
    return Finding(kind.code, message, **facts.at(kind.at or ENDS.get(each.when, "step")),
                   agent=agent_of(facts, each.agent), step=each.step, element=each.element,
                   expected=each.expected, actual=each.actual, hint=kind.hint.format() or None,
                   severity=kind.severity)


@judgement("PUF101")
def refused(facts: PythonFacts) -> Findings:
    """Gymnasium's checker, where no finding of ours explains its refusal."""
    found = [each for each in facts.oddities.values() if each.kind == "gymnasium-refuses"]
    named = len(found) < len(facts.oddities) or facts.raised or (
        facts.chance and facts.chance.unseeded) or any(
        each.difference for way, each in facts.compared.items() if way != "seeded")
    if found and not named:
        yield _finding(facts, found[0])


@judgement("PUF201", "PUF206", "PUF208", "PUF405")
def survival(facts: PythonFacts) -> Findings:
    """Exceptions, exits, signals, hangs, too much memory."""
    seen = set()
    for each in facts.raised:
        key = (each.kind, each.place)
        if key in seen:
            continue
        seen.add(key)
        what = "ends the process" if each.kind == "SystemExit" else f"raises {each.kind}"
        yield Finding("PUF208", f"{_called(each.phase)} {what}",
                      **_at(facts, each.phase, each.place), step=each.step or None,
                      expected="a return", actual=each.text or each.kind, seed=each.seed,
                      stack=list(each.trace), seen_in=each.experiment)
    for death in facts.died:
        code, what, actual = _end(death)
        yield Finding(code, f"{_called(death.phase)} {what}",
                      **_at(facts, death.phase, death.place), step=death.step or None,
                      expected="as much as --memory allows" if death.memory else "a return",
                      actual=actual, seen_in=death.experiment)


def _end(death: Died) -> tuple[str, str, str]:
    """The rule, what happened, and how."""
    if death.memory:
        return "PUF206", "takes more and more memory", "more"
    if death.hung:
        return "PUF405", "does not return", f"none for {death.seconds:.0f} s"
    how = signal_name(death.signal) if death.signal else f"exit({death.status})"
    if death.signal in FAULTS:
        return "PUF201", "ends the process with a signal", how
    return "PUF208", "ends the process", f"{how}{f': {death.said}' if death.said else ''}"


def _at(facts: PythonFacts, phase: int, place: Place) -> FileLine:
    """The author's line, or the function that was called."""
    if place.file:
        return {"file": place.file, "line": place.line}
    return facts.at(ENDS.get(CALLS[phase], "step"))


def _called(phase: int) -> str:
    return {0: "something after a call", MADE: "the constructor"}.get(phase, f"{CALLS[phase]}()")
