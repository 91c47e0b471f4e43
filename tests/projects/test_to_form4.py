"""Between the forms of PufferLib 4.0 and 5.0, either way: the same game, or the same files."""
from __future__ import annotations

import shutil

import pytest
from helpers.check_fixtures import changed
from helpers.places import SPECIMENS
from helpers.short_or_long import some_or_all
from projects.test_to_form5 import contents, played

import puffer_sdk
from puffer_sdk import cli
from puffer_sdk.base.errors import BuildError, UsageError
from puffer_sdk.env import header
from puffer_sdk.projects import scaffold, to_form4, to_form5

TUG = SPECIMENS / "form5" / "tug"


def losses_against_the_bot(folder):
    """Of random play, in 50 games; None where there is no c_bot."""
    if not header.read(folder).has_bot:
        return None
    return puffer_sdk.match(folder, ["random", "bot:1"], games=50).pairings[0].losses


@pytest.mark.parametrize("template", some_or_all(["duel", "target"], 0))
def test_several_agents_in_5_0(template, tmp_path, capsys):
    """Rows in one block, masks, names that 5.0 has itself; and the way back by the originals."""
    folder = scaffold.new("probe", template=template, output_dir=tmp_path).folder
    first, scripted = played(folder), losses_against_the_bot(folder)
    assert first[0] and cli.main(["bind", str(folder), "--upgrade", "--dialect", "5"]) == 0
    assert losses_against_the_bot(folder) == scripted
    five = header.read(folder)
    assert five.by_agent and not (folder / "binding.c").exists() and played(folder) == first
    assert "agents lie in one block" in capsys.readouterr().out
    with pytest.raises(UsageError, match="a field 'observations' of its own"):
        to_form4.to_form4(folder)
    (folder / "probe.h.orig").replace(folder / "probe.h")
    assert played(folder) == first


@pytest.mark.parametrize("template", some_or_all(["duel", "squared", "target", "picture"], 0))
def test_templates_of_5_0_become_those_of_4_0(template, tmp_path):
    folder = scaffold.new("probe", template=template, output_dir=tmp_path, dialect="5").folder
    first, five = played(folder), header.read(folder)
    to_form4.to_form4(folder)
    four = header.read(folder)
    assert five.by_agent and not four.by_agent and four.binding == folder / "binding.c"
    assert four.has_mask == five.has_mask and played(folder) == first


def test_a_header_of_5_0_becomes_one_of_4_0(tmp_path, capsys):
    folder = shutil.copytree(TUG, tmp_path / "tug", ignore=shutil.ignore_patterns("build"))
    assert cli.main(["bind", str(folder), "--upgrade"]) == 0
    shown = capsys.readouterr().out
    assert "(original: tug.h.orig)" in shown and "programs of `build` need tug.c" in shown
    after = contents(folder)
    assert b"void my_init(" in after["binding.c"] and b"puf_" not in after["binding.c"]
    assert b"void c_step(" in after["tug.h"] and b"puf_step" not in after["tug.h"]
    assert after["tug.h.orig"] == contents(TUG)["tug.h"] and played(folder) == played(TUG)


def test_there_and_back(tmp_path):
    """obs_t below the include, a c_step of the author's own, parts for PUF_CPU alone; then the
    struct that a typedef names from afar."""
    folder = changed(
        TUG, tmp_path, ("typedef float obs_t;\n#include \"pufferenv.h\"\n",
                        "#include \"pufferenv.h\"\ntypedef float obs_t;  // one number\n"),
        ("struct Env {\n", "#if PUF_BACKEND != PUF_GPU\nstruct Env {\n"),
        ("typedef Env Tug;\n", "typedef Env Tug;\n#endif\n"),
        ("agent->observations[", "((obs_t*)agent->observations)["),
        ("void puf_step(Tug* env) {\n", "static void c_step(Tug* env) {\n"),
        ("void puf_close(Tug* env) {\n", "void puf_step(Env* env) {\n    c_step(env);\n}\n\n"
         "void puf_close(Tug* env) {\n"))
    done = to_form4.to_form4(folder)
    assert any("begin with own_" in note for note in done.notes)
    assert b"void own_c_step(Tug* env) {" in contents(folder)["tug.h"]
    assert played(folder) == played(TUG)
    for original in folder.glob("*.orig"):
        original.unlink()
    to_form5.to_form5(folder)
    assert header.read(folder).by_agent and played(folder) == played(TUG)


@pytest.mark.parametrize("old, new, says", [
    ("    env->num_agents = 2;\n", "    env->num_agents = dict_find(kwargs, \"few\") ? 1 : 2;\n",
     "4.0 has no dict_find"),
    ("#define OBS_SIZE 3\n", "#define OBS_SIZE 3\n#define MY_VEC_INIT\n",
     "MY_VEC_INIT is to be rewritten by hand"),
    ("void puf_reset(Tug* env) {", "void puf_reset(Env* env), begin(Env* env) {",
     "puf_reset is written in a way"),
    ("void puf_log(Log* log, Dict* out) {", "void PUF(log)(Log* log, Dict* out) {",
     "puf_log is written in a way"),
    ('#include "pufferenv.h"', "#include PUFFERENV", "pufferenv.h is included in a way"),
])
def test_what_no_rule_rewrites_is_refused(old, new, says):
    text = (TUG / "tug.h").read_text()
    assert text.count(old) == 1
    text = text.replace(old, new)
    with pytest.raises(UsageError, match=says):
        to_form4._refuse(header.read(TUG), text)
        to_form4._with_rows(to_form4._without(text)[0], "")


def test_waiting_for_the_screen_goes_away():
    text = ("void puf_init() {}\nvoid puf_log() {}\nvoid puf_render(Env* env) {\n"
            "    EndDrawing(); puf_web_vsync();\n    puf_web_vsync();    // of a page\n}\n")
    assert to_form4._without(text)[0] == "void puf_render(Env* env) {\n    EndDrawing();\n}\n"


def test_a_game_that_would_differ_is_not_written(tmp_path):
    """Here one that asks which form it has."""
    folder = changed(TUG, tmp_path, ("void puf_step(Tug* env) {\n",
                                     "void puf_step(Tug* env) {\n#ifndef PUFFER_AGENTS\n"
                                     "    env->rng++;\n#endif\n"))
    before = contents(folder)
    with pytest.raises(BuildError, match="does not play like the original"):
        to_form4.to_form4(folder)
    assert contents(folder) == before


def test_agents_of_ones_own_are_no_form(tmp_path):
    """A header of 4.0 may keep its agents in an array of that name."""
    agents = ("    int rungs;", "    struct Agent { int x; } agents[2];\n    int rungs;")
    folder = changed(SPECIMENS / "correct" / "ladder", tmp_path, agents)
    assert not header.read(folder).by_agent
    assert played(folder) == played(SPECIMENS / "correct" / "ladder")
