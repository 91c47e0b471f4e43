"""Registers, memory and occupancy of every GPU kernel, as compiled.  No GPU is needed.

    python tools/cuda_budget.py        writes docs/data/kernels.json, for docs/trainer/gpu.md

NVRTC compiles the kernels for six generations, and reports registers, shared memory and spills of
each; the disassembly shows how often it moves single bytes.
"""
from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from puffer_sdk.toolchain import nvrtc
from puffer_sdk.training.native import cuda, trainer_sources

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
DATA = ROOT / "docs" / "data" / "kernels.json"
THREADS = 256                           # of a block at most: CUDA_THREADS


@dataclass(frozen=True)
class Generation:
    """A multiprocessor. Source: CUDA C++ Programming Guide, compute capabilities."""

    name: str
    warps: int                          # that can be resident
    blocks: int
    shared: int                         # KiB for all blocks
    registers: int = 65536


GENERATIONS = {"75": Generation("T4, RTX 20", 32, 16, 64),
               "80": Generation("A100", 64, 32, 164), "86": Generation("RTX 30", 48, 16, 100),
               "89": Generation("RTX 40", 48, 24, 100), "90": Generation("H100", 64, 32, 228),
               "120": Generation("RTX 50", 48, 24, 100)}


@dataclass(frozen=True)
class Kernel:
    """One kernel on one generation: registers of a thread, bytes of shared memory of a block."""

    name: str
    registers: int
    shared: int
    spills: int                         # bytes stored and loaded again
    stack: int                          # bytes of a thread
    byte_moves: int                     # loads and stores of one byte, in the code
    moves: int                          # all loads and stores of global memory
    occupancy: float                    # warps that can be resident, of those that there could be


def occupancy(generation: Generation, registers: int, shared: int, threads: int = THREADS) -> float:
    """A warp gets registers in units of 256; a block gets shared memory in KiB, and one more."""
    warps = threads // 32
    each = -(-registers * 32 // 256) * 256 * warps
    blocks = min(generation.blocks, generation.warps // warps, generation.registers // each,
                 (generation.shared << 10) // (shared + 1024))
    return blocks * warps / generation.warps


def disassemble(cubin: Path) -> str:
    """SASS, by NVIDIA's nvdisasm, which comes with the development requirements."""
    files = metadata.files("nvidia-cuda-nvdisasm") or []
    tool = next(file.locate() for file in files if file.name == "nvdisasm")
    return subprocess.run([str(tool), "-c", str(cubin)], capture_output=True, text=True,
                          check=True).stdout


def functions(sass: str) -> dict[str, str]:
    """{a kernel's name: its code}"""
    parts = re.split(r"^\.text\.(\S+):$", sass, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def count_moves(code: str) -> tuple[int, int]:
    """(loads and stores of one byte, all loads and stores) of global memory."""
    moves = re.findall(r"\b(?:LD|ST)G?\b(?:\.\w+)*", code)
    return sum(bool(re.search(r"\.[US]8\b", move)) for move in moves), len(moves)


def measure(arch: str, *flags: str) -> dict[str, Kernel]:
    """{name: Kernel} on one generation; flags are NVRTC's."""
    with tempfile.TemporaryDirectory() as folder:
        cubin, said = cuda.compile_kernels(nvrtc.find(), arch, "--ptxas-options=-v", *flags)
        file = Path(folder) / "kernels.cubin"
        file.write_bytes(cubin)
        code = functions(disassemble(file))
    kernels = {}
    for block in said.split("Compiling entry function")[1:]:
        name = re.match(r" '(\w+)'", block)[1]

        def number(pattern: str, block: str = block) -> int:
            found = re.search(pattern, block)
            return int(found[1]) if found else 0

        registers, shared = number(r"Used (\d+) registers"), number(r"(\d+) bytes smem")
        kernels[name] = Kernel(
            name, registers, shared,
            number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads"),
            number(r"(\d+) bytes stack frame"), *count_moves(code[name]),
            occupancy(GENERATIONS[arch], registers, shared))
    return {name: kernels[name] for name in kernel_names()}


def kernel_names() -> list[str]:
    """In the order of the data flow."""
    text = (trainer_sources.home() / "kernels" / "cuda" / "contract.h").read_text()
    return re.findall(r"^    X\((\w+), ", text, re.M)


# ---- the tables ----------------------------------------------------------------------------------

def kernel_table(measured: dict[str, dict[str, Kernel]]) -> str:
    archs = list(measured)
    lines = ["| kernel | registers | shared memory | resident warps |",
             "| --- | --- | --- | --- |"]
    for name in measured["90"]:
        each = [measured[arch][name] for arch in archs]
        registers = sorted({kernel.registers for kernel in each})
        shares = sorted({round(100 * kernel.occupancy) for kernel in each})
        shared = each[0].shared
        lines.append(f"| `{name}` | {span(registers)} | {f'{shared:,} B' if shared else ''} | "
                     f"{span(shares)} % |")
    said = ", ".join(f"sm_{arch}" for arch in archs)
    return "\n".join([f"From the compiler, for {said}; blocks of {THREADS} threads.", "", *lines])


def kernels_page(data: dict) -> str:
    """The table of kernels, from the file."""
    return kernel_table({arch: {row["name"]: Kernel(**row) for row in rows}
                         for arch, rows in data["kernels"].items()})


def span(values: list[int]) -> str:
    return str(values[0]) if len(values) == 1 else f"{values[0]} to {values[-1]}"


def main() -> int:
    measured = {arch: measure(arch) for arch in GENERATIONS}
    DATA.write_text(json.dumps(
        {"command": "python tools/cuda_budget.py", "compiler": str(nvrtc.find()),
         "kernels": {arch: [asdict(kernel) for kernel in found.values()]
                     for arch, found in measured.items()}}, indent=1) + "\n")
    print(f"wrote    {DATA.relative_to(ROOT)}; `make docs-tables` puts it into the page")
    return 0


if __name__ == "__main__":
    sys.exit(main())
