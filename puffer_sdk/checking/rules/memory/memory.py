"""PUF201-204: what sanitizers, guards and fences report; long, as four rules share its reading."""
from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ....env import wide_types
from ...collect.c.deep import findings as deep_findings
from ...collect.c.source.actions import impossible
from ...core.fact_kinds import AbortFact, AsanFact, CrashFact, InsideFact, OverrunFact, UbsanFact
from ...core.vocabulary import (
    ASAN,
    ROWS,
    SIGNAL,
    STRANGE,
    UNDEFINED,
    Facts,
    FileLine,
    Finding,
    Findings,
    NotTested,
    Outcome,
    Seen,
    dies,
    need,
    present,
    rule,
)

# what glibc writes before it aborts: damage to the heap or the stack, not a call of abort()
GLIBC = re.compile(r"free\(\): |malloc\(\): |realloc\(\): |double free|corrupted|munmap_chunk|"
                    r"stack smashing|buffer overflow detected|malloc_consolidate|invalid pointer")
_UB = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):\d+: runtime error: (?P<text>[^\n]*)",
                 re.MULTILINE)
_CAST = "outside the range of representable values of type 'unsigned char'"
_FRAME = re.compile(r"^\s+#\d+ 0x[0-9a-f]+ in (?P<name>\S+) (?P<file>[^:\n()]+):(?P<line>\d+)",
                    re.MULTILINE)
_ENTRIES = ("c_step", "c_reset", "c_close", "init", "my_init")      # where our code calls theirs
_KIND = re.compile(r"ERROR: AddressSanitizer: (?P<kind>[\w-]+)(?P<rest>[^\n]*)")
_REGION = re.compile(r"is located (?P<past>\d+) bytes (?P<side>after|before|inside|to the "
                     r"(?P<right>right|left))(?: of)? (?P<size>\d+)-byte region")
NEAR = 64           # bytes by which an access beside a small block misses it
_WORDS = {
    "heap-buffer-overflow": "reads or writes beyond a block of the heap",
    "stack-buffer-overflow": "reads or writes beyond a local array",
    "global-buffer-overflow": "reads or writes beyond a global array",
    "stack-buffer-underflow": "reads or writes before a local array",
    "heap-use-after-free": "uses memory that was freed",
    "stack-use-after-return": "uses a local variable of a function that has returned",
    "stack-use-after-scope": "uses a local variable after its block has ended",
    "attempting": "frees memory twice, or memory that was not allocated",
    "stack-overflow": "uses up the stack (endless recursion, or a very large local array)",
    "SEGV": "touches memory that is not there",
}


def damaged(facts: Facts) -> bool:
    """A stray write or a sanitizer's report: what follows in other processes is its echo."""
    return any(outcome.all(AsanFact) or outcome.all(OverrunFact) or any(
        fact.array or (fact.heap and fact.heap_write) for fact in outcome.all(CrashFact))
        for outcome in facts.outcomes.values())


ERRORS = ("PUF201", "PUF203", "PUF204")


def unsound(facts: Facts) -> NotTested | None:
    """Stray reads and writes explain any difference: one finding is enough."""
    return NotTested("memory errors explain it", *ERRORS) if damaged(facts) else None


def unrepeatable(facts: Facts, *ways: str) -> NotTested | None:
    """So does a run that its own seed does not repeat. ways: of repeating it; () = all"""
    differs = set(ways or facts.differences) & facts.differences.keys()
    return NotTested("the environment is not deterministic to begin with", "PUF501", "PUF503") \
        if differs else None


def _sanitized(facts: Facts) -> list[Outcome]:
    found = [facts.outcomes[n] for n in ("sanitized-high", "sanitized-low") if n in facts.outcomes]
    if not found:
        raise NotTested(facts.skipped.get("sanitized-high", "no sanitizer build"))
    return found


def _own(facts: Facts, file: str) -> str | None:
    """A path in a sanitizer's text, relative to the env's folder, if it lies there."""
    prefix = f"{facts.folder}/"
    return file[len(prefix):] if file.startswith(prefix) else None


def call_of(fact: InsideFact | OverrunFact | None) -> str:
    """What the env was doing: c_step, c_reset, ..."""
    phase = fact.phase if fact else "step"
    return {"step": "c_step", "reset": "c_reset", "init": "init", "close": "c_close",
            "idle": "a c_ function"}.get(phase, phase)


def place_of(facts: Facts, fact: InsideFact) -> Seen:
    """The author's line of a stack, or the function that was called."""
    frame = fact.frame
    place: FileLine = {"file": frame.file, "line": frame.line} if frame else \
        facts.at(call_of(fact))
    stack = _stack((f.function, f.file, f.line) for f in fact.frames)
    return {**place, "env": fact.env, "step": fact.step, "seed": facts.seed, "stack": stack,
            "seen_in": facts.experiment_of(fact)}


def _stack(frames: Iterable[tuple[str, str, int]]) -> list[str]:
    """(function, file, line) as lines for people, down to the function that we called."""
    shown = []
    for function, file, line in frames:
        shown.append(f"{function} ({file.rpartition('/')[2]}:{line})")
        if function in _ENTRIES:
            break
    return shown


def by_place(facts: Facts) -> Iterator[tuple[str, Outcome]]:
    """The experiments that may die, by name; sanitized builds first: their lines are the truest."""
    for name in sorted(facts.outcomes, key=lambda n: (not n.startswith("sanitized"), n)):
        if name not in STRANGE:
            yield name, facts.outcomes[name]


def _crashes(facts: Facts) -> Iterator[tuple[Outcome, CrashFact]]:
    """Each signal that we caught. Rows that the env left do not end a process;
    a crash after a sanitizer's report is its echo."""
    for _, outcome in by_place(facts):
        for fact in outcome.all(CrashFact):
            if fact.array or not outcome.all(AsanFact):
                yield outcome, fact


def _asan_reports(facts: Facts) -> Iterator[tuple[Outcome, AsanFact | None, re.Match[str], str]]:
    """Each report, its first line matched, and its text; the run goes on after one."""
    for outcome in _sanitized(facts):
        found, told = list(_KIND.finditer(outcome.sanitizer)), outcome.all(AsanFact)
        for at, kind in enumerate(found):
            end = found[at + 1].start() if at + 1 < len(found) else None
            yield (outcome, told[at] if at < len(told) else None, kind,
                   outcome.sanitizer[kind.start():end])


def _asan(facts: Facts) -> Findings:
    """Findings from AddressSanitizer's reports, one a line of the author's."""
    seen: set[tuple[str | None, int | None]] = set()
    damaged_in: list[Outcome] = []
    for outcome, fact, found, report in _asan_reports(facts):
        if found["kind"] == "attempting" and outcome in damaged_in:
            continue                    # free() stumbles over a heap that is damaged already
        damaged_in.append(outcome)
        frames = _own_frames(facts, report)
        place = _place(frames) or facts.at("c_step")
        access = re.search(r"(READ|WRITE) of size (\d+)", report)
        region = _REGION.search(report)
        at = (place.get("file"), place.get("line"))
        if at in seen:
            continue
        seen.add(at)
        detail = ", ".join(filter(None, [
            f"{access[1].lower()} of {access[2]} bytes" if access else None,
            _beside(region) if region else None]))
        words = _WORDS.get(found["kind"], found["kind"])
        if access:
            words = words.replace("reads or writes", f"{access[1].lower()}s")
        yield Finding("PUF201", f"{call_of(fact)} {words}",
                      **place, env=fact.env if fact else None,
                      step=fact.step if fact else None, seed=facts.seed,
                      seen_in=outcome.name, expected="only memory of its own",
                      actual=detail or words,
                      stack=_stack(frames))


def _beside(region: re.Match[str]) -> str:
    """Where a bad access lay; "" where ASan names a block that it has nothing to do with."""
    past, size = int(region["past"]), int(region["size"])
    if past > max(size, NEAR):
        return ""
    side = {"right": "after", "left": "before", "inside": "within"}.get(
        region["right"] or region["side"], region["side"])
    return f"{past} bytes {side} a block of {size}"


def _of_heap(fact: CrashFact) -> tuple[str, str]:
    """What an access beside a block of the heap did, in short and in full (fences.c)."""
    verb = "write" if fact.heap_write == 1 else "read" if fact.heap_write == 0 else "read or write"
    past, block = fact.heap_past or 0, f"a block of {fact.heap_size} bytes"
    if fact.heap == "freed":
        return "uses memory that was freed", f"a {verb} in {block} that was freed"
    where = f"{past} bytes after" if past >= 0 else f"{-past} bytes before"
    return f"{verb}s beyond a block of the heap", f"a {verb} {where} {block}"


def asan_place(facts: Facts, text: str) -> FileLine | None:
    """The author's line of an AddressSanitizer report, if there is one."""
    found = _KIND.search(text)
    return _place(_own_frames(facts, text[found.start():])) if found else None


def _own_frames(facts: Facts, report: str) -> list[tuple[str, str, int]]:
    """(function, file, line) of each of the author's functions in a report, the innermost first."""
    return [(match["name"], file, int(match["line"])) for match in _FRAME.finditer(report)
            if (file := _own(facts, match["file"]))]


def _place(frames: list[tuple[str, str, int]]) -> FileLine | None:
    return {"file": frames[0][1], "line": frames[0][2]} if frames else None


def array_size(text: str) -> str:
    """What an AddressSanitizer report says was overrun."""
    region = re.search(r"is located \d+ bytes (?:after|before|to the right of|to the left of|"
                       r"inside of) (\d+)-byte region", text)
    return f"a block of {region[1]} bytes" if region else "an array of its own"


def ubsan_places(facts: Facts, text: str) -> Iterator[tuple[str, int, str]]:
    """(file, line, text) of each line that UndefinedBehaviorSanitizer wrote about the author's
    code."""
    for match in _UB.finditer(text):
        file = _own(facts, match["file"])
        if file:
            yield file, int(match["line"]), match["text"]


FIRST_PAGES = 1 << 16       # addresses that no memory is given
NO_ADDRESS = 2**64 - 1      # that the processor did not name: play/guard.c
NULL, CAST, OTHER = "a null pointer", "a float that does not fit into a byte", "anything else"
DIVISION = "a float divided by zero"        # defined, and where infinities and NaNs come from


class Undefined(NamedTuple):
    """What UndefinedBehaviorSanitizer wrote about a line of the author's."""

    file: str
    line: int
    where: Seen
    call: str
    text: str


def _kind_of(facts: Facts, file: str, line: int, text: str) -> str:
    if "null pointer" in text:
        return NULL
    if _CAST in text and facts.shape.dtype == "u8":
        return CAST
    if text.strip() == "division by zero" and (file, line) in facts.source.float_divisions:
        return DIVISION             # of integers it ends the process
    return OTHER


def undefined(facts: Facts, kind: str) -> Iterator[Undefined]:
    """UBSan's lines of one kind, once each."""
    seen = set()
    for outcome in _sanitized(facts):
        for file, line, text in ubsan_places(facts, outcome.sanitizer):
            key = (file, line, text.split(" ")[0])
            if key in seen or _kind_of(facts, file, line, text) != kind:
                continue
            seen.add(key)
            fact = next((f for f in outcome.all(UbsanFact) if f.frame and
                         (f.frame.file, f.frame.line) == (file, line)), None)
            where: Seen = place_of(facts, fact) if fact else {
                "file": file, "line": line, "env": None, "step": None, "seed": facts.seed,
                "stack": [], "seen_in": outcome.name}
            yield Undefined(file, line, where, call_of(fact), text.strip())


@rule("PUF201", "memory-error", proof=dies(UNDEFINED, ASAN, SIGNAL, at_line=True))
def memory_error(facts: Facts) -> Findings:
    """AddressSanitizer, or the processor itself, caught an access to memory that is not
    there: beyond an array, after a free, through a null pointer.

    Why it ruins training: without a sanitizer most such writes land in another variable. The
    game goes on with a damaged state, and crashes hours later on another machine, or never.

    Bad:

        int cells[10];
        for (int i = 0; i <= 10; i++) cells[i] = 0;

    Good:

        for (int i = 0; i < 10; i++) cells[i] = 0;

    Fix: look at the line, and at the index or pointer that it uses.

    How it is seen: by the sanitizers, and in a longer play without them in which blocks of the
    heap touch unmapped pages. That play is uneven: for a while one action is held or some are left
    out, so that it reaches what one of them usually prevents.
    """
    found = [*_asan(facts), *(Finding("PUF201", f"{one.call} follows a null pointer", **one.where)
                              for one in undefined(facts, NULL))]
    lines = {(finding.file, finding.line) for finding in found}
    for outcome, fact in _crashes(facts):
        beside = fact.array
        if fact.signal not in (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL) or (
                beside and (fact.write or beside == "actions")):
            continue
        place = place_of(facts, fact)
        if (place.get("file"), place.get("line")) in lines or (
                not outcome.name.startswith("sanitized") and (found or damaged(facts))):
            continue                    # the sanitizers or the guards said it better
        lines.add((place.get("file"), place.get("line")))
        what, expected, hint = "touches memory that is not there", None, None
        actual = signal_name(fact.signal)
        if beside:
            what = f"reads outside this env's own rows of {beside}"
        elif fact.heap:
            what, actual = _of_heap(fact)
            expected = "only memory of its own"
        elif fact.address < FIRST_PAGES:
            what = "follows a null pointer"
        elif fact.address == NO_ADDRESS and (wide := wide_types.asked_for(facts.folder)):
            what = "uses memory that is not aligned as its type asks for"
            expected, actual = f"a multiple of {wide}", "memory of malloc or calloc: one of 16"
            hint = f"take it from aligned_alloc({wide}, ...), or leave the attribute out"
        found.append(Finding("PUF201", f"{call_of(fact)} {what}", **place, expected=expected,
                             actual=actual, hint=hint))
    for _, outcome in sorted(facts.outcomes.items()):
        line = next((t for t in outcome.stderr.splitlines() if GLIBC.search(t)), None)
        for abort in outcome.all(AbortFact) if outcome.name not in STRANGE and line else ():
            if not found and not damaged(facts):
                found.append(Finding("PUF201", f"{call_of(abort)} damages the heap or the stack",
                                     **place_of(facts, abort), actual=(line or "").strip()))
    yield from found
    yield from deep_findings(facts, "PUF201", found)


@rule("PUF202", "undefined-behaviour", proof=dies(UNDEFINED, SIGNAL, at_line=True))
def undefined_behaviour(facts: Facts) -> Findings:
    """UndefinedBehaviorSanitizer caught something that C leaves undefined: an index beyond
    an array inside a struct, a signed overflow, a shift by too much, a division by zero.

    Why it ruins training: the compiler may assume that it never happens. The same source
    then plays differently under -O0 and -O3, and the index writes into the next field.

    Bad:

        int lane = rand() - 10;
        env->cars[lane] = 1;        // lane may be negative

    Good:

        int lane = rand() % NUM_LANES;

    Fix: look at the line; bound the value before it is used. `check --deep` also finds
    decisions and observations that depend on memory which nobody ever wrote.
    """
    found = [Finding("PUF202", f"{one.call} relies on undefined behaviour: {one.text}", **one.where,
                     hint="copy it with memcpy: on a GPU this ends the run"
                     if "misaligned" in one.text else None)
             for one in undefined(facts, OTHER)]
    asan = {(f.file, f.line) for f in _asan(facts)}
    found = [f for f in found if (f.file, f.line) not in asan]
    lines = {(finding.file, finding.line) for finding in found}
    for _, fact in _crashes(facts):
        if fact.signal == signal.SIGFPE:
            place = place_of(facts, fact)
            if (place.get("file"), place.get("line")) not in lines and not found:
                lines.add((place.get("file"), place.get("line")))
                found.append(Finding("PUF202", f"{call_of(fact)} divides by zero", **place,
                                     actual="SIGFPE"))
    yield from found
    yield from deep_findings(facts, "PUF202", found)


class Beside(NamedTuple):
    """An access outside an env's rows of an array."""

    array: str
    past: int               # bytes after their end, or (negative) before them
    bytes: int              # of the rows
    write: int

    @classmethod
    def of(cls, fact: CrashFact) -> Beside | None:
        if fact.array is None or fact.past is None or fact.bytes is None:
            return None
        return cls(fact.array, fact.past, fact.bytes, fact.write or 0)


def _overrun(facts: Facts, found: Beside, call: str, where: Seen) -> Finding:
    array, past, shape = found.array, found.past, facts.shape
    width = 1 if array in ("action_mask", "alive") or (
        array == "observations" and shape.dtype == "u8") else 4
    agents = found.bytes // width
    unit = "bytes" if width == 1 else "ints" if (array, shape.dtype) == ("observations", "i32") \
        else "floats"
    if past >= 0:
        distance, actual = past // width + 1, f"a write to number {agents + past // width + 1}"
        message = f"{distance} beyond the end" if distance > 1 else "just beyond the end"
    else:
        distance = (-past + width - 1) // width
        actual = f"a write {distance} before the first"
        message = f"{distance} before the start" if distance > 1 else "just before the start"
    size = "OBS_SIZE" if array == "observations" else "one"
    owned = f"{agents} {unit} ({size}{' per agent' if size == 'one' else ''})"
    if shape.env_agents > 1:
        owned = f"{agents} {unit} ({shape.env_agents} agents x {size})"
    return Finding("PUF203", f"{call} wrote {message} of this env's {array}", **where,
                   expected=owned, actual=actual, element=agents + past // width
                   if past >= 0 else -distance,
                   hint="correct OBS_SIZE, or the index" if array == "observations" else
                   "the arrays have one element for each of "
                   f"{present(facts.spec).rows_field}")


@rule("PUF203", "row-overrun", proof=dies(ASAN, SIGNAL, outside=ROWS))
def row_overrun(facts: Facts) -> Findings:
    """The env wrote outside its own rows of observations, rewards, terminals or truncations.

    Why it ruins training: the rows of all envs lie one after another, so this env writes
    into the next one's. No sanitizer sees it, since the memory belongs to one large block.
    The neighbour learns from rewards and observations that are not its own.

    Bad:

        #define OBS_SIZE 3
        env->observations[3] = env->fuel;

    Good:

        #define OBS_SIZE 4
        env->observations[3] = env->fuel;

    Fix: count what is written; an enum whose last entry is OBS_SIZE counts for you.
    """
    seen: dict[tuple[str, bool, str | None, int | None], Finding] = {}
    for outcome, crash in _crashes(facts):
        beside = Beside.of(crash)
        if beside and beside.array != "actions" and beside.write:
            where = place_of(facts, crash)
            key = (beside.array, beside.past >= 0, where.get("file"), where.get("line"))
            known = any(other[:2] == key[:2] for other in seen)
            if key not in seen and (outcome.name.startswith("sanitized") or not known):
                seen[key] = _overrun(facts, beside, call_of(crash), where)
    for fact in facts.all("packed", OverrunFact):
        if not any(key[0] == fact.array for key in seen):
            where = {**facts.at(f"c_{fact.phase}"), "env": fact.env, "step": fact.step,
                     "seed": facts.seed, "stack": [], "seen_in": "packed"}
            seen[fact.array, True, None, None] = _overrun(
                facts, Beside(fact.array, fact.past, fact.bytes, 1), call_of(fact), where)
    yield from seen.values()
    if not seen and not any(facts.outcome(n) for n in ("guard-high", "sanitized-high")):
        need(facts, "guard-high")


@rule("PUF204", "action-overread", proof=dies(ASAN, SIGNAL, outside=("actions",)))
def action_overread(facts: Facts) -> Findings:
    """The env read outside its own row of actions, or asks for an action that no agent can
    choose: ids of a head of width 5 are 0 to 4.

    Why it ruins training: beyond its row it acts on another agent's choice, or on memory that
    belongs to nobody. A move that waits for an id that never comes cannot be learned, and the
    game that you trained is not the one that you wrote.

    Bad:

        #define ACT_SIZES {5}
        float turn = env->actions[0], thrust = env->actions[1];
        if (turn == 5) brake(env);

    Good:

        #define ACT_SIZES {6, 3}

    Fix: add the head to ACT_SIZES, widen it, or correct the index. With several agents, agent
    i's actions begin at `i * number of heads`.
    """
    for one in impossible(facts.source, present(facts.spec)):
        yield Finding("PUF204", f"no agent can choose the action of '{one.text}'", file=one.file,
                      line=one.line, expected=f"an id from 0 to {one.width - 1} (head {one.head} "
                      f"of ACT_SIZES)", actual=one.id,
                      hint="ids count from 0; or is the head one action too narrow?")
    seen = set()
    for _, fact in _crashes(facts):
        beside = Beside.of(fact)
        if beside and beside.array == "actions":
            where = place_of(facts, fact)
            key = (where.get("file"), where.get("line"))
            if key not in seen:
                seen.add(key)
                owned = beside.bytes // 4
                index = owned + beside.past // 4 if beside.past >= 0 else beside.past // 4
                verb = "wrote" if beside.write == 1 else "read"
                yield Finding("PUF204", f"{call_of(fact)} {verb} outside this env's own actions",
                              **where, element=index, expected=f"{owned} actions",
                              actual=f"index {index}")


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
