"""A curriculum: episodes of cartpole get longer as the policy gets better. In C or in Python.

    puffer-sdk train cartpole --train.on-epoch curriculum.py:Rises      # beside you, or the header

KEY is a setting of [env] (of a Python environment: an attribute, or an option of reset).
Evaluations play [env] as the ini has it, here the last level. The metric is `level`.
"""
KEY, LEVELS = "max_steps", (25, 50, 100, 200)
GOOD, METRIC = 0.9, "env/episode_length"    # of the level, before the next one


class Rises:
    """Where it is goes into checkpoints, and so does what was set: a resumed run goes on as it was.
    """

    def __init__(self):
        self.place = -1

    def __call__(self, trainer):
        reached, begins = trainer.metrics.get(METRIC, 0), self.place < 0
        good = not begins and reached >= GOOD * LEVELS[self.place]
        if begins or (good and not trainer.vec.waiting and self.place + 1 < len(LEVELS)):
            self.place += 1
            trainer.vec.set(KEY, LEVELS[self.place])    # at each env's next reset
        trainer.log("level", LEVELS[self.place])

    def state_dict(self):
        return {"place": self.place}

    def load_state_dict(self, state):
        self.place = state["place"]
