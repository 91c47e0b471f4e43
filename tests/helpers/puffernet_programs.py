"""What tests of puffernet.h share: how programs are compiled, files that may be damaged."""
from __future__ import annotations

import os
import struct
import subprocess
import zlib
from pathlib import Path

import numpy as np

from puffer_sdk.base import paths

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
COMPILERS = {"gcc": ["gcc", "-std=c11", "-O2"], "clang": ["clang", "-std=c11", "-O2"],
             "g++": ["g++", "-x", "c++", "-std=c++17", "-O3", "-march=native"],
             "clang++": ["clang++", "-x", "c++", "-std=c++17", "-O1"],
             "emcc": ["emcc", "-std=c11", "-O2", "-sNODERAWFS=1", "-sSINGLE_FILE=1",
                      "-sALLOW_MEMORY_GROWTH=1"]}
KINDS = {"float32": 0, "uint8": 1, "int32": 2, "bf16": 3}         # driver.c's
SANITIZE = ["gcc", "-std=c11", "-g", "-O1", "-fsanitize=address,undefined",
            "-fno-sanitize-recover=all"]


def compile_c(command: list[str], source: Path, target: Path) -> Path:
    environment = {**os.environ, "NODE_PATH": "/usr/share/nodejs"}
    subprocess.run([*command, *WARNINGS, f"-I{paths.include_dir()}", source, "-o", target, "-lm"],
                   check=True, env=environment)
    return target


def assert_close(got, want):
    assert np.abs(got - want).max() <= 1e-4 * max(1.0, np.abs(want).max())


def opened(opener: Path, files) -> tuple[list[str], str]:
    """A word a file ("LM" where both ways opened it), and what was said on stderr."""
    done = subprocess.run([opener], input="".join(f"{file}\n" for file in files), text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr


def numbers(good: bytes) -> int:
    """Floats before the trailer."""
    return (len(good) - struct.unpack_from("<I", good, len(good) - 12)[0]) // 4


def write_all(folder: Path, contents) -> list[Path]:
    files = [folder / f"{number}.bin" for number in range(len(contents))]
    for file, content in zip(files, contents):
        file.write_bytes(content)
    return files


def forged(good: bytes, place: int, value: int, length: int | None = None) -> bytes:
    """The file with another word in its trailer, and a checksum that fits."""
    start = 4 * numbers(good)
    trailer = bytearray(good[start:-16])
    struct.pack_into("<I", trailer, place, value & 0xffffffff)
    end = struct.unpack_from("<I", good, len(good) - 12)[0] if length is None else length
    body = good[:start] + bytes(trailer)
    return body + struct.pack("<II8s", zlib.crc32(body), end & 0xffffffff, b"PUFFNET1")
