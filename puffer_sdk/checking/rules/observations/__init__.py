"""Observations that hide the game.

    observations    PUF301, 303, 304: not written, not finite, far from zero
    bounds          PUF306: outside what is declared
    stale/          PUF302: old
    constant/       PUF305: never changing
    wrap/           PUF307: bytes that wrap around
    twice/          PUF308: two elements that always hold the same
    unwritten       cells that c_reset leaves
    stores          which elements ever get another value than 0 (play/stores.c)
    groups          cells that one cause explains

write_detection.c finds elements that nobody writes.
"""
