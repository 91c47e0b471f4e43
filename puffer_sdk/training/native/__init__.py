"""The native trainer, from Python.  a VecEnv and settings -> a trained policy

    trainer = NativePPO(vec, config)
    while not trainer.finished:
        trainer.rollout()
        losses = trainer.update()

The arithmetic is C (kernels/, trainer/), compiled on first use; these modules hand it buffers and
turn its error texts into errors. The algorithm, and the interface, are the referee's:
torch_ppo.py. The same seed and settings give the same bytes, whatever the number of threads.

    library.py   compile and open it        handle.py   one trainer: calls, memory, errors
    envs.py      what it steps              ppo.py      NativePPO        actor.py   NativeActor
    cuda.py      the trainer for GPUs: whether it can run here, and its library
    cuda_finding.py   nvcc, cuBLASLt and the driver of this machine
"""
from .actor import NativeActor
from .library import build_trainer
from .ppo import NativePPO

__all__ = ["NativeActor", "NativePPO", "build_trainer"]
