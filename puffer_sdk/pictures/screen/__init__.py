"""The screen: a raylib under our control, between an environment and the real one.

    canvas        Screen: frames, keys, the panel
    screen.h      the interface of the C library, with what an environment sees
    screen.c      replaces raylib's functions for windows, time and keys
"""
