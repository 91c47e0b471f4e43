"""What an action changes, and what the mask says of it.

    actions     PUF411, 412: actions without effect, masks that allow nothing
    masks       PUF413: bytes of the mask against what their actions do (masks.c)
"""
