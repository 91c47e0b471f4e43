"""Training as a whole.

    speed       PUF601: slow steps
    learning    PUF701, 702: with --learn
"""
