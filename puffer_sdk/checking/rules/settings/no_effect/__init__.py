"""PUF113: settings that change nothing.

    unused              another value gives the same game
    cut_short           a fraction that is cut wherever the game reads it
    bound_to_integer    a fraction that my_init stores to a whole number
    divided_setting     a number that an integer division makes 0
"""
