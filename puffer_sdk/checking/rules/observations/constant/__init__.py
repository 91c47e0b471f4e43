"""PUF305: elements of the observation that never change.

    whole               the whole observation
    divided_share       a share that was divided as integers
    same_things         things of a list that are there, and always the same
    still               an element that promised to move, or was cleared and never set
"""
