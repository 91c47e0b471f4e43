"""Which alignment a header asks for beyond malloc's."""
import pytest

from puffer_sdk.env import wide_types


@pytest.mark.parametrize("text, bytes_", [
    ("typedef struct __attribute__((aligned(32))) { float of[8]; } Won;", 32),
    ("#define LINE 64\n_Alignas(LINE) static char page[LINE];", 64),
    ("typedef float Eight __attribute__((vector_size(32)));", 32),
    ("#include <immintrin.h>\ntypedef struct Row { __m256i of[2]; } Row;", 32),
    ("#include <immintrin.h>\ntypedef struct Row { __m512bh of; } Row;", 64),
    ("int x __attribute__((aligned(16)));", 0), ("// aligned(64) __m512\nint x;", 0),
    ("int aligned(int there);", 0), ("int x __attribute__((aligned(48)));", 0)])
def test_the_widest_alignment_is_found(tmp_path, text, bytes_):
    (tmp_path / "game.h").write_text(text + "\n")
    assert wide_types.asked_for(tmp_path) == bytes_
