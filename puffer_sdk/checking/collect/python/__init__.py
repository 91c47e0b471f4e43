"""`check` on Python environments.  a name -> facts from child processes -> findings

In the order in which data passes:

    python_facts    what experiments write down
    leaves          a space as named numbers
    playing         Player: an environment of either interface, with all that is odd about it
    acting          rows of actions from a seed
    opening         the first look: spaces, signatures, how long a step takes
    watching        files, programs and sleeps while it is played, and what it piles up
    long_play       a long play: what was seen, paid and ended
    poison          what numpy.empty returns
    traces          the same play again: after others, beside others, elsewhere
    chances         where random numbers come from
    effects         the same play with other actions
    handling        arrays that are kept or overwritten, pictures, Gymnasium's own checker
    child           the process in which all of this runs
    children        those processes, as the parent sees them
"""
