"""A program for each error that fails.  Facts + Findings -> build/check/repro_PUFnnn.c

The program (include/puffer_repro.h) plays one env by a script of actions and looks for what the
finding says. Here the script is taken from the experiment that showed the fault, played on a
program that reads it from a file, made as short and plain as it can be, and written down.
"""
from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ...base import files, paths
from ...base.errors import PufferError
from ..collect.c import deep
from ..core import registry
from ..core.facts import Facts, Setup
from ..core.finding import Finding
from ..core.repro_spec import ASAN, HANG, UNDEFINED, Claim, Proof
from . import program as repro
from .program import World
from .shrinking import RESET, Row, shrink

if TYPE_CHECKING:
    from ..collect.c.plan import Plan

T = TypeVar("T")
ALL_SECONDS = 8.0       # of work, as modelled below: not measured, so that results repeat
ONE_SECONDS = 1.5
START = 0.01            # seconds that a program with sanitizers takes to begin and end
SLOW_START = 1.0        # seconds beyond the model from which on a trial's price is measured
REPORT = 0.1            # the same with a sanitizer's report
TRIAL_PATIENCE = 0.2    # seconds that one call may take, where a hang is looked for
SLOWER = 8              # than the fast build that the cost of a step was measured on
MOST_STEPS = 4096       # of a script, where the finding names no step
LONGEST = 1 << 14       # rows of a script: what takes longer to show has no program
THREAD_STEPS = 100      # that two threads race for
TRIES = 3               # findings of one code that are tried


def prove(facts: Facts, findings: list[Finding], lab: Plan | None, *,
          verbose: bool = False) -> None:
    """Give the first finding of each error its program, and remove those of earlier checks."""
    folder = repro.check_dir(facts.folder)
    repro.clear(folder)
    known = registry.load()
    wanted: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.severity == "error" and known[finding.code].proof and (
                finding.seen_in not in ("", *deep.SLOWER)):      # --deep's tools are not in a repro
            wanted.setdefault(finding.code, []).append(finding)
    if not wanted or lab is None:
        return
    seconds = min(ONE_SECONDS, ALL_SECONDS / len(wanted))
    workshop = _Workshop(facts, lab, verbose)
    with ThreadPoolExecutor(2) as pool:
        try:
            for job in [pool.submit(_prove_first, workshop, group, proof, seconds)
                        for code, group in wanted.items()
                        if (proof := known[code].proof) is not None]:
                job.result()
        except BaseException:           # a signal: leaving the pool waits for its threads
            workshop.stop()
            raise


def _prove_first(workshop: _Workshop, group: list[Finding], proof: Proof,
                 seconds: float) -> None:
    for finding in group[:TRIES]:
        with suppress(PufferError, OSError):    # a proof is extra: check's result stands without
            if workshop.stopped:
                return
            if _Proof(workshop, finding, proof, seconds).run():
                return


@dataclass
class _Workshop:
    """What the proofs of one check share: facts, and programs that read their script."""

    facts: Facts
    lab: Plan
    verbose: bool
    programs: dict[tuple[str, ...], Path] = field(default_factory=dict)     # flags -> the reader
    children: set[subprocess.Popen[bytes]] = field(default_factory=set)     # programs that run
    stopped: bool = False
    _building: Lock = field(default_factory=Lock)

    def stop(self) -> None:
        """End what runs, and try nothing more."""
        self.stopped = True
        for child in list(self.children):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)

    def program(self, flags: tuple[str, ...]) -> Path:
        with self._building:
            if flags not in self.programs:
                source = self.lab.folder / f"trial-{len(self.programs)}.c"
                binding = repro.binding_path(self.facts.known_spec)
                files.write(source, repro.render_trial(binding))
                self.programs[flags] = repro.compile_source(
                    self.facts.known_spec, source, source.with_suffix(""), flags,
                    verbose=self.verbose)
            return self.programs[flags]


Reason = tuple[int | None, tuple[str, int] | None, str]


@dataclass(frozen=True)
class _Result:
    """What one run of a program showed."""

    status: int | None          # None: it had to be ended
    step: int
    array: str                  # whose rows the env left, "" = it did not
    place: tuple[str, int] | None       # the author's line that a sanitizer named

    @property
    def reason(self) -> Reason:
        """Runs that fail for the same reason have the same."""
        return self.status, self.place, self.array


class _Proof:
    """The way from one finding to its program."""

    def __init__(self, workshop: _Workshop, finding: Finding, proof: Proof, seconds: float):
        self.shop, self.facts, self.finding = workshop, workshop.facts, finding
        self.left, self.slow = seconds, 0.0
        self.proof, self.claim = proof, _claim(finding, proof)
        self.flags = repro.flags_of(self.claim.expect)
        self.script = workshop.lab.folder / f"proof-{finding.code}.txt"
        self.cost = workshop.lab.sizes.seconds * SLOWER

    def run(self) -> bool:
        self.shop.program(self.flags)           # compiled before anything is timed
        for world, rows in self.worlds():
            began = time.perf_counter()
            result = self.play(world, rows)
            taken = time.perf_counter() - began
            if self.shop.stopped:
                return False
            if not self.shows(result):
                continue
            if taken > SLOW_START + 10 * self.price(world, rows, result.status):
                self.slow = taken           # its init makes maps, say
            reason = result.reason

            def fails(rows: Sequence[Row], world: World = world,
                      reason: Reason = reason) -> int | None:
                if self.shop.stopped:           # long scripts have many passes: end them all
                    raise PufferError("the check was stopped")
                if self.left <= 0:
                    return None
                tried = self.play(world, rows)
                self.left -= self.price(world, rows, tried.status)
                return self.needed(rows, tried) if tried.reason == reason else None

            if world.idle:
                return self.write(world, rows, reason)
            rows = rows[:self.needed(rows, result)]
            rows = shrink(rows, self.noop(self.width(rows, 0) or world.width), fails)
            return self.write(world, rows, reason)
        return False

    # -- what to play

    def worlds(self) -> Iterator[tuple[World, list[Row]]]:
        """(World, rows): only this env, two envs, then all of the experiment's."""
        facts, finding = self.facts, self.finding
        setup = facts.setups.get(finding.seen_in, Setup())
        env = finding.env or 0
        envs = max(setup.envs, env + 1)
        steps = finding.step if finding.step is not None else MOST_STEPS
        steps = steps if setup.steps is None else min(steps, setup.steps)
        if steps > LONGEST:
            return
        if self.claim.expect == "determined":
            steps = 0
        if setup.experiment in ("audit", "rewrite") or self.claim.expect in (
                "logged", "log", "freed", "steady",         # other steps, as good
                "same-again"):              # the first run's end may matter to the second
            steps = MOST_STEPS if setup.steps is None else min(setup.steps, MOST_STEPS)
        shape = facts.shape
        tiling = shape.agents            # the fewest agents that envs can be made of
        low = finding.seen_in.endswith("-low") or (
            finding.seen_in == "packed" and isinstance(finding.element, int)
            and finding.element < 0)
        base = World(facts.seed, low=low, patience=min(
            facts.config.vec.step_timeout, self.proof.patience))
        if self.claim.expect == "same-on-threads":      # chance decides: nothing to shrink
            width = shape.env_agents * shape.heads
            yield replace(base, env=min(env, 3), total=4 * tiling, width=width,
                          idle=True), [self.noop(width)] * THREAD_STEPS
            return
        own = self.rows(envs, env, steps)
        width = self.width(own, shape.env_agents)
        if self.proof.envs == 1:
            if shape.envs == 1:
                yield replace(base, seat=env, width=width), own
            else:
                yield replace(base, env=min(env, shape.envs - 1), total=tiling,
                              width=width), own
        if self.proof.envs <= 2 and shape.envs == 1:
            yield replace(base, env=min(env, 1), total=2 * tiling, width=width), own
        total = envs * tiling
        yield replace(base, env=env, total=total, width=width), own
        if envs > 1:
            everyone = self.rows(envs, -1, steps)
            yield replace(base, env=env, total=total,
                          width=self.width(everyone, total)), everyone

    def rows(self, envs: int, env: int, steps: int) -> list[Row]:
        setup = self.facts.setups.get(self.finding.seen_in, Setup())
        script = self.shop.lab.script(envs, env, steps, setup.uneven) if steps \
            else np.zeros((0, 0))
        rows: list[Row] = [tuple(float(x) for x in row) for row in script]
        if setup.experiment == "guard" and setup.steps is not None and steps >= setup.steps:
            rows.append(RESET)              # as that experiment does at its end
        if self.claim.expect == "goes-on":
            rows += [self.noop(self.width(rows, 0) or 1)] * 2001
        return rows

    def width(self, rows: list[Row], agents: int) -> int:
        return len(rows[0]) if rows and rows[0] else agents * self.facts.shape.heads

    def noop(self, width: int) -> tuple[float, ...]:
        """The action of [eval] idle_action, else zeros, for all agents of a row."""
        heads = self.facts.shape.heads
        idle = [float(word) for word in re.findall(r"-?[\d.]+", str(
            getattr(self.facts.config.eval, "idle_action", "")))]
        idle = idle if len(idle) == heads else [0.0] * heads
        return tuple(idle * (width // max(heads, 1)))

    # -- playing

    def needed(self, rows: Sequence[Row], result: _Result) -> int:
        """How many rows come before the failure. A second run may fail for the first one's end."""
        return len(rows) if self.claim.expect == "same-again" else _rows_until(rows, result.step)

    def price(self, world: World, rows: Sequence[Row], status: int | None) -> float:
        """Modelled seconds of one trial."""
        envs = max(world.total // max(self.facts.shape.env_agents, 1), 1)
        runs = 2
        end = TRIAL_PATIENCE if status == HANG else REPORT if status in (ASAN, UNDEFINED) else START
        return max(end, self.slow) + (len(rows) + 1) * envs * runs * self.cost

    def play(self, world: World, rows: Sequence[Row]) -> _Result:
        if self.proof.statuses == (HANG,):
            world = replace(world, patience=min(world.patience, TRIAL_PATIENCE))
        settings, vec = self.settings(world)
        files.write(self.script, repro.script_file(self.claim, world, settings, vec, rows))
        return self.execute(self.shop.program(self.flags),
                            {"PUFFER_REPRO_SCRIPT": str(self.script)})

    def settings(self, world: World) -> tuple[dict[str, float], dict[str, float]]:
        """[env] and [vec] of this finding."""
        settings = {**self.facts.config.env, **(self.finding.shows.settings or {})}
        vec = {"total_agents": float(self.facts.config.vec.total_agents)}
        return settings, vec if self.facts.handwritten else {}

    def execute(self, program: Path, extra: dict[str, str]) -> _Result:
        done = repro.run_program(program, self.facts.known_spec, extra, self.shop.children)
        place = repro.own_place(done.stderr, self.facts.folder)
        seen = done.result
        return _Result(done.status, seen.step if seen else 0,
                       seen.array if seen and seen.outside else "", place)

    def shows(self, result: _Result) -> bool:
        """Whether this run shows what the finding says."""
        if result.status not in self.proof.statuses:
            return False
        if self.proof.at_line and result.place:
            return result.place == (self.finding.file, self.finding.line)
        return not self.proof.outside or result.array in self.proof.outside

    # -- the program

    def write(self, world: World, rows: list[Row], reason: Reason) -> bool:
        facts, finding = self.facts, self.finding
        folder = paths.writable(repro.check_dir(facts.folder), purpose="repro programs")
        target = folder / f"repro_{finding.code}.c"
        settings, vec = self.settings(world)
        files.write(target, repro.render(facts, finding, self.claim, world, settings, vec, rows,
                                         target))
        good = False
        try:
            program = repro.compile_source(facts.known_spec, target, target.with_suffix(""),
                                           self.flags, verbose=self.shop.verbose)
            result = self.execute(program, {})
            good = result.reason == reason or (world.idle and self.shows(result))
        finally:
            if not good:
                repro.remove(target)
        if good:
            inside = facts.folder in target.parents
            finding.repro = str(target.relative_to(facts.folder) if inside else target)
            finding.repro_steps = sum(row is not RESET for row in rows)
        return good


def _claim(finding: Finding, proof: Proof) -> Claim:
    """What the finding says, as an expectation."""
    shows = finding.shows
    expect = _either(shows.expect, proof.expect)
    agent = _either(shows.agent, _either(finding.agent, -1))
    first, last = (finding.block if proof.array == "observations" else None) or (0, -1)
    if expect.startswith("same-") or expect in ("return", "freed", "steady"):
        agent, first, last = _either(shows.agent, -1), 0, -1
    return Claim(expect, _either(shows.array, proof.array), agent, first, last,
                 _either(shows.low, proof.low), _either(shows.high, proof.high), shows.field,
                 shows.pointer, shows.offset, shows.is_float, shows.scale, shows.shift)


def _either(one: T | None, other: T) -> T:
    return other if one is None else one


def _rows_until(rows: Sequence[Row], step: int) -> int:
    """How many rows are needed to come through that step (and the resets right after it)."""
    done = 0
    for index, row in enumerate(rows):
        if row is not RESET:
            if done == step:
                return index
            done += 1
    return len(rows)
