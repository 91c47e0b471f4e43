"""check --deep: MemorySanitizer (clang) and valgrind, where they are installed.  Facts -> Facts

Both see what AddressSanitizer does not: decisions and observations that depend on memory that
was never written. What they find joins PUF201 and PUF202; `facts.deep` says what was run, and how
to install what was not.
"""
import hashlib
import math
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from ....base import files, paths
from ....base.errors import BuildError
from ....env import binding, build
from ....raylib import headers
from ....settings import outside_libraries
from ....toolchain import compilers
from ....toolchain.libraries import compile_library, is_intact
from ...core.fact_kinds import CostFact, MsanFact
from ...core.facts import Facts
from ...core.finding import Finding
from ...core.memory_bound import Bound
from . import driver
from .driver import Kind, Runner
from .frames import Fault, Frame, own_frame
from .jobs import GUARD_HIGH
from .sizes import cost_class

# -O0: an optimiser may choose a value for what has none, and then nothing depends on it
MSAN_FLAGS = ("-O0", "-g", "-gdwarf-4", "-fno-omit-frame-pointer", "-fsanitize=memory",
              "-fsanitize-memory-track-origins=2")
PLAIN = Kind("valgrind", ("-O0", "-g"))
ENVS, STEPS = 2, 4096               # of an experiment, at most
SECONDS = 4.0                       # that it may take, about
SLOWER = {"msan": 8.0, "valgrind": 60.0}
LookUp = Callable[[str, str], list[Frame]]      # a module, an offset -> the frames there
HINT = "give it a value where it is made: calloc, = {0}, or a store before every read"

_MODULE = re.compile(r"^\s+#\d+ 0x[0-9a-f]+\s+\((?P<module>[^()+]+)\+(?P<offset>0x[0-9a-f]+)\)")
_ORIGIN = re.compile(r"Uninitialized value was created by (?:an? )?(?P<what>[^\n]*)")


def gather(facts: Facts, *, budget: float, verbose: bool = False) -> None:
    """Run both tools; fills facts.deep and facts.deep_faults."""
    probe = facts.outcomes.get("probe")
    if probe is None or not probe.ended:
        facts.deep = {tool: "not run: the environment did not survive its first steps"
                      for tool in ("MemorySanitizer", "valgrind")}
        return
    with files.private("puffer-deep-") as name:
        config = facts.config
        runner = Runner(facts.known_spec, Path(name), facts.seed, config.env,
                        {"total_agents": float(config.vec.total_agents)},
                        config.vec.step_timeout * 20, {}, Bound(facts.memory))
        try:
            for tool, run in (("MemorySanitizer", _run_msan), ("valgrind", _run_valgrind)):
                facts.deep[tool] = run(facts, runner, budget, verbose)
        except BaseException:       # Ctrl-C as well: nothing of ours goes on
            runner.stop()
            raise


def findings(facts: Facts, code: str, known: list[Finding]) -> Iterator[Finding]:
    """What the tools found under this code, on lines where nothing else was found."""
    places: set[tuple[str | None, int | None]] = {
        (finding.file, finding.line) for finding in known}
    for fault in facts.deep_faults:
        place = (fault.frame.file, fault.frame.line)
        if fault.code == code and place not in places:
            places |= {place, fault.origin or place}
            yield Finding(code, fault.message, *place, env=fault.env, step=fault.step,
                          expected="memory that was written" if code == "PUF202" else
                          "only memory of its own", actual=fault.actual, seed=facts.seed,
                          hint=HINT if code == "PUF202" else None, stack=list(fault.stack),
                          seen_in=fault.tool)


def _steps(facts: Facts, tool: str, budget: float) -> int:
    """Ticks of each env, from the cost of a step in classes of a factor of four."""
    cost = facts.fact("probe", CostFact)
    seconds = cost_class(cost.seconds if cost else None)
    wanted = min(STEPS, SECONDS / (seconds * SLOWER[tool] * ENVS)) * budget
    return 1 << int(math.log2(max(wanted, 64)))


def _said(tool: str, steps: int, found: int) -> str:
    result = f"{found} fault{'s' * (found > 1)}" if found else "nothing found"
    return f"{tool}, {steps * ENVS:,} env steps, {result}"


# -- MemorySanitizer -------------------------------------------------------------------


def _run_msan(facts: Facts, runner: Runner, budget: float, verbose: bool) -> str:
    clang, spec = find_clang(), facts.known_spec
    if clang is None:
        return f"not installed; {compilers.install_hint('clang')}"
    try:
        program = _msan_program(clang, verbose)
    except BuildError as error:
        if "libclang_rt.msan" not in (error.detail or ""):
            return f"not run: {error.message}"
        package = f"libclang-rt-{clang.version.partition('.')[0]}-dev"
        return f"not installed with clang; {compilers.install_hint(package)}"
    library = runner.folder / "msan.so"
    source = binding.write(spec, paths.writable(paths.build_dir(spec.folder),
                                                purpose="build products"))
    unit = runner.folder / "msan.c"
    files.write(unit, f'#include "{source}"\n{driver._FOOTER}')
    needed = outside_libraries.read(spec.folder).link_flags
    try:
        compilers.run_compiler([*clang.command, *build.library_flags(spec),
                                *build.openmp_flags(spec, clang), *MSAN_FLAGS,
                                "-fPIC", "-shared", "-fvisibility=hidden", "-w", str(unit),
                                *build.closing_flags(spec), "-o", str(library), *needed,
                                "-lm"], source=spec.header,
                               what=spec.header.name, verbose=verbose)
    except BuildError as error:
        return f"not run: clang refuses {spec.header.name} ({error.where})"
    steps = _steps(facts, "msan", budget)
    outcome = runner.run("msan", program, library, "guard", agents=facts.agents,
                         envs=ENVS, steps=steps, layout=GUARD_HIGH)
    fault = read_msan(outcome.sanitizer, spec.folder, _look_up)
    if fault:
        at = outcome.first(MsanFact)
        facts.deep_faults.append(replace(fault, env=at.env if at else None,
                                         step=at.step if at else None))
        return f"clang {clang.version}, ended by the fault on line {fault.frame.line}"
    if not outcome.ended:
        return "not run: the environment did not survive it"
    return _said(f"clang {clang.version}", steps, 0)


def find_clang() -> compilers.Compiler | None:
    """CC if that is clang, else the newest clang on PATH."""
    own = compilers.find_compiler()
    if own.kind == "clang":
        return own
    names = ["clang", *(f"clang-{version}" for version in range(22, 9, -1))]
    for name in names:
        path = shutil.which(name)
        if path:
            done = subprocess.run([path, "--version"], capture_output=True, text=True,
                                  timeout=20, check=False)
            number = re.search(r"\d+(?:\.\d+)+", done.stdout)
            return compilers.Compiler(path, number[0] if number else "", "clang", (),
                                      done.stdout.partition("\n")[0])
    return None


def _msan_program(clang: compilers.Compiler, verbose: bool) -> Path:
    """The harness under MemorySanitizer, compiled once per machine."""
    null = headers.null_source()
    sources = [*driver.sources(), null]
    digest = hashlib.sha256("\0".join([clang.key, *MSAN_FLAGS]).encode())
    for path in (*sources, *driver.headers(), paths.include_dir() / "puffer_abi.h"):
        digest.update(path.read_bytes())
    folder = paths.writable(paths.cache_dir() / "harness" / f"msan-{digest.hexdigest()[:12]}",
                            purpose="the checker's programs")
    program = folder / "harness-msan"
    if not is_intact(program):
        compile_library(
            program, [*clang.command, "-std=gnu11", f"-I{driver.PLAY}", f"-I{paths.include_dir()}",
                      f"-I{null.parent}", *MSAN_FLAGS, "-w", "-rdynamic", *map(str, sources),
                      "-ldl", "-lm", "-lpthread"],
            source=driver.PLAY / "main.c", what="the checker's harness", verbose=verbose)
        program.chmod(0o755)
    return program


def read_msan(text: str, folder: Path, look_up: LookUp) -> Fault | None:
    """The fault that a report of MemorySanitizer tells of, if the author's code is in it.

    look_up(module, offsets) -> the frames of each address, innermost first.
    """
    begin = text.find("WARNING: MemorySanitizer")
    if begin < 0:
        return None
    parts: list[list[tuple[str, str]]] = [[]]       # one for each stack
    for line in text[begin:].splitlines()[1:]:
        match = _MODULE.match(line)
        if match:
            parts[-1].append((match["module"], match["offset"]))
        elif parts[-1]:
            parts.append([])
    stacks = [_frames(part, look_up) for part in parts if part]
    own = [own_frame(stack, folder) for stack in stacks]
    frame = next(filter(None, own), None)
    if frame is None:
        return None
    origin = _ORIGIN.search(text, begin)
    made = "memory that was never written"
    if origin:
        local = re.search(r"of '([^'@]+).*' in the stack frame", origin["what"])
        made = f"the local variable '{local[1]}'" if local else "memory of the heap"
        made += " without a value"
        if own[-1] and (own[-1].file, own[-1].line) != (frame.file, frame.line):
            made += f", made at {own[-1].file}:{own[-1].line}"
    name = frame.function
    message = f"{name} decides by memory that was never written" if own[0] else \
        f"{name} hands on memory that was never written, and it reaches the trainer"
    shown = [f"{f.function} ({Path(f.file).name}:{f.line})" for f in stacks[own.index(frame)]
             if own_frame([f], folder)]
    return Fault("PUF202", message, frame, made, tuple(shown), "msan", _place(own[-1]))


def _place(frame: Frame | None) -> tuple[str, int] | None:
    return (frame.file, frame.line) if frame else None


def _frames(part: list[tuple[str, str]], look_up: LookUp) -> list[Frame]:
    return [frame for module, offset in part for frame in look_up(module, offset)]


def _look_up(module: str, offset: str) -> list[Frame]:
    """The function and line of an address, with what was inlined there."""
    try:
        done = subprocess.run(["addr2line", "-f", "-i", "-e", module, offset],
                              capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = done.stdout.splitlines()
    found = []
    for function, place in zip(lines[::2], lines[1::2], strict=False):
        match = re.match(r"(.*):(\d+)", place)
        if match and match[1] != "??":
            found.append(Frame(function, match[1], int(match[2])))
    return found


# -- valgrind --------------------------------------------------------------------------

_INVALID = {"InvalidRead": "reads memory that is not its own",
            "InvalidWrite": "writes memory that is not its own",
            "InvalidFree": "frees memory twice, or memory that was not allocated",
            "InvalidJump": "calls a function that is not there",
            "Overlap": "copies between two places that overlap"}


def _run_valgrind(facts: Facts, runner: Runner, budget: float, verbose: bool) -> str:
    tool = shutil.which("valgrind")
    if tool is None:
        return f"not installed; {compilers.install_hint('valgrind')}"
    report = runner.folder / "valgrind.xml"
    program = driver.build_program(driver.FAST, verbose=verbose)
    library = driver.build_library(facts.known_spec, PLAIN, runner.folder, verbose=verbose)
    steps = _steps(facts, "valgrind", budget)
    outcome = runner.run("valgrind", program, library, "run",
                         wrapper=(tool, "--tool=memcheck", "--xml=yes", f"--xml-file={report}",
                                  "--track-origins=yes", "--leak-check=no", "--quiet",
                                  "--num-callers=24"),
                         agents=facts.agents, envs=ENVS, steps=steps,
                         random=1)
    text = report.read_text(errors="replace") if report.is_file() else ""
    found = list(read_valgrind(text, facts.known_spec.folder))
    facts.deep_faults += found
    if not found and not outcome.ended:
        return "not run: the environment did not survive it"
    version = subprocess.run([tool, "--version"], capture_output=True, text=True, timeout=20,
                             check=False).stdout.strip().replace("valgrind-", "valgrind ")
    return _said(version.removeprefix("valgrind "), steps, len(found))


def read_valgrind(text: str, folder: Path) -> Iterator[Fault]:
    """Errors of a memcheck report (XML) that the author's files take part in."""
    if "</valgrindoutput>" not in text:         # the process was killed: what it had said so far
        text += "</valgrindoutput>"
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError:
        return
    seen = set()
    for error in root.iter("error"):
        kind = error.findtext("kind", "")
        stacks = [_valgrind_frames(stack) for stack in error.findall("stack")]
        own = [own_frame(stack, folder) for stack in stacks]
        uninit = kind.startswith("Uninit")
        frame = own[0] if own and own[0] else own[-1] if uninit and len(own) > 1 else None
        if frame is None or not (uninit or kind in _INVALID):
            continue
        if (kind, frame.file, frame.line) in seen:
            continue
        seen.add((kind, frame.file, frame.line))
        shown = tuple(f"{f.function} ({Path(f.file).name}:{f.line})"
                      for f in stacks[own.index(frame)] if own_frame([f], folder))
        what = (error.findtext("auxwhat") or error.findtext("what") or "").strip()
        if uninit:
            words = "decides by memory that was never written" if own[0] else \
                "hands on memory that was never written, and it reaches the trainer"
            yield Fault("PUF202", f"{frame.function} {words}", frame, _origin(what, own), shown,
                        "valgrind", _place(own[-1]) if len(own) > 1 else None)
        else:
            yield Fault("PUF201", f"{frame.function} {_INVALID[kind]}", frame,
                        error.findtext("what") or kind, shown, "valgrind")


def _origin(what: str, own: list[Frame | None]) -> str:
    """Where the memory comes from: "a local variable without a value", ..."""
    made = "memory of the heap" if "heap" in what else "a local variable" if "stack" in what \
        else "memory"
    place = f", made at {own[-1].file}:{own[-1].line}" if len(own) > 1 and own[-1] else ""
    return f"{made} without a value{place}"


def _valgrind_frames(stack: ElementTree.Element) -> list[Frame]:
    return [Frame(frame.findtext("fn", "?"),
                  str(Path(frame.findtext("dir", "")) / frame.findtext("file", "")),
                  int(frame.findtext("line", "0")))
            for frame in stack.findall("frame") if frame.findtext("file")]
