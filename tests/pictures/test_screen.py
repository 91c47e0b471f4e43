"""screen: what an env sees of a raylib that we direct, told by an env that asks it everything."""
import json
import subprocess
import sys
from pathlib import Path

import pytest

ASKING = """\
#pragma once
#include "raylib.h"
#include <stdlib.h>
#define OBS_SIZE 16
#define ACT_SIZES {2}
typedef struct Log { float score; float n; } Log;
typedef struct Asking {
    Log log;
    float* observations; float* actions; float* rewards; float* terminals;
    int num_agents; unsigned int rng;
    int width, waiting;
} Asking;

void c_reset(Asking* env) { for (int i = 0; i < OBS_SIZE; i++) env->observations[i] = -1; }
void c_step(Asking* env) { env->terminals[0] = 0; }
void c_close(Asking* env) { (void)env; if (IsWindowReady()) CloseWindow(); }

void c_render(Asking* env) {
    float* said = env->observations;
    if (env->waiting) {                 // a menu that waits for somebody
        int frames = 0;
        InitWindow(env->width, 60, "asking");
        while (!WindowShouldClose()) { BeginDrawing(); EndDrawing(); frames++; }
        said[0] = (float)frames;
        return;
    }
    said[0] = IsWindowReady();
    InitWindow(env->width, 60, "asking");           // on each frame
    InitAudioDevice();                              // there is none
    SetTargetFPS(1);
    SetExitKey(KEY_Q);
    said[1] = IsWindowReady();
    said[2] = WindowShouldClose();
    said[3] = IsKeyDown(KEY_ESCAPE) || IsKeyPressed(KEY_ESCAPE) || !IsKeyUp(KEY_ESCAPE);
    said[4] = (float)GetScreenWidth();
    said[5] = (float)GetRenderHeight();
    said[6] = GetFrameTime();
    said[7] = (float)GetTime();
    BeginDrawing();
    ClearBackground((Color){10, 20, 30, 255});
    DrawRectangle(0, 0, 40, 10, (Color){255, 0, 0, 255});          // top left, red
    DrawRectangle(env->width - 40, 50, 40, 10, (Color){0, 0, 255, 255});    // bottom right, blue
    EndDrawing();
}
"""

SCRIPT = """\
import json, sys, time
from pathlib import Path
from puffer_sdk.env import build as building
from puffer_sdk.raylib import drawing as raylib_source
from puffer_sdk.settings import config
from puffer_sdk.pictures.screen.canvas import Screen
from puffer_sdk.env.library import Library
from puffer_sdk.env.vec import VecEnv
folder, settings = Path(sys.argv[1]), json.loads(sys.argv[2])
served = raylib_source.shared("headless")
screen = Screen.open(served, visible=False)
library = Library(building.build(folder, raylib_headers=served.headers).library, folder)
make = lambda: VecEnv(library, total_agents=2, env_settings=settings)
vec = make()
vec.reset()
said, began = [], time.perf_counter()
for frame in range(20):
    picture = screen.render(vec, frame % 2)
    said.append(vec.observations[frame % 2].tolist())
seconds = time.perf_counter() - began
vec.close()                         # c_close wants the window closed
vec = make(); vec.reset()
again = screen.render(vec, 0)
print(json.dumps({"said": said, "seconds": seconds, "fps": screen.asked_fps,
                  "size": [screen.width, screen.height],
                  "picture": None if picture is None else picture.tolist(),
                  "again": again is not None and bool((again == picture).all()),
                  "unseen": screen.render(vec, 0, capture=False) is None}))
screen.close()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("envs") / "asking"
    folder.mkdir()
    (folder / "asking.h").write_text(ASKING)
    (folder / "asking.ini").write_text("[env]\nwidth = 80\nwaiting = 0\n")
    return folder


def ask(folder, **settings) -> dict:
    done = subprocess.run([sys.executable, "-c", SCRIPT, folder, json.dumps(settings)],
                          text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))


def test_one_window_that_stays_and_time_in_frames(folder):
    told = ask(folder, width=80, waiting=0)
    ready_before = [said[0] for said in told["said"]]
    assert ready_before == [0, 0, *[1] * 18]          # each env opens it, and loads what it needs
    for number, said in enumerate(told["said"]):
        assert said[1:6] == [1, 0, 0, 80, 60]
        assert said[6] == pytest.approx(1) and said[7] == pytest.approx(number)
    assert told["fps"] == 1 and told["seconds"] < 10        # nobody waits: it would be 20
    assert told["size"] == [80, 60] and told["again"] and told["unseen"]


def test_the_picture_is_upright_and_its_colours_are_right(folder):
    rows = ask(folder, width=80, waiting=0)["picture"]
    assert (len(rows), len(rows[0])) == (60, 80)
    assert rows[2][2] == [255, 0, 0] and rows[2][77] == [10, 20, 30]
    assert rows[57][77] == [0, 0, 255] and rows[57][2] == [10, 20, 30]


def test_a_loop_that_waits_for_somebody_is_told_to_end(folder):
    told = ask(folder, width=80, waiting=1)
    assert 100 < told["said"][0][0] < 10_000 and told["picture"] is not None
