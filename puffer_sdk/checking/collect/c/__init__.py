"""Which experiments the harness runs on an environment, and what follows from them.

    moments     the long run's observations and rewards, as numbers and a table
    hidden      memory that experiments treat apart: private fields, generators
    sizes       what experiments cost: how many envs and steps each gets
    jobs        the list of experiments, each with its options
    variants    short plays under other values of each [env] key
    traces      where two traces differ first
    plan        runs all of these: Spec + Config -> Facts
    deep        check --deep: MemorySanitizer and valgrind
    learning    check --learn: short trainings, and whether they learned something
"""
