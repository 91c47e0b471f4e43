"""`python -m puffer_sdk` is `puffer-sdk`."""
import os
import sys

SYSTEMS = "Linux, macOS, or Linux in WSL"
WSL = "wsl --install, then install puffer-sdk in it as on Linux"


def run(*_words: str) -> int:
    """The command line, of sys.argv. Ctrl-C while modules are imported ends the process silently:
    until main() listens, an exception could only become a traceback."""
    if sys.platform == "win32":
        from .base.errors import UsageError
        refused = UsageError("puffer-sdk does not run on Windows itself", expected=SYSTEMS,
                             actual=sys.platform, hint=WSL)
        print(refused, file=sys.stderr)
        return refused.exit_status
    import signal

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
    if not getattr(sys.flags, "safe_path", False):
        del sys.path[0]                     # the current folder, which -m puts before all others
    sys.exit(run())
