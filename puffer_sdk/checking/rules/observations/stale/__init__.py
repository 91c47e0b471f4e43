"""PUF302: observations that are old.

A detector a file; those of a step's own stores share `writes`.

    left_by_reset       c_reset leaves what was there
    behind_the_state    elements that show a word of the state, and on some steps do not (mirror.c)
    old_opening         the row of an ending still shows the episode that is over
    silent_rows         no step writes the row of an agent
    silent_steps        a step writes whole rows, and on some steps nothing
    silent_beginnings   likewise, where an episode ends or an agent comes
    never_cleared       what is set stays set until the episode ends
    half_cleared        some rows of a picture are drawn anew, others never cleared
    sometimes_written   some steps leave elements, others write them
    only_by_reset       c_step changes what only c_reset shows
"""
