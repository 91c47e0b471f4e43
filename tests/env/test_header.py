"""header.py: what a header says, and every way in which it can break the contract."""
from __future__ import annotations

import shutil

import pytest
from helpers.short_or_long import some_or_all

from puffer_sdk.base.errors import BuildError, PufferError
from puffer_sdk.env import contract, header


def problems(folder) -> list[PufferError]:
    return header.inspect(folder)[1]


def only(folder) -> PufferError:
    found = problems(folder)
    assert len(found) == 1, "\n".join(map(str, found))
    with pytest.raises(BuildError):
        header.read(folder)
    return found[0]


def line_of(folder, text: str) -> str:
    """probe.h:LINE of the first line that holds a text."""
    lines = (folder / "probe.h").read_text().splitlines()
    return f"probe.h:{1 + next(i for i, line in enumerate(lines) if text in line)}"


# -- what is read ----------------------------------------------------------------------------


def test_reads_the_templates(squared, target):
    spec = header.read(squared)
    assert (spec.name, spec.struct, spec.obs_dtype) == ("squared", "Squared", "u8")
    assert spec.act_widths == (5,) and spec.obs_count is None and spec.has_init
    assert "size" in {f.name for f in spec.settable}
    assert spec.functions["c_step"][0] == "squared.h"
    assert spec.log_names == ("perf", "score", "episode_return", "episode_length")
    spec = header.read(target)
    assert (spec.struct, spec.obs_dtype, spec.act_widths) == ("Target", "f32", (9, 5))


def test_reads_the_smallest(probe):
    spec = header.read(probe())
    assert [(f.name, f.type) for f in spec.log_fields] == [("score", "float"), ("n", "float")]
    assert spec.obs_count == 2 and not spec.has_init and not spec.has_truncations
    assert {f.name for f in spec.settable} == {"num_agents", "limit", "tick"}   # never rng
    assert spec.macro_lines["OBS_SIZE"] == ("probe.h", 5)
    assert spec.binding is None


def test_sizes_may_be_expressions(probe):
    spec = header.read(probe(("OBS_SIZE 2", "OBS_SIZE (SIDE * 2 - 4)\n#define SIDE 3"),
                             ("{3}", "{COUNT, 2}\nenum { A, B, COUNT };")))
    assert spec.obs_count == 2 and spec.act_widths == (2, 2)
    assert header.read(probe(("OBS_SIZE 2", "OBS_SIZE (env->limit + 1)"))).obs_count is None


@pytest.mark.parametrize("old, new", [
    ("typedef struct Log {", "typedef struct {"),               # anonymous
    ("typedef struct Log {", "typedef struct Tally {"),         # a tag of another name
    ("typedef struct Log {", "typedef struct Log Log;\nstruct Log {"),
])
def test_ways_to_write_log(probe, old, new):
    replacements = [(old, new)]
    if new.startswith("typedef struct Log Log"):
        replacements.append(("} Log;", "};"))
    assert header.read(probe(*replacements)).log_names == ("score",)


def test_tags_without_typedefs(probe):
    spec = header.read(probe(
        ("typedef struct Log {", "struct Log {"), ("} Log;", "};"),
        ("    Log log", "    struct Log log"), ("typedef struct Probe {", "struct Probe {"),
        ("} Probe;", "};"), ("(Probe*", "(struct Probe*")))
    assert spec.struct == "struct Probe" and spec.log_is_tag


def test_an_anonymous_env_struct(probe):
    assert header.read(probe(("typedef struct Probe {", "typedef struct {"))).struct == "Probe"


def test_log_in_another_header(probe):
    log = "typedef struct Log { float score; float n; } Log;"
    folder = probe(("typedef struct Log {\n    float score;\n    float n;\n} Log;",
                    '#include "tally.h"'), tally_h=log)
    assert header.read(folder).log_names == ("score",)


def test_arrays_in_log(probe):
    spec = header.read(probe(("float score;", "float score;\n    float wins[2];")))
    assert spec.log_names == ("score", "wins_0", "wins_1")


@pytest.mark.parametrize("type_, dtype", [("unsigned char*", "u8"), ("char*", "u8"),
                                          ("uint8_t*", "u8"), ("float*", "f32")])
def test_observation_types(probe, type_, dtype):
    folder = probe(("float* observations", f"{type_} observations"),
                   ("#include <stdbool.h>", "#include <stdint.h>"))
    assert header.read(folder).obs_dtype == dtype


# -- PUF101: functions -----------------------------------------------------------------------


@pytest.mark.parametrize("name", contract.FUNCTIONS)
def test_a_missing_function(probe, name):
    problem = only(probe((f"void {name}(", f"void my_{name}("),
                         *([("        c_reset(env);", "")] if name == "c_reset" else [])))
    assert problem.code == "PUF101" and problem.message == f"{name} is not defined"
    assert problem.hint == f"write void {name}(Probe* env) {{ ... }}"
    assert problem.exit_status == 3


def test_a_missing_function_that_is_called(probe):
    """clang's own complaint about the call says less, so it is left out."""
    assert only(probe(("void c_reset(", "void reset("))).message == "c_reset is not defined"


def test_a_declaration_is_not_a_definition(probe):
    folder = probe(("void c_close(Probe* env) { (void)env; }", "void c_close(Probe* env);"))
    assert only(folder).message == "c_close is not defined"


def test_functions_of_different_structs(probe):
    problem = only(probe(("void c_close(Probe*", "typedef struct Other { int x; } Other;\n"
                                                 "void c_close(Other*")))
    assert problem.code == "PUF101" and "c_close(Other*)" in problem.actual


@pytest.mark.parametrize("arguments", ["", "int env", "Probe* env, int more"])
def test_functions_with_other_arguments(probe, arguments):
    folder = probe(("void c_close(Probe* env) { (void)env; }", f"void c_close({arguments}) {{ }}"))
    problem = only(folder)
    assert problem.code == "PUF101" and problem.where == line_of(folder, "void c_close")


def test_init_with_other_arguments(probe):
    folder = probe(("void c_reset", "void init(Probe* env, int size) { env->limit = size; }\n"
                                    "void c_reset"))
    problem = only(folder)
    assert problem.code == "PUF101" and problem.where == line_of(folder, "void init")
    assert "init(Probe* env)" in problem.expected


# -- PUF102: fields --------------------------------------------------------------------------


@pytest.mark.parametrize("field, line", some_or_all([
    ("observations", "    float* observations;\n"), ("actions", "    float* actions;\n"),
    ("rewards", "    float* rewards;\n"), ("terminals", "    float* terminals;\n"),
    ("num_agents", "    int num_agents;\n"), ("rng", "    unsigned int rng;\n"),
    ("log", "    Log log;\n")], 0, 3))
def test_a_missing_field(probe, field, line):
    folder = probe((line, ""))
    problem = only(folder)              # not the compiler's dozen about its uses
    assert problem.code == "PUF102"
    assert problem.message == f"struct Probe has no field '{field}'"
    assert problem.where == line_of(folder, "typedef struct Probe") and field in problem.hint


@pytest.mark.parametrize("old, new", some_or_all([
    ("float* actions", "int* actions"), ("float* rewards", "double* rewards"),
    ("float* terminals", "unsigned char* terminals"), ("unsigned int rng", "int rng"),
    ("int num_agents", "short num_agents"), ("float* observations", "double* observations")], 0, 3))
def test_a_field_of_another_type(probe, old, new):
    folder = probe((f"    {old};", f"    {new};"))
    problem = only(folder)
    assert problem.code == "PUF102" and problem.where == line_of(folder, new)


def test_truncations_of_another_type(probe):
    folder = probe(("    float* terminals;", "    float* terminals;\n    int* truncations;"))
    problem = only(folder)
    assert problem.code == "PUF102" and problem.where == line_of(folder, "truncations")


def test_no_log_at_all(probe):
    folder = probe(("typedef struct Log {\n    float score;\n    float n;\n} Log;", ""),
                   ("    Log log;\n", ""), ("        env->log.score += env->tick;\n", ""),
                   ("        env->log.n += 1;\n", ""))
    assert {p.message for p in problems(folder)} == {"there is no struct Log",
                                                     "struct Probe has no field 'log'"}


# -- PUF103, PUF104, PUF112 ------------------------------------------------------------------

BINDING = """\
#include "probe.h"
#define OBS_SIZE_HERE
#define OBS_TENSOR_T ByteTensor
#define Env Probe
#include "vecenv.h"
void my_init(Env* env, Dict* kwargs) { env->limit = dict_get(kwargs, "limit")->value; }
void my_log(Log* log, Dict* out) { dict_set(out, "score", log->score); }
"""


def test_a_tensor_of_another_type(probe):
    problem = only(probe(binding_c=BINDING))
    assert (problem.code, problem.where) == ("PUF103", "binding.c:3")
    assert (problem.expected, problem.actual) == ("FloatTensor", "ByteTensor")


@pytest.mark.parametrize("kind, tensor, wanted", some_or_all([
    ("float", "IntTensor", "FloatTensor"), ("int", "FloatTensor", "IntTensor"),
    ("int", "PrecisionTensor", "IntTensor"), ("unsigned short", "FloatTensor", "PrecisionTensor"),
    ("unsigned char", "PrecisionTensor", "ByteTensor"), ("int", "IntTensor", None),
    ("unsigned short", "PrecisionTensor", None), ("float", "PrecisionTensor", None)], 0, 3, 7))
def test_the_tensor_of_each_type(probe, kind, tensor, wanted):
    text = BINDING.replace("ByteTensor", tensor)
    text = text.replace("#define OBS_SIZE_HERE\n", "")
    folder = probe(("float* observations", f"{kind}* observations"), binding_c=text)
    if wanted is None:
        spec = header.read(folder)
        assert (spec.obs_tensor, spec.is_narrow) == ("FloatTensor" if kind == "float" else tensor,
                                                     kind == "unsigned short")
        return
    problem = only(folder)
    assert (problem.code, problem.expected, problem.actual) == ("PUF103", wanted, tensor)


@pytest.mark.parametrize("kind", some_or_all(
    ["unsigned short", "short", "unsigned int", "double", "_Float16"], 0, 2))
def test_types_of_observations_that_are_refused(probe, kind):
    folder = probe(("float* observations", f"{kind}* observations"))
    problem = only(folder)
    assert problem.code == "PUF102" and problem.where == line_of(folder, "* observations")
    assert ("bf16" in problem.hint) == (kind == "unsigned short")


def test_final_observations_of_16_bits_are_refused(probe):
    folder = probe(("float* observations;", "unsigned short* observations;\n"
                    "    unsigned short* final_observations;\n    float* truncations;"),
                   binding_c=BINDING.replace("ByteTensor", "PrecisionTensor").replace(
                       "#define OBS_SIZE_HERE\n", ""))
    problem = only(folder)
    assert problem.code == "PUF102" and "16 bits" in problem.message


@pytest.mark.parametrize("tensor", ["LongTensor", "DoubleTensor"])
def test_a_tensor_that_is_refused(probe, tensor):
    problem = only(probe(binding_c=BINDING.replace("ByteTensor", tensor)))
    assert problem.code == "PUF103" and problem.actual == tensor


@pytest.mark.parametrize("tensor, dtype", [("FloatTensor", "f32"), ("ByteTensor", "u8")])
def test_a_binding_says_what_lies_at_a_void_pointer(probe, tensor, dtype):
    """PufferLib's vecenv.h only assigns it."""
    untyped = ("float* observations", "void* observations"), ("env->observations[", "seen(env)[")
    seen = "#define seen(env) ((unsigned char*)(env)->observations)\nvoid c_reset"
    edits = *untyped, ("void c_reset", seen)
    assert header.read(probe(*edits, binding_c=BINDING.replace(
        "ByteTensor", tensor))).obs_dtype == dtype
    folder = probe(*edits, name="alone")
    assert [p.code for p in problems(folder)] == ["PUF102"]


def test_a_binding_may_seed_an_integer_of_another_type(probe):
    text = BINDING.replace("ByteTensor", "FloatTensor")
    for kind, found in (("int", []), ("long", []), ("double", ["PUF102"])):
        other = "unsigned int rng", f"{kind} rng"
        assert [p.code for p in problems(probe(other, binding_c=text))] == found
        assert problems(probe(other, name="alone"))[0].code == "PUF102"


def test_a_macro_that_the_checkout_does_not_read_either(probe, tmp_path):
    text = BINDING.replace("ByteTensor", "FloatTensor").replace("OBS_SIZE_HERE", "MY_TRICK")
    made = probe(binding_c=text)
    folders = []
    for tree, read in (("plain", "MY_TRICKS"), ("forked", "MY_TRICK")):
        folders.append(shutil.copytree(made, tmp_path / tree / "ocean/probe"))
        (tmp_path / tree / "src").mkdir()
        (tmp_path / tree / "src/vecenv.h").write_text(f"#ifdef {read}\n#endif\n")
    [remark] = header.read(folders[0]).remarks
    assert remark.code == "PUF101" and "MY_TRICK has no effect" in remark.message
    assert remark.where == "binding.c:2"
    assert only(folders[1]).message == "MY_TRICK is not supported"


@pytest.mark.parametrize("place, hint", [
    ("ocean/shared", "add to the ini: [build] include = ocean/shared"),
    ("", "[build] include of the ini names the folder that has it")])
def test_a_header_that_is_not_found_is_looked_for_in_the_checkout(probe, tmp_path, place, hint):
    folder = tmp_path / "tree/ocean/probe"
    shutil.copytree(probe(("void c_reset", "#include <parts/rules.h>\nvoid c_reset")), folder)
    (tmp_path / "tree/src").mkdir()
    home = tmp_path / (f"tree/{place}" if place else "elsewhere") / "parts"
    home.mkdir(parents=True)
    (home / "rules.h").touch()
    problem = only(folder)
    assert "'parts/rules.h' file not found" in problem.message and problem.hint == hint


def test_an_unknown_binding_macro(probe):
    text = BINDING.replace("ByteTensor", "FloatTensor").replace("OBS_SIZE_HERE", "MY_TRICK")
    problem = only(probe(binding_c=text))
    assert problem.message == "MY_TRICK is not supported" and problem.where == "binding.c:2"


def test_macros_that_are_commented_out_do_not_count(probe):
    text = BINDING.replace("ByteTensor", "FloatTensor").replace(
        "#define OBS_SIZE_HERE", "/*\n#define MY_TRICK\n*/\n#if 0\n#define MY_USES_PERM\n#endif")
    assert problems(probe(binding_c=text)) == []


def test_a_mask_without_its_field(probe):
    text = BINDING.replace("ByteTensor", "FloatTensor").replace("OBS_SIZE_HERE",
                                                                "MY_ACTION_MASK 3")
    problem = only(probe(binding_c=text))
    assert problem.code == "PUF102" and "action_mask" in problem.message


def test_log_layout(probe):
    folder = probe(("    float score;\n", "    int wins;\n"),
                   ("env->log.score", "env->log.wins"))
    problem = only(folder)
    assert problem.code == "PUF104" and problem.where == line_of(folder, "int wins")
    folder = probe(("    float score;\n    float n;\n", "    float n;\n    float score;\n"))
    assert only(folder).message == "Log.n is not the last field"
    folder = probe(("    float n;\n", "    float count;\n"), ("env->log.n ", "env->log.count "))
    assert only(folder).message == "Log has no field 'n'"


def test_missing_sizes(probe):
    assert only(probe(("#define OBS_SIZE 2", ""))).message == "OBS_SIZE is not defined"
    folder = probe(("#define OBS_SIZE 2", "enum { OBS_SIZE = 2 };"))
    problem = only(folder)
    assert problem.message == "OBS_SIZE is an enumerator, and has to be a macro"
    assert problem.where == line_of(folder, "enum { OBS_SIZE")
    assert problem.hint == "add #define OBS_SIZE OBS_SIZE below"
    assert not problems(probe(("#define OBS_SIZE 2", "enum { OBS_SIZE = 2 };\n"
                                                     "#define OBS_SIZE OBS_SIZE")))
    problem = only(probe(("#define ACT_SIZES {3}", "")))
    assert problem.message == "ACT_SIZES is not defined" and problem.code == "PUF112"


@pytest.mark.parametrize(("old", "new", "message", "hint"), [
    ("ACT_SIZES {3}", "ACT_SIZES 4", "ACT_SIZES is not a list of widths", "#define ACT_SIZES {4}"),
    ("ACT_SIZES {3}", "ACT_SIZES {}", "ACT_SIZES is an empty list",
     "#define ACT_SIZES {5}: one head of five actions"),
    ("OBS_SIZE 2", "OBS_SIZE (e->limit)", "OBS_SIZE names 'e', which is not known there",
     "write env-> in place of e->"),
])
def test_sizes_written_as_newcomers_do(probe, old, new, message, hint):
    (problem,) = problems(probe((old, new)))
    assert (problem.code, problem.message, problem.hint) == ("PUF112", message, hint)
    assert problem.where.startswith("probe.h:")


@pytest.mark.parametrize("old, new, message", [
    ("OBS_SIZE 2", "OBS_SIZE 0", "OBS_SIZE is not a size"),
    ("{3}", "{3, 0}", "a head of ACT_SIZES has no actions"),
    ("{3}", "{" + ", ".join(["2"] * (contract.MOST_HEADS + 1)) + "}",
     "ACT_SIZES has too many heads"),
    ("ACT_SIZES {3}", "ACT_SIZES {3}\n#define NUM_ATNS 2",
     "NUM_ATNS is not the number of entries in ACT_SIZES")])
def test_sizes_that_contradict(probe, old, new, message):
    problem = only(probe((old, new)))
    assert (problem.code, problem.message) == ("PUF112", message)
    assert problem.where.startswith("probe.h:")


# -- the compiler's view ---------------------------------------------------------------------


@pytest.mark.parametrize("old, new, line", some_or_all([
    ("env->tick++;", "env->tick++", "env->tick++"),
    ("    int limit;", "    flaot limit;", "flaot"),
    ("env->tick = 0;", "env->tock = 0;", "env->tock"),
    ("env->tick = 0;", "env->tick = missing(env);", "missing("),
    ('#include "raylib.h"', '#include "nowhere.h"', "nowhere.h")], 0, 2))
def test_a_header_that_does_not_compile(probe, old, new, line):
    folder = probe((old, new))
    found = problems(folder)
    assert found[0].code is None and found[0].where == line_of(folder, line)
    with pytest.raises(BuildError, match="refuses"):
        header.read(folder)


def test_an_open_brace_is_not_reported_as_missing_functions(probe):
    folder = probe(("        c_reset(env);\n    }\n}", "        c_reset(env);\n    }\n"))
    first = problems(folder)[0]
    assert first.code is None and first.where.startswith("probe.h:")


def test_all_problems_at_once(probe):
    folder = probe(("    float* rewards;", "    int* rewards;"), ("void c_render(", "void draw("),
                   ("OBS_SIZE 2", "OBS_SIZE 0"), ("    float n;", "    float n;\n    float late;"))
    assert [p.code for p in problems(folder)] == ["PUF101", "PUF102", "PUF104", "PUF112"]


def test_a_folder_without_its_header(tmp_path):
    spec, found = header.inspect(tmp_path)
    assert spec is None and found[0].expected == f"{tmp_path.name}.h"


# -- PufferLib's other interfaces ------------------------------------------------------------------


FIVE = ("#define ACT_SIZES {2}\n#define OBS_SIZE 1\n#define NUM_ATNS 1\n"
        "typedef struct Env { float* observations; } Env;\n"
        "void puf_step(Env* env) { (void)env; }\n")
EARLY = ('#include "probe.h"\n#define OBS_TYPE FLOAT\n#define ACT_TYPE DOUBLE\n#define Env Probe\n'
         '#include "env_binding.h"\n')
OLD = ('#include "probe.h"\n#define Env Probe\n#include "../env_binding.h"\n'
       "static int my_init(Env* env, PyObject* args, PyObject* kwargs) { return 0; }\n")


@pytest.mark.parametrize("text, binding, where, words, change", [
    (FIVE, None, "probe.h:5", "PufferLib 5.0 (puf_step), without its pufferenv.h", None),
    (None, EARLY, "binding.c:2", "early PufferLib 4.0",
     "binding.c:5: #include \"env_binding.h\"  ->  #include \"vecenv.h\""),
    (None, OLD, "binding.c:4", "PufferLib 3 or older", "binding.c:4: static int my_init(Env* env, "
     "PyObject* args, PyObject* kwargs) { return 0; }  ->  void my_init(Env* env, Dict* kwargs)")])
def test_another_interface_is_named_before_all_else(probe, text, binding, where, words, change):
    folder = probe(**({"binding_c": binding} if binding else {}))
    if text:
        (folder / "probe.h").write_text(text)
    with pytest.raises(BuildError) as caught:
        header.read(folder)
    assert words in caught.value.message and caught.value.where == where and caught.value.hint
    assert change in caught.value.detail.splitlines() if change else caught.value.detail is None
    assert text or "puffer-sdk bind probe --upgrade" in caught.value.hint


def test_a_sign_in_a_comment_is_none(probe):
    folder = probe(("void c_close(", "// once a PyObject, in puf_step(env)\nvoid shut("))
    assert [p.code for p in problems(folder)] == ["PUF101"]


@pytest.mark.parametrize("field, kind", [("actions", "double*"), ("actions", "int*"),
                                         ("terminals", "unsigned char*")])
def test_an_array_of_an_older_pufferlib_points_to_the_upgrade(probe, field, kind):
    replaced = (f"    float* {field};", f"    {kind} {field};")
    folder = probe(replaced, binding_c=PLAIN)
    problem = only(folder)
    assert problem.code == "PUF102" and problem.where == line_of(folder, f"{kind} {field};")
    assert "of an older PufferLib" in problem.message
    assert "puffer-sdk bind probe --upgrade rewrites it" in problem.hint
    (folder / "binding.c").unlink()
    assert "--upgrade" not in only(folder).hint


@pytest.mark.parametrize("kind, tensor", [("float*", "FloatTensor"),
                                          ("unsigned char*", "ByteTensor")])
def test_a_binding_without_a_tensor_type(probe, kind, tensor):
    folder = probe(("float* observations", f"{kind} observations"),
                   binding_c=PLAIN.replace("#define OBS_TENSOR_T FloatTensor\n", ""))
    problem = only(folder)
    assert (problem.code, problem.where) == ("PUF103", "binding.c:3")
    assert problem.expected.startswith(f"#define OBS_TENSOR_T {tensor}, above")
    assert problem.hint == "puffer-sdk bind probe --upgrade writes it"


def test_signs_alone_refuse_nothing(probe):
    """An early binding that was brought forward keeps its ACT_TYPE: nobody reads it."""
    folder = probe(binding_c='#include "probe.h"\n#define OBS_TENSOR_T FloatTensor\n'
                             '#define ACT_TYPE DOUBLE\n#define Env Probe\n#include "vecenv.h"\n'
                             "void my_init(Env* env, Dict* kwargs) { env->num_agents = 1; }\n"
                             "void my_log(Log* log, Dict* out) {}\n")
    assert header.read(folder).binding


PLAIN = ('#include "probe.h"\n#define OBS_TENSOR_T FloatTensor\n#define Env Probe\n'
         '#include "vecenv.h"\n'
         "void my_init(Env* env, Dict* kwargs) { (void)kwargs; env->num_agents = 1; }\n"
         "void my_log(Log* log, Dict* out) { (void)log; (void)out; }\n")


@pytest.mark.parametrize("old, new, message, where", some_or_all([
    ("#define Env Probe\n", "", "does not say which struct is the env", "binding.c"),
    ("my_init(", "my_setup(", "does not define my_init", "binding.c"),
    ("my_log(Log* log, Dict* out) { (void)log;", "my_logs(Dict* out) {", "does not define my_log",
     "binding.c"),
    ("Env* env, Dict* kwargs) {", "Env* env) { int kwargs = 0;", "conflicting types for 'my_init'",
     "binding.c:5")], 0, 2))
def test_what_a_binding_lacks_is_named_in_the_authors_files(old, new, message, where, probe):
    assert not problems(probe(binding_c=PLAIN))
    assert old in PLAIN
    first = problems(probe(binding_c=PLAIN.replace(old, new)))[0]
    assert message in first.message and first.where == where


def test_a_fault_that_shows_inside_our_header_is_placed_in_the_authors(probe):
    folder = probe(binding_c=PLAIN.replace("#define Env", "#define DictItem 7\n"
                                           "#define Env"))
    assert problems(folder)[0].where == "binding.c:5"
