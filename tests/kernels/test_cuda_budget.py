"""What the GPU's compiler makes of the kernels, on six generations: a budget that holds without a
GPU, and the tables that are made of it."""
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from helpers.places import ROOT
from helpers.short_or_long import LONG, long_only

from puffer_sdk.env.gpu import programs

PAGE = ROOT / "docs" / "trainer" / "gpu.md"
BYTES = 8               # moves of one byte that a kernel of floats may have: flags, not rows
# Kernels that read masks and observations of bytes, element by element
OF_BYTES = {"heads_loss": 64, "heads_sample": 160, "tick_begin": 24, "final_obs_keep": 16}
STEP = 32               # of an environment's step, which the compiler unrolls
RESIDENT = 2            # blocks of 256 threads on a multiprocessor


@pytest.fixture(scope="module")
def budget():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools"))
        import cuda_budget
        yield cuda_budget


@pytest.fixture(scope="module")
def measured(budget):
    """Short: one generation of six."""
    some = list(budget.GENERATIONS) if LONG else ["90"]
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(some, pool.map(budget.measure, some)))


def over(budget, arch, kernel) -> list[str]:
    """What a kernel takes too much of."""
    blocks = kernel.occupancy * budget.GENERATIONS[arch].warps / (budget.THREADS / 32)
    return [word for word, is_over in (
        ("spills", kernel.spills or kernel.stack), ("occupancy", blocks < RESIDENT),
        ("bytes", kernel.byte_moves > OF_BYTES.get(kernel.name, BYTES))) if is_over]


@long_only
def test_every_kernel_keeps_its_budget_on_every_generation(budget, measured):
    assert list(measured) == ["75", "80", "86", "89", "90", "120"]
    for arch, kernels in measured.items():
        assert list(kernels) == budget.kernel_names() and len(kernels) > 25
        for kernel in kernels.values():
            assert kernel.registers > 0 and over(budget, arch, kernel) == [], (arch, kernel)


@long_only
def test_what_exceeds_it_is_seen(budget):
    """Eight blocks leave 32 registers a thread; and blocks need room for all that they ask for."""
    kernels = budget.measure("90", "-DCUDA_RESIDENT=8")
    assert over(budget, "90", kernels["scan_backward"]) == ["spills"]
    h100 = budget.GENERATIONS["90"]
    assert budget.occupancy(h100, 32, 0) == 1 and budget.occupancy(h100, 128, 0) == 0.25
    assert budget.occupancy(h100, 129, 0) == 0.125
    assert budget.occupancy(h100, 32, 150 << 10) == 0.125
    assert budget.count_moves("LDG.E.U8 R1 ;\n STG.E desc[UR4] ;\n ST.E.U8 [R2], R3 ;\n LDS.U8 R1 ;"
                              ) == (2, 3)


@pytest.mark.long
def test_environments_move_words(budget, games):
    """breakout's rows of 118 floats went byte by byte: 432 rounds a step."""
    for name in ("breakout", "snake") if LONG else ("breakout",):
        cubin = programs.build_program(games[name], "90").path
        step = budget.functions(budget.disassemble(cubin))["puffer_envs_step"]
        bytes_moved, moves = budget.count_moves(step)
        assert moves > 20 and bytes_moved <= STEP, (name, bytes_moved, moves)


@pytest.mark.long
def test_the_pages_tables_are_those_of_the_compiler(budget, measured):
    """Short: one generation's numbers, and its kernels' budget, which no other short test holds."""
    data = json.loads(budget.DATA.read_text())
    assert list(data["kernels"]) == list(budget.GENERATIONS)
    data["kernels"] = {arch: data["kernels"][arch] for arch in measured}
    assert budget.kernels_page(data) == budget.kernel_table(measured), "python tools/cuda_budget.py"
    assert [row["name"] for row in data["kernels"]["90"]] == budget.kernel_names()
    assert [kernel.name for kernel in measured["90"].values()
            if over(budget, "90", kernel)] == []
