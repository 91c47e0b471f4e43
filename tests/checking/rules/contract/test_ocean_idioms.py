"""Idioms of PufferLib's environments: judged as what they are, by one small game for each."""

import pytest
from helpers.check_fixtures import short_check
from helpers.short_or_long import long_only, some_or_all

RALLY = """\
#include <stdlib.h>
#define OBS_SIZE 5
#define ACT_SIZES {3}
typedef struct { float perf, score, episode_return, episode_length, n; } Log;
typedef struct {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int points, misses, most, tick, ball, paddle, bounces;
} Rally;

static void observe(Rally* env) {
    env->observations[0] = env->ball / 8.0f;
    env->observations[1] = env->paddle / 8.0f;
    env->observations[2] = (float)env->misses / env->most;
    env->observations[3] = env->points / env->most;
    env->observations[4] = env->rewards[0];             // the last reward
}

static void serve(Rally* env) {
    env->ball = rand_r(&env->rng) % 8;
    env->paddle = 4;
    env->bounces = 0;
}

void c_reset(Rally* env) {
    serve(env);
    env->tick = env->points = env->misses = 0;
    observe(env);
}

void c_step(Rally* env) {
    env->tick++;
    env->rewards[0] = 0;
    env->terminals[0] = 0;
    env->paddle += (int)env->actions[0] - 1;
    env->bounces++;
    if (env->bounces == 4) {                            // a point: all but the score begins anew
        float reward = env->paddle == env->ball ? 1 : -1;
        env->rewards[0] = reward;
        env->points += reward > 0;
        env->misses += reward < 0;
        env->log.episode_return += reward;
        serve(env);
        if (env->points + env->misses == env->most) {
            env->terminals[0] = 1;
            env->log.perf += env->points > env->misses;
            env->log.score += env->points;
            env->log.episode_length += env->tick;
            env->log.n += 1;
            c_reset(env);
            return;
        }
    }
    observe(env);
}

void c_render(Rally* env) { (void)env; }
void c_close(Rally* env) { (void)env; }
"""
LATE = (("""            c_reset(env);
            return;
""", """            env->over = 1;
"""), ("    env->tick++;\n    env->rewards", "    if (env->over) {\n        env->rewards[0] = 0;\n"
       "        env->terminals[0] = 0;\n        c_reset(env);\n        return;\n    }\n"
       "    env->tick++;\n    env->rewards"),
    ("int points,", "int over, points,"), ("env->tick = env->points", "env->over = env->points"),
    ("    serve(env);\n    env->over", "    serve(env);\n    env->tick = 0;\n    env->over"))
ENDLESS = (("env->points + env->misses == env->most", "0"), ("int points,", "int drift, points,"),
           ("env->bounces++;", "env->bounces++;\n    env->drift = env->drift * 3 / 4 + "
                               "(int)env->actions[0];"),
           ("env->paddle / 8.0f", "env->drift / 8.0f"),
           ("env->points / env->most", "(env->points - env->misses) / 1e3f"),
           ("(float)env->misses / env->most", "env->bounces / 4.0f"))
# frames of a step that are left when an episode ends are the first ones of the next
SPILLED = (("void c_step(Rally* env) {\n    env->tick++;\n    env->rewards[0] = 0;\n"
            "    env->terminals[0] = 0;\n", "static void frame(Rally* env) {\n    env->tick++;\n"),
           ("void c_render", "void c_step(Rally* env) {\n    env->rewards[0] = 0;\n"
            "    env->terminals[0] = 0;\n"
            "    for (int i = 0; i < env->frameskip; i++) frame(env);\n}\n\nvoid c_render"),
           ("int points,", "int frameskip, points,"))
BINDING = """\
#include "rally.h"
#define OBS_TENSOR_T FloatTensor
#define Env Rally
#include "vecenv.h"
void my_init(Env* env, Dict* kwargs) {
    env->num_agents = 1;
    env->most = dict_get(kwargs, "most")->value;
}
void my_log(Log* log, Dict* out) {
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
}
"""


@pytest.fixture
def rally(tmp_path):
    def make(*changes, ini="[env]\nmost = 5\n", binding=None):
        folder = tmp_path / "rally"
        folder.mkdir()
        text = RALLY
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        (folder / "rally.h").write_text(text)
        (folder / "rally.ini").write_text(ini)
        if binding:
            (folder / "binding.c").write_text(binding)
        return folder
    return make


def found(folder, **options):
    return short_check(folder, **options).findings


@long_only
def test_a_point_is_no_new_episode_and_a_quotient_of_integers_is_0(rally):
    """Nor is the last reward, shown after a reset, something that an episode leaves behind."""
    (finding,) = found(rally())
    assert (finding.code, finding.element, finding.line) == ("PUF305", 3, 20)
    assert "env->points / env->most is a division of integers" in finding.message


def test_a_reset_one_step_late_is_called_that(rally):
    (late,) = found(rally(*LATE))
    assert (late.code, late.severity) == ("PUF401", "warning") and late.step > 0
    assert late.message == "after every ending the env resets one step late"


@long_only
def test_where_no_episode_ends_c_reset_forgets_nothing(rally):
    result = short_check(rally(*ENDLESS))
    assert "PUF404" not in {f.code for f in result.findings}
    assert "c_reset is called once" in result.not_tested["PUF404"]


@pytest.mark.usefixtures("all_builds")        # AddressSanitizer sees the write beyond
@pytest.mark.parametrize("ini, binding, severity, hint", some_or_all([
    ("", True, "warning", "or bound it in my_init"),
    ("[sweep.env.most]\nmin = 1\nmax = 64\n", True, "error", "or bound it in my_init"),
    ("[sweep.env.most]\nmin = 1\nmax = 8\n", True, "warning", "or bound it in my_init"),
    ("", False, "error", "or bound it in init")], 0, 1))
def test_a_size_that_a_setting_could_outgrow(ini, binding, severity, hint, rally):
    folder = rally(("int points,", "int wins[8], points,"),
                   ("        serve(env);\n        if", "        env->wins[env->points + env->misses"
                    " - 1] = reward > 0;\n        serve(env);\n        if"),
                   ("env->points / env->most", "env->wins[0]"),
                   ini=f"[env]\nmost = 8\n{ini}", binding=BINDING if binding else None)
    (finding,) = [f for f in found(folder) if f.code == "PUF114"]
    assert finding.severity == severity and hint in finding.hint
    assert finding.message.startswith("with most = 16 ")


@long_only
@pytest.mark.parametrize("change, codes", some_or_all([
    ("env->refused += 0.1f;", {"PUF305"}),          # a move that is refused: the board stays
    ("env->paddle = (env->paddle + 7) % 8;", {"PUF302", "PUF305"})], 0))    # one that is not shown
def test_a_step_that_writes_nothing_is_stale_where_it_would_have_shown(change, codes, rally):
    refuse = f"    if (env->actions[0] == 0) {{ {change} return; }}\n"
    folder = rally(("int points,", "float refused;\n    int points,"),
                   ("    env->paddle += (int)", refuse + "    env->paddle += (int)"))
    assert {f.code for f in found(folder)} == codes


@long_only
def test_resets_that_pile_up_are_named_as_the_cause(rally):
    """c_step never resets: each c_reset of ours puts one more stone on the board."""
    folder = rally(*ENDLESS, ("            c_reset(env);\n            return;\n", ""),
                   ("int drift,", "int stones[64], drift,"),
                   ("    serve(env);\n    env->tick", "    int cell;\n"
                    "    do cell = rand_r(&env->rng) % 64; while (env->stones[cell]);\n"
                    "    env->stones[cell] = 1;\n    serve(env);\n    env->tick"),
                   ini="[env]\nmost = 5\n[vec]\nstep_timeout = 1\n")
    (finding,) = [f for f in found(folder) if f.code == "PUF405"]
    assert finding.severity == "warning" and finding.message.startswith("c_reset piles up")


@long_only
def test_a_setting_that_only_good_play_meets_is_not_called_idle(rally):
    folder = rally(("int points,", "int top, points,"),
                   ("    observe(env);\n}\n\nvoid c_render",
                    "    if (env->points > 60) env->ball = env->top;\n    observe(env);\n}\n\n"
                    "void c_render"), ini="[env]\nmost = 5\ntop = 9\n")
    result = short_check(folder)
    assert {f.code for f in result.findings} == {"PUF305"}
    assert "c_step reads top" in result.not_tested["PUF113"]


@long_only
def test_a_turn_that_shows_only_in_what_is_done_next_is_no_ignored_action(rally):
    turn = ("env->paddle += (int)env->actions[0] - 1;",
            "int action = (int)env->actions[0];\n"
            "    if (action == 0) env->paddle += env->turn;\n"
            "    else env->turn = action == 1 ? -1 : 1;")
    folder = rally(("int points,", "int turn, points,"), turn)
    assert "PUF411" not in {f.code for f in found(folder)}
    same = (folder / "rally.h").read_text().replace("action == 1 ? -1 : 1", "1")
    (folder / "rally.h").write_text(same)
    (both,) = [f for f in found(folder) if f.code == "PUF411"]
    assert both.message == "action 2 never does anything but action 1"


def test_logs_that_are_assigned_lose_all_entries_but_the_last(rally):
    folder = rally(("env->log.n += 1;", "env->log.score = env->points;\n"
                    "            env->log.perf = env->points / 5.0f;\n"
                    "            env->log.n += 1;"))
    logs = [f for f in found(folder) if f.code == "PUF422"]
    assert [(f.severity, f.element) for f in logs] == [("warning", "score"), ("warning", "perf")]
    assert logs[0].message == "Log.score is assigned, and n counts all entries"
    last = (folder / "rally.h").read_text().replace("log.n += 1", "log.n = 1")
    (folder / "rally.h").write_text(last)           # one entry, on purpose
    assert not [f for f in found(folder) if "assigned" in f.message]


@long_only
def test_an_assigned_log_that_may_be_zero_is_one_fault(rally):
    """cartpole: perf = return / most where there is a return, and 0 where there is none."""
    folder = rally(("            env->log.n += 1;",
                    "            if (env->points > 1) env->log.perf = env->points / 5.0f;\n"
                    "            else env->log.perf = 0.0f;\n"
                    "            env->log.n += 1;"))
    (log,) = [f for f in found(folder) if f.code == "PUF422"]
    assert log.message == "Log.perf is assigned, and n counts all entries"
    cleared = (folder / "rally.h").read_text().replace("env->log.n += 1;",
                                                       "env->log.n += 1; env->log.score = 0;")
    (folder / "rally.h").write_text(cleared)        # of another field: still told
    assert [f.message for f in found(folder) if f.code == "PUF422"] == [
        log.message, "log.score is set back to 0 while the game goes on"]


@pytest.mark.parametrize("change, what", some_or_all([
    (("    env->tick = env->points",
      "    env->log = (Log){0};\n    env->tick = env->points"), "log"),
    (("            env->log.n += 1;", "            env->log.n += 1;\n"
      "            memset(&env->log, 0, sizeof(Log));"), "log"),
    (("            env->log.n += 1;", "            env->log.n += 1;\n"
      "            env->log.score = 0;"), "log.score")], 0),
    ids=some_or_all(["reset", "memset", "field"], 0))
def test_a_log_that_steps_set_back_loses_entries(rally, change, what):
    """boids and blastar: what other agents and episodes have logged is gone before it is read."""
    folder = rally(change)
    text = (folder / "rally.h").read_text()
    (folder / "rally.h").write_text("#include <string.h>\n" + text)
    (log,) = [f for f in found(folder) if "set back" in f.message]
    assert (log.code, log.severity) == ("PUF422", "warning")
    assert log.message == f"{what} is set back to 0 while the game goes on"
    started = text.replace(change[1], change[0]) + (
        "\nvoid init(Rally* env) { env->log = (Log){0}; }\n" if "init(" not in text else "")
    (folder / "rally.h").write_text(started)        # before the first step: nothing is lost
    assert not [f for f in found(folder) if "set back" in f.message]


@long_only
def test_a_length_that_is_assigned_is_right_only_alone(rally):
    folder = rally(("log.episode_length += env->tick", "log.episode_length = env->tick"))
    (log,) = [f for f in found(folder) if f.code == "PUF422"]
    assert log.message == "Log.episode_length is assigned, and n counts all entries"
    summed = (folder / "rally.h").read_text().replace(
        "log.episode_length = env->tick", "log.score = env->log.episode_return")
    (folder / "rally.h").write_text(summed)
    assert not [f for f in found(folder) if "assigned" in f.message]


@long_only
def test_frames_that_spill_into_the_next_episode_are_no_wrong_length(rally):
    """breakout: an episode of 20 frames takes 6 or 7 steps of 3 frames, and the log says 20."""
    folder = rally(*SPILLED, ini="[env]\nmost = 5\nframeskip = 3\n")
    result = short_check(folder)
    assert {f.code for f in result.findings} == {"PUF305"}
    assert "PUF422" not in result.not_tested
    header = folder / "rally.h"
    header.write_text(header.read_text().replace(
        "length += env->tick;", "length += env->tick * (1 + 4 * (env->points & 1));"))
    (wrong,) = [f for f in found(folder) if f.code == "PUF422"]
    assert wrong.message.startswith("Log.episode_length is wrong in every entry")


@long_only
def test_a_terminal_that_c_reset_clears_is_never_seen(rally):
    """Nobody sees one, and still it is an error: the program thinks that it sets them."""
    folder = rally(("    env->terminals[0] = 0;\n    env->paddle", "    env->paddle"),
                   ("    serve(env);\n    env->tick = env->points",
                    "    serve(env);\n    env->terminals[0] = 0;\n    env->tick = env->points"))
    (hidden,) = [f for f in found(folder) if f.code == "PUF406"]
    assert hidden.severity == "error"
    assert hidden.hint.startswith("c_reset clears the terminal that c_step has just set")


@long_only
def test_terminals_that_nobody_sets_are_another_matter(rally):
    """Cleared in c_step and in c_reset, and never set: the hint says to set them."""
    folder = rally(("            env->terminals[0] = 1;\n", ""),
                   ("    serve(env);\n    env->tick = env->points",
                    "    serve(env);\n    env->terminals[0] = 0;\n    env->tick = env->points"))
    (hidden,) = [f for f in found(folder) if f.code == "PUF406"]
    assert hidden.hint == "set terminals[i] = 1.0f before c_reset(env)"


STONES = """\
#include <string.h>
#define CELLS 24
#define OBS_SIZE (CELLS + 4)
#define ACT_SIZES {CELLS}
typedef struct { float perf, score, episode_return, episode_length, n; } Log;
typedef struct {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int stones[CELLS], placed, tick;
} Stones;

static void observe(Stones* env) {                  // empty cells are 0 since c_reset
    for (int i = 0; i < CELLS; i++) {
        if (env->stones[i] != 0) env->observations[i] = env->stones[i];
    }
    for (int i = 0; i < 4; i++) env->observations[CELLS + i] = env->placed >> i & 1;
}

void c_reset(Stones* env) {
    memset(env->stones, 0, sizeof env->stones);
    env->placed = env->tick = 0;
    for (int i = 0; i < OBS_SIZE; i++) env->observations[i] = 0;
}

static void place(Stones* env, int cell, int whose) {
    env->stones[cell] = whose;
    env->placed++;
}

void c_step(Stones* env) {
    int cell = (int)env->actions[0];
    env->rewards[0] = env->stones[cell] ? -0.1f : 0.1f;
    env->terminals[0] = 0;
    env->tick++;
    if (env->stones[cell] == 0) {
        place(env, cell, 1);
        env->rng = env->rng * 1664525u + 1013904223u;
        int answer = (int)((env->rng >> 16) % CELLS);
        if (env->stones[answer] == 0) place(env, answer, -1);
    }
    env->log.episode_return += env->rewards[0];
    if (env->placed >= CELLS - 8 || env->tick == 60) {
        env->terminals[0] = 1;
        env->log.episode_length += env->tick;
        env->log.n += 1;
        c_reset(env);
        return;
    }
    observe(env);
}

void c_render(Stones* env) { (void)env; }
void c_close(Stones* env) { (void)env; }
"""


@pytest.fixture
def stones(tmp_path):
    def make(*changes):
        folder = tmp_path / "stones"
        folder.mkdir()
        text = STONES
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        (folder / "stones.h").write_text(text)
        return folder
    return make


@long_only
def test_a_board_whose_cells_stay_set_is_no_old_observation(stones):
    """connect4: each step sets what stands on the board, and only c_reset empties it."""
    assert "PUF302" not in {f.code for f in found(stones())}


@pytest.mark.parametrize("changes", some_or_all([
    [("env->observations[CELLS + i] = env->placed >> i & 1;",     # which quarter was played last
      "(void)i;\n    env->observations[CELLS + env->last / 6] = 1;"),
     ("int stones[CELLS]", "int last, stones[CELLS]"), ("env->tick++;", "env->tick++;\n    "
                                                        "env->last = cell;")],
    [("if (env->stones[i] != 0) env", "if (env->stones[i] % 9) env"),       # what is taken is 9
     ("    env->tick++;", "    env->tick++;\n    int taken = env->tick % CELLS;\n"
      "    if (env->stones[taken] && env->tick % 5 == 0) env->stones[taken] = 9;")]], 0),
    ids=some_or_all(["one-hot", "taken"], 0))
def test_what_is_set_and_never_cleared_is_still_old(stones, changes):
    stale = [f for f in found(stones(*changes)) if f.code == "PUF302"]
    assert stale and "keep what was once set" in stale[0].message
