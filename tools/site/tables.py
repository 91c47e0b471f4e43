"""Tables of measurements.  docs/data/NAME.json -> Markdown, for `<!-- fill: table NAME -->`"""
from __future__ import annotations

import importlib
import json
import sys

from measure import ROOT

for folder in ("tools", "benchmarks", "benchmarks/peers"):
    if str(ROOT / folder) not in sys.path:
        sys.path.append(str(ROOT / folder))

# name: the function that makes it, and the file of docs/data that it is given
TABLES = {
    "ablations": ("ablate.table", "ablations"),
    "benchmarks": ("bench.table", "benchmarks"),
    "bridges": ("bridges_page.table", "bridges"),
    "checker": ("bench_check.table", "checker"),
    "checker-python": ("bench_check_python.table", "checker-python"),
    "claims": ("bench_claims.table", "claims"),
    "defaults": ("bench_defaults.table", "defaults"),
    "collecting": ("bench_ideas.collect_sentence", "ideas"),
    "finals": ("finals.table", "finals"),
    "fuzz": ("fuzz.table", "fuzz"),
    "gallery": ("gallery.page", "ocean"),
    "gallery-counts": ("gallery.count", "ocean"),
    "gallery-readme": ("gallery.sentence", "ocean"),
    "gallery-tree": ("gallery.tree_table", "ocean-tree"),
    "gallery-tree-readme": ("gallery.tree_sentence", "ocean-tree"),
    "gpu": ("bench_gpu.table", "benchmarks-gpu"),
    "encoders": ("bench_encoders.table", "encoders"),
    "gpu-day": ("gpu_day.table", "gpu"),
    "ideas": ("bench_ideas.table", "ideas"),
    "kernels": ("cuda_budget.kernels_page", "kernels"),
    "learning": ("bench_learn.table", "learning"),
    "lots": ("bench_check.lots_table", "checker"),
    "outward": ("outward_page.table", "outward"),
    "sanitizers": ("sanitizers.table", "sanitizers"),
    "scale": ("scale_page.table", "scale"),
    "seeing": ("bench_see.table", "seeing"),
    "self-play": ("bench_self_play.table", "self-play"),
    "solving": ("bench_train.solving", "training"),
    "staleness": ("staleness.table", "staleness"),
    "suites": ("suites.table", "suites"),
    "sweep-ratios": ("sweep_page.ratios", "sweep"),
    "sweeps": ("sweep_page.page", "sweep"),
    "training": ("bench_train.tables", "training"),
    "upstream": ("bench_upstream_speed.table", "upstream"),
    "upstream-faults": ("upstream_faults.table", "upstream-faults"),
    "upstream-findings": ("upstream_faults.counts", "upstream-faults"),
    "upstream-gpu": ("bench_upstream_gpu.table", "upstream-gpu"),
    "widths": ("bench_widths.table", "widths"),
}


def table(name: str, *, page: str) -> str:
    """The table, or a sentence if it is not measured yet, as on a GPU."""
    function, data = TABLES[name]
    path = ROOT / "docs" / "data" / f"{data}.json"
    if not path.is_file():
        return "Nobody has measured this yet."
    module, _, function = function.partition(".")
    return getattr(importlib.import_module(module), function)(json.loads(path.read_text())).strip()
