"""One run in several processes, on one machine or several.

In reading order:

    rank       which rank this process is, from the variables of torchrun, srun or mpirun
    dividing   settings of the whole run -> those of one rank
    meeting    processes find each other, after a restart too
    group      sums, bytes from and to all ranks, over torch.distributed
    cores      processes of one machine, each on cores of its own
    failing    which rank failed, died or hangs, and why
    agreeing   versions, settings and sources of all ranks are the same
    launching  --train.processes: torchrun's agent, started here
"""
