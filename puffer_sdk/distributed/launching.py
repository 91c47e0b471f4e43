"""--train.processes N: several processes of one command on this machine.  words -> exit status

torchrun's own agent starts and watches them, as `torchrun --standalone` does, but within this
process and without its report of a failure, which our processes have printed already.
"""
from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence

from ..base.errors import RUN
from ..base.extras import require_torch
from ..base.processes import python


def launch(words: Sequence[str], processes: int) -> int:
    """Run `puffer-sdk WORDS` in so many processes that share a run. Returns the exit status: that
    of the one that failed first."""
    require_torch("train.processes")
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)
    config = LaunchConfig(
        min_nodes=1, max_nodes=1, nproc_per_node=processes, run_id=uuid.uuid4().hex,
        rdzv_backend="c10d", rdzv_endpoint="localhost:0", max_restarts=0, monitor_interval=0.1)
    try:
        program, *rest = python("puffer_sdk.__main__:run", *words)
        elastic_launch(config, program)(*rest)
    except ChildFailedError as error:
        status = error.get_first_failure()[1].exitcode
        return status if status > 0 else RUN        # by a signal: killed
    except SignalException as error:
        return 128 + error.sigval
    return 0
