"""raylib: headers for those who do not draw, and libraries for those who do.

    null        C source whose functions return zero
    headers     raylib's headers and null library, made from its wheel
    fetch       raylib's source
    recipes     how raylib is compiled for each platform
    drawing     raylib compiled for the desktop, headless and the web
    wheel       the wheel's own library, where raylib cannot be compiled
"""
