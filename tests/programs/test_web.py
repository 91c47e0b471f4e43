"""Pages of `build --web`, opened in a headless Chromium: looked at, played, resized, broken."""
from __future__ import annotations

import math
import re
import shutil
import time
from contextlib import contextmanager

import pytest
from conftest import GAMES
from helpers.browser import serve
from helpers.short_or_long import LONG, long_only, short_or_long, some_or_all

from puffer_sdk.env import header
from puffer_sdk.programs import targets, webpage
from puffer_sdk.projects import scaffold
from puffer_sdk.settings import config

MOST_BYTES = 500_000
LEFT, UP, RIGHT, SHIFT = 37, 38, 39, 16

# The next frame, reduced to so many columns and rows of "rrggbb". A canvas keeps its picture from
# the moment it is drawn until the screen has it: then the program asks for the next frame
SAMPLE = """(columns, rows) => new Promise(done => {
    const ask = window.requestAnimationFrame, begin = Module.onFrame;
    let drawing = false;
    Module.onFrame = (...told) => { begin(...told); drawing = true; };
    window.requestAnimationFrame = then => {
        if (drawing) {
            [window.requestAnimationFrame, Module.onFrame] = [ask, begin];
            const small = document.createElement("canvas");
            [small.width, small.height] = [columns, rows];
            const pen = small.getContext("2d");
            pen.imageSmoothingEnabled = false;
            pen.drawImage(canvas, 0, 0, columns, rows);
            const bytes = pen.getImageData(0, 0, columns, rows).data, found = [];
            for (let i = 0; i < bytes.length; i += 4) found.push(
                [...bytes.slice(i, i + 3)].map(v => v.toString(16).padStart(2, "0")).join(""));
            done(found);
        }
        return ask(then);
    };
})"""
TEAL, GOLD, TILE, NIGHT = "00cdbe", "ffbe3c", "1e2c38", "101820"


def sample(page, columns: int = 64, rows: int = 64) -> list[str]:
    return page.evaluate(f"({SAMPLE})({columns}, {rows})")


def weight(program) -> int:
    """All bytes of a page's folder."""
    return sum(file.stat().st_size for file in program.path.parent.iterdir())


def seen(page, *colors: str, seconds: float = 20) -> list[str]:
    """A sample that holds these colours."""
    deadline = time.monotonic() + seconds
    while True:
        found = sample(page)
        if set(colors) <= set(found):
            return found
        assert time.monotonic() < deadline, (colors, sorted(set(found)))


def until(page, condition, seconds: float = 20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, ("it never came to that", page.problems)


@pytest.fixture(scope="module")
def open_page(make_program, browser):
    """open_page("pong"): a context with the open page of a game, where it plays."""
    @contextmanager
    def open_page(name: str):
        with serve(make_program(name, "web").path.parent) as url:
            page = browser.open(url)
            page.wait_for("frame > 2")
            yield page
            page.close()

    return open_page


@pytest.fixture(scope="module")
def lasting_page(open_page):
    with open_page("squared") as page:
        yield page


@pytest.fixture
def squared_page(lasting_page):
    page = lasting_page
    page.call("Page.bringToFront")
    page.resize(1280, 800)
    page.evaluate("document.body.classList.remove('touch')")
    yield page
    assert page.problems == []


@pytest.mark.parametrize("name", short_or_long(["squared"], GAMES))
def test_a_page_plays(name, make_program, open_page, games):
    program = make_program(name, "web")
    assert program.warnings == "" and program.path == games[name] / "build" / "web" / "index.html"
    assert program.bytes == weight(program) and (program.bytes < MOST_BYTES or not LONG)
    with open_page(name) as page:
        first = seen(page, NIGHT)
        assert len(set(first)) > 2                          # more than an empty field
        until(page, lambda: sample(page) != first)
        assert page.evaluate("document.body.classList.contains('plays')")
        assert page.evaluate("document.title") == name      # raylib sets it, as for a window
        assert page.problems == []


@long_only
def test_the_asked_for_frames_come(open_page):
    """SetTargetFPS holds: 8 a second in Squared, and 60 in Target where the screen has 60."""
    for name, fewest, most in (("squared", 4, 9), ("target", 10, 66)):
        with open_page(name) as page:
            began, first = page.evaluate("[performance.now(), frame]")
            time.sleep(2)
            ended, last = page.evaluate("[performance.now(), frame]")
        rate = 1000 * (last - first) / (ended - began)
        print(f"{name}: {rate:.1f} frames a second")
        assert fewest < rate < most


def agent(page) -> tuple[int, int]:
    """(column, row) of Squared's agent; of the target too where it stands there alone."""
    colors = sample(page, 11 * 3, 682 * 33 // 638)
    found = [(i % 33 // 3, (i // 33 - 2) // 3) for i, color in enumerate(colors)
             if color == TEAL and i // 33 > 2]
    return max(set(found), key=found.count) if found else (-1, -1)


def test_keys_drive(squared_page):
    page = squared_page
    page.evaluate("canvas.focus()")
    page.key(True, SHIFT, "ShiftLeft")
    until(page, lambda: agent(page) == (5, 5))              # stays there: nobody decides else
    page.key(True, UP, "ArrowUp")
    page.key(False, UP, "ArrowUp")                          # over before the program looks
    until(page, lambda: agent(page) in ((5, 4), (5, 5)))
    page.key(True, LEFT, "ArrowLeft")
    until(page, lambda: agent(page)[0] < 3)
    page.key(False, LEFT, "ArrowLeft")
    page.key(False, SHIFT, "ShiftLeft")
    assert page.evaluate("[owed.length, pressed.size]") is not None
    until(page, lambda: page.evaluate("pressed.size + owed.length") == 0)


@long_only
def test_a_tap_between_two_frames_counts_once(squared_page):
    """At 8 frames a second a tap is over before the program looks. It moves by one tile."""
    page = squared_page
    page.key(True, SHIFT, "ShiftLeft")
    for _ in range(5):                                      # unless it starts anew just then
        until(page, lambda: agent(page) == (5, 5))
        page.key(True, UP, "ArrowUp")
        page.key(False, UP, "ArrowUp")
        page.frames(4)
        if agent(page) == (5, 4):
            break
    else:
        pytest.fail("it never moved by one tile")
    page.key(False, SHIFT, "ShiftLeft")


@long_only
def test_the_pad_drives(squared_page):
    page = squared_page
    page.resize(390, 844, scale=2, mobile=True)
    page.evaluate("showPad()")
    x, y = page.evaluate("(box => [box.x + box.width / 2, box.y + box.height / 2])"
                         "(document.querySelector('.RIGHT').getBoundingClientRect())")
    page.touch("touchStart", (x, y))
    assert page.evaluate("driver.getAttribute('aria-pressed')") == "true"
    until(page, lambda: agent(page)[0] > 7)
    page.touch("touchEnd")
    until(page, lambda: agent(page) == (5, 5))              # still yours: it stands still
    x, y = page.evaluate("(box => [box.x + box.width / 2, box.y + box.height / 2])"
                         "(driver.getBoundingClientRect())")
    page.touch("touchStart", (x, y))
    page.touch("touchEnd")
    assert page.evaluate("driver.getAttribute('aria-pressed')") == "false"
    until(page, lambda: agent(page) not in ((5, 5), (-1, -1)))      # dice again


@pytest.mark.parametrize("width, height, scale", some_or_all(
    [(1280, 800, 1), (390, 844, 3), (844, 390, 2),
                                                  (200, 200, 1)], 0, 3))
def test_the_picture_fits_any_window(squared_page, width, height, scale):
    page = squared_page
    page.resize(width, height, scale=scale)
    page.wait_for(f"innerWidth === {width}")
    page.frames(2)
    box, area, size, pixels = page.evaluate(
        "(([b, a]) => [[b.x, b.y, b.width, b.height], [a.x, a.y, a.width, a.height], size,"
        " [real.width.get.call(canvas), real.height.get.call(canvas)]])"
        "([canvas, area].map(item => item.getBoundingClientRect()))")
    assert math.isclose(box[2] / box[3], 638 / 682, rel_tol=.02)            # its shape stays
    assert box[0] >= area[0] - 1 and box[0] + box[2] <= area[0] + area[2] + 1
    assert box[1] >= area[1] - 1 and box[1] + box[3] <= area[1] + area[3] + 1
    assert max(box[2] / area[2], box[3] / area[3]) > .98                    # and fills the room
    assert (size["width"], size["height"]) == (638, 682)
    assert pixels[0] >= min(box[2] * scale, 638) - 2        # as sharp as the screen can show
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    assert {TEAL, TILE} <= set(seen(page, TEAL, TILE))


@long_only
@pytest.mark.parametrize("name, width, height, scale", [("snake", 900, 700, 1),
                                                        ("pendulum", 360, 640, 3)])
def test_the_picture_fits_from_the_start(name, width, height, scale, make_program, browser):
    with serve(make_program(name, "web").path.parent) as url:
        page = browser.open(url, width=width, height=height, scale=scale, mobile=scale > 1)
        page.wait_for("frame > 2")
        x, right, ratio, pixels, shape = page.evaluate(
            "(b => [b.x, b.right, b.width / b.height, real.width.get.call(canvas),"
            " size.width / size.height])(canvas.getBoundingClientRect())")
        assert x >= 11 and right <= width - 11 and right - x > width - 30
        assert math.isclose(ratio, shape, rel_tol=.02)
        assert pixels >= (right - x) * scale - 3
        page.close()


@long_only
def test_a_browser_that_cannot_is_told_why(make_program, browser):
    home = make_program("squared", "web").path.parent
    for without, said in (("delete window.WebAssembly", "no WebAssembly"),
                          ("HTMLCanvasElement.prototype.getContext = () => null", "no WebGL")):
        page = browser.open("about:blank")
        page.call("Page.addScriptToEvaluateOnNewDocument", source=without)
        with serve(home) as url:
            page.call("Page.navigate", url=url)
            page.wait_for(f"note.innerText.includes('{said}')")
            assert page.evaluate("getComputedStyle(note).display") != "none"
            assert page.evaluate("frame") == 0
        page.close()
    page = browser.open(make_program("squared", "web").path.as_uri())
    page.wait_for("note.innerText.includes('python3 -m http.server')")
    page.close()


def test_a_missing_file_is_told(make_program, browser, tmp_path):
    home = shutil.copytree(make_program("squared", "web").path.parent, tmp_path / "web")
    (home / "index.wasm").unlink()
    with serve(home) as url:
        page = browser.open(url)
        page.wait_for("note.classList.contains('failed')")
        page.close()


@long_only
def test_policy_and_resources_are_packed(tmp_path, browser, monkeypatch):
    """A resource decides the colour of the background; a changed one makes the page anew."""
    monkeypatch.delenv("EMCC_CFLAGS", raising=False)      # one page is built as users build it
    (tmp_path / "pyproject.toml").touch()
    folder = scaffold.new("squared", template="squared", output_dir=tmp_path).folder
    source = folder / "squared.c"
    text = source.read_text().replace(
        "    c_render(env);              // opens",
        '    char* text = LoadFileText("resources/colour.txt");\n'
        "    int red = text[0] - '0';\n    UnloadFileText(text);\n"
        "    Texture2D face = {0};\n"
        "    c_render(env);              // opens").replace(
        "        c_step(env);\n        c_render(env);",
        '        if (!IsTextureValid(face)) face = LoadTexture("resources/face.png");\n'
        "        c_step(env);\n        BeginDrawing();\n"
        "        ClearBackground((Color){(unsigned char)(25 * red), 0, 0, 255});\n"
        "        EndDrawing();")
    source.write_text(text)
    (folder / "resources").mkdir()
    (folder / "resources" / "colour.txt").write_text("8")
    settings = config.resolve(folder).env
    program = targets.build_program(folder, "web", env_settings=settings)
    assert "index.data" in {file.name for file in program.path.parent.iterdir()}
    assert program.bytes == weight(program) < MOST_BYTES
    for file in program.path.parent.iterdir():      # nor where it was made, nor by whom
        assert str(tmp_path).encode() not in file.read_bytes(), file.name
    with serve(program.path.parent) as url:
        page = browser.open(url)
        page.wait_for("frame > 2")
        seen(page, "c80000")
        assert page.evaluate("missing.innerText.trim()") == "missing texture: resources/face.png"
        assert page.evaluate("missing.getBoundingClientRect().height") > 10
        assert page.problems == []
        page.close()
    assert targets.build_program(folder, "web", env_settings=settings).cached
    (folder / "resources" / "colour.txt").write_text("4")
    assert not targets.build_program(folder, "web", env_settings=settings).cached
    with serve(program.path.parent) as url:
        page = browser.open(url)
        page.wait_for("frame > 2")
        seen(page, "640000")
        page.close()


# -- what a page says, read from NAME.c ------------------------------------------------------

COMMENT = """\
/* dock.c -- dock in a window: bring the ship <home>.
 *
 *     hold LEFT SHIFT     you steer
 *     A, D                turn
 *
 *     puffer-sdk build    no key at all
 */
"""


def test_title_help_and_buttons_come_from_the_program(squared, tmp_path):
    spec = header.read(squared)
    source = tmp_path / "squared.c"
    source.write_text(COMMENT + "IsKeyDown(KEY_A); IsKeyDown(KEY_D); IsKeyPressed(KEY_SPACE);"
                                "IsKeyDown(KEY_LEFT_SHIFT); IsKeyPressed(KEY_R) KEY_LEFT_CONTROL")
    text = webpage.render(spec, source, has_policy=True)
    assert "<p>bring the ship &lt;home&gt;</p>" in text and "{{{ SCRIPT }}}" in text
    assert re.findall(r"<kbd>(.*?)</kbd> (.*?)</span>", text) == [
        ("hold LEFT SHIFT", "you steer"), ("A, D", "turn")]
    assert re.findall(r'<button (?:class="(\w+)" )?data-key="(\d+)".*?>(.*?)<', text) == [
        ("LEFT", "65", "A"), ("RIGHT", "68", "D"), ("", "32", "space"), ("", "82", "R")]
    assert 'class="arrows flat"' in text and "drive</button>" in text
    source.write_text("int main(void) { return IsKeyDown(KEY_UP); }")
    text = webpage.render(spec, source, has_policy=False)
    assert "no policy yet" in text and "drive</button>" not in text and "<kbd>" not in text
    assert 'data-key="38"' in text and 'class="arrows"' in text


def test_no_line_of_the_page_reads_as_a_directive(squared):
    """emcc takes a line that begins with # for its own, outside of <style>."""
    text = webpage.render(header.read(squared), squared / "squared.c", has_policy=True)
    assert not [line for line in text.splitlines() if line.lstrip().startswith("#")]
