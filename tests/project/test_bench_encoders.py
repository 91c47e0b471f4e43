"""bench_encoders.py: its table, and the convolutions that both sides are given."""
import json
import subprocess
import sys

import bench_encoders
from bench_encoders import PART

from puffer_sdk.settings import encoder


def test_the_table_has_every_row():
    rows = [{"encoder": name, "path": path, "gflops": 100.0, "forward": 1.5, "both": 2.5}
            for name in ("small", "nature") for path in ("avx512", "avx2")]
    text = bench_encoders.table({
        "rates": rows, "training": {"ours": 800.0, "ours_wide": 400.0, "sb3": 200.0},
        "machine": {"cores": 2, "cpu": "CPU", "date": "now"}})
    assert text.count("100 GFLOP/s | 1.50 | 2.50 |") == len(rows)
    assert "800 with 64 units" in text and "400 with 512" in text and "CnnPolicy 200" in text


def test_pytorch_is_given_the_same_convolutions():
    part = encoder.layers_for(PART, "small")
    asked = {"layers": [(c.filters, c.kernel, c.stride) for c in part.layers], "hidden": 8,
             "batch": 2, "seconds": 0}
    program = bench_encoders.TORCH.replace("for _ in sys.stdin:", """
print([list(each.shape) for each in net.parameters()])
for _ in ():""")
    done = subprocess.run([sys.executable, "-c", program, json.dumps(asked)], text=True,
                          capture_output=True, check=True)
    assert json.loads(done.stdout) == [[16, 1, 8, 8], [32, 16, 4, 4], [8, part.features]]
