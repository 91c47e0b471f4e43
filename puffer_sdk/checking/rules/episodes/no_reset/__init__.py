"""PUF401: envs that go on from a finished episode.

    frozen      after all agents' endings nothing happens any more
    late_reset  every reset comes one step late
    goes_on     the same episode goes on
"""
