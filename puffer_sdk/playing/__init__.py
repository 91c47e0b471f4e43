"""Playing: an environment in a window, with a policy, at random or by hand.

In reading order:

    play          the parent: what to play, and with which policy
    window        the child: the loop, the keys, the panel
    hand          what keys mean: the actions of one agent
    game          one env, who plays it, and its past: ticks forward and back
    rebuilding    --watch: rebuild when a file is saved, during the game
"""
