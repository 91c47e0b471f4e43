"""What `make fuzz` is made of: damaged and hostile files, and the commands on them.

    changes     one file -> another
    box         the folder that an input works in, and who watches what lies beside it
    kinds       what is changed, and what reads it: in this process
    commands    the same with whole commands, each in a process of its own
    running     many inputs: counts, waits, crashes
    policies    puffernet.h, under sanitizers and libFuzzer
    traces      what strace saw of a worker
"""
