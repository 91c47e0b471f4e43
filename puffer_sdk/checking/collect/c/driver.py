"""Compile the harness and an environment for it; run experiments in processes of their own.

Spec -> two libraries of the env (fast, sanitized) -> Outcome of each experiment.
"""
import hashlib
import json
import math
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ....base import files, paths, processes
from ....base.errors import BuildError
from ....base.spec import Spec
from ....env import binding, build
from ....raylib import headers as raylib
from ....settings import outside_libraries
from ....settings.texts import show
from ....toolchain import compilers
from ....toolchain.libraries import NATIVE, compile_library, is_intact
from ...core import kinds
from ...core.fact_kinds import EndFact, HangFact, LoadedFact
from ...core.facts import STRANGE, Outcome
from ...core.memory_bound import PERIOD, Bound
from . import wrapped

PLAY = Path(__file__).parents[2] / "play"
RULES = PLAY.with_name("rules")       # a family's experiments lie in its folder
SANITIZERS = ["-fsanitize=address,undefined,float-cast-overflow", "-fno-omit-frame-pointer"]
SHADOWED = ("sanitized", "msan", "valgrind")    # libraries that need much address space
SLOWER = {"sanitized": 6, "msan": 6, "debug": 20, "valgrind": 100}      # than optimised, roughly
TOGETHER = 400 << 20        # bytes that experiments which run at once may hold together
TABLES = 96 << 20           # bytes that one holds, from which on its twins are forks: play/twins.c
SPACE = 2                   # times the bound: address space of an experiment without sanitizers
LIMIT, LOADED = 600.0, 20   # seconds of an experiment; by the clock, where the machine is busy
Process = subprocess.Popen[bytes]
MOST_OVER = 4               # experiments that exceed the bound, until no other begins

_FOOTER = """
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
extern __attribute__((visibility("default"))) const size_t puffer_check_layout[14];
extern __attribute__((visibility("default"))) void* const puffer_check_beginnings[];
const size_t puffer_check_layout[14] = {
    sizeof(Env), offsetof(Env, log), sizeof(((Env*)0)->log), offsetof(Env, log.n),
#ifdef PUFFER_NO_RNG
    (size_t)-1, 0,
#else
    offsetof(Env, rng), sizeof(((Env*)0)->rng),
#endif
    offsetof(Env, PUFFER_OF_ENV(observations)), offsetof(Env, PUFFER_OF_ENV(actions)),
    offsetof(Env, PUFFER_OF_ENV(rewards)), offsetof(Env, PUFFER_OF_ENV(terminals)),
    offsetof(Env, num_agents),
#ifdef PUFFER_HAS_MAX_AGENTS
    offsetof(Env, max_agents),
#else
    (size_t)-1,
#endif
#ifdef PUFFER_AGENTS
    offsetof(Env, agents), sizeof(((Env*)0)->agents)};
#else
    0, 0};
#endif
#undef c_reset    // a binding may wrap the call in a macro: the author's own is counted
void* const puffer_check_beginnings[] = {
    (void*)c_reset, PUFFER_BEGINNINGS 0};
__attribute__((visibility("default"), no_instrument_function))
void puffer_check_seed(PufferVec* vec, int32_t env, uint32_t seed) {
    vec->rand_states[env] = seed;
#ifndef PUFFER_NO_RNG
    vec->envs[env].rng = seed;
#endif
}
#ifdef PUFFER_COVERAGE
void __gcov_dump(void);
__attribute__((visibility("default"))) void puffer_check_dump(void) { __gcov_dump(); }
#endif
#ifdef __cplusplus
}
#endif
"""


CLOCKS = ("-DGetTime=null_GetTime", "-DGetFrameTime=null_GetFrameTime")     # of play/clocks.c


@dataclass(frozen=True)
class Kind:
    """A way to compile an environment."""

    name: str
    flags: tuple[str, ...]
    instrument: tuple[str, ...] = ()        # flags for compiling, without their runtime library
    redirected: tuple[str, ...] = ()        # functions that the harness answers, beside wrapped.py

    @property
    def program(self) -> str:
        """The harness to open it with: "sanitized" or "plain"."""
        return "sanitized" if set(SANITIZERS) & set(self.flags) else "plain"


LINES = ("-g", "-fno-var-tracking")     # for stacks; where variables lie is not asked for
OURS = "-DPUFFER_UNOPTIMIZED"     # vecenv.h is compiled in less time
FAST = Kind("fast", ("-O2", *LINES, OURS))
# float-divide-by-zero tells where a NaN came from
SANITIZED = Kind("sanitized", ("-O1", *LINES, OURS, *SANITIZERS,
                               "-fsanitize=float-divide-by-zero", "-fsanitize-recover=address"))
# Calls us at each call
WATCHED = Kind("watched", ("-O1", *LINES, OURS, "-finstrument-functions"))
# Reports each access (rules/determinism/threads.c) and each line
DEBUG = Kind("debug", ("-O0", "-gdwarf-4", "-fno-builtin"), ("-fsanitize=thread",),
             ("memset", "memcpy", "memmove"))
COVERAGE = ("--coverage", "-fprofile-update=atomic", "-DPUFFER_COVERAGE")       # gcc's
TRAINED = Kind("trained", ("-O3", NATIVE, *LINES, OURS))       # as build makes it
# A compiler that knows the argument of tanhf(0.5f) works it out, rounded better than the library
# does: with these the library is always asked
EXACT = {"trace-debug": Kind("exact", ("-O2", *LINES, OURS, "-fno-builtin")),
         "trace-trained": Kind("exact-trained", ("-O3", NATIVE, *LINES, "-fno-builtin"))}


_LANGUAGE = ("-std=gnu11", "-g")
_compiling = threading.Lock()       # all kinds of program want the same objects


def build_program(kind: Kind, *, verbose: bool = False) -> Path:
    """The harness itself, linked once per machine and kind."""
    program = program_folder() / f"harness-{kind.program}"
    if is_intact(program):
        return program
    compiler = compilers.find_compiler()
    with _compiling:
        objects = _objects(verbose)
    link = SANITIZERS if kind.program == "sanitized" else []
    program = objects[0].with_name(f"harness-{kind.program}")
    if not is_intact(program):
        compile_library(program, [*compiler.command, "-rdynamic", *link, *map(str, objects),
                                  "-ldl", "-lm", "-lpthread"],
                        source=PLAY / "main.c", what="the checker's harness", verbose=verbose)
        program.chmod(0o755)
    return program


def program_folder() -> Path:
    """Where the harness for this compiler lies: the folder is named after all it is made of.

    The name holds no path of this machine: `review` copies the folder into its sandbox, where
    everything lies elsewhere.
    """
    null = raylib.null_source()
    return paths.cache_dir() / "harness" / _digest(compilers.find_compiler().key, null)


@cache
def _digest(compiler: str, null: Path) -> str:
    digest = hashlib.sha256("\0".join([compiler, *_LANGUAGE]).encode())
    for path in (*sources(), null, *headers(), paths.include_dir() / "puffer_abi.h"):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def sources() -> list[Path]:
    """The harness's own C files; no two have the same name."""
    return [*sorted(PLAY.glob("*.c")), *sorted(RULES.rglob("*.c"))]


def _objects(verbose: bool) -> list[Path]:
    """The harness's sources and raylib's zeros, compiled once per machine."""
    null, compiler = raylib.null_source(), compilers.find_compiler()
    flags = [*_LANGUAGE, f"-I{PLAY}", f"-I{paths.include_dir()}", f"-I{null.parent}"]
    cache = paths.writable(program_folder(), purpose="the checker's programs")

    def compile_one(source: Path) -> Path:
        target = cache / f"{source.stem}.o"
        if not is_intact(target):
            own = ["-O0", *CLOCKS] if source == null else ["-O2"]
            compile_library(target, [*compiler.command, *flags, *own, "-c", str(source)],
                            source=source, what="the checker's harness", verbose=verbose)
        return target

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(compile_one, [*sources(), null]))


def headers() -> list[Path]:
    """What the harness's sources include of ours."""
    return [*sorted(PLAY.glob("*.h")), *sorted(PLAY.glob("*.def")), *sorted(RULES.rglob("*.h"))]


def build_library(spec: Spec, kind: Kind, folder: Path, *, probed: Path | None = None,
                  beginnings: Sequence[str] = (), verbose: bool = False) -> Path:
    """The environment as a library that the harness opens: FOLDER/KIND.so

    probed      a folder with a copy of the header that counts (probing.py)
    beginnings  functions whose calls are counted, besides c_reset
    """
    source = binding.write(spec, paths.writable(paths.build_dir(spec.folder),
                                                purpose="build products"))
    if probed and source == spec.binding:
        source = probed / spec.binding.name
    unit = folder / f"{kind.name}.c"
    counted = "".join(f"(void*){name}, " for name in beginnings)
    files.write(unit, f'#include "{source}"\n#define PUFFER_BEGINNINGS {counted}\n{_FOOTER}')
    compiler = compilers.find_compiler()
    library = folder / f"{kind.name}.so"
    strict = compilers.bounds_flags(compiler) if kind.program == "sanitized" else []
    first = [f"-I{probed}"] if probed else []
    openmp = build.openmp_flags(spec, compiler)
    redirect, link = wrapped.flags(kind.redirected, folder, opened=not kind.instrument)
    flags = [*first, *build.library_flags(spec), *redirect, *openmp, *kind.flags, *strict, "-fPIC",
             "-fvisibility=hidden", "-w"]
    link += ["-o", str(library)]
    made = [str(unit), *build.closing_flags(spec)]
    try:
        if kind.instrument:
            flags += kind.instrument
            if compiler.kind == "gcc":
                flags += COVERAGE
                link.append("--coverage")
            made[0] = str(unit.with_suffix(".o"))
            compilers.run_compiler([*compiler.command, *flags, "-c", str(unit), "-o", made[0]],
                                   source=spec.header, what=spec.header.name, verbose=verbose)
            flags = openmp          # its library is linked as well
        compilers.run_compiler([*compiler.command, *flags, *made, *link,
                                *outside_libraries.read(spec.folder).link_flags, "-lm"],
                               source=spec.header, what=spec.header.name, verbose=verbose)
    except BuildError as error:
        raise build.of_assertion(error) or error from None
    return library


@dataclass
class Runner:
    """Runs experiments on one environment."""

    spec: Spec
    folder: Path                            # temporary files
    seed: int
    settings: Mapping[str, float]           # [env]
    vec: Mapping[str, float]                # [vec], for a binding's own my_vec_init
    hang: float                             # seconds of silence
    base: dict[str, int]                    # experiment -> where its library lay
    bound: Bound = field(default_factory=Bound)     # on the memory of all of them together
    children: set[Process] = field(default_factory=set)
    over: set[Process] = field(default_factory=set)         # children that exceeded it
    computed: dict[Process, float] = field(default_factory=dict)    # seconds
    stopped: bool = False
    twins: bool = False
    room: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(64))

    def leave_room(self, held: int) -> None:
        """From now on as many experiments run at once as fit into TOGETHER, one at least, where
        each holds so many bytes; pages that no one writes are not copied for a twin. Call it while
        none runs."""
        self.twins = held > TABLES
        self.room = threading.Semaphore(max(1, TOGETHER // max(held, 1)))

    def stop(self) -> None:
        """End every experiment that runs, and start no other."""
        self.stopped = True
        for child in list(self.children):
            _kill_group(child)

    def run(self, name: str, program: Path, library: Path, experiment: str,
            limit: float = LIMIT, wrapper: tuple[str, ...] = (), hang: float | None = None,
            settings: Mapping[str, float] | None = None, perturb: int = 0,
            **options: object) -> Outcome:
        """One experiment in one process; it always returns.

        wrapper     words before the program, such as valgrind and its options
        perturb     what malloc fills blocks with
        options     of the program: see Options of play/harness.h
        """
        command = [*wrapper, str(program), experiment, f"library={library}",
                   f"hang={self.hang if hang is None else hang:g}",
                   *(f"{key}={value}" for key, value in options.items()),
                   *(f"set.{key}={show(value)}"
                     for key, value in {**self.settings, **(settings or {})}.items())]
        with self.room:
            return self._run(name, command, library, experiment, limit, perturb)

    def _run(self, name: str, command: list[str], library: Path, experiment: str, limit: float,
             perturb: int) -> Outcome:
        facts = self.folder / f"{name}.jsonl"
        errors = self.folder / f"{name}.stderr"
        reports = self.folder / f"{name}.sanitizer"
        hung = self.folder / "hung"
        command = [*command, f"facts={facts}", f"seed={self.seed}", f"parent={os.getpid()}",
                   f"slower={SLOWER.get(library.stem, 1)}", f"hung={hung}",
                   f"twins={int(self.twins)}"]
        command += [f"vec.{key}={value!r}" for key, value in self.vec.items()]
        if library.stem not in SHADOWED:        # a sanitizer's shadow needs terabytes of it
            command.append(f"memory={SPACE * self.bound.limit}")
        # threads of OpenMP do not outlive a fork, by which experiments go back to a state
        environment = {**os.environ, "MALLOC_PERTURB_": str(perturb),
                       "OMP_NUM_THREADS": "1",
                       **_sanitizer_options(reports, self.bound.limit)}
        for path in (facts, errors):
            files.remove(path)
        with files.open(errors, "wb") as stream:
            prints = stream if experiment == "probe" else subprocess.DEVNULL
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=prints, stderr=stream, env=environment,
                cwd=paths.working_dir(self.spec.folder), start_new_session=True)
            timed_out = False
            self.children.add(child)
            try:
                if self.stopped:
                    self.over.update([child] if self.over else [])
                    _end_group(child)
                timed_out = not self._await(child, limit)
            finally:
                _end_group(child)
                self.children.discard(child)
        outcome = self._outcome(name, facts, errors, reports, child.returncode, timed_out)
        outcome.exceeded, outcome.computed = child in self.over, self.computed.pop(child, 0.0)
        if outcome.first(HangFact) and experiment not in ("setting", *STRANGE):
            files.write(hung, "")               # the others need not wait as long
        return outcome

    def _await(self, child: Process, limit: float) -> bool:
        """Waits for its end; False if it has not come after `limit` seconds of computing, or many
        times as many of a busy machine's. Meanwhile, ends the largest of all experiments when
        together they exceed the bound."""
        until = time.monotonic() + max(LIMIT, LOADED * limit)
        while time.monotonic() < until and self.computed.get(child, 0.0) < limit:
            with suppress(subprocess.TimeoutExpired):
                child.wait(timeout=min(PERIOD, until - time.monotonic()))
                return True
            used = processes.cpu_seconds(child.pid)
            self.computed[child] = used if math.isfinite(used) else 0.0
            children = {each.pid: each for each in list(self.children)}
            largest = self.bound.exceeded_by(children)
            if largest:
                self.over.add(children[largest])
                _kill_group(children[largest])
                if len(self.over) >= MOST_OVER:
                    self.over.update(self.children)
                    self.stop()
        return False

    def _outcome(self, name: str, facts: Path, errors: Path, reports: Path, status: int,
                 timed_out: bool) -> Outcome:
        rows = []
        if facts.is_file():
            for line in facts.read_text(errors="replace").splitlines():
                try:
                    row = json.loads(line)
                except ValueError:          # cut off by the env's death
                    continue
                rows.append(kinds.parse(row))
        for row in rows:
            if isinstance(row, LoadedFact):
                self.base[name] = row.base
        text = "".join(path.read_text(errors="replace")
                       for path in sorted(reports.parent.glob(f"{reports.name}.*")))
        with open(errors, "rb") as stream:
            said = stream.read(200_000).decode(errors="replace")
        return Outcome(name, rows, any(isinstance(row, EndFact) for row in rows),
                       signal=-status if status < 0 and not timed_out else 0,
                       timed_out=timed_out, stderr=said, sanitizer=text + said)


def _end_group(child: Process) -> None:
    """End the process and whatever it started."""
    _kill_group(child)
    child.wait()


def _kill_group(child: Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


def _sanitizer_options(reports: Path, most: int) -> dict[str, str]:
    own_signals = ("handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigfpe=0:handle_sigill=0:"
                   "allow_user_segv_handler=1:use_sigaltstack=0")
    return {"ASAN_OPTIONS": f"detect_leaks=0:halt_on_error=0:exitcode=96:log_path={reports}:"
                            f"hard_rss_limit_mb={3 * most >> 21}:"
                            f"detect_stack_use_after_return=1:{own_signals}",
            "UBSAN_OPTIONS": f"print_stacktrace=1:halt_on_error=0:log_path={reports}:"
                             f"{own_signals}",
            "MSAN_OPTIONS": f"halt_on_error=1:exitcode=96:log_path={reports}:symbolize=0:"
                            f"{own_signals}",
            "LC_ALL": "C"}
