"""Where tests find the project's folders."""
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
SPECIMENS = TESTS / "specimens"         # environments that tests build, check and play
FAMILIES = TESTS / "checking" / "rules"     # one folder a family of rules, as in checking/rules/


def all_broken() -> list[Path]:
    """Every environment with a known fault, by its code: FAMILY/pufNNN_NAME."""
    return sorted(FAMILIES.glob("*/puf[0-9][0-9][0-9]_*"), key=lambda folder: folder.name)


def broken(name: str) -> Path:
    """The environment of this name with a known fault."""
    (folder,) = FAMILIES.glob(f"*/{name}")
    return folder


def environment(name: str) -> Path:
    """An environment of the tests: a broken one by its name, others as FOLDER/NAME."""
    return broken(name) if name.startswith("puf") else SPECIMENS / name
