"""`check` on Python environments.  a name -> facts from child processes -> findings

In the order in which data passes:

    facts           what experiments write down
    leaves          a space as named numbers
    contract        one observation, reward or ending against what was declared
    playing         Player: an environment of either interface, with all that is odd about it
    acting          rows of actions from a seed
    play            a long play: what was seen, paid and ended
    traces          the same play again: after others, beside others, elsewhere
    effects         the same play with other actions
    handling        arrays that are kept or overwritten, pictures, Gymnasium's own checker
    child           the process in which all of this runs
    children        those processes, as the parent sees them
    judging         @judgement, and the findings of what is odd
    values, endings, repeating      judgements
    checking        all of this: a name -> CheckResult
"""
