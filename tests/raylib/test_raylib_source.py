"""raylib that draws: what it draws headless, on a desktop and in a page's code; old names too."""
import ctypes
import os
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers.places import ROOT
from helpers.short_or_long import long_only, short_or_long

from puffer_sdk.base import paths, ui
from puffer_sdk.base.errors import BuildError, UsageError
from puffer_sdk.raylib import drawing, fetch, recipes, wheel
from puffer_sdk.raylib import headers as raylib
from puffer_sdk.toolchain import compilers

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]


def link(tmp_path, served, text, *flags, compiler=("gcc",), name="program"):
    """Compiles a program with a served raylib, the way a user would; returns it."""
    source = tmp_path / f"{name}.c"
    source.write_text(text)
    done = subprocess.run([*compiler, "-std=c11", "-O1", *STRICT, *flags, f"-I{served.headers}",
                           f"-I{paths.include_dir()}", source, "-o", tmp_path / name,
                           *served.link_flags], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return tmp_path / name


# ---- headless --------------------------------------------------------------------------------

PICTURE = """
#include <stdio.h>
#include "raylib.h"
#include "rlgl.h"
int main(void) {
    InitWindow(64, 48, "picture");
    BeginDrawing();
    ClearBackground(BLACK);
    DrawRectangle(0, 0, 32, 10, (Color){ 200, 20, 10, 255 });   // above, left
    DrawRectangle(32, 38, 32, 10, (Color){ 10, 20, 200, 255 }); // below, right
    EndDrawing();
    Image image = LoadImageFromScreen();
    ExportImage(image, "picture.png");
    TakeScreenshot("shot.png");
    unsigned char* rows = rlReadScreenPixels(64, 48);
    FILE* file = fopen("picture.rgba", "wb");
    fwrite(rows, 4, 64*48, file);
    fclose(file);
    CloseWindow();
    return 0;
}
"""


@pytest.mark.parametrize("compiler", short_or_long(["cc"], ["cc", "clang"]))
def test_headless_pictures_are_upright_and_red_is_red(tmp_path, monkeypatch, compiler):
    """Short: with the usual compiler, whose library other tests draw with as well."""
    if compiler != "cc":
        monkeypatch.setenv("CC", compiler)
    program = link(tmp_path, drawing.static("headless"), PICTURE, compiler=(compiler,))
    subprocess.run([program], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL,
                   env={"PATH": os.defpath})                    # no DISPLAY
    rows = (tmp_path / "picture.rgba").read_bytes()

    def at(x, y):
        return tuple(rows[4 * (64 * y + x):4 * (64 * y + x) + 4])

    assert (at(5, 5), at(60, 5), at(5, 43), at(60, 43)) == (
        (200, 20, 10, 255), (0, 0, 0, 255), (0, 0, 0, 255), (10, 20, 200, 255))
    assert (tmp_path / "picture.png").read_bytes() == (tmp_path / "shot.png").read_bytes()


def test_headless_leaves_what_is_typed_alone(tmp_path):
    program = link(tmp_path, drawing.static("headless"), PICTURE)
    typed = tmp_path / "typed.txt"
    typed.write_text("\x1b[A for the shell that comes after\n")
    with open(typed) as stdin:
        subprocess.run([program], cwd=tmp_path, check=True, stdin=stdin, stdout=subprocess.DEVNULL)
        assert os.lseek(stdin.fileno(), 0, os.SEEK_CUR) == 0


DRAW_SHARED = """
import ctypes, sys
raylib = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
raylib.InitWindow(40, 30, b"shared")
raylib.BeginDrawing(); raylib.EndDrawing()
print(raylib.GetScreenWidth(), hasattr(raylib, "InitAudioDevice"), raylib.IsWindowReady() & 1)
raylib.CloseWindow()
"""


def test_the_shared_headless_library_opens_anywhere():
    served = drawing.shared("headless")
    assert (served.platform, served.version, served.library.suffix) == ("headless", "6.0", ".so")
    done = subprocess.run([sys.executable, "-c", DRAW_SHARED, served.library], text=True,
                          capture_output=True, check=True, env={"PATH": os.defpath})
    assert done.stdout.splitlines()[-1] == "40 False 1"
    needed = subprocess.run(["readelf", "-d", served.library], capture_output=True, text=True,
                            check=True).stdout
    assert "libX11" not in needed and "libGL" not in needed


def test_a_platform_that_is_none():
    with pytest.raises(UsageError) as caught:
        drawing.static("wii")
    assert caught.value.expected == "desktop, headless, web"
    with pytest.raises(UsageError, match="linked into a page"):
        drawing.shared("web")


# ---- the names of 5.5 ------------------------------------------------------------------------

BOTH = """
#include "raylib.h"
#include "rlgl.h"
#include "raymath.h"
void draw(int x, Vector2 at, Color paint, Image* canvas);
void draw(int x, Vector2 at, Color paint, Image* canvas) {
    DrawCircleGradient(x, x + 40, 20, RED, paint);                          // 5.5
    DrawCircleGradient(x, (int)at.y, 20.0f, paint, CLITERAL(Color){ 9, 8, 7, 255 });
    if (x > 0) DrawCircleGradient(at, 20, RED, paint);                      // 6.0
    else DrawCircleGradient(CLITERAL(Vector2){ at.x, 12.0f }, 20.0f, WHITE, BLACK);
    ImageDrawRectangleLines(canvas, CLITERAL(Rectangle){ 1, 2, 30, 40 }, 2, paint);
    ImageDrawTriangleEx(canvas, at, at, at, RED, paint, BLUE);
    at = GetSplinePointBezierQuad(at, at, at, 0.5f);
}
void animate(Model model, ModelAnimation animation, int frame);
void animate(Model model, ModelAnimation animation, int frame) {
    Vector3 here = { 0.0f, 1.0f, 0.0f };
    UpdateModelAnimation(model, animation, frame);
    UpdateModelAnimationBones(model, animation, frame);
    DrawModelPoints(model, here, 2.0f, RED);
    DrawModelPointsEx(model, here, here, 45.0f, here, RED);
    UnloadModelAnimation(animation);
    UnloadModelAnimations(&animation, 1);
    UpdateModelAnimation(model, animation, animation.frameCount - 1);       // 5.5
    UpdateModelAnimation(model, animation, animation.keyframeCount - 1);    // 6.0
    animation.framePoses[0][0] = animation.keyframePoses[0][1];
    model.materials[0].shader.locs[SHADER_LOC_BONE_MATRICES] = 0;
}
"""
TEXT = """
const char* words(const char* text);
const char* words(const char* text) {
    int count = 0;
    const char** parts = TextSplit(text, ' ', &count);                      // 5.5
    char** mine = TextSplit(text, ' ', &count);                             // 6.0
    const char* again = TextJoin(mine, count, "-");
    return count ? TextJoin(parts, count, TextToUpper("-")) : again;
}
void bones(Model model);
void bones(Model model) {
    model.bindPose[model.boneCount - 1] = model.skeleton.bindPose[0];       // 5.5, 6.0
    model.skeleton.bones[0] = model.bones[model.skeleton.boneCount - 1];
}
"""


@pytest.fixture(params=["wheel", "source"])
def headers(request):
    if request.param == "wheel":
        return raylib.headers()
    return drawing.headers_of(drawing.find_source())


@pytest.mark.parametrize("compiler", ["gcc -std=c11", "clang -std=c11", "gcc -std=c99",
                                      "g++ -std=c++17", "clang++ -std=c++17"])
def test_code_for_55_and_for_60_compiles_against_either(tmp_path, headers, compiler):
    is_cpp = "++" in compiler
    source = tmp_path / ("both.cc" if is_cpp else "both.c")
    source.write_text(BOTH if is_cpp else BOTH + TEXT)
    command = [*compiler.split(), *STRICT]
    if compiler == "gcc -std=c99":
        command.remove("-Wpedantic")
    done = subprocess.run([*command, "-Wno-missing-declarations", f"-I{headers}",
                           f"-I{paths.include_dir()}", "-c", source, "-o", tmp_path / "both.o"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_library_builds_draw_chance_from_the_env(tmp_path, headers):
    source = tmp_path / "roll.c"
    source.write_text('#define PUFFER_LIBRARY\nint puffer_random_value(int, int);\n'
                      '#include "raylib.h"\nint roll(void) { return GetRandomValue(1, 6); }\n')
    subprocess.run(["gcc", "-c", f"-I{headers}", source, "-o", tmp_path / "roll.o"], check=True)
    undefined = subprocess.run(["nm", "-u", tmp_path / "roll.o"], capture_output=True, text=True,
                               check=True).stdout
    assert undefined.split() == ["U", "puffer_random_value"]


GRADIENTS = """
#include "raylib.h"
#include <stdio.h>
#include <string.h>
static unsigned char picture[2][64*64*4];
static void take(int which) {
    EndDrawing();
    Image image = LoadImageFromScreen();
    memcpy(picture[which], image.data, sizeof picture[which]);
    UnloadImage(image);
    BeginDrawing();
    ClearBackground(BLACK);
}
int main(void) {
    InitWindow(64, 64, "gradients");
    BeginDrawing();
    ClearBackground(BLACK);
    DrawCircleGradient(30, 32, 20, (Color){ 255, 0, 0, 255 }, GREEN);
    take(0);
    DrawCircleGradient((Vector2){ 30, 32 }, 20, (Color){ 255, 0, 0, 255 }, GREEN);
    take(1);
    unsigned char* middle = picture[0] + 4*(64*32 + 30);
    printf("%d %d %d\\n", middle[0] > 230, middle[1] < 25,
           memcmp(picture[0], picture[1], sizeof picture[0]));
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_both_gradients_draw_the_same(tmp_path, compiler):
    program = link(tmp_path, drawing.static("headless"), GRADIENTS, compiler=(compiler,))
    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[-1] == "1 1 0"


def test_the_null_library_bears_the_old_names(tmp_path):
    unit = tmp_path / "both.c"
    unit.write_text(BOTH + TEXT)
    library = tmp_path / "both.so"
    null = raylib.null_library()
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-z,defs", f"-I{raylib.headers()}", unit, null,
                    "-lm", "-o", library], check=True)          # every name is defined
    ctypes.CDLL(str(null), mode=ctypes.RTLD_GLOBAL)
    assert hasattr(ctypes.CDLL(str(library)), "draw")


# ---- the desktop -----------------------------------------------------------------------------

WINDOW = """
#include "raylib.h"
#include <stdio.h>
int main(void) {
    InitWindow(160, 120, "raylib-desktop-test");
    SetTargetFPS(60);
    int frames = 0, clicked = 0, typed = 0;
    while (!WindowShouldClose() && frames++ < 1800) {
        if (IsKeyPressed(KEY_A)) typed = 1;
        if (IsMouseButtonPressed(MOUSE_BUTTON_LEFT)) clicked = GetMouseX() > 80;
        BeginDrawing();
        ClearBackground((Color){ 6, 24, 24, 255 });
        DrawCircleGradient(80, 60, 40.0f, RED, RED);
        EndDrawing();
        if (frames == 5) {
            Image image = LoadImageFromScreen();
            Color middle = GetImageColor(image, 80, 60), corner = GetImageColor(image, 2, 2);
            printf("%d %d %d, %d %d %d\\n", middle.r, middle.g, middle.b, corner.r, corner.g,
                   corner.b);
            fflush(stdout);
        }
    }
    CloseWindow();
    printf("typed %d clicked %d closed %d\\n", typed, clicked, frames < 1800);
}
"""


@pytest.fixture
def display(tmp_path):
    """A virtual screen of its own; the value of DISPLAY."""
    read, write = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "640x480x24",
                               "-nolisten", "tcp"], pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    with open(read) as file:
        number = file.readline().strip()
    assert number, "Xvfb did not start"
    yield f":{number}"
    server.terminate()
    server.wait()


def press(display, *words):
    subprocess.run(["xdotool", *map(str, words)], check=True, capture_output=True,
                   env={**os.environ, "DISPLAY": display})
    time.sleep(0.15)                                        # a few frames


def use_window(program, display):
    """Runs the program; types and clicks into its window; what it printed."""
    child = subprocess.Popen([program], stdout=subprocess.PIPE, text=True,
                             env={**os.environ, "DISPLAY": display})
    try:
        lines = []
        for line in child.stdout:                           # until the fifth frame is there
            lines.append(line)
            if "," in line and line[0].isdigit():
                break
        found = subprocess.run(["xdotool", "search", "--sync", "--onlyvisible", "--name",
                                "raylib-desktop-test"], text=True, capture_output=True, timeout=20,
                               check=True, env={**os.environ, "DISPLAY": display})
        window = found.stdout.split()[0]
        press(display, "windowfocus", window)
        press(display, "keydown", "a")
        press(display, "keyup", "a")
        press(display, "mousemove", "--window", window, 120, 60)
        press(display, "mousedown", 1)
        press(display, "mouseup", 1)
        press(display, "keydown", "Escape")
        press(display, "keyup", "Escape")
        rest, _ = child.communicate(timeout=30)
    finally:
        child.kill()
        child.wait()
    assert child.returncode == 0
    return [line.strip() for line in [*lines, *rest.splitlines()]
            if not line.startswith(("INFO", "    >", "WARNING"))]


def test_a_desktop_program_opens_its_window_and_hears_keys_and_mouse(tmp_path, display):
    served = drawing.static("desktop")
    assert served.version == fetch.version_of(drawing.find_source())
    assert served.library.suffix == ".a"
    said = use_window(link(tmp_path, served, WINDOW), display)
    assert said == ["230 41 55, 6 24 24", "typed 1 clicked 1 closed 1"]


@long_only
def test_without_x11_headers_the_wheel_opens_the_window(tmp_path, display, monkeypatch, capsys):
    monkeypatch.setattr(recipes, "_WINDOW", "#include <X11/not_installed.h>\n")
    monkeypatch.setattr(ui, "_warned", set())
    served = drawing.static("desktop")
    drawing.static("desktop")
    assert (served.version, served.origin) == (raylib.find_wheel().version, "the raylib wheel")
    said = capsys.readouterr().err
    assert said.count("X11/not_installed.h is missing") == 1
    assert "libxrandr-dev" in said or "xrandr" in said.lower()
    program = link(tmp_path, served, WINDOW)
    assert "libpython" not in subprocess.run(["ldd", program], capture_output=True, text=True,
                                             check=True).stdout
    said = use_window(program, display)
    assert said == ["230 41 55, 6 24 24", "typed 1 clicked 1 closed 1"]
    assert drawing.shared("desktop").library == wheel.find_library(
        raylib.find_wheel())


def test_without_a_source_the_wheel_serves_the_desktop_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PUFFER_CACHE", str(tmp_path))
    monkeypatch.setenv("PUFFER_OFFLINE", "1")
    monkeypatch.delenv("PUFFER_RAYLIB", raising=False)
    monkeypatch.setattr(ui, "_warned", set())
    assert drawing.static("desktop").origin == "the raylib wheel"
    assert "PUFFER_OFFLINE is set" in capsys.readouterr().err
    for serve, platform in ((drawing.static, "headless"), (drawing.shared, "headless"),
                            (drawing.static, "web")):
        with pytest.raises(BuildError, match="PUFFER_OFFLINE"):
            serve(platform)
    monkeypatch.setattr(raylib, "VARIANTS", ("a_wheel_that_nobody_made",))
    with pytest.raises(BuildError, match="PUFFER_OFFLINE"):
        drawing.static("desktop")


def test_a_fruitless_fetch_is_not_repeated_at_each_desktop_build(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setenv("PUFFER_CACHE", str(tmp_path))
    for name in ("PUFFER_RAYLIB", "PUFFER_OFFLINE"):
        monkeypatch.delenv(name, raising=False)

    def archives():
        asked.append(1)
        return []

    monkeypatch.setattr(fetch, "archives", archives)
    drawing.shared("desktop")
    drawing.shared("desktop")
    assert len(asked) == 1
    with pytest.raises(BuildError):
        drawing.shared("headless")                    # which nothing else can serve
    assert len(asked) == 2


# ---- the web ---------------------------------------------------------------------------------

def test_a_page_links_with_raylib(tmp_path):
    served = drawing.static("web")
    assert "-sUSE_GLFW=3" in served.link_flags
    source = tmp_path / "page.c"
    source.write_text(WINDOW)
    compilers.run_compiler([drawing.find_emcc(), "-O1", f"-I{served.headers}", source,
                            *served.link_flags, "-sASYNCIFY", "-o", tmp_path / "page.js"],
                           source=source, what="a page",
                           env=drawing.emscripten_environment())
    assert (tmp_path / "page.wasm").read_bytes()[:8] == b"\0asm" + struct.pack("<I", 1)


def test_debians_emscripten_is_told_where_its_parts_are(monkeypatch):
    if Path(drawing.find_emcc()).resolve().parent != Path("/usr/share/emscripten"):
        assert drawing.emscripten_environment() == {}
        return
    monkeypatch.delenv("NODE_PATH", raising=False)
    monkeypatch.setenv("EM_CACHE", "/nowhere")
    assert drawing.emscripten_environment() == {"NODE_PATH": "/usr/share/nodejs",
                                                      "EM_CACHE": None}
    monkeypatch.setenv("NODE_PATH", "/mine:/usr/share/nodejs")
    monkeypatch.delenv("EM_CACHE")
    assert drawing.emscripten_environment() == {}


def test_no_emscripten_names_the_package(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BuildError, match="emscripten, which builds web pages") as caught:
        drawing.find_emcc()
    assert "emscripten" in caught.value.hint


# ---- building: a raylib of a few lines, so that it takes no time ------------------------------

@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """PUFFER_RAYLIB names a source whose modules are one function each; the cache is empty."""
    source = tmp_path / "raylib" / "src"
    for name in fetch.NEEDED:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(f"int of_{Path(name).stem}(void) {{ return 1; }}\n")
    (source / "raylib.h").write_text('#define RAYLIB_VERSION "6.0"\n#ifndef R\n#define R\n#endif\n')
    (source / "rgestures.h").write_text("")
    monkeypatch.setenv("PUFFER_RAYLIB", str(source.parent))
    monkeypatch.setenv("PUFFER_CACHE", str(tmp_path / "cache"))
    return source


def built(tmp_path):
    return sorted(item.name for item in (tmp_path / "cache" / "raylib" / "lib").iterdir())


def test_a_library_is_compiled_once_and_again_when_the_source_changes(tmp_path, tiny, capsys):
    seen = []
    first = drawing.static("desktop", verbose=True,
                                 on_progress=lambda *step: seen.append(step))
    assert first.origin == f"PUFFER_RAYLIB={tiny.parent}"
    assert seen[0] == ("raylib", 0, 7) and seen[-1] == ("raylib", 7, 7)
    shown = capsys.readouterr().err.splitlines()
    assert "once on this machine" in shown.pop(0)
    assert len(shown) == 7 and all(str(tiny) in line for line in shown[:6])
    assert sum("-O1" in line for line in shown) == 1            # raudio
    stamp = first.library.stat().st_mtime_ns
    assert drawing.static("desktop") == first
    assert first.library.stat().st_mtime_ns == stamp
    (tiny / "rcore.c").write_text("int of_rcore(void) { return 2; }\n")
    assert drawing.static("desktop").library != first.library
    assert [name for name in built(tmp_path) if name.startswith(".")] == []


def test_a_shared_library_takes_the_objects_of_a_static_one(tmp_path, tiny, capsys):
    """Only the core differs, which takes screenshots at F12 in a program."""
    drawing.static("desktop")
    capsys.readouterr()
    drawing.shared("desktop", verbose=True)
    compiled = [line for line in capsys.readouterr().err.splitlines() if " -c " in line]
    assert len(compiled) == 1 and "rcore.c" in compiled[0] and "SCREEN_CAPTURE=0" in compiled[0]
    (tiny / "rtext.c").write_text("int of_rtext(void) { return 2; }\n")
    drawing.shared("desktop", verbose=True)
    assert sum(" -c " in line for line in capsys.readouterr().err.splitlines()) == 6


def test_a_module_that_does_not_compile_leaves_no_library(tmp_path, tiny):
    (tiny / "rtext.c").write_text("int of_rtext(void) { return nothing; }\n")
    with pytest.raises(BuildError, match="refused raylib for desktop") as caught:
        drawing.static("desktop")
    assert "rtext.c:1" in str(caught.value.where)
    assert built(tmp_path) == []


RACE = "from puffer_sdk.raylib import drawing; print(drawing.static('desktop').library)"


def test_processes_that_race_compile_once(tmp_path, tiny):
    log = tmp_path / "log"
    slow = tmp_path / "slow-cc"
    slow.write_text(f'#!/bin/sh\ncase "$*" in *rcore.c*) echo x >> {log}; sleep 0.5;; esac\n'
                    'exec gcc "$@"\n')
    slow.chmod(0o755)
    racing = [subprocess.Popen([sys.executable, "-c", RACE], cwd=ROOT, stdout=subprocess.PIPE,
                               text=True, env={**os.environ, "CC": str(slow)}) for _ in range(3)]
    found = {child.communicate(timeout=60)[0].strip() for child in racing}
    assert len(found) == 1 and log.read_text() == "x\n"
    listed = subprocess.run(["ar", "t", found.pop()], capture_output=True, text=True, check=True)
    assert sorted(name.partition("-")[0] for name in listed.stdout.split()) == [
        "raudio", "rcore", "rmodels", "rshapes", "rtext", "rtextures"]


def test_a_library_that_is_in_a_read_only_cache_serves(tmp_path, tiny, monkeypatch):
    first = drawing.static("desktop")
    monkeypatch.setattr(paths, "writable", lambda *words, **more: pytest.fail("wanted to write"))
    assert drawing.static("desktop") == first


def test_two_compilers_two_libraries(tmp_path, tiny, monkeypatch):
    monkeypatch.setenv("CC", "gcc")
    first = drawing.static("desktop").library
    monkeypatch.setenv("CC", shutil.which("clang"))
    assert drawing.static("desktop").library != first
