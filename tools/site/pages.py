"""`make docs-tables`: fill the generated parts of pages.  the code, docs/data, games -> *.md

    python tools/site/pages.py      updates and names every stale page

Generated text stands between two comments, which rendered Markdown does not show:

    <!-- fill: WHAT WORDS -->           fills.py lists the kinds
    ...
    <!-- filled by `make docs-tables` -->

reference.py generates four whole pages of docs/reference; kinds.py generates fact_kinds.pyi.
"""
from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

import fills  # noqa: E402
import reference  # noqa: E402

from puffer_sdk.checking.core import kinds  # noqa: E402

SOURCES = {"puffer_sdk/checking/core/fact_kinds.pyi": kinds.stub}     # no pages, but made, too
END = "<!-- filled by `make docs-tables` -->"
FILL = re.compile(rf"^<!-- fill: (\S+)((?: \S+)*) -->\n.*?^{re.escape(END)}$", re.M | re.S)
MARK = re.compile(r"^<!-- fill(?:ed|:).*-->$", re.M)


def tracked() -> list[str]:
    """Every page of the repository, from its root."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted(name for name in listed.stdout.splitlines() if (ROOT / name).is_file())


def filled(text: str, page: str) -> str:
    """A page with renewed fills. Raises ValueError if a mark is unknown or not closed."""
    def fill(found):
        try:
            made = getattr(fills, found[1].replace("-", "_"))(*found[2].split(), page=page)
        except (AttributeError, KeyError, OSError, TypeError, ValueError) as error:
            raise ValueError(f"{page}: cannot fill '{found[1]}{found[2]}': {error!r}") from error
        first = found[0].partition("\n")[0]
        return f"{first}\n\n{made.strip()}\n\n{END}"
    made = FILL.sub(fill, text)
    if len(MARK.findall(text)) != 2 * len(FILL.findall(text)):
        raise ValueError(f"{page}: a fill has no end: {END}")
    return made


def wanted() -> dict[str, str]:
    """Every page with generated text, as it should be: {"docs/tutorials/first.md": text}."""
    made = {f"docs/{name}": text for name, text in reference.pages().items()}
    made.update((name, text()) for name, text in SOURCES.items())
    for name in tracked():
        text = (ROOT / name).read_text()
        if name not in made and MARK.search(text):
            made[name] = filled(text, name)
    return made


def stale() -> dict[str, str]:
    """Those that differ from the repository."""
    return {name: text for name, text in wanted().items()
            if not (ROOT / name).is_file() or (ROOT / name).read_text() != text}


def main() -> int:
    for name, text in stale().items():
        (ROOT / name).write_text(text)
        print(f"wrote    {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
