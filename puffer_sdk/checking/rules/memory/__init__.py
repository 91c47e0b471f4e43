"""Memory errors, undefined behaviour, calls that do not return.

    memory          PUF201-204: sanitizers, and rows between guard pages
    allocations     PUF205-207: actions, leaks (leaks.c), buffers of the trainer
    survival        PUF208, 405: processes that ended, calls that did not return
    origins         where a value that is not finite came from
"""
