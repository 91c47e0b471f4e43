"""Environments in C: compiled in several ways, run one experiment a process.  Spec -> Facts

    source/             the author's C, read with libclang
    driver              compiles the programs of play/ and the environment; runs experiments
    frames              addresses of a process as functions and lines
    probing             a copy of the header that counts what goes through some expressions
    line_coverage       which lines of the author's files were reached
    hidden              memory that experiments treat apart: private fields, generators
    sizes               what experiments cost: how many envs and steps each gets
    jobs                the list of experiments, each with its options
    variants            short plays under other values of each [env] key
    compare_traces      where two traces differ first
    plan                runs all of these: Spec + Config -> Facts
    deep                check --deep: MemorySanitizer and valgrind
    learning_probe      check --learn: short trainings, and whether they learned something
"""
