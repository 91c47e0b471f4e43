"""Observations that hide the game.

    observations    PUF301-304: not written, old, not finite, far from zero
    values          PUF305, 306: constant, outside their bounds
    stores          which elements ever get another value than 0 (play/stores.c)
    byte_wrap       PUF307: wrapped around (byte_wrap.c)
    duplicates      PUF308: two elements that always hold the same
    groups          PUF302: cells that one cause explains
    copies          PUF302: things that a board shows twice (copies.c)
    mirrors         PUF302: elements that show a word of the state (mirror.c)

write_detection.c finds elements that nobody writes.
"""
