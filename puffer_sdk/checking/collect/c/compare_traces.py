"""Where two traces differ first.  Facts.traces -> Facts.differences, build_differences

A trace holds a hash of each env's rows at each step. All traces of one build must be equal.
"""
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ....base.spec import OBS_NAMES
from ...core.fact_kinds import TracedFact
from ...core.facts import Difference, Trace
from .driver import EXACT, FAST
from .jobs import Lab

BESIDE = {"trace-threads": "trace-debug"}        # what a trace is compared with, if not -base


def _differing(trace: Trace, other: Trace) -> NDArray[np.bool_]:
    """(steps, envs) True where two traces differ, as far as both go; 0 = an env not stepped."""
    steps = min(len(trace), len(other))
    differs: NDArray[np.bool_] = (trace[:steps] != other[:steps]) & (trace[:steps] != 0)
    return differs


class Traces:
    """The traces that a plan left behind; it runs an experiment again for a closer look."""

    def __init__(self, plan: Lab):
        self.plan, self.facts = plan, plan.facts

    def find_differences(self) -> None:
        """Compare the traces with trace-base; run both again up to the first difference."""
        facts = self.facts
        self.read()
        for name, trace in sorted(facts.traces.items()):
            base = facts.traces.get(BESIDE.get(name, "trace-base"))
            if base is None or base is trace or name == "trace-seeded" or \
                    trace.shape[1] != base.shape[1]:
                continue
            differs = _differing(trace, base)
            if differs.any() and not (name in EXACT and self.same_without_folding(name)):
                step = int(np.flatnonzero(differs.any(axis=1))[0])
                env = int(np.flatnonzero(differs[step])[0])
                found = self.look_closer(name, step, env)
                if self.plan.ran[name].kind == FAST:
                    facts.differences[name] = found
                else:
                    facts.build_differences[name] = found

    def read(self) -> None:
        for name, outcome in self.facts.outcomes.items():
            path = self.plan.folder / f"{name}.u64"
            traced = outcome.first(TracedFact)
            if outcome.ended and traced and path.is_file():
                self.facts.traces[name] = np.fromfile(path, np.uint64).reshape(-1, traced.envs)

    def same_without_folding(self, name: str) -> bool:
        """Whether two builds differ only in functions of constants that the compiler evaluates."""
        traces: list[Trace] = [] if name == "trace-trained" else [self.facts.traces[name]]
        for which in ("trace-debug", "trace-trained")[:2 - len(traces)]:
            kind = EXACT[which]
            job = self.plan.ran["trace-trained"]
            path = self.plan.folder / f"{kind.name}.u64"
            self.plan.build(kind)
            self.plan.experiment(job._replace(name=kind.name, kind=kind,
                                             options={**job.options, "hashes": path}))
            outcome = self.facts.outcomes.pop(kind.name)
            traced = outcome.first(TracedFact)
            if traced is None or not outcome.ended:
                return False
            traces.append(np.fromfile(path, np.uint64).reshape(-1, traced.envs))
        return not _differing(*traces).any()

    def look_closer(self, name: str, step: int, env: int) -> Difference:
        """The first element that differs, from dumps of that env's rows at that step."""
        dumps, structs = [], []
        for which in (BESIDE.get(name, "trace-base"), name):
            path = self.plan.folder / f"{which}.rows"
            job = self.plan.ran[which]
            options = job.options.copy()
            options.pop("hashes", None)
            self.plan.experiment(job._replace(name=f"{which}-dump", options={
                **options, "dump": path, "dump_step": step, "dump_env": env}))
            self.facts.outcomes.pop(f"{which}-dump")
            self.facts.setups.pop(f"{which}-dump", None)
            beside = Path(f"{path}.struct")
            dumps.append(np.fromfile(path, np.uint8) if path.is_file() else np.zeros(0, np.uint8))
            structs.append(beside.read_bytes() if beside.is_file() else b"")
        found = self.locate(dumps, step, env)
        layout = self.facts.layout
        if layout and len(structs[0]) == len(structs[1]) == layout.size:
            found.fields = layout.differences(*structs)
        return found

    def locate(self, dumps: list[NDArray[np.uint8]], step: int, env: int) -> Difference:
        shape = self.facts.shape
        if dumps[0].size != dumps[1].size or np.array_equal(dumps[0], dumps[1]):
            return Difference(env, step, "rows", 0, None, "one value", "another")
        observed = np.dtype(OBS_NAMES[shape.dtype])
        per_agent = {"observations": shape.obs_size * observed.itemsize, "rewards": 4,
                     "terminals": 4, "truncations": 4 * shape.truncations,
                     "action_mask": shape.mask, "alive": shape.alive}
        agents = dumps[0].size // sum(per_agent.values())
        begin = 0
        for array, size in per_agent.items():
            kind = np.uint8 if array in ("action_mask", "alive") else \
                observed if array == "observations" else np.float32
            one, other = (dump[begin:begin + size * agents] for dump in dumps)
            begin += size * agents
            differs = np.flatnonzero(one != other)
            if differs.size:
                index = int(differs[0]) // np.dtype(kind).itemsize
                each = max(size // np.dtype(kind).itemsize, 1)
                values = [part.copy().view(kind)[index].item() for part in (one, other)]
                element = index % each if array in ("observations", "action_mask") else None
                return Difference(env, step, array, index // each, element, *values)
        return Difference(env, step, "rows", 0, None, "one value", "another")
