"""The C program that runs an environment, one experiment a process, and writes down facts.

facts.def has every kind of fact and its fields: both languages read it. The sources, each after
the ones that it calls; experiments that one family of rules needs lie in rules/FAMILY/:

    hash.c clocks.c     numbers from numbers; a clock that an env cannot see
    facts.c             writes facts
    allocations.c       what the env allocates and frees
    fences.c            blocks of its heap between unmapped pages
    guard.c             survives signals, exits and hangs
    outside.c           what the env asks of the machine
    rows.c agents.c     where rows lie; which of them have an agent
    batch.c state.c     envs and their rows; the words of their state
    twins.c             a second batch, in a process of its own where tables are large
    probes.c            counts what goes through places of the source
    columns.c           how log entries are made; which words of the struct are random
    stores.c            which instructions store to which elements
    plain.c             probe, guard, packed, trace
    sampling.c episode_stats.c run.c    the long run
    forks.c script.c    one moment, played on in several ways; actions that were given
    main.c              the command line, and a table of all experiments
"""
