"""Parts of `make fuzz`: damaged and hostile files, and the commands that read them.

    changes     one file -> another
    box         the folder of an input, and what watches the files beside it
    kinds       the files to change and their readers, in this process
    commands    the same with whole commands, each in a separate process
    running     many inputs: counts, waits, crashes
    policies    puffernet.h, under sanitizers and libFuzzer
    traces      the system calls of a worker, by strace
"""
