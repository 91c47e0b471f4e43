"""The page of PUF315."""
from __future__ import annotations

from ....core.registry import family


@family("PUF315", "reward-lost", "warning")
def reward_lost():
    """A reward is lost: set back to 0 or replaced on the step that has paid it, or rounded away by
    a division of whole numbers.

    Why it ruins training: the agent does the right thing, and is told nothing. In a loop over
    frames only what happens in the last one counts; in a loop over agents the first ones lose
    what later ones earn for them, so that the same move pays or does not.

    Bad:

        for (int i = 0; i < env->num_agents; i++) {
            env->rewards[i] = 0.0f;
            act(env, i);                    // and pays its mates as well
        }

    Good:

        for (int i = 0; i < env->num_agents; i++) env->rewards[i] = 0.0f;
        for (int i = 0; i < env->num_agents; i++) act(env, i);

    Fix: set all rewards to 0 once, at the top of c_step, and add to them from there on. Divide
    floats: `(float)env->bag / (float)env->gems`.

    How it is seen: rewards are 0 before each step, and every line that sets one to 0 is asked what
    it was until then. To set another value is reported where c_step does so under no condition:
    under one, it may be the reward of an ending. A division is reported if its results are 0 and
    nothing else but a 1 for equal numbers.
    """
