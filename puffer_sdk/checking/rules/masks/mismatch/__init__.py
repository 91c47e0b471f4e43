"""PUF413: an action mask that does not fit the actions.

    unwritten_mask  the row of some agents
    of_the_last     a new episode begins with the mask of the old one
    one_legal       a head that leaves one value alone, although others act
    upside_down     actions act where they are forbidden, and do nothing where they are legal
    misplaced       a byte tells of another action than its own
    of_another_action   the same, of one agent
    stale           that of an earlier moment
    of_the_start    that of the start of the episode
    refused         the code treats a legal action as it treats forbidden ones
"""
