"""Where tests find the project's folders."""
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
SPECIMENS = TESTS / "specimens"         # environments that tests build, check and play
