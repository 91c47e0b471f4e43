"""PufferLib 5.0's form: one header, each agent with pointers of its own, run as it stands."""
from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
from helpers.check_fixtures import changed, line_of, short_check
from helpers.places import SPECIMENS
from helpers.shared import once
from helpers.short_or_long import long_only

import puffer_sdk
from puffer_sdk.base.errors import BuildError, DialectError, PufferError, UsageError
from puffer_sdk.checking.report import terminal
from puffer_sdk.env import binding, build, header, pufferlib5
from puffer_sdk.programs import targets
from puffer_sdk.projects import ocean
from puffer_sdk.settings import config, values
from puffer_sdk.toolchain import compilers

TUG = SPECIMENS / "form5" / "tug"
ENVS = 4
AT_INCLUDE = 'typedef float obs_t;\n#include "pufferenv.h"\n'
BELOW = '#include "pufferenv.h"\ntypedef float obs_t;\n'
CPP = ("struct Log {\n    float perf;", "struct Scores {\n    float perf;\n};\n"
       "struct Log : Scores {")     # of C++ alone
OWN = [(f"void puf_{name}(Tug* env) {{", f"static void c_{name}(Tug* env) {{")
       for name in ("reset", "step", "render", "close")]
OWN += [("    puf_reset(env);", "    c_reset(env);"),
        ("typedef Env Tug;", "typedef Env Tug;\nstatic void c_step(Tug* env);\n"
         + "".join(f"void puf_{name}(Env* env);\n" for name in ("reset", "step"))),
        ("void puf_log(", "".join(f"void puf_{name}(Env* env) {{ c_{name}(env); }}\n" for name in
                                  ("reset", "step", "render", "close")) + "void puf_log("),
        ('#include "pufferenv.h"\n', '#define PUF_HAS_BOT_POLICY\n#include "pufferenv.h"\n'
                   "static inline void puf_set_bot_policy(Env* env, int bot) {\n"
                   "    (void)env, (void)bot;\n}\n")]
SETTINGS = [('    env->edge = (int)dict_get(kwargs, "edge");\n', """\
    DictItem* parts = dict_find(kwargs, "parts");
    for (int i = 0; i < parts->len; i++) env->edge += (int)parts->values[i];
    env->edge += (int)dict_get(kwargs, "num_bots") + (int)dict_get(kwargs, "dr");
    if (strcmp(dict_get_str(kwargs, "mode"), "calm") || dict_get(kwargs, "parts") != 1.0) abort();
    if (strcmp(dict_get_str(kwargs, "length"), "24") || parts->len != 3) abort();
""")]
VEC_INIT = """
Env* my_vec_init(int* num_envs_out, int* starts, int* counts, Dict* vec_kwargs, Dict* env_kwargs) {
    int envs = (int)dict_get(vec_kwargs, "total_agents") / 2;
    Env* made = (Env*)calloc((size_t)envs, sizeof(Env));
    if (dict_get(vec_kwargs, "hist_policy_percent") != 0.0) abort();
    for (int i = 0; i < envs; i++) puf_init(&made[i], env_kwargs);
    starts[0] = 0;
    *num_envs_out = counts[0] = envs;
    return made;
}
"""
WAITING = [("""        agent->action_mask[0] = env->place[i] > -env->edge;
        agent->action_mask[1] = 1;
        agent->action_mask[2] = env->place[i] < env->edge;
""", "        memset(agent->action_mask, env->tick % 2 == i, 3);\n"),
           ("        int to =", "        if ((env->tick - 1) % 2 != i) continue;\n"
            "        int to =")]


@pytest.fixture(scope="module")
def tug(tmp_path_factory) -> Path:
    """A copy that is built."""
    def make(folder: Path) -> None:
        shutil.copytree(TUG, folder / "tug", ignore=shutil.ignore_patterns("build"))
        puffer_sdk.build(folder / "tug")
    return once(tmp_path_factory, "tug", make) / "tug"


def played(folder: Path, ticks: int = 60) -> tuple[list[np.ndarray], dict[str, float]]:
    """What random play of a few envs sees, gets and may do; and what it logs."""
    draw, seen = np.random.default_rng(3), []
    with puffer_sdk.make(folder, num_envs=ENVS, seed=5) as envs:
        seen.append(envs.reset().copy())
        for _ in range(ticks):
            envs.actions[:] = draw.integers(0, 3, envs.actions.shape)
            observations, rewards, terminals, _ = envs.step()
            seen += [observations.copy(), rewards.copy(), terminals.copy(),
                     envs.action_mask.copy()]
        return seen, envs.log()


def test_other_settings_begin_with_a_new_puf_init(tug):
    with puffer_sdk.make(tug, num_envs=2, seed=1) as vec:
        vec.reset()
        vec.set("length", 5, envs=0)
        ends = []
        for _ in range(48):
            vec.step()
            ends.append(vec.terminals.copy())
        when = [np.flatnonzero(np.array(ends)[:, row]).tolist() for row in range(4)]
    # of agents 0 and 1 all episodes after the first are short
    assert when[0] == when[1] and set(np.diff(when[0])) == {5}
    assert max(when[0]) > max(when[2]) - 5 and 5 not in np.diff([-1, *when[2]])


def test_it_is_read_as_it_stands(tug):
    spec = header.read(tug)
    assert spec.by_agent and spec.struct == "Tug" and spec.obs_dtype == "f32"
    assert spec.has_mask and spec.mask_size == 3 and not spec.is_cpp and not spec.late_obs
    assert spec.functions["c_step"][0] == "tug.h"


def test_each_agent_has_its_own_row(tug):
    seen, log = played(tug)
    first = seen[0].reshape(ENVS, 2, 3)
    assert np.array_equal(first[:, 0, :2], first[:, 1, 1::-1])      # own place, then the other's
    assert len(np.unique(first[:, 0, 0])) > 1                       # seeds differ
    masks = np.concatenate(seen[4::4]).reshape(-1, 3)
    places = np.concatenate(seen[1::4]).reshape(-1, 3)[:, 0]
    assert np.array_equal(masks[:, 0], places > -1) and np.array_equal(masks[:, 2], places < 1)
    rewards = np.concatenate(seen[2::4])
    assert rewards.sum() > 0 and log["episode_length"] == 24 and log["n"] == 2 * ENVS


def test_masks_that_nobody_writes_cost_nothing(tug, tmp_path):
    lines = [line for line in (TUG / "tug.h").read_text().splitlines(keepends=True)
             if "agent->action_mask" in line]
    plain = changed(TUG, tmp_path, ("".join(lines), ""))
    assert not header.read(plain).has_mask
    assert pufferlib5.writes_masks(["env->agents[0].action_mask[1] = 0;"])
    assert not pufferlib5.writes_masks(["env->action_masks[1] = 0;"])       # a field of its own
    assert not pufferlib5.writes_masks(["struct Row { unsigned char* action_mask; int x; };"])


@pytest.mark.parametrize("edits", [
    [(AT_INCLUDE, BELOW), ("agent->observations[", "((obs_t*)agent->observations)["),], [CPP],
    OWN], ids=["obs_t below the include", "C++17", "a c_step of its own"])
def test_what_else_compiles_plays_the_same(tug, tmp_path, edits):
    text = (TUG / "tug.h").read_text()
    for old, new in edits:
        text = text.replace(old, new)
    folder = shutil.copytree(TUG, tmp_path / "tug", ignore=shutil.ignore_patterns("build"))
    (folder / "tug.h").write_text(text)
    spec = header.read(folder)
    assert spec.is_cpp == (CPP in edits) and spec.late_obs == ((AT_INCLUDE, BELOW) in edits)
    (seen, log), (expected, its_log) = played(folder), played(tug)
    assert log == its_log
    for one, other in zip(seen, expected, strict=True):
        assert np.array_equal(one, other)


def test_findings_name_the_authors_own_functions():
    said = "puffer_own_c_step (tug.h:9), called by c_step"
    assert pufferlib5.named(said) == "c_step (tug.h:9), called by puf_step"


def test_findings_name_rows_as_the_form_has_them():
    assert pufferlib5.named("begin c_step with: env->rewards[i] = 0.0f;") == (
        "begin puf_step with: env->agents[i].rewards[0] = 0.0f;")
    assert pufferlib5.named("env->action_mask + i * ACT_COUNT is the row of agent i") == (
        "env->agents[i].action_mask is the row of agent i")


def test_keys_of_their_ini(tmp_path, capsys):
    """momentum is the trainer's; opponents have no effect, and that is said."""
    folder = changed(TUG, tmp_path)
    with open(folder / "tug.ini", "a", encoding="utf-8") as ini:
        ini.write("[train]\nmomentum = 0.8\n[selfplay]\neval_games = 9\n")
    assert config.resolve(folder).train.beta1 == 0.8
    said = capsys.readouterr().err
    assert "1 setting without effect here ([selfplay] eval_games)" in said


def test_n_may_stand_anywhere_in_log(tmp_path):
    """PufferLib 5.0 finds it by its name."""
    text = (TUG / "tug.h").read_text()
    fields = text[text.index("struct Log {"):text.index("}", text.index("struct Log {"))]
    moved = fields.replace("    float n;\n", "").replace("struct Log {\n",
                                                         "struct Log {\n    float n;\n")
    assert moved != fields
    spec = header.read(changed(TUG, tmp_path, (fields, moved)))
    assert [field.name for field in spec.log_fields][0] == "n" and not spec.remarks


def test_settings_are_lists_and_texts_with_defaults(tug, tmp_path):
    """As PufferLib 5.0's ini has them, in the library and in a program."""
    folder = changed(TUG, tmp_path, *SETTINGS)
    (folder / "tug.ini").write_text('[env]\nlength = 24\nparts = 1, 2,1  # 4\nmode = "calm"\n')
    for one, other in zip(played(folder)[0], played(tug)[0], strict=True):
        assert np.array_equal(one, other)
    known = config.resolve(folder, spec=header.read(folder))
    assert puffer_sdk.configure(folder).env == known.env        # without a spec, as play begins
    again = values.Config.from_dict(known.to_dict())
    assert again.env["parts"].text == "1, 2,1" and again.env["parts"] == known.env["parts"]
    assert pickle.loads(pickle.dumps(known.env["mode"])).text == "calm"
    assert "parts = 1, 2,1\n" in known.to_ini()
    targets.build_programs(folder, targets=["fast"], model=None)
    made = (folder / "build/tug_config.h").read_text()
    assert '{"parts", 1.0, "1, 2,1"}' in made and '{"length", 24.0, "24"}' in made


def test_all_envs_made_at_once(tug, tmp_path):
    folder = changed(TUG, tmp_path, ('#include "pufferenv.h"\n',
                                     '#include "pufferenv.h"\n#define MY_VEC_INIT\n'))
    text = folder / "tug.h"
    text.write_text(text.read_text() + VEC_INIT)
    assert played(folder)[1]["episode_length"] == played(tug)[1]["episode_length"]


def test_a_mask_of_zeros_waits_for_the_other_agent(tmp_path):
    """As in games in turns: trainers read the zeros."""
    seen, _ = played(changed(TUG, tmp_path, *WAITING), ticks=3)
    for tick, masks in enumerate(seen[4::4], 1):
        acts = masks.reshape(ENVS, 2, 3)
        assert (acts[:, tick % 2] == 1).all() and (acts[:, 1 - tick % 2] == 0).all()


def test_a_missing_key_is_named(tug, tmp_path):
    folder = shutil.copytree(tug, tmp_path / "tug")
    (folder / "tug.ini").write_text("[env]\nlenght = 24\nedge = 4\n")
    with pytest.raises(UsageError) as caught, puffer_sdk.make(folder):
        pass
    assert caught.value.message == "the binding reads [env] length, which tug.ini does not give"
    assert caught.value.code == "PUF106" and caught.value.where.endswith("tug.ini:2")
    assert caught.value.hint == "rename lenght to length"


def test_more_agents_than_there_is_room_for(tmp_path):
    folder = changed(TUG, tmp_path, ("    env->num_agents = 2;\n", "    env->num_agents = 3;\n"))
    with pytest.raises(PufferError) as caught, puffer_sdk.make(folder):
        pass
    assert caught.value.code == "PUF112" and caught.value.where == "tug.h"
    assert (caught.value.expected, caught.value.actual) == ("at most 2", 3)
    assert caught.value.hint.startswith("Agent agents[3];")


@pytest.mark.parametrize("old, new, code, words", [
    ("typedef float obs_t;", "", "PUF103", "obs_t is not declared"),
    ("typedef float obs_t;", "typedef double obs_t;", "PUF102", "observations has the wrong type"),
    ("void puf_close(", "void shut(", "PUF101", "puf_close is not defined"),
    ("void puf_log(", "void tell(", "PUF101", "puf_log is not defined"),
    ("    Agent agents[2];", "    Agent pullers[2];", None, "no member named 'agents'")])
def test_what_the_form_needs_is_named(tmp_path, old, new, code, words):
    _, problems = header.inspect(changed(TUG, tmp_path, (old, new)))
    assert any(each.code == code and words in each.message for each in problems)
    assert not any(isinstance(each, DialectError) for each in problems)


def test_a_field_that_only_their_trainer_writes_may_be_missing(tmp_path):
    spec, problems = header.inspect(changed(TUG, tmp_path, ("    int tag;\n", "")))
    assert not problems and [each.code for each in spec.remarks] == ["PUF102"]
    assert "has no int 'tag'" in spec.remarks[0].message


@pytest.mark.parametrize("file, text, place", [
    ("rocket.cu", "struct Env;\n", "rocket.cu"),
    ("rocket.h", "typedef float obs_t;\n#define PUF_BACKEND PUF_GPU\n"
                 '#include "pufferenv.h"\n', "rocket.h:2")])
def test_environments_of_gpus_are_refused_by_name(tmp_path, monkeypatch, file, text, place):
    folder = tmp_path / "ocean" / "rocket"
    folder.mkdir(parents=True)
    (folder / file).write_text(text)
    monkeypatch.chdir(tmp_path)
    for env in (folder, "rocket"):
        with pytest.raises(DialectError) as caught:
            puffer_sdk.build(env)
        assert caught.value.message == ("rocket is a GPU environment of PufferLib 5.0, which "
                                        "puffer-sdk does not run")
        assert str(caught.value.where).endswith(place)


def test_a_program_without_a_c_file(tug, tmp_path):
    """It is generated, with the ini's settings, or the page's where it is for a page."""
    folder = shutil.copytree(tug, tmp_path / "tug")
    (folder / "tug_web.ini").write_text("[env]\nedge = 9\n")
    (made,) = targets.build_programs(folder, targets=["fast"], model=None)
    assert made.path.is_file() and "edge\", 4.0" in (folder / "build/tug_config.h").read_text()
    assert targets._web_ini(header.read(folder)) == folder / "tug_web.ini"


def test_the_headers_own_keys_drive_play_and_the_program(tmp_path):
    """c_keys, where the header defines it; not where it is called or a comment names it."""
    mentioned = "// void c_keys(Env* env) {\nvoid c_keys(Env* env);\n"
    folder = changed(TUG, tmp_path, ("void puf_log(", f"{mentioned}void puf_log("))
    (build_dir := folder / "build").mkdir(exist_ok=True)

    def written() -> tuple[str, bool]:
        spec = header.read(folder)
        source = binding.write(spec, build_dir)
        player = binding.write_player(spec, source, build_dir)
        program = binding.write_program(spec, build_dir).read_text()
        return player.name, "c_keys(env);" in program

    assert written() == ("binding.c", False)
    text = (folder / "tug.h").read_text()
    (folder / "tug.h").write_text(text + "void c_keys(Env* env) {\n    (void)env;\n}\n")
    assert written() == ("tug_player.c", True)
    spec = header.read(folder)
    compilers.run_compiler([*compilers.find_compiler().command, *build.library_flags(spec), "-w",
                            "-fsyntax-only", build_dir / "tug_player.c"], source=spec.header,
                           what="the player's library")


def test_an_unknown_type_of_agents_is_a_build_error(tmp_path):
    folder = changed(TUG, tmp_path, ("agents[2]", "agents[2][1]"))
    with pytest.raises(BuildError):
        header.read(folder)


def test_repro_programs_compile(tug, tmp_path):
    spec, source = header.read(tug), tmp_path / "repro.c"
    source.write_text(f'#include "{tug}/build/binding.c"\n#include "puffer_repro.h"\n')
    compilers.run_compiler([*compilers.find_compiler().command, *build.library_flags(spec), "-w",
                            "-fsyntax-only", source], source=spec.header, what="a repro program")


def test_it_gets_no_binding_of_4_0(tug):
    with pytest.raises(UsageError, match="needs no binding"):
        ocean.bind(tug)
    assert not (tug / "binding.c").exists()


def test_an_export_is_the_header_and_its_ini(tug, tmp_path):
    """It plays as the original does: export_ocean compares them."""
    done = ocean.export_ocean(shutil.copytree(tug, tmp_path / "tug"), tmp_path / "out")
    assert done.files == ["CHECKLIST.md", "config/tug.ini", "ocean/tug/tug.h"]


def test_the_speed_of_play_is_the_headers(tug):
    assert header.read(tug).steps_per_second == 20


@pytest.mark.parametrize("edits", [pytest.param((), id="C"),
                                   pytest.param((CPP,), id="C++17", marks=long_only)])
def test_checks_rules_hold_with_the_same_lines(tmp_path, edits):
    """Pointers of agents are no state, and what the rules find has the names of the form."""
    fault = ("agent->observations[2] =", "agent->observations[3] =")
    folder = changed(TUG, tmp_path, fault, *edits)
    result = short_check(folder)
    (found,) = [each for each in result.findings if each.code == "PUF203"]
    assert found.message == "puf_reset wrote just beyond the end of this env's observations"
    assert (found.file, found.line) == ("tug.h", line_of(folder, "agent->observations[3] ="))
    assert {each.code for each in result.findings} == {"PUF203", "PUF301"}
    assert [frame.partition(" ")[0] for frame in found.stack][:2] == ["observe", "puf_reset"]
    assert "c_step" not in "\n".join(text for text, _ in terminal.lines(result))
