"""`python -m puffer_sdk` is `puffer-sdk`."""
import signal
import sys


def run() -> int:
    """The command line. Ctrl-C while modules are imported ends the process silently: until main()
    listens, an exception could only become a traceback."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .cli import main

    signal.signal(signal.SIGINT, before)
    return main()


if __name__ == "__main__":
    sys.exit(run())
