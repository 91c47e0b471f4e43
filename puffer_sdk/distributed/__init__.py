"""One run in several processes, on one machine or several.

In reading order:

    rank       who this process is: what torchrun, srun or mpirun says in the environment
    dividing   settings of the whole run -> those of one rank
    meeting    processes find each other, after a restart too
    group      sums, bytes from and to all ranks, over torch.distributed
    cores      processes of one machine, each on cores of its own
    failing    which rank died, hangs or said why it ended
    agreeing   versions, settings and sources of all ranks are the same
    launching  --train.processes: torchrun's agent, started here
"""
