"""PUF502: games that no seed changes.

    begun_anew      a generator that begins with a constant each time
    copied          a copy of the generator that is not stored back
    one_game        every episode of an env is the same game
    one_opening     every episode of an env begins with the same observation
    one_run         another seed gives the same run
"""
