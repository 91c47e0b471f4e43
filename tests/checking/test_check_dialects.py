"""check says first what an environment for another PufferLib is, and lists nothing that follows."""
from __future__ import annotations

import pytest
from helpers.check_fixtures import short_check

from puffer_sdk.base.errors import BuildError, DialectError
from puffer_sdk.cli import main

FIVE = ("#define ACT_SIZES {2}\n#define OBS_SIZE 1\n#define NUM_ATNS 1\n"
        "typedef struct Env { float* observations; } Env;\n"
        "void puf_reset(Env* env) { (void)env; }\nvoid puf_step(Env* env) { (void)env; }\n")
PLAIN = ('#include "probe.h"\n#define OBS_TENSOR_T FloatTensor\n{more}#define Env Probe\n'
         '#include "vecenv.h"\n'
         "void my_init(Env* env, Dict* kwargs) {{ (void)kwargs; env->num_agents = 1; }}\n"
         "void my_log(Log* log, Dict* out) {{ (void)log; (void)out; }}\n")
THREE = ('#include "probe.h"\n#define Env Probe\n#include "../env_binding.h"\n'
         "static int my_init(Env* env, PyObject* args, PyObject* kwargs) { return 0; }\n"
         "static int my_log(PyObject* dict, Log* log) { return 0; }\n")
EARLY = ('#include "probe.h"\n#define OBS_TYPE FLOAT\n#define ACT_TYPE DOUBLE\n#define Env Probe\n'
         '#include "env_binding.h"\n')
BROKEN_LOG = ("    float score;\n    float n;", "    int score;\n    float n;")     # PUF104


def refused(folder) -> DialectError:
    with pytest.raises(DialectError) as caught:
        short_check(folder)
    return caught.value


def test_an_environment_for_5_0_without_its_header(probe, capsys):
    folder = probe()
    (folder / "probe.h").write_text(FIVE)
    assert "PufferLib 5.0" in refused(folder).message
    assert main(["check", str(folder)]) == 3
    said = capsys.readouterr().err
    assert said.startswith("error: this is an environment for PufferLib 5.0")
    assert "PUF101" not in said and "  ->  " not in said and '#include "pufferenv.h"' in said


@pytest.mark.parametrize("binding, words", [(THREE, "PufferLib 3 or older"),
                                            (EARLY, "early PufferLib 4.0")])
def test_an_old_binding_beside_other_problems(probe, binding, words):
    error = refused(probe(BROKEN_LOG, ("float* actions", "double* actions"),
                          ("void c_render(", "void draw("), binding_c=binding))
    assert words in error.message and "bind probe --upgrade" in error.hint
    assert "probe.h:16: double* actions;  ->  float* actions;" in error.detail
    assert error.detail.endswith("also refused:\nprobe.h:9: Log.score is not a float (PUF104)")


def test_where_nothing_of_the_header_is_read(probe):
    error = refused(probe(binding_c="#include <Python.h>\n" + THREE))
    assert "PufferLib 3 or older" in error.message and "also refused" not in error.detail
    assert error.detail.startswith("binding.c:1: #include <Python.h>  ->  leave it out\n")


def test_a_macro_that_nobody_knows_beside_other_problems(probe):
    error = refused(probe(("void c_render(", "void draw("),
                          binding_c=PLAIN.format(more="#define MY_TRICK\n")))
    assert error.message == "MY_TRICK is not supported" and error.where == "binding.c:3"
    assert error.detail == "also refused:\nprobe.h: c_render is not defined (PUF101)"


def test_what_rules_name_stands_below_the_compilers_words(probe):
    """Of our own dialect. Not what a struct seems to lack that does not compile."""
    with pytest.raises(BuildError, match="no member named 'tock'") as caught:
        short_check(probe(BROKEN_LOG, ("void c_render(", "void draw("),
                          ("env->tick = 0;", "env->tock = 0;")))
    assert caught.value.detail == "also refused:\nprobe.h: c_render is not defined (PUF101)"
