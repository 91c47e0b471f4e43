"""PUF307: bytes that wrap around.

    cast        a float that does not fit, as the sanitizer saw it
    stored      a whole number that does not fit, as counted where it is stored
    circle      an element that moves through 255 and 0, again and again (byte_wrap.c)
"""
