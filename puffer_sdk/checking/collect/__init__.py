"""The two collectors: they run an environment and write down facts.

    c/          environments in C, compiled in several ways and run by the programs of play/
    python/     environments in Python, in child processes
"""
