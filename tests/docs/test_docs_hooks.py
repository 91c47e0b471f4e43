"""tools/site: what the build of the site must refuse, and what it makes of a page."""
from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from helpers import docs_site
from helpers.docs_site import ROOT  # puts tools/site on the path
from mkdocs.exceptions import PluginError


@pytest.fixture(scope="module")
def hooks():
    import hooks
    return hooks


def page(src_uri: str):
    return SimpleNamespace(file=SimpleNamespace(src_uri=src_uri))


@pytest.mark.parametrize("tag", [
    '<script src="https://cdn.example/x.js"></script>', '<img alt="" src="//example.org/x.png">',
    '<link rel="stylesheet" href="https://fonts.example/css">'])
def test_a_page_that_asks_another_machine_is_refused(hooks, tmp_path, tag):
    (tmp_path / "index.html").write_text(f"<html>{tag}</html>")
    with pytest.raises(PluginError, match="asks another machine"):
        hooks.on_post_build(SimpleNamespace(site_dir=str(tmp_path)))
    (tmp_path / "index.html").write_text('<a href="https://example.org">a link is fine</a>')
    hooks.on_post_build(SimpleNamespace(site_dir=str(tmp_path)))


@pytest.mark.parametrize("fill", ["nothing-like-it", "header", "part examples/pong/pong.h juggle"])
def test_a_fill_that_cannot_be_made_is_refused(hooks, fill):
    with pytest.raises(PluginError):
        hooks.on_page_markdown(f"text\n\n<!-- fill: {fill} -->\n", page("index.md"), None, None)


def test_pages_that_moved_lead_to_where_they_are(site):
    for old, new in (("ten-minutes.html", "tutorials/ten-minutes.html"),
                     ("reference/check.html", "../guides/check.html"),
                     ("tutorial/first.html", "../tutorials/first.html"),
                     ("trainer.html", "trainer/native.html")):
        assert docs_site.redirect((site / old).read_text()) == new
        assert ((site / old).parent / new).resolve().is_file()
        assert old not in docs_site.pages(site)


def test_a_fill_keeps_its_indentation(hooks):
    made = hooks.on_page_markdown("??? example\n\n    <!-- fill: header step1 -->\n",
                                  page("tutorials/first.md"), None, None)
    lines = made.splitlines()[2:]
    assert lines[0].startswith('    ```c title="drips.h"') and lines[-1] == "    ```"
    assert all(line == "" or line.startswith("    ") for line in lines)


def test_links_to_the_repository_lead_to_pages_that_show_the_file(hooks):
    made = hooks.on_page_markdown("[a](../../examples/pong/pong.h) [b](first.md#x) [c](../gone.h)",
                                  page("tutorials/porting.md"), None, None)
    assert made == "[a](../source/examples/pong/pong.h.md) [b](first.md#x) [c](../gone.h)"
    shown = hooks.source_pages(ROOT / "docs")
    assert (ROOT / "examples/pong/pong.h").read_text() in shown["source/examples/pong/pong.h.md"]


def test_formulas_are_pictures_with_their_text(hooks):
    made = hooks.on_page_content('<span class="arithmatex">\\(a &lt; b\\)</span>', None, None, None)
    assert made.startswith('<span class="math"><svg role="img" aria-label="a &lt; b"')
    assert "currentColor" in made and "href" not in made
    assert re.search(r"width:[\d.]+em", made)


def test_parts_of_a_header_are_whole(hooks):
    import fills
    lines = (ROOT / "examples/pendulum/pendulum.h").read_text().splitlines()
    first, last = fills.found_part(lines, "c_step")
    assert lines[first].startswith("// Advance one tick") and lines[last - 1] == "}"
    assert "void c_step(Pendulum* env) {" in lines[first:last]


def test_new_lines_of_a_step_are_those_that_the_step_before_lacks():
    import fills
    import measure
    for before, step in zip(measure.STEPS, measure.STEPS[1:]):
        old, now = (measure.header(name).splitlines() for name in (before, step))
        fresh = fills.new_lines(step)
        assert fresh, step
        kept = [line for at, line in enumerate(now) if at not in fresh and line]
        assert set(kept) <= set(old)
    assert fills.new_lines("step1") == set()
