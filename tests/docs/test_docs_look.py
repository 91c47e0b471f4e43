"""The site in a headless Chromium: on a phone and on a desk, in the light and in the dark."""
from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers.browser import Browser, serve
from helpers.short_or_long import LONG, long_only, short_or_long

PHONE, DESK = (390, 844), (1280, 900)

# Of each element that holds text: how far its color is from what lies behind it (WCAG's ratio)
FAINT = """() => {
    const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
    const light = ([r, g, b]) => [r, g, b].map(v => (v /= 255) <= .03928 ? v / 12.92
        : ((v + .055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
    const behind = (node) => {
        for (; node; node = node.parentElement) {
            const color = parse(getComputedStyle(node).backgroundColor);
            if (color.length === 3 || color[3] > .9) return color;
        }
        return [255, 255, 255];
    };
    const found = [];
    for (const node of document.querySelectorAll(".md-content h1, .md-content h2, .md-content p,"
            + ".md-content li, .md-content td, .md-content label, .switch pre")) {
        if (!node.offsetParent || !node.textContent.trim()) continue;
        const color = parse(getComputedStyle(node).color), back = behind(node);
        const alpha = color[3] === undefined ? 1 : color[3];
        const mixed = back.slice(0, 3).map((v, i) => v * (1 - alpha) + color[i] * alpha);
        const [a, b] = [light(mixed), light(back)].sort((x, y) => y - x);
        const ratio = (a + .05) / (b + .05);
        if (ratio < 4.5) found.push(node.textContent.trim().slice(0, 40) + " " + ratio.toFixed(1));
    }
    return found;
}"""

# What sticks out of the page at the right, and lies in nothing that scrolls by itself
WIDE = """(width) => {
    const scrolls = (node) => {
        for (; node && !node.classList.contains("md-content"); node = node.parentElement)
            if (getComputedStyle(node).overflowX !== "visible") return true;
        return false;
    };
    return [...document.querySelectorAll(".md-content *")].filter(node =>
        node.getBoundingClientRect().right > width + 1 && node.offsetParent && !scrolls(node)
    ).map(node => `${node.tagName} ${node.className} ${node.textContent.trim().slice(0, 30)}`);
}"""


def pages(site: Path) -> list[str]:
    """The pages that somebody wrote, not those that show a file of the repository or a game."""
    found = (path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    return sorted(name for name in found if not name.startswith(("source/", "tutorials/games/"))
                  and name != "404.html")


@pytest.fixture(scope="module")
def address(site):
    with serve(site) as url:
        yield url


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    opened = Browser(tmp_path_factory.mktemp("chromium"), "--hide-scrollbars")
    yield opened
    opened.close()


def open_page(browser, url: str, size: tuple[int, int], palette: str):
    page = browser.open("about:blank", width=size[0], height=size[1], mobile=size == PHONE)
    page.call("Emulation.setEmulatedMedia",
              features=[{"name": "prefers-color-scheme", "value": palette}])
    page.call("Page.navigate", url=url)
    page.wait_for("location.href !== 'about:blank' && document.readyState === 'complete'")
    return page


@long_only
@pytest.mark.parametrize(("size", "palette"), short_or_long(
    [(PHONE, "dark")], [(PHONE, "dark"), (DESK, "light")]))
def test_pages_fit_and_can_be_read(site, address, browser, size, palette):
    """Short: each fourth page, another quarter with each page that is added."""
    names = pages(site)
    assert len(names) > 30
    names = names if LONG else names[len(names) % 4::4]
    page = open_page(browser, address + names[0], size, palette)
    wrong = []
    for name in names:
        page.call("Page.navigate", url=address + name)
        page.wait_for(f"location.pathname === '/{name}' && document.readyState === 'complete'")
        beyond = page.evaluate(f"({WIDE})({size[0]})")
        faint = page.evaluate(f"({FAINT})()")
        if beyond or faint or page.problems:
            wrong.append((name, beyond[:3], faint[:3], list(page.problems)))
            page.problems.clear()
    page.close()
    assert not wrong


@long_only
def test_faint_and_wide_pages_are_noticed(address, browser):
    page = open_page(browser, address + "index.html", PHONE, "light")
    assert page.evaluate(f"({FAINT})()") == page.evaluate(f"({WIDE})({PHONE[0]})") == []
    page.evaluate("document.querySelector('.md-content p').style.color = '#aaa'")
    assert len(page.evaluate(f"({FAINT})()")) == 1
    page.evaluate("document.querySelector('.md-content p').style.width = '600px'")
    assert page.evaluate(f"({WIDE})({PHONE[0]})")
    page.close()


@long_only
def test_the_bug_switch(address, browser):
    """Each position shows its own panel, and the game that was trained with its fault."""
    import measure
    page = open_page(browser, address + "tutorials/first.html", DESK, "light")
    for variant in (*measure.faults(), measure.SOUND):
        page.evaluate(f"document.querySelector('input[value={variant}]').click()")
        shown = page.evaluate("[...document.querySelectorAll('.switch section')].filter("
                              "s => s.offsetParent).map(s => s.dataset.fault)")
        assert shown == [variant]
        game = "document.querySelector('.switch iframe').contentWindow"
        page.wait_for(f"{game}.location.pathname.includes('/{variant}/') && "
                      f"{game}.document.body.classList.contains('plays')", 120)
    assert page.evaluate("document.querySelectorAll('.switch section .curves path.line').length"
                         ) > len(measure.faults())
    assert not page.problems
    page.close()


@long_only
def test_without_the_script_all_panels_show(address, browser):
    page = browser.open("about:blank")
    page.call("Network.setBlockedURLs", urls=["*site.js*"])
    page.call("Page.navigate", url=address + "tutorials/first.html")
    page.wait_for("location.pathname.endsWith('first.html') && document.readyState === 'complete'")
    shown = page.evaluate("[...document.querySelectorAll('.switch section')].filter("
                          "s => s.offsetParent).length")
    assert shown == page.evaluate("document.querySelectorAll('.switch section').length") > 2
    page.close()


@long_only
def test_pictures_have_alternatives(site):
    for name in pages(site):
        text = (site / name).read_text()
        main = text.partition('<article')[2]
        for image in re.findall(r"<img[^>]*>", main):
            assert re.search(r'alt="[^"]{15,}"', image), (name, image)
        for drawing in re.findall(r'<svg[^>]*role="img"[^>]*>', main):
            assert "aria-label" in drawing, (name, drawing[:80])
        for frame in re.findall(r"<iframe[^>]*>", main):
            assert 'title="' in frame, (name, frame)
