"""What an action changes, and what the mask says of it.

    actions     PUF412: masks that allow nothing
    ignored/    PUF411: actions without effect
    mismatch/   PUF413: bytes of the mask against what their actions do (masks.c)
"""
