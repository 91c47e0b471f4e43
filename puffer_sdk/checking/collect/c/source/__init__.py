"""The author's C, read with libclang; nothing is compiled or run.

    syntax      function bodies as trees
    layout      where each scalar of the env struct lies
    model       Source: functions, variables, calls, and who calls whom
    fields      which expressions lie in a field of the env struct
    counters    fields that count, and what they are compared with
    switches    what is the same in the whole play
    read        folder -> Source
    effects     which variables a function stores to
    shared      state that all envs of a process share
    actions     comparisons of actions with ids that no agent can choose
    demo        the settings that the standalone program gives its env
"""
