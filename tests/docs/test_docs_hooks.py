"""tools/site: what the build of the site must refuse, and what it makes of a page."""
from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from helpers.places import ROOT
from mkdocs.exceptions import PluginError


@pytest.fixture(scope="module")
def hooks():
    import hooks
    return hooks


@pytest.mark.parametrize("tag", [
    '<script src="https://cdn.example/x.js"></script>', '<img alt="" src="//example.org/x.png">',
    '<link rel="stylesheet" href="https://fonts.example/css">'])
def test_a_page_that_asks_another_machine_is_refused(hooks, tmp_path, tag):
    (tmp_path / "index.html").write_text(f"<html>{tag}</html>")
    with pytest.raises(PluginError, match="asks another machine"):
        hooks.on_post_build(SimpleNamespace(site_dir=str(tmp_path)))
    (tmp_path / "index.html").write_text('<a href="https://example.org">a link is fine</a>')
    hooks.on_post_build(SimpleNamespace(site_dir=str(tmp_path)))


def markdown(hooks, text: str, place: str) -> str:
    page = SimpleNamespace(file=SimpleNamespace(src_uri=place), meta={})
    return hooks.on_page_markdown(text, page, None, None)


def test_new_lines_of_a_listing_are_marked(hooks):
    text = (ROOT / "docs/tutorials/first.md").read_text()
    made = markdown(hooks, text, "tutorials/first.md")
    assert made.count('```c hl_lines="') == text.count("<!-- fill: new ") > 3
    listing = re.search(r"fill: new step2 -->.*?```c hl_lines=\"([\d ]+)\"\n(.*?)```", made, re.S)
    lines = listing[2].splitlines()
    assert any("move(env)" in lines[int(number) - 1] for number in listing[1].split())


def test_the_switch_stands_beside_the_text(hooks):
    made = markdown(hooks, f"# A\n\n{hooks.SWITCH}\n\ntext\n", "tutorials/first.md")
    assert 'id="bug-switch"' in made and 'data-root="games"' in made
    assert made.startswith("# A\n\n<div") and made.rstrip().endswith("text\n\n</div>\n</div>")


def test_a_fold_holds_markdown_and_a_drawing_follows_the_palette(hooks):
    made = markdown(hooks, "<details>\n<summary>a</summary>\n\n</details>\n\n"
                    "![How it fits](../assets/architecture.svg)\n", "why/architecture.md")
    assert "<details markdown>" in made and "<svg" in made and "<style>" not in made


def test_links_to_the_repository_lead_to_pages_that_show_the_file(hooks):
    made = markdown(hooks, "[a](../../examples/pong/pong.h) [b](first.md#x) [c](../gone.h)",
                    "tutorials/porting.md")
    assert made == "[a](../source/examples/pong/pong.h.md) [b](first.md#x) [c](../gone.h)"
    shown = hooks.source_pages(ROOT / "docs")
    assert (ROOT / "examples/pong/pong.h").read_text() in shown["source/examples/pong/pong.h.md"]


def test_formulas_are_pictures_with_their_text(hooks):
    made = hooks.on_page_content('<span class="arithmatex">\\(a &lt; b\\)</span>', None, None, None)
    assert made.startswith('<span class="math"><svg role="img" aria-label="a &lt; b"')
    assert "currentColor" in made and "href" not in made
    assert re.search(r"width:[\d.]+em", made)
