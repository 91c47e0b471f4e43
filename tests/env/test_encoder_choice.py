"""The encoder that a row's description asks for."""
from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from puffer_sdk.base.errors import UsageError
from puffer_sdk.env import encoder_choice, header, obs_spec
from puffer_sdk.settings import config
from puffer_sdk.settings.encoder import parse

HEADER = """
typedef struct Log { float perf; float n; } Log;
typedef struct Look {
    Log log;
    float* observations; float* actions; float* rewards; float* terminals;
    int num_agents;
    unsigned int rng;
} Look;
#define ACT_SIZES {3}
enum {
    OBS_SPEED,                          // [-1, 1]
    OBS_TOOL,                           // 5 ids
    OBS_MAP,                            // grid 9 x 12 of 4 ids
    OBS_SHIPS = OBS_MAP + 108,          // list 6 x 4, mask 0
    OBS_EYE = OBS_SHIPS + 24,           // image 20 x 24 x 3
    OBS_STRIP = OBS_EYE + 1440,         // grid 2 x 30 of 4 ids
    OBS_COUNT = OBS_STRIP + 60
};
#define OBS_SIZE OBS_COUNT
void c_reset(Look* env) { (void)env; }
void c_step(Look* env) { (void)env; }
void c_render(Look* env) { (void)env; }
void c_close(Look* env) { (void)env; }
"""
SIZE = 2 + 108 + 24 + 1440 + 60


def row_of(folder: Path, text: str = HEADER, size: int = SIZE) -> obs_spec.ObsSpec:
    (folder / "look").mkdir()
    (folder / "look" / "look.h").write_text(text)
    found = obs_spec.read(header.read(folder / "look"), size, (3,))
    assert found is not None
    return found


def test_each_part_by_its_description(tmp_path: Path) -> None:
    assert encoder_choice.choose(row_of(tmp_path)) == parse(
        "ids 1 1 of 5 + grid 2 9x12x1 of 4: 16x3 32x3/2 + list 110 6x4 mask 0: 64 64 + "
        "image 134 20x24x3: 16x4/2 32x3/2 32x3")        # the strip is too narrow


def test_channels_may_come_first(tmp_path: Path) -> None:
    text = HEADER.replace("image 20 x 24 x 3", "image 3 x 20 x 24")
    part = encoder_choice.choose(row_of(tmp_path, text))[-1]
    assert part.planes and (part.height, part.width, part.channels) == (20, 24, 3)


@pytest.mark.parametrize("shape, taken", [
    ("image 7 x 7 x 3", False), ("image 9 x 9 x 3", True), ("grid 4 x 30 of 3 ids", False),
    ("grid 5 x 5 of 3 ids", True), ("grid 8 x 8", False)])
def test_few_numbers_stay_a_row(tmp_path: Path, shape: str, taken: bool) -> None:
    count = math.prod(map(int, re.findall(r"\d+", shape.partition(" of ")[0])))
    text = re.sub(r"enum \{.*?\};\n", "", HEADER, flags=re.DOTALL).replace(
        "#define OBS_SIZE OBS_COUNT", f"#define OBS_SIZE {count}     // {shape}")
    assert bool(encoder_choice.choose(row_of(tmp_path, text, count))) == taken


def test_settings_say_what_was_chosen(tmp_path: Path) -> None:
    row = row_of(tmp_path)
    found = encoder_choice.resolve(config.defaults({"train.device": "cpu"}), SIZE, lambda: row)
    assert len(parse(found.policy.encoder)) == 4
    assert found.origin["policy.encoder"].startswith("auto: ")
    assert found.policy.encoder in (encoder_choice.say(found) or "")
    plain = encoder_choice.resolve(config.defaults({"train.device": "cpu"}), 3, lambda: None)
    assert plain.policy.encoder == "flat" and encoder_choice.say(plain) is None
    flat = config.defaults({"policy.encoder": "flat"})
    assert encoder_choice.resolve(flat, SIZE, lambda: row) is flat


def test_a_gpu_sees_rows_of_numbers(tmp_path: Path) -> None:
    row, settings = row_of(tmp_path), config.defaults({"train.device": "cpu"})
    on_gpu = replace(settings, train=replace(settings.train, device="cuda", backend="native"))
    found = encoder_choice.resolve(on_gpu, SIZE, lambda: row)
    assert found.policy.encoder == "flat" and "--train.device cpu" in encoder_choice.say(found)
    plain = encoder_choice.resolve(on_gpu, 3, lambda: None)
    assert plain.policy.encoder == "flat" and encoder_choice.say(plain) is None


def test_a_preset_wants_an_image(tmp_path: Path) -> None:
    asked = config.defaults({"policy.encoder": "small", "train.device": "cpu"})
    large = HEADER.replace("image 20 x 24 x 3", "image 40 x 36 x 1")
    found = encoder_choice.resolve(asked, SIZE, lambda: row_of(tmp_path, large)).policy.encoder
    assert "image 134 40x36x1: 16x8/4 32x4/2" in found
    with pytest.raises(UsageError, match="finds no image") as caught:
        encoder_choice.resolve(asked, 3, lambda: None)
    assert caught.value.actual == "no description"


def test_a_preset_that_is_too_large_says_so(tmp_path: Path) -> None:
    asked = config.defaults({"policy.encoder": "nature", "train.device": "cpu"})
    with pytest.raises(UsageError, match="nature is too large for the image"):
        encoder_choice.resolve(asked, SIZE, lambda: row_of(tmp_path))


def test_parts_that_do_not_fit_are_refused() -> None:
    asked = config.defaults({"policy.encoder": "image 0 48x48x1: 16x8/4"})
    with pytest.raises(UsageError, match="does not fit"):
        encoder_choice.resolve(asked, 100, lambda: None)


def test_cells_of_several_kinds(tmp_path: Path) -> None:
    text = HEADER.replace("grid 2 x 30 of 4 ids", "grid 6 x 5 of (4 ids, number)")
    row = row_of(tmp_path, text)
    assert row.parts[-1].described == "grid 6 x 5 x 2 of (4 ids, number)"
    assert row.parts[-1].promises == ((slice(1574, 1634, 2), (0.0, 3.0)),)
    assert encoder_choice.choose(row)[-1] == parse("grid 1574 6x5x2 of 4,0: 32x3")[0]
