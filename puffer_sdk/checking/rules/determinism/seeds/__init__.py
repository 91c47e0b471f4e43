"""PUF502: games that no seed changes."""
