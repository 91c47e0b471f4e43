"""raylib without drawing: the headers compile, the null library answers, our raymath is raymath."""
import ctypes
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from helpers.places import ROOT

from puffer_sdk.base import files, paths
from puffer_sdk.base.errors import BuildError, RunError
from puffer_sdk.raylib import headers, null
from puffer_sdk.toolchain import compilers

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]


@pytest.fixture(scope="module")
def shared_cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def cache(shared_cache, monkeypatch):
    monkeypatch.setenv("PUFFER_CACHE", str(shared_cache))
    return shared_cache


def compile_text(tmp_path, text, *flags, suffix=".c", compiler=None):
    """Compiles text against the headers; returns the object file."""
    source = tmp_path / f"unit{suffix}"
    source.write_text(text)
    target = tmp_path / "unit.o"
    command = compiler or compilers.find_compiler().command
    done = subprocess.run([*command, "-c", *STRICT, *flags, f"-I{headers.headers()}", "-o", target,
                           source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


def run_python(code, *args, **env):
    done = subprocess.run([sys.executable, "-c", code, *map(str, args)], text=True, check=False,
                          capture_output=True, cwd=ROOT,
                          env={**os.environ, "PYTHONPATH": str(ROOT), **env})
    assert done.returncode == 0, done.stderr
    return done.stdout


# ---- headers ---------------------------------------------------------------------------------

ORDERS = ["raylib", "rlgl", "raymath", "raylib rlgl raymath", "raymath rlgl raylib",
          "rlgl raylib", "raylib raylib rlgl rlgl raymath raymath"]
USE = """
int main(void) {
    return 0;
}
"""


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("language", [(".c", "c11"), (".cc", "c++17")])
def test_headers_compile_in_any_order_without_a_warning(tmp_path, order, language):
    suffix, standard = language
    text = "".join(f'#include "{name}.h"\n' for name in order.split()) + USE
    compile_text(tmp_path, text, f"-std={standard}", suffix=suffix)


@pytest.mark.parametrize("order", ORDERS)
def test_libclang_reads_the_headers_without_a_complaint(order):
    from clang import cindex

    text = "".join(f'#include "{name}.h"\n' for name in order.split())
    system = compilers.include_dirs(compilers.find_compiler())
    unit = cindex.Index.create().parse(
        "unit.c", ["-std=c11", "-Wall", "-Wextra", f"-I{headers.headers()}",
                   *(f"-isystem{item}" for item in system)], unsaved_files=[("unit.c", text)])
    assert [str(item) for item in unit.diagnostics] == []


@pytest.mark.parametrize("suffix", [".c", ".cc"])
def test_what_the_wheel_lost_is_back(tmp_path, suffix):
    text = """
    #include "raylib.h"
    #include "rlgl.h"
    static Color paint(bool on) { return on ? RAYWHITE : CLITERAL(Color){ 1, 2, 3, 4 }; }
    static void log_all(int level, const char* text, va_list args) {
        (void)level; (void)text; (void)args;
    }
    float turn = 90*DEG2RAD + PI*RAD2DEG;
    int buttons = MOUSE_LEFT_BUTTON + MATERIAL_MAP_DIFFUSE + RL_QUADS + KEY_ESCAPE;
    const char* version = RAYLIB_VERSION;
    int used(void) {
        SetTraceLogCallback(log_all);
        TraceLog(LOG_INFO, "%d", 1);
        Ray ray = GetMouseRay(GetMousePosition(), CLITERAL(Camera){0});
        rlBegin(RL_LINES); rlEnd();
        return paint(IsKeyDown(KEY_A)).r + (int)ray.position.x;
    }
    """
    if suffix == ".cc":
        text = text.replace("(Camera){0}", "(Camera){}")
        text += 'static_assert(GOLD.r == 255, "a constant");'
    compile_text(tmp_path, text, "-std=c++17" if suffix == ".cc" else "-std=c11", suffix=suffix)


def test_library_builds_draw_chance_from_the_env(tmp_path):
    prelude = "#define PUFFER_LIBRARY\nint puffer_random_value(int, int);\n"
    text = '#include "raylib.h"\nint roll(void) { SetRandomSeed(4); return GetRandomValue(1, 6); }'
    unit = compile_text(tmp_path, prelude + text, "-std=c11")
    undefined = subprocess.run(["nm", "-u", unit], capture_output=True, text=True, check=True)
    assert undefined.stdout.split() == ["U", "puffer_random_value"]
    unit = compile_text(tmp_path, text, "-std=c11")
    undefined = subprocess.run(["nm", "-u", unit], capture_output=True, text=True, check=True)
    assert {"GetRandomValue", "SetRandomSeed"} < set(undefined.stdout.split())


def test_headers_are_written_once_and_made_anew_when_gone():
    folder = headers.headers()
    before = (folder / "raylib.h").stat().st_mtime_ns
    assert headers.headers() == folder
    assert (folder / "raylib.h").stat().st_mtime_ns == before
    whole = (folder / "rlgl.h").read_bytes()
    (folder / "rlgl.h").write_text("")                      # as a full disk leaves it
    assert headers.headers() == folder
    assert (folder / "rlgl.h").read_bytes() == whole
    assert not [item for item in folder.iterdir() if item.name.startswith(".")]


def test_processes_that_race_get_the_same_whole_headers(tmp_path):
    code = ("from puffer_sdk.raylib import headers; f = headers.headers(); "
            "headers.null_library(); print(f)")
    with ThreadPoolExecutor(4) as pool:
        folders = set(pool.map(lambda _: run_python(code, PUFFER_CACHE=str(tmp_path)), range(4)))
    folder = Path(folders.pop().strip())
    assert not folders
    for name in ("raylib.h", "rlgl.h", "raymath.h", "raylib_null.c"):
        assert (folder / name).read_bytes() == (headers.headers() / name).read_bytes()
    assert len(list(folder.glob("*.so"))) == 1
    assert len([path for path in folder.iterdir() if path.suffix != ".mac"]) == 5


def test_a_missing_wheel_names_the_pip_command(monkeypatch):
    monkeypatch.setattr(headers, "VARIANTS", ("a_wheel_that_nobody_made",))
    with pytest.raises(BuildError, match="not installed") as caught:
        headers.headers()
    assert caught.value.hint == f"pip install {headers.PIN}"


def test_a_damaged_wheel_is_named(tmp_path):
    wheel = headers.Wheel("raylib", "6.0.1.1", tmp_path)
    with pytest.raises(BuildError, match="damaged: raylib.h.modified"):
        headers.raylib_h(wheel)
    (tmp_path / "raylib.h.modified").write_text("int nothing;")
    with pytest.raises(BuildError, match="no longer defines Vector2"):
        headers.raylib_h(wheel)


def test_a_cache_that_cannot_be_written_falls_back(tmp_path, monkeypatch, capsys):
    blocked = tmp_path / "cache"
    blocked.write_text("a file where a folder should be")
    monkeypatch.setenv("PUFFER_CACHE", str(blocked))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = headers.headers()
    assert tmp_path in folder.parents
    assert (folder / "raylib.h").is_file()
    assert headers.null_library().is_file()
    assert "cannot write" in capsys.readouterr().err


def test_a_full_disk_is_a_run_error(monkeypatch, tmp_path):
    monkeypatch.setenv("PUFFER_CACHE", str(tmp_path))

    def full(target, text):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "write", full)
    with pytest.raises(RunError) as caught:
        headers.headers()
    assert "No space left" in caught.value.detail


def test_importing_nothing_of_the_wheel():
    out = run_python("import sys; from puffer_sdk.raylib import headers; headers.headers(); "
                     "print('raylib' in sys.modules, 'cffi' in sys.modules)")
    assert out.split() == ["False", "False"]


# ---- the null library ------------------------------------------------------------------------

def clang_functions(header):
    """Names and types of a header's functions, as libclang reads them."""
    from clang import cindex

    system = compilers.include_dirs(compilers.find_compiler())
    unit = cindex.Index.create().parse(str(header), ["-std=c11", "-x", "c",
                                                     *(f"-isystem{item}" for item in system)])
    return {item.spelling: item.type.spelling for item in unit.cursor.get_children()
            if item.kind == cindex.CursorKind.FUNCTION_DECL
            and item.storage_class != cindex.StorageClass.STATIC
            and str(item.location.file) == str(header)}


def test_null_source_defines_every_function_with_its_true_type(tmp_path):
    declared = {}
    for name in ("raylib.h", "rlgl.h"):
        found = clang_functions(headers.headers() / name)
        assert len(found) > 100
        declared |= found
    text = headers.null_source().read_text()
    assert set(re.findall(r"^\w[^(]*?(\w+)\([^{]*\) \{ ", text, re.MULTILINE)) == set(declared)
    # the compiler holds each definition against its declaration
    compile_text(tmp_path, text, "-std=c11")


def test_null_library_returns_zero_and_keeps_signatures(tmp_path):
    library = ctypes.CDLL(str(headers.null_library()))
    library.TextFormat.restype = ctypes.c_char_p
    assert library.TextFormat(b"%d", 3) == b""
    library.GetWorkingDirectory.restype = ctypes.c_void_p
    assert library.GetWorkingDirectory() is None
    library.GetFrameTime.restype = ctypes.c_float
    assert library.GetFrameTime() == 0.0
    assert library.IsWindowReady() == 0
    assert not hasattr(library, "Vector2Add")               # raymath is compiled in, never stubbed


def test_null_library_is_compiled_once():
    library = headers.null_library()
    stamp = library.stat().st_mtime_ns
    assert headers.null_library() == library
    assert library.stat().st_mtime_ns == stamp


LOAD = """
import ctypes, sys
from puffer_sdk.raylib import headers as raylib
raylib.load_null(); raylib.load_null()
env = ctypes.CDLL(sys.argv[1])
env.close_env()
print(ctypes.CDLL(None).IsWindowReady())
"""


def test_an_env_library_that_draws_opens_steps_and_closes(tmp_path):
    unit = compile_text(tmp_path, '#include "raylib.h"\n#include <stdlib.h>\nvoid close_env(void);'
                        'void close_env(void) { if (IsWindowReady()) { CloseWindow(); abort(); } }',
                        "-fPIC")
    library = tmp_path / "env.so"
    subprocess.run([*compilers.find_compiler().command, "-shared", "-o", library, unit], check=True)
    assert run_python(LOAD, library) == "0\n"


def test_a_damaged_null_library_is_built_anew(tmp_path):
    code = ("from puffer_sdk.raylib import headers as raylib; "
            "raylib.null_library().write_bytes(b'not a library');"
            "raylib.load_null(); import ctypes; print(ctypes.CDLL(None).GetScreenWidth())")
    assert run_python(code, PUFFER_CACHE=str(tmp_path)) == "0\n"


def test_a_real_raylib_that_is_loaded_stays(tmp_path):
    unit = compile_text(tmp_path, '#include "raylib.h"\n'
                        'void InitWindow(int w, int h, const char* t) { (void)w; (void)h; '
                        '(void)t; }\n'
                        'int GetScreenWidth(void) { return 640; }\n', "-fPIC")
    real = tmp_path / "libreal.so"
    subprocess.run([*compilers.find_compiler().command, "-shared", "-o", real, unit], check=True)
    code = ("import ctypes, sys; ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL);"
            "from puffer_sdk.raylib import headers as raylib; raylib.load_null();"
            "print(ctypes.CDLL(None).GetScreenWidth(), raylib._loaded)")
    assert run_python(code, real) == "640 None\n"


# ---- raymath, against the wheel's compiled one -----------------------------------------------

def test_raymath_has_every_function_of_the_wheels_header():
    wheel = headers.find_wheel()
    theirs = {item.name: item for item in null.functions(wheel.read("raymath.h.modified"))}
    assert len(theirs) > 130
    ours = (paths.include_dir() / "raymath.h").read_text()
    missing = [name for name in theirs if not re.search(rf"^RMAPI [\w ]+ {name}\(", ours, re.M)]
    assert missing == []


def test_raymath_is_static_inline_whatever_is_defined(tmp_path):
    for defined in ("", "#define RAYMATH_IMPLEMENTATION\n", "#define RAYMATH_STATIC_INLINE\n"):
        unit = compile_text(tmp_path, f'{defined}#include "raymath.h"\nint nothing;', "-std=c11")
        names = subprocess.run(["nm", unit], capture_output=True, text=True, check=True).stdout
        assert names.split()[1:] == ["B", "nothing"]


HARNESS_HEAD = """
#include "raymath.h"
#include <string.h>
static unsigned state;
static float uniform(void) {                                    // [-1, 1)
    state = state*1664525u + 1013904223u;
    return (float)(state >> 8)/8388608.0f - 1.0f;
}
static int one_in(int n) { return (int)((uniform() + 1.0f)*0.5f*(float)n) == 0; }
// Awkward values now and then: zeros, repeats of what came before
static void fill(float* out, int n) {
    static float last[16];
    if (n == 16) {                                              // a matrix well away from singular
        for (int i = 0; i < 16; i++) out[i] = uniform() + (i % 5 == 0 ? 2.5f : 0.0f);
        if (one_in(3)) for (int i = 0; i < 4; i++) out[4*i] = -out[4*i];
        return;
    }
    int zero = one_in(12), repeat = one_in(12);
    float size = one_in(4) ? 0.1f : 3.0f;
    for (int i = 0; i < n; i++) out[i] = zero ? 0.0f : repeat ? last[i] : size*uniform();
    if (!zero && one_in(4)) {                                   // unit length
        float sqr = 0.0f;
        for (int i = 0; i < n; i++) sqr += out[i]*out[i];
        for (int i = 0; i < n; i++) out[i] /= sqrtf(sqr);
    }
    memcpy(last, out, sizeof(float)*(unsigned)n);
}
static void nudge(float* x, int n) { for (int i = 0; i < n; i++) x[i] *= 1.0f + 1e-6f*uniform(); }

// What one result may differ by: a few roundings of its size, or what roundings of the input do
static double excess(const float* mine, const float* real, const float* moved, int n) {
    double size = 1e-6, worst = 0.0;
    for (int i = 0; i < n; i++) if (isfinite(real[i])) size = fmax(size, fabs((double)real[i]));
    for (int i = 0; i < n; i++) {
        if (!isfinite(real[i]) && !isfinite(mine[i])) continue;
        double allowed = 1e-5*size + 8.0*fabs((double)moved[i] - (double)real[i]);
        double off = fabs((double)mine[i] - (double)real[i])/allowed;
        if (!(off <= worst)) worst = off;                       // a NaN counts
    }
    return worst;
}
"""


def harness(declared):
    """C source: compare_NAME(real, rounds, seed) -> the worst excess over what is allowed."""
    parts = [HARNESS_HEAD]
    for function in declared:
        kinds, pointers = [], []
        for parameter in function.parameters:
            words = parameter.replace("const ", "").replace("*", " * ").split()
            kinds.append(words[0])
            pointers.append("*" in words)
        returns = function.returns.replace("inline ", "")
        body = ["state = seed; double worst = 0.0;", "for (int i = 0; i < rounds; i++) {"]
        signature = ", ".join(kind + " *"*pointer
                              for kind, pointer in zip(kinds, pointers, strict=True)) or "void"
        for number, kind in enumerate(kinds):
            if kind in ("double", "int"):
                body.append(f"float f{number}; fill(&f{number}, 1); "
                            f"{kind} a{number} = ({kind})f{number}, b{number} = a{number}, "
                            f"c{number} = a{number};")
            else:
                count = f"(int)(sizeof({kind})/sizeof(float))"
                body.append(f"{kind} a{number}; fill((float*)&a{number}, {count}); "
                            f"{kind} b{number} = a{number}, c{number} = a{number}; "
                            f"nudge((float*)&c{number}, {count});")
        for letter, callee in (("a", function.name), ("b", "call"), ("c", "call")):
            words = ", ".join("&"*pointer + f"{letter}{number}"
                              for number, pointer in enumerate(pointers))
            result = "" if returns == "void" else f"{returns} r{letter} = "
            body.append(f"{result}{callee}({words});")
        results = [(kind, f"a{n}", f"b{n}", f"c{n}")
                   for n, kind in enumerate(kinds) if pointers[n]]
        if returns != "void":
            results.append((returns, "ra", "rb", "rc"))
        for kind, mine, real, moved in results:
            if kind == "int":
                body.append(f"worst = fmax(worst, {mine} == {real} ? 0.0 : 1e9);")
                continue
            body.append(f"worst = fmax(worst, excess((float*)&{mine}, (float*)&{real}, "
                        f"(float*)&{moved}, (int)(sizeof({kind})/sizeof(float))));")
        body.append("}")
        body.append("return worst;")
        parts.append(f"double compare_{function.name}(void* real, int rounds, unsigned seed) {{\n"
                     f"    {returns} (*call)({signature});\n"
                     "    memcpy(&call, &real, sizeof call);\n"
                     "    " + "\n    ".join(body) + "\n}")
    return "\n".join(parts)


# The wheel's library wants libX11, which raymath does not: a stub of that name will do.
COMPARE = """
import ctypes, json, sys
stub, real, harness, names = sys.argv[1:]
ctypes.CDLL(stub, mode=ctypes.RTLD_GLOBAL)
real, harness = ctypes.CDLL(real), ctypes.CDLL(harness)
worst = {}
for name in names.split():
    compare = getattr(harness, "compare_" + name)
    compare.restype = ctypes.c_double
    address = ctypes.cast(getattr(real, name), ctypes.c_void_p)
    worst[name] = compare(address, 20000, 12345)
print(json.dumps(worst))
"""


@pytest.fixture(scope="module")
def raymath_excess(tmp_path_factory, shared_cache):
    """How far each function of ours is from the wheel's: 1 is the most that is allowed."""
    folder = tmp_path_factory.mktemp("raymath")
    wheel = headers.find_wheel()
    declared = null.functions(wheel.read("raymath.h.modified"))
    compiler = compilers.find_compiler().command
    real = next(wheel.folder.glob("_raylib_cffi*.so"))
    wanted = subprocess.run(["nm", "-D", "-u", real], capture_output=True, text=True, check=True)
    names = re.findall(r"\bU (X\w+)", wanted.stdout)
    (folder / "stub.c").write_text("".join(f"void {name}(void) {{}}\n" for name in names))
    subprocess.run([*compiler, "-shared", "-fPIC", "-Wl,-soname,libX11.so.6", "-o",
                    folder / "stub.so", folder / "stub.c"], check=True)
    (folder / "harness.c").write_text(harness(declared))
    subprocess.run([*compiler, "-std=c11", "-O2", "-ffp-contract=off", "-shared", "-fPIC",
                    f"-I{paths.include_dir()}", "-o", folder / "harness.so",
                    folder / "harness.c", "-lm"], check=True)
    return json.loads(run_python(COMPARE, folder / "stub.so", real, folder / "harness.so",
                                 " ".join(item.name for item in declared)))


def test_raymath_computes_what_the_wheels_does(raymath_excess):
    assert len(raymath_excess) > 130
    assert {name: value for name, value in raymath_excess.items() if not value <= 1.0} == {}


def test_raymath_operators_in_cpp(tmp_path):
    compile_text(tmp_path, """
    #include "raylib.h"
    #include "raymath.h"
    bool all(Vector2 a, Vector3 b, Quaternion q, Matrix m) {
        a += a*2.0f - Vector2Ones; a /= a; a *= m;
        b = b*m + Vector3UnitZ;
        q = q*m + 1.0f;
        m *= m + m;
        return a == Vector2Zeros || b != Vector3Ones || q == Vector4Zeros || m.m0 > 0.0f;
    }""", "-std=c++17", "-Wno-missing-declarations", suffix=".cc")


def test_generated_headers_say_that_they_are_altered():
    for name in ("raylib.h", "rlgl.h"):
        text = (headers.headers() / name).read_text()
        assert "altered" in text.splitlines()[0]
        assert "LICENSE: zlib/libpng" in text               # the notice stays
