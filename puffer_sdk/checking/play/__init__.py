"""The C program that runs an environment, one experiment a process, and writes down facts.

    facts.def       every kind of fact, and its fields: both languages read it
    kinds           facts.def -> a frozen dataclass for each kind
    driver          compiles the harness and the environment, runs experiments
    lines           which lines of the author's files were reached

The C sources, each after the ones that it calls:

    hash.c clocks.c     numbers from numbers; a clock that an env cannot see
    facts.c             writes facts
    allocations.c       what the env allocates and frees
    guard.c             survives signals, exits and hangs
    rows.c agents.c     where rows lie; which of them have an agent
    batch.c state.c     envs and their rows; the words of their state
    plain.c             probe, guard, packed, trace
    sampling.c circle.c ledger.c run.c      the long run
    memory.c twins.c mirror.c whatif.c private.c audit.c threads.c settings.c script.c
    main.c              the command line, and a table of all experiments
"""
