"""Compiling the native trainer: once, by one command, whole or not at all."""
import concurrent.futures
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from puffer_sdk.base import paths
from puffer_sdk.base.errors import BuildError
from puffer_sdk.env import abi
from puffer_sdk.settings import config
from puffer_sdk.toolchain import compilers, libraries
from puffer_sdk.training import backends
from puffer_sdk.training.native import trainer_library

SOURCES = {"kernels/kernels.h": "int one(void);\n",
           "kernels/cpu/one.c": '#include "kernels/kernels.h"\n'
                                'int one(void) { return 1; }\n',
           "trainer/puffer_trainer.h": "#pragma GCC visibility push(default)\nint two(void);\n",
           "trainer/cpu/two.c": '#include "kernels/kernels.h"\n#include "puffer_abi.h"\n'
                                '#include "trainer/puffer_trainer.h"\n'
                                'int two(void) { return 1 + one(); }\n'}


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Sources that compile in no time, with an empty cache. Returns the folder of the sources."""
    for name, text in SOURCES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("PUFFER_CACHE", str(tmp_path / "cache"))
    real = paths.data_dir
    monkeypatch.setattr(paths, "data_dir", lambda name: tmp_path / name
                        if name in ("kernels", "trainer") else real(name))
    return tmp_path


def test_one_command_once(small, capsys):
    first = trainer_library.build_trainer(verbose=True)
    said = capsys.readouterr().err.splitlines()
    assert first.parent == small / "cache/trainer" and libraries.is_intact(first)
    assert said[0] == "compiling the trainer, once for this machine ..." and len(said) == 2
    assert "-ffp-contract=off" in said[1] and "-march" not in said[1]
    assert trainer_library.build_trainer(verbose=True) == first
    assert capsys.readouterr().err == ""


def test_the_shown_command_makes_the_same_library(small, capsys):
    made = trainer_library.build_trainer(verbose=True)
    words = shlex.split(capsys.readouterr().err.splitlines()[1])
    words[words.index("-o") + 1] = str(small / "again.so")
    subprocess.run(words, check=True)
    assert (small / "again.so").read_bytes() == made.read_bytes()


def test_the_key_covers_what_the_library_depends_on(small, monkeypatch):
    names = [trainer_library.build_trainer().name]

    def changed() -> None:
        names.append(trainer_library.build_trainer().name)

    for path in (small / "kernels/kernels.h", small / "trainer/cpu/two.c"):
        path.write_text(path.read_text() + "\n")
        changed()
    (small / "kernels/cpu/three.c").write_text("int three;\n")
    changed()
    monkeypatch.setattr(trainer_library, "FLAGS", (*trainer_library.FLAGS, "-DX"))
    changed()
    monkeypatch.setattr(compilers, "cpu_features_key", lambda: "another cpu")
    changed()
    real = compilers.find_compiler()
    monkeypatch.setattr(compilers, "find_compiler", lambda: compilers.Compiler(
        real.path, real.version, real.kind, real.args, "another banner"))
    changed()
    assert len(set(names)) == len(names) == 7
    kept = sorted(path.name for path in (small / "cache/trainer").glob("*.so"))
    assert kept == sorted(names[-trainer_library.KEEP:])


@pytest.mark.parametrize("damage", ["cut", "mac"])
def test_a_damaged_library_is_compiled_again(small, damage):
    path = trainer_library.build_trainer()
    whole = path.read_bytes()
    if damage == "cut":
        path.write_bytes(whole[:1000])
    else:
        libraries.mac_file(path).unlink()
    assert trainer_library.build_trainer() == path and path.read_bytes() == whole
    assert libraries.is_intact(path)


def test_a_library_that_is_whole_and_does_not_open_is_compiled_again(small, monkeypatch):
    # another interface for this test alone: libraries that are open keep theirs
    declared = abi.declare([small / "trainer/puffer_trainer.h"])
    monkeypatch.setattr(abi, "trainer_ffi", lambda: declared)
    trainer_library.library.cache_clear()
    try:
        path = trainer_library.build_trainer()
        path.write_bytes(b"of another system")
        libraries.seal(path)
        assert trainer_library.library().two() == 2
    finally:
        trainer_library.library.cache_clear()


def test_a_compilers_error_is_ours_to_mend(small):
    (small / "trainer/cpu/two.c").write_text("int two(void) { return }\n")
    with pytest.raises(BuildError, match="the compiler refused the trainer") as caught:
        trainer_library.build_trainer()
    assert caught.value.exit_status == 3 and "two.c:1" in caught.value.where
    assert "--train.backend torch" in caught.value.hint and caught.value.detail
    with pytest.raises(BuildError) as caught:       # eval has no such setting to follow
        backends.require_actor(config.defaults())
    assert caught.value.hint.endswith("another compiler in CC")
    assert list((small / "cache/trainer").iterdir()) == []


def test_sources_that_are_not_there(small):
    for name in ("kernels", "trainer"):
        shutil.rmtree(small / name)
    with pytest.raises(BuildError, match="sources of the native trainer are missing"):
        trainer_library.build_trainer()


def test_looking_for_it_leaves_no_trace(small):
    assert trainer_library.find_built() is None and not (small / "cache").exists()
    made = trainer_library.build_trainer()
    assert trainer_library.find_built() == made
    made.write_bytes(b"")
    assert trainer_library.find_built() is None


def test_no_compiler(small, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(BuildError, match="no C compiler"):
        trainer_library.build_trainer()


def test_a_cache_that_cannot_be_written(small, monkeypatch, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PUFFER_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(paths.tempfile, "gettempdir", lambda: str(tmp_path / "spare"))
    made = trainer_library.build_trainer()
    assert (tmp_path / "spare") in made.parents and libraries.is_intact(made)
    assert "for the native trainer" in capsys.readouterr().err


def test_several_processes_at_once(small):
    code = ("import sys\nfrom pathlib import Path\nfrom puffer_sdk.base import paths\n"
            "real = paths.data_dir\n"
            f"paths.data_dir = lambda name: Path({str(small)!r}) / name\n"
            "from puffer_sdk.training.native import trainer_library\n"
            "print(trainer_library.build_trainer())\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        done = list(pool.map(lambda _: subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment,
            check=False), range(4)))
    assert [one.returncode for one in done] == [0] * 4, done
    assert len({one.stdout for one in done}) == 1
    assert libraries.is_intact(trainer_library.build_trainer())
    assert [path.suffix for path in sorted((small / "cache/trainer").iterdir())] == [
        ".so", ".mac"]


# -- the header, as cffi reads it -----------------------------------------------------------------


def test_the_header_is_read_whole():
    ffi = abi.trainer_ffi()
    functions = set(re.findall(r"\b(puffer_trainer_\w+)\(",
                                             abi.trainer_header().read_text()))
    declared = set(ffi.list_types()[0])
    assert {"PufferTrainerConfig", "PufferTrainerEnvs", "PufferTrainerStats"} <= declared
    assert len(functions) >= 20
    assert ffi.typeof("PufferApi*") is abi.ffi().typeof("PufferApi*")


def test_our_own_kernels_are_no_environment(monkeypatch):
    """kernels/kernels.h looks like one; a checkout's `puffer-sdk list` should not."""
    monkeypatch.chdir(paths.data_dir("kernels").parent)
    assert "kernels" not in {folder.name for folder in paths.known_envs()}
