"""PUF422: a log that disagrees with what was measured.

    episode_sums        returns and lengths that are not those of the episodes
    omitted             endings that n does not count, or that leave no entry
    running_sums        entries that hold what is summed up so far, again and again
    never_set_back      sums that go on over calls of c_reset
    assigned            a value that replaces those of earlier entries
    drawn_otherwise     a sum over another range than where it is drawn
    cleared_log         a log that steps set back to 0
"""
