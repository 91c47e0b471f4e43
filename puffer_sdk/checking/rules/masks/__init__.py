"""Effects of actions, and whether the mask fits them.

    actions     PUF412: masks that allow nothing
    ignored/    PUF411: actions without effect
    mismatch/   PUF413: bytes of the mask against what their actions do (masks.c)
"""
