"""An experiment: two settings, five seeds each, and whether their difference is more than luck.

    puffer-sdk new my_env
    python five_seeds.py my_env train.gamma=0.9 train.gamma=0.99 2000000
    puffer-sdk runs plot my_env             # the same runs, with bands of 95 %

The interval is of the mean over seeds, by bootstrap. Where two overlap, more seeds tell.
"""
import sys

import numpy as np

import puffer_sdk

SEEDS, METRIC = (1, 2, 3, 4, 5), "env/perf"


def run(env, settings, seed):
    """Train, as a run of its own -> the last tenth's mean of METRIC."""
    config = puffer_sdk.configure(env, {**settings, "train.seed": seed})
    tag = " ".join(f"{key}={value}" for key, value in settings.items())
    with puffer_sdk.make(env, total_agents=config.vec.total_agents, seed=seed,
                         env_settings=config.env) as vec, \
            puffer_sdk.Trainer(vec, config) as trainer, puffer_sdk.Run(trainer, tag=tag) as kept:
        while not trainer.finished:
            trainer.rollout()
            trainer.update()
            kept.log(env=vec.log())
        kept.save()
    (record,) = [each for each in puffer_sdk.runs(env) if each["folder"] == str(kept.folder)]
    curve = [row[METRIC] for row in record["curve"] if METRIC in row]
    return np.mean(curve[-max(1, len(curve) // 10):])


def interval(values):
    """Mean, and the 95 % interval of the mean, by bootstrap."""
    drawn = np.random.default_rng(0).choice(values, (10_000, len(values))).mean(1)
    return np.mean(values), *np.quantile(drawn, [0.025, 0.975])


def main(env, variants, steps, seeds=SEEDS):
    """variants: [{"train.gamma": 0.9}, ...] -> [(mean, low, high), ...]"""
    found = []
    for settings in variants:
        wanted = {**settings, "train.total_timesteps": steps}
        found.append(interval([run(env, wanted, seed) for seed in seeds]))
        mean, low, high = found[-1]
        print(f"{settings} {METRIC} {mean:.3f} ({low:.3f} to {high:.3f})", flush=True)
    return found


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit("usage: python five_seeds.py ENV KEY=VALUE... STEPS")
    main(sys.argv[1], [dict([word.split("=")]) for word in sys.argv[2:-1]], int(sys.argv[-1]))
