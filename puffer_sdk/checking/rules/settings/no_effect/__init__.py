"""PUF113: settings that change nothing.

    unused      another value gives the same game
    cut_short   a fraction that is made a whole number before it is used
"""
