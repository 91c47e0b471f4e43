"""Every command of every page runs as it is written, in an empty folder or where the page says."""
from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from helpers import docs_pages
from helpers.display import Display
from helpers.docs_places import PREPARED, SAVED
from helpers.docs_shell import NEEDS, Shell, follow, steps
from helpers.short_or_long import short_or_long

LANGUAGES = {"", "console", "sh", "text", "c", "python", "ini", "diff", "yaml"}
# Nothing of these needs what is not here: a newcomer reads them
SEVEN = ("README.md", "docs/tutorials/ten-minutes.md", "docs/tutorials/first.md",
         "docs/tutorials/many-agents.md", "docs/tutorials/ocean.md", "docs/guides/python.md",
         "docs/guides/export.md")


@pytest.fixture(scope="module")
def display():
    shown = Display()
    yield shown.env
    shown.close()


def run(page: str, tmp_path: Path, env: dict[str, str]) -> list[str]:
    place, tools = tmp_path / "place", tmp_path / "tools"
    place.mkdir()
    tools.mkdir()
    shell = Shell(PREPARED[page](place) or place, tools, env)
    try:
        return follow(page, place, shell, SAVED.get(page, ""))
    finally:
        shell.close()


@pytest.mark.parametrize("page", short_or_long(["docs/guides/clean.md"], PREPARED))
def test_commands_run_as_written(page, tmp_path, display):
    wrong = run(page, tmp_path, display)
    assert not wrong, "\n".join(wrong)


PAGE = """
    mkdir a
    mkdir a

```console
$ puffer-sdk explain PUF301
PUF301 obs-never-written (error)
...
PUF302 obs-stale (error)
$ puffer-sdk explain PUF999
```

<!-- needs: a GPU -->

    exit 7
"""


def test_what_goes_otherwise_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(docs_pages, "text_of", lambda page: PAGE)
    monkeypatch.setitem(PREPARED, "page.md", lambda place: None)
    failed, shown, unknown = run("page.md", tmp_path, dict(os.environ))
    assert "page.md:2: mkdir a: status 1" in failed
    assert "status 0, not printed: ['PUF302 obs-stale (error)']" in shown
    assert "explain PUF999: status 2" in unknown


def test_every_page_with_commands_is_run():
    """But for what tells how files of the tests were made, once."""
    assert {page for page in docs_pages.pages() if list(steps(page))} - {*PREPARED} \
        == {"tests/corpus/README.md"}


def test_every_block_is_known_to_hold_commands_or_none():
    """A fence of another language would be read by nobody; nor would a line of `sh` that no word
    of TYPED begins."""
    for page in docs_pages.pages():
        for block in docs_pages.blocks(page):
            assert block.language in LANGUAGES, f"{page}:{block.line}"
            if block.language == "sh" and not block.text.startswith("#!"):
                lines = re.sub(r"\\\n", "", block.text).splitlines()
                typed = [line for line in lines if line.strip() and not line.startswith("#")]
                assert len(docs_pages.commands(block)) == len(typed), f"{page}:{block.line}"


def test_few_commands_are_marked_and_none_of_those_that_newcomers_read():
    marked = {page: [step.needs for step in steps(page)] for page in docs_pages.pages()}
    assert not [page for page in SEVEN if any(marked[page])]
    others = [needs for page, found in marked.items() if page not in SEVEN for needs in found]
    assert set(others) <= {"", *NEEDS}
    assert 0 < len([needs for needs in others if needs]) <= len(others) / 10
