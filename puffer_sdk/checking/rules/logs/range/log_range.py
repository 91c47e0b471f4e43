"""The page of PUF423."""
from ....core.vocabulary import family


@family("PUF423", "log-range", "warning")
def log_range() -> None:
    """`perf` of the log is outside [0, 1], or any of its values is not finite.

    Why it matters: perf is by convention the share of success, 1 being the best there is.
    Sweeps over several environments and the dashboard's bar compare it; a perf of 30 wins
    every comparison, and nobody can tell how far from done a run is.

    Bad:

        env->log.perf += env->score;                // 0 to 864

    Good:

        env->log.perf += env->score / MAX_SCORE;

    A NaN in one entry makes the mean of all entries NaN, and that of the whole window. A share that
    is divided as whole numbers is 0 for all but the best: `(float)(env->score / env->best)`.

    Each agent's entry must be within [0, 1], not only the mean of those that end on one step.

    A field that nothing writes, or an element of one, is 0 in every figure that is drawn from it.
    So is one that adds what nothing counts, or what was set to 0 just before: c_reset before the
    entry. A perf or score that is the same in every entry, and not 0, tells no policy from another,
    where the last rewards say that some episodes end well and others badly (looked at where each
    env has one agent). What is 0 in every entry because random play never gets there is not
    reported.

    Fix: divide by the best that can be reached; put the raw figure into `score`. Where nothing
    was counted, add 0 instead of 0 / 0.
    """
