"""The first hours on a machine with a GPU, in stages of a few minutes each.

    python tools/gpu_day.py              list the stages, in the order to run them
    python tools/gpu_day.py first        run one or several, one after another

Every stage writes build/gpu-day/STAGE.txt, and its measurements to build/gpu-day/gpu.json, with the
machine, the driver and the date. On a real GPU, figures for the pages go to docs/data/gpu.json, and
`make docs-tables` fills them in. With PUFFER_CUDA=emulated, every stage runs with small sizes,
without NVIDIA's tools, and leaves docs/ alone: that is how it is tested.
Exit status: 0, 1 where a step of a stage failed, 2 where no GPU can be used.
"""
from __future__ import annotations

import argparse
import contextlib
import datetime
import itertools
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from puffer_sdk.base import ui
from puffer_sdk.base.errors import PufferError
from puffer_sdk.toolchain import compilers, cuda_finding, gpu
from puffer_sdk.training.native import cuda, trainer_sources

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
from bench_gpu import PYTEST, TESTS  # noqa: E402
from training_runs import BREAKOUT  # noqa: E402

DAY = ROOT / "docs" / "data" / "gpu.json"
AGENTS, PLACES = (1024, 4096, 16384), ("CPU", "GPU")
WIDE = ("--train.horizon", "64", "--train.minibatch-size", "32768", "--policy.hidden-size", "64",
        "--policy.num-layers", "2")
SMALL = ("--vec.total-agents", "64", "--train.horizon", "16", "--train.minibatch-size", "512",
         "--train.total-timesteps", "2048", "--policy.hidden-size", "16")
# For a sanitizer: an environment and a way to train, each of which runs other kernels
SANITIZED = (("breakout", {}), ("pendulum", {"train.precision": "bf16"}),
             ("snake", {"vec.device": "cuda", "vec.total_agents": "256"}))
# It watches one process, in which all has to happen: see one_process.py
SANITIZER = ("compute-sanitizer", "--target-processes", "application-only")
COMPLAINT = 9                   # compute-sanitizer's status, where the program itself ended well


@dataclass
class Day:
    """One call of this program: its folder, measurements and failures."""

    out: Path
    emulated: bool
    measured: dict = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    log: Path | None = None

    def run(self, *words: object, seconds: float, tool: str | None = None) -> str:
        """Run a command; its output goes to the stage's file. A timeout or bad status fails.

        tool    a program that runs it, only for a real GPU; without it the step is skipped
        """
        command = [str(word) for word in words]
        if tool and not self.emulated and not shutil.which(tool):
            self.fail(f"there is no {tool}: it comes with the CUDA toolkit")
            return ""
        began = time.monotonic()
        try:
            done = subprocess.run(command, cwd=ROOT, timeout=seconds, check=False, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  stdin=subprocess.DEVNULL, errors="replace")
            said, status = done.stdout, done.returncode
        except subprocess.TimeoutExpired as late:
            said, status = (late.stdout or b"").decode(errors="replace"), "too late"
        took = f"{time.monotonic() - began:.0f} s"
        shown = " ".join("python" if word == sys.executable else word.removeprefix(f"{ROOT}/")
                         for word in command)
        with open(self.log, "a", encoding="utf-8") as log:
            log.write(f"$ {shown}\n{said}-- status {status}, {took}\n\n")
        ui.say(f"{'ok    ' if status == 0 else 'FAILED'}  {took:>6}  {shown[:100]}")
        if status:
            ui.say("\n".join(said.splitlines()[-12:]))
            self.failed.append(f"{shown}: status {status}")
        return said

    def puffer(self, *words: object, seconds: float, **more) -> str:
        return self.run(sys.executable, "-m", "puffer_sdk", *words, seconds=seconds, **more)

    def fail(self, text: str) -> None:
        ui.say(f"FAILED          {text}")
        self.failed.append(text)

    @contextlib.contextmanager
    def trainings(self):
        """More settings of a training: small sizes if the GPU is emulated."""
        with tempfile.TemporaryDirectory() as runs:
            yield ["--runs-dir", runs, *(SMALL if self.emulated else ())]


# ---- the stages --------------------------------------------------------------------------------

def look(day: Day) -> None:
    """The machine, and the constants that decide its speed (gpu_probe.cc)."""
    if not day.emulated:
        day.run("nvidia-smi", "-q", seconds=60, tool="nvidia-smi")
    day.puffer("doctor", seconds=240)
    with tempfile.TemporaryDirectory() as folder:
        probe = build_probe(Path(folder), emulated=day.emulated)
        said = day.run(probe, *(["quick"] if day.emulated else []), seconds=300)
    day.measured["probe"] = {
        name: {"value": float(value), "unit": unit} for name, value, unit in
        re.findall(r"^([^\t\n]+)\t([^\t\n]+)\t(.*)$", said, re.M)}


def first(day: Day) -> None:
    """Compile the trainer, and solve breakout: envs on the CPU, on the GPU, in bf16."""
    bf16 = [("--vec.device", "cuda", "--train.precision", "bf16")] if gpu.has_bf16() else []
    solve = [] if day.emulated else ["--train.stop-at-goal", "1", *(
        word for name, value in BREAKOUT.items() for word in (f"--{name}", str(value)))]
    for way in ((), ("--vec.device", "cuda"), *bf16):
        with day.trainings() as more:
            day.puffer("train", "examples/breakout", "--train.device", "cuda", *way, *more, *solve,
                       seconds=180)


def tests(day: Day) -> None:
    """Compare every kernel, rollouts and updates with those of the CPU."""
    some = [*TESTS[:2], "-k", "a_tick_begins or orders_are"] if day.emulated else TESTS
    day.run(*PYTEST, "-rs", *some, seconds=560)


def figures(day: Day) -> None:
    """Steps a second with 1,024 to 16,384 agents; emulated, 64 stand for each, profiled once."""
    rates = day.measured.setdefault("steps_per_second", {})
    heard: dict[tuple[int, str], str] = {}
    for agents, place in itertools.product(AGENTS, PLACES):
        sizes = SMALL[2:] if day.emulated else WIDE
        many = 64 if day.emulated else agents
        if (many, place) not in heard:
            heard[many, place] = day.puffer(
                "profile", "examples/breakout", "--train.device", "cuda", "--seconds",
                "0.5" if day.emulated else "3", "--format", "json", "--vec.total-agents", many,
                *sizes, *(["--vec.device", "cuda"] if place == "GPU" else []), seconds=120)
        said = heard[many, place]
        with contextlib.suppress(ValueError):
            found = json.loads(said[said.index("{"):said.rindex("}") + 1])
            rates[f"{agents} agents, environments on the {place}"] = found["steps_per_second"]


def sanitizer(tool: str) -> Callable[[Day], None]:
    def stage(day: Day) -> None:
        in_front = [] if day.emulated else [
            *SANITIZER, "--tool", tool, "--error-exitcode", COMPLAINT]
        for env, way in SANITIZED:
            if gpu.has_bf16() or "train.precision" not in way:
                day.run(*in_front, sys.executable, "tools/one_process.py", env,
                        *(word for setting in way.items() for word in setting), seconds=190,
                        tool="compute-sanitizer")
    stage.__doc__ = f"compute-sanitizer's {tool} over three short trainings."
    return stage


STAGES: dict[str, tuple[int, Callable[[Day], None]]] = {       # minutes, at most
    "look": (5, look), "first": (6, first), "figures": (6, figures), "tests": (10, tests),
    "memcheck": (10, sanitizer("memcheck")), "racecheck": (10, sanitizer("racecheck")),
    "initcheck": (10, sanitizer("initcheck"))}


def build_probe(folder: Path, *, emulated: bool, arch: str | None = None) -> Path:
    """gpu_probe.cc with a device; arch ("90"): for another GPU than this machine's.

    Raises BuildError.
    """
    made, probe = folder / "gpu_probe", ROOT / "tools" / "gpu_probe.cc"
    flags = ("-O3", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-pthread")
    if not emulated:
        return cuda.build_with_kernels(made, [arch or gpu.list_usable()[0][1].arch],
                                       [*trainer_sources.for_cuda()[:2], probe], "the probe",
                                       flags=flags)
    compilers.compile_to(
        made, [*compilers.find_compiler().command, *flags,
               *(f"-I{place}" for place in trainer_sources.include_dirs()), "-x", "c++",
               *trainer_sources.for_emulated()[:2], probe, "-x", "none", "-lstdc++", "-lm", "-ldl"],
        source=probe, what="the probe", timeout=cuda.TIMEOUT)
    return made


# ---- the program -------------------------------------------------------------------------------

def machine() -> dict[str, object]:
    driver = cuda_finding.find_driver()
    there = next((each for _, each in gpu.list_usable()), None)
    compiler, _, _ = gpu.find_compiler(driver)
    return {"date": datetime.date.today().isoformat(), "cores": os.cpu_count(),
            "system": platform.platform(terse=True),
            "gpu": there.name if there else "emulated on the CPU",
            "capability": list(there.capability) if there else None,
            "driver": cuda_finding.shown(driver.version) if driver else None,
            "compiler": str(compiler) if compiler else None}


def table(data: dict) -> str:
    """The figures of docs/data/gpu.json, for docs/trainer/gpu.md."""
    probe = {name: each["value"] for name, each in data["probe"].items()}
    rates = data["steps_per_second"]
    lines = [f"{data['gpu']}, {data['cores']} cores, CUDA {data['driver']}, {data['date']}. "
             "breakout, two layers of 64 units, a horizon of 64, minibatches of 32,768, fp32:", "",
             "| agents | environments on the CPU | environments on the GPU |",
             "| --- | --- | --- |"]
    for agents in AGENTS:
        each = [rates.get(f"{agents} agents, environments on the {place}") for place in PLACES]
        shown = " | ".join(f"{rate / 1e6:.1f} M steps/s" if rate else "not measured"
                           for rate in each)
        lines.append(f"| {agents:,} | {shown} |")
    lines += ["", "| what decides it | |", "| --- | --- |"]
    lines += [f"| {label} | {show(probe[name])} |" for label, name, show in CONSTANTS
              if name in probe]
    return "\n".join(lines)


def microseconds(value: float) -> str:
    return f"{value:.1f} µs"


def rate_of(count: float) -> Callable[[float], str]:
    """The rate, from microseconds for so many bytes."""
    return lambda value: f"{microseconds(value)}, {count / value / 1e3:.0f} GB/s"


CONSTANTS: tuple[tuple[str, str, Callable[[float], str]], ...] = (     # in words, in gpu_probe.cc
    ("a small kernel in a graph", "a small kernel in a graph", microseconds),
    ("replaying a graph of 7 kernels and waiting for it", "graph of 7, waited for each time",
     microseconds),
    ("observations of 1,024 agents to the GPU", "upload of 483328 bytes", rate_of(483328)),
    ("observations of 4,096 agents to the GPU", "upload of 1933312 bytes", rate_of(1933312)),
    ("a layer's scan, 512 segments of 64 ticks, 32 units",
     "scan_forward, 512 segments of 64, 32 units, blocks of 64", microseconds),
    ("a layer's product in a tick of 4,096 rows, 128 units, fp32",
     "layer 4096 x 384 x 128, fp32", microseconds),
    ("the same in bf16", "layer 4096 x 384 x 128, bf16", microseconds),
    ("the largest product of a minibatch of 32,768, fp32", "layer 32768 x 384 x 128, fp32",
     microseconds),
    ("the same in bf16", "layer 32768 x 384 x 128, bf16", microseconds),
    ("a copy on the GPU, reads and writes", "a copy on the device",
     lambda value: f"{value / 1e12:.1f} TB/s"),
    ("large products in fp32", "a large product in fp32",
     lambda value: f"{value / 1e12:.0f} TFLOP/s"),
    ("large products in bf16", "a large product in bf16",
     lambda value: f"{value / 1e12:.0f} TFLOP/s"))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stages", nargs="*", choices=[[], *STAGES], metavar="STAGE")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "gpu-day", metavar="FOLDER")
    asked = parser.parse_args(arguments)
    if not asked.stages:
        for name, (minutes, stage) in STAGES.items():
            ui.out(f"{name:<10} {minutes:>3} min at most   {stage.__doc__.splitlines()[0]}")
        return 0
    try:
        _, why = gpu.choose_device("cuda")
        cuda.build()
    except PufferError as error:
        ui.print_error(error)
        return error.exit_status
    ui.say(why)
    asked.out.mkdir(parents=True, exist_ok=True)
    kept = asked.out / "gpu.json"
    day = Day(asked.out, gpu.is_emulated(), json.loads(kept.read_text()) if kept.is_file() else {})
    for name in asked.stages:
        day.log = asked.out / f"{name}.txt"
        day.log.write_text("")
        STAGES[name][1](day)
        day.measured = {**day.measured, **machine()}
        day.measured.setdefault("steps_per_second", {})
        kept.write_text(json.dumps(day.measured, indent=1) + "\n")
    if not day.emulated:
        shown = {name for _, name, _ in CONSTANTS}
        probe = {name: each for name, each in day.measured.get("probe", {}).items()
                 if name in shown}
        DAY.write_text(json.dumps({**day.measured, "probe": probe}, indent=1) + "\n")
        ui.say(f"wrote   {DAY.relative_to(ROOT)}; make docs-tables puts it on the page")
    return 1 if day.failed else 0


if __name__ == "__main__":
    sys.exit(main())
