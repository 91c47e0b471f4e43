"""The page of PUF315."""
from ....core.vocabulary import family


@family("PUF315", "reward-lost", "warning")
def reward_lost() -> None:
    """A reward is lost: set back to 0 or replaced on the step that has paid it, or rounded away by
    a division of whole numbers.

    Why it ruins training: the agent does the right thing, and gets nothing for it. In a loop over
    frames only the last one counts; in a loop over agents the first ones lose what later ones earn
    for them, so the same move sometimes pays and sometimes does not.

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

    Not reported: what c_reset clears, where a step takes its rewards into a variable first and
    stores them back.

    How it is seen: rewards are 0 before each step, and every line that sets one to 0 records the
    value that it had. Another value is reported only where c_step sets it unconditionally: under a
    condition, it may be the reward of an ending. A division is reported if all its results are 0,
    but for a 1 for equal numbers.
    """
