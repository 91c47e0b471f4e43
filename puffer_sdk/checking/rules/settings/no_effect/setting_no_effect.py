"""The page of PUF113."""
from ....core.vocabulary import family


@family("PUF113", "setting-no-effect", "warning")
def setting_no_effect() -> None:
    """Another value of an [env] key changes no observation, reward, ending or log.

    Why it matters: whoever tunes this key tunes nothing. A sweep spends its budget on it,
    and the result is noise with an explanation. Usually a constant is used where the field
    was meant, or init overwrites the field.

    Bad:

        #define MAX_TICKS 200
        if (env->tick >= MAX_TICKS) ...         (the ini gives: max_ticks = 300)

    Good:

        if (env->tick >= env->max_ticks) ...

    Fix: use the field, or delete the key.

    Not reported: keys that only drawing reads, and keys that steps read and nothing overwrites:
    a top speed may matter to good play.

    How it is seen: each key is doubled and halved, then set to small values, then played for long;
    every byte of every step, and of the log, stays the same. Also reported is a value in the ini
    that is cut to a whole number wherever it is read: `(int)env->greed * 1000` is 0 for a greed of
    0.7, and so is an `int greed` to which my_init stores it; `env->percent / 100` of an int is 0
    for a percent of 60.
    """
