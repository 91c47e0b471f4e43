"""PUF315: rewards that are lost, as counted where they are stored.

    replaced    by another value
    cleared_reward  set back to 0
    divided_reward  rounded away by a division of integers
"""
