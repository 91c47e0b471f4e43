"""Pictures: what was written is decoded, and compared with the frames that went in."""
import io
import os
import re
import resource
import sys

import numpy as np
import pytest
from helpers.films import decoded, ffmpeg
from PIL import Image, ImageDraw

from puffer_sdk.base.errors import RunError, UsageError
from puffer_sdk.pictures import gif, palette, writers

TEAL, GOLD, DARK, WHITE = (0, 187, 187), (241, 180, 52), (6, 24, 24), (241, 241, 241)


def game(count, width=200, height=120, fade=0):
    """A flat picture with antialiased text, a piece that jumps and a number that counts."""
    frames = []
    for i in range(count):
        image = Image.new("RGB", (width, height), DARK)
        draw = ImageDraw.Draw(image)
        draw.ellipse([150, 70, 180, 100], fill=GOLD)
        draw.rectangle([i * 20 % 180, 40, i * 20 % 180 + 19, 59], fill=TEAL)
        draw.text((6, 6), f"tick {i}", fill=WHITE, font_size=18)
        frames.append(np.asarray(image).copy())
        if fade:
            frames[-1][:, :fade] += np.arange(fade, dtype=np.uint8)[None, :, None]
    return frames


def boxes(path):
    """(width, height) of each image block of a GIF."""
    return [(tile[1][2] - tile[1][0], tile[1][3] - tile[1][1])
            for tile in _tiles(path)]


def _tiles(path):
    with Image.open(path) as image:
        for i in range(image.n_frames):
            image.seek(i)
            if image.tile:
                yield image.tile[0]


def test_a_gif_has_the_frames_exactly_and_loops_for_ever(tmp_path):
    frames = game(40)
    writers.write_gif(tmp_path / "a.gif", frames, fps=10)
    found, delays, info = decoded(tmp_path / "a.gif")
    assert len({tuple(c) for f in frames for c in f.reshape(-1, 3)}) > 30
    assert all(np.array_equal(a, b) for a, b in zip(found, frames, strict=True))
    assert delays == [10] * 40 and info["loop"] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["a.gif"]


@pytest.mark.parametrize("colours", [1, 2, 3, 4, 5, 255, 256])
def test_exact_up_to_256_colours(colours, tmp_path):
    """The transparent entry takes the 256th place; where there is none left, boxes do."""
    values = np.arange(colours, dtype=np.uint8)
    book = np.stack([values, values[::-1], values ^ 0x55], 1)
    rng = np.random.default_rng(colours)
    frames = [book[np.resize(values, (16, 20))]]
    for _ in range(12):
        frames.append(frames[-1].copy())
        frames[-1][rng.integers(0, 16, 9), rng.integers(0, 20, 9)] = book[rng.integers(0, colours)]
    writers.write_gif(tmp_path / "a.gif", frames, fps=50)
    found, delays, _ = decoded(tmp_path / "a.gif")
    shown = [frame for i, frame in enumerate(frames)
             if i == 0 or (frame != frames[i - 1]).any()]
    assert all(np.array_equal(a, b) for a, b in zip(found, shown, strict=True))
    assert sum(delays) == 2 * len(frames)


@pytest.mark.parametrize(("fps", "count", "every"), [
    (1, 5, 1), (8, 40, 1), (12.5, 30, 1), (15, 31, 1), (30, 45, 1), (40, 60, 1), (50, 20, 1),
    (60, 60, 2), (60, 61, 2), (100, 50, 2), (120, 121, 3), (0.001, 2, 1)])
def test_the_speed_is_right_at_every_rate(fps, count, every, tmp_path):
    frames = game(count, 110, 60)
    writers.write_gif(tmp_path / "a.gif", frames, fps=fps)
    found, delays, _ = decoded(tmp_path / "a.gif")
    assert abs(sum(delays) - 100 * count / fps) <= 1.5
    assert min(delays) >= 2                 # browsers show less as 10
    assert np.array_equal(found[0], frames[0])
    if fps >= 1:
        assert len(found) == -(-count // every)
        assert all(np.array_equal(a, b) for a, b in zip(found, frames[::every], strict=True))
        assert max(delays[:-1]) - min(delays[:-1]) <= 1


def test_a_still_frame_lasts_longer_instead_of_being_written_again(tmp_path):
    one, two, *_ = game(2)
    writers.write_gif(tmp_path / "a.gif", [one, one, one, two, two], fps=10)
    found, delays, _ = decoded(tmp_path / "a.gif")
    assert delays == [30, 20] and np.array_equal(found[1], two)


def test_only_what_changed_is_written(tmp_path):
    frames = game(10)
    for i, frame in enumerate(frames):
        frame[:30] = DARK                   # no text: the piece alone moves, by its own width
        if i > 8:
            frame[110:] = GOLD
    writers.write_gif(tmp_path / "a.gif", frames[:9], fps=10)
    assert boxes(tmp_path / "a.gif") == [(200, 120)] + [(40, 20)] * 8


@pytest.mark.parametrize("fade", [0, 120])
def test_a_gif_is_small(fade, tmp_path):
    """Against Pillow's own writer, which draws boxes too; many colours or few."""
    frames = game(60, fade=fade)
    writers.write_gif(tmp_path / "a.gif", frames, fps=20)
    pictures = [Image.fromarray(frame) for frame in frames]
    usual = io.BytesIO()
    pictures[0].save(usual, "GIF", save_all=True, append_images=pictures[1:], duration=50, loop=0)
    naive = sum(len(_alone(picture)) for picture in pictures)
    size = (tmp_path / "a.gif").stat().st_size
    assert size < 0.75 * len(usual.getvalue()) and size < 0.25 * naive


def _alone(picture):
    file = io.BytesIO()
    picture.save(file, "GIF")
    return file.getvalue()


def test_among_many_colours_the_flat_ones_stay_exact_and_nothing_flickers(tmp_path):
    """A sky of 10,000 shades, and a small piece and a letter in colours of their own."""
    rows, columns = np.mgrid[:120, :160].astype(np.uint8)
    frames = []
    for i in range(12):
        frame = np.stack([rows, 255 - columns, rows // 2 + columns // 2], 2)
        frame[5:15, 5:15] = GOLD
        frame[60:80, 10 * i:10 * i + 20] = TEAL
        frames.append(frame)
    assert len(np.unique(palette.pack(frames[0]))) > 10_000
    writers.write_gif(tmp_path / "a.gif", frames, fps=10)
    found, _, _ = decoded(tmp_path / "a.gif")
    for i, (got, frame) in enumerate(zip(found, frames, strict=True)):
        assert (got[5:15, 5:15] == GOLD).all()
        assert (got[60:80, 10 * i:10 * i + 20] == TEAL).all()
        assert abs(got.astype(int) - frame).mean() < 6
        assert np.array_equal(got[90:], found[0][90:])          # what rests, rests
    used = {tuple(c) for f in found for c in f.reshape(-1, 3)}
    assert 200 < len(used) <= 256


def test_many_colours_that_come_late_change_the_palette_of_all(tmp_path):
    """The first frames were encoded exactly by then, and are encoded again."""
    frames = game(12)
    rng = np.random.default_rng(0)
    frames[8] = rng.integers(0, 256, frames[8].shape).astype(np.uint8)
    writers.write_gif(tmp_path / "a.gif", frames, fps=10)
    found, delays, _ = decoded(tmp_path / "a.gif")
    assert delays == [10] * 12
    for i in (0, 5, 11):
        assert (found[i][85, 165] == GOLD).all() and (found[i][115, 100] == DARK).all()
        assert abs(found[i].astype(int) - frames[i]).mean() < 0.5


def test_a_colour_that_comes_late_is_there(tmp_path):
    frames = game(50)
    frames[-1][:] = (200, 10, 90)
    writers.write_gif(tmp_path / "a.gif", frames, fps=10)
    assert (decoded(tmp_path / "a.gif")[0][-1] == (200, 10, 90)).all()


def test_memory_does_not_grow_with_the_film(tmp_path, monkeypatch):
    """What is kept of a frame is what changed, and that on the disk from IN_MEMORY on."""
    monkeypatch.setattr(gif, "IN_MEMORY", 1000)
    spool, frames = gif.Spool(), game(30)
    for frame in frames:
        spool.append(palette.pack(frame))
    assert spool._file._rolled and spool._file.tell() < frames[0].nbytes
    again = [palette.unpack(packed) for packed, _ in spool]
    assert all(np.array_equal(a, b) for a, b in zip(again, frames, strict=True))


def test_packing_is_undone():
    frame = np.random.default_rng(0).integers(0, 256, (7, 5, 3)).astype(np.uint8)
    assert palette.pack(frame)[2, 3] == int("{:02x}{:02x}{:02x}".format(*frame[2, 3]), 16)
    assert np.array_equal(palette.unpack(palette.pack(frame)), frame)
    assert np.array_equal(palette.unpack(palette.pack(frame[::-1, ::-1])), frame[::-1, ::-1])


# -- films and pictures ------------------------------------------------------------


@pytest.mark.parametrize(("width", "height"), [(200, 120), (201, 121)])
def test_a_film_decodes_to_the_frames(width, height, tmp_path):
    frames = game(25, width, height)
    path = tmp_path / "a.mp4"
    writers.write_mp4(path, frames, fps=12.5)
    assert [item.name for item in tmp_path.iterdir()] == ["a.mp4"]
    about = ffmpeg("-i", path).stderr.decode()
    even = f"{width + width % 2}x{height + height % 2}"
    assert re.search(rf"Video: h264 .*yuv420p\(tv, bt709.* {even}", about), about
    assert "Duration: 00:00:02.00" in about and "12.50 fps" in about
    assert path.read_bytes().index(b"moov") < path.read_bytes().index(b"mdat")      # faststart
    raw = ffmpeg("-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-").stdout
    found = np.frombuffer(raw, np.uint8).reshape(25, height + height % 2, -1, 3)
    for got, frame in zip(found[:, :height, :width].astype(int), frames):
        assert abs(got - frame).mean() < 3
        assert abs(got[85, 165] - GOLD).max() < 12 and abs(got[110, 20] - DARK).max() < 6


def test_a_film_without_ffmpeg_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(UsageError, match="not installed") as caught:
        writers.write_mp4(tmp_path / "a.mp4", game(1), fps=5)
    assert "puffer-sdk[video]" in caught.value.hint
    assert not list(tmp_path.iterdir())


def test_pictures(tmp_path):
    frames = game(3)
    with writers.PngWriter(tmp_path / "frames") as writer:
        for frame in frames:
            writer.write(frame)
    files = sorted((tmp_path / "frames").iterdir())
    assert [file.name for file in files] == [f"frame_00000{i}.png" for i in range(3)]
    assert all(np.array_equal(np.asarray(Image.open(file)), frame)
               for file, frame in zip(files, frames))
    writers.write_png(tmp_path / "one.png", frames[1])
    assert np.array_equal(np.asarray(Image.open(tmp_path / "one.png")), frames[1])


def test_a_shorter_film_leaves_no_frames_of_the_one_before(tmp_path):
    for count in (5, 2):
        with writers.PngWriter(tmp_path / "frames") as writer:
            for frame in game(count):
                writer.write(frame)
    assert len(list((tmp_path / "frames").iterdir())) == 2


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(UsageError, match="contains other files") as caught:
        writers.PngWriter(tmp_path)
    assert caught.value.actual == "thesis.txt"
    with writers.PngWriter(tmp_path, force=True) as writer:
        writer.write(game(1)[0])
    assert sorted(item.name for item in tmp_path.iterdir()) == ["frame_000000.png", "thesis.txt"]


@pytest.mark.parametrize("make", [writers.GifWriter, writers.Mp4Writer, writers.PngWriter])
def test_what_fails_leaves_nothing_and_spares_what_was_there(make, tmp_path):
    path = tmp_path / "out"
    for old in (False, True):
        if old:
            with make(path, 10) as writer:
                writer.write(game(1)[0])
        before = {item: item.read_bytes() for item in tmp_path.rglob("*") if item.is_file()}
        with pytest.raises(ZeroDivisionError), make(path, 10) as writer:
            for frame in game(3):
                writer.write(frame)
            raise ZeroDivisionError
        after = {item: item.read_bytes() for item in tmp_path.rglob("*") if item.is_file()}
        assert after == before and bool(before) == old
        assert old or not path.exists()


@pytest.mark.parametrize("make", [writers.GifWriter, writers.Mp4Writer, writers.PngWriter])
def test_a_place_that_cannot_be_is_named(make, tmp_path):
    with pytest.raises(UsageError, match="output folder does not exist"):
        make(tmp_path / "nowhere" / "out", 10)


@pytest.mark.parametrize("write", [writers.write_gif, writers.write_mp4])
def test_no_frames_and_no_speed_are_refused(write, tmp_path):
    with pytest.raises(UsageError, match="needs at least one frame"):
        write(tmp_path / "out", [], fps=5)
    with pytest.raises(UsageError, match="more than 0"):
        write(tmp_path / "out", game(1), fps=0)
    assert not list(tmp_path.iterdir())


def test_a_film_that_was_cut_off_is_no_film(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))
    try:
        with pytest.raises(RunError, match="ffmpeg cannot write the film"):
            writers.write_mp4(tmp_path / "a.mp4", game(40), fps=5)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("write", [writers.write_gif, writers.write_mp4])
def test_no_device_and_no_link_is_renamed_over(write, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="must be a file name"):
        write(tmp_path / "pipe", game(1), fps=5)
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link", game(1), fps=5)
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").stat().st_size
    assert (tmp_path / "pipe").is_fifo()


def test_a_full_disk_is_named(tmp_path, monkeypatch):
    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(28, "No space left on device")

    writer = writers.GifWriter(tmp_path / "a.gif", 10)
    writer.write(game(1)[0])
    writer._draft.file.close()
    writer._draft.file = writer._blocks.file = Full()
    with pytest.raises(RunError, match="cannot write the GIF") as caught:
        writer.close()
    assert "No space left" in caught.value.detail and not list(tmp_path.iterdir())
