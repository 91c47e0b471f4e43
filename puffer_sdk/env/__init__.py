"""An environment, from the author's C to NumPy arrays.

    contract       what the contract asks of it, as tables and rules
    probe          constants of C source, evaluated by libclang
    dialects       PufferLib's other interfaces, by their signs
    source         the author's C as libclang reads it
    bound          what a hand-written binding says, held against the contract
    header         read the source: NAME.h -> Spec
    obs_spec       the parts of an observation, and what actions are called
    binding        write the C that makes a library of it
    build          compile it: Spec -> NAME-HASH.so
    abi            our C headers as cffi knows them
    library        the library, opened
    vec            many environments behind NumPy arrays
    vec_arrays     what a VecEnv shows of itself: its arrays, by name
    agent_slots    variable number of agents
    teams          which agents play together; scripted players
    open_env       the public build, configure, load and make
    job            what a child process needs to open an environment
    shared_memory  the memory that parent and child share
    child_pipe     the child's side: run the target, send its events
    child_process  the parent's side: start it, read its events, say how it died
    watch          when a file of an environment is saved
    gpu/           the same environment as a program for a GPU
"""
