"""Places whose numbers are counted while the env runs, and what the rules make of the counts."""
from __future__ import annotations

import pytest
from helpers.check_fixtures import changed
from helpers.places import SPECIMENS
from helpers.short_or_long import some_or_all

from puffer_sdk.checking.collect.c import probing
from puffer_sdk.checking.collect.c.driver import OURS, Kind, Runner, build_library, build_program
from puffer_sdk.checking.collect.c.source import fractions, generators, read, sites
from puffer_sdk.checking.core.fact_kinds import SiteFact
from puffer_sdk.checking.core.facts import Outcome
from puffer_sdk.env import header
from puffer_sdk.settings import config

PLAIN = Kind("plain", ("-O0", OURS))
SHOW = "        env->observations[2 * a + 1] = env->actions[a];\n"


@pytest.fixture
def count(probe, tmp_path):
    """Plays 64 steps of a probe with these replacements -> [(Site, its fact), ...]"""
    def run(*replacements, name: str = "probe", **files) -> list:
        folder = probe(*replacements, name=name, **files)
        spec = header.read(folder)
        found = probing.write(spec, sites.sites(read.read(folder)), tmp_path / "probed")
        library = build_library(spec, PLAIN, tmp_path, probed=tmp_path / "probed")
        runner = Runner(spec, tmp_path, 42, config.resolve(folder, None, spec).env, {}, 10.0, {})
        outcome: Outcome = runner.run("guard", build_program(PLAIN), library, "guard", agents=1,
                                      envs=1, steps=64)
        assert outcome.ended, outcome.stderr
        return [(site, outcome.all(SiteFact)[number]) for number, site in enumerate(found)]
    return run


BYTES = ("float* observations", "unsigned char* observations")


@pytest.mark.parametrize("value, text, first", some_or_all([
    ("(unsigned char)(env->tick - env->limit)", "env->tick - env->limit", -3),
    ("env->tick < 3 ? 7 : env->tick - 9", "env->tick - 9", -6),             # 3 - 9
    ("(unsigned char)(300 * (env->tick / 4))", "300 * (env->tick / 4)", 300),
    ("low(env->tick)", "tick - 2", -1),                     # what a function returns
    ("(unsigned char)(env->tick & 3)", "env->tick & 3", None)], 0, 4))
def test_a_whole_number_that_fits_no_byte(count, value, text, first):
    (one, fact), *_ = [pair for pair in count(
        BYTES, (SHOW, f"        env->observations[2 * a + 1] = {value};\n"),
        ("void c_reset", "static unsigned char low(int tick) { return (unsigned char)(tick - 2); "
                         "}\n\nvoid c_reset")) if pair[0].target != "env->observations[2 * a]"]
    assert (one.kind, one.text) == ("byte", text)
    assert fact.count > 0 and (fact.first if fact.outside else None) == first


@pytest.mark.parametrize("value, share", some_or_all([
    ("(float)(env->tick / env->limit)", True), ("1.0f - (float)(env->tick / (env->limit))", True),
    ("(float)(env->tick / 2)", False)], 0))
def test_a_share_that_is_divided_as_whole_numbers(count, value, share):
    """1 at the end and 0 before it; the rows of a board go on."""
    ((site, fact),) = count((SHOW, f"        env->observations[2 * a + 1] = {value};\n"))
    assert site.kind == "quotient" and (fact.low, fact.high) == (1, 4)
    assert fact.inexact > 0 and fact.ones > 0 and (fact.beyond == 0) is share


@pytest.mark.parametrize("value, nearly, beyond", some_or_all([
    ("(float)(env->tick / 44 * 10)", True, False),      # 40 of 44 at most: always 0
    ("(float)(10 * (env->tick / 88))", False, False),   # what is half there at most says little
    ("(float)(env->tick / 8 * 8)", False, True)], 0))       # rounded down
def test_a_share_that_is_multiplied_after_its_division(count, value, nearly, beyond):
    ((_, fact),) = [pair for pair in count(("env->limit", "40"), (
        SHOW, f"        env->observations[2 * a + 1] = {value};\n")) if pair[0].kind == "product"]
    assert (fact.nearly > 0, fact.beyond > 0) == (nearly, beyond) and fact.inexact > 10


def test_what_a_macro_writes_is_left_alone(count):
    """Its text is not the author's line; and lines stay what they are."""
    pairs = count(BYTES, ("#define OBS_SIZE 2", "#define OBS_SIZE 2\n#define SHOW(a, v) "
                          "env->observations[2 * (a) + 1] = (unsigned char)((v) - 2)"),
                  (SHOW, "        SHOW(a, env->tick);\n"), name="macro")
    assert [site.target for site, _ in pairs] == ["env->observations[2 * a]"]


def test_expressions_inside_one_another():
    text = b"o = (byte)(8 * (a / b)); p = a / b;"
    at = text.index(b"8")
    inner = text.index(b"a / b")

    def site(kind, start, end, slash=-1):
        return sites.Site(kind, "g.h", 1, start, end, slash, "int", "", "observations", "o")
    assert probing.probed(text, [site("byte", at, inner + 6),
                                 site("quotient", inner, inner + 5, inner + 2)]) == (
        b"o = (byte)(((int)puffer_narrow(0, 8 * (((int)puffer_quotient(1, a , b))))))"
        b"; p = a / b;")


COPIES = """
    unsigned int mine = env->rng;
    {}
"""


@pytest.mark.parametrize("code, told", [
    ("env->limit = draw(&mine);", True),
    ("unsigned int* state = &mine; env->limit = draw(state);", True),
    ("env->limit = draw(&mine); env->rng = mine;", False),          # stored back
    ("env->limit = (int)(mine % 4u);", False),                      # nothing draws from it
    ("env->limit = mix(mine, 7);", False)])
def test_a_copy_of_a_generator_that_is_not_stored_back(probe, code, told):
    folder = probe(("void c_reset(Probe* env) {\n",
                    "static int draw(unsigned int* s) { *s = *s * 5u + 1u; return (int)(*s >> 30); "
                    "}\nstatic int mix(unsigned int a, int b) { return (int)(a >> b); }\n"
                    "void c_reset(Probe* env) {\n" + COPIES.format(code)))
    found = list(generators.copies(read.read(folder)))
    assert [(one.function, one.name, one.of) for one in found] == (
        [("c_reset", "mine", "env->rng")] if told else [])


@pytest.mark.parametrize("store, told", [
    ("env->tick * 256", True), ("env->tick * 255", False), ("env->tick + 16777216", True),
    ("env->tick + 16777215", False), ("env->tick ^ (env->tick << 3)", True),
    ("env->tick + (env->tick << 3)", False)])
def test_a_generators_next_state_is_known_by_its_numbers(probe, store, told):
    folder = probe(("    env->tick++;\n", f"    env->tick = {store};\n"))
    assert generators.are_drawn_from(read.read(folder)) == told


@pytest.mark.parametrize("code, told", [
    ("int n = (int)env->speed * 10;", ["speed"]), ("int n; n = env->speed;", ["speed"]),
    ("int n = (int)(env->speed * 10.0f);", []),
    ("int n = (int)env->speed; float rest = env->speed - (float)n; (void)rest;", [])])
def test_a_setting_that_is_cut_to_a_whole_number(probe, code, told):
    folder = probe(("    int limit;\n", "    int limit;\n    float speed;\n"),
                   ("    env->tick++;\n", f"    env->tick++;\n    {code} (void)n;\n"))
    assert list(fractions.cut_short(read.read(folder))) == told


@pytest.mark.parametrize("moves", [False, True])
def test_a_copy_that_begins_with_the_same_state_again(count, moves):
    ((site, fact),) = count(
        ("void c_reset(Probe* env) {\n",
         "static int draw(unsigned int* s) { *s = *s * 5u + 1u; return (int)(*s >> 30); }\n"
         "void c_reset(Probe* env) {\n    unsigned int mine = env->rng;\n"
         "    env->limit = 2 + draw(&mine);\n"),
        ("    env->tick++;\n", f"    env->tick++;\n    env->rng += {int(moves)};\n"))
    assert (site.kind, site.text, site.target) == ("copy", "env->rng", "mine")
    assert fact.count > 10 and (fact.again <= 2 if moves else fact.again > fact.count / 4)


PAID = "        env->rewards[a] += env->actions[a];\n"


@pytest.mark.parametrize("line, lost", some_or_all([
    ("        env->rewards[a] = 1.0f; env->rewards[a] = env->terminals[a] = 0.0f;\n", True),
    ("        env->rewards[a] = 1.0f; if (env->tick > 2) env->rewards[a] = 0.5f;\n", None),
    ("        env->rewards[a] = env->tick + 0;\n", None),
    ("        float* paid = &env->rewards[a]; *paid = 0.0f; *paid = 1.0f;\n", False)], 0, 2))
def test_a_reward_that_is_set_back_to_zero(count, line, lost):
    """Before anything is paid it does no harm. An ending may replace it by another value."""
    pairs = [(site, fact) for site, fact in count((PAID, line)) if site.goes == "rewards"]
    assert [site.kind for site, _ in pairs] == ([] if lost is None else ["clear"])
    for site, fact in pairs:
        assert site.target == ("env->rewards[a]" if lost else "*paid")
        assert fact.count > 0 and fact.outside == lost * fact.count


BINDING = """\
#include "probe.h"
#define OBS_TENSOR_T FloatTensor
#define Env Probe
#include "vecenv.h"
void my_init(Env* env, Dict* kwargs) {
    env->num_agents = 1;
    env->limit = dict_get(kwargs, "limit")->value;
}
void my_log(Log* log, Dict* out) { dict_set(out, "score", log->score); }
"""


def test_a_hand_written_binding_includes_the_header_that_counts(count):
    paid = f"{PAID}        env->rewards[a] = 0.0f;\n"
    ((site, fact),) = count((PAID, paid), binding_c=BINDING)
    assert (site.kind, site.target) == ("clear", "env->rewards[a]") and fact.outside > 0


@pytest.mark.parametrize("divisor, kinds", [("env->limit", ["quotient"]), ("3", [])])
def test_a_share_of_a_reward(count, divisor, kinds):
    """Divided by a setting it is a share; every third tick may well pay."""
    pairs = count((PAID, f"        env->rewards[a] = (float)(env->tick / {divisor});\n"))
    assert [site.kind for site, _ in pairs if site.goes == "rewards"] == kinds


@pytest.mark.parametrize("line, kinds", some_or_all([
    ("    env->rewards[0] = 0.5f;\n", ["replace"]), ("    env->rewards[0] -= 0.5f;\n", []),
    ("    env->rewards[0] = 2.0f * env->rewards[0];\n", []),
    ("    if (env->tick > 2) env->rewards[0] = 0.5f;\n", [])], 0, 2))
def test_a_reward_that_every_step_replaces(count, line, kinds):
    pairs = count(("    if (env->tick >= env->limit) {\n",
                   f"{line}    if (env->tick >= env->limit) {{\n"))
    assert [site.kind for site, _ in pairs if site.goes == "rewards"] == kinds
    assert all(fact.outside > 0 for site, fact in pairs)


@pytest.mark.parametrize("given_back", [True, False])
def test_rewards_that_are_kept_while_a_reset_clears_them(given_back, tmp_path):
    each = "    for (int i = 0; i < env->num_agents; i++) "
    folder = changed(
        SPECIMENS / "form5" / "tug", tmp_path,
        ("    env->paid = 0.0f;\n",
         f"    env->paid = 0.0f;\n{each}env->agents[i].rewards[0] = 0.0f;\n"),
        ("    puf_reset(env);\n",
         f"    float kept[2];\n{each}kept[i] = env->agents[i].rewards[0];\n    puf_reset(env);\n"
         + f"{each}env->agents[i].rewards[0] = kept[i];\n" * given_back))
    kinds = [site.kind for site in sites.sites(read.read(folder))]
    assert ("clear" in kinds) is not given_back
