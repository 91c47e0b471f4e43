"""Every page of the repository: whole where it stands, with links that lead somewhere."""
from __future__ import annotations

import posixpath
import re
import shutil
import subprocess
from pathlib import Path

import cmarkgfm
import demo
import fills
import measure
import pages
import pytest
import reference
from cmarkgfm.cmark import Options
from helpers import docs_pages
from helpers.places import ROOT

from puffer_sdk.base import paths
from puffer_sdk.checking.check import check
from puffer_sdk.checking.report import terminal
from puffer_sdk.cli import main
from puffer_sdk.cli.commands import PAGES

# Markup that only some renderer other than GitHub's takes for markup
FOREIGN = re.compile(r"^\s*(?:\?\?\?|!!!|===|:::|: {3})|hl_lines|\{ ?[:.#]|\{ \w+=|--8<--|```|<!--",
                     re.M)


# ---- what is made ------------------------------------------------------------------------------

def test_pages_hold_what_is_made():
    assert not pages.stale(), "run `make docs-tables`"


def test_a_stale_page_is_renewed(tmp_path, monkeypatch):
    name = "docs/tutorials/continuous.md"
    (tmp_path / "docs" / "tutorials").mkdir(parents=True)
    shutil.copytree(ROOT / "examples" / "pendulum", tmp_path / "examples" / "pendulum")
    text = (ROOT / name).read_text()
    (tmp_path / name).write_text(text.replace("ACT_SIZES {1}", "ACT_SIZES {7}"))
    for module in (pages, fills):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "tracked", lambda: [name])
    monkeypatch.setattr(reference, "pages", dict)
    monkeypatch.setattr(pages, "SOURCES", {})
    assert set(pages.stale()) == {name}
    pages.main()
    assert (tmp_path / name).read_text() == text
    assert not pages.stale()


@pytest.mark.parametrize("mark", [
    "nothing-like-it", "header", "part examples/pong/pong.h juggle", "table nothing",
    "source examples/nothing.h"])
def test_a_fill_that_cannot_be_made_is_refused(mark):
    with pytest.raises(ValueError, match=f"page.md: cannot fill '{mark}'"):
        pages.filled(f"<!-- fill: {mark} -->\n{pages.END}\n", "page.md")


@pytest.mark.parametrize("text", ["<!-- fill: training -->\n", f"{pages.END}\n"])
def test_a_fill_without_an_end_is_refused(text):
    with pytest.raises(ValueError, match="has no end"):
        pages.filled(text, "page.md")


def test_parts_of_a_header_are_whole():
    lines = (ROOT / "examples/pendulum/pendulum.h").read_text().splitlines()
    first, last = fills.found_part(lines, "c_step")
    assert lines[first].startswith("// Advance one tick") and lines[last - 1] == "}"
    assert "void c_step(Pendulum* env) {" in lines[first:last]


def test_new_lines_of_a_step_are_those_that_the_step_before_lacks():
    for before, step in zip(measure.STEPS, measure.STEPS[1:]):
        old, now = (measure.header(name).splitlines() for name in (before, step))
        fresh = fills.new_lines(step)
        assert fresh, step
        kept = [line for at, line in enumerate(now) if at not in fresh and line]
        assert set(kept) <= set(old)
    assert fills.new_lines("step1") == set()


# ---- what GitHub makes of them -------------------------------------------------------------------

def wrong(text: str) -> list[str]:
    """What a reader would see of a page that GitHub cannot render."""
    page = cmarkgfm.github_flavored_markdown_to_html(text, options=Options.CMARK_OPT_UNSAFE)
    bare = re.sub(r"<!--.*?-->|<code[^>]*>.*?</code>", "", page, flags=re.S)
    found = [line.strip() for line in re.sub(r"<[^>]*>", "", bare).splitlines()
             if FOREIGN.search(line)]
    found += re.findall(r"<\w+[^>]*\smarkdown\b[^>]*>", bare)
    found += [code for code in re.findall(r"<code[^>]*>(.*?)</code>", page, flags=re.S)
              if "<!-- fill" in code or re.search(r"^```", code, re.M)]
    found += [token.info for token in docs_pages.tokens(text)
              if token.type == "fence" and not re.fullmatch(r"\w*", token.info.strip())]
    if page.count("<details") != page.count("</details"):
        found.append("<details> that is not closed")
    if text.startswith("---\n"):
        found.append("front matter")
    return found


@pytest.mark.parametrize("page", docs_pages.pages())
def test_a_page_reads_well_on_github(page):
    assert not wrong(docs_pages.text_of(page))


@pytest.mark.parametrize("text", [
    '??? example "More"\n\n    text\n', '!!! warning\n\n    text\n', "term\n:   meaning\n",
    '```c hl_lines="1"\nx\n```\n', "![a](b.gif){ width=560 }\n", "## Title { #anchor }\n",
    "<div markdown>\n\ntext\n\n</div>\n", "```c\nx\n\n## Title\n\n```python\n```\n",
    "---\nhide: toc\n---\n# Title\n", "<details>\n\ntext\n"])
def test_a_page_that_does_not_is_noticed(text):
    assert wrong(text)


# ---- links ---------------------------------------------------------------------------------------

def dead(page: str, text: str) -> list[str]:
    """The links and pictures of a page that lead to no file of the repository, or no heading."""
    found = []
    for link in docs_pages.links(text):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target)) if target \
            else page
        folder = path == "." or any(name.startswith(f"{path}/") for name in docs_pages.tracked())
        there = folder or path in {page, *docs_pages.tracked()}
        if there and anchor and path.endswith(".md"):
            there = anchor in docs_pages.anchors(
                text if path == page else docs_pages.text_of(path))
        if not there:
            found.append(link)
    return found


@pytest.mark.parametrize("page", docs_pages.pages())
def test_links_lead_somewhere(page):
    assert not dead(page, docs_pages.text_of(page))


@pytest.mark.parametrize("text", [
    "[a](gone.md)", "![a](gone.gif)", "[a](contract.md#gone)", "[a](#gone)",
    '<img src="gone.gif" alt="a">', "[a]\n\n[a]: gone.md", "[a](../../../outside.md)"])
def test_a_dead_link_is_noticed(text):
    assert dead("docs/reference/page.md", text)
    assert not dead("docs/reference/page.md",
                    "# A `b`, c\n\n[a](contract.md) [b](#a-b-c) [c](../../)")


def test_pictures_of_pages_are_small():
    pictures = {posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
                for page in docs_pages.pages() for link in docs_pages.links(
                    docs_pages.text_of(page)) if link.endswith((".gif", ".png", ".svg"))}
    assert len(pictures) > 2
    assert not [name for name in pictures if (ROOT / name).stat().st_size >= 300_000]


def test_messages_name_pages_that_exist():
    sources = [*(ROOT / "puffer_sdk").rglob("*.py"), ROOT / "tools" / "demo.py"]
    named = {name for path in sources
             for name in re.findall(r"""paths\.page\(["']([^"']+)["']\)""", path.read_text())}
    assert len(named) >= 2
    for name in (*PAGES, *named):
        assert paths.page(name) in docs_pages.tracked(), name
    assert (paths.data_dir("docs") / "tutorials" / "first.md").is_file()


def test_the_overview_the_scaffold_and_a_failed_check_name_the_next_page(capsys, tmp_path):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(paths.page(name) in shown for name in PAGES) and len(PAGES) == 5
    assert main(["new", "my_env", "--output-dir", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("docs/tutorials/ten-minutes.md ")
    result = check(shutil.copytree(measure.TUTORIAL / "step1", tmp_path / "drips"), budget=0.01)
    lines = [text for text, _ in terminal.lines(result)]
    assert lines[-2:] == ["to read     docs/guides/check.md", lines[-1]]


def test_the_demo_says_how_to_go_on(monkeypatch, tmp_path):
    """From the folder in which it ran, as typed: the session's command is there."""
    monkeypatch.chdir(tmp_path)
    text = demo.how_to_go_on(tmp_path / "demo")
    activate, without = re.search(r"    \. (\S+)\n.*: (\S+) check", text, re.S).groups()
    assert Path(activate).is_file() and Path(without).is_file()
    done = subprocess.run(["sh", "-c", f". {activate}; command -v puffer-sdk"],
                          capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).samefile(without)


# ---- commands ------------------------------------------------------------------------------------

@pytest.mark.parametrize("page", docs_pages.pages())
def test_commands_can_be_typed(page):
    """`puffer-sdk` lines name commands and options that exist; test_commands.py runs them."""
    lines = [line for block in docs_pages.blocks(page) for line in docs_pages.commands(block)]
    lines += [token.content for token in docs_pages.inline(docs_pages.text_of(page))
              if token.type == "code_inline" and token.content.startswith("puffer-sdk ")
              and "COMMAND" not in token.content]
    assert not [found for line in lines if (found := docs_pages.problem(line))]


@pytest.mark.parametrize("line", ["puffer-sdk trian my_env", "puffer-sdk train --seed 1",
                                  "puffer-sdk train --train.speed 1", "puffer-sdk runs --wandb"])
def test_a_wrong_command_line_is_noticed(line):
    assert docs_pages.problem(line)
