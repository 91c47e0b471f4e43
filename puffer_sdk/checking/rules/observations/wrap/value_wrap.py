"""The page of PUF307."""
from ....core.vocabulary import family


@family("PUF307", "value-wrap", "warning")
def value_wrap() -> None:
    """A byte observation wraps around: what is stored into it is larger than 255 or negative.

    Why it ruins training: 256 becomes 0 and -1 becomes 255. One step more of a counter, and
    the agent sees the smallest value where the largest is meant; a target just to the left
    looks like one far to the right. No network can tell.

    Bad:

        obs[0] = (unsigned char)(target->x - env->x);   // -3 is stored as 253

    Good:

        obs[0] = (unsigned char)(target->x - env->x + WIDTH);

    Fix: shift, scale or clamp the value into 0..255, or make the observations floats.

    How it is seen: whole numbers are looked at where they are stored into observations, and the
    sanitizer reports floats that do not fit. Elsewhere, an element moves in small steps on a
    circle within episodes, through 255 and 0, again and again (cells of a board jump between
    their codes). `& 255` and `% 256` fit, and so does a field that is a byte already and goes on
    from its own value. A byte that is meant to wrap is declared: `// puffer: wraps`.
    """
