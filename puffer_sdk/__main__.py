"""`python -m puffer_sdk` is `puffer-sdk`."""
import os
import signal
import sys


def run() -> int:
    """The command line. Ctrl-C while modules are imported ends the process silently: until main()
    listens, an exception could only become a traceback."""
    speak_utf8()
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .cli import main

    signal.signal(signal.SIGINT, before)
    return main()


def speak_utf8() -> None:
    """Paths and texts are UTF-8, whatever the locale: where Python took another encoding from it,
    the process begins again."""
    if sys.getfilesystemencoding() == "utf-8" or os.environ.get("PYTHONUTF8") == "1":
        return
    os.environ["PYTHONUTF8"] = "1"          # of this process, and of all that it starts
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


if __name__ == "__main__":
    sys.exit(run())
