"""The native trainer, from Python.  a VecEnv and settings -> a trained policy

    trainer = NativePPO(vec, config)
    while not trainer.finished:
        trainer.rollout()
        losses = trainer.update()

The arithmetic is C (kernels/, trainer/), compiled on first use. These modules give it buffers and
turn its errors into exceptions. The algorithm and the interface are those of the PyTorch
reference (training/reference/). The same seed and settings give the same bytes for any number
of threads.

    trainer_sources.py   which C files
    trainer_library.py   compile and open the CPU trainer
    cuda.py              compile and open the CUDA trainer
    native_ppo.py        NativePPO
    self_play_ppo.py     the same with opponents
    actor.py             NativeActor
    handle.py            one trainer: calls, memory
    envs.py              the envs that it steps
    trainer_errors.py    kinds of errors -> exceptions
    phase_timers.py      its clocks
    gpu_readings.py      its GPUs
    exchange.py          sums over the ranks of a run
"""
