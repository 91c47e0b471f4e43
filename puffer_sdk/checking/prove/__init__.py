"""A short program for each error that fails as the finding says.

    program     the program as a file: written, compiled, run, removed
    shrinking   the shortest script of actions that still fails
    proof       findings -> programs
    replaying   check --replay: run one again
"""
