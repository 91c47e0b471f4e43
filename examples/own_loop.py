"""Train with a loop of your own: stop as soon as the policy is good enough, and keep the best.

    puffer-sdk new my_env
    python own_loop.py my_env 0.97
    puffer-sdk eval my_env --load-model-path own_loop.safetensors

The pieces are those of `puffer-sdk train`: envs, trainer, settings. Between rollout and update
you may look at everything, and change it: trainer.parameters are the live weights, as NumPy
arrays. Whatever you do instead of this loop's `if` is your experiment.
"""
import sys
import time

import puffer_sdk

if len(sys.argv) != 3:
    sys.exit("usage: python own_loop.py ENV GOAL    (GOAL is a perf, such as 0.97)")
name, goal = sys.argv[1], float(sys.argv[2])

vec = puffer_sdk.make(name, num_envs=1024, seed=1)
trainer = puffer_sdk.Trainer(vec)
began, perf, shown = time.perf_counter(), 0.0, 0.0

while perf < goal and not trainer.finished:
    trainer.rollout()
    losses = trainer.update()
    episodes = vec.log()                    # means over the episodes that ended; {} if none did
    if episodes:
        perf += 0.2 * (episodes["perf"] - perf)     # a running mean: one epoch's is noisy
    seconds = time.perf_counter() - began
    if seconds >= shown + 1:
        shown = seconds
        print(f"{trainer.global_step:>10,} steps  perf {perf:.3f}  "
              f"entropy {losses['loss/entropy']:.2f}  "
              f"{trainer.global_step / seconds:,.0f} steps/s")

print(f"perf {perf:.3f} after {trainer.global_step:,} steps and "
      f"{time.perf_counter() - began:.1f} s")
print({weight: array.shape for weight, array in trainer.parameters.items()})
print("saved", trainer.save("own_loop.safetensors"))
trainer.close()
vec.close()
