"""building.py: one compiler command, a cache that is never wrong, and errors with their line."""
from __future__ import annotations

import hashlib
import json
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.places import ROOT
from helpers.short_or_long import long_only, some_or_all

import puffer_sdk
from puffer_sdk.base import ui
from puffer_sdk.base.errors import BuildError, RunError, UsageError
from puffer_sdk.env import abi, build, header, library, vec
from puffer_sdk.env.library import Library
from puffer_sdk.toolchain import compilers


def trajectory(library: Path, env_settings: dict, ticks: int = 300, agents: int = 64) -> str:
    """A hash of what random play sees in an opened library."""
    draw = np.random.default_rng(0)
    digest = hashlib.sha256()
    with vec.VecEnv(Library(library), total_agents=agents, seed=4,
                    env_settings=env_settings) as envs:
        digest.update(envs.reset())
        for _ in range(ticks):
            for head, width in enumerate(envs.act_sizes):
                envs.actions[:, head] = draw.integers(0, width, agents)
            for array in envs.step():
                digest.update(array)
    return digest.hexdigest()


# -- the cache -------------------------------------------------------------------------------


def test_builds_once(probe):
    folder = probe()
    first, second = build.build(folder), build.build(folder)
    assert not first.cached and second.cached and first.library == second.library
    assert first.library.parent == folder / "build"
    assert first.library.name.startswith("probe-")
    assert not list((folder / "build").glob(".*"))          # nothing half-written


def test_comments_do_not_matter_and_code_does(probe):
    library = build.build(probe()).library
    assert build.build(probe(("#pragma once", "#pragma once\n// a remark"))).cached
    changed = build.build(probe(("env->tick++", "env->tick += 1 * 1")))
    assert not changed.cached and changed.library != library
    assert build.build(probe()).library == library       # the old one is still there


def test_flags_and_included_files_matter(probe):
    rules = "#define GAIN {}\n"
    folder = probe(('#include "raylib.h"', '#include "rules.h"'),
                   ("rewards[a] += env", "rewards[a] += GAIN * env"), rules_h=rules.format(1))
    first = build.build(folder)
    (folder / "rules.h").write_text(rules.format(2))
    second = build.build(folder)
    assert len({first.library, second.library, build.build(folder, opt="-O1").library}) == 3


def test_a_moved_folder_is_not_compiled_again(probe, tmp_path):
    library = build.build(probe()).library
    moved = shutil.copytree(library.parents[1], tmp_path / "elsewhere" / "probe")
    built = build.build(moved)
    assert built.cached and built.library.name == library.name


def test_reopening_gives_the_new_code(probe):
    def first_reward(folder) -> float:
        with puffer_sdk.make(folder) as envs:
            envs.reset()
            envs.actions[:] = 1
            return float(envs.step()[1][0])

    assert first_reward(probe()) == 1
    with puffer_sdk.make(probe()) as old:                   # open while the other is made
        changed = probe(("rewards[a] += env", "rewards[a] += 5 * env"))
        assert first_reward(changed) == 5
        old.reset()
        old.actions[:] = 1
        assert old.step()[1][0] == 1


@pytest.mark.parametrize("damage", some_or_all([
    lambda data: b"", lambda data: data[:len(data) // 2], lambda data: b"not a library" * 99,
    lambda data: data[:9000] + bytes([data[9000] ^ 1]) + data[9001:]], 0))
def test_a_damaged_library_is_made_again(probe, damage):
    folder = probe()
    library = build.build(folder).library
    good = library.read_bytes()
    library.unlink()
    library.write_bytes(damage(good))
    again = build.build(folder)
    assert not again.cached and again.library.read_bytes() == good
    with puffer_sdk.make(folder) as envs:
        envs.reset()


@long_only
def test_old_libraries_are_removed(probe):
    for i in range(build.KEEP + 3):
        last = build.build(probe(("env->tick++", f"env->tick += {i} - {i} + 1")), opt="-O0")
    left = list(last.library.parent.glob("probe-*.so"))
    assert len(left) == build.KEEP and last.library in left
    assert len(list(last.library.parent.glob("probe-*.so.mac"))) == build.KEEP


def test_a_build_folder_that_cannot_be_written(probe, tmp_path, monkeypatch, capsys):
    folder = probe()
    (folder / "build").write_text("in the way")
    monkeypatch.setattr(build.paths.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(ui, "_warned", set())
    built = build.build(folder)
    build.build(folder)
    assert tmp_path in built.library.parents and folder not in built.library.parents
    assert capsys.readouterr().err.count("cannot write") == 1
    with puffer_sdk.make(folder) as envs:
        envs.reset()


def test_two_environments_that_cannot_write_do_not_mix(probe, tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(build.paths.tempfile, "tempdir", str(tmp_path / "tmp"))
    folders = []
    for name, gain in (("a", 2), ("b", 3)):
        (tmp_path / name).mkdir()
        folder = probe(("rewards[a] += env", f"rewards[a] += {gain} * env"))
        folders.append(shutil.move(folder, tmp_path / name / "probe"))
        (folders[-1] / "build").write_text("in the way")
    libraries = [build.build(folder).library for folder in folders]
    assert libraries[0].parent != libraries[1].parent


def test_two_processes_at_once(probe):
    folder = probe()
    program = ("import sys, puffer_sdk\n"
               "with puffer_sdk.make(sys.argv[1]) as envs: envs.reset(); print(envs.num_envs)")
    children = [subprocess.Popen([sys.executable, "-c", program, folder], cwd=ROOT,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                for _ in range(2)]
    for child in children:
        out, err = child.communicate(timeout=60)
        assert (child.returncode, out) == (0, "1\n"), err
    assert len(list((folder / "build").glob("*.so"))) == 1


# -- the library -----------------------------------------------------------------------------


def test_exports_one_symbol(squared, target):
    for folder in (squared, target):
        library = build.build(folder).library
        done = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True,
                              text=True, check=True)
        assert [line.split()[-1] for line in done.stdout.splitlines()] == ["puffer_api"]


def test_optimisation_changes_nothing(target):
    settings = {"num_agents": 8, "num_goals": 4, "width": 952, "height": 592}
    hashes = {trajectory(build.build(target, opt=opt).library, settings)
              for opt in ("-O0", "-O1", "-O3")}
    assert len(hashes) == 1


def test_floating_point_flags(probe):
    flags = build.env_flags(header.read(probe()))
    assert "-ffp-contract=off" in flags and "-DRAYMATH_STATIC_INLINE" in flags
    assert not [flag for flag in build.build(probe()).command if "fast" in flag]


def test_the_shown_command_makes_the_same_library(squared, tmp_path):
    built = build.build(squared)
    command = [*built.command[:-1], str(tmp_path / "again.so")]
    subprocess.run(command, check=True, capture_output=True)
    assert (tmp_path / "again.so").read_bytes() == built.library.read_bytes()


def test_verbose_shows_one_line(probe, capsys):
    build.build(probe(), verbose=True)
    lines = [line for line in capsys.readouterr().err.splitlines() if "-shared" in line]
    assert len(lines) == 1 and "-march=native" in lines[0]


def test_generated_code_and_templates_compile_without_warnings(squared, target):
    for folder in (squared, target):
        build.build(folder)
        shutil.rmtree(folder / "build")
        assert build.build(folder).warnings == ""


def test_vecenv_is_strict_c(probe):
    """-Wall -Wextra find nothing in what we generate and include, with gcc's C11 and C17."""
    built = build.build(probe())
    for standard in ("-std=c11", "-std=gnu17"):
        command = [word for word in built.command if word != "-std=gnu11"]
        done = subprocess.run([*command[:-2], standard, "-Wall", "-Wextra", "-Werror",
                               "-fsyntax-only"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_compile_commands_for_editors(squared):
    built = build.build(squared)
    entries = json.loads((built.library.parent / "compile_commands.json").read_text())
    header_entry = next(e for e in entries if e["file"].endswith("squared.h"))
    assert "-xc" in header_entry["arguments"]
    assert header_entry["directory"] == str(squared.resolve())


# -- bad input -------------------------------------------------------------------------------


def test_no_compiler(probe, monkeypatch):
    folder = probe()
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(BuildError, match="no C compiler") as caught:
        build.build(folder)
    assert caught.value.exit_status == 3 and caught.value.hint
    assert not (folder / "build").exists()


def test_a_compiler_that_is_not_there(probe, monkeypatch):
    monkeypatch.setenv("CC", "nosuchcc")
    with pytest.raises(BuildError, match="nosuchcc"):
        build.build(probe())


def test_a_header_that_does_not_compile(probe):
    folder = probe(("env->tick++;", "env->tick++"))
    line = 1 + (folder / "probe.h").read_text().splitlines().index("    env->tick++")
    with pytest.raises(BuildError) as caught:
        build.build(folder)
    assert caught.value.where == f"probe.h:{line}" and caught.value.exit_status == 3
    assert not list(folder.glob("build/*.so"))


def test_what_only_the_compiler_refuses(probe):
    """clang reads it, gcc does not compile it: the author's line all the same."""
    folder = probe(("    env->tick++;", '    __asm__("no such instruction");\n    env->tick++;'))
    with pytest.raises(BuildError, match="refused probe.h") as caught:
        build.build(folder)
    assert caught.value.detail and not list(folder.glob("build/*.so"))


@pytest.mark.parametrize("include, use", some_or_all([
    ("immintrin.h", "__m128 four = _mm_set1_ps((float)env->tick); (void)four;")
    if platform.machine() == "x86_64" else ("stdatomic.h", "atomic_int n = 1; atomic_load(&n);"),
    ("tgmath.h", "env->tick = (int)fabs(-1.0 * env->tick);"),
    ("stdatomic.h", "static atomic_flag busy = ATOMIC_FLAG_INIT; atomic_flag_test_and_set(&busy);"),
], 0))
def test_what_only_the_reader_refuses(probe, include, use):
    """Headers of the compiler's own are not made for libclang: the compiler has the word."""
    folder = probe(("void c_reset", f"#include <{include}>\nvoid c_reset"),
                   ("    env->tick++;", f"    {use}\n    env->tick++;"))
    assert build.build(folder).library.is_file()
    assert header.inspect(folder)[1] == []


def test_an_error_beside_headers_that_only_the_reader_refuses_is_the_authors(probe):
    folder = probe(("void c_reset", "#include <immintrin.h>\n#include <tgmath.h>\nvoid c_reset"),
                   ("    env->tick++;", "    env->tock++;"))
    [problem] = header.inspect(folder)[1]
    assert "tock" in problem.message and str(problem.where).startswith("probe.h:")


BOUND = """\
#define OBS_TENSOR_T FloatTensor
#define Env Probe
#include "vecenv.h"
void my_init(Env* env, Dict* kwargs) { env->limit = dict_get(kwargs, "limit")->value; }
void my_log(Log* log, Dict* out) { dict_set(out, "score", log->score); }
"""


def test_a_checkouts_vendor_and_src_are_included(probe, tmp_path):
    """As PufferLib's build.sh does for TREE/ocean/NAME, and only there; our vecenv.h stays."""
    made = probe(("void c_reset", '#include "lit.h"\nvoid c_reset'),
                 ("env->tick++;", "env->tick += LIT;"))
    for place in ("ocean", "games"):
        folder = tmp_path / place / "probe"
        shutil.copytree(made, folder, ignore=shutil.ignore_patterns("build"))
        for name in ("vendor", "src"):
            (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / "vendor" / "lit.h").write_text("#define LIT 1\n")
        (tmp_path / "src" / "vecenv.h").write_text("#error not this one\n")
        if place == "ocean":
            assert build.build(folder).library.is_file()
        else:
            with pytest.raises(BuildError, match="lit.h"):
                build.build(folder)


def test_a_binding_has_what_pufferlibs_vecenv_includes(probe):
    folder = probe(binding_c="""\
#include "probe.h"
#define OBS_TENSOR_T PrecisionTensor
#define Env Probe
#include "vecenv.h"
void my_init(Env* env, Dict* kwargs) {
    atomic_int many = 1;
    assert(many == 1 && pthread_self() && time(NULL) && kwargs);
    env->num_agents = 1;
}
void my_log(Log* log, Dict* out) { dict_set(out, "score", log->score); }
""")
    assert build.build(folder).library.is_file()


@pytest.mark.parametrize("place", ["probe.c", "binding.c"])
def test_a_binding_without_a_header(probe, place):
    """What it includes may be C, or it is all of the environment: void* and int are of PufferLib's
    own there."""
    folder = probe(("float* observations", "void* observations"), ("unsigned int rng", "int rng"),
                   ("env->observations[", "((float*)env->observations)["))
    env = (folder / "probe.h").read_text()
    (folder / "probe.h").unlink()
    if place == "probe.c":
        (folder / place).write_text(env)
        env = '#include "probe.c"\n'
    (folder / "binding.c").write_text(env + BOUND)
    with puffer_sdk.make(folder, num_envs=4, env_settings={"limit": 9}) as envs:
        envs.reset()
        assert envs.observations.dtype == np.float32
        envs.step()


def test_a_log_has_room_for_many_values(probe):
    """More than PufferLib's 64; where there are too many, the error says which is."""
    many = BOUND.replace('dict_set(out, "score", log->score);', """
    static char names[999][8];
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], 8, "v%d", i);
        dict_set(out, names[i], log->score + i);
    }""")
    for count in (256, 257):
        built = build.build(probe(binding_c=f'#define MANY {count}\n#include "probe.h"\n{many}'))
        if count == 256:
            assert Library(built.library).describe({"limit": 9}).log_names[255] == "v255"
            continue
        with pytest.raises(UsageError, match="my_log reports too many values") as caught:
            Library(built.library).describe({"limit": 9})
        assert (caught.value.expected, caught.value.actual) == ("at most 256",
                                                                "v256 is number 257")


def test_what_pufferlibs_build_defines(probe):
    """PLATFORM_DESKTOP, in libraries and programs; OpenMP, where the sources have it."""
    asks = ("#pragma once", "#pragma once\n#ifndef PLATFORM_DESKTOP\n#error not a desktop\n#endif")
    spec = build.build(probe(asks)).spec
    compiler = compilers.find_compiler()
    assert build.openmp_flags(spec, compiler) == []
    sums = build.build(probe(("env->tick++;", "#ifndef _OPENMP\n#error no OpenMP\n#endif\n"
                              "#pragma omp critical\n    env->tick++;")))
    assert "-fopenmp" in sums.command and Library(sums.library).describe({"limit": 9}).obs_size


@long_only
def test_a_hundred_heads_are_trained(probe, tmp_path):
    widths = ", ".join(["1"] * 96)
    folder = probe(("{3}", f"{{{widths}}}"))
    made = puffer_sdk.train(folder, {
        "vec.total_agents": 4, "train.horizon": 4, "train.minibatch_size": 16,
        "train.total_timesteps": 32, "policy.hidden_size": 8, "policy.num_layers": 1},
        runs_dir=tmp_path)
    assert made.steps == 32


def test_a_failed_build_leaves_the_last_one(probe):
    library = build.build(probe()).library
    with pytest.raises(BuildError):
        build.build(probe(("env->tick++;", "env->tick++")))
    assert build.is_intact(library) and build.build(probe()).cached


def test_a_function_that_is_nowhere(probe):
    folder = probe(("void c_reset", "int elsewhere(int);\nvoid c_reset"),
                   ("env->tick++;", "env->tick = elsewhere(env->tick);"))
    with pytest.raises(BuildError, match="elsewhere is declared and used, but defined nowhere"):
        puffer_sdk.make(folder)


def test_a_library_of_another_version_is_refused(probe, tmp_path, monkeypatch):
    monkeypatch.setattr(library, "number", lambda name: 99)
    with pytest.raises(RunError, match="different ABI version") as caught:
        puffer_sdk.make(probe())
    assert (caught.value.expected, caught.value.actual) == (99, abi.number("PUFFER_ABI_VERSION"))


def test_a_file_that_is_no_library(tmp_path):
    (tmp_path / "x.so").write_text("no")
    with pytest.raises(RunError, match="cannot load"):
        Library(tmp_path / "x.so")


@long_only
def test_cpu_and_compiler_are_in_the_key(probe, monkeypatch):
    folder = probe()
    names = {build.build(folder).library.name}
    monkeypatch.setattr(compilers, "cpu_features_key", lambda: "another cpu")
    names.add(build.build(folder).library.name)
    real = compilers.find_compiler()
    monkeypatch.setattr(compilers, "find_compiler", lambda: compilers.Compiler(
        real.path, "99.0", real.kind, real.args, "another banner"))
    names.add(build.build(folder).library.name)
    assert len(names) == 3


TURN = """\
#include <stdio.h>
typedef struct Quat { float w, x, y, z; } Quat;
static __attribute__((noinline)) Quat turn(Quat a, Quat b) {
    return (Quat){a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
                  a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                  a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                  a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}
int main(void) {
    Quat q = {0.5f, 0.51f, 0.49f, 0.5f}, by = {0.9f, 0.1f, -0.3f, 0.28f};
    for (int i = 0; i < 1000; i++) q = turn(q, by);
    printf("%a %a %a %a\\n", q.w, q.x, q.y, q.z);
    return 0;
}
"""


@pytest.mark.parametrize("machine", [[], ["-march=native"]])
def test_numbers_are_the_same_at_every_level_of_optimisation(tmp_path, machine):
    (tmp_path / "turn.c").write_text(TURN)
    said = set()
    for level in ("-O0", "-O2", "-O3"):
        subprocess.run([compilers.find_compiler().path, level, *machine, *build.EXACT,
                        str(tmp_path / "turn.c"), "-o", str(tmp_path / "turn")], check=True)
        said.add(subprocess.run([tmp_path / "turn"], capture_output=True, check=True).stdout)
    assert len(said) == 1
