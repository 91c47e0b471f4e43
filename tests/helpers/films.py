"""GIFs and films, read back with Pillow and ffmpeg."""
from __future__ import annotations

import subprocess

import numpy as np
from PIL import Image


def decoded(path):
    """(frames, the hundredths of a second that each lasts, the file's info)"""
    frames, delays = [], []
    with Image.open(path) as image:
        info = dict(image.info)
        for i in range(image.n_frames):
            image.seek(i)
            frames.append(np.asarray(image.convert("RGB")))
            delays.append(round(image.info["duration"] / 10))
    return frames, delays, info


def ffmpeg(*args):
    import imageio_ffmpeg

    return subprocess.run([imageio_ffmpeg.get_ffmpeg_exe(), "-hide_banner", *map(str, args)],
                          capture_output=True)
