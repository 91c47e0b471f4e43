"""`python -m puffer_sdk` is `puffer-sdk`."""
import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
