"""The author's C, read with libclang in a child process; nothing is compiled or run.

    layout      where each scalar of the env struct lies
    rows        what the child sends; collecting makes it, read: folder -> Source
    functions   a function or a variable, as a tree and what is asked of it
    model       Source: all of them, and who calls whom
    fields      which expressions lie in a field of the env struct
    effects     which variables a function stores to
    shared      state that all envs of a process share
    actions     comparisons of actions with ids that no agent can choose
    conditional actions whose effect has further conditions
    counters    fields that count, and what they are compared with
    switches    what is the same in the whole play
    generators  random generators: copies that are not stored back, and those that begin anew
    sites       places where a number may lose what it should tell
    sums        loops that add up the same over another number of things
    fractions   fractions that settings lose on the way into the game
    logging     what goes into the fields of Log
    demo        the settings that the standalone program gives its env
"""
